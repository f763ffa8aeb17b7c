/* Jobs of a node of a cluster: what they do before they own the tasks, how they read them back
 * while the process serves, and what they do when the cluster's database does not answer. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/ids.h"
#include "server/jobs/effects.h"
#include "server/jobs/semaphores/holds.h"
#include "server/jobs/verbs/boards.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/jobs_world_lives.h"
#include "tests/support/notation.h"

struct cluster {
    bool acts;
};

struct node {
    struct jobs_world w;
    struct cluster cluster;
    struct jobs_cluster options;
    struct jobs_take_over take;
    uint32_t owned, failed, deposed; /* calls */
    char text[300];                  /* of `failed` */
    bool broke;                      /* likewise: its database was away */
};

static struct node node;

static bool may_act(const struct cluster *cluster)
{
    return cluster->acts;
}

static void owns(void *arg)
{
    ((struct node *)arg)->owned++;
}

static void load_failed(void *arg, const char *text, bool away)
{
    struct node *n = arg;
    n->failed++;
    n->broke = away;
    snprintf(n->text, sizeof n->text, "%s", text);
}

static void deposed(void *arg)
{
    ((struct node *)arg)->deposed++;
}

static int open_node(void **state)
{
    struct node *n = &node;
    *n = (struct node){.cluster.acts = true,
                       .options = {.node = "a",
                                   .cluster = &n->cluster,
                                   .may_act = may_act,
                                   .owns = owns,
                                   .load_failed = load_failed,
                                   .deposed = deposed,
                                   .arg = n},
                       .take = {.epoch = 1, .boards = 1}};
    jobs_world_init(&n->w);
    jobs_world_keep_store(&n->w);
    n->w.store->in_chunks = true;
    n->w.store->chunk_rows = 4;
    n->w.options.cluster = &n->options;
    jobs_world_open(&n->w);
    *state = n;
    return 0;
}

static int close_node(void **state)
{
    jobs_world_fini(&((struct node *)*state)->w);
    return 0;
}

#define NODE_TEST(name) TEST_OF(struct node *n, NULL, open_node, close_node, name)

/* Until all is read. */
static void become(struct node *n)
{
    jobs_become_owner(n->w.jobs, &n->take);
    jobs_world_pass(&n->w, AO_S(1));
}

static void own(struct node *n)
{
    become(n);
    assert_int_equal(n->owned, 1);
    n->owned = 0;
}

/* The process dies, and takes over again: with its board, or where that was lost. */
static void take_over_again(struct node *n, bool keeps_board)
{
    if (!keeps_board)
        memory_store_cut_power(n->w.store);
    jobs_world_crash(&n->w);
    n->take.epoch++;
    n->take.boards += !keeps_board;
    n->take.keeps_board = keeps_board;
    n->take.id_mark = n->w.store->marks.id_mark;
    n->take.fence_mark = n->w.store->marks.fence_mark;
    own(n);
}

static uint64_t submit(struct node *n, uint8_t durable)
{
    uint64_t id = jobs_world_submit(&n->w, &WORK(.durable = durable));
    jobs_world_settle(&n->w);
    return id;
}

