/* One unit as one pipeline: the fence, and the operations by their tables.
 *
 * Operations of different tasks do not depend on one another, so a statement takes all of a kind.
 * Of one task they stay in order: PUT, CHANGE, EVENT and REMOVE run in this order, and what does
 * not fit into it (a second CHANGE of one task, an EVENT behind its REMOVE) begins a new run of
 * statements.  So do rows of actors: PUT, REMOVE, GET. */
#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/store/postgres/reads.h"
#include "server/store/postgres/sql.h"
#include "server/store/postgres/statements.h"

enum { UNIT_BYTES = 16 * 1024 * 1024, UNIT_OPS = 4096 };
#define SET_BACK_LEAST AO_S(1) /* the jobs do not notice less */

/* --- Units --- */

static bool is_alone(const struct store_op *op)
{
    return op->kind == STORE_SET_BACK || op->kind == STORE_COUNT || op->kind == STORE_HAND_OVER;
}

bool batch_is_alone(const struct unit *unit)
{
    return unit->batch && is_alone(unit->batch->ops[unit->from]);
}

static const struct store_op *members_of(const struct store_op *op)
{
    return op->kind == STORE_GROUP ? op->group.first : NULL;
}

/* Rows that lie by a key of several columns: those of store_actors. */
static bool is_of_actor(const struct store_op *op)
{
    return (op->kind == STORE_ROW_PUT || op->kind == STORE_ROW_REMOVE ||
            op->kind == STORE_ROW_GET) &&
           op->table->by_key;
}

static bool puts_actor(const struct store_op *op)
{
    return op->kind == STORE_ROW_PUT && is_of_actor(op);
}

static size_t size_of(const struct store_op *op)
{
    const struct store_task *t = &op->task;
    if (puts_actor(op))
        return ((const struct store_actor *)op->row)->state.len;
    if (op->kind == STORE_PUT)
        return t->params.len + t->result.len + t->after.len + t->after_any.len;
    if (op->kind == STORE_CHANGE)
        return t->result.len + t->error_text.len;
    return op->kind == STORE_EVENT ? op->event.data.len + op->event.text.len : 0;
}

static size_t size_with_members(const struct store_op *op)
{
    size_t size = size_of(op);
    for (const struct store_op *m = members_of(op); m; m = m->next)
        size += size_of(m);
    return size;
}

/* A state of an actor is as durable as a task that is FSYNC. */
static uint8_t durable_of(const struct store_op *op)
{
    if (puts_actor(op))
        return STORE_LEVEL_FSYNC;
    if (op->kind == STORE_ROW_PUT)
        return op->table->durable ? op->row[op->table->durable] : 0;
    return op->kind == STORE_PUT || (op->kind == STORE_CHANGE && op->task.rises) ? op->task.durable
                                                                                 : 0;
}

static uint8_t need_of_one(const struct postgres_store *s, const struct store_op *op)
{
    uint8_t durable = durable_of(op);
    if (s->by_storage || durable < STORE_LEVEL_FSYNC)
        return 0;
    return durable == STORE_LEVEL_REPLICATED ? STORE_LEVEL_REPLICATED : s->require;
}

static uint8_t need_of(const struct postgres_store *s, const struct store_op *op)
{
    uint8_t need = need_of_one(s, op);
    for (const struct store_op *m = members_of(op); m; m = m->next) {
        uint8_t of_member = need_of_one(s, m);
        need = of_member > need ? of_member : need;
    }
    return need;
}

static bool lacks_standby(const struct postgres_store *s, const struct store_op *op)
{
    uint8_t need = s->unreplicated ? need_of(s, op) : 0;
    return need > 0 && need >= s->lacks && clock_monotonic() < s->unreplicated;
}

static bool follows_lost(const struct postgres_store *s, const struct store_batch *batch,
                         const struct store_op *op)
{
    return op->kind == STORE_GROUP && op->group.follows &&
           outcome_begun((struct postgres_store *)s, batch)->follows_lost;
}

