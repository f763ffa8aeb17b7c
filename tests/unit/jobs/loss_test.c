/* Workers that are lost with what they ran: what that costs the task, and when it is dead. */
#include <stdio.h>

#include "server/jobs/core/history.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

static const char cut[] = "worker w1 at 10.0.0.7: connection reset";

static struct world_run *run_of(struct jobs_world *w, uint64_t id)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    return r;
}

static void lose(struct jobs_world *w, uint64_t id, enum attempt_loss loss)
{
    world_lose(run_of(w, id), loss, cut);
    jobs_world_settle(w);
}

/* Lost so often, each time as soon as it runs again. */
static void lose_times(struct jobs_world *w, uint64_t id, enum attempt_loss loss, unsigned times)
{
    for (; times > 0; times--) {
        for (unsigned s = 0; s < 60 && !world_run_of(w, id); s++)
            jobs_world_pass(w, AO_S(1));
        lose(w, id, loss);
    }
}

static bool last_event(struct jobs_world *w, uint64_t id, struct history_event *event)
{
    const struct job *job = world_job(w, id);
    return history_get(job, history_next(job) - 1, event);
}

JOBS_TEST(it_is_interrupted_and_goes_on_at_once_before_others)
{
    struct history_event event;
    uint64_t id = stage_submit(w), other = stage_submit(w);
    world_lose(run_of(w, id), LOSS_IN_COMPANY, cut);
    assert_true(last_event(w, id, &event));
    assert_int_equal(event.what, JOB_EVENT_INTERRUPTED);
    assert_int_equal(event.attempt, 1);
    assert_true(span_is(event.text, cut));
    jobs_world_settle(w);
    assert_int_equal(run_of(w, id)->run.attempt, 2);
    assert_null(world_run_of(w, other));
    assert_int_equal(world_job(w, id)->failures, 0);
    assert_string_equal(world_job(w, id)->end->code, "WORKER_LOST");
    assert_string_equal(world_job(w, id)->end->text, cut);
}

JOBS_TEST(each_further_attempt_waits_longer)
{
    static const unsigned most_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    uint64_t id = stage_submit(w);
    w->jobs->options.settings.losses = 0;
    lose(w, id, LOSS_IN_COMPANY);
    for (unsigned i = 0; i < sizeof most_s / sizeof most_s[0]; i++) {
        lose(w, id, LOSS_IN_COMPANY);
        assert_int_equal(world_state(w, id), JOB_DELAYED);
        assert_int_equal(world_reason(w, id), JOB_WHY_LOST);
        jobs_world_pass(w, AO_S(most_s[i]) / 2 - AO_MS(1));
        assert_null(world_run_of(w, id));
        jobs_world_pass(w, AO_S(most_s[i]) / 2 + AO_MS(1));
        assert_int_equal(run_of(w, id)->run.attempt, i + 3);
    }
}

/* --- When it is dead --- */

static void expect_dead(struct jobs_world *w, uint64_t id, const char *text)
{
    assert_int_equal(world_state(w, id), JOB_DEAD);
    assert_string_equal(world_job(w, id)->end->code, "WORKER_LOST");
    assert_string_equal(world_job(w, id)->end->text, text);
}

JOBS_TEST(after_nine_in_company_it_is_dead)
{
    uint64_t id = stage_submit(w);
    lose_times(w, id, LOSS_IN_COMPANY, 8);
    assert_int_equal(job_losses(world_job(w, id)), 8);
    assert_true(job_is_open(world_job(w, id)));
    lose_times(w, id, LOSS_IN_COMPANY, 1);
    expect_dead(w, id,
                "9 workers were lost one after another while they had it; the last: worker w1 at "
                "10.0.0.7: connection reset");
}

JOBS_TEST(after_four_alone_it_is_dead_and_not_after_three)
{
    uint64_t id = stage_submit(w);
    lose_times(w, id, LOSS_ALONE, 1);
    assert_int_equal(job_losses(world_job(w, id)), 1);
    lose_times(w, id, LOSS_ALONE, 2);
    assert_int_equal(job_losses(world_job(w, id)), 7);
    assert_true(job_is_open(world_job(w, id)));
    lose_times(w, id, LOSS_ALONE, 1);
    expect_dead(w, id,
                "4 workers were lost one after another while they had it; the last: worker w1 at "
                "10.0.0.7: connection reset");
}

JOBS_TEST(without_a_limit_it_never_is)
{
    w->jobs->options.settings.losses = 0;
    uint64_t id = stage_submit(w);
    lose_times(w, id, LOSS_ALONE, 300);
    assert_true(job_is_open(world_job(w, id)));
    assert_int_equal(job_losses(world_job(w, id)), 255);
}

