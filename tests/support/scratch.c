#include "tests/support/scratch.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/cmocka_env.h"

enum { FLAGS_MAX = 16 };

struct scratch scratch;

int scratch_make(void **state)
{
    scratch = (struct scratch){.directory = "/tmp/ergon-config-XXXXXX"};
    assert_non_null(mkdtemp(scratch.directory));
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

int scratch_remove(void **state)
{
    while (scratch.accepted_count > 0)
        config_free(scratch.accepted[--scratch.accepted_count]);
    assert_int_equal(nftw(scratch.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static void make_parents(void)
{
    for (char *slash = scratch.path + strlen(scratch.directory) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        (void)mkdir(scratch.path, 0700);
        *slash = '/';
    }
}

const char *scratch_write(const char *name, const char *content)
{
    snprintf(scratch.path, sizeof scratch.path, "%s/%s", scratch.directory, name);
    make_parents();
    FILE *out = fopen(scratch.path, "we");
    assert_non_null(out);
    assert_true(fputs(content, out) >= 0);
    assert_int_equal(fclose(out), 0);
    return scratch.path;
}

/* What a problem says must not depend on where the test ran. */
static void cut_directory(void)
{
    size_t length = strlen(scratch.directory) + 1;

    for (char *at; (at = strstr(scratch.errors, scratch.directory));)
        memmove(at, at + length, strlen(at + length) + 1);
}

struct config *scratch_load(const char *yaml, const char *const *env, const char *const *flags)
{
    static const char *const none[] = {NULL};
    char *argv[FLAGS_MAX + 4] = {"ergond"};
    int argc = 1;
    FILE *errors = fmemopen(scratch.errors, sizeof scratch.errors - 1, "w");

    memset(scratch.errors, 0, sizeof scratch.errors);
    if (yaml) {
        argv[argc++] = "--config";
        argv[argc++] = (char *)(uintptr_t)scratch_write("ergond.yaml", yaml);
    }
    for (; flags && *flags; flags++)
        argv[argc++] = (char *)(uintptr_t)*flags;
    struct config_input in = {argc, argv, (char *const *)(uintptr_t)(env ? env : none), errors};
    struct config *c = config_load(&in, &scratch.action);
    fclose(errors);
    cut_directory();
    return c;
}

struct config *scratch_accepted(const char *yaml, const char *const *env, const char *const *flags)
{
    struct config *c = scratch_load(yaml, env, flags);

    assert_string_equal(scratch.errors, "");
    assert_non_null(c);
    assert_true(scratch.accepted_count < (int)(sizeof scratch.accepted / sizeof *scratch.accepted));
    scratch.accepted[scratch.accepted_count++] = c;
    return c;
}

void scratch_refused(const char *yaml, const char *const *env, const char *const *flags,
                     const char *errors)
{
    assert_null(scratch_load(yaml, env, flags));
    assert_string_equal(scratch.errors, errors);
}