static const char *explain(struct node *n, uint64_t id)
{
    static char text[2000];
    struct operation *op = world_about(&n->w, &operation_task_explain, id);
    world_give(&n->w, op);
    assert_true(world_answered(&n->w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

/* --- Before it owns --- */

NODE_TEST(nothing_is_served_before_it_owns)
{
    struct operation *op = world_about(&n->w, &operation_task_get, 1);
    struct job_spec spec = WORK(.durable = DURABLE_NONE);
    world_give(&n->w, op);
    assert_int_equal(op->reply.error, ERGON_E_BUSY);
    stage_holds(op->reply.text, "does not own the tasks");
    assert_int_equal(stage_call(&n->w, &spec)->reply.error, ERGON_E_BUSY);
    assert_int_equal(n->w.store->loads, 0);
    own(n);
    op = world_about(&n->w, &operation_task_get, 1);
    world_give(&n->w, op);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
    assert_int_equal(n->w.store->epoch, 1);
    uint64_t id = submit(n, DURABLE_NONE);
    assert_non_null(world_run_of(&n->w, id));
}

/* A connection says that it may hold permits before anybody owns the semaphores. */
NODE_TEST(connections_are_known_before_it_owns)
{
    struct operation *op = world_operation(&n->w, &operation_sem_holder);
    op->holder.by_conn.hash = 7;
    world_give(&n->w, op);
    assert_false(world_answered(&n->w, op));
    own(n);
    channel_drop(n->w.channel, op);
    jobs_world_settle(&n->w);
    assert_true(world_answered(&n->w, op));
}

/* --- Rows --- */

NODE_TEST(what_was_open_goes_on_and_what_had_ended_is_known)
{
    uint64_t open[20], ended;
    n->w.room[1] = 20;
    own(n);
    ended = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    world_finish(world_run_of(&n->w, ended), "\x2a");
    jobs_world_pass(&n->w, AO_MS(10));
    for (unsigned i = 0; i < 20; i++)
        open[i] = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    take_over_again(n, false);
    assert_true(n->w.store->loads > 5);
    assert_int_equal(world_state(&n->w, ended), JOB_DONE);
    for (unsigned i = 0; i < 20; i++) {
        struct world_run *r = world_run_of(&n->w, open[i]);
        assert_non_null(r);
        world_finish(r, "\x01");
        jobs_world_pass(&n->w, AO_MS(10));
        assert_int_equal(world_state(&n->w, open[i]), JOB_DONE);
    }
    stage_balances(&n->w);
}

/* A round takes no virtual time, so what is answered at this moment did not wait for the rows. */
NODE_TEST(operations_are_answered_while_rows_are_read)
{
    enum { MANY = 3000 };
    own(n);
    n->w.quiet = true;
    n->w.store->chunk_rows = 100;
    for (unsigned i = 0; i < MANY; i++)
        jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(&n->w, AO_S(1));
    jobs_world_crash(&n->w);
    n->take.epoch++;
    jobs_become_owner(n->w.jobs, &n->take);
    unsigned busy = 0;
    while (n->owned == 0) {
        struct operation *op = world_about(&n->w, &operation_task_get, 1);
        channel_give(n->w.channel, op);
        jobs_world_pass(&n->w, AO_MS(1));
        assert_true(world_answered(&n->w, op));
        busy += op->reply.error == ERGON_E_BUSY;
    }
    assert_true(busy >= MANY / 100);
    assert_int_equal(counter_read(&n->w.jobs->table.shown_durable), MANY);
}

/* They go on in the order in which they joined the queue, as after a restart. */
NODE_TEST(delayed_tasks_go_on_behind_earlier_ones)
{
    own(n);
    submit(n, DURABLE_NONE); /* has the executor, and is gone with its owner */
    uint64_t first = submit(n, DURABLE_FSYNC);
    uint64_t delayed = jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(2)));
    jobs_world_pass(&n->w, AO_S(1));
    uint64_t second = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_S(2));
    uint64_t last = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_S(1));
    take_over_again(n, false);
    const uint64_t order[] = {first, second, delayed, last};
    for (unsigned i = 0; i < 4; i++) {
        assert_non_null(world_run_of(&n->w, order[i]));
        world_finish(world_run_of(&n->w, order[i]), "\x01");
        jobs_world_pass(&n->w, AO_MS(10));
    }
}

/* Its end was long ago: it goes when all is read, and not before its history is. */
/* The rows of limits and rates come before the tasks that use them, which may be chunks later. */
NODE_TEST(numbers_of_limits_stay_while_tasks_are_read)
{
    const struct memory_rows *rows = &n->w.store->rows;
    struct job_spec first = WORK(.durable = DURABLE_FSYNC), second = first;
    first.limit_key = second.limit_key = span_text("k");
    first.limit = 3;
    second.limit = 2;
    own(n);
    for (int i = 0; i < 9; i++)
        submit(n, DURABLE_FSYNC);
    jobs_world_submit(&n->w, &first);
    jobs_world_pass(&n->w, AO_MS(10));
    jobs_world_submit(&n->w, &second);
    jobs_world_pass(&n->w, AO_MS(10));
    assert_int_equal(rows->rate_count, 1);
    uint64_t id = rows->rates[0].id;
    take_over_again(n, true);
    assert_int_equal(rows->rate_count, 1);
    assert_int_equal(rows->rates[0].id, id);
    assert_int_equal(rows->rates[0].max, 2);
}

