#include "tests/support/memory_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/persist/codec.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/world_store.h"

/* --- The writer --- */

static void apply(struct store *s, struct store_op *op)
{
    bool promises = op->kind == STORE_PUT || (op->kind == STORE_CHANGE && op->task.rises);
    op->error = s->error;
    if (op->error == STORE_OK && promises && op->task.durable == DURABLE_REPLICATED &&
        s->level != STORE_LEVEL_REPLICATED)
        op->error = STORE_UNREPLICATED;
    if (op->error != STORE_OK)
        return;
    if (!memory_rows_apply(&s->rows, op)) {
        op->error = STORE_MEMORY;
        return;
    }
    s->operations++;
}

static void commit(struct store *s)
{
    s->commits++;
    if (s->wall)
        s->committed_at = s->wall(s->wall_arg);
    for (uint32_t taken = 0; s->first && (s->most == 0 || taken < s->most); taken++) {
        struct store_op *op = store_ops_pop(&s->first);
        apply(s, op);
        store_ops_push(&s->done_first, &s->done_last, op);
    }
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
    store_ops_push(&s->first, &s->last, op);
    if (s->receiver && ao_state(&s->disk) == AO_STATE_INACTIVE)
        ao_sleep_for(&s->disk, s->latency);
}

struct store_op *store_take(struct store *s)
{
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
    s->level = STORE_LEVEL_FSYNC;
    s->rows.count_rows = STORE_COUNT_ROWS;
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
    ao_init(&s->disk, &disk_class, client);
    if (s->first)
        ao_sleep_for(&s->disk, s->latency);
    return 0;
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
        codec_write_free(client, store_ops_pop(&s->first));
    while (s->done_first)
        codec_write_free(client, store_ops_pop(&s->done_first));
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
    *out =
        (struct store_info){.commits = s->commits, .operations = s->operations, .error = s->error};
}
