/* Delays, deadlines, timeouts, what must be done first, and how long an end is kept. */
#include "server/jobs/effects.h"
#include "server/tasks/task_result.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

JOBS_TEST(a_delay_passes)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_MS(250)));
    jobs_world_pass(w, AO_MS(249));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    assert_int_equal(world_reason(w, id), JOB_WHY_DELAY);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
}

JOBS_TEST(a_moment_comes)
{
    struct job_spec spec = WORK(.at = table_wall(&w->jobs->table) + AO_S(2));
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(1999));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    spec.at = table_wall(&w->jobs->table) - AO_S(2);
    w->room[1] = 2;
    id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
}

JOBS_TEST(a_deadline_ends_it_wherever_it_is)
{
    struct job_spec spec = WORK(.deadline = AO_S(1));
    uint64_t ids[3];
    for (unsigned i = 0; i < 2; i++)
        ids[i] = jobs_world_submit(w, &spec); /* one runs, one is queued */
    spec.delay = AO_S(5);
    ids[2] = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(999));
    for (unsigned i = 0; i < 3; i++)
        assert_true(job_state_open(world_state(w, ids[i])));
    jobs_world_pass(w, AO_MS(1));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(world_state(w, ids[i]), JOB_EXPIRED);
        assert_string_equal(world_job(w, ids[i])->end->code, "DEADLINE");
    }
}

JOBS_TEST(a_deadline_that_has_passed_expires_at_once)
{
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = 0));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
}

JOBS_TEST(an_attempt_is_given_both)
{
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = AO_S(9), .timeout = AO_S(5)));
    jobs_world_settle(w);
    assert_int_equal(world_run_of(w, id)->run.deadline, w->v.now + AO_S(9));
    assert_int_equal(world_run_of(w, id)->run.timeout, AO_S(5));
}

JOBS_TEST(the_last_timeout_is_final)
{
    uint64_t id = jobs_world_submit(w, &WORK(.timeout = AO_S(1), .retries = 1, .backoff = 0));
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(world_state(w, id), JOB_DEAD);
    assert_string_equal(world_job(w, id)->end->code, "DEADLINE");
    assert_int_equal(w->runs == NULL, true);
}

JOBS_TEST(again_is_no_failure)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    for (unsigned i = 1; i < 5; i++) {
        jobs_world_settle(w);
        assert_int_equal(world_run_of(w, id)->run.attempt, i);
        world_again(world_run_of(w, id), AO_S(5));
        assert_int_equal(world_reason(w, id), JOB_WHY_AGAIN);
        jobs_world_pass(w, AO_S(5));
    }
    assert_int_equal(world_job(w, id)->failures, 0);
}

JOBS_TEST(retry_begins_anew)
{
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = AO_S(1)));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
    assert_false(world_retry(w, world_job(w, id)));
    world_finish(world_run_of(w, id), "\x01");
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_false(world_retry(w, world_job(w, id)));
    assert_int_equal(w->jobs->table.in_memory.ended[JOB_EXPIRED], 0);
}

/* It is tried as often as it was the first time. */
JOBS_TEST(retry_counts_anew)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 1, .backoff = 0));
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 2; i++) {
            assert_int_not_equal(world_state(w, id), JOB_DEAD);
            jobs_world_pass(w, AO_S(1));
            world_fail(world_run_of(w, id), "ODD", "not today");
            jobs_world_pass(w, AO_S(1));
        }
        assert_int_equal(world_state(w, id), JOB_DEAD);
        assert_true(w->jobs->table.kept.bytes[KEPT_BADLY] > 0);
        assert_true(world_retry(w, world_job(w, id)));
        assert_int_equal(w->jobs->table.kept.bytes[KEPT_BADLY], 0);
    }
}

