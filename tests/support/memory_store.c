#include "tests/support/memory_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/blob.h"
#include "server/jobs/persist/codec.h"
#include "server/store/chunk.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/world_store.h"

/* --- Chunks of a load: all of it is read at once, as one snapshot --- */

static void drop_chunks(struct store *s)
{
    while (s->chunk_at < s->chunk_count)
        store_chunk_free(s->chunks[s->chunk_at++]);
    free(s->chunks);
    s->chunks = NULL;
    s->chunk_count = s->chunk_at = 0;
}

/* The chunk that the next row goes into; NULL without memory. */
static struct store_chunk *chunk_of_next(struct store *s)
{
    struct store_chunk *last = s->chunk_count > 0 ? s->chunks[s->chunk_count - 1] : NULL;
    if (last && store_chunk_rows(last) < s->chunk_rows)
        return last;
    struct store_chunk **chunks = realloc(s->chunks, (s->chunk_count + 1) * sizeof *chunks);
    if (!chunks)
        return NULL;
    s->chunks = chunks;
    chunks[s->chunk_count] = store_chunk_new();
    s->chunk_count += chunks[s->chunk_count] != NULL;
    return chunks[s->chunk_count - (s->chunk_count > 0)];
}

static void fill_counts(void *arg, const struct store_counts *counts)
{
    struct store *s = arg;
    struct store_chunk *chunk = chunk_of_next(s);
    const struct store_marks marks = {.last_id = memory_rows_last_id(&s->rows),
                                      .last_fence = s->rows.last_fence,
                                      .id_mark = s->marks.id_mark,
                                      .fence_mark = s->marks.fence_mark};
    s->chunks_whole =
        chunk && store_chunk_marks(chunk, &marks) && store_chunk_counts(chunk, counts);
}

static bool fill_row(void *arg, const struct store_table *table, const void *row)
{
    struct store_chunk *chunk = chunk_of_next(arg);
    return chunk && store_chunk_row(chunk, table, row);
}

static bool fill_task(void *arg, const struct store_task *task)
{
    struct store_chunk *chunk = chunk_of_next(arg);
    return chunk && store_chunk_task(chunk, task);
}

static bool fill_event(void *arg, const struct store_event *event)
{
    struct store_chunk *chunk = chunk_of_next(arg);
    return chunk && store_chunk_event(chunk, event);
}

static void fill_chunks(struct store *s)
{
    static const struct store_table *const tables[] = {
        &store_queues, &store_rates,   &store_crons,      &store_semaphores,
        &store_holds,  &store_batches, &store_node_boards};
    const struct store_reader reader = {.arg = s,
                                        .counts = fill_counts,
                                        .row = fill_row,
                                        .task = fill_task,
                                        .event = fill_event,
                                        .tables = tables,
                                        .table_count = sizeof tables / sizeof *tables};
    if (!memory_rows_read(&s->rows, &reader) || !s->chunks_whole)
        drop_chunks(s);
}

static void load(struct store *s, struct store_op *op)
{
    s->loads++;
    s->epoch = op->load.epoch;
    if (s->chunk_count == 0)
        fill_chunks(s);
    op->error = s->chunk_count > 0 ? STORE_OK : STORE_MEMORY;
    if (op->error != STORE_OK)
        return;
    store_chunk_free(op->load.chunk);
    op->load.chunk = s->chunks[s->chunk_at++];
    op->load.more = s->chunk_at < s->chunk_count;
    if (!op->load.more)
        drop_chunks(s);
}

bool store_keeps(const struct store *s, enum store_kept what)
{
    (void)what;
    return !s->lacks_actors;
}

bool store_loads_in_chunks(const struct store *s)
{
    return s->in_chunks;
}

/* --- The writer --- */

static void apply_own(struct store *s, const struct store_op *op)
{
    if (op->kind == STORE_MARKS)
        s->marks = op->marks;
    if (op->kind == STORE_HAND_OVER)
        s->handed++;
}

static enum store_error outcome_of_group(struct store *s, const struct store_op *op)
{
    if (op->group.follows && (s->lost_group || op->group.seen < s->group_failed))
        return STORE_FOLLOWS;
    bool refused = s->refuses_groups || s->refuses_one;
    s->refuses_one = false;
    return refused ? STORE_REFUSED : STORE_OK;
}

