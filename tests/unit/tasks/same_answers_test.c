/* The short cut and the manager give the same answers: one scenario, run both ways. */
#include <stdio.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

enum { CALLS = 400 };

struct answers {
    enum ergon_error errors[CALLS + 1];
    size_t lengths[CALLS + 1];
    char codes[CALLS + 1][16];
};

static struct answers *seen;

static void on_ended(void *arg, struct call *call, struct outcome *o)
{
    unsigned n = call->tag | (unsigned)call->msgid[0] << 8;
    seen->errors[n] = o->error;
    seen->lengths[n] = o->result.len;
    snprintf(seen->codes[n], sizeof seen->codes[n], "%s", o->code ? o->code : "");
    w.ended++;
}

static void call(unsigned n)
{
    static const char *const methods[] = {"echo", "sleep", "again", "fail", "late_fault", "outer"};
    uint8_t buf[64], inner[16], id = (uint8_t)(n >> 8);
    const char *method = methods[n % 6];
    struct span params = params_int(buf, n % 17);
    if (n % 6 == 5)
        params = params_call(buf, n % 4 ? "echo" : "fail", params_int(inner, n));
    const struct call_request request = {.list = &w.list,
                                         .msgid = span_of(&id, 1),
                                         .tag = (uint8_t)n,
                                         .params = params,
                                         .deadline = AO_MS(1000)};
    struct method *m = registry_find(w.registry, span_text(method));
    assert_int_equal(home_call(tasks_home(w.tasks, n % 2), m, &request), ERGON_OK);
}

static void run(struct answers *answers, bool short_cut, bool own_manager)
{
    seen = answers;
    tasks_world_init(2, 0);
    if (own_manager)
        tasks_world_own_manager();
    w.plan.short_cut = short_cut;
    w.plan.ended = on_ended;
    w.quiet = true;
    tasks_world_open();
    for (unsigned n = 1; n <= CALLS; n++) {
        call(n);
        if (n % 7 == 0)
            tasks_world_run_ms(n / 7);
    }
    tasks_world_run();
    assert_int_equal(w.ended, CALLS);
    struct tasks_info info;
    tasks_info(w.tasks, &info);
    assert_int_equal(info.short_cut > 0, short_cut);
    tasks_world_fini();
}

TEST(both_ways)
{
    static struct answers direct, managed, far;
    run(&direct, true, false);
    run(&managed, false, false);
    run(&far, false, true);
    assert_memory_equal(&direct, &managed, sizeof direct);
    assert_memory_equal(&direct, &far, sizeof direct);
}