/* Whatever its handler says of the time. */
JOBS_TEST(an_attempt_that_outlives_the_deadline_expires)
{
    struct outcome late;
    struct attempt_end end = {.outcome = &late};
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = AO_S(5), .retries = 3));
    jobs_world_settle(w);
    outcome_of(ERGON_E_DEADLINE, &late);
    w->v.now += AO_S(5);
    world_return(world_run_of(w, id), &end);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
}

/* As after a long round, or while a large store is read back. */
JOBS_TEST(a_moment_keeps_its_place_on_both_clocks)
{
    struct jobs *l = w->jobs;
    ao_time round = table_now(&l->table);
    w->v.now += AO_S(5);
    assert_int_equal(table_now(&l->table), round);
    assert_int_equal(table_time_of(&l->table, table_wall(&l->table) + AO_S(10)),
                     w->v.now + AO_S(10));
    assert_int_equal(table_wall_of(&l->table, w->v.now + AO_S(10)),
                     table_wall(&l->table) + AO_S(10));
    assert_int_equal(table_wall_of(&l->table, round), table_wall(&l->table) - AO_S(5));
    assert_int_equal(table_wall_of(&l->table, AO_NEVER - 1), UINT64_MAX); /* and not in the past */
}

/* --- after --- */

JOBS_TEST(what_must_be_done_first_is)
{
    w->room[1] = 2;
    uint64_t first[2] = {stage_submit_after(w, NULL, 0), stage_submit_after(w, NULL, 0)};
    uint64_t second = stage_submit_after(w, first, 2);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_AFTER);
    world_finish(world_run_of(w, first[1]), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_AFTER);
    world_finish(world_run_of(w, first[0]), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, second), JOB_RUNNING);
    assert_int_equal(world_state(w, stage_submit_after(w, first, 2)), JOB_QUEUED);
}

JOBS_TEST(a_chain_fails_with_its_first)
{
    enum { LENGTH = 20000 };
    uint64_t first = stage_submit_after(w, NULL, 0), last = first;
    for (unsigned i = 0; i < LENGTH; i++)
        last = stage_submit_after(w, &last, 1);
    jobs_world_settle(w);
    world_fail(world_run_of(w, first), "ODD", "not today");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, last), JOB_FAILED);
    assert_string_equal(world_job(w, last)->end->code, "AFTER");
    assert_int_equal(w->jobs->table.in_memory.ended[JOB_FAILED], LENGTH + 1);
    uint64_t late = stage_submit_after(w, &last, 1);
    assert_int_equal(world_state(w, late), JOB_FAILED);
}

JOBS_TEST(the_unknown_cannot_be_waited_for)
{
    struct job_spec spec = world_spec("work");
    struct submitted done;
    char text[JOB_TEXT_MAX] = "";
    uint64_t nobody = 12345;
    spec.after = &nobody;
    spec.after_count = 1;
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_E_NOT_FOUND);
    assert_non_null(strstr(text, "no task"));
    assert_int_equal(w->jobs->table.count, 0);
}

static bool of_its_tenant(const void *arg, const struct job *job, const struct job *on)
{
    (void)arg;
    return job->tenant == on->tenant;
}

JOBS_TEST(a_task_of_another_tenant_is_unknown_to_who_may_not_see_it)
{
    struct job_spec spec = WORK(.tenant = span_text("ann"));
    const struct submitter who = {.waits = {.may_wait = of_its_tenant}};
    struct submitted done;
    char text[JOB_TEXT_MAX] = "";
    uint64_t first = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    spec.after = &first;
    spec.after_count = 1;
    assert_int_equal(job_submit(w->jobs, &spec, &who, &done, text, sizeof text), ERGON_OK);
    spec.tenant = span_text("bob");
    assert_int_equal(job_submit(w->jobs, &spec, &who, &done, text, sizeof text), ERGON_E_NOT_FOUND);
    assert_non_null(strstr(text, "no task"));
    effects_apply(w->jobs);
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_OK);
}

