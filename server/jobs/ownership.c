#include "server/jobs/ownership.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/log.h"
#include "server/jobs/accessors.h"
#include "server/jobs/clock.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/effects.h"
#include "server/jobs/operations/channel.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/persist/recover.h"
#include "server/jobs/read_back.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/subsystem.h"
#include "server/jobs/verbs/boards.h"
#include "server/jobs/verbs/queues.h"
#include "server/store/chunk.h"

enum {
    READ_ROWS = 300,  /* of a chunk, in a step */
    GO_ON_JOBS = 500, /* in a step */
    WATCH_MS = 100
};

/* Numbers that are given before the store is asked again; when half of them are left it is asked.
 * The last ones are for what begins in a step that has seen that some are left. */
#define MARK_AHEAD (UINT64_C(1) << 20)
#define MARK_LAST  (UINT64_C(1) << 14)

struct owner_load {
    enum { LOAD_ROWS, LOAD_BEGINS, LOAD_MARKS, LOAD_GOES_ON } phase;
    struct read_back rows;
    struct recover_pass pass;
    struct store_chunk *now, *next; /* being read; came meanwhile */
    struct store_chunk *spare;      /* was read */
    bool under_way;                 /* a STORE_LOAD */
    bool all;                       /* and it was the last */
    bool waits;                     /* the store said for what */
    uint64_t began;                 /* Unix ns */
};

static const struct jobs_cluster *cluster_of(const struct jobs *jobs)
{
    return jobs_options(jobs)->cluster;
}

/* --- May it act? --- */

static void wake_pools(struct jobs *jobs)
{
    struct scheduler *s = jobs_scheduler(jobs);
    for (uint32_t i = 0; i < s->pools.room; i++) {
        const struct pool_jobs *pool = pool_table_find(&s->pools, i);
        if (pool && pool->queue.count > 0)
            job_source_wake(s->tasks, i);
    }
}

static void acts_again(struct jobs *jobs)
{
    log_info("this node may act for its cluster again: what waited goes on");
    channels_resume(jobs);
    wake_pools(jobs);
    jobs_activate(jobs);
}

/* Attempts are taken back by the next step, since this one may be asked for the next. */
static void acts_no_more(struct jobs *jobs)
{
    log_warn("the last renewal of this node in its cluster is too old: it begins and answers "
             "nothing until the next one, since another node may own the tasks by now");
    jobs_activate(jobs);
}

/* It is asked once a round. */
static bool may_act(struct jobs *jobs)
{
    struct scheduler *s = jobs_scheduler(jobs);
    ao_time now = table_now(jobs_table(jobs));
    if (s->asked == now)
        return s->acts;
    bool did = s->acts;
    s->asked = now;
    s->acts = cluster_of(jobs)->may_act(cluster_of(jobs)->cluster);
    if (did && !s->acts)
        acts_no_more(jobs);
    else if (!did && s->acts)
        acts_again(jobs);
    return s->acts;
}

static bool may_begin(void *arg)
{
    return jobs_ownership(arg)->state == OWNERSHIP_OWNER && may_act(arg);
}

/* --- Marks --- */

static uint64_t left_of(uint64_t mark, uint64_t given)
{
    return mark > given ? mark - given : 0;
}

static void marks_back(struct jobs *jobs, struct store_op *write)
{
    struct ownership *o = jobs_ownership(jobs);
    journal_notice(jobs, write);
    o->marking = false;
    if (write->error == STORE_OK)
        o->marks = write->marks;
    jobs_activate(jobs);
}

/* Without memory the watch does it a while later. */
static void raise_marks(struct jobs *jobs)
{
    const struct job_table *table = jobs_table(jobs);
    struct ownership *o = jobs_ownership(jobs);
    struct store_op *write = codec_write_new(jobs, STORE_MARKS, 0, marks_back);
    if (!write)
        return;
    write->marks = (struct store_marks){.id_mark = table->next_id + MARK_AHEAD,
                                        .fence_mark = table->last_stamp + MARK_AHEAD};
    o->marking = true;
    store_push(jobs_store(jobs), write);
}