NODE_TEST(what_is_kept_no_longer_is_forgotten_after_the_load)
{
    own(n);
    uint64_t id = jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC, .retries = 1,
                                                 .backoff = AO_MS(1), .backoff_jitter = 0));
    jobs_world_pass(&n->w, AO_MS(10));
    world_fail(world_run_of(&n->w, id), "ODD", "not today");
    jobs_world_pass(&n->w, AO_MS(10));
    world_finish(world_run_of(&n->w, id), "\x01");
    jobs_world_pass(&n->w, AO_MS(10));
    jobs_world_die(&n->w);
    jobs_world_pass(&n->w, AO_S(30 * 86400));
    char error[200];
    assert_true(jobs_world_live(&n->w, error, sizeof error));
    n->w.store->chunk_rows = 1;
    n->take.epoch++;
    own(n);
    assert_null(world_job(&n->w, id));
    assert_null(memory_store_row(n->w.store, id));
}

NODE_TEST(a_row_that_cannot_be_a_task_fails_the_load)
{
    own(n);
    submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    n->w.store->rows.rows[0].task.state = 99;
    jobs_world_crash(&n->w);
    n->take.epoch++;
    become(n);
    assert_int_equal(n->owned, 0);
    assert_int_equal(n->failed, 1);
    stage_holds(n->text, "its state is none");
    assert_false(n->broke);
    struct operation *op = world_about(&n->w, &operation_task_get, 1);
    world_give(&n->w, op);
    assert_int_equal(op->reply.error, ERGON_E_BUSY);
}

/* What was read by then goes with the jobs, and leaves nothing behind. */
NODE_TEST(memory_that_fails_while_rows_are_read)
{
    own(n);
    for (unsigned i = 0; i < 6; i++)
        jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC, .limit_key = span_text("l"),
                                       .limit = 1, .rate_key = span_text("r"), .rate = 5,
                                       .rate_per = AO_S(1), .delay = i * AO_MS(1)));
    jobs_world_pass(&n->w, AO_MS(20));
    char error[200];
    for (int at = 1; n->owned == 0; at++) {
        n->failed = 0;
        jobs_world_die(&n->w);
        assert_true(jobs_world_live(&n->w, error, sizeof error));
        n->take.epoch++;
        heap_fail_at(at);
        become(n);
        bool met = heap_failed();
        heap_fail_at(0);
        assert_int_equal(n->owned + n->failed, 1);
        assert_true(met || n->owned);
    }
}

/* --- Numbers --- */

/* Its row does not say that an attempt began, for that was not on disk yet. */
/* Once in a while: neither never, nor as fast as the store gives them back. */
NODE_TEST(marks_that_cannot_be_written_are_tried_again)
{
    enum { TRIES_MOST = 20 };
    own(n);
    jobs_world_crash(&n->w);
    n->take.epoch++;
    jobs_become_owner(n->w.jobs, &n->take);
    n->w.store->latency = AO_MS(5);
    while (!n->w.jobs->ownership.marking)
        jobs_world_pass(&n->w, AO_MS(1));
    n->w.store->error = STORE_FULL;
    uint32_t before = n->w.store->commits;
    jobs_world_pass(&n->w, AO_S(1));
    assert_int_equal(n->owned + n->failed, 0);
    assert_in_range(n->w.store->commits - before, 2, TRIES_MOST);
    n->w.store->error = STORE_OK;
    jobs_world_pass(&n->w, AO_S(1));
    assert_int_equal(n->owned, 1);
}

