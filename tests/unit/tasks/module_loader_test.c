/* Shared objects: what is loaded, and what people are told of the others. */
#include <unistd.h>

#include "server/tasks/registry.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

/* MODULES is the folder with the modules that were built for this test. */
static void refused(const char *path, const char *because)
{
    char error[512] = "";
    struct registry *r = registry_new();
    assert_int_equal(module_load(r, path, error, sizeof error), -1);
    assert_int_equal(registry_count(r), 0);
    if (!strstr(error, because))
        fail_msg("\"%s\" does not say \"%s\"", error, because);
    registry_free(r);
}

TEST(a_module_brings_its_handlers)
{
    char error[512] = "";
    struct registry *r = registry_new();
    virtual_silence();
    if (module_load(r, MODULES "/module_good.so", error, sizeof error) != 0)
        fail_msg("%s", error);
    struct method *m = registry_find(r, span_text("answer"));
    assert_non_null(m);
    assert_string_equal(m->module, "answers");
    assert_int_equal(module_load(r, MODULES "/module_good.so", error, sizeof error), -1);
    assert_non_null(strstr(error, "answers"));
    assert_int_equal(registry_count(r), 1);
    registry_free(r);
}

TEST(what_is_refused)
{
    virtual_silence();
    refused("/nonexistent/module.so", "/nonexistent/module.so");
    refused(MODULES "/module_without_door.so", "exports no ergon_module");
    refused(MODULES "/module_refusal.so", "refused to be loaded");
    refused(MODULES "/module_bad_handler.so", "the server's own");
}

static int never(struct ergon_module *module, const struct ergon_host *host)
{
    fail_msg("it was refused");
    return -1;
}

static void info_refused(const struct ergon_module_info *info, const char *because)
{
    char error[512] = "";
    struct registry *r = registry_new();
    assert_int_equal(module_add(r, info, error, sizeof error), -1);
    if (!strstr(error, because))
        fail_msg("\"%s\" does not say \"%s\"", error, because);
    registry_free(r);
}

TEST(what_a_module_must_say_of_itself)
{
    struct ergon_module_info info = {.size = sizeof info, .abi_major = ERGON_ABI_MAJOR};
    info_refused(NULL, "ergon_module_info");
    info_refused(&info, "with a name");
    info.name = "half";
    info_refused(&info, "incomplete");
    info.init = never;
    info.size = offsetof(struct ergon_module_info, init);
    info_refused(&info, "incomplete");
}

/* Not one somewhere in the path of libraries. */
TEST(a_bare_name_is_a_file_here)
{
    char error[512] = "";
    struct registry *r = registry_new();
    assert_int_equal(chdir(MODULES), 0);
    if (module_load(r, "module_good.so", error, sizeof error) != 0)
        fail_msg("%s", error);
    registry_free(r);
    refused("libm.so.6", "cannot load libm.so.6");
    refused(".", "cannot load .");
    refused("", "cannot load ");
}

TEST(both_major_versions_are_named)
{
    refused(MODULES "/module_next_major.so", "version 2");
    refused(MODULES "/module_next_major.so", "version 1");
}
