/* What is known of a task after a restart is what was known before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support/ledger_stage.h"

static struct order durable(void)
{
    struct order o = world_order("work");
    o.durable = LEDGER_FSYNC;
    return o;
}

static uint64_t submit_after(struct ledger_world *w, const uint64_t *first)
{
    struct order o = durable();
    o.after = first;
    o.after_count = 1;
    return ledger_world_submit(w, &o);
}

static void retry(struct ledger_world *w, uint64_t id)
{
    assert_true(ledger_retry(w->ledger, world_entry(w, id)));
    ledger_world_pass(w, AO_S(1));
}

/* --- After --- */

static void what_failed_with_after_can_be_tried_again(void **state)
{
    struct ledger_world *w = *state;
    struct order o = durable();
    uint64_t first = ledger_world_submit(w, &o), second = submit_after(w, &first);
    ledger_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, first), "ODD", "not today");
    ledger_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, second), LEDGER_FAILED);
    retry(w, second);
    assert_non_null(world_run_of(w, second));
    ledger_world_crash(w);
    ledger_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, second));
    world_finish(world_run_of(w, second), "\x2a");
    ledger_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, second), LEDGER_DONE);
    stage_balances(w);
}

static void what_is_tried_again_waits_for_nobody(void **state)
{
    struct ledger_world *w = *state;
    struct order o = durable();
    w->room[1] = 2;
    uint64_t first = ledger_world_submit(w, &o), second = submit_after(w, &first);
    ledger_world_pass(w, AO_S(1));
    ledger_cancel(w->ledger, world_entry(w, second));
    ledger_world_pass(w, AO_S(1));
    retry(w, second);
    ledger_world_crash(w);
    ledger_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, first));
    assert_non_null(world_run_of(w, second));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ledger_stage_stored, ledger_stage_end)
    const struct CMUnitTest tests[] = {
        TEST(what_failed_with_after_can_be_tried_again),
        TEST(what_is_tried_again_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