static uint64_t begun_without_a_row(struct node *n, uint8_t durable)
{
    uint64_t id = submit(n, durable);
    jobs_world_pass(&n->w, AO_MS(10));
    n->w.store->away = true;
    assert_non_null(world_run_of(&n->w, id));
    assert_int_equal(world_run_of(&n->w, id)->run.attempt, 1);
    return id;
}

static void expect_next_attempt(struct node *n, uint64_t id, uint32_t attempt)
{
    struct world_run *r = world_run_of(&n->w, id);
    assert_non_null(r);
    assert_int_equal(r->run.attempt, attempt);
}

NODE_TEST(each_lost_board_hides_an_attempt)
{
    own(n);
    n->w.store->latency = AO_S(100); /* the begin is not written: the row is on its way */
    uint64_t id = jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(&n->w, AO_S(101));
    expect_next_attempt(n, id, 1);
    const struct store_task *row = &memory_store_row(n->w.store, id)->task;
    assert_int_equal(row->attempt, 0);
    assert_int_equal(row->boards, 1);
    n->w.store->latency = AO_MS(1);
    take_over_again(n, false);
    expect_next_attempt(n, id, 2); /* nobody knows whether the first began */
    row = &memory_store_row(n->w.store, id)->task;
    assert_int_equal(row->state, JOB_RUNNING);
    assert_int_equal(row->attempt, 2);
    assert_int_equal(row->boards, 2);
    take_over_again(n, false); /* one that runs, as its row says, has begun no further */
    expect_next_attempt(n, id, 3);
}

NODE_TEST(async_tasks_do_not_skip_numbers)
{
    own(n);
    uint64_t id = begun_without_a_row(n, DURABLE_ASYNC);
    n->w.store->away = false;
    n->w.store->rows.rows[0].task.state = JOB_QUEUED; /* as if the begin was not written */
    n->w.store->rows.rows[0].task.attempt = 0;
    take_over_again(n, false);
    expect_next_attempt(n, id, 1);
}

/* No row is written by a load: what numbers say is read out of the rows again. */
NODE_TEST(numbers_of_open_tasks_are_not_written_by_a_load)
{
    own(n);
    jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(1000)));
    jobs_world_pass(&n->w, AO_MS(10));
    uint32_t before;
    for (unsigned i = 0; i < 3; i++) {
        before = n->w.store->operations;
        take_over_again(n, false);
        assert_int_equal(n->w.store->operations, before + 1); /* marks */
        assert_int_equal(n->w.store->rows.rows[0].task.attempt, 0);
        assert_int_equal(n->w.jobs->table.first->attempt, i + 1);
    }
}

NODE_TEST(a_board_that_is_kept_tells_what_crashed)
{
    own(n);
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    for (uint32_t crash = 1; crash < 3; crash++) {
        expect_next_attempt(n, id, crash);
        take_over_again(n, true);
        assert_int_equal(world_job(&n->w, id)->crashes, crash);
    }
    take_over_again(n, true);
    assert_int_equal(world_state(&n->w, id), JOB_DEAD);
}

NODE_TEST(without_the_board_nothing_crashed)
{
    own(n);
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    for (unsigned i = 0; i < 5; i++)
        take_over_again(n, false);
    assert_int_equal(world_job(&n->w, id)->crashes, 0);
    assert_non_null(world_run_of(&n->w, id));
}

/* --- Boards of other nodes, and old ones --- */

static struct operation *give_report(struct node *n, const char *node_name, uint64_t epoch,
                                     const struct jobs_begun *begun, uint32_t count)
{
    struct operation *op = world_operation(&n->w, &operation_cluster_board);
    struct pack p;
    pack_init(&p);
    for (uint32_t i = 0; i < count; i++) {
        pack_uint(&p, begun[i].id);
        pack_uint(&p, begun[i].attempt);
    }
    op->board = (struct board_arguments){
        .node = span_text(node_name), .epoch = epoch, .begun = pack_bytes(&p), .pairs = count};
    world_give(&n->w, op);
    jobs_world_pass(&n->w, AO_MS(1));
    pack_fini(&p);
    return op;
}

