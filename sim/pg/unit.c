/* Operations of the store on the rows that a transaction sees.  The statements of the driver are
 * about many rows at once; here each operation is run by itself, in their order, which has the same
 * result (server/store/postgres/batch.c). */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/pg/parts.h"

enum { SUBMISSIONS, OPTIONS, LIVES, EVENTS, CRONS, QUEUES, RATES, SEMAPHORES, HOLDS, ACTORS };

static void put(const struct pg_sight *s, int table, struct pg_row *row)
{
    pg_table_put(&s->own[table], row);
}

static void put_struct(const struct pg_sight *s, const struct store_table *map, const void *row)
{
    struct pg_row *packed;
    require(pg_pack(map, row, true, &packed) == NULL, "a row of the model is no row");
    put(s, pg_table_index(map), packed);
}

static void drop(const struct pg_sight *s, int table, const struct pg_row *row)
{
    struct pg_key key = {.len = row->key_len};
    memcpy(key.at, row->at, row->key_len);
    put(s, table, pg_row_gone(&key));
}

static void drop_key(const struct pg_sight *s, int table, const struct pg_key *key)
{
    const struct pg_row *row = pg_see(s, table, key);
    if (row)
        drop(s, table, row);
}

/* --- Tasks --- */

static const char *insert(const struct pg_sight *s, int table, struct pg_row *row)
{
    struct pg_key key = {.len = row->key_len};
    memcpy(key.at, row->at, row->key_len);
    if (pg_see(s, table, &key))
        return "23505";
    put(s, table, pg_row_ref(row));
    return NULL;
}

static const char *put_task(const struct pg_sight *s, const struct pg_op *op)
{
    const char *wrong = insert(s, SUBMISSIONS, op->row);
    if (!wrong && op->options)
        wrong = insert(s, OPTIONS, op->options);
    return !wrong && op->life ? insert(s, LIVES, op->life) : wrong;
}

/* A result and a checkpoint that are not given stay. */
static void put_life(const struct pg_sight *s, const struct pg_op *op)
{
    const struct pg_row *before = pg_see(s, LIVES, &op->key);
    struct store_task old = {0}, new = {0};
    pg_unpack(&row_lives, op->life, &new);
    if (before)
        pg_unpack(&row_lives, before, &old);
    if (new.result.len == 0)
        new.result = old.result;
    if (new.checkpoint.len == 0)
        new.checkpoint = old.checkpoint;
    put_struct(s, &row_lives, &new);
}

static const char *change_task(const struct pg_sight *s, const struct pg_op *op)
{
    struct store_task task = {0};
    const struct pg_row *submission = pg_see(s, SUBMISSIONS, &op->key);
    if (!submission)
        return "EF002";
    require(!op->first_life || !pg_see(s, LIVES, &op->key), "a life that begins has a row");
    put_life(s, op);
    if (op->anew) {
        pg_unpack(&row_database_submissions, submission, &task);
        task.durable = op->durable;
        put_struct(s, &row_database_submissions, &task);
    }
    if (op->anew && op->options)
        put(s, OPTIONS, pg_row_ref(op->options));
    const struct pg_row *options = op->settled ? pg_see(s, OPTIONS, &op->key) : NULL;
    if (!options)
        return NULL;
    task = (struct store_task){0};
    pg_unpack(&row_options, options, &task);
    task.after = task.after_any = (struct span){0};
    put_struct(s, &row_options, &task);
    return NULL;
}

/* Those of a task with a number from `from` to before `to`. */
static void drop_events(const struct pg_sight *s, uint64_t task, uint64_t from, uint64_t to)
{
    struct pg_key least = pg_key_numbers(task, from);
    struct store_event event = {0};
    const struct pg_row *row;
    while ((row = pg_see_from(s, EVENTS, &least))) {
        pg_unpack(&row_events, row, &event);
        if (event.id != task || event.seq >= to)
            return;
        drop(s, EVENTS, row);
    }
}

static void remove_task(const struct pg_sight *s, const struct pg_op *op)
{
    drop_events(s, op->id, 0, UINT64_MAX);
    drop_key(s, OPTIONS, &op->key);
    drop_key(s, LIVES, &op->key);
    drop_key(s, SUBMISSIONS, &op->key);
}

static void put_event(const struct pg_sight *s, const struct pg_op *op)
{
    put(s, EVENTS, pg_row_ref(op->row));
    if (op->oldest > 0)
        drop_events(s, op->id, 2, op->oldest);
}

/* --- Rows that people's verbs change --- */

static bool is_cron(const struct pg_row *row, const struct store_cron *like)
{
    struct store_cron c = {0};
    pg_unpack(&store_crons, row, &c);
    return span_equal(c.name, like->name) && span_equal(c.tenant, like->tenant);
}

