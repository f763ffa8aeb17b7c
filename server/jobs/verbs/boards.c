#include "server/jobs/verbs/boards.h"

#include <stdio.h>

#include "proto/reader.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/transitions.h"
#include "server/jobs/jobs.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/queueing.h"

enum { COUNT_WORK = 20 /* of each; see jobs_worked() */, PART = 200 };

static bool is_name(struct span node)
{
    return node.len > 0 && node.len < NODE_NAME_MAX;
}

static struct node_board *find(struct node_boards *all, struct span node)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (span_is(node, all->at[i].node))
            return &all->at[i];
    return NULL;
}

static struct node_board *oldest(struct node_boards *all)
{
    struct node_board *oldest = &all->at[0];
    for (uint32_t i = 1; i < all->count; i++)
        if (all->at[i].epoch < oldest->epoch)
            oldest = &all->at[i];
    return oldest;
}

/* Of too many the oldest is forgotten: if it is reported once more, its crashes count twice. */
static void add(struct node_boards *all, struct span node, uint64_t epoch)
{
    struct node_board *new = all->count < NODES_MAX ? &all->at[all->count++] : oldest(all);
    *new = (struct node_board){.epoch = epoch};
    memcpy(new->node, node.at, node.len);
}

/* Rows of nodes stay when these are gone, and most nodes never had a board. */
bool boards_recover(struct jobs *jobs, const struct store_node_board *row)
{
    struct node_boards *all = jobs_node_boards(jobs);
    if (!is_name(row->node))
        return false;
    if (row->board > (all->count < NODES_MAX ? 0 : oldest(all)->epoch))
        add(all, row->node, row->board);
    return true;
}

/* Without memory it is counted once more, if it is reported once more after the next take-over. */
static void write_row(struct jobs *jobs, struct span node, uint64_t epoch)
{
    struct store_op *write =
        codec_row_new(jobs, STORE_ROW_PUT, &store_node_boards, node.len, journal_notice);
    if (!write)
        return;
    uint8_t *at = (uint8_t *)(write + 1);
    *(struct store_node_board *)write->row =
        (struct store_node_board){.node = span_put(node, &at), .board = epoch};
    store_push(jobs_store(jobs), write);
}

bool boards_take(struct jobs *jobs, struct span node, uint64_t epoch)
{
    struct node_boards *all = jobs_node_boards(jobs);
    struct node_board *board = find(all, node);
    if (!is_name(node) || (board && board->epoch >= epoch))
        return false;
    if (board)
        board->epoch = epoch;
    else
        add(all, node, epoch);
    return true;
}

/* The row has the crash before the next attempt begins.  Else a task that kills its process at once
 * is never quarantined: its board is gone by then, and so is a count in memory. */
static void await_row(struct jobs *jobs, struct job *job)
{
    if (job->durable == DURABLE_NONE || job->attempt_task)
        return;
    job->saved_attempt = job->attempt > 0 ? job->attempt - 1 : 0;
    if (job->state != JOB_QUEUED)
        return;
    job_unplace(jobs_scheduler(jobs), job);
    job_mark(job, JOB_AWAITS_ROW);
    job_set_state(jobs_table(jobs), job, JOB_QUEUED, JOB_WHY_COMMIT);
}

/* The rows of an async task need not know the attempt; those of another one do, or lost boards
 * have raised its number. */
static bool takes_attempt(struct job *job, uint32_t attempt)
{
    if (attempt <= job->attempt)
        return true;
    if (durable_is_awaited(job->durable) || attempt > JOB_COUNT_MAX)
        return false;
    if (!job->attempt_task)
        job->attempt = attempt;
    return true;
}

bool boards_count(struct jobs *jobs, struct span node, const struct jobs_begun *begun)
{
    char text[160];
    struct job *job = table_find(jobs_table(jobs), begun->id);
    if (!job || !job_is_open(job) || !takes_attempt(job, begun->attempt))
        return false;
    job->crashes = (uint8_t)(job->crashes + (job->crashes < UINT8_MAX));
    snprintf(text, sizeof text, "crashes: %u, since node %.*s ended while attempt %u ran",
             job->crashes, (int)node.len, (const char *)node.at, begun->attempt);
    job_note(jobs_table(jobs), job, JOB_EVENT_CHANGED, text);
    job_effect(jobs_table(jobs), job, EFFECT_WRITE);
    if (job_crashed_enough(jobs_scheduler(jobs), job))
        job_end_crashed(jobs_scheduler(jobs), job);
    else
        await_row(jobs, job);
    return true;
}

/* --- The row of a board, behind those of the tasks --- */

/* The second sees what was written again when the first writes came back (sync.c). */
enum { ROUNDS = 2 };

struct counted {
    uint64_t epoch;
    uint32_t rounds, len;
    char node[NODE_NAME_MAX];
    struct operation *op;
};

static void push_round(struct jobs *jobs, const struct counted *c);

static void round_back(struct jobs *jobs, struct store_op *write)
{
    const struct counted c = *(const struct counted *)(write + 1);
    journal_notice(jobs, write);
    if (write->error != STORE_OK) {
        if (c.op)
            sync_refuse(c.op, write->error);
        return;
    }
    if (c.rounds > 0) {
        push_round(jobs, &c);
        return;
    }
    write_row(jobs, span_of(c.node, c.len), c.epoch);
    if (c.op)
        sync_answer(jobs, c.op);
}

static void push_round(struct jobs *jobs, const struct counted *c)
{
    struct store_op *write = codec_write_new(jobs, STORE_SYNC, sizeof *c, round_back);
    if (!write) {
        if (c->op)
            sync_refuse(c->op, STORE_MEMORY);
        return;
    }
    *(struct counted *)(write + 1) = *c;
    ((struct counted *)(write + 1))->rounds--;
    store_push(jobs_store(jobs), write);
}

void boards_counted(struct jobs *jobs, struct span node, uint64_t epoch, struct operation *op)
{
    struct counted c = {.epoch = epoch, .rounds = ROUNDS, .len = (uint32_t)node.len, .op = op};
    if (node.len >= sizeof c.node) {
        sync_answer(jobs, op); /* no node has such a name, so none was counted */
        return;
    }
    memcpy(c.node, node.at, node.len);
    push_round(jobs, &c);
}

/* --- cluster.board --- */

static void count_some(struct jobs *jobs, struct board_arguments *a)
{
    struct reader r = reader_of(a->begun);
    uint64_t id, attempt;
    for (uint32_t part = 0; a->pairs > 0 && part < PART; a->pairs--, part++) {
        if (!read_uint(&r, &id) || !read_uint(&r, &attempt))
            return; /* the rpc layer has read them once */
        jobs_worked(jobs, COUNT_WORK);
        a->counted += boards_count(jobs, a->node,
                                   &(struct jobs_begun){.id = id, .attempt = (uint32_t)attempt});
    }
    a->begun = span_of(r.at, (size_t)(r.end - r.at));
}

/* The node counts no crash twice, so the same report may come again. */
static bool serve_part(struct jobs *jobs, struct operation *op)
{
    struct board_arguments *a = &op->board;
    if (!op->begun && !sync_possible(jobs, op))
        return true;
    if (!op->begun && !boards_take(jobs, a->node, a->epoch))
        a->pairs = 0;
    op->begun = true;
    count_some(jobs, a);
    if (a->pairs > 0)
        return false;
    pack_init(&op->reply.result);
    pack_uint(&op->reply.result, a->counted);
    boards_counted(jobs, a->node, a->epoch, op);
    return true;
}

const struct operation_class operation_cluster_board = {.method = method_cluster_board,
                                                        .serve_part = serve_part};
