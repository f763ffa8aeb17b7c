/* task.change and task.run_now: priority and time of what waits. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

static struct operation *change(struct jobs_world *w, uint64_t id, struct job_change how)
{
    struct operation *op = world_operation(w, &operation_task_change);
    op->change = (struct change_arguments){.id = id, .change = how};
    world_give(w, op);
    return op;
}

static struct operation *set_priority(struct jobs_world *w, uint64_t id, uint8_t priority)
{
    return change(w, id, (struct job_change){.priority = priority});
}

static struct operation *delay(struct jobs_world *w, uint64_t id, ao_time by)
{
    return change(w, id,
                  (struct job_change){.priority = CHANGE_NO_PRIORITY, .timed = true, .delay = by});
}

static struct operation *run_now(struct jobs_world *w, uint64_t id)
{
    struct operation *op = world_operation(w, &operation_task_run_now);
    op->change.id = id;
    world_give(w, op);
    return op;
}

static void end_run(struct jobs_world *w, uint64_t id)
{
    struct world_run *run = world_run_of(w, id);
    assert_non_null(run);
    world_finish(run, "\x01");
    jobs_world_settle(w);
}

/* --- Priority --- */

JOBS_TEST(a_higher_priority_overtakes_what_is_queued)
{
    uint64_t holder = stage_submit(w), first = stage_submit(w), second = stage_submit(w);
    stage_says(set_priority(w, second, 9), "'state': 'queued', 'priority': 9, 'due': nil}");
    end_run(w, holder);
    assert_non_null(world_run_of(w, second));
    end_run(w, second);
    assert_non_null(world_run_of(w, first));
}

JOBS_TEST(a_lower_priority_is_overtaken)
{
    uint64_t holder = stage_submit(w), first = stage_submit(w), second = stage_submit(w);
    set_priority(w, first, 0);
    end_run(w, holder);
    assert_non_null(world_run_of(w, second));
}

JOBS_TEST(who_waits_for_a_limit_goes_by_the_new_priority, .room = 4)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    uint64_t holder = jobs_world_submit(w, &spec), first = jobs_world_submit(w, &spec),
             second = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_LIMIT);
    set_priority(w, second, 9);
    assert_int_equal(world_reason(w, second), JOB_WHY_LIMIT);
    end_run(w, holder);
    assert_non_null(world_run_of(w, second));
    assert_null(world_run_of(w, first));
}

JOBS_TEST(one_that_is_held_by_a_pause_goes_on_by_its_new_priority)
{
    uint64_t holder = stage_submit(w);
    world_job(w, holder)->queue->paused = true;
    uint64_t first = stage_submit(w), second = stage_submit(w);
    set_priority(w, second, 9);
    world_job(w, holder)->queue->paused = false;
    scheduler_move(&w->jobs->sched, world_job(w, holder)->queue);
    jobs_world_settle(w);
    end_run(w, holder);
    assert_non_null(world_run_of(w, second));
    assert_null(world_run_of(w, first));
}

/* --- Time --- */

JOBS_TEST(a_delay_is_changed)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    delay(w, id, AO_S(200));
    jobs_world_pass(w, AO_S(150));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    delay(w, id, AO_S(10));
    jobs_world_pass(w, AO_S(9));
    assert_null(world_run_of(w, id));
    jobs_world_pass(w, AO_S(2));
    assert_non_null(world_run_of(w, id));
}

JOBS_TEST(what_is_queued_can_be_put_off)
{
    uint64_t holder = stage_submit(w), id = stage_submit(w), other = stage_submit(w);
    stage_says(delay(w, id, AO_S(10)), "'state': 'delayed'");
    end_run(w, holder);
    end_run(w, other);
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    jobs_world_pass(w, AO_S(11));
    assert_non_null(world_run_of(w, id));
}

JOBS_TEST(what_waits_for_a_limit_leaves_its_line_when_it_is_put_off, .room = 4)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    uint64_t holder = jobs_world_submit(w, &spec), first = jobs_world_submit(w, &spec),
             second = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    delay(w, first, AO_S(10));
    end_run(w, holder);
    end_run(w, second);
    jobs_world_pass(w, AO_S(11));
    assert_non_null(world_run_of(w, first));
}

JOBS_TEST(what_comes_after_others_waits_for_them_and_for_its_time, .room = 4)
{
    uint64_t on = stage_submit(w), id = stage_submit_after(w, &on, 1);
    jobs_world_settle(w);
    delay(w, id, AO_S(10));
    assert_int_equal(world_reason(w, id), JOB_WHY_AFTER);
    end_run(w, on);
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    stage_says(run_now(w, id), "'priority': 5, 'due': nil}");
    jobs_world_settle(w);
    assert_non_null(world_run_of(w, id));
}

/* --- Now --- */

JOBS_TEST(what_is_delayed_comes_now)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    stage_says(run_now(w, id), "'priority': 5, 'due': nil}");
    jobs_world_settle(w);
    assert_non_null(world_run_of(w, id));
}

JOBS_TEST(what_waits_for_its_next_attempt_comes_now)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 3, .backoff = AO_S(1000)));
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_RETRY);
    run_now(w, id);
    jobs_world_settle(w);
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
    assert_int_equal(world_job(w, id)->failures, 1);
}

