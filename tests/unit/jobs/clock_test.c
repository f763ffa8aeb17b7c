/* The wall clock is set, the machine sleeps, a thread is put aside between two looks at a clock. */
#include "tests/support/cmocka_env.h"
#include "server/jobs/cron/crons.h"
#include "tests/support/jobs_stage.h"

#define DAY AO_S(24 * 3600)

#define CLOCK_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true, .room = 10)

/* --- Never early --- */

/* The round has begun when a submission is looked at: its delay counts from there. */
CLOCK_TEST(a_delay_counts_from_the_submission)
{
    w->v.now += AO_US(470);
    ao_time submitted = w->v.now;
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_MS(10)));
    assert_true(world_job(w, id)->due >= submitted + AO_MS(10));
    jobs_world_pass(w, AO_MS(10) - AO_US(1));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
}

CLOCK_TEST(a_retry_counts_from_the_failure)
{
    uint64_t id =
        jobs_world_submit(w, &WORK(.retries = 1, .backoff = AO_MS(10), .backoff_jitter = 0));
    jobs_world_settle(w);
    w->v.now += AO_US(900);
    ao_time failed = w->v.now;
    world_fail(world_run_of(w, id), "ODD", "not today");
    assert_true(world_job(w, id)->due >= failed + AO_MS(10));
}

/* Each look at the wall clock takes 3 ms: what stands in the file is late by some, never early. */
CLOCK_TEST(over_a_restart_a_delay_is_not_early)
{
    w->takes = AO_MS(3);
    ao_time submitted = w->v.now;
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_S(1), .durable = DURABLE_FSYNC));
    assert_true(world_job(w, id)->due >= submitted + AO_S(1));
    for (unsigned i = 0; i < 3; i++) {
        jobs_world_pass(w, AO_MS(50));
        jobs_world_crash(w);
        assert_true(world_job(w, id)->due >= submitted + AO_S(1));
    }
    assert_true(world_job(w, id)->due <= submitted + AO_S(1) + AO_MS(200));
}

static uint64_t (*true_wall)(void *arg);
static unsigned asides;

static uint64_t put_aside(void *arg)
{
    struct jobs_world *w = arg;
    if (asides > 0) {
        asides--;
        w->v.now += AO_MS(100);
    }
    return true_wall(arg);
}

/* Else a task would have started when it was long over, as far as one is told. */
CLOCK_TEST(who_is_put_aside_between_two_looks_looks_again)
{
    struct job_table *table = &w->jobs->table;
    ao_time began = w->v.now;
    uint64_t told = table_wall(table);
    true_wall = table->wall;
    table->wall = put_aside;
    asides = 2;
    table->look.round = 0; /* as in another round */
    assert_int_equal(table_wall_of(table, began), told);
    assert_int_equal(asides, 0);
}

CLOCK_TEST(clocks_are_looked_at_once_a_round)
{
    struct job_table *table = &w->jobs->table;
    uint64_t wall = table_wall_of(table, w->v.now);
    true_wall = table->wall;
    table->wall = put_aside;
    asides = 1;
    assert_int_equal(table_wall_of(table, w->v.now + AO_MS(5)), wall + AO_MS(5));
    assert_int_equal(asides, 1);
}

/* --- Set forward --- */

static void leaps_by(struct jobs_world *w, int64_t by)
{
    w->leap += by;
    jobs_world_pass(w, AO_S(1));
}

CLOCK_TEST(what_a_leap_forward_makes_due_is_begun_within_a_second)
{
    uint64_t soon = jobs_world_submit(w, &WORK(.delay = AO_S(3600)));
    uint64_t later = jobs_world_submit(w, &WORK(.delay = AO_S(3600 * 3)));
    uint64_t at = jobs_world_submit(
        w, &WORK(.at = table_wall(&w->jobs->table) + AO_S(3600), .durable = DURABLE_ASYNC));
    uint64_t expires = jobs_world_submit(w, &WORK(.delay = DAY, .deadline = AO_S(3600)));
    jobs_world_pass(w, AO_S(10));
    ao_time due = world_job(w, later)->due;
    leaps_by(w, (int64_t)AO_S(3600));
    assert_int_equal(world_state(w, soon), JOB_RUNNING);
    assert_int_equal(world_state(w, at), JOB_RUNNING);
    assert_int_equal(world_state(w, expires), JOB_EXPIRED);
    assert_int_equal(world_state(w, later), JOB_DELAYED);
    assert_int_equal(world_job(w, later)->due, due - AO_S(3600));
}

/* What is left of its deadline stays, also if its row is written right behind the leap. */
CLOCK_TEST(a_row_written_right_behind_a_leap_back_has_its_deadline)
{
    w->room[1] = 0;
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = AO_S(7200), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    uint64_t left = world_job(w, id)->deadline_at - table_wall(&w->jobs->table);
    struct operation *op = world_operation(w, &operation_task_change);
    op->change = (struct change_arguments){.id = id, .change = {.priority = 3, .delay = AO_NEVER}};
    w->leap -= (int64_t)AO_S(3600);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    uint64_t now = table_wall(&w->jobs->table);
    assert_in_range(world_job(w, id)->deadline_at - now, left - AO_S(3), left);
}