static void look_at_marks(struct jobs *jobs)
{
    const struct job_table *table = jobs_table(jobs);
    struct ownership *o = jobs_ownership(jobs);
    uint64_t ids = left_of(o->marks.id_mark, table->next_id),
             fences = left_of(o->marks.fence_mark, table->last_stamp),
             left = ids < fences ? ids : fences;
    struct scheduler *s = jobs_scheduler(jobs);
    s->refuses = left < MARK_LAST;
    if (left < MARK_AHEAD / 2 && !o->marking)
        raise_marks(jobs);
}

/* Stamps of a cluster are ahead of the clock by 71 years, so that they are counted: no mark would
 * be above those of a clock for long.  Those of a later owner are higher, as ids are. */
#define STAMPS_AHEAD (UINT64_C(1) << 51)

static void begin_stamps(struct job_table *table, uint64_t above)
{
    uint64_t now = 0;
    stamp_next(&now, table_wall(table));
    stamp_past(&table->last_stamp, now + STAMPS_AHEAD);
    stamp_past(&table->last_stamp, above);
}

/* Of the rows: all that was given is below. */
static void take_marks(struct jobs *jobs, const struct store_marks *marks)
{
    const struct jobs_take_over *take = &jobs_ownership(jobs)->take;
    struct job_table *table = jobs_table(jobs);
    uint64_t last = marks->last_id > marks->id_mark ? marks->last_id : marks->id_mark;
    table->next_id = id_first(table_wall(table), last > take->id_mark ? last : take->id_mark);
    table->boards = take->boards;
    begin_stamps(table, marks->last_fence);
    begin_stamps(table,
                 marks->fence_mark > take->fence_mark ? marks->fence_mark : take->fence_mark);
}

/* --- Another node owns --- */

static void end_load(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    if (!o->load)
        return;
    recover_end(jobs, &o->load->pass);
    store_chunk_free(o->load->now);
    store_chunk_free(o->load->next);
    store_chunk_free(o->load->spare);
    free(o->load);
    o->load = NULL;
}

static void lose(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    struct scheduler *s = jobs_scheduler(jobs);
    o->state = OWNERSHIP_LOST;
    s->acts = false;
    s->gate = GATE_SHUT;
    s->refuses = true;
    jobs_table(jobs)->recovering = false;
    out_recall_all(s);
    end_load(jobs);
    channels_resume(jobs);
    jobs_activate(jobs);
}

static void fail(struct jobs *jobs, const char *text, bool away)
{
    const struct jobs_cluster *c = cluster_of(jobs);
    log_error("the tasks cannot be read from the store", LOG_STR("why", text));
    lose(jobs);
    c->load_failed(c->arg, text, away);
}

void ownership_notice(struct jobs *jobs)
{
    const struct jobs_cluster *c = cluster_of(jobs);
    struct ownership *o = jobs_ownership(jobs);
    enum store_error error = jobs_journal(jobs)->error;
    if ((error != STORE_FENCED && error != STORE_UNSURE) || o->state == OWNERSHIP_LOST)
        return;
    if (o->state == OWNERSHIP_NONE) { /* a queue that workers offered: it is written by the owner */
        jobs_journal(jobs)->error = STORE_OK;
        return;
    }
    log_error("the store takes no more from this owner: it ends", LOG_UINT("epoch", o->take.epoch));
    lose(jobs);
    c->deposed(c->arg);
}

/* --- Rows --- */

static void load_back(struct jobs *jobs, struct store_op *write);

static void load_more(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    struct owner_load *l = o->load;
    struct store_chunk *chunk = l->spare ? l->spare : store_chunk_new();
    l->spare = NULL;
    struct store_op *write = chunk ? codec_write_new(jobs, STORE_LOAD, 0, load_back) : NULL;
    if (!write) {
        store_chunk_free(chunk);
        fail(jobs, "no memory for the tasks in the store", false);
        return;
    }
    write->load.epoch = o->take.epoch;
    write->load.chunk = chunk;
    l->under_way = true;
    store_push(jobs_store(jobs), write);
}

/* The next chunk comes while this one is read. */
static void load_ahead(struct jobs *jobs)
{
    const struct owner_load *l = jobs_ownership(jobs)->load;
    if (!l->under_way && !l->all && !l->next)
        load_more(jobs);
}

static void load_failed(struct jobs *jobs, const struct store_op *write)
{
    if (write->error != STORE_FENCED && write->error != STORE_CLOSED)
        fail(jobs, write->load.text ? write->load.text : store_error_text(write->error),
             write->error == STORE_AWAY);
}

