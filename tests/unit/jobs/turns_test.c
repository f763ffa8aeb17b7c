/* Principals take turns in what they ask of the jobs. */
#include "server/jobs/operations/turns.h"

#include "proto/reader.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

enum { MANY = 600 };

static struct operation_item items[MANY];
static uint32_t whose[MANY]; /* the line of each */

/* Whose it is that was taken; -1: nothing was there. */
static int take(struct turns *t, uint32_t work)
{
    struct operation_item *item = turns_take(t);
    if (!item)
        return -1;
    turns_charge(t, work);
    return (int)whose[item - items];
}

static void put(struct turns *t, uint32_t line, uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++) {
        whose[i] = line;
        assert_int_equal(turns_push(t, line, &items[i]), line);
    }
}

TEST(a_turn_is_so_much_work)
{
    struct turns t = {0};
    put(&t, 1, 0, 100);
    put(&t, 70, 100, 100);
    unsigned taken[71] = {0};
    for (unsigned i = 0; i < 110; i++) { /* those of 1 take ten times as long */
        uint32_t line = whose[turns_take(&t) - items];
        turns_charge(&t, line == 1 ? TURN_WORK / 10 : TURN_WORK / 100);
        taken[line]++;
    }
    assert_in_range(taken[1], 8, 12);
    while (take(&t, 1) != -1)
        ;
    turns_fini(&t);
}

TEST(who_comes_waits_for_one_turn_of_each)
{
    struct turns t = {0};
    put(&t, 1, 0, 100);
    put(&t, 2, 100, 100);
    assert_int_equal(take(&t, TURN_WORK), 1);
    put(&t, 3, 200, 1);
    assert_int_equal(take(&t, TURN_WORK), 2);
    assert_int_equal(take(&t, TURN_WORK), 3);
    put(&t, 3, 200, 1); /* it has nothing saved, and owes nothing */
    for (int line = 1; line <= 3; line++)
        assert_int_equal(take(&t, TURN_WORK), line);
    while (take(&t, 1) != -1)
        ;
    turns_fini(&t);
}

TEST(what_took_longer_than_a_turn_is_paid_for_with_the_next)
{
    struct turns t = {0};
    put(&t, 1, 0, 3);
    put(&t, 2, 3, 10);
    assert_int_equal(take(&t, 3 * TURN_WORK), 1);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(take(&t, TURN_WORK / 2), 2);
    assert_int_equal(take(&t, TURN_WORK / 2), 2);
    while (take(&t, 1) == 2)
        ;
    while (take(&t, 4 * TURN_WORK) != -1)
        ; /* alone, it goes on at once */
    turns_fini(&t);
}

TEST(what_is_put_back_is_first)
{
    struct turns t = {0};
    put(&t, 0, 0, 2);
    struct operation_item *item = turns_take(&t);
    turns_put_back(&t, item);
    turns_charge(&t, 1);
    assert_ptr_equal(turns_take(&t), item);
    turns_charge(&t, 1);
    item = turns_take(&t);
    turns_put_back(&t, item);
    turns_charge(&t, 1);
    put(&t, 0, 2, 1);
    assert_ptr_equal(turns_take(&t), item);
    turns_charge(&t, 1);
    assert_ptr_equal(turns_take(&t), &items[2]);
    turns_charge(&t, 1);
    assert_null(turns_take(&t));
    turns_fini(&t);
}

/* --- Among operations --- */

static struct operation *give(struct jobs_world *w, uint32_t line, struct job_spec *specs,
                              uint32_t count)
{
    struct operation *op =
        world_operation(w, count > 1 ? &operation_task_submit_many : &operation_task_submit);
    op->submission.specs = specs;
    op->submission.count = count;
    op->turn_queue = line;
    channel_give(w->channel, op);
    return op;
}

/* How many were answered before it. */
static uint32_t rank_of(const struct jobs_world *w, const struct operation *op)
{
    uint32_t i = 0;
    while (i < w->answered && w->operations[i] != op)
        i++;
    return i;
}

JOBS_TEST(one_operation_stands_behind_a_turn_of_others_and_not_behind_all, .quiet = true)
{
    struct job_spec spec = WORK();
    for (unsigned i = 0; i < MANY; i++)
        give(w, 1 + i % 2, &spec, 1);
    struct operation *late = give(w, 3, &spec, 1);
    jobs_world_settle(w);
    assert_int_equal(w->answered, MANY + 1);
    assert_in_range(rank_of(w, late), 1, MANY / 4);
}

