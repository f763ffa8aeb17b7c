/* Pools whose workers die: one task at a time is tried, and not the whole queue. */
#include "server/jobs/sched/pool_rest.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

enum { ROOM = 16, TASKS = 40 };

static uint32_t out(const struct jobs_world *w)
{
    return w->out[POOL_BLOCKING];
}

static void lose_first(struct jobs_world *w)
{
    assert_non_null(w->runs);
    world_lose(w->runs, LOSS_IN_COMPANY, "worker w1 at 10.0.0.7: connection reset");
}

static void lose_all(struct jobs_world *w)
{
    for (uint32_t left = out(w); left > 0; left--)
        lose_first(w);
    jobs_world_settle(w);
}

/* All that ran were lost. */
static void begin_rest(struct jobs_world *w)
{
    for (unsigned i = 0; i < TASKS; i++)
        jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    assert_int_equal(out(w), ROOM);
    lose_all(w);
}

static bool rests(const struct jobs_world *w)
{
    return pool_rests(pool_table_find(&w->jobs->sched.pools, POOL_BLOCKING));
}

#define REST_TEST(name) JOBS_TEST(name, .room = ROOM)

REST_TEST(one_at_a_time_is_tried_after_growing_rests)
{
    static const unsigned s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    begin_rest(w);
    for (unsigned i = 0; i < sizeof s / sizeof s[0]; i++) {
        assert_int_equal(out(w), 0);
        jobs_world_pass(w, AO_S(s[i]) - AO_MS(1));
        assert_int_equal(out(w), 0);
        jobs_world_pass(w, AO_MS(1));
        assert_int_equal(out(w), 1);
        lose_all(w);
    }
}

REST_TEST(an_answer_ends_it)
{
    begin_rest(w);
    jobs_world_pass(w, AO_S(1));
    world_fail(w->runs, "ODD", "a worker is alive");
    jobs_world_settle(w);
    assert_int_equal(out(w), ROOM);
    lose_all(w); /* and the next begins with the shortest */
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(out(w), 1);
}

REST_TEST(so_does_one_of_a_task_that_was_out_before)
{
    for (unsigned i = 0; i < TASKS; i++)
        jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    for (unsigned i = 0; i < RESTS_AFTER; i++)
        lose_first(w);
    jobs_world_settle(w);
    assert_true(rests(w));
    assert_int_equal(out(w), ROOM - RESTS_AFTER);
    world_finish(w->runs, "\x01");
    jobs_world_settle(w);
    assert_false(rests(w));
    assert_int_equal(out(w), ROOM);
}

REST_TEST(one_answer_in_five_is_enough)
{
    w->jobs->options.settings.losses = 0;
    for (unsigned i = 0; i < TASKS; i++)
        jobs_world_submit(w, &WORK(.priority = (uint8_t)(i % 10)));
    for (unsigned i = 0; i < TASKS; i++) {
        jobs_world_settle(w);
        if (i % RESTS_AFTER == 0)
            world_finish(w->runs, "\x01");
        else
            lose_first(w);
        assert_false(pool_table_find(&w->jobs->sched.pools, POOL_BLOCKING)->rest && rests(w));
    }
}

/* It was begun before, and says nothing of those that come. */
REST_TEST(who_is_lost_late_makes_it_no_longer)
{
    for (unsigned i = 0; i < TASKS; i++)
        jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    for (unsigned i = 0; i < RESTS_AFTER; i++)
        lose_first(w);
    jobs_world_pass(w, AO_MS(500));
    lose_all(w);
    jobs_world_pass(w, AO_MS(500));
    assert_int_equal(out(w), 1);
}

REST_TEST(a_try_that_is_given_up_makes_place_for_another)
{
    begin_rest(w);
    w->stubborn = true;
    jobs_world_pass(w, AO_S(1));
    struct job *tried = w->runs->run.owner;
    tried->timeout = AO_S(1);
    w->holds = true; /* the next is taken back before it begins, and tried once more */
    lose_all(w);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(out(w), 1);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(out(w), 1);
    world_begin(w->runs);
    jobs_world_settle(w);
    world_lose(w->runs, LOSS_ALONE, "");
    jobs_world_pass(w, AO_S(4) - AO_MS(1));
    assert_int_equal(out(w), 0);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(out(w), 1);
}

REST_TEST(a_try_that_was_not_sent_is_none)
{
    begin_rest(w);
    w->holds = true;
    jobs_world_pass(w, AO_S(1));
    world_lose(w->runs, LOSS_UNSENT, "");
    jobs_world_settle(w);
    assert_int_equal(out(w), 1);
    assert_true(rests(w));
}

REST_TEST(a_try_that_outlives_its_timeout_is_followed_by_another)
{
    for (unsigned i = 0; i < TASKS; i++)
        jobs_world_submit(w, &WORK(.timeout = AO_S(5)));
    jobs_world_settle(w);
    lose_all(w);
    w->stubborn = true;
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(out(w), 1);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(out(w), 2);
}

REST_TEST(a_try_that_goes_on_gets_company_after_a_minute)
{
    begin_rest(w);
    jobs_world_pass(w, AO_S(1));
    jobs_world_pass(w, AO_S(59));
    assert_int_equal(out(w), 1);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(out(w), 2);
}

REST_TEST(it_is_said_why_nothing_begins)
{
    char text[4096];
    begin_rest(w);
    uint64_t last = w->jobs->table.last->id;
    struct operation *op = world_about(w, &operation_task_explain, last);
    world_give(w, op);
    stage_holds(notation_show(operation_result(op), text, sizeof text),
                "'reason': 'executors', 'text': 'its workers die; next try in 1.0 s'");
    jobs_world_pass(w, AO_S(1));
    op = world_about(w, &operation_task_explain, last);
    world_give(w, op);
    stage_holds(notation_show(operation_result(op), text, sizeof text),
                "'text': 'its workers die; one task at a time is tried, until one of them is "
                "answered'");
}
