/* task.cancel, task.retry and task.forget: of all that a filter means, and task.forget of one. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

#define ALL ((struct task_filter){.state = -1})

static struct operation *sweep(struct jobs_world *w, const struct operation_class *cls,
                               struct task_filter filter)
{
    struct operation *op = world_operation(w, cls);
    op->sweep.filter = filter;
    world_give(w, op);
    return op;
}

static void expect_swept(struct jobs_world *w, struct operation *op, const char *wanted)
{
    jobs_world_pass(w, AO_MS(20));
    assert_true(world_answered(w, op));
    stage_says(op, wanted);
}

static void submit_some(struct jobs_world *w, unsigned count, const struct job_spec *spec)
{
    for (unsigned i = 0; i < count; i++)
        jobs_world_submit(w, spec);
}

static uint64_t count_in(struct jobs_world *w, enum job_state state)
{
    return counter_read(&w->jobs->table.by_state[state]);
}

/* --- Which --- */

JOBS_TEST(a_filter_cancels_what_it_means, .quiet = true)
{
    struct job_spec step = world_spec("step");
    step.delay = AO_S(100);
    submit_some(w, 5, &WORK(.delay = AO_S(100)));
    submit_some(w, 4, &step);
    submit_some(w, 3, &WORK(.delay = AO_S(100), .tenant = span_text("acme")));
    struct task_filter of_acme = ALL;
    of_acme.method = span_text("work");
    of_acme.tenant = span_text("acme");
    expect_swept(w, sweep(w, &operation_task_cancel_matching, of_acme),
                 "{'matched': 3, 'cancelled': 3, 'dry_run': false}");
    struct task_filter delayed = {.state = JOB_DELAYED};
    expect_swept(w, sweep(w, &operation_task_cancel_matching, delayed),
                 "{'matched': 9, 'cancelled': 9, 'dry_run': false}");
    expect_swept(w, sweep(w, &operation_task_cancel_matching, ALL),
                 "{'matched': 12, 'cancelled': 0, 'dry_run': false}");
    assert_int_equal(count_in(w, JOB_CANCELLED), 12);
}

JOBS_TEST(a_filter_knows_ages)
{
    submit_some(w, 3, &WORK(.delay = AO_S(1000)));
    jobs_world_pass(w, AO_S(60));
    submit_some(w, 2, &WORK(.delay = AO_S(1000)));
    struct task_filter old = ALL;
    old.older = AO_S(30);
    expect_swept(w, sweep(w, &operation_task_cancel_matching, old),
                 "{'matched': 3, 'cancelled': 3, 'dry_run': false}");
    struct task_filter young = ALL;
    young.newer = AO_S(30);
    expect_swept(w, sweep(w, &operation_task_cancel_matching, young),
                 "{'matched': 2, 'cancelled': 2, 'dry_run': false}");
}

JOBS_TEST(what_it_may_not_know_of_it_leaves_alone)
{
    submit_some(w, 3, &WORK(.delay = AO_S(100), .tenant = span_text("acme")));
    submit_some(w, 2, &WORK(.delay = AO_S(100), .tenant = span_text("other")));
    struct operation *op = world_operation(w, &operation_task_cancel_matching);
    op->sweep.filter = ALL;
    op->rights = rights_new(
        &(struct rights_options){.name = "token:acme", .tenant = "acme", .methods = "task.*"});
    op->tenant = span_text("acme");
    world_give(w, op);
    expect_swept(w, op, "{'matched': 3, 'cancelled': 3, 'dry_run': false}");
    assert_int_equal(count_in(w, JOB_DELAYED), 2);
}

JOBS_TEST(a_dry_run_counts_alone)
{
    submit_some(w, 3, &WORK(.delay = AO_S(100)));
    struct operation *op = world_operation(w, &operation_task_cancel_matching);
    op->sweep.filter = ALL;
    op->sweep.dry_run = true;
    world_give(w, op);
    expect_swept(w, op, "{'matched': 3, 'cancelled': 3, 'dry_run': true}");
    assert_int_equal(count_in(w, JOB_DELAYED), 3);
}

/* --- What is done --- */

JOBS_TEST(a_cancel_is_for_all_who_share_a_run, .room = 2)
{
    struct job_spec spec = WORK(.coalesce = span_text("report"));
    uint64_t id = jobs_world_submit(w, &spec), runs = jobs_world_submit(w, &WORK());
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    expect_swept(w, sweep(w, &operation_task_cancel_matching, ALL),
                 "{'matched': 2, 'cancelled': 2, 'dry_run': false}");
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    assert_int_equal(world_state(w, runs), JOB_CANCELLED);
}

/* The newest first: what waits for others is cancelled, and does not fail. */
JOBS_TEST(what_waits_for_one_that_is_cancelled_is_cancelled_too)
{
    uint64_t first = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    uint64_t second = stage_submit_after(w, &first, 1);
    expect_swept(w, sweep(w, &operation_task_cancel_matching, ALL),
                 "{'matched': 2, 'cancelled': 2, 'dry_run': false}");
    assert_int_equal(world_state(w, second), JOB_CANCELLED);
}