static void apply_one(struct store *s, struct store_op *op)
{
    bool promises = op->kind == STORE_PUT || (op->kind == STORE_CHANGE && op->task.rises);
    uint8_t need = op->task.durable == DURABLE_FSYNC ? s->require : op->task.durable;
    op->error = s->fenced ? STORE_FENCED : s->error;
    if (op->error == STORE_OK && op->kind == STORE_ROW_GET && s->lost_reads > 0) {
        s->lost_reads--;
        op->error = STORE_AWAY;
    }
    if (op->error == STORE_OK && op->kind == STORE_CHANGE && s->refuses_changes)
        op->error = STORE_REFUSED;
    if (op->error == STORE_OK && op->kind == STORE_PUT && op->task.taken > 0 &&
        !(s->rows.inbox >> op->task.taken & 1))
        op->error = STORE_REFUSED;
    if (op->error == STORE_OK && op->kind == STORE_GROUP)
        op->error = outcome_of_group(s, op);
    if (op->error == STORE_OK && promises && op->task.durable >= DURABLE_FSYNC &&
        need > (uint8_t)s->level)
        op->error = STORE_UNREPLICATED;
    if (op->error != STORE_OK)
        return;
    if (op->kind == STORE_LOAD) {
        load(s, op);
        return;
    }
    apply_own(s, op);
    if (!memory_rows_apply(&s->rows, op)) {
        op->error = STORE_MEMORY;
        return;
    }
    s->operations++;
}

/* All members have the outcome of their group. */
static void apply(struct store *s, struct store_op *op)
{
    apply_one(s, op);
    for (struct store_op *m = op->kind == STORE_GROUP ? op->group.first : NULL; m; m = m->next)
        m->error = op->error;
}

static void commit(struct store *s)
{
    if (s->away)
        return;
    s->commits++;
    if (s->wall)
        s->committed_at = s->wall(s->wall_arg);
    for (uint32_t taken = 0; s->first && (s->most == 0 || taken < s->most); taken++) {
        struct store_op *op = store_ops_pop(&s->first);
        apply(s, op);
        s->given++;
        s->lost_group |= op->error != STORE_OK && (op->kind == STORE_GROUP || s->error != STORE_OK);
        store_ops_push(&s->done_first, &s->done_last, op);
    }
    if (s->lost_group)
        s->group_failed = s->given;
    s->lost_group = false;
}

static enum ao_verdict commit_step(struct ao *self)
{
    struct store *s = ao_of(self, struct store, disk);
    commit(s);
    ao_activate(s->receiver);
    if (!s->first)
        return AO_DONE;
    ao_sleep_for(self, s->latency);
    return AO_PARK;
}

static const struct ao_class disk_class = {.name = "disk", .step = commit_step};

void store_push(struct store *s, struct store_op *op)
{
    if (s->stopped) {
        op->error = STORE_CLOSED;
        store_ops_push(&s->done_first, &s->done_last, op);
        return;
    }
    if (op->kind == STORE_GROUP)
        op->group.seen = s->taken;
    store_ops_push(&s->first, &s->last, op);
    if (s->receiver && ao_state(&s->disk) == AO_STATE_INACTIVE)
        ao_sleep_for(&s->disk, s->latency);
}

struct store_op *store_take(struct store *s)
{
    s->taken += s->done_first != NULL;
    return s->done_first ? store_ops_pop(&s->done_first) : NULL;
}

void store_release(struct store *s)
{
}

/* --- The board --- */

int store_board_open(struct store *s, enum store_board *was, char *error, size_t size)
{
    *was = s->clean ? STORE_BOARD_CLEAN : s->kept ? STORE_BOARD_KEPT : STORE_BOARD_LOST;
    return 0;
}

int store_board_renew(struct store *s, bool raise, char *error, size_t size)
{
    if (raise)
        memory_rows_raise(&s->rows);
    for (unsigned n = 0; n < 2; n++)
        if (s->board[n])
            memset(s->board[n], 0, STORE_BOARD_SEGMENT);
    s->kept = true;
    s->clean = false;
    return 0;
}

void *store_board_segment(struct store *s, uint32_t n, bool grow)
{
    if (n >= s->board_room)
        return NULL;
    if (!s->board[n] && grow)
        s->board[n] = calloc(1, STORE_BOARD_SEGMENT);
    return s->board[n];
}

