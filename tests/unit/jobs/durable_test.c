/* Tasks that outlive the process: commits, crashes, a store that fails. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

static struct operation *give_order(struct jobs_world *w, struct job_spec *spec)
{
    struct operation *op = world_operation(w, &operation_task_submit);
    op->submission.specs = spec;
    op->submission.count = 1;
    world_give(w, op);
    return op;
}

static void expect_row(struct jobs_world *w, uint64_t id, enum job_state state, uint32_t attempt)
{
    const struct memory_row *row = memory_store_row(w->store, id);
    assert_non_null(row);
    assert_int_equal(row->task.state, state);
    assert_int_equal(row->task.attempt, attempt);
}

/* --- Commits --- */

STORED_TEST(async_is_answered_at_once)
{
    struct operation *op = give_order(w, &WORK(.durable = DURABLE_ASYNC));
    assert_true(world_answered(w, op));
    assert_int_equal(w->store->commits, 0);
    jobs_world_pass(w, AO_MS(2));
    expect_row(w, op->submission.outcomes[0].id, JOB_RUNNING, 1);
}

STORED_TEST(fsync_is_answered_when_it_is_on_disk)
{
    struct operation *op = give_order(w, &WORK(.durable = DURABLE_FSYNC));
    uint64_t id = op->submission.outcomes[0].id;
    assert_false(world_answered(w, op));
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    assert_null(world_run_of(w, id));
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    expect_row(w, id, JOB_QUEUED, 0);
}

/* The board has it meanwhile. */
STORED_TEST(a_begin_is_written_and_not_awaited)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(1));
    assert_non_null(world_run_of(w, id));
    expect_row(w, id, JOB_QUEUED, 0);
    jobs_world_pass(w, AO_MS(2));
    expect_row(w, id, JOB_RUNNING, 1);
}

STORED_TEST(what_is_brief_is_written_once)
{
    w->lasts = 0;
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(w->store->operations, 2);
}

STORED_TEST(an_end_is_seen_when_it_is_on_disk)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC));
    jobs_world_pass(w, AO_MS(10));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(world_state(w, id), JOB_DONE);
    expect_row(w, id, JOB_DONE, 1);
    assert_int_equal(memory_store_row(w->store, id)->task.result.len, 1);
    stage_balances(w);
}

STORED_TEST(what_is_forgotten_leaves_the_file)
{
    w->lasts = 0;
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC, .keep = AO_S(1)));
    jobs_world_pass(w, AO_S(2));
    assert_null(world_job(w, id));
    assert_null(memory_store_row(w->store, id));
    assert_int_equal(w->store->rows.counts.done, 1);
    stage_balances(w);
}

STORED_TEST(changes_of_a_busy_task_are_written_together)
{
    w->lasts = 0;
    w->store->latency = AO_MS(100);
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC));
    jobs_world_pass(w, AO_MS(100));
    assert_int_equal(w->store->operations, 1);
    jobs_world_pass(w, AO_MS(100));
    assert_int_equal(w->store->operations, 2);
    assert_int_equal(world_state(w, id), JOB_DONE);
}

/* A write comes back while another is due already, in the moment in which the task gets what it
 * waited for. */
STORED_TEST(a_token_may_come_with_a_commit)
{
    struct job_spec spec =
        WORK(.durable = DURABLE_ASYNC, .delay = AO_MS(10), .rate_key = span_text("r"), .rate = 1,
             .rate_per = AO_MS(100), .retries = 1, .backoff = AO_MS(1));
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(11)); /* its start was promised to the file, and came */
    w->store->latency = spec.rate_per;
    struct operation *op = world_operation(w, &operation_task_wait);
    op->wait = (struct wait_arguments){.ids = &id, .count = 1, .timeout = AO_S(60)};
    world_give(w, op);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_MS(50));
    assert_int_equal(world_reason(w, id), JOB_WHY_RATE);
    jobs_world_pass(w, AO_MS(150)); /* the next is promised when its time comes */
    assert_non_null(world_run_of(w, id));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(1));
    assert_true(world_answered(w, op));
    w->store->latency = AO_MS(1);
    stage_balances(w);
}