static uint64_t report(struct node *n, const char *node_name, uint64_t epoch,
                       const struct jobs_begun *begun, uint32_t count)
{
    char text[40];
    struct operation *op = give_report(n, node_name, epoch, begun, count);
    jobs_world_pass(&n->w, AO_MS(10));
    assert_int_equal(op->reply.error, ERGON_OK);
    return strtoul(notation_show(operation_result(op), text, sizeof text), NULL, 10);
}

NODE_TEST(a_board_that_is_reported_counts_once)
{
    own(n);
    uint64_t id = submit(n, DURABLE_FSYNC), ended = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    world_cancel(&n->w, world_job(&n->w, ended));
    jobs_world_pass(&n->w, AO_MS(10));
    const struct jobs_begun begun[] = {{id, 1}, {ended, 1}, {12345, 1}};
    n->take.epoch = 5;
    take_over_again(n, false);
    assert_int_equal(report(n, "b", 5, begun, 3), 1);
    assert_int_equal(world_job(&n->w, id)->crashes, 1);
    assert_int_equal(memory_store_row(n->w.store, id)->task.crashes, 1);
    assert_int_equal(report(n, "b", 5, begun, 3), 0);
    take_over_again(n, false);
    assert_int_equal(report(n, "b", 5, begun, 3), 0); /* the store knows it */
    assert_int_equal(world_job(&n->w, id)->crashes, 1);
    assert_int_equal(report(n, "c", 5, begun, 3), 1);
    assert_int_equal(world_job(&n->w, id)->crashes, 2);
    assert_int_equal(report(n, "b", 6, begun, 3), 1);
    assert_int_equal(world_state(&n->w, id), JOB_DEAD);
    assert_int_equal(report(n, "b", 7, begun, 3), 0);
}

/* Else an owner that is lost in between loses a crash: the same report is ignored then. */
NODE_TEST(the_row_of_a_board_is_written_behind_the_crashes)
{
    own(n);
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    n->take.epoch = 5;
    take_over_again(n, false);
    n->w.store->most = 1; /* an operation a commit */
    n->w.store->latency = AO_MS(100);
    struct operation *op = give_report(n, "b", 5, &(struct jobs_begun){id, 1}, 1);
    while (n->w.store->rows.node_boards[1] == 0) {
        assert_false(world_answered(&n->w, op));
        jobs_world_pass(&n->w, AO_MS(10));
    }
    assert_int_equal(memory_store_row(n->w.store, id)->task.crashes, 1);
    jobs_world_pass(&n->w, AO_S(2));
    assert_int_equal(op->reply.error, ERGON_OK);
}

NODE_TEST(a_node_that_becomes_owner_counts_its_old_board_first)
{
    const struct jobs_begun *begun;
    uint64_t epoch;
    own(n);
    assert_int_equal(jobs_old_board(n->w.jobs, &begun, &epoch), 0);
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    jobs_world_crash(&n->w);
    assert_int_equal(jobs_old_board(n->w.jobs, &begun, &epoch), 1);
    assert_int_equal(begun[0].id, id);
    assert_int_equal(begun[0].attempt, 1);
    assert_int_equal(epoch, 1);
    n->take.epoch = 3; /* another owned in between */
    n->take.boards += 2;
    own(n);
    assert_int_equal(world_job(&n->w, id)->crashes, 1);
    assert_int_equal(n->w.store->rows.node_boards[0], 1);
    expect_next_attempt(n, id, 2);
}

/* A task that kills its process at once would never be found out. */
static void expect_count_in_row(struct node *n, uint8_t durable)
{
    own(n);
    n->w.store->latency = AO_S(100); /* the begin is not written: the row is on its way */
    uint64_t id = jobs_world_submit(&n->w, &WORK(.durable = durable));
    jobs_world_pass(&n->w, AO_S(101));
    assert_non_null(world_run_of(&n->w, id));
    jobs_world_crash(&n->w);
    n->take.epoch = 3; /* another owned in between */
    n->take.boards += 2;
    n->w.store->latency = AO_MS(500);
    jobs_become_owner(n->w.jobs, &n->take);
    while (!world_run_of(&n->w, id))
        jobs_world_pass(&n->w, AO_MS(10));
    assert_int_equal(memory_store_row(n->w.store, id)->task.crashes, 1);
}