/* `text`: for what it waits; NULL: it does not. */
static void note_wait(struct jobs *jobs, const char *text)
{
    const struct jobs_cluster *c = cluster_of(jobs);
    struct owner_load *l = jobs_ownership(jobs)->load;
    if (text && !l->waits)
        log_warn("the store waits before the tasks can be read", LOG_STR("why", text));
    if (text || l->waits)
        c->load_waits(c->arg, text ? text : "");
    l->waits = text != NULL;
}

static void load_back(struct jobs *jobs, struct store_op *write)
{
    struct owner_load *l = jobs_ownership(jobs)->load;
    journal_notice(jobs, write);
    if (write->error != STORE_OK || !l) {
        store_chunk_free(write->load.chunk);
        if (l)
            l->under_way = false;
        if (l && write->error != STORE_OK)
            load_failed(jobs, write);
        free(write->load.text);
        return;
    }
    note_wait(jobs, write->load.text);
    free(write->load.text);
    l->under_way = false;
    l->all = !write->load.more;
    *(l->now ? &l->next : &l->now) = write->load.chunk;
    load_ahead(jobs);
    jobs_activate(jobs);
}

static void end_chunk(struct owner_load *l)
{
    store_chunk_clear(l->now);
    if (l->spare)
        store_chunk_free(l->now);
    else
        l->spare = l->now;
    l->now = NULL;
}

/* True: no chunk is there. */
static bool read_some(struct jobs *jobs)
{
    struct owner_load *l = jobs_ownership(jobs)->load;
    char error[300] = "";
    if (!l->now) {
        l->now = l->next;
        l->next = NULL;
    }
    if (!l->now && l->all)
        l->phase = LOAD_BEGINS;
    if (!l->now)
        return !l->all;
    load_ahead(jobs);
    if (!jobs_ownership(jobs)->load)
        return true; /* without memory */
    jobs_table(jobs)->recovering = true;
    int result = store_chunk_read(l->now, &l->rows.reader, READ_ROWS, error, sizeof error);
    jobs_table(jobs)->recovering = false;
    if (result < 0) {
        read_back_end(&l->rows, -1, error, sizeof error);
        fail(jobs, error, false);
    } else if (result == 0)
        end_chunk(l);
    return false;
}

/* All rows were read: what had begun becomes known. */
static void begins(struct jobs *jobs)
{
    struct owner_load *l = jobs_ownership(jobs)->load;
    char error[300] = "";
    if (read_back_end(&l->rows, 0, error, sizeof error) != 0 ||
        recover_new_board(jobs, error, sizeof error) != 0 ||
        recover_begins(jobs, error, sizeof error) != 0) {
        fail(jobs, error, false);
        return;
    }
    jobs_table(jobs)->reading = false;
    raise_marks(jobs);
    l->phase = LOAD_MARKS;
}

/* True: they are under way. */
static bool await_marks(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    if (o->marks.id_mark == 0) {
        if (!o->marking) /* there was no memory, or the store could not write */
            ao_sleep_for(&o->watch, AO_MS(WATCH_MS));
        return true;
    }
    clock_hold(jobs, false);
    o->load->phase = LOAD_GOES_ON;
    return false;
}

/* It had a board before other nodes owned the tasks, and has not reported it. */
static void count_own_board(struct jobs *jobs)
{
    const struct ownership *o = jobs_ownership(jobs);
    struct span node = span_text(cluster_of(jobs)->node);
    if (o->take.keeps_board || o->begun_count == 0 || !boards_take(jobs, node, o->begun_epoch))
        return;
    for (uint32_t i = 0; i < o->begun_count; i++)
        boards_count(jobs, node, &o->begun[i]);
    boards_counted(jobs, node, o->begun_epoch, NULL);
}

static void become(struct jobs *jobs)
{
    const struct jobs_cluster *c = cluster_of(jobs);
    struct ownership *o = jobs_ownership(jobs);
    count_own_board(jobs);
    log_info("this node owns the tasks", LOG_UINT("epoch", o->take.epoch),
             LOG_UINT("tasks", jobs_table(jobs)->count),
             LOG_NS("took", table_wall(jobs_table(jobs)) - o->load->began));
    end_load(jobs);
    o->state = OWNERSHIP_OWNER;
    jobs_scheduler(jobs)->acts = true;
    jobs_scheduler(jobs)->gate = GATE_ASKS;
    look_at_marks(jobs);
    queues_mark_handlers(jobs);
    queues_save(jobs);
    effects_apply(jobs);
    subsystems_start(jobs);
    wake_pools(jobs);
    jobs_activate(jobs);
    ao_sleep_for(&o->watch, AO_MS(WATCH_MS));
    c->owns(c->arg);
}