static void end_three(struct jobs_world *w, uint64_t ids[3])
{
    for (unsigned i = 0; i < 3; i++) {
        ids[i] = stage_submit(w);
        if (i == 1)
            world_finish(world_run_of(w, ids[i]), "\x2a");
        else
            world_fail(world_run_of(w, ids[i]), "ODD", "not today");
        jobs_world_settle(w);
    }
}

JOBS_TEST(a_filter_tries_again)
{
    uint64_t ids[3];
    end_three(w, ids);
    uint64_t open = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    expect_swept(w, sweep(w, &operation_task_retry_matching, ALL),
                 "{'matched': 4, 'retried': 2, 'dry_run': false}");
    assert_int_equal(world_run_of(w, ids[0])->run.attempt, 2);
    assert_int_equal(world_state(w, ids[1]), JOB_DONE);
    assert_int_equal(world_state(w, ids[2]), JOB_QUEUED);
    assert_int_equal(world_state(w, open), JOB_DELAYED);
}

/* Starts count when their tasks are forgotten, and so do limits of tasks that are open. */
JOBS_TEST(a_filter_that_forgets_tells_of_names_in_use, .quiet = true, .room = 4)
{
    struct job_spec rated = WORK(.rate_key = span_text("r"), .rate = 2, .rate_per = AO_S(10));
    struct task_filter of_acme = ALL;
    of_acme.tenant = span_text("acme");
    jobs_world_submit(w, &rated);
    rated.tenant = of_acme.tenant;
    jobs_world_submit(w, &rated);
    jobs_world_submit(w, &WORK(.limit_key = span_text("l"), .limit = 1, .delay = AO_S(100)));
    jobs_world_settle(w);
    while (w->runs)
        world_finish(w->runs, "\xc0");
    jobs_world_settle(w);
    expect_swept(w, sweep(w, &operation_task_forget_matching, of_acme),
                 "{'matched': 1, 'forgotten': 1, 'dry_run': false, 'limits': 0, 'rates': 1}");
    expect_swept(w, sweep(w, &operation_task_forget_matching, ALL),
                 "{'matched': 2, 'forgotten': 1, 'dry_run': false, 'limits': 1, 'rates': 2}");
    jobs_world_pass(w, AO_S(10));
    expect_swept(w, sweep(w, &operation_task_forget_matching, ALL),
                 "{'matched': 1, 'forgotten': 0, 'dry_run': false, 'limits': 1, 'rates': 0}");
}

JOBS_TEST(a_filter_forgets)
{
    uint64_t ids[3];
    end_three(w, ids);
    uint64_t open = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    expect_swept(
        w, sweep(w, &operation_task_forget_matching, (struct task_filter){.state = JOB_FAILED}),
        "{'matched': 2, 'forgotten': 2, 'dry_run': false, 'limits': 0, 'rates': 0}");
    assert_null(world_job(w, ids[0]));
    assert_non_null(world_job(w, ids[1]));
    expect_swept(w, sweep(w, &operation_task_forget_matching, ALL),
                 "{'matched': 2, 'forgotten': 1, 'dry_run': false, 'limits': 0, 'rates': 0}");
    assert_non_null(world_job(w, open));
    assert_int_equal(w->jobs->table.kept.bytes[KEPT_WELL], 0);
    assert_int_equal(w->jobs->table.kept.bytes[KEPT_BADLY], 0);
}

/* --- In small steps --- */

static void one_round(struct jobs_world *w)
{
    virtual_round(&w->v, w->loop);
    virtual_round(&w->v, w->manager);
}

JOBS_TEST(many_are_done_in_small_steps, .quiet = true)
{
    enum { MANY = 5000 };
    submit_some(w, MANY, &WORK(.delay = AO_S(100)));
    struct operation *op = world_operation(w, &operation_task_cancel_matching);
    op->sweep.filter = ALL;
    channel_give(w->channel, op);
    for (uint64_t before = 0; !world_answered(w, op);) {
        one_round(w);
        uint64_t now = count_in(w, JOB_CANCELLED);
        assert_true(now - before <= 256);
        before = now;
    }
    stage_says(op, "{'matched': 5000, 'cancelled': 5000, 'dry_run': false}");
}