NODE_TEST(what_a_board_told_is_in_the_row_before_the_next_attempt)
{
    expect_count_in_row(n, DURABLE_FSYNC);
}

NODE_TEST(so_it_is_of_an_async_task)
{
    expect_count_in_row(n, DURABLE_ASYNC);
}

NODE_TEST(a_board_that_was_reported_is_not_counted_again)
{
    const struct jobs_begun *begun;
    uint64_t epoch;
    own(n);
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    jobs_world_crash(&n->w);
    n->w.store->rows.node_boards[0] = 1;
    assert_int_equal(jobs_old_board(n->w.jobs, &begun, &epoch), 1);
    n->take.epoch = 3;
    own(n);
    assert_int_equal(world_job(&n->w, id)->crashes, 0);
}

/* Names come and go with machines, and most of them never owned. */
NODE_TEST(names_of_nodes_that_are_gone_are_in_no_owners_way)
{
    enum { COUNTED = 5 /* the first that has a board; one more than there is room for has */ };
    struct memory_rows *rows = &n->w.store->rows;
    own(n);
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    rows->more_nodes = MEMORY_NODES - 4;
    for (uint32_t i = COUNTED; i < COUNTED + NODES_MAX; i++)
        rows->node_boards[i] = 10 + i;
    rows->node_boards[0] = 9;
    n->take.epoch = 100;
    take_over_again(n, false);
    const struct jobs_begun begun = {id, 1};
    assert_int_equal(report(n, "f", 10 + COUNTED, &begun, 1), 0);
    assert_int_equal(report(n, "b", 80, &begun, 1), 1);
    assert_int_equal(report(n, "b", 80, &begun, 1), 0);
    const char late[] = {(char)('a' + COUNTED + NODES_MAX - 2), '\0'};
    assert_int_equal(report(n, late, 10 + COUNTED + NODES_MAX - 2, &begun, 1), 0);
}

/* --- Marks --- */

NODE_TEST(ids_and_fences_begin_above_the_marks)
{
    n->take.id_mark = UINT64_C(1) << 62;
    n->take.fence_mark = UINT64_C(1) << 52;
    own(n);
    assert_true(submit(n, DURABLE_NONE) > n->take.id_mark);
    assert_true(stamp_next(&n->w.jobs->table.last_stamp, AO_S(1)) > n->take.fence_mark);
    assert_true(n->w.store->marks.id_mark > n->w.jobs->table.next_id);
    assert_true(n->w.store->marks.fence_mark > n->w.jobs->table.last_stamp);
}

NODE_TEST(marks_are_raised_before_they_are_reached)
{
    own(n);
    uint64_t mark = n->w.store->marks.id_mark;
    n->w.jobs->table.next_id += (UINT64_C(1) << 19) + 1;
    jobs_world_pass(&n->w, AO_S(1));
    assert_true(n->w.store->marks.id_mark > mark);
    mark = n->w.store->marks.fence_mark;
    n->w.jobs->table.last_stamp += (UINT64_C(1) << 19) + 1;
    jobs_world_pass(&n->w, AO_S(1));
    assert_true(n->w.store->marks.fence_mark > mark);
}

NODE_TEST(at_the_mark_new_tasks_are_refused)
{
    struct submitted out;
    char text[JOB_TEXT_MAX];
    own(n);
    n->w.store->away = true;
    n->w.jobs->table.next_id = n->w.store->marks.id_mark - 1;
    jobs_world_pass(&n->w, AO_MS(200));
    assert_int_equal(world_submit(&n->w, &WORK(), &out, text, sizeof text), ERGON_E_STORE);
    stage_holds(text, "numbers");
    n->w.store->away = false;
    jobs_world_pass(&n->w, AO_S(1));
    assert_int_equal(world_submit(&n->w, &WORK(), &out, text, sizeof text), ERGON_OK);
}