/* Also one that says that it failed, or is to come again. */
JOBS_TEST(an_answer_shows_that_a_worker_outlives_it)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 9));
    jobs_world_settle(w);
    lose_times(w, id, LOSS_IN_COMPANY, 8);
    jobs_world_pass(w, AO_S(60));
    world_again(run_of(w, id), AO_S(1));
    assert_int_equal(job_losses(world_job(w, id)), 0);
    lose_times(w, id, LOSS_IN_COMPANY, 8);
    jobs_world_pass(w, AO_S(60));
    world_fail(run_of(w, id), "ODD", "not today");
    assert_int_equal(job_losses(world_job(w, id)), 0);
    assert_int_equal(world_reason(w, id), JOB_WHY_RETRY);
}

JOBS_TEST(one_that_is_tried_again_begins_anew)
{
    uint64_t id = stage_submit(w);
    lose_times(w, id, LOSS_ALONE, 4);
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_settle(w);
    assert_int_equal(job_losses(world_job(w, id)), 0);
    assert_int_equal(run_of(w, id)->run.attempt, 5);
}

/* --- What it gives back, and what it does not cost --- */

JOBS_TEST(its_permit_is_another_s_while_it_waits, .room = 2)
{
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 1);
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    lose(w, id, LOSS_IN_COMPANY);
    uint64_t other = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, other), JOB_WHY_LIMIT);
    lose(w, id, LOSS_IN_COMPANY);
    assert_int_equal(world_reason(w, id), JOB_WHY_LOST);
    assert_int_equal(world_state(w, other), JOB_RUNNING);
}

JOBS_TEST(what_was_not_sent_has_not_begun)
{
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 1);
    struct history_event event;
    w->holds = true;
    uint64_t id = jobs_world_submit(w, &spec);
    stage_submit(w);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    lose(w, id, LOSS_UNSENT);
    struct world_run *again = run_of(w, id); /* before the other */
    assert_int_equal(again->run.attempt, 1);
    assert_int_equal(job_losses(world_job(w, id)), 0);
    assert_false(last_event(w, id, &event) && event.what != JOB_EVENT_SUBMITTED);
    world_begin(again);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(world_job(w, id)->attempt, 1);
    world_finish(again, "\x01");
    assert_int_equal(world_state(w, id), JOB_DONE);
}

JOBS_TEST(one_that_was_told_to_stop_is_cancelled)
{
    w->stubborn = true;
    uint64_t id = stage_submit(w);
    assert_true(world_cancel(w, world_job(w, id)));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    lose(w, id, LOSS_ALONE);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

/* It is nobody's answer, so it is not fenced, and its permit is free. */
JOBS_TEST(one_that_was_given_up_goes_in_silence, .room = 2)
{
    struct job_spec spec = WORK(.timeout = AO_S(1), .limit_key = span_text("gpu"), .limit = 1);
    struct jobs_info info;
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &spec), other = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, id), JOB_FAILED);
    assert_int_equal(world_reason(w, other), JOB_WHY_LIMIT);
    lose(w, id, LOSS_ALONE);
    jobs_info(w->jobs, &info);
    assert_int_equal(info.fenced, 0);
    assert_int_equal(world_job(w, id)->orphans, 0);
    assert_int_equal(world_state(w, other), JOB_RUNNING);
}

JOBS_TEST(while_the_server_stops_none_is_counted)
{
    uint64_t id = stage_submit(w);
    lose(w, id, LOSS_IN_COMPANY);
    w->source.stop(w->source.arg, false);
    lose(w, id, LOSS_IN_COMPANY);
    assert_int_equal(job_losses(world_job(w, id)), 1);
    assert_int_equal(world_reason(w, id), JOB_WHY_STOPPING);
}

/* --- With a store --- */

static uint64_t submit_fsync(struct jobs_world *w)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(5));
    return id;
}

/* So that after a power cut its numbers do not go back. */
STORED_TEST(the_next_begins_when_the_file_knows_that_the_last_is_over)
{
    uint64_t id = submit_fsync(w);
    w->store->latency = AO_MS(10);
    lose(w, id, LOSS_IN_COMPANY);
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    jobs_world_pass(w, AO_MS(30));
    assert_int_equal(run_of(w, id)->run.attempt, 2);
    assert_true(memory_store_row(w->store, id)->task.attempt >= 1);
}

STORED_TEST(losses_are_counted_on_after_a_crash)
{
    uint64_t id = submit_fsync(w);
    lose_times(w, id, LOSS_ALONE, 3);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(memory_store_row(w->store, id)->task.losses, 7);
    jobs_world_crash(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_LOST);
    assert_int_equal(job_losses(world_job(w, id)), 7);
    lose_times(w, id, LOSS_ALONE, 1);
    jobs_world_pass(w, AO_MS(5));
    expect_dead(w, id,
                "4 workers were lost one after another while they had it; the last: worker w1 at "
                "10.0.0.7: connection reset");
    stage_balances(w);
}

/* Its mark said that it had begun, and nobody was left to say that it is over. */
STORED_TEST(a_lost_attempt_is_no_crash_of_the_server)
{
    uint64_t id = submit_fsync(w);
    w->store->latency = AO_S(10);
    lose(w, id, LOSS_IN_COMPANY);
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->crashes, 0);
}