/* Between the leap and the next look nothing is taken for older than it is. */
CLOCK_TEST(what_comes_right_behind_a_leap_is_not_early)
{
    uint64_t before = jobs_world_submit(w, &WORK(.delay = AO_S(7200)));
    jobs_world_pass(w, AO_MS(700));
    w->leap += (int64_t)AO_S(3600);
    uint64_t behind = jobs_world_submit(w, &WORK(.delay = AO_S(1800)));
    jobs_world_pass(w, AO_S(1800) - AO_MS(1));
    assert_int_equal(world_state(w, behind), JOB_DELAYED);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(world_state(w, behind), JOB_RUNNING);
    assert_int_equal(world_state(w, before), JOB_DELAYED);
    jobs_world_pass(w, AO_S(1800));
    assert_int_equal(world_state(w, before), JOB_RUNNING);
}

static struct operation *put_cron(struct jobs_world *w, const char *schedule,
                                  enum cron_catch_up catch_up)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("c"),
                                  .schedule = span_text(schedule),
                                  .catch_up = (uint8_t)catch_up,
                                  .overlap = CRON_ALLOW,
                                  .task = WORK(.durable = DURABLE_NONE)};
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_OK);
    return op;
}

CLOCK_TEST(a_cron_follows_a_leap_forward_within_a_second)
{
    put_cron(w, "every 1h", CRON_CATCH_ONE);
    jobs_world_pass(w, AO_S(60));
    leaps_by(w, (int64_t)AO_S(3600 * 5));
    assert_int_equal(w->jobs->crons->first->state.fired, 1);
}

/* --- Set back --- */

CLOCK_TEST(a_clock_set_back_leaves_what_is_left)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_MS(800), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(100));
    w->leap -= (int64_t)DAY;
    jobs_world_pass(w, AO_MS(699));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    jobs_world_pass(w, AO_MS(3));
    assert_int_not_equal(world_state(w, id), JOB_DELAYED);
}

/* While nobody ran: the time of the last commit tells. */
CLOCK_TEST(so_does_one_set_back_over_a_restart)
{
    uint64_t id = jobs_world_submit(
        w, &WORK(.delay = AO_MS(800), .deadline = AO_S(5), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    for (unsigned i = 0; i < 2; i++) { /* the second: what stands in the file is right again */
        w->leap -= (int64_t)DAY;
        jobs_world_crash(w);
        assert_in_range(world_job(w, id)->due, AO_MS(800), AO_MS(830));
        assert_in_range(world_job(w, id)->deadline, AO_S(5), AO_S(5) + AO_MS(30));
        jobs_world_pass(w, AO_MS(2));
        jobs_world_crash(w);
        assert_in_range(world_job(w, id)->due, AO_MS(800), AO_MS(830));
        stage_submit(w);
        jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
        jobs_world_pass(w, AO_MS(2));
    }
    jobs_world_pass(w, AO_S(1));
    assert_int_not_equal(world_state(w, id), JOB_DELAYED);
}

/* Set back while the server runs, and then a restart. */
CLOCK_TEST(so_does_one_set_back_before_a_restart)
{
    uint64_t old = jobs_world_submit(w, &WORK(.delay = AO_S(60), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(10));
    w->leap -= (int64_t)DAY;
    uint64_t young = jobs_world_submit(w, &WORK(.delay = AO_S(60), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(10));
    jobs_world_crash(w);
    assert_in_range(world_job(w, old)->due, AO_S(60), AO_S(60) + AO_MS(10));
    assert_in_range(world_job(w, young)->due, AO_S(70), AO_S(70) + AO_MS(10));
}

/* The store takes no writes yet, and some rows are read by then. */
CLOCK_TEST(so_does_one_set_back_while_the_store_is_read_back)
{
    const struct { /* which look is the first by the new time */
        unsigned look;
    } cases[] = {{2}, {4}, {6}, {10}};
    uint64_t ids[3];
    for (unsigned i = 0; i < 3; i++)
        ids[i] = jobs_world_submit(w, &WORK(.delay = AO_S(60), .durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    for (unsigned n = 0; n < sizeof cases / sizeof *cases; n++) {
        w->sudden = -(int64_t)DAY;
        w->sudden_look = cases[n].look;
        jobs_world_crash(w);
        assert_int_equal(w->sudden_look, 0);
        jobs_world_pass(w, AO_MS(10));
        for (unsigned i = 0; i < 3; i++)
            assert_in_range(world_job(w, ids[i])->due, AO_S(60) - AO_MS(1), AO_S(60) + AO_MS(200));
    }
}

CLOCK_TEST(a_cron_goes_by_a_clock_that_was_set_back)
{
    put_cron(w, "every 1m", CRON_CATCH_NONE);
    jobs_world_pass(w, AO_S(90));
    uint64_t fired = w->jobs->crons->first->state.fired;
    leaps_by(w, -(int64_t)DAY);
    jobs_world_pass(w, AO_S(120));
    assert_in_range(w->jobs->crons->first->state.fired, fired + 1, fired + 3);
}

/* An idle server looks at no clock. */
CLOCK_TEST(nobody_looks_while_nothing_waits)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_S(1)));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(ao_state(&w->jobs->clock_watch), AO_STATE_SLEEPING);
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(ao_state(&w->jobs->clock_watch), AO_STATE_INACTIVE);
}