/* --- Another owns --- */

NODE_TEST(who_is_deposed_says_nothing_is_done)
{
    own(n);
    uint64_t before = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    n->w.store->fenced = true;
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    struct operation *op = world_operation(&n->w, &operation_task_submit);
    op->submission.specs = &spec;
    op->submission.count = 1;
    world_give(&n->w, op);
    jobs_world_pass(&n->w, AO_MS(10));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_int_equal(n->deposed, 1);
    world_finish(world_run_of(&n->w, before), "\x01");
    jobs_world_pass(&n->w, AO_S(10));
    assert_null(n->w.runs);
    assert_int_equal(n->deposed, 1);
    assert_true(job_state_open(memory_store_row(n->w.store, before)->task.state));
    op = world_about(&n->w, &operation_task_get, before);
    world_give(&n->w, op);
    assert_int_equal(op->reply.error, ERGON_E_BUSY);
}

/* --- It may not act --- */

NODE_TEST(nothing_begins_while_it_may_not_act)
{
    own(n);
    n->w.room[1] = 0;
    uint64_t id = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    n->cluster.acts = false;
    n->w.room[1] = 1;
    jobs_world_pass(&n->w, AO_S(10));
    assert_null(n->w.runs);
    stage_holds(explain(n, id), "'reason': 'store'");
    n->w.store->latency = AO_S(100);
    uint64_t waits = submit(n, DURABLE_FSYNC);
    stage_holds(explain(n, waits), "'reason': 'store'");
    n->cluster.acts = true;
    jobs_world_pass(&n->w, AO_S(1));
    assert_non_null(world_run_of(&n->w, id));
}

NODE_TEST(what_has_not_begun_is_taken_back_while_it_may_not_act)
{
    own(n);
    n->w.holds = true;
    submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_S(5)); /* by now its begin is looked for once a second */
    assert_non_null(n->w.runs);
    n->cluster.acts = false;
    jobs_world_pass(&n->w, AO_MS(101));
    assert_null(n->w.runs);
    n->cluster.acts = true;
    jobs_world_pass(&n->w, AO_S(1));
    assert_non_null(n->w.runs);
}

NODE_TEST(what_is_asked_meanwhile_is_answered_when_it_may_act_again)
{
    own(n);
    uint64_t id = submit(n, DURABLE_NONE);
    n->cluster.acts = false;
    jobs_world_pass(&n->w, AO_S(1));
    struct operation *first = world_about(&n->w, &operation_task_get, id),
                     *dropped = world_about(&n->w, &operation_task_get, id);
    struct job_spec spec = WORK();
    world_give(&n->w, first);
    world_give(&n->w, dropped);
    channel_drop(n->w.channel, dropped);
    jobs_world_pass(&n->w, AO_S(10));
    assert_false(world_answered(&n->w, first));
    assert_true(world_answered(&n->w, dropped));
    assert_int_equal(dropped->reply.error, ERGON_E_CANCELLED);
    assert_int_equal(stage_call(&n->w, &spec)->reply.error, ERGON_E_STORE);
    n->cluster.acts = true;
    jobs_world_pass(&n->w, AO_S(1));
    assert_true(world_answered(&n->w, first));
    assert_int_equal(first->reply.error, ERGON_OK);
}

NODE_TEST(what_was_put_aside_is_answered_at_the_stop)
{
    own(n);
    n->cluster.acts = false;
    jobs_world_pass(&n->w, AO_S(1));
    struct operation *op = world_about(&n->w, &operation_task_get, 1);
    world_give(&n->w, op);
    jobs_stop(n->w.jobs);
    assert_true(world_answered(&n->w, op));
    assert_int_equal(op->reply.error, ERGON_E_DRAINING);
}

