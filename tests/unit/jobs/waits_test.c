/* Operations that wait, where they meet: ids given twice, tasks tried again, calls that share a
 * task. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

static struct operation *wait_for(struct jobs_world *w, uint64_t *ids, uint32_t count)
{
    struct operation *op = world_operation(w, &operation_task_wait);
    op->wait = (struct wait_arguments){
        .ids = ids, .count = count, .timeout = AO_S(60), .with_result = true};
    world_give(w, op);
    return op;
}

#define WAITS_TEST(name) JOBS_TEST(name, .room = 4)

/* --- task.wait --- */

WAITS_TEST(an_id_that_is_given_twice_ends_once)
{
    uint64_t ids[3] = {stage_submit(w), stage_submit(w)};
    ids[2] = ids[0];
    struct operation *op = wait_for(w, ids, 3);
    world_finish(world_run_of(w, ids[0]), "\xc0");
    jobs_world_settle(w);
    assert_false(world_answered(w, op));
    world_finish(world_run_of(w, ids[1]), "\xc0");
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    stage_says(op, "'open': []");
}

static struct operation *wait_for_any(struct jobs_world *w, uint64_t *ids, uint32_t count)
{
    struct operation *op = world_operation(w, &operation_task_wait);
    op->wait = (struct wait_arguments){
        .ids = ids, .count = count, .timeout = AO_S(60), .any = true, .with_result = true};
    world_give(w, op);
    return op;
}

WAITS_TEST(any_of_the_same_is_no_end)
{
    uint64_t id = stage_submit(w), ids[2] = {id, id};
    struct operation *op = wait_for_any(w, ids, 2);
    assert_false(world_answered(w, op));
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
}

enum { WAITERS = 20 };

/* So many wait for the first task; as it ends with this result, some are put off. */
static void expect_turns(struct jobs_world *w, uint64_t *ids, uint32_t count, const char *result)
{
    struct operation *ops[WAITERS];
    unsigned put_off = 0;
    for (unsigned i = 0; i < WAITERS; i++)
        ops[i] = wait_for_any(w, ids, count);
    w->jobs->work = 0;
    world_finish(world_run_of(w, ids[0]), result);
    for (const struct waiters_due *d = w->jobs->due.next; d != &w->jobs->due; d = d->next)
        put_off++;
    assert_in_range(put_off, 1, WAITERS - 1);
    jobs_world_settle(w);
    for (unsigned i = 0; i < WAITERS; i++)
        assert_true(world_answered(w, ops[i]));
}

WAITS_TEST(those_who_wait_for_many_are_answered_in_turns)
{
    static uint64_t ids[OPERATION_IDS_MAX];
    ids[0] = stage_submit(w);
    uint64_t open = stage_submit(w);
    for (unsigned i = 1; i < OPERATION_IDS_MAX; i++)
        ids[i] = open;
    expect_turns(w, ids, OPERATION_IDS_MAX, "\xc0");
}

WAITS_TEST(those_who_get_long_results_are_answered_in_turns)
{
    enum { LENGTH = 65000 };
    static char result[3 + LENGTH + 1] = "\xda\xfd\xe8"; /* a str 16 of so many */
    uint64_t id = stage_submit(w);
    memset(result + 3, 'x', LENGTH);
    expect_turns(w, &id, 1, result);
}

/* --- task.watch by thousands --- */

enum { FOLLOWERS = 4000 };

static struct operation *follow(struct jobs_world *w, uint64_t id, uint32_t from)
{
    struct operation *op = world_operation(w, &operation_task_watch);
    op->watch = (struct watch_arguments){.id = id, .from = from, .max = 100, .timeout = AO_S(60)};
    world_give(w, op);
    return op;
}

/* So many follow the task from there. */
static struct operation **follow_all(struct jobs_world *w, uint64_t id, uint32_t from)
{
    struct operation **ops = calloc(FOLLOWERS, sizeof *ops);
    assert_non_null(ops);
    for (unsigned i = 0; i < FOLLOWERS; i++)
        ops[i] = follow(w, id, from);
    return ops;
}

static unsigned answered(struct jobs_world *w, struct operation **ops)
{
    unsigned count = 0;
    for (unsigned i = 0; i < FOLLOWERS; i++)
        count += world_answered(w, ops[i]);
    return count;
}

WAITS_TEST(thousands_who_follow_a_task_are_told_in_several_steps)
{
    uint64_t id = stage_submit(w);
    struct operation **ops = follow_all(w, id, 3);
    w->jobs->work = 0;
    world_finish(world_run_of(w, id), "\xc0");
    assert_non_null(w->jobs->pass.next);
    jobs_world_settle(w);
    assert_null(w->jobs->pass.job);
    assert_int_equal(answered(w, ops), FOLLOWERS);
    free(ops);
}

static void begin_pass(struct jobs_world *w, uint64_t id)
{
    w->jobs->work = 0;
    waiters_history_grew(w->jobs, table_find(&w->jobs->table, id));
    assert_non_null(w->jobs->pass.next);
}

WAITS_TEST(what_happens_while_they_are_told_is_told_to_all)
{
    uint64_t id = stage_submit(w);
    struct operation **ops = follow_all(w, id, 3);
    begin_pass(w, id); /* there is nothing to see yet for those who hear of it now */
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(answered(w, ops), FOLLOWERS);
    free(ops);
}

WAITS_TEST(those_who_leave_while_they_are_told_are_passed_over)
{
    uint64_t id = stage_submit(w);
    struct operation **ops = follow_all(w, id, 3);
    begin_pass(w, id);
    struct waiter *next = w->jobs->pass.next;
    waiters_drop(w->jobs, next->op);
    assert_ptr_not_equal(w->jobs->pass.next, next);
    while (w->jobs->pass.job)
        waiters_drop(w->jobs, w->jobs->pass.job->waits->op);
    jobs_world_settle(w);
    assert_int_equal(answered(w, ops), FOLLOWERS);
    free(ops);
}