enum store_error batch_refusal(const struct postgres_store *s, const struct store_batch *batch,
                               const struct store_op *op)
{
    if (follows_lost(s, batch, op))
        return STORE_FOLLOWS;
    return lacks_standby(s, op) ? STORE_UNREPLICATED : STORE_OK;
}

uint32_t batch_unit(const struct postgres_store *s, const struct store_batch *batch, uint32_t from,
                    uint32_t most)
{
    uint32_t end = from, ops = 0;
    size_t size = 0;
    while (end < batch->count && end - from < most && ops < UNIT_OPS && size < UNIT_BYTES) {
        const struct store_op *op = batch->ops[end];
        if (is_alone(op))
            return end == from ? 1 : end - from;
        if (end > from && batch_refusal(s, batch, op) != STORE_OK)
            break;
        size += size_with_members(op);
        ops += op->kind == STORE_GROUP ? op->group.count : 1;
        end++;
    }
    return end - from;
}

/* --- The fence: counters and marks --- */

struct sums {
    struct store_counts counts;
    uint64_t last_id, last_fence, id_mark, fence_mark;
    bool loaded, leaves;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_counts(struct store_counts *sum, const struct store_counts *more)
{
    sum->submitted += more->submitted;
    sum->done += more->done;
    sum->failed += more->failed;
    sum->cancelled += more->cancelled;
    sum->expired += more->expired;
    sum->dead += more->dead;
}

/* The number that a row of a table of fences has. */
static uint64_t fence_of(const struct store_op *op)
{
    uint64_t fence;
    assert(op->table->columns[0].kind == COLUMN_U64);
    memcpy(&fence, op->row + op->table->columns[0].at, sizeof fence);
    return fence;
}

static void add_op(struct sums *sums, const struct store_op *op)
{
    add_counts(&sums->counts, &op->add);
    if (op->kind == STORE_PUT)
        sums->last_id = larger(sums->last_id, op->task.id);
    if (op->kind == STORE_ROW_PUT && op->table->fences)
        sums->last_fence = larger(sums->last_fence, fence_of(op));
    if (op->kind == STORE_MARKS) {
        sums->loaded = true;
        sums->id_mark = larger(sums->id_mark, op->marks.id_mark);
        sums->fence_mark = larger(sums->fence_mark, op->marks.fence_mark);
    }
    sums->leaves |= op->kind == STORE_HAND_OVER;
}

/* Once the wall clock is set back, rows have times of the old one until STORE_SET_BACK comes. */
static uint64_t time_of_rows(struct postgres_store *s)
{
    uint64_t now = clock_monotonic(), ahead = clock_wall() - now;
    if ((int64_t)(ahead - s->rows_ahead) > -(int64_t)SET_BACK_LEAST)
        s->rows_ahead = ahead;
    return now + s->rows_ahead;
}

static uint8_t need_of_unit(const struct postgres_store *s, const struct unit *unit)
{
    uint8_t most = 0;
    for (uint32_t n = 0; n < unit->count; n++) {
        uint8_t need = need_of(s, unit->batch->ops[unit->from + n]);
        most = need > most ? need : most;
    }
    return most;
}

static bool send_fence(struct postgres_store *s, const struct unit *unit)
{
    struct sums sums = {0};
    uint64_t back = 0;
    for (uint32_t n = 0; n < unit->count; n++) {
        const struct store_op *op = unit->batch->ops[unit->from + n];
        add_op(&sums, op);
        for (const struct store_op *m = members_of(op); m; m = m->next)
            add_op(&sums, m);
    }
    const struct store_counts *c = &sums.counts;
    if (unit->count > 0 && unit->batch->ops[unit->from]->kind == STORE_SET_BACK)
        back = unit->batch->ops[unit->from]->back;
    const int64_t numbers[] = {(int64_t)s->epoch,
                               (int64_t)s->session,
                               (int64_t)unit->number,
                               c->submitted,
                               c->done,
                               c->failed,
                               c->cancelled,
                               c->expired,
                               c->dead,
                               (int64_t)sums.last_id,
                               (int64_t)sums.last_fence,
                               (int64_t)(time_of_rows(s) - back),
                               (int64_t)sums.id_mark,
                               (int64_t)sums.fence_mark};
    values_begin(&s->values);
    for (unsigned n = 0; n < sizeof numbers / sizeof *numbers; n++)
        values_number(&s->values, numbers[n]);
    values_bool(&s->values, sums.loaded);
    values_bool(&s->values, sums.leaves);
    values_number(&s->values, unit->need);
    return statement_send(s, STATEMENT_FENCE);
}

/* --- Runs: operations that the same statements take together --- */

struct group_entry {
    uint64_t id;    /* of a task; or a hash of an actor's key */
    uint32_t seq;   /* of its last event */
    uint32_t kinds; /* of its operations: bits by enum store_kind; 0: the entry is free */
    uint32_t at;    /* of an actor: an operation of that key; the PUT, if there is one */
};

#define BIT(kind) (1u << (kind))

static uint32_t count_ops(const struct unit *unit)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < unit->count; n++) {
        const struct store_op *op = unit->batch->ops[unit->from + n];
        count += op->kind == STORE_GROUP ? op->group.count : 1;
    }
    return count;
}