JOBS_TEST(who_waits_can_be_cancelled)
{
    uint64_t first = stage_submit_after(w, NULL, 0);
    uint64_t second = stage_submit_after(w, &first, 1), third = stage_submit_after(w, &second, 1);
    world_cancel(w, world_job(w, second));
    jobs_world_settle(w);
    assert_int_equal(world_state(w, second), JOB_CANCELLED);
    assert_int_equal(world_state(w, third), JOB_FAILED);
    assert_true(job_state_open(world_state(w, first)));
}

/* --- What has ended --- */

JOBS_TEST(the_oldest_ends_go_when_there_are_too_many)
{
    struct job_spec spec = WORK();
    uint64_t ids[100];
    w->lasts = 0;
    w->jobs->options.settings.limits.kept_bytes = 20000;
    for (unsigned i = 0; i < 100; i++)
        ids[i] = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_null(world_job(w, ids[0]));
    assert_non_null(world_job(w, ids[99]));
    assert_true(w->jobs->table.kept.bytes[KEPT_WELL] <= 20000);
    assert_int_equal(w->jobs->table.in_memory.ended[JOB_DONE], 100);
}

JOBS_TEST(the_bytes_of_what_has_ended_are_counted)
{
    w->lasts = 0;
    for (unsigned i = 0; i < 10; i++)
        jobs_world_submit(w, &WORK(.keep = AO_S(5)));
    jobs_world_pass(w, AO_S(1));
    assert_true(w->jobs->table.kept.bytes[KEPT_WELL] > 0);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(w->jobs->table.kept.bytes[KEPT_WELL], 0);
}

/* An attempt that was fenced still refers to its task, and finds it when it comes home. */
JOBS_TEST(what_an_attempt_may_still_come_home_to_is_kept)
{
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = AO_S(2), .keep = AO_S(1)));
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
    struct world_run *run = world_run_of(w, id);
    jobs_world_pass(w, AO_S(60));
    assert_non_null(world_job(w, id));
    world_finish(run, "\x2a");
    jobs_world_pass(w, AO_S(60));
    assert_null(world_job(w, id));
}

static uint64_t end_one(struct jobs_world *w, const struct job_spec *spec, bool well)
{
    uint64_t id = jobs_world_submit(w, spec);
    jobs_world_settle(w);
    if (well)
        world_finish(world_run_of(w, id), "\x2a");
    else
        world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    return id;
}

JOBS_TEST(those_that_failed_are_kept_for_longer)
{
    uint64_t done = end_one(w, &WORK(), true), failed = end_one(w, &WORK(), false),
             hour = end_one(w, &WORK(.keep = AO_S(3600)), false),
             year = end_one(w, &WORK(.keep = AO_S(365 * 86400)), false);
    jobs_world_pass(w, AO_S(3601));
    assert_null(world_job(w, done));
    assert_null(world_job(w, hour));
    assert_non_null(world_job(w, failed));
    jobs_world_pass(w, AO_S(7 * 86400 - 3602));
    assert_non_null(world_job(w, failed));
    jobs_world_pass(w, AO_S(2));
    assert_null(world_job(w, failed));
    assert_non_null(world_job(w, year));
}

JOBS_TEST(dead_ones_are_kept_as_those_that_failed)
{
    struct job_spec spec = WORK(.retries = 1, .backoff = AO_MS(1));
    uint64_t id = end_one(w, &spec, false), gone = stage_submit(w);
    world_cancel(w, world_job(w, gone));
    jobs_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(5000));
    assert_int_equal(world_state(w, id), JOB_DEAD);
    assert_null(world_job(w, gone));
}