STORED_TEST(no_event_is_there_before_its_row)
{
    struct job_spec specs[2] = {WORK(.durable = DURABLE_FSYNC), WORK(.durable = DURABLE_FSYNC)};
    specs[0].coalesce = specs[1].coalesce = span_text("report");
    struct operation *op = world_operation(w, &operation_task_submit_many);
    op->submission.specs = specs;
    op->submission.count = 2;
    world_give(w, op);
    assert_int_equal(w->store->first->kind, STORE_PUT);
    assert_int_equal(w->store->last->kind, STORE_EVENT);
    assert_int_equal(w->store->last->event.seq, 2);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(w->store->first->kind, STORE_EVENT);
    assert_int_equal(w->store->last->kind, STORE_CHANGE);
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    stage_says(op, "'coalesced': true");
}

/* --- Crashes --- */

STORED_TEST(what_was_open_goes_on_after_a_crash)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC, .key = span_text("order 7"));
    uint64_t runs = jobs_world_submit(w, &spec);
    spec.key = span_text("");
    spec.delay = AO_S(100);
    uint64_t delayed = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(10));
    assert_non_null(world_run_of(w, runs));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, delayed), JOB_DELAYED);
    assert_int_equal(world_job(w, runs)->crashes, 1);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, runs)->run.attempt, 2);
    spec = WORK(.durable = DURABLE_FSYNC);
    spec.key = span_text("order 7");
    assert_int_equal(jobs_world_submit(w, &spec), runs);
    world_finish(world_run_of(w, runs), "\x01");
    jobs_world_pass(w, AO_S(88));
    assert_int_equal(world_state(w, delayed), JOB_DELAYED);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, delayed), JOB_RUNNING);
    stage_balances(w);
}

STORED_TEST(what_had_ended_is_still_known_after_a_crash)
{
    struct job_spec spec = WORK(.durable = DURABLE_ASYNC);
    uint64_t done = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(10));
    world_finish(world_run_of(w, done), "\x2a");
    jobs_world_pass(w, AO_MS(10));
    uint64_t failed = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(10));
    world_fail(world_run_of(w, failed), "ODD", "not today");
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, done), JOB_DONE);
    assert_memory_equal(world_job(w, done)->end->result->at, "\x2a", 1);
    assert_int_equal(world_state(w, failed), JOB_FAILED);
    assert_string_equal(world_job(w, failed)->end->code, "ODD");
    assert_string_equal(world_job(w, failed)->end->text, "not today");
    stage_balances(w);
    jobs_world_pass(w, AO_S(3600));
    assert_null(world_job(w, done));
}

STORED_TEST(one_that_ran_in_three_crashes_is_dead)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    for (unsigned i = 1; i <= 3; i++) {
        jobs_world_pass(w, AO_S(1));
        assert_int_equal(world_run_of(w, id)->run.attempt, i);
        jobs_world_crash(w);
    }
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_DEAD);
    assert_string_equal(world_job(w, id)->end->code, "QUARANTINED");
    stage_balances(w);
}

STORED_TEST(a_graceful_stop_is_no_crash)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    jobs_world_restart(w);
    assert_int_equal(world_job(w, id)->crashes, 0);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
    assert_int_equal(world_job(w, id)->failures, 0);
    stage_balances(w);
}

STORED_TEST(after_holds_across_a_crash)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    uint64_t first = jobs_world_submit(w, &spec);
    spec.after = &first;
    spec.after_count = 1;
    uint64_t second = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_AFTER);
    jobs_world_pass(w, AO_S(1));
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, second));
}

STORED_TEST(numbers_of_events_do_not_go_back)
{
    uint64_t id =
        jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .retries = 3, .backoff = AO_MS(1)));
    jobs_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(1));
    uint32_t next = history_next(world_job(w, id));
    struct history_event before, after;
    assert_true(history_get(world_job(w, id), 3, &before));
    assert_int_equal(before.what, JOB_EVENT_ATTEMPT_FAILED);
    jobs_world_crash(w);
    assert_true(history_next(world_job(w, id)) >= next);
    assert_true(history_get(world_job(w, id), 3, &after));
    assert_int_equal(after.what, JOB_EVENT_ATTEMPT_FAILED);
    assert_true(history_get(world_job(w, id), 2, &after));
    assert_int_equal(after.what, JOB_EVENT_STARTED);
}