/* What stands where the walk is goes, and new ones come. */
JOBS_TEST(tasks_come_and_go_meanwhile, .quiet = true)
{
    enum { MANY = 1000 };
    submit_some(w, MANY, &WORK(.delay = AO_S(100), .keep = 0));
    struct operation *op = world_operation(w, &operation_task_cancel_matching),
                     *other = world_operation(w, &operation_task_cancel_matching);
    op->sweep.filter = other->sweep.filter = ALL;
    channel_give(w->channel, op);
    channel_give(w->channel, other);
    for (unsigned i = 0; i < 5; i++)
        one_round(w);
    uint64_t late = jobs_world_submit(w, &WORK(.delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    assert_true(world_answered(w, op) && world_answered(w, other));
    assert_int_equal(op->sweep.done + other->sweep.done, MANY);
    assert_int_equal(w->jobs->table.count, 1);
    assert_int_equal(world_state(w, late), JOB_DELAYED);
}

/* --- The disk --- */

STORED_TEST(a_cancel_by_filter_is_on_disk_when_it_is_answered)
{
    enum { MANY = 300 };
    w->quiet = true;
    submit_some(w, MANY, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    struct operation *op = sweep(w, &operation_task_cancel_matching, ALL);
    assert_false(world_answered(w, op));
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    stage_says(op, "{'matched': 300, 'cancelled': 300, 'dry_run': false}");
    assert_int_equal(w->store->rows.counts.cancelled, MANY);
    jobs_world_crash(w);
    assert_int_equal(count_in(w, JOB_CANCELLED), MANY);
    stage_balances(w);
}

/* A write of the task is under way when it is cancelled. */
STORED_TEST(so_is_one_whose_row_is_being_written)
{
    submit_some(w, 1, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    struct operation *op = sweep(w, &operation_task_cancel_matching, ALL);
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    stage_says(op, "{'matched': 1, 'cancelled': 1, 'dry_run': false}");
    assert_int_equal(w->store->rows.counts.cancelled, 1);
    assert_int_equal(w->store->rows.counts.submitted, 1);
}

STORED_TEST(retries_and_forgetting_are_on_disk_when_they_are_answered)
{
    uint64_t ids[2] = {jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC)),
                       jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC))};
    for (unsigned i = 0; i < 2; i++) {
        jobs_world_pass(w, AO_S(1));
        world_fail(world_run_of(w, ids[i]), "ODD", "not today");
    }
    jobs_world_pass(w, AO_S(1));
    struct operation *op = world_about(w, &operation_task_forget, ids[0]);
    world_give(w, op);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(5));
    stage_says(op, "'forgotten': true");
    assert_null(memory_store_row(w->store, ids[0]));
    w->room[1] = 0;
    op = sweep(w, &operation_task_retry_matching, (struct task_filter){.state = JOB_FAILED});
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, ids[1]), JOB_QUEUED);
    assert_null(world_job(w, ids[0]));
    stage_balances(w);
}

STORED_TEST(a_store_that_fails_is_said)
{
    submit_some(w, 3, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    struct operation *op = sweep(w, &operation_task_cancel_matching, ALL);
    jobs_world_pass(w, AO_MS(20));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    stage_holds(op->reply.text, "until it can be written");
    op = sweep(w, &operation_task_retry_matching, ALL);
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(w->store->rows.counts.cancelled, 3);
    stage_balances(w);
}

static uint64_t submit_one_that_failed(struct jobs_world *w)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .keep = AO_S(100)));
    jobs_world_pass(w, AO_MS(10));
    world_fail(world_run_of(w, id), "ODD", "text");
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_state(w, id), JOB_FAILED);
    return id;
}

/* STORE would say that it may be repeated, and then it might be queued twice. */
STORED_TEST(a_retry_that_cannot_be_written_is_not_repeated)
{
    uint64_t id = submit_one_that_failed(w);
    submit_one_that_failed(w);
    struct operation *op = world_about(w, &operation_task_retry, id);
    struct operation *all = world_operation(w, &operation_task_retry_matching);
    all->sweep.filter = (struct task_filter){.state = JOB_FAILED};
    world_give(w, op);
    world_give(w, all);
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_MS(5));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
    stage_holds(op->reply.text, "the change is in effect");
    assert_true(world_answered(w, all));
    assert_int_equal(all->reply.error, ERGON_E_UNSURE);
}

STORED_TEST(a_stop_says_that_a_retry_was_made)
{
    struct operation *op = world_about(w, &operation_task_retry, submit_one_that_failed(w));
    world_give(w, op);
    jobs_stop(w->jobs);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
}

JOBS_TEST(a_server_that_ends_answers_it)
{
    submit_some(w, 3, &WORK(.delay = AO_S(100)));
    struct operation *op = world_operation(w, &operation_task_cancel_matching);
    op->sweep.filter = ALL;
    op->cls->serve(w->jobs, op);
    op->channel = w->channel;
    jobs_stop(w->jobs);
    jobs_world_settle(w);
    assert_int_equal(op->reply.error, ERGON_E_DRAINING);
}

/* --- task.forget of one --- */

JOBS_TEST(one_that_is_open_is_not_forgotten)
{
    struct operation *op = world_about(w, &operation_task_forget, stage_submit(w));
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "task.cancel ends it");
}

JOBS_TEST(one_that_is_forgotten_leaves_its_key)
{
    struct job_spec spec = WORK(.key = span_text("order 7"));
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x2a");
    struct operation *op = world_about(w, &operation_task_forget, id);
    world_give(w, op);
    stage_says(op, "'forgotten': true");
    assert_null(world_job(w, id));
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
    op = world_about(w, &operation_task_forget, id);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
}

JOBS_TEST(one_whose_attempt_has_not_returned_is_not_forgotten)
{
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &WORK(.timeout = AO_MS(10)));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_FAILED);
    struct operation *op = world_about(w, &operation_task_forget, id);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_BUSY);
}