WAITS_TEST(one_that_is_tried_again_is_waited_for_again)
{
    uint64_t ids[2] = {stage_submit(w), stage_submit(w)};
    struct operation *op = wait_for(w, ids, 2);
    world_fail(world_run_of(w, ids[0]), "ODD", "not today");
    jobs_world_settle(w);
    struct operation *again = world_about(w, &operation_task_retry, ids[0]);
    world_give(w, again);
    assert_int_equal(again->reply.error, ERGON_OK);
    world_finish(world_run_of(w, ids[1]), "\xc0");
    jobs_world_settle(w);
    assert_false(world_answered(w, op));
    world_finish(world_run_of(w, ids[0]), "\x2a");
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    stage_says(op, "'result': 42");
    stage_says(op, "'open': []");
}

WAITS_TEST(results_beyond_the_most_are_left_out)
{
    enum { EACH = 4 << 20 };
    struct job_spec spec = WORK(.keep_size = EACH);
    uint8_t *big = calloc(1, EACH);
    uint64_t ids[3];
    big[0] = 0xc6; /* bin 32 */
    big[2] = (EACH - 5) >> 16, big[3] = (EACH - 5) >> 8 & 0xff, big[4] = (EACH - 5) & 0xff;
    for (unsigned i = 0; i < 3; i++) {
        struct outcome outcome = {.result = span_of(big, EACH)};
        struct attempt_end end = {.outcome = &outcome};
        ids[i] = jobs_world_submit(w, &spec);
        jobs_world_settle(w);
        world_return(world_run_of(w, ids[i]), &end);
        jobs_world_settle(w);
    }
    struct operation *op = wait_for(w, ids, 3);
    assert_true(world_answered(w, op));
    assert_true(pack_size(&op->reply.result) > 2 * EACH);
    assert_true(pack_size(&op->reply.result) < 3 * EACH);
    free(big);
}

WAITS_TEST(those_who_wait_are_answered_when_the_server_stops)
{
    uint64_t ids[2] = {stage_submit(w), stage_submit(w)};
    struct operation *op = wait_for(w, ids, 2), *b = world_about(w, &operation_task_watch, ids[0]);
    b->watch.from = 3;
    b->watch.timeout = AO_NEVER;
    world_give(w, b);
    assert_false(world_answered(w, b));
    w->source.stop(w->source.arg, false);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_true(world_answered(w, b));
    stage_says(op, "'ended': []");
    stage_says(b, "'events': [], 'next': 3, 'ended': false");
    assert_true(world_answered(w, wait_for(w, ids, 2)));
}

/* --- task.call --- */

static void drop(struct jobs_world *w, struct operation *op)
{
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
}

WAITS_TEST(a_dropped_call_leaves_a_task_that_was_submitted)
{
    struct job_spec spec = WORK(.key = span_text("k"));
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    drop(w, stage_call(w, &spec));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
}

WAITS_TEST(the_last_of_the_calls_takes_their_task_along)
{
    struct job_spec spec = WORK(.key = span_text("k"));
    struct operation *first = stage_call(w, &spec), *second = stage_call(w, &spec);
    uint64_t id = w->runs->run.id;
    drop(w, first);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_false(world_answered(w, second));
    drop(w, second);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

/* The deadline is the task's: who joins it brings none of his own. */
WAITS_TEST(a_call_that_joins_by_its_key_waits_as_long_as_the_task)
{
    struct job_spec spec = WORK(.key = span_text("k"), .deadline = AO_MS(400));
    struct job_spec brief = WORK(.key = span_text("k"), .deadline = AO_MS(20));
    struct job_spec patient = WORK(.key = span_text("k"), .deadline = AO_S(60));
    w->lasts = AO_S(5);
    struct operation *first = stage_call(w, &spec);
    struct operation *second = stage_call(w, &brief), *third = stage_call(w, &patient);
    jobs_world_pass(w, AO_MS(390));
    assert_false(world_answered(w, first) || world_answered(w, second) || world_answered(w, third));
    jobs_world_pass(w, AO_MS(20));
    assert_true(world_answered(w, first) && world_answered(w, second) && world_answered(w, third));
    assert_int_equal(first->reply.error, ERGON_E_DEADLINE);
    assert_int_equal(second->reply.error, ERGON_E_DEADLINE);
    assert_int_equal(third->reply.error, ERGON_E_DEADLINE);
}

WAITS_TEST(a_coalesced_run_goes_with_the_last_who_wants_it)
{
    struct job_spec spec = WORK(.coalesce = span_text("k"));
    struct operation *first = stage_call(w, &spec), *second = stage_call(w, &spec);
    uint64_t id = w->runs->run.id;
    drop(w, first);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    drop(w, second);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

/* --- task.submit_many --- */

STORED_TEST(each_that_could_not_be_written_says_so)
{
    struct job_spec specs[4];
    struct operation *op = world_operation(w, &operation_task_submit_many);
    for (unsigned i = 0; i < 4; i++) {
        specs[i] = world_spec("work");
        specs[i].durable = DURABLE_FSYNC;
    }
    specs[1].key = specs[3].key = span_text("k");
    w->store->error = STORE_FULL;
    op->submission.specs = specs;
    op->submission.count = 4;
    world_give(w, op);
    jobs_world_pass(w, AO_S(1));
    assert_true(world_answered(w, op));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(op->submission.outcomes[i].error, ERGON_E_STORE);
}