/* A task that comes again for years does not fill the disk. */
STORED_TEST(a_long_history_is_trimmed_in_the_file)
{
    enum { ATTEMPTS = 300 };
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC));
    for (int n = 0; n < ATTEMPTS; n++) {
        jobs_world_pass(w, AO_S(1));
        world_again(world_run_of(w, id), AO_MS(1));
    }
    jobs_world_pass(w, AO_S(1));
    assert_true(history_next(world_job(w, id)) > 2 * ATTEMPTS);
    assert_true(w->store->rows.event_count <= w->options.settings.history);
    uint32_t oldest = history_oldest(world_job(w, id));
    for (uint32_t i = 0; i < w->store->rows.event_count; i++)
        assert_true(w->store->rows.events[i].event.seq >= oldest);
}

/* --- A store that fails --- */

/* All that was ever submitted: durable, and of the queue. */
static void expect_counted(const struct jobs_world *w, uint64_t submitted)
{
    const struct jobs *l = w->jobs;
    assert_int_equal(l->table.durable.submitted, submitted);
    assert_int_equal(l->table.in_memory.submitted, 0);
    assert_int_equal(l->table.in_memory.ended[JOB_FAILED], 0);
    assert_int_equal(l->table.queues->submitted, submitted);
    assert_int_equal(l->table.queues->failed, 0);
    assert_int_equal(counter_read(&l->table.submitted), submitted);
}

STORED_TEST(a_submit_that_cannot_be_written_is_refused)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC, .key = span_text("order 7"));
    w->store->error = STORE_FULL;
    struct operation *op = give_order(w, &spec);
    uint64_t id = op->submission.outcomes[0].id;
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_null(world_job(w, id));
    expect_counted(w, 0);
    op = give_order(w, &spec);
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    op = give_order(w, &spec);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_OK);
    expect_counted(w, 1);
    stage_balances(w);
}

STORED_TEST(an_end_waits_for_a_store_that_fails)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_ASYNC));
    jobs_world_pass(w, AO_MS(10));
    w->store->error = STORE_IO;
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_reason(w, id), JOB_WHY_STORE);
    expect_row(w, id, JOB_RUNNING, 1);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, id), JOB_DONE);
    expect_row(w, id, JOB_DONE, 1);
    stage_balances(w);
}

STORED_TEST(many_that_could_not_be_written_are_written_later)
{
    struct job_spec spec = WORK(.durable = DURABLE_ASYNC);
    w->room[1] = 0;
    for (unsigned i = 0; i < 2000; i++)
        jobs_world_submit(w, &spec);
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(w->jobs->journal.unsaved, 2000);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(w->jobs->journal.unsaved, 0);
    assert_int_equal(w->store->rows.counts.submitted, 2000);
    stage_balances(w);
}

/* Whichever allocation of the jobs fails on the way: each task comes to an end, and the accounts
 * balance. */
STORED_TEST(any_allocation_may_fail)
{
    struct submitted done;
    char text[JOB_TEXT_MAX];
    bool met = true;
    w->quiet = true;
    w->lasts = AO_MS(1);
    for (int64_t n = 1; met; n++) {
        struct job_spec spec = WORK(.durable = n % 2 ? DURABLE_FSYNC : DURABLE_ASYNC);
        uint64_t id = 0;
        spec.delay = AO_MS(1);
        spec.limit_key = span_text("k");
        spec.limit = 1;
        heap_fail_at(n);
        if (world_submit(w, &spec, &done, text, sizeof text) == ERGON_OK)
            id = done.job->id;
        for (unsigned i = 0; i < 50; i++)
            jobs_world_pass(w, AO_MS(100));
        met = heap_failed();
        heap_fail_at(0);
        if (id != 0 && world_job(w, id))
            assert_false(job_state_open(world_state(w, id)));
    }
    stage_balances(w);
}

/* --- Replicated --- */

static const char unreplicated[] = "durable: replicated needs a store on PostgreSQL with a "
                                   "synchronous standby; see docs/cluster.md";

static void refused(struct jobs_world *w, enum job_durable level, const char *text)
{
    struct operation *op = give_order(w, &WORK(.durable = (uint8_t)level));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_string_equal(op->reply.text, text);
}

STORED_TEST(a_store_without_a_standby_refuses_replicated)
{
    refused(w, DURABLE_REPLICATED, unreplicated);
    assert_int_equal(counter_read(&w->jobs->table.submitted), 0);
}

JOBS_TEST(without_a_store_replicated_is_refused)
{
    refused(w, DURABLE_REPLICATED, unreplicated);
}

