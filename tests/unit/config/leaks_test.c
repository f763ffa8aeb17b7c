/* What is read in vain, or twice, leaves nothing behind. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/scratch.h"

static void load(const char *yaml, const char *const *flags)
{
    config_free(scratch_load(yaml, NULL, flags));
}

SCRATCH_TEST(a_list_that_is_refused_is_freed)
{
    load(NULL, NULL);
    int64_t before = heap_live();
    load(NULL, LIST("--loops-cores=0,0,x"));
    assert_int_equal(heap_live(), before);
}

SCRATCH_TEST(what_a_flag_replaces_is_freed)
{
    load("loops: {cores: 0}\n", NULL);
    int64_t before = heap_live();
    load("loops: {cores: 0}\ntenants: [{name: ada}]\n", LIST("--loops-cores=0,0"));
    load("log: {level: debug}\n", LIST("--log-level=info", "--tls-cert=/dev/null"));
    assert_int_equal(heap_live(), before);
}
