/* A task that crashes the server dies alone: what ran beside it is run to its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/support/ledger_stage.h"

enum { NEIGHBOURS = 20, CRASHES_MOST = 20 };

static struct order durable(void)
{
    struct order o = world_order("work");
    o.durable = LEDGER_FSYNC;
    return o;
}

static uint64_t submit(struct ledger_world *w)
{
    struct order o = durable();
    return ledger_world_submit(w, &o);
}

/* As often as all are out, until each of them is a suspect. */
static void crash_twice(struct ledger_world *w)
{
    for (unsigned i = 0; i < 2; i++) {
        ledger_world_pass(w, AO_MS(5));
        ledger_world_crash(w);
    }
}

/* The poison brings the server down 2 ms after each of its starts; the others take 10 ms. */
static unsigned live_with(struct ledger_world *w, uint64_t poison)
{
    unsigned crashes = 0;
    for (unsigned ms = 0; ms < 2000 && crashes < CRASHES_MOST; ms++) {
        ledger_world_pass(w, AO_MS(1));
        if (!world_run_of(w, poison))
            continue;
        ledger_world_pass(w, AO_MS(2));
        ledger_world_crash(w);
        crashes++;
    }
    return crashes;
}

static void poison_among_neighbours(struct ledger_world *w, uint32_t room, unsigned place)
{
    uint64_t ids[NEIGHBOURS + 1];
    w->quiet = true;
    w->room[1] = room;
    w->lasts = AO_MS(10);
    for (unsigned i = 0; i <= NEIGHBOURS; i++)
        ids[i] = submit(w);
    assert_int_equal(live_with(w, ids[place]), 3);
    for (unsigned i = 0; i <= NEIGHBOURS; i++)
        assert_int_equal(world_state(w, ids[i]), i == place ? LEDGER_DEAD : LEDGER_DONE);
}

static void only_the_poison_dies(void **state)
{
    poison_among_neighbours(*state, 64, NEIGHBOURS / 2);
}

static void only_the_poison_dies_where_others_wait(void **state)
{
    poison_among_neighbours(*state, 4, 2);
}

static void what_is_no_suspect_runs_beside_one(void **state)
{
    struct ledger_world *w = *state;
    w->room[1] = 4;
    uint64_t one = submit(w), two = submit(w);
    crash_twice(w);
    uint64_t other = submit(w);
    ledger_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, one));
    assert_non_null(world_run_of(w, other));
    assert_int_equal(world_reason(w, two), LEDGER_WHY_SUSPECT);
    world_finish(world_run_of(w, one), "\x01");
    ledger_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, two));
}

/* Its handler may still do what made the server crash. */
static void one_that_outlived_its_timeout_is_still_out(void **state)
{
    struct ledger_world *w = *state;
    struct order o = durable();
    w->room[1] = 2;
    w->stubborn = true;
    o.timeout = AO_MS(100);
    uint64_t one = ledger_world_submit(w, &o), two = submit(w);
    crash_twice(w);
    ledger_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, one), LEDGER_FAILED);
    assert_int_equal(world_reason(w, two), LEDGER_WHY_SUSPECT);
    world_finish(world_run_of(w, one), "\x01");
    ledger_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, two));
}

static void the_place_goes_on_when_its_owner_is_gone_or_held_back(void **state)
{
    struct ledger_world *w = *state;
    struct order o = durable(), limited = durable();
    w->room[1] = 8;
    limited.limit_key = span_text("k");
    limited.limit = 8;
    uint64_t ids[4];
    for (unsigned i = 0; i < 4; i++)
        ids[i] = ledger_world_submit(w, i == 1 ? &limited : &o);
    crash_twice(w);
    o.limit_key = span_text("k");
    o.limit = 1;
    uint64_t holder = ledger_world_submit(w, &o);
    ledger_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, holder));
    ledger_cancel(w->ledger, world_entry(w, ids[2]));
    world_finish(world_run_of(w, ids[0]), "\x01");
    ledger_world_pass(w, AO_MS(5));
    assert_int_equal(world_reason(w, ids[1]), LEDGER_WHY_LIMIT);
    assert_non_null(world_run_of(w, ids[3]));
    world_finish(world_run_of(w, holder), "\x01");
    ledger_world_pass(w, AO_MS(5));
    assert_int_equal(world_reason(w, ids[1]), LEDGER_WHY_SUSPECT);
    world_finish(world_run_of(w, ids[3]), "\x01");
    ledger_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, ids[1]));
}

static void one_that_is_tried_again_is_none(void **state)
{
    struct ledger_world *w = *state;
    w->room[1] = 2;
    uint64_t one = submit(w), two = submit(w);
    crash_twice(w);
    ledger_world_pass(w, AO_MS(5));
    ledger_cancel(w->ledger, world_entry(w, two));
    ledger_world_pass(w, AO_MS(5));
    assert_true(ledger_retry(w->ledger, world_entry(w, two)));
    ledger_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, one));
    assert_non_null(world_run_of(w, two));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ledger_stage_stored, ledger_stage_end)
    const struct CMUnitTest tests[] = {
        TEST(only_the_poison_dies),
        TEST(only_the_poison_dies_where_others_wait),
        TEST(what_is_no_suspect_runs_beside_one),
        TEST(one_that_outlived_its_timeout_is_still_out),
        TEST(the_place_goes_on_when_its_owner_is_gone_or_held_back),
        TEST(one_that_is_tried_again_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
