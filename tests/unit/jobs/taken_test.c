/* Submissions that were rows of the store's inbox: each row becomes one task or joins one, or
 * stays.
 */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

enum { ROWS = 40 };

/* The row is there, and is submitted with these options beside its parameters: its number. */
#define ROW(id, ...)                                                                               \
    (*put_row(w, (id), &WORK(.durable = DURABLE_FSYNC, .inbox = (id), __VA_ARGS__)))

static struct job_spec *put_row(struct jobs_world *w, uint64_t id, struct job_spec *spec)
{
    static uint8_t params[64];
    params[id] = (uint8_t)id; /* a number, as MessagePack has it */
    spec->params = span_of(&params[id], 1);
    w->store->rows.inbox |= UINT64_C(1) << id;
    return spec;
}

static bool has_row(const struct jobs_world *w, uint64_t id)
{
    return w->store->rows.inbox >> id & 1;
}

static struct operation *give(struct jobs_world *w, struct job_spec *specs, uint32_t count)
{
    bool one = count == 1;
    struct operation *op =
        world_operation(w, one ? &operation_task_submit : &operation_task_submit_many);
    op->submission.specs = specs;
    op->submission.count = count;
    world_give(w, op);
    return op;
}

/* Of that row, in the store. */
static uint32_t tasks_of(const struct jobs_world *w, uint64_t id)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < w->store->rows.row_count; n++) {
        const struct memory_row *row = &w->store->rows.rows[n];
        count += row->there && row->task.params.len == 1 && row->task.params.at[0] == id;
    }
    return count;
}

static void expect_taken(const struct jobs_world *w, uint64_t id)
{
    assert_false(has_row(w, id));
    assert_int_equal(tasks_of(w, id), 1);
}

STORED_TEST(each_row_becomes_a_task)
{
    struct job_spec specs[ROWS];
    for (uint64_t n = 0; n < ROWS; n++)
        specs[n] = ROW(n + 1);
    struct operation *op = give(w, specs, ROWS);
    for (uint64_t n = 1; n <= ROWS; n++)
        assert_true(has_row(w, n));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(3));
    assert_true(world_answered(w, op));
    for (uint64_t n = 1; n <= ROWS; n++)
        expect_taken(w, n);
    assert_int_equal(w->store->rows.counts.submitted, ROWS);
    stage_balances(w);
}

/* It is written once, and nothing of it is written again for its submission. */
STORED_TEST(it_costs_one_write)
{
    give(w, &ROW(1, .delay = AO_S(60)), 1);
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(w->store->operations, 1);
}

STORED_TEST(a_row_that_was_read_twice_becomes_one_task)
{
    struct job_spec specs[] = {ROW(1), ROW(1), ROW(2)};
    struct operation *op = give(w, specs, 3), *again = give(w, &WORK(.inbox = 2, .durable = 2), 1);
    jobs_world_pass(w, AO_MS(3));
    assert_true(world_answered(w, op) && world_answered(w, again));
    expect_taken(w, 1);
    expect_taken(w, 2);
    assert_int_equal(op->submission.outcomes[0].error, ERGON_OK);
    assert_int_equal(op->submission.outcomes[1].error, ERGON_E_STORE);
    assert_int_equal(again->reply.error, ERGON_E_STORE);
    stage_balances(w);
}

STORED_TEST(a_store_that_fails_leaves_the_row)
{
    w->store->error = STORE_FULL;
    struct operation *op = give(w, &ROW(1), 1);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_true(has_row(w, 1));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(tasks_of(w, 1), 0);
    op = give(w, &ROW(1), 1);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(op->reply.error, ERGON_OK);
    expect_taken(w, 1);
    stage_balances(w);
}

STORED_TEST(a_crash_before_the_commit_leaves_the_row)
{
    give(w, &ROW(1), 1);
    jobs_world_crash(w);
    assert_true(has_row(w, 1));
    assert_int_equal(tasks_of(w, 1), 0);
    give(w, &ROW(1), 1);
    jobs_world_pass(w, AO_MS(3));
    jobs_world_crash(w);
    expect_taken(w, 1);
}

/* Its row goes before anything else of that task, so before its end. */
STORED_TEST(one_that_joins_a_task_goes)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .key = span_text("k")));
    jobs_world_pass(w, AO_MS(3));
    struct operation *op = give(w, &ROW(1, .key = span_text("k")), 1);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(3));
    assert_true(world_answered(w, op));
    assert_int_equal(op->submission.outcomes[0].id, id);
    assert_false(has_row(w, 1));
    assert_int_equal(tasks_of(w, 1), 0);
    stage_balances(w);
}

STORED_TEST(two_of_a_key_become_one_task)
{
    struct job_spec specs[] = {ROW(1, .key = span_text("k")), ROW(2, .key = span_text("k")),
                               ROW(3, .coalesce = span_text("c")),
                               ROW(4, .coalesce = span_text("c"))};
    struct operation *op = give(w, specs, 4);
    jobs_world_pass(w, AO_MS(9));
    assert_true(world_answered(w, op));
    for (uint64_t n = 1; n <= 4; n++) {
        assert_int_equal(op->submission.outcomes[n - 1].error, ERGON_OK);
        assert_false(has_row(w, n));
        assert_int_equal(tasks_of(w, n), n % 2);
    }
    stage_balances(w);
}

/* It was in memory, or might be lost with the machine: it is written first. */
STORED_TEST(one_that_hardens_a_task_goes_when_that_is_written)
{
    uint64_t id = jobs_world_submit(w, &WORK(.key = span_text("k"), .delay = AO_S(60)));
    w->store->error = STORE_FULL;
    struct operation *op = give(w, &ROW(1, .key = span_text("k")), 1);
    jobs_world_pass(w, AO_MS(9));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_true(has_row(w, 1));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    op = give(w, &ROW(1, .key = span_text("k")), 1);
    jobs_world_pass(w, AO_MS(9));
    assert_int_equal(op->reply.error, ERGON_OK);
    assert_false(has_row(w, 1));
    assert_int_equal(world_job(w, id)->durable, DURABLE_FSYNC);
    stage_balances(w);
}

/* Each allocation fails once: the row stays, or was a task; and then it becomes one. */
STORED_TEST(without_memory_nothing_is_lost_or_there_twice)
{
    bool met = true;
    w->lasts = AO_MS(1);
    for (int64_t n = 1; met; n++) {
        struct job_spec specs[] = {ROW(1, .keep = 0), ROW(2, .keep = 0), ROW(3, .keep = 0)};
        int64_t before = w->store->rows.counts.submitted;
        struct operation *op = world_operation(w, &operation_task_submit_many);
        op->submission.specs = specs;
        op->submission.count = 3;
        heap_fail_at(n);
        world_give(w, op);
        jobs_world_pass(w, AO_MS(5));
        met = heap_failed();
        heap_fail_at(0);
        jobs_world_pass(w, AO_S(2));
        assert_true(world_answered(w, op));
        int64_t left = has_row(w, 1) + has_row(w, 2) + has_row(w, 3);
        assert_int_equal(w->store->rows.counts.submitted - before, 3 - left);
        for (uint64_t id = 1; id <= 3; id++)
            if (has_row(w, id))
                give(w, &specs[id - 1], 1);
        jobs_world_pass(w, AO_S(2));
        assert_int_equal(w->store->rows.inbox, 0);
        assert_int_equal(w->store->rows.counts.submitted - before, 3);
    }
    stage_balances(w);
}