static const struct pg_row *find_cron(const struct pg_sight *s, const struct store_cron *like,
                                      uint64_t *last)
{
    const struct pg_row *row = NULL, *found = NULL;
    struct store_cron c = {0};
    *last = 0;
    while ((row = pg_see_next(s, CRONS, row))) {
        pg_unpack(&store_crons, row, &c);
        *last = c.id;
        if (is_cron(row, like))
            found = row;
    }
    return found;
}

static const char *put_cron(const struct pg_sight *s, const struct store_cron *row)
{
    struct store_cron cron = *row;
    uint64_t last;
    const struct pg_row *before = find_cron(s, row, &last);
    if (before) {
        drop(s, CRONS, before);
        find_cron(s, row, &last);
    }
    cron.id = cron.id ? cron.id : last + 1;
    struct pg_key key = pg_key_number(cron.id);
    if (pg_see(s, CRONS, &key))
        return "23505";
    put_struct(s, &store_crons, &cron);
    return NULL;
}

static void update_cron(const struct pg_sight *s, const struct store_cron *row)
{
    uint64_t last;
    const struct pg_row *before = find_cron(s, row, &last);
    struct store_cron cron = {0};
    if (!before)
        return;
    pg_unpack(&store_crons, before, &cron);
    for (uint32_t n = 0; n < store_cron_states.count; n++)
        if (store_cron_states.columns[n].key == KEY_NONE)
            pg_copy_field(&store_cron_states.columns[n], &cron, row);
    put_struct(s, &store_crons, &cron);
}

/* Zero is NULL to the driver, which the column cannot be. */
static const char *update_board(const struct pg_sight *s, const struct store_node_board *board)
{
    struct pg_key key = pg_key_text(board->node);
    const struct pg_row *row = pg_see(s, PG_NODES, &key);
    struct engine_node node;
    if (!row)
        return NULL;
    if (board->board == 0)
        return "23502";
    memcpy(&node, pg_row_bytes(row), sizeof node);
    node.board = board->board;
    put(s, PG_NODES, pg_row_new(&key, &node, sizeof node));
    return NULL;
}

static const char *put_row(const struct pg_sight *s, const struct pg_op *op)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    pg_unpack(op->map, op->row, row);
    if (op->map == &store_crons)
        return put_cron(s, (const struct store_cron *)row);
    if (op->map == &store_cron_states)
        update_cron(s, (const struct store_cron *)row);
    else if (op->map == &store_node_boards)
        return update_board(s, (const struct store_node_board *)row);
    else
        put(s, pg_table_index(op->map), pg_row_ref(op->row));
    return NULL;
}

static void remove_row(const struct pg_sight *s, const struct pg_op *op)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    uint64_t last;
    pg_unpack(op->map, op->row, row);
    if (op->map == &store_crons) {
        const struct pg_row *cron = find_cron(s, (const struct store_cron *)row, &last);
        if (cron)
            drop(s, CRONS, cron);
        return;
    }
    struct pg_key key = {.len = op->row->key_len};
    memcpy(key.at, op->row->at, key.len);
    drop_key(s, pg_table_index(op->map), &key);
}

/* --- Rows that are asked for --- */

static struct pg_key key_at(const struct pg_row *row)
{
    struct pg_key key = {.len = row->key_len};
    memcpy(key.at, row->at, key.len);
    return key;
}

static void read_rows(const struct pg_sight *s, struct pg_op *op)
{
    struct pg_key key = key_at(op->row);
    const struct pg_row *row =
        op->kind == STORE_ROW_GET ? pg_see(s, ACTORS, &key) : pg_see_from(s, ACTORS, &key);
    uint32_t most = op->kind == STORE_ROW_GET ? 1 : op->limit;
    pg_tables_clear(&op->found, 1);
    while (row && op->found.count < most) {
        pg_table_put(&op->found, pg_row_ref((struct pg_row *)row));
        row = pg_see_next(s, ACTORS, row);
    }
}

/* --- All rows of a table --- */

static bool earlier(uint64_t *at, uint64_t by)
{
    int64_t time = (int64_t)*at;
    if (time <= 0)
        return false;
    *at = time > (int64_t)by + 1 ? (uint64_t)(time - (int64_t)by) : 1;
    return true;
}

static bool has_ended(const struct pg_sight *s, uint64_t id)
{
    struct pg_key key = pg_key_number(id);
    const struct pg_row *life = pg_see(s, LIVES, &key);
    struct store_task task = {0};
    if (life)
        pg_unpack(&row_lives, life, &task);
    return (int64_t)task.ended_at > 0;
}

