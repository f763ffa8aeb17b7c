/* The server stops: who waits is answered, and what was interrupted goes on with the next start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support/ledger_world.h"

static int open_world(void **state)
{
    static struct ledger_world w;
    ledger_world_init(&w);
    w.quiet = true;
    w.room[1] = 4;
    ledger_world_open(&w);
    *state = &w;
    return 0;
}

static int close_world(void **state)
{
    ledger_world_fini(*state);
    return 0;
}

static uint64_t submit(struct ledger_world *w)
{
    const struct order o = world_order("work");
    uint64_t id = ledger_world_submit(w, &o);
    ledger_world_settle(w);
    return id;
}

static void stop(struct ledger_world *w, bool cancel)
{
    w->source.stop(w->source.arg, cancel);
    ledger_world_settle(w);
}

static struct ask *poll(struct ledger_world *w, enum ask_verb verb, uint64_t *id)
{
    struct ask *a = world_ask(w, verb);
    a->ids = id;
    a->id_count = 1;
    a->timeout = AO_S(60);
    a->from = UINT32_MAX;
    a->max = 10;
    world_give(w, a);
    return a;
}

static void long_polls_are_answered_as_things_stand(void **state)
{
    struct ledger_world *w = *state;
    uint64_t id = submit(w);
    const struct ask *waits = poll(w, ASK_WAIT, &id), *watches = poll(w, ASK_WATCH, &id);
    assert_int_equal(w->answered, 0);
    stop(w, false);
    assert_true(world_answered(w, waits));
    assert_true(world_answered(w, watches));
    assert_int_equal(waits->error, ERGON_OK);
    assert_int_equal(watches->error, ERGON_OK);
    const struct ask *late = poll(w, ASK_WAIT, &id);
    ledger_world_settle(w);
    assert_true(world_answered(w, late));
}

static void a_call_is_waited_for_until_all_is_cancelled(void **state)
{
    struct ledger_world *w = *state;
    struct order o = world_order("work");
    struct ask *a = world_ask(w, ASK_CALL);
    a->orders = &o;
    a->order_count = 1;
    world_give(w, a);
    ledger_world_settle(w);
    stop(w, false);
    assert_false(world_answered(w, a));
    w->stubborn = true;
    stop(w, true);
    assert_true(world_answered(w, a));
    assert_int_equal(a->error, ERGON_E_DRAINING);
    a->orders = NULL;
}

static void end_well(struct ledger_world *w, uint64_t id, bool told)
{
    struct outcome outcome = {.result = span_text("\xc0")};
    struct kept_return r = {.started = true, .told = told, .outcome = &outcome};
    world_return(world_run_of(w, id), &r);
    ledger_world_settle(w);
}

static void who_was_told_to_stop_is_run_again(void **state)
{
    struct ledger_world *w = *state;
    uint64_t told = submit(w), untold = submit(w);
    w->stubborn = true;
    stop(w, false);
    stop(w, true);
    end_well(w, told, true);
    end_well(w, untold, false);
    assert_int_equal(world_state(w, told), LEDGER_QUEUED);
    assert_int_equal(world_reason(w, told), LEDGER_WHY_STOPPING);
    assert_int_equal(world_entry(w, told)->failures, 0);
    assert_int_equal(world_state(w, untold), LEDGER_DONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(long_polls_are_answered_as_things_stand),
        TEST(a_call_is_waited_for_until_all_is_cancelled),
        TEST(who_was_told_to_stop_is_run_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