bool ownership_go_on(struct jobs *jobs)
{
    struct owner_load *l = jobs_ownership(jobs)->load;
    if (!l)
        return true;
    switch (l->phase) {
    case LOAD_ROWS:
        return read_some(jobs);
    case LOAD_BEGINS:
        begins(jobs);
        return false;
    case LOAD_MARKS:
        return await_marks(jobs);
    case LOAD_GOES_ON:
        if (recover_go_on(jobs, &l->pass, GO_ON_JOBS))
            become(jobs);
        else
            effects_apply(jobs);
        return false;
    }
    return true;
}

/* --- The watch of an owner --- */

/* While its database is away nothing comes back, and nothing new is taken. */
static void look_at_store(struct jobs *jobs)
{
    struct journal *journal = jobs_journal(jobs);
    struct store_info info;
    store_info(jobs_store(jobs), &info);
    if (info.error == STORE_AWAY && journal->error == STORE_OK)
        journal->error = STORE_AWAY;
    else if (info.error != STORE_AWAY && journal->error == STORE_AWAY)
        journal->error = STORE_OK;
}

static enum ao_verdict watch_step(struct ao *self)
{
    struct ownership *o = ao_of(self, struct ownership, watch);
    struct jobs *jobs = o->jobs;
    if (o->state == OWNERSHIP_LOADING && !o->marking && o->load->phase == LOAD_MARKS) {
        raise_marks(jobs);
        jobs_activate(jobs);
    }
    if (o->state != OWNERSHIP_OWNER)
        return AO_DONE;
    look_at_store(jobs);
    look_at_marks(jobs);
    may_act(jobs);
    ao_sleep_for(self, AO_MS(WATCH_MS));
    return AO_PARK;
}

static const struct ao_class watch_class = {.name = "owner", .step = watch_step};

/* --- Operations --- */

static bool refuse_all(struct jobs *jobs, struct operation *op)
{
    const struct ownership *o = jobs_ownership(jobs);
    if (op->cls->is_everywhere)
        return false;
    operation_refuse(op, ERGON_E_BUSY, "%s",
                     o->state == OWNERSHIP_LOADING
                         ? "this node has just become the owner of the tasks and reads them; try "
                           "again"
                         : "this node of the cluster does not own the tasks; try again, or ask "
                           "another node");
    return true;
}

static bool put_aside(struct jobs *jobs, struct operation *op)
{
    if (op->cls->is_everywhere || op->cls == &operation_task_explain)
        return false;
    if (op->cls->is_submission)
        operation_refuse(op, ERGON_E_STORE, "%s", jobs_store_trouble(jobs));
    else
        channel_postpone(jobs, op);
    return true;
}

bool ownership_serve(struct jobs *jobs)
{
    if (jobs_ownership(jobs)->state != OWNERSHIP_OWNER)
        return channels_meet(jobs, effects_apply, refuse_all);
    if (may_act(jobs))
        return channels_take(jobs, effects_apply);
    out_recall_all(jobs_scheduler(jobs));
    return channels_meet(jobs, effects_apply, put_aside);
}

/* --- The wish, from another thread --- */

static void begin_load(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    o->state = OWNERSHIP_LOADING;
    if (o->failure[0]) {
        fail(jobs, o->failure, false);
        return;
    }
    o->load = calloc(1, sizeof *o->load);
    if (!o->load) {
        fail(jobs, "no memory for the tasks in the store", false);
        return;
    }
    jobs_table(jobs)->reading = true; /* it stays so if the load fails */
    read_back_init(&o->load->rows, jobs);
    o->load->rows.marks = take_marks;
    o->load->rows.board = boards_recover;
    o->load->rows.in_steps = true;
    o->load->began = table_wall(jobs_table(jobs));
    clock_hold(jobs, true);
    load_more(jobs);
}

static enum ao_verdict wish_step(struct ao *self)
{
    struct ownership *o = ao_of(self, struct ownership, wish);
    if (o->state == OWNERSHIP_NONE)
        begin_load(o->jobs);
    return AO_DONE;
}

