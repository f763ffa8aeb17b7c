/* Who joins a task that is there already, by key or by name, and wants it more durable. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

#define NAMED(level, ...)                                                                          \
    (&WORK(.durable = DURABLE_##level, .key = span_text("order 7"), __VA_ARGS__))
#define SHARED(level, ...)                                                                         \
    (&WORK(.durable = DURABLE_##level, .coalesce = span_text("report"), __VA_ARGS__))

/* The spec is read again when what it joined is written. */
static struct operation *give(struct jobs_world *w, const struct job_spec *spec)
{
    enum { KEPT = 16 };
    static struct job_spec kept[KEPT];
    static uint32_t at;
    struct operation *op = world_operation(w, &operation_task_submit);
    kept[at % KEPT] = *spec;
    op->submission.specs = &kept[at++ % KEPT];
    op->submission.count = 1;
    world_give(w, op);
    return op;
}

static uint64_t id_of(const struct operation *op)
{
    return op->submission.outcomes[0].id;
}

static void expect_level(struct jobs_world *w, uint64_t id, enum job_durable level)
{
    const struct memory_row *row = memory_store_row(w->store, id);
    assert_int_equal(world_job(w, id)->durable, level);
    if (level == DURABLE_NONE)
        assert_null(row);
    else
        assert_int_equal(row->task.durable, level);
}

/* The second submission waits for a commit, and its answer names the level. */
static void expect_hardened(struct jobs_world *w, struct operation *op, uint64_t id)
{
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(3));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    stage_says(op, "'durable': 'fsync'");
    assert_int_equal(id_of(op), id);
    expect_level(w, id, DURABLE_FSYNC);
}

STORED_TEST(by_key_async_becomes_fsync)
{
    uint64_t id = jobs_world_submit(w, NAMED(ASYNC, .delay = AO_S(60), .retries = 4));
    jobs_world_pass(w, AO_S(1));
    expect_hardened(w, give(w, NAMED(FSYNC, .retries = 9)), id);
    assert_int_equal(memory_store_row(w->store, id)->task.retries, 4);
    jobs_world_crash(w);
    expect_level(w, id, DURABLE_FSYNC);
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    assert_int_equal(world_job(w, id)->retries, 4);
    stage_balances(w);
}

/* Its first row is on the way to the disk, and says async. */
STORED_TEST(one_that_is_being_written_is_written_again)
{
    uint64_t id = jobs_world_submit(w, SHARED(ASYNC));
    expect_hardened(w, give(w, SHARED(FSYNC)), id);
    expect_hardened(w, give(w, SHARED(NONE)), id);
    stage_balances(w);
}

STORED_TEST(two_wait_for_the_same_write)
{
    uint64_t id = jobs_world_submit(w, SHARED(ASYNC));
    jobs_world_pass(w, AO_S(1));
    struct operation *a = give(w, SHARED(FSYNC)), *b = give(w, SHARED(FSYNC)),
                     *c = give(w, SHARED(ASYNC));
    assert_true(world_answered(w, c));
    assert_false(world_answered(w, a));
    expect_hardened(w, b, id);
    assert_true(world_answered(w, a));
    assert_int_equal(world_job(w, id)->more->waiters, 4);
}

/* Its row may say fsync already, and after a power cut one attempt alone may be unknown to that. */
static uint64_t fails_while_it_hardens(struct jobs_world *w, struct operation **joins)
{
    uint64_t id = jobs_world_submit(w, SHARED(ASYNC));
    jobs_world_pass(w, AO_S(1));
    *joins = give(w, SHARED(FSYNC));
    world_again(world_run_of(w, id), 0);
    jobs_world_settle(w);
    assert_null(world_run_of(w, id));
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    return id;
}

STORED_TEST(one_that_hardens_begins_when_its_row_is_there)
{
    struct operation *joins;
    uint64_t id = fails_while_it_hardens(w, &joins);
    expect_hardened(w, joins, id);
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
}

STORED_TEST(one_that_cannot_be_hardened_begins)
{
    struct operation *joins;
    uint64_t id = fails_while_it_hardens(w, &joins);
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(joins->reply.error, ERGON_E_STORE);
    assert_int_equal(world_job(w, id)->durable, DURABLE_ASYNC);
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
}