/* The client that asked first has the permit when the node may act again, or has not waited. */
NODE_TEST(no_permit_is_granted_while_it_may_not_act)
{
    own(n);
    struct operation *holder = world_operation(&n->w, &operation_sem_holder);
    holder->holder.by_conn.hash = 7;
    world_give(&n->w, holder);
    struct operation *ops[3];
    for (unsigned i = 0; i < 3; i++) {
        ops[i] = world_operation(&n->w, &operation_sem_acquire);
        ops[i]->semaphore = (struct semaphore_arguments){.name = span_text("s"),
                                                         .conn = 7,
                                                         .of = 1,
                                                         .permits = 1,
                                                         .durable = SEMAPHORE_FLEETING,
                                                         .wait = i == 1 ? AO_S(5) : AO_S(100)};
        ops[i]->semaphore.secret[0] = (uint8_t)(i + 1);
        world_give(&n->w, ops[i]);
    }
    assert_true(world_answered(&n->w, ops[0]));
    n->cluster.acts = false;
    jobs_world_pass(&n->w, AO_S(1));
    hold_end(n->w.jobs,
             hold_find(n->w.jobs, span_text(""), span_text("s"), ops[0]->semaphore.secret));
    effects_apply(n->w.jobs);
    jobs_world_pass(&n->w, AO_S(10));
    assert_true(world_answered(&n->w, ops[1]));
    assert_int_equal(ops[1]->reply.error, ERGON_E_DEADLINE);
    assert_false(world_answered(&n->w, ops[2]));
    n->cluster.acts = true;
    jobs_world_pass(&n->w, AO_S(1));
    assert_true(world_answered(&n->w, ops[2]));
    assert_int_equal(ops[2]->reply.error, ERGON_OK);
}

/* --- Its database is away --- */

NODE_TEST(tasks_wait_for_a_database_that_is_away)
{
    own(n);
    n->w.room[1] = 2;
    uint64_t runs = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    n->w.store->away = true;
    uint64_t waits = submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_S(1));
    stage_holds(explain(n, waits), "'reason': 'store'");
    struct submitted out;
    char text[JOB_TEXT_MAX];
    assert_int_equal(world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC), &out, text, sizeof text),
                     ERGON_E_STORE);
    world_finish(world_run_of(&n->w, runs), "\x2a");
    jobs_world_pass(&n->w, AO_S(1));
    assert_true(job_state_open(world_state(&n->w, runs)));
    stage_holds(explain(n, runs), "'reason': 'store'");
    n->w.store->away = false;
    jobs_world_pass(&n->w, AO_S(1));
    assert_int_equal(world_state(&n->w, runs), JOB_DONE);
    assert_non_null(world_run_of(&n->w, waits));
    assert_int_equal(n->deposed, 0);
    submit(n, DURABLE_FSYNC);
}

/* --- Clocks, and the end --- */

/* Due times are those of one cluster's clocks, which do not differ by much. */
NODE_TEST(a_clock_behind_the_last_commit_moves_nothing)
{
    own(n);
    uint64_t id = jobs_world_submit(&n->w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(&n->w, AO_MS(10));
    uint64_t due = memory_store_row(n->w.store, id)->task.due_at;
    jobs_world_die(&n->w);
    n->w.leap -= (int64_t)AO_S(50);
    char error[200];
    assert_true(jobs_world_live(&n->w, error, sizeof error));
    n->take.epoch++;
    own(n);
    assert_int_equal(memory_store_row(n->w.store, id)->task.due_at, due);
}

NODE_TEST(an_owner_that_stops_hands_over)
{
    own(n);
    submit(n, DURABLE_FSYNC);
    jobs_world_pass(&n->w, AO_MS(10));
    n->w.source.stop(n->w.source.arg, true);
    jobs_world_settle(&n->w);
    jobs_stop(n->w.jobs);
    assert_int_equal(n->w.store->handed, 1);
    assert_true(n->w.store->clean);
}

NODE_TEST(who_owns_nothing_hands_over_nothing)
{
    jobs_stop(n->w.jobs);
    assert_int_equal(n->w.store->handed, 0);
    assert_false(n->w.store->clean);
}