/* Neither kind pushes the other out of its half. */
JOBS_TEST(those_that_are_done_do_not_push_out_those_that_failed, .quiet = true)
{
    enum { ROOM = 40000 };
    const uint64_t *kept = w->jobs->table.kept.bytes;
    w->jobs->options.settings.limits.kept_bytes = ROOM;
    uint64_t failed = end_one(w, &WORK(), false);
    for (unsigned i = 0; i < 200; i++)
        end_one(w, &WORK(), true);
    assert_non_null(world_job(w, failed));
    assert_true(kept[KEPT_WELL] > ROOM * 3 / 4);
    uint64_t done = end_one(w, &WORK(), true);
    for (unsigned i = 0; i < 200; i++)
        end_one(w, &WORK(), false);
    assert_null(world_job(w, failed));
    assert_non_null(world_job(w, done));
    assert_true(kept[KEPT_WELL] > ROOM * 2 / 5);
    assert_true(kept[KEPT_WELL] + kept[KEPT_BADLY] <= ROOM);
}

JOBS_TEST(room_for_new_ones_is_made_by_those_that_are_done)
{
    uint64_t failed = end_one(w, &WORK(), false), done = end_one(w, &WORK(), true);
    w->jobs->options.settings.limits.max = 2;
    stage_submit(w);
    assert_null(world_job(w, done));
    assert_non_null(world_job(w, failed));
    stage_submit(w);
    assert_null(world_job(w, failed));
}

STORED_TEST(how_long_it_is_kept_holds_across_a_crash)
{
    struct job_spec spec = WORK(.durable = DURABLE_ASYNC, .priority = 7);
    uint64_t ids[2];
    for (unsigned i = 0; i < 2; i++) {
        ids[i] = jobs_world_submit(w, &spec);
        jobs_world_pass(w, AO_MS(10));
        world_fail(world_run_of(w, ids[i]), "ODD", "not today");
        jobs_world_pass(w, AO_MS(10));
        spec.keep = AO_S(3600);
    }
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(4000));
    assert_int_equal(world_state(w, ids[0]), JOB_FAILED);
    assert_null(world_job(w, ids[1]));
    jobs_world_pass(w, AO_S(7 * 86400));
    assert_null(world_job(w, ids[0]));
}

JOBS_TEST(a_large_result_is_cut)
{
    uint64_t fits = jobs_world_submit(w, &WORK(.keep_size = 6));
    jobs_world_settle(w);
    world_finish(world_run_of(w, fits), "\xa5hello");
    assert_int_equal(world_job(w, fits)->end->result->len, 6);
    uint64_t id = jobs_world_submit(w, &WORK(.keep_size = 5));
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\xa5hello");
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_true(world_job(w, id)->end->cut);
    assert_null(world_job(w, id)->end->result);
}

/* As many as may be about to start expire while the disk is slow; the one behind them is not
 * forgotten. */
JOBS_TEST(who_expires_before_its_start_leaves_its_place, .stored = true, .quiet = true)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC, .deadline = AO_S(1));
    w->room[1] = 0;
    for (unsigned i = 0; i < 320; i++)
        jobs_world_submit(w, &spec);
    spec.deadline = AO_NEVER;
    uint64_t last = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(100));
    w->store->latency = AO_S(5);
    w->room[1] = 1;
    job_source_wake(w->jobs->tasks, POOL_BLOCKING);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(world_state(w, last), JOB_RUNNING);
}

static void answer_late(void *arg, struct world_run *r)
{
    struct outcome outcome = {.error = ERGON_E_DEADLINE, .text = span_text("it took too long")};
    struct attempt_end end = {.outcome = &outcome};
    world_return(r, &end);
}

/* Its handler says so at the very moment, before anybody else has looked. */
JOBS_TEST(an_attempt_that_ends_with_the_deadline_is_expired_and_not_tried_again)
{
    w->over = answer_late;
    w->lasts = AO_S(1);
    uint64_t id = jobs_world_submit(w, &WORK(.deadline = AO_S(1), .retries = 3));
    jobs_world_pass(w, AO_S(1));
    assert_null(w->runs);
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
    assert_int_equal(world_job(w, id)->failures, 0);
}