STORED_TEST(one_in_memory_gets_its_rows)
{
    uint64_t id = jobs_world_submit(w, SHARED(NONE, .retries = 2, .backoff = AO_MS(1)));
    jobs_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_job(w, id)->attempt, 2);
    expect_level(w, id, DURABLE_NONE);
    struct history_event event;
    assert_true(history_get(world_job(w, id), 2, &event));
    uint64_t started = event.at;
    expect_hardened(w, give(w, SHARED(FSYNC)), id);
    stage_balances(w);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_run_of(w, id)->run.attempt, 3);
    assert_true(history_get(world_job(w, id), 2, &event));
    assert_int_equal(event.what, JOB_EVENT_STARTED);
    assert_int_equal(event.at / AO_MS(1), started / AO_MS(1));
    assert_true(history_get(world_job(w, id), 3, &event));
    assert_int_equal(event.what, JOB_EVENT_ATTEMPT_FAILED);
    stage_balances(w);
}

STORED_TEST(one_in_memory_becomes_async)
{
    uint64_t id = jobs_world_submit(w, NAMED(NONE));
    struct operation *op = give(w, NAMED(ASYNC));
    assert_true(world_answered(w, op));
    stage_says(op, "'durable': 'async'");
    jobs_world_pass(w, AO_MS(2));
    expect_level(w, id, DURABLE_ASYNC);
    stage_balances(w);
}

STORED_TEST(one_that_has_ended_is_kept_over_a_crash)
{
    uint64_t id = jobs_world_submit(w, NAMED(NONE));
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_settle(w);
    expect_hardened(w, give(w, NAMED(FSYNC)), id);
    stage_balances(w);
    jobs_world_crash(w);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_memory_equal(world_job(w, id)->end->result->at, "\x2a", 1);
    stage_balances(w);
}

STORED_TEST(an_end_that_comes_meanwhile_waits_for_the_disk)
{
    uint64_t id = jobs_world_submit(w, NAMED(NONE));
    jobs_world_settle(w);
    struct operation *op = give(w, NAMED(FSYNC));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_COMMIT);
    expect_hardened(w, op, id);
    assert_int_equal(world_state(w, id), JOB_DONE);
    stage_balances(w);
}

/* From then on the next attempt begins when the file knows of the one before. */
STORED_TEST(its_next_attempt_waits_for_the_disk)
{
    uint64_t id = jobs_world_submit(w, NAMED(ASYNC, .delay = AO_S(1)));
    expect_hardened(w, give(w, NAMED(FSYNC)), id);
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(world_run_of(w, id)->run.attempt, 1);
    w->store->latency = AO_S(5);
    world_again(world_run_of(w, id), 0);
    jobs_world_pass(w, AO_S(3));
    assert_null(world_run_of(w, id));
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
}

