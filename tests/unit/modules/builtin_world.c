#include "tests/unit/modules/builtin_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/reader.h"
#include "server/modules/builtin.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

/* Of <ergon/handler.h>, whose names are not for those who have the functions themselves. */
extern const struct ergon_host *ergon_host;

/* Linked in here, so that failures can be planted below it. */
extern const struct ergon_module_info *const demo_module;

struct builtin_world builtin;

/* Kept out of the counted heap, which must look the same before and after a call. */
static uint8_t result[BUILTIN_RESULT_MAX];

static void keep(void *arg, struct call *call, struct outcome *outcome)
{
    struct builtin_world *b = arg;
    b->error = outcome->error;
    b->result_len = 0;
    if (outcome->error == ERGON_OK) {
        assert_true(outcome->result.len <= sizeof result);
        memcpy(b->result, outcome->result.at, outcome->result.len);
        b->result_len = outcome->result.len;
    } else {
        snprintf(b->code, sizeof b->code, "%s", outcome->code);
        snprintf(b->text, sizeof b->text, "%.*s", (int)outcome->text.len,
                 (const char *)outcome->text.at);
    }
    b->told(&w, call, outcome);
}

static void add_modules(struct registry *r)
{
    char error[256] = "";
    for (size_t i = 0; builtin_modules[i]; i++)
        if (module_add(r, *builtin_modules[i], error, sizeof error) < 0)
            fail_msg("%s", error);
    if (module_add(r, demo_module, error, sizeof error) < 0)
        fail_msg("%s", error);
}

/* The task system keeps figures of as many methods as it was opened with. */
static void add_spares(struct registry *r, const struct registry *modules)
{
    static char names[64][16], error[256];
    static struct ergon_handler handlers[64];
    for (uint32_t i = 0; registry_count(r) < registry_count(modules); i++) {
        assert_true(i < 64);
        snprintf(names[i], sizeof names[i], "spare%u", i);
        handlers[i] = *registry_at(modules, 0)->handler;
        handlers[i].name = names[i];
        assert_int_equal(registry_add(r, "test", &handlers[i], error, sizeof error), 0);
    }
}

int builtin_open(void **state)
{
    builtin = (struct builtin_world){.result = result};
    tasks_world_init(1, 1);
    w.quiet = true;
    builtin.told = w.plan.ended;
    w.plan.ended = keep;
    struct registry *modules = registry_new();
    add_modules(modules);
    add_spares(w.registry, modules);
    tasks_world_open();
    tasks_set_owner(w.tasks, 0, &builtin);
    builtin.unused = w.registry;
    w.registry = modules;
    for (uint32_t i = 0; i < registry_count(w.registry); i++)
        tasks_world_adopt(registry_at(w.registry, i));
    builtin.host = *host_table();
    ergon_host = &builtin.host;
    return 0;
}

int builtin_close(void **state)
{
    tasks_world_end(state);
    registry_free(builtin.unused);
    return 0;
}

int builtin_call(const char *method, struct span params)
{
    unsigned ended = w.ended;
    enum ergon_error refused = tasks_world_call(0, method, params, AO_NEVER);
    if (refused != ERGON_OK) {
        builtin.error = refused;
        return -1;
    }
    tasks_world_run();
    assert_int_equal(w.ended, ended + 1);
    return builtin.error == ERGON_OK ? 0 : -1;
}

struct one_call {
    const char *method;
    struct span params;
};

static int attempt(void *arg)
{
    const struct one_call *a = arg;
    int verdict = builtin_call(a->method, a->params);
    if (verdict != 0 && builtin.error == ERGON_E_FAILED)
        assert_string_equal(builtin.code, "MEMORY");
    else if (verdict != 0)
        assert_int_equal(builtin.error, ERGON_E_MEMORY);
    return verdict;
}

void builtin_call_without_memory(const char *method, struct span params)
{
    struct one_call a = {method, params};
    assert_int_equal(builtin_call(method, params), 0); /* what is kept for the next call is there */
    heap_fail_each(attempt, &a);
}

void builtin_expect_bytes(struct span expected)
{
    struct reader r = reader_of(span_of(builtin.result, builtin.result_len));
    struct span got;
    assert_int_equal(builtin.error, ERGON_OK);
    assert_true(read_text(&r, &got));
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.at, expected.at, expected.len);
}

int64_t builtin_int(void)
{
    struct reader r = reader_of(span_of(builtin.result, builtin.result_len));
    int64_t n = -1;
    assert_true(read_int(&r, &n));
    return n;
}

void builtin_expect_failure(const char *code, const char *text)
{
    assert_int_not_equal(builtin.error, ERGON_OK);
    assert_string_equal(builtin.code, code);
    assert_non_null(strstr(builtin.text, text));
}
