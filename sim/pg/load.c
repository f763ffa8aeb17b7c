/* Reads a snapshot in pieces, as server/store/postgres/load.c does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "server/store/chunk.h"
#include "sim/pg/handle_parts.h"

#define PATIENCE UINT64_C(60000000000)
enum { SUBMISSIONS, OPTIONS, LIVES, EVENTS };

struct pg_loader {
    struct pg_link *link;
    struct pg_call *snapshot;
    struct pg_sight sight;
    uint32_t step; /* 0: marks; then rows of tables; then tasks; then events */
    const struct pg_row *last;
};

void pg_load_free(struct pg_loader **loader)
{
    struct pg_loader *l = *loader;
    *loader = NULL;
    if (!l)
        return;
    pg_close(l->link);
    pg_call_free(l->snapshot);
    free(l);
}

static int fail(struct store_fault *fault, enum store_error error, const char *text)
{
    fault->error = error;
    snprintf(fault->text, sizeof fault->text, "the model of PostgreSQL: %s", text);
    return -1;
}

/* --- Begin: marks and counters --- */

static int begin(struct pg_loader *l, const struct pg_load_setup *setup, struct store_fault *fault)
{
    uint64_t until = pg_now(setup->pg) + PATIENCE;
    l->link = pg_open_link(setup->pg, setup->node);
    if (!l->link)
        return fail(fault, STORE_AWAY, "no primary is reached");
    l->snapshot = pg_ask(setup->pg, l->link, pg_call_new(PG_SNAPSHOT), until);
    if (!l->snapshot)
        return fail(fault, STORE_AWAY, "the connection broke");
    if (l->snapshot->state[0])
        return fail(fault, pg_error_store(l->snapshot->state), l->snapshot->state);
    l->sight.committed = l->snapshot->snapshot;
    return 0;
}

static int give_marks(struct pg_loader *l, uint64_t epoch, struct store_chunk *chunk,
                      struct store_fault *fault)
{
    const struct pg_owner *o = &l->snapshot->owner;
    const struct row_counters *c = &o->counters;
    if (epoch && o->row.epoch != epoch)
        return fail(fault, STORE_FENCED, "another node owns the tasks");
    struct store_marks marks = {.last_id = c->last_id,
                                .last_fence = c->last_fence,
                                .committed_at = c->committed_at,
                                .id_mark = o->row.id_mark,
                                .fence_mark = o->row.fence_mark,
                                .boards = o->row.boards,
                                .commits = c->commits};
    struct store_counts counts = {(int64_t)c->submitted, (int64_t)c->done,    (int64_t)c->failed,
                                  (int64_t)c->cancelled, (int64_t)c->expired, (int64_t)c->dead};
    if (store_chunk_marks(chunk, &marks) && store_chunk_counts(chunk, &counts))
        return 0;
    return fail(fault, STORE_MEMORY, "there is no memory to read the rows");
}

/* --- Rows --- */

static const struct store_table *table_of(const struct pg_load_setup *setup, uint32_t step,
                                          uint32_t *last)
{
    uint32_t at = 1;
    for (uint32_t n = 0; n < setup->table_count; n++)
        if (setup->tables[n]->one && !setup->tables[n]->by_key && at++ == step)
            return setup->tables[n];
    *last = step - at;
    return NULL;
}

static bool give_node(struct store_chunk *chunk, const struct pg_row *row)
{
    struct engine_node node;
    memcpy(&node, pg_row_bytes(row), sizeof node); /* it is not aligned there */
    struct store_node_board board = {.node = span_text(node.node), .board = node.board};
    return store_chunk_row(chunk, &store_node_boards, &board);
}

static bool give_row(struct store_chunk *chunk, const struct store_table *t,
                     const struct pg_row *row)
{
    alignas(8) uint8_t at[STORE_ROW_MAX] = {0};
    if (t == &store_node_boards)
        return give_node(chunk, row);
    pg_unpack(t, row, at);
    return store_chunk_row(chunk, t, at);
}

static bool give_task(const struct pg_loader *l, struct store_chunk *chunk,
                      const struct pg_row *row)
{
    struct store_task task = {0};
    pg_unpack(&row_database_submissions, row, &task);
    struct pg_key key = pg_key_number(task.id);
    const struct pg_row *options = pg_see(&l->sight, OPTIONS, &key);
    const struct pg_row *life = pg_see(&l->sight, LIVES, &key);
    if (options)
        pg_unpack(&row_options, options, &task);
    if (life)
        pg_unpack(&row_lives, life, &task);
    task.has_options = options != NULL;
    task.has_life = life != NULL;
    return store_chunk_task(chunk, &task);
}

static bool give_event(struct store_chunk *chunk, const struct pg_row *row)
{
    struct store_event event = {0};
    pg_unpack(&row_events, row, &event);
    return store_chunk_event(chunk, &event);
}

/* Gives one row.  1: there are more; 0: that was all; -1: no memory. */
static int give_next(struct pg_loader *l, const struct pg_load_setup *setup,
                     struct store_chunk *chunk)
{
    uint32_t last = 0;
    const struct store_table *t = table_of(setup, l->step, &last);
    int table = t ? pg_table_index(t) : last == 0 ? SUBMISSIONS : EVENTS;
    l->last = pg_see_next(&l->sight, table, l->last);
    if (!l->last) {
        l->step++;
        return t || last == 0;
    }
    bool good = t           ? give_row(chunk, t, l->last)
                : last == 0 ? give_task(l, chunk, l->last)
                            : give_event(chunk, l->last);
    return good ? 1 : -1;
}

static uint32_t rows_now(struct pg *pg)
{
    const struct pg_env *env = pg_env(pg);
    return env->below(env->arg, 4) ? 1 + (uint32_t)env->below(env->arg, 64) : STORE_CHUNK_ROWS;
}

static int fill(struct pg_loader *l, const struct pg_load_setup *setup, uint64_t epoch,
                struct store_chunk *chunk, struct store_fault *fault)
{
    int more = 1;
    if (l->step == 0 && begin(l, setup, fault) != 0)
        return -1;
    if (l->step == 0 && give_marks(l, epoch, chunk, fault) != 0)
        return -1;
    l->step += l->step == 0;
    if (pg_is_broken(l->link))
        return fail(fault, STORE_AWAY, "the connection broke");
    for (uint32_t rows = rows_now(setup->pg); rows > 0 && more > 0; rows--)
        more = give_next(l, setup, chunk);
    return more >= 0 ? more : fail(fault, STORE_MEMORY, "there is no memory to read the rows");
}

int pg_load_next(struct pg_loader **loader, const struct pg_load_setup *setup, uint64_t epoch,
                 struct store_chunk *chunk, struct store_fault *fault)
{
    if (!*loader) {
        *loader = calloc(1, sizeof **loader);
        require(*loader != NULL, "no memory for a load of the model");
    }
    int more = fill(*loader, setup, epoch, chunk, fault);
    if (more <= 0)
        pg_load_free(loader);
    return more;
}