STORED_TEST(less_is_no_reason_to_write)
{
    uint64_t id = jobs_world_submit(w, NAMED(FSYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    uint32_t before = w->store->operations;
    assert_true(world_answered(w, give(w, NAMED(NONE))));
    assert_true(world_answered(w, give(w, NAMED(FSYNC))));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(w->store->operations, before);
    expect_level(w, id, DURABLE_FSYNC);
}

/* --- Over a restart --- */

static void crash(struct jobs_world *w)
{
    jobs_world_crash(w);
}

static void restart(struct jobs_world *w)
{
    jobs_world_restart(w);
}

static void (*const deaths[])(struct jobs_world *w) = {crash, restart};

static struct operation *cancel(struct jobs_world *w, uint64_t id)
{
    struct operation *op = world_about(w, &operation_task_cancel, id);
    world_give(w, op);
    return op;
}

/* Each submission is answered, each cancel is, and the process dies right then. */
STORED_TEST(a_run_ends_with_the_last_that_shares_it)
{
    for (unsigned how = 0; how < 2; how++) {
        struct operation *first = give(w, SHARED(FSYNC, .delay = AO_S(60)));
        uint64_t id = id_of(first);
        for (unsigned n = 0; n < 3; n++)
            expect_hardened(w, give(w, n == 1 ? SHARED(NONE) : SHARED(FSYNC)), id);
        for (unsigned n = 0; n < 3; n++) {
            deaths[how](w);
            struct operation *op = cancel(w, id);
            assert_false(world_answered(w, op));
            jobs_world_pass(w, AO_MS(2));
            stage_says(op, "'cancelled': false");
            assert_int_equal(world_state(w, id), JOB_DELAYED);
        }
        deaths[how](w);
        cancel(w, id);
        jobs_world_pass(w, AO_MS(2));
        assert_int_equal(world_state(w, id), JOB_CANCELLED);
        stage_balances(w);
    }
}

/* The first row of the run is on its way, or has not been pushed yet. */
STORED_TEST(a_batch_shares_one_run)
{
    struct job_spec specs[3] = {*SHARED(FSYNC, .delay = AO_S(60)), *SHARED(FSYNC), *SHARED(FSYNC)};
    struct operation *op = world_operation(w, &operation_task_submit_many);
    op->submission.specs = specs;
    op->submission.count = 3;
    world_give(w, op);
    uint64_t id = id_of(op);
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->more->waiters, 3);
}

STORED_TEST(a_call_shares_the_run_as_long_as_its_process_lives)
{
    uint64_t id = id_of(give(w, SHARED(FSYNC, .delay = AO_S(60))));
    stage_call(w, SHARED(FSYNC));
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(world_job(w, id)->more->waiters, 2);
    jobs_world_crash(w);
    cancel(w, id);
    jobs_world_pass(w, AO_MS(2));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

/* By name and by key, of every durability that the answer may name. */
STORED_TEST(a_longer_keep_counts)
{
    for (unsigned how = 0; how < 2; how++) {
        uint64_t named = id_of(give(w, NAMED(FSYNC, .delay = AO_S(60), .keep = AO_S(5))));
        uint64_t shared = id_of(give(w, SHARED(FSYNC, .delay = AO_S(60), .keep = AO_S(5))));
        uint64_t later = jobs_world_submit(
            w, &WORK(.durable = DURABLE_ASYNC, .coalesce = span_text("later"), .delay = AO_S(60)));
        jobs_world_pass(w, AO_S(1));
        expect_hardened(w, give(w, NAMED(NONE, .keep = AO_S(9000), .keep_size = 1 << 21)), named);
        expect_hardened(w, give(w, SHARED(FSYNC, .keep = AO_S(9000))), shared);
        give(w,
             &WORK(.durable = DURABLE_ASYNC, .coalesce = span_text("later"), .keep = AO_S(9000)));
        jobs_world_pass(w, AO_MS(2));
        deaths[how](w);
        assert_int_equal(world_job(w, named)->more->policy.keep, AO_S(9000));
        assert_int_equal(world_job(w, named)->more->policy.keep_size, 1 << 21);
        assert_int_equal(world_job(w, shared)->more->policy.keep, AO_S(9000));
        assert_int_equal(world_job(w, later)->more->policy.keep, AO_S(9000));
        assert_int_equal(world_job(w, later)->more->waiters, 2);
        jobs_world_pass(w, AO_S(60));
        world_finish(world_run_of(w, named), "\x2a");
        jobs_world_pass(w, AO_MS(2));
        uint32_t before = w->store->operations;
        assert_true(world_answered(w, give(w, NAMED(FSYNC, .keep = AO_S(90000)))));
        assert_int_equal(w->store->operations, before); /* it has ended */
        assert_int_equal(world_job(w, named)->more->policy.keep, AO_S(9000));
        while (w->runs) {
            world_finish(w->runs, "\x2a");
            jobs_world_pass(w, AO_MS(2));
        }
        jobs_world_pass(w, AO_S(9000));
        assert_null(world_job(w, named));
    }
}

/* --- Refused --- */

STORED_TEST(one_that_is_on_disk_stays_as_it_was_when_the_store_fails)
{
    struct operation *first = give(w, SHARED(FSYNC, .delay = AO_S(60)));
    uint64_t id = id_of(first);
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    struct operation *op = give(w, SHARED(FSYNC, .keep = AO_S(9000)));
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(give(w, SHARED(NONE))->reply.error, ERGON_E_STORE);
    assert_int_equal(world_job(w, id)->more->waiters, 1);
    assert_int_equal(world_job(w, id)->more->policy.keep, JOB_KEEP_UNSAID);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->more->waiters, 1);
    assert_int_equal(world_job(w, id)->more->policy.keep, JOB_KEEP_UNSAID);
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    stage_balances(w);
}

JOBS_TEST(without_a_store_who_wants_more_is_refused)
{
    uint64_t id = jobs_world_submit(w, SHARED(NONE));
    struct operation *op = give(w, SHARED(FSYNC));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(world_job(w, id)->more->waiters, 1);
    assert_int_equal(world_job(w, id)->durable, DURABLE_NONE);
}

/* But for one event it is as if nobody had joined: keep, who shares the run. */
static void expect_left(struct jobs_world *w, struct operation *op, uint64_t id,
                        enum job_durable level)
{
    uint32_t events = history_next(world_job(w, id));
    assert_int_equal(events, 3);
    jobs_world_pass(w, AO_MS(3));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    const struct job *job = world_job(w, id);
    assert_int_equal(job->durable, level);
    assert_int_equal(job->more->waiters, 1);
    assert_int_equal(job->more->policy.keep, JOB_KEEP_UNSAID);
    assert_int_equal(history_next(job), events);
    assert_int_equal(job->state, JOB_DELAYED);
}

STORED_TEST(an_async_one_stays_as_it_was_when_the_store_fails)
{
    uint64_t id = jobs_world_submit(w, SHARED(ASYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    expect_left(w, give(w, SHARED(FSYNC, .keep = AO_S(9000))), id, DURABLE_ASYNC);
    struct operation *op = give(w, SHARED(FSYNC));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    expect_level(w, id, DURABLE_ASYNC);
    stage_balances(w);
    expect_hardened(w, give(w, SHARED(FSYNC)), id);
    stage_balances(w);
}

STORED_TEST(one_in_memory_stays_there_when_the_store_fails)
{
    uint64_t id = jobs_world_submit(w, SHARED(NONE, .delay = AO_S(60)));
    w->store->error = STORE_IO;
    expect_left(w, give(w, SHARED(FSYNC, .keep = AO_S(9000))), id, DURABLE_NONE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    expect_level(w, id, DURABLE_NONE);
    stage_balances(w);
    expect_hardened(w, give(w, SHARED(FSYNC)), id);
    stage_balances(w);
}

/* Its first row is taken, and what is written behind it is not. */
STORED_TEST(one_that_has_a_row_stays_in_the_file_when_the_store_fails)
{
    uint64_t id = jobs_world_submit(w, NAMED(NONE));
    jobs_world_settle(w);
    struct operation *op = give(w, NAMED(FSYNC));
    while (!memory_store_row(w->store, id))
        jobs_world_pass(w, AO_US(100));
    w->store->error = STORE_IO;
    jobs_world_pass(w, AO_MS(3));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(world_job(w, id)->durable, DURABLE_ASYNC);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    expect_level(w, id, DURABLE_ASYNC);
    stage_balances(w);
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_equal(world_state(w, id), JOB_DONE);
    stage_balances(w);
}

STORED_TEST(one_in_memory_ends_there_when_the_store_fails)
{
    uint64_t id = jobs_world_submit(w, NAMED(NONE));
    jobs_world_settle(w);
    w->store->error = STORE_IO;
    struct operation *op = give(w, NAMED(FSYNC));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(w->jobs->table.in_memory.ended[JOB_DONE], 1);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    stage_balances(w);
}

/* The others have gone meanwhile, and now nobody wants the run. */
STORED_TEST(who_was_refused_leaves_the_run)
{
    uint64_t id = jobs_world_submit(w, SHARED(ASYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    struct operation *op = give(w, SHARED(FSYNC));
    assert_false(world_cancel(w, world_job(w, id)));
    jobs_world_pass(w, AO_MS(2));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

STORED_TEST(what_waits_for_one_in_memory_cannot_become_durable)
{
    uint64_t first = jobs_world_submit(w, &WORK());
    uint64_t id = jobs_world_submit(w, NAMED(NONE, .after = &first, .after_count = 1));
    struct operation *op = give(w, NAMED(FSYNC));
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    stage_holds(op->reply.text, "kept in memory only");
    expect_level(w, id, DURABLE_NONE);
}

/* --- Replicated --- */

STORED_TEST(fsync_stays_without_a_standby)
{
    uint64_t id = jobs_world_submit(w, NAMED(FSYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    struct operation *op = give(w, NAMED(REPLICATED));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    stage_holds(op->reply.text, "needs a store on PostgreSQL");
    expect_level(w, id, DURABLE_FSYNC);
}

JOBS_TEST(fsync_becomes_replicated, .stored = true, .replicates = true)
{
    uint64_t id = jobs_world_submit(w, NAMED(FSYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    struct operation *op = give(w, NAMED(REPLICATED));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(2));
    stage_says(op, "'durable': 'replicated'");
    expect_level(w, id, DURABLE_REPLICATED);
    stage_balances(w);
}

/* A write for `fsync` is on its way when another wants more. */
JOBS_TEST(one_that_hardens_is_to_be_replicated, .stored = true, .replicates = true)
{
    uint64_t id = jobs_world_submit(w, SHARED(ASYNC));
    jobs_world_pass(w, AO_S(1));
    struct operation *fsync = give(w, SHARED(FSYNC)), *more = give(w, SHARED(REPLICATED)),
                     *less = give(w, SHARED(FSYNC));
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(fsync->reply.error, ERGON_OK);
    assert_int_equal(less->reply.error, ERGON_OK);
    stage_says(more, "'durable': 'replicated'");
    expect_level(w, id, DURABLE_REPLICATED);
    stage_balances(w);
}

/* The first submission is on disk, and that is all that it wanted. */
JOBS_TEST(the_first_is_answered_though_what_joined_it_fails, .stored = true, .replicates = true)
{
    struct operation *first = give(w, NAMED(FSYNC)), *joins = give(w, NAMED(REPLICATED));
    w->store->level = STORE_LEVEL_FSYNC;
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(joins->reply.error, ERGON_E_STORE);
    assert_string_equal(joins->reply.text, store_error_text(STORE_UNREPLICATED));
    stage_says(first, "'durable': 'fsync'");
    expect_level(w, id_of(first), DURABLE_FSYNC);
    assert_non_null(world_run_of(w, id_of(first)));
    stage_balances(w);
}

/* --- Calls --- */

STORED_TEST(a_call_that_joins_is_answered_from_disk)
{
    uint64_t id = jobs_world_submit(w, NAMED(NONE));
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_settle(w);
    struct operation *op = stage_call(w, NAMED(FSYNC));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    assert_memory_equal(operation_result(op).at, "\x2a", 1);
    expect_level(w, id, DURABLE_FSYNC);
}

STORED_TEST(a_call_that_joins_is_refused_when_the_store_fails)
{
    uint64_t id = jobs_world_submit(w, NAMED(ASYNC, .delay = AO_S(60)));
    jobs_world_pass(w, AO_S(1));
    struct operation *other = stage_call(w, NAMED(ASYNC));
    w->store->error = STORE_FULL;
    struct operation *op = stage_call(w, NAMED(FSYNC));
    jobs_world_pass(w, AO_MS(2));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_false(world_answered(w, other));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
}

/* It has joined the task of another, and cannot wait for its end: the task goes on. */
JOBS_TEST(a_call_without_memory_leaves_the_task_that_it_joined)
{
    bool met = true;
    uint64_t id = jobs_world_submit(w, NAMED(NONE, .delay = AO_S(60)));
    jobs_world_settle(w);
    for (int64_t n = 1; met; n++) {
        static struct job_spec spec;
        spec = *NAMED(NONE);
        struct operation *op = world_operation(w, &operation_task_call);
        op->submission.specs = &spec;
        op->submission.count = 1;
        heap_fail_at(n);
        world_give(w, op);
        met = heap_failed();
        heap_fail_at(0);
        assert_int_equal(world_state(w, id), JOB_DELAYED);
        assert_int_equal(world_answered(w, op), met);
        if (met)
            assert_int_equal(op->reply.error, ERGON_E_MEMORY);
    }
}