JOBS_TEST(replicated_is_answered_when_it_is_committed, .stored = true, .replicates = true)
{
    struct operation *op = give_order(w, &WORK(.durable = DURABLE_REPLICATED));
    uint64_t id = op->submission.outcomes[0].id;
    assert_false(world_answered(w, op));
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    stage_says(op, "'durable': 'replicated'");
    assert_int_equal(memory_store_row(w->store, id)->task.durable, DURABLE_REPLICATED);
    assert_non_null(world_run_of(w, id)); /* no row says that it runs */
    memory_store_cut_power(w->store);
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->durable, DURABLE_REPLICATED);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
    stage_balances(w);
}

JOBS_TEST(the_next_attempt_of_a_replicated_one_waits_for_its_row, .stored = true,
          .replicates = true)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_REPLICATED));
    jobs_world_pass(w, AO_S(1));
    w->store->latency = AO_S(5);
    world_again(world_run_of(w, id), 0);
    jobs_world_pass(w, AO_S(3));
    assert_null(world_run_of(w, id));
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
}

JOBS_TEST(fsync_is_answered_as_what_the_store_gives, .stored = true, .replicates = true)
{
    struct operation *op = give_order(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'durable': 'replicated'");
    w->store->level = STORE_LEVEL_ASYNC;
    op = give_order(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'durable': 'async'");
}

/* The standby is lost between the look and the commit. */
JOBS_TEST(what_was_not_replicated_is_taken_back, .stored = true, .replicates = true)
{
    struct operation *op = give_order(w, &WORK(.durable = DURABLE_REPLICATED));
    struct operation *other = give_order(w, &WORK(.durable = DURABLE_FSYNC));
    w->store->level = STORE_LEVEL_FSYNC;
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_string_equal(op->reply.text, store_error_text(STORE_UNREPLICATED));
    assert_null(world_job(w, op->submission.outcomes[0].id));
    assert_int_equal(other->reply.error, ERGON_OK);
    stage_says(other, "'durable': 'fsync'");
    expect_counted(w, 1);
    assert_true(jobs_store_usable(w->jobs));  /* others are taken at once */
    w->store->level = STORE_LEVEL_REPLICATED; /* no other commit has to say so first */
    op = give_order(w, &WORK(.durable = DURABLE_REPLICATED));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'durable': 'replicated'");
    stage_balances(w);
}

/* What is promised already is kept as well as it can be. */
JOBS_TEST(a_replicated_one_goes_on_without_a_standby, .stored = true, .replicates = true)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_REPLICATED));
    jobs_world_pass(w, AO_S(1));
    w->store->level = STORE_LEVEL_FSYNC;
    job_rewrite(world_job(w, id)); /* its options are written again */
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(1));
    expect_row(w, id, JOB_DONE, 1);
    stage_balances(w);
}

JOBS_TEST(store_require_refuses_what_is_less, .stored = true, .require = DURABLE_REPLICATED)
{
    refused(w, DURABLE_FSYNC,
            "the store is less safe than `store_require` asks for; see docs/cluster.md");
    assert_int_equal(give_order(w, &WORK(.durable = DURABLE_ASYNC))->reply.error, ERGON_OK);
}

JOBS_TEST(what_is_less_now_is_taken_back, .stored = true, .require = DURABLE_REPLICATED,
          .replicates = true)
{
    w->store->level = STORE_LEVEL_FSYNC;
    struct operation *op = give_order(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(give_order(w, &WORK(.durable = DURABLE_ASYNC))->reply.error, ERGON_OK);
    w->store->level = STORE_LEVEL_REPLICATED;
    op = give_order(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'durable': 'replicated'");
    stage_balances(w);
}

/* After a restart nobody would know how the first one ended. */
STORED_TEST(a_durable_one_does_not_wait_for_one_in_memory)
{
    struct job_spec spec = WORK();
    struct submitted out;
    char text[JOB_TEXT_MAX] = "";
    w->room[1] = 0;
    uint64_t first = jobs_world_submit(w, &spec);
    spec.durable = DURABLE_FSYNC;
    spec.after = &first;
    spec.after_count = 1;
    assert_int_equal(world_submit(w, &spec, &out, text, sizeof text), ERGON_E_BAD_PARAMS);
    assert_non_null(strstr(text, "kept in memory only"));
    spec.durable = DURABLE_NONE;
    assert_int_equal(world_submit(w, &spec, &out, text, sizeof text), ERGON_OK);
}