void store_board_close(struct store *s)
{
    s->clean = true;
}

uint64_t store_board_epoch(const struct store *s)
{
    return s->kept && !s->clean ? s->board_epoch : 0;
}

void store_board_own(struct store *s, uint64_t epoch)
{
    s->board_epoch = epoch;
}

int store_board_keep(struct store *s, char *error, size_t size)
{
    return 0;
}

void memory_store_cut_power(struct store *s)
{
    s->kept = s->clean = false;
    for (unsigned n = 0; n < 2; n++)
        if (s->board[n])
            memset(s->board[n], 0xa5, STORE_BOARD_SEGMENT);
}

/* --- Its life --- */

struct store *world_store_new(uint64_t (*wall)(void *arg), void *arg)
{
    struct store *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->wall = wall;
    s->wall_arg = arg;
    s->latency = AO_MS(1);
    s->level = s->level_most = STORE_LEVEL_FSYNC;
    s->rows.count_rows = STORE_COUNT_ROWS;
    s->chunk_rows = STORE_CHUNK_ROWS;
    s->board_room = 2;
    return s;
}

uint64_t store_committed_at(struct store *s)
{
    return s->committed_at;
}

enum store_error store_set_back(struct store *s, uint64_t by)
{
    memory_rows_set_back(&s->rows, by);
    s->committed_at = s->wall(s->wall_arg);
    return STORE_OK;
}

int store_start(struct store *s, struct activator *client, struct ao *receiver)
{
    s->receiver = receiver;
    s->stopped = false;
    s->given = s->taken = s->group_failed = 0;
    ao_init(&s->disk, &disk_class, client);
    if (s->first)
        ao_sleep_for(&s->disk, s->latency);
    return 0;
}

void store_doubt(struct store *s)
{
    (void)s;
}

void store_stop(struct store *s)
{
    if (!s->receiver)
        return;
    s->most = 0;
    commit(s);
    ao_deactivate(&s->disk);
    ao_fini(&s->disk);
    s->receiver = NULL;
    s->stopped = true;
}

enum store_level store_level(const struct store *s)
{
    return s->level;
}

enum store_level store_level_most(const struct store *s)
{
    return s->level_most;
}

/* A load that never comes back has rows. */
static void drop(struct store_op *op, struct jobs *client)
{
    if (op->kind == STORE_LOAD)
        store_chunk_free(op->load.chunk);
    if (op->kind == STORE_ROW_GET && op->error == STORE_OK)
        free(op->bytes);
    if (op->kind == STORE_ROW_PUT && op->table == &store_actor_types)
        blob_unref((struct blob *)(uintptr_t)op->tag); /* actor_types.c */
    codec_write_free(client, op);
}

/* There is no disk to look at. */
void store_look(struct store *s)
{
    (void)s;
}

static void end_disk(struct store *s)
{
    if (s->receiver) {
        ao_deactivate(&s->disk);
        ao_fini(&s->disk);
    }
    s->receiver = NULL;
}

void world_store_crash(struct store *s, struct jobs *client)
{
    while (s->first)
        drop(store_ops_pop(&s->first), client);
    while (s->done_first)
        drop(store_ops_pop(&s->done_first), client);
    drop_chunks(s);
    end_disk(s);
}

void world_store_free(struct store *s)
{
    if (!s)
        return;
    end_disk(s);
    memory_rows_fini(&s->rows);
    free(s->board[0]);
    free(s->board[1]);
    free(s);
}

/* --- What is read of it --- */

const struct memory_row *memory_store_row(const struct store *s, uint64_t id)
{
    return memory_rows_find(&s->rows, id);
}

uint64_t store_last_fence(struct store *s)
{
    return s->rows.last_fence;
}

uint64_t store_last_id(struct store *s)
{
    return memory_rows_last_id(&s->rows);
}

int store_load(struct store *s, const struct store_reader *reader, char *error, size_t size)
{
    if (memory_rows_read(&s->rows, reader))
        return 0;
    snprintf(error, size, "%s", *reader->fault ? *reader->fault : "the reader wants no more");
    return -1;
}

void store_info(const struct store *s, struct store_info *out)
{
    *out = (struct store_info){.kind = "memory",
                               .commits = s->commits,
                               .operations = s->operations,
                               .error = s->away ? STORE_AWAY : s->error};
}