static bool reserve_groups(struct postgres_store *s, uint32_t count)
{
    uint32_t room = 64;
    while (room < 2 * count)
        room *= 2;
    s->groups_used = room;
    if (room > s->groups_room) {
        struct group_entry *entries = realloc(s->groups, room * sizeof *entries);
        const void **rows = realloc(s->rows, room * sizeof *rows);
        struct store_op **ops = realloc(s->ops, room * sizeof *ops);
        s->groups = entries ? entries : s->groups;
        s->rows = rows ? rows : s->rows;
        s->ops = ops ? ops : s->ops;
        if (!entries || !rows || !ops)
            return false;
        s->groups_room = room;
    }
    return true;
}

/* A group is written or not as its unit is. */
static bool unfold(struct postgres_store *s, const struct unit *unit)
{
    if (!reserve_groups(s, count_ops(unit)))
        return false;
    s->op_count = 0;
    for (uint32_t n = 0; n < unit->count; n++) {
        struct store_op *op = unit->batch->ops[unit->from + n];
        if (op->kind != STORE_GROUP)
            s->ops[s->op_count++] = op;
        for (struct store_op *m = op->kind == STORE_GROUP ? op->group.first : NULL; m; m = m->next)
            s->ops[s->op_count++] = m;
    }
    assert(s->op_count == count_ops(unit));
    return true;
}