JOBS_TEST(a_batch_is_taken_in_parts, .quiet = true, .stored = true)
{
    static struct job_spec specs[MANY];
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    for (unsigned i = 0; i < MANY; i++)
        specs[i] = spec;
    struct operation *batch = give(w, 1, specs, MANY), *one = give(w, 2, &spec, 1);
    jobs_world_pass(w, AO_S(1));
    assert_true(world_answered(w, batch) && world_answered(w, one));
    assert_int_equal(rank_of(w, one), 0);
    const struct submission_outcome *outcomes = batch->submission.outcomes;
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(outcomes[i].error, ERGON_OK);
        assert_true(outcomes[i].id > (i > 0 ? outcomes[i - 1].id : 0));
    }
    assert_true(outcomes[MANY - 1].id - outcomes[0].id == MANY); /* the one came between */
}

static struct operation *list(struct jobs_world *w, uint32_t line, uint64_t cursor, uint32_t max)
{
    struct operation *op = world_operation(w, &operation_task_list);
    op->list = (struct list_arguments){.filter.state = -1, .max = max, .cursor = cursor};
    op->turn_queue = line;
    channel_give(w->channel, op);
    return op;
}

/* Of the page; its first task has the id *first. */
static uint32_t count_listed(const struct operation *op, uint64_t *first)
{
    struct reader r = reader_of(span_behind(operation_result(op), 1 + 6)); /* {"tasks": */
    uint32_t count, pairs;
    struct span key, id = {0}; /* clang does not see that an assert ends the test */
    assert_true(read_array(&r, &count) && count > 0);
    assert_true(read_map(&r, &pairs) && read_text(&r, &key) && read_text(&r, &id));
    assert_true(id_parse(id, first));
    return count;
}

/* Others are served between the parts of a page. */
JOBS_TEST(a_page_is_made_in_parts, .quiet = true)
{
    struct job_spec spec = WORK();
    uint64_t first;
    for (unsigned i = 0; i < MANY; i++)
        jobs_world_submit(w, &spec);
    struct operation *page = list(w, 1, 0, MANY), *one = give(w, 2, &spec, 1);
    jobs_world_settle(w);
    assert_true(world_answered(w, page) && world_answered(w, one));
    assert_int_equal(rank_of(w, one), 0);
    assert_int_equal(count_listed(page, &first), MANY);
    assert_null(w->jobs->table.walks);
}

/* Where it goes on is looked for in parts, too, from both ends. */
JOBS_TEST(a_page_begins_behind_one_that_was_forgotten_among_many, .quiet = true)
{
    struct job_spec spec = WORK(), brief = WORK(.keep = 0);
    for (unsigned older = 1; older <= 2; older++) {
        uint64_t before = 0, gone, first;
        for (unsigned i = 0; i < older * 1000; i++)
            before = jobs_world_submit(w, &spec);
        gone = jobs_world_submit(w, &brief);
        for (unsigned i = 0; i < 1500; i++)
            jobs_world_submit(w, &spec);
        world_cancel(w, world_job(w, gone));
        jobs_world_pass(w, AO_S(1));
        assert_null(world_job(w, gone));
        struct operation *page = list(w, 1, gone, 1), *one = give(w, 2, &spec, 1);
        uint32_t answered = w->answered;
        jobs_world_settle(w);
        assert_ptr_equal(w->operations[answered], one);
        assert_int_equal(count_listed(page, &first), 1);
        assert_true(first == before);
    }
    assert_null(w->jobs->table.walks);
}

static struct operation *sweep(struct jobs_world *w, uint32_t line)
{
    struct operation *op = world_operation(w, &operation_task_cancel_matching);
    op->sweep.dry_run = true;
    op->turn_queue = line;
    channel_give(w->channel, op);
    return op;
}

JOBS_TEST(sweeps_take_turns, .quiet = true)
{
    struct operation *last = NULL;
    for (unsigned i = 0; i < 2500; i++)
        jobs_world_submit(w, &WORK());
    for (unsigned i = 0; i < 50; i++)
        sweep(w, 1);
    last = sweep(w, 2);
    jobs_world_settle(w);
    assert_int_equal(w->answered, 51);
    assert_in_range(rank_of(w, last), 0, 2);
}