static const struct ao_class wish_class = {.name = "owner's load", .step = wish_step};

/* The post orders `take` before the step that reads it. */
void jobs_become_owner(struct jobs *jobs, const struct jobs_take_over *take)
{
    struct ownership *o = jobs_ownership(jobs);
    struct store *store = jobs_store(jobs);
    o->take = *take;
    store_board_own(store, take->epoch);
    if (take->keeps_board)
        store_board_keep(store, o->failure, sizeof o->failure);
    else
        store_board_renew(store, false, o->failure, sizeof o->failure);
    ao_post(o->handle, AO_POST_ACTIVATE);
}

/* --- The board of the last process --- */

static void *segment(void *arg, uint32_t n, bool grow)
{
    return store_board_segment(arg, n, grow);
}

struct collecting {
    struct ownership *o;
    uint32_t room;
    bool no_memory;
};

static bool collect(void *arg, struct board_place *place)
{
    struct collecting *c = arg;
    struct ownership *o = c->o;
    if (!board_is_crash(place) || c->no_memory)
        return true; /* its slot stays as it is: the board may be believed later */
    struct jobs_begun *grown = grow_array(o->begun, &c->room, o->begun_count, sizeof *grown);
    c->no_memory = !grown;
    if (!grown)
        return true;
    o->begun = grown;
    grown[o->begun_count++] = (struct jobs_begun){place->slot->id, place->slot->attempt};
    return true;
}

int ownership_look_at_board(struct jobs *jobs, char *error, size_t size)
{
    struct ownership *o = jobs_ownership(jobs);
    struct collecting c = {.o = o};
    enum store_board was;
    if (store_board_open(jobs_store(jobs), &was, error, size) != 0)
        return -1;
    o->begun_epoch = was == STORE_BOARD_KEPT ? store_board_epoch(jobs_store(jobs)) : 0;
    const struct board_memory memory = {.arg = jobs_store(jobs), .segment = segment};
    struct board *board = o->begun_epoch > 0 ? board_new(&memory) : NULL;
    bool whole = !board || (board_is_sound(board) && board_read(board, collect, &c));
    board_free(board);
    if (whole && !c.no_memory)
        return 0;
    snprintf(error, size, "the board of the last process is damaged, or there is no memory for it");
    return -1;
}

uint32_t jobs_old_board(const struct jobs *jobs, const struct jobs_begun **begun, uint64_t *epoch)
{
    const struct ownership *o = jobs_ownership(jobs);
    *begun = o->begun;
    *epoch = o->begun_epoch;
    return o->begun_count;
}

/* --- Begin and end --- */

bool ownership_init(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    struct scheduler *s = jobs_scheduler(jobs);
    if (!cluster_of(jobs))
        return true;
    o->jobs = jobs;
    s->gate = GATE_SHUT;
    s->may_begin = may_begin;
    s->may_begin_arg = jobs;
    s->refuses = true;
    ao_init(&o->wish, &wish_class, jobs_activator(jobs));
    ao_init(&o->watch, &watch_class, jobs_activator(jobs));
    o->handle = ao_handle_new(&o->wish);
    return o->handle != NULL;
}

void ownership_fini(struct jobs *jobs)
{
    struct ownership *o = jobs_ownership(jobs);
    if (!o->wish.cls)
        return;
    end_load(jobs);
    ao_deactivate(&o->wish);
    ao_fini(&o->wish);
    ao_deactivate(&o->watch);
    ao_fini(&o->watch);
    if (o->handle)
        ao_handle_unref(o->handle);
    free(o->begun);
}

static void handed_over(struct jobs *jobs, struct store_op *write)
{
    (void)jobs;
    if (write->error != STORE_OK)
        log_warn("the tasks are not handed over: another node waits for the end of the lease",
                 LOG_STR("why", store_error_text(write->error)));
}

void ownership_hand_over(struct jobs *jobs)
{
    if (!cluster_of(jobs) || jobs_ownership(jobs)->state != OWNERSHIP_OWNER ||
        jobs_journal(jobs)->unsaved > 0 || !jobs_store_usable(jobs))
        return;
    struct store_op *write = codec_write_new(jobs, STORE_HAND_OVER, 0, handed_over);
    if (write)
        store_push(jobs_store(jobs), write);
}