static struct group_entry *entry_of(struct postgres_store *s, uint64_t id)
{
    uint32_t mask = s->groups_used - 1, at = (uint32_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
    while (s->groups[at & mask].kinds && s->groups[at & mask].id != id)
        at++;
    return &s->groups[at & mask];
}

static uint64_t hash_span(uint64_t hash, struct span s)
{
    for (size_t n = 0; n < s.len; n++) /* FNV-1a */
        hash = (hash ^ s.at[n]) * UINT64_C(0x100000001B3);
    return (hash ^ 0xFF) * UINT64_C(0x100000001B3); /* no byte of UTF-8 */
}

static uint64_t id_of(const struct store_op *op)
{
    const struct store_actor *a = (const struct store_actor *)op->row;
    if (is_of_actor(op))
        return hash_span(hash_span(hash_span(UINT64_C(0xCBF29CE484222325), a->type), a->key),
                         a->tenant);
    return op->kind == STORE_EVENT ? op->event.id : op->task.id;
}

static bool same_actor(const struct store_op *a, const struct store_op *b)
{
    const struct store_actor *x = (const struct store_actor *)a->row,
                             *y = (const struct store_actor *)b->row;
    return span_equal(x->type, y->type) && span_equal(x->key, y->key) &&
           span_equal(x->tenant, y->tenant);
}

enum { OF_ACTOR = BIT(STORE_ROW_PUT) | BIT(STORE_ROW_REMOVE) | BIT(STORE_ROW_GET) };

static bool fits_actor(const struct postgres_store *s, const struct group_entry *e,
                       const struct store_op *op)
{
    if (e->kinds == 0)
        return true;
    if (!(e->kinds & OF_ACTOR) || !same_actor(s->ops[e->at], op))
        return false; /* another one, of the same hash */
    if (op->kind == STORE_ROW_GET)
        return true;
    return !(e->kinds & (BIT(STORE_ROW_GET) | BIT(STORE_ROW_REMOVE)));
}

static bool fits(const struct postgres_store *s, const struct group_entry *e,
                 const struct store_op *op)
{
    switch (op->kind) {
    case STORE_PUT:
        return e->kinds == 0;
    case STORE_CHANGE:
        return !(e->kinds & (BIT(STORE_CHANGE) | BIT(STORE_REMOVE)));
    case STORE_EVENT:
        return !(e->kinds & BIT(STORE_REMOVE)) &&
               (!(e->kinds & BIT(STORE_EVENT)) || e->seq < op->event.seq);
    case STORE_REMOVE:
        return !(e->kinds & BIT(STORE_REMOVE));
    case STORE_ROW_PUT:
    case STORE_ROW_REMOVE:
    case STORE_ROW_GET:
        return fits_actor(s, e, op);
    case STORE_SYNC:
    case STORE_SET_BACK:
    case STORE_LOAD:
    case STORE_MARKS:
    case STORE_HAND_OVER:
    case STORE_COUNT:
    case STORE_GROUP:
    case STORE_ROW_PAGE:
        break;
    }
    return true;
}

static bool is_of_task(const struct store_op *op)
{
    return op->kind == STORE_PUT || op->kind == STORE_CHANGE || op->kind == STORE_EVENT ||
           op->kind == STORE_REMOVE;
}

/* Of several puts of an actor the last counts, and the others are left out. */
static void note(struct postgres_store *s, struct group_entry *e, uint32_t at)
{
    const struct store_op *op = s->ops[at];
    bool puts = puts_actor(op) && e->kinds & BIT(STORE_ROW_PUT);
    if (puts)
        s->ops[e->at] = NULL;
    if (puts || e->kinds == 0)
        e->at = at;
    if (op->kind == STORE_EVENT)
        e->seq = op->event.seq;
    e->id = id_of(op);
    e->kinds |= BIT(op->kind);
}

/* The end of the run that begins at `from`.  What a page does not see must not be before it. */
static uint32_t run_end(struct postgres_store *s, uint32_t from)
{
    uint32_t end = from;
    memset(s->groups, 0, s->groups_used * sizeof *s->groups);
    for (; end < s->op_count; end++) {
        const struct store_op *op = s->ops[end];
        if (op->kind == STORE_ROW_PAGE)
            return end + 1;
        if (!is_of_task(op) && !is_of_actor(op))
            continue;
        struct group_entry *e = entry_of(s, id_of(op));
        if (!fits(s, e, op))
            break;
        note(s, e, end);
    }
    return end;
}

/* --- The statements of a run --- */

static bool is_put(const struct store_op *op)
{
    return op->kind == STORE_PUT;
}

static bool puts_options(const struct store_op *op)
{
    return op->kind == STORE_PUT && op->task.has_options;
}

static bool puts_life(const struct store_op *op)
{
    return op->kind == STORE_PUT && row_has_life(&op->task);
}

static bool changes_life(const struct store_op *op)
{
    return op->kind == STORE_CHANGE && !op->task.first_life;
}

static bool begins_life(const struct store_op *op)
{
    return op->kind == STORE_CHANGE && op->task.first_life;
}

static bool changes_durable(const struct store_op *op)
{
    return op->kind == STORE_CHANGE && op->task.anew;
}

static bool changes_options(const struct store_op *op)
{
    return changes_durable(op) && op->task.has_options;
}

static bool settles(const struct store_op *op)
{
    return op->kind == STORE_CHANGE && op->task.settled;
}

static bool takes_row(const struct store_op *op)
{
    return op->kind == STORE_PUT && op->task.taken > 0;
}

static bool is_event(const struct store_op *op)
{
    return op->kind == STORE_EVENT;
}

static bool trims(const struct store_op *op)
{
    return op->kind == STORE_EVENT && op->event.oldest > 0;
}

static bool is_remove(const struct store_op *op)
{
    return op->kind == STORE_REMOVE;
}

static bool removes_actor(const struct store_op *op)
{
    return op->kind == STORE_ROW_REMOVE && is_of_actor(op);
}

static bool gets_actor(const struct store_op *op)
{
    return op->kind == STORE_ROW_GET;
}

static const struct store_column oldest_column = {
    .name = "oldest", .kind = COLUMN_U32, .at = offsetof(struct store_event, oldest)};

/* Which operations a statement is about, and what it gets of each. */
struct part {
    enum statement statement;
    bool (*has)(const struct store_op *op);
    const struct store_table *map;   /* its columns... */
    uint32_t first;                  /* ...or so many of them from the first on... */
    const struct store_column *more; /* ...and this one, if there is one */
};

enum { ALL = 0, ACTOR_KEY = 3 /* columns */ };

static const struct part parts[] = {
    {STATEMENT_PUT, is_put, &row_database_submissions, ALL, NULL},
    {STATEMENT_PUT_OPTIONS, puts_options, &row_options, ALL, NULL},
    {STATEMENT_PUT_LIFE, puts_life, &row_lives, ALL, NULL},
    {STATEMENT_CHANGE, changes_life, &row_lives, ALL, NULL},
    {STATEMENT_FIRST_LIFE, begins_life, &row_lives, ALL, NULL},
    {STATEMENT_DURABLE, changes_durable, &row_database_submissions, 1, NULL},
    {STATEMENT_OPTIONS, changes_options, &row_options, ALL, NULL},
    {STATEMENT_SETTLED, settles, &row_options, 1, NULL},
    {STATEMENT_EVENT, is_event, &row_events, ALL, NULL},
    {STATEMENT_TRIM, trims, &row_events, 1, &oldest_column},
    {STATEMENT_REMOVE_EVENTS, is_remove, &row_database_submissions, 1, NULL},
    {STATEMENT_REMOVE_OPTIONS, is_remove, &row_database_submissions, 1, NULL},
    {STATEMENT_REMOVE_LIFE, is_remove, &row_database_submissions, 1, NULL},
    {STATEMENT_REMOVE, is_remove, &row_database_submissions, 1, NULL},
    {STATEMENT_PUT_ACTORS, puts_actor, &store_actors, ALL, NULL},
    {STATEMENT_REMOVE_ACTORS, removes_actor, &store_actors, ACTOR_KEY, NULL},
    {STATEMENT_GET_ACTORS, gets_actor, &store_actors, ACTOR_KEY, NULL}};

static const struct store_column *column_of(const struct store_table *map, const char *name)
{
    for (uint32_t n = 0; n < sql_columns(map); n++)
        if (strcmp(map->columns[n].name, name) == 0)
            return &map->columns[n];
    abort();
}

static bool send_part(struct postgres_store *s, const struct part *part, uint32_t count)
{
    bool clean = part->map == &row_lives || part->map == &row_events;
    struct values *v = &s->values;
    values_begin(v);
    for (uint32_t n = 0; n < (part->first == ALL ? sql_columns(part->map) : part->first); n++)
        values_array(v, &part->map->columns[n], s->rows, count, &s->names, clean);
    if (part->more)
        values_array(v, part->more, s->rows, count, &s->names, false);
    if (part->statement == STATEMENT_DURABLE)
        values_array(v, column_of(part->map, "durable"), s->rows, count, &s->names, false);
    if (part->statement == STATEMENT_CHANGE || part->statement == STATEMENT_FIRST_LIFE)
        values_number(v, count);
    if (part->statement == STATEMENT_GET_ACTORS) {
        values_number(v, s->reads);
        s->reads += count;
    }
    return statement_send(s, part->statement);
}

/* A schema may have no inbox, so this is not one of the prepared statements. */
static const char take_text[] =
    "WITH d AS (DELETE FROM ergon.inbox WHERE id = ANY ($1::bigint[]) RETURNING 1) "
    "SELECT ergon.rows((SELECT count(*) FROM d), $2::bigint)";

static bool send_text(struct postgres_store *s, const char *text)
{
    const struct params *p = values_end(&s->values);
    return p && PQsendQueryParams(s->link.pg, text, p->count, p->types, p->values, p->lengths,
                                  p->formats, 1);
}

/* The rows of the inbox that became these tasks go in the same transaction, or none of it happens.
 */
static bool send_taken(struct postgres_store *s, uint32_t count)
{
    static const struct store_column taken = {
        .name = "taken", .kind = COLUMN_U64, .at = offsetof(struct store_task, taken)};
    if (count == 0)
        return true;
    values_begin(&s->values);
    values_array(&s->values, &taken, s->rows, count, &s->names, false);
    values_number(&s->values, count);
    return send_text(s, take_text);
}

static bool send_page(struct postgres_store *s, const struct store_op *page)
{
    values_begin(&s->values);
    for (uint32_t n = 0; n < ACTOR_KEY; n++)
        values_field(&s->values, &store_actors.columns[n], page->row, &s->names);
    values_number(&s->values, page->limit);
    values_number(&s->values, ++s->reads);
    return statement_send(s, STATEMENT_PAGE_ACTORS);
}

static const void *row_of(const struct store_op *op)
{
    if (is_of_actor(op))
        return op->row;
    return is_event(op) ? (const void *)&op->event : &op->task;
}

static bool send_run(struct postgres_store *s, struct store_op *const *ops, uint32_t count)
{
    bool good = true;
    for (unsigned p = 0; p < sizeof parts / sizeof *parts && good; p++) {
        uint32_t rows = 0;
        for (uint32_t n = 0; n < count; n++)
            if (ops[n] && parts[p].has(ops[n]))
                s->rows[rows++] = row_of(ops[n]);
        good = rows == 0 || send_part(s, &parts[p], rows);
    }
    uint32_t taken = 0;
    for (uint32_t n = 0; n < count; n++)
        if (ops[n] && takes_row(ops[n]))
            s->rows[taken++] = row_of(ops[n]);
    good = good && send_taken(s, taken);
    const struct store_op *last = ops[count - 1];
    if (good && last && last->kind == STORE_ROW_PAGE)
        good = send_page(s, last);
    return good;
}

/* --- Rows that people's verbs change: a statement each, in their order --- */

static bool remove_row(struct postgres_store *s, const struct store_op *op)
{
    const struct store_table *t = op->table;
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    values_begin(&s->values);
    for (uint32_t n = 0; n < sql_columns(t); n++)
        if (t->columns[n].key != KEY_NONE)
            values_field(&s->values, &t->columns[n], op->row, &s->names);
    sql_remove_row(&sql, t);
    return send_text(s, text);
}

static bool put_row(struct postgres_store *s, const struct store_op *op)
{
    const struct store_table *t = op->table;
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    if (!t->updates && sql_key_has_null(t) && !remove_row(s, op))
        return false;
    values_begin(&s->values);
    for (uint32_t n = 0; n < sql_columns(t); n++)
        values_field(&s->values, &t->columns[n], op->row, &s->names);
    if (t->updates)
        sql_update_row(&sql, t);
    else
        sql_put_row(&sql, t);
    return send_text(s, text);
}

static bool send_rows(struct postgres_store *s)
{
    bool good = true;
    for (uint32_t n = 0; n < s->op_count && good; n++)
        if (is_of_actor(s->ops[n]))
            continue;
        else if (s->ops[n]->kind == STORE_ROW_PUT)
            good = put_row(s, s->ops[n]);
        else if (s->ops[n]->kind == STORE_ROW_REMOVE)
            good = remove_row(s, s->ops[n]);
    return good;
}

static bool begin_reads(struct postgres_store *s)
{
    bool good = true;
    s->reads = 0;
    for (uint32_t n = 0; n < s->op_count && good; n++)
        good = !read_is(s->ops[n]) || read_begin(s->ops[n]);
    return good;
}

/* --- Units of one operation --- */

static bool send_set_back(struct postgres_store *s, uint64_t by)
{
    static const enum statement all[] = {STATEMENT_DUE_BACK, STATEMENT_DEADLINES_BACK,
                                         STATEMENT_HOLDS_BACK};
    bool good = true;
    for (unsigned n = 0; n < sizeof all / sizeof *all && good; n++) {
        values_begin(&s->values);
        values_number(&s->values, by < INT64_MAX ? (int64_t)by : INT64_MAX);
        good = statement_send(s, all[n]);
    }
    return good;
}

static bool send_count(struct postgres_store *s, const struct store_audit *audit)
{
    values_begin(&s->values);
    values_number(&s->values, (int64_t)audit->from);
    values_number(&s->values, STORE_COUNT_ROWS);
    return statement_send(s, STATEMENT_COUNT);
}

void batch_take_count(struct store_op *op, const PGresult *r)
{
    int64_t n[13] = {0};
    if (PQnfields(r) != 13 || PQntuples(r) != 1)
        return;
    for (int c = 0; c < 13; c++)
        n[c] = (int64_t)value_number(PQgetvalue(r, 0, c), PQgetlength(r, 0, c));
    struct store_audit *a = &op->audit;
    *a = (struct store_audit){.from = a->from,
                              .next = n[6] == STORE_COUNT_ROWS ? (uint64_t)n[12] + 1 : 0,
                              .counters = {n[0], n[1], n[2], n[3], n[4], n[5]},
                              .done = (uint64_t)n[7],
                              .failed = (uint64_t)n[8],
                              .cancelled = (uint64_t)n[9],
                              .expired = (uint64_t)n[10],
                              .dead = (uint64_t)n[11]};
    a->open = (uint64_t)n[6] - a->done - a->failed - a->cancelled - a->expired - a->dead;
}

/* --- All of a unit --- */

static bool send_ops(struct postgres_store *s, const struct unit *unit)
{
    const struct store_op *first = unit->batch->ops[unit->from];
    if (first->kind == STORE_SET_BACK)
        return send_set_back(s, first->back);
    if (first->kind == STORE_COUNT)
        return send_count(s, &first->audit);
    bool good = unfold(s, unit) && begin_reads(s) && send_rows(s);
    for (uint32_t from = 0, end; good && from < s->op_count; from = end) {
        end = run_end(s, from);
        good = send_run(s, s->ops + from, end - from);
    }
    return good;
}

bool batch_send(struct postgres_store *s, struct unit *unit)
{
    unit->need = need_of_unit(s, unit);
    unit->sent_at = clock_monotonic();
    return send_fence(s, unit) && (unit->count == 0 || send_ops(s, unit)) &&
           PQpipelineSync(s->link.pg);
}