static bool sets_back(const struct pg_sight *s, int table, void *row, uint64_t by)
{
    struct store_task *task = row;
    if (table == LIVES)
        return earlier(&task->due_at, by);
    if (table == OPTIONS)
        return (int64_t)task->deadline_at > 0 && !has_ended(s, task->id) &&
               earlier(&task->deadline_at, by);
    return earlier(&((struct store_hold *)row)->ends_at, by);
}

static void set_back(const struct pg_sight *s, int table, uint64_t by)
{
    union {
        struct store_task task;
        struct store_hold hold;
    } row;
    struct pg_row *at = NULL;
    const struct pg_row *next;
    while ((next = pg_see_next(s, table, at))) {
        pg_row_unref(at);
        at = pg_row_ref((struct pg_row *)next);
        memset(&row, 0, sizeof row);
        pg_unpack(row_database_tables[table], at, &row);
        if (sets_back(s, table, &row, by))
            put_struct(s, row_database_tables[table], &row);
    }
    pg_row_unref(at);
}

static void set_all_back(const struct pg_sight *s, uint64_t by)
{
    by = by < INT64_MAX ? by : INT64_MAX;
    set_back(s, LIVES, by);
    set_back(s, OPTIONS, by);
    set_back(s, HOLDS, by);
}

static const char *state_of(const struct pg_sight *s, const struct pg_row *submission,
                            const struct row_names *names)
{
    struct pg_key key = {.len = submission->key_len};
    memcpy(key.at, submission->at, key.len);
    const struct pg_row *life = pg_see(s, LIVES, &key);
    struct store_task task = {0};
    if (!life)
        return "";
    pg_unpack(&row_lives, life, &task);
    return names->lists[NAMES_STATE].names[task.state];
}

static void count(const struct pg_sight *s, struct pg_call *call, const struct pg_op *op,
                  const struct row_counters *c)
{
    static const char *const states[] = {"done", "failed", "cancelled", "expired", "dead"};
    struct store_audit *a = &call->audit;
    uint64_t *const counts[] = {&a->done, &a->failed, &a->cancelled, &a->expired, &a->dead};
    struct pg_key least = pg_key_number(op->from);
    uint64_t rows = 0;
    struct store_task task = {0};
    *a = (struct store_audit){.from = op->from,
                              .counters = {(int64_t)c->submitted, (int64_t)c->done,
                                           (int64_t)c->failed, (int64_t)c->cancelled,
                                           (int64_t)c->expired, (int64_t)c->dead}};
    for (const struct pg_row *row = pg_see_from(s, SUBMISSIONS, &least);
         row && rows < STORE_COUNT_ROWS; row = pg_see_next(s, SUBMISSIONS, row), rows++) {
        const char *state = state_of(s, row, &call->unit.names);
        pg_unpack(&row_database_submissions, row, &task);
        for (int n = 0; n < 5; n++)
            *counts[n] += strcmp(state, states[n]) == 0;
    }
    a->next = rows == STORE_COUNT_ROWS ? task.id + 1 : 0;
    a->open = rows - a->done - a->failed - a->cancelled - a->expired - a->dead;
}

/* --- A unit --- */

const struct pg_op *pg_unit_node(const struct pg_unit *unit, uint32_t *n)
{
    for (; *n < unit->count; (*n)++)
        if (unit->ops[*n].map == &store_node_boards && unit->ops[*n].row)
            return &unit->ops[(*n)++];
    return NULL;
}

static const char *run_op(const struct pg_sight *s, struct pg_call *call, struct pg_op *op,
                          const struct row_counters *counters)
{
    switch (op->kind) {
    case STORE_PUT:
        return put_task(s, op);
    case STORE_CHANGE:
        return change_task(s, op);
    case STORE_REMOVE:
        remove_task(s, op);
        return NULL;
    case STORE_EVENT:
        put_event(s, op);
        return NULL;
    case STORE_ROW_PUT:
        return put_row(s, op);
    case STORE_ROW_REMOVE:
        remove_row(s, op);
        return NULL;
    case STORE_SET_BACK:
        set_all_back(s, op->back);
        return NULL;
    case STORE_COUNT:
        count(s, call, op, counters);
        return NULL;
    case STORE_ROW_GET:
    case STORE_ROW_PAGE:
        read_rows(s, op);
        return NULL;
    case STORE_SYNC:
    case STORE_LOAD:
    case STORE_MARKS:
    case STORE_HAND_OVER:
    case STORE_GROUP:
        break;
    }
    return NULL;
}

const char *pg_unit_run(const struct pg_sight *sight, struct pg_call *call,
                        const struct pg_owner *owner)
{
    const char *wrong = NULL;
    for (uint32_t n = 0; n < call->unit.count && !wrong; n++) {
        struct pg_op *op = &call->unit.ops[n];
        wrong = op->wrong ? op->wrong : run_op(sight, call, op, &owner->counters);
    }
    return wrong;
}
