/* Every allocation of a load fails once: each time the load says so and leaves nothing behind. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/config.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"

static long allowed = -1; /* allocations until one fails; below 0: none does */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t size);
char *__real_strdup(const char *text);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t size);
char *__wrap_strdup(const char *text);

static bool fails(void)
{
    return allowed >= 0 && allowed-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *at, size_t size)
{
    return fails() ? NULL : __real_realloc(at, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

SCRATCH_TEST(every_allocation_may_fail)
{
    static const char *const env[] = {"ERGON_MODULE=/dev/null,/dev/zero", NULL};
    static const char *const flags[] = {"--tls-cert=/dev/null", "--loops-cores=0,0", NULL};
    static const char yaml[] = "listen: [unix:///a, {url: 'ergons://[::]:0', allow: [a, b]}]\n"
                               "tls: {key: /dev/null}\n"
                               "executors: {list: [{kind: blocking}, {}]}\n"
                               "tenants: [{name: ada}]\n";
    struct config *c = NULL;
    long n = 0;

    for (; !c; n++) {
        allowed = n;
        errno = 0;
        c = scratch_load(yaml, env, flags);
        allowed = -1;
        if (!c)
            assert_string_equal(scratch.errors, "");
        assert_in_range(n, 0, 1000);
    }
    assert_in_range(n, 20, 1000);
    assert_int_equal(c->modules.count, 2);
    config_free(c);
}