JOBS_TEST(what_waits_for_a_limit_does_not_jump_it, .room = 4)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    uint64_t holder = jobs_world_submit(w, &spec), first = jobs_world_submit(w, &spec);
    spec.delay = AO_S(100);
    uint64_t second = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    uint32_t events = history_next(world_job(w, first));
    run_now(w, first);
    run_now(w, second);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, first), JOB_WHY_LIMIT);
    assert_int_equal(world_reason(w, second), JOB_WHY_LIMIT);
    assert_int_equal(history_next(world_job(w, first)), events);
    end_run(w, holder);
    assert_non_null(world_run_of(w, first));
    assert_null(world_run_of(w, second));
}

/* --- Refused --- */

JOBS_TEST(what_runs_or_has_ended_is_not_changed)
{
    uint64_t id = stage_submit(w);
    struct operation *op = set_priority(w, id, 9);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "only a task that waits can be changed");
    end_run(w, id);
    assert_int_equal(delay(w, id, AO_S(1))->reply.error, ERGON_E_BAD_PARAMS);
    assert_int_equal(run_now(w, id)->reply.error, ERGON_E_BAD_PARAMS);
}

/* Nobody who asks can know that it has been given to an executor: it is taken back. */
JOBS_TEST(what_is_assigned_and_has_not_begun_is_changed)
{
    w->holds = true;
    uint64_t id = stage_submit(w);
    jobs_world_pass(w, 0);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    stage_says(set_priority(w, id, 9), "'state': 'queued', 'priority': 9, 'due': nil}");
    jobs_world_pass(w, 0);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    assert_int_equal(w->jobs->sched.pools.pools[POOL_BLOCKING]->assigned_at[9], 1);
    assert_int_equal(delay(w, id, AO_S(1))->reply.error, ERGON_OK);
    w->holds = false;
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    assert_null(world_run_of(w, id));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_job(w, id)->attempt, 1);
    end_run(w, id);
    for (unsigned level = 0; level < FAIR_LEVELS; level++)
        assert_int_equal(w->jobs->sched.pools.pools[POOL_BLOCKING]->assigned_at[level], 0);
}

/* --- Its history --- */

static void expect_event(struct jobs_world *w, uint64_t id, uint32_t seq, const char *text)
{
    struct history_event event;
    assert_true(history_get(world_job(w, id), seq, &event));
    assert_int_equal(event.what, JOB_EVENT_CHANGED);
    assert_true(span_is(event.text, text));
}

JOBS_TEST(the_history_tells_what_was_changed)
{
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    change(w, id, (struct job_change){.priority = 8, .timed = true, .delay = AO_S(7)});
    expect_event(w, id, 2, "priority 8, was 5");
    expect_event(w, id, 3, "not before 7000 ms from then");
    run_now(w, id);
    expect_event(w, id, 4, "at once");
}

/* --- The disk --- */

STORED_TEST(a_change_is_on_disk_when_it_is_answered)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    struct operation *op =
        change(w, id, (struct job_change){.priority = 9, .timed = true, .delay = AO_S(500)});
    assert_false(world_answered(w, op));
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_OK);
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->priority, 9);
    jobs_world_pass(w, AO_S(400));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    struct history_event event;
    assert_true(history_get(world_job(w, id), 2, &event));
    assert_int_equal(event.what, JOB_EVENT_CHANGED);
    jobs_world_pass(w, AO_S(102));
    assert_non_null(world_run_of(w, id));
    stage_balances(w);
}

/* To what a task without options has. */
STORED_TEST(a_priority_that_is_changed_back_is_written_too)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    set_priority(w, id, 9);
    jobs_world_pass(w, AO_S(1));
    set_priority(w, id, SPEC_PRIORITY);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->priority, SPEC_PRIORITY);
}

STORED_TEST(a_change_that_comes_before_its_first_row_is_written)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    struct operation *op = set_priority(w, id, 9);
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->priority, 9);
    stage_balances(w);
}

STORED_TEST(a_change_waits_for_a_store_that_fails)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    struct operation *op = set_priority(w, id, 9);
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(set_priority(w, id, 1)->reply.error, ERGON_E_STORE);
    assert_int_equal(world_job(w, id)->priority, 9);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->priority, 9);
    stage_balances(w);
}

/* --- The row of one task fails, and the store takes others --- */

/* It joins a submission that is to be replicated, and is not: its next write comes later. */
JOBS_TEST(a_change_that_waits_for_a_retry_is_not_answered_as_written, .stored = true,
          .replicates = true)
{
    struct job_spec spec = WORK(.key = span_text("k"), .durable = DURABLE_FSYNC, .delay = AO_S(60));
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    struct operation *joins = world_operation(w, &operation_task_submit);
    spec.durable = DURABLE_REPLICATED;
    joins->submission.specs = &spec;
    joins->submission.count = 1;
    w->store->level = STORE_LEVEL_FSYNC;
    world_give(w, joins);
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(joins->reply.error, ERGON_E_STORE);
    struct operation *op = set_priority(w, id, 9);
    jobs_world_pass(w, AO_MS(5));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    stage_holds(op->reply.text, "the change is in effect");
    jobs_world_pass(w, AO_S(2));
    op = set_priority(w, id, 8);
    jobs_world_pass(w, AO_MS(5));
    stage_says(op, "'priority': 8");
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->priority, 8);
}

STORED_TEST(a_change_that_is_refused_for_good_is_not_answered_as_written)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    w->store->refuses_changes = true;
    struct operation *op = set_priority(w, id, 9);
    jobs_world_pass(w, AO_MS(5));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(world_job(w, id)->durable, DURABLE_NONE);
}
