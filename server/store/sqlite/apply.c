/* Applies one batch of operations to the tables, and keeps the counts of the store. */
#include <assert.h>

#include "base/clock.h"
#include "server/store/sqlite/sqlite_parts.h"

/* Columns of STATEMENT_COUNTERS; before these two are counts. */
enum { COUNTER_LAST_ID = 6, COUNTER_LAST_FENCE, COUNTERS };

enum { GATHERED = 64 }; /* tasks of a group that are put together */

#define SET_BACK_LEAST AO_S(1) /* the jobs do not notice less */

static int run(struct sqlite_store *s, enum statement which, const struct store_table *m,
               const void *row)
{
    sqlite3_stmt *st = s->statements.all[which];
    int rc = row_bind(st, m, row, &s->names);
    return rc == SQLITE_OK ? statement_run(st) : rc;
}

static int submit_anew(struct sqlite_store *s, const struct store_task *task)
{
    sqlite3_stmt *st = s->statements.all[STATEMENT_DURABLE];
    const char *durable = s->names.lists[NAMES_DURABLE].names[task->durable];
    sqlite3_bind_text(st, 2, durable, -1, SQLITE_STATIC);
    int rc = statement_run_id(&s->statements, STATEMENT_DURABLE, task->id);
    return rc == SQLITE_OK && task->has_options ? run(s, STATEMENT_OPTIONS, &row_options, task)
                                                : rc;
}

/* A change of a task that has no row is refused: else its end would be reported, and not be kept.
 */
static int change(struct sqlite_store *s, const struct store_op *op)
{
    int rc = run(s, STATEMENT_CHANGE, &row_lives, &op->task);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_changes(s->db) == 0)
        return SQLITE_CONSTRAINT;
    if (op->task.anew)
        rc = submit_anew(s, &op->task);
    if (rc != SQLITE_OK)
        return rc;
    return op->task.settled ? statement_run_id(&s->statements, STATEMENT_SETTLE, op->task.id)
                            : SQLITE_OK;
}

/* The history of a task that goes on for years is cut here as it is in memory. */
static int add_event(struct sqlite_store *s, const struct store_event *event)
{
    int rc = run(s, STATEMENT_EVENT, &row_events, event);
    if (rc != SQLITE_OK || event->oldest == 0)
        return rc;
    sqlite3_bind_int64(s->statements.all[STATEMENT_TRIM_EVENTS], 2, event->oldest);
    return statement_run_id(&s->statements, STATEMENT_TRIM_EVENTS, event->id);
}

/* --- Rows of any table --- */

static int put_row(struct sqlite_store *s, const struct store_op *op)
{
    if (op->table->by_key)
        return states_put(&s->states, op, s->guards_groups);
    int rc = SQLITE_OK;
    const struct table_statements *of = statements_of(&s->statements, op->table, &rc);
    if (of)
        rc = row_bind(of->put, op->table, op->row, &s->names);
    return rc == SQLITE_OK ? statement_run(of->put) : rc;
}

static int remove_row(struct sqlite_store *s, const struct store_op *op)
{
    if (op->table->by_key)
        return states_put(&s->states, op, s->guards_groups);
    int rc = SQLITE_OK;
    const struct table_statements *of = statements_of(&s->statements, op->table, &rc);
    if (of)
        rc = row_bind_key(of->remove, op->table, op->row, &s->names);
    return rc == SQLITE_OK ? statement_run(of->remove) : rc;
}

/* The number that a row of a table of fences has. */
static uint64_t fence_of(const struct store_op *op)
{
    uint64_t fence;
    assert(op->table->columns[0].kind == COLUMN_U64);
    memcpy(&fence, op->row + op->table->columns[0].at, sizeof fence);
    return fence;
}

/* What were before 1970 is due at once. */
static int set_back(struct sqlite_store *s, uint64_t by)
{
    static const enum statement all[] = {STATEMENT_DUE_BACK, STATEMENT_DEADLINES_BACK,
                                         STATEMENT_HOLDS_BACK};
    int rc = SQLITE_OK;
    for (unsigned i = 0; i < sizeof all / sizeof *all && rc == SQLITE_OK; i++)
        rc = statement_run_id(&s->statements, all[i], by < INT64_MAX ? by : INT64_MAX);
    if (rc == SQLITE_OK)
        s->rows_ahead -= by;
    return rc;
}

/* --- Counters --- */

static uint64_t committed_at(struct sqlite_store *s)
{
    sqlite3_stmt *st = s->statements.all[STATEMENT_COMMITTED_AT];
    uint64_t at = sqlite3_step(st) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return at;
}

static uint64_t last_fence(struct sqlite_store *s)
{
    sqlite3_stmt *st = s->statements.all[STATEMENT_LAST_FENCE];
    uint64_t last = sqlite3_step(st) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return last;
}

/* Numbers, none of them below zero, and room for many more ids and fences. */
static bool are_counts(sqlite3_stmt *st)
{
    for (int n = 0; n < COUNTERS; n++) {
        int64_t value = sqlite3_column_int64(st, n);
        if (sqlite3_column_type(st, n) != SQLITE_INTEGER || value < 0 ||
            value > (n == COUNTER_LAST_FENCE ? (int64_t)STORE_FENCE_MAX : (int64_t)STORE_COUNT_MAX))
            return false;
    }
    return true;
}

static void take_counts(sqlite3_stmt *st, struct store_counts *counts, uint64_t *last_id)
{
    *counts = (struct store_counts){.submitted = sqlite3_column_int64(st, 0),
                                    .done = sqlite3_column_int64(st, 1),
                                    .failed = sqlite3_column_int64(st, 2),
                                    .cancelled = sqlite3_column_int64(st, 3),
                                    .expired = sqlite3_column_int64(st, 4),
                                    .dead = sqlite3_column_int64(st, 5)};
    *last_id = (uint64_t)sqlite3_column_int64(st, COUNTER_LAST_ID);
}

int store_read_counts(struct sqlite_store *s, struct store_counts *counts, uint64_t *last_id)
{
    sqlite3_stmt *st = s->statements.all[STATEMENT_COUNTERS];
    int rc = sqlite3_step(st);
    bool good = rc == SQLITE_ROW && are_counts(st);
    if (good)
        take_counts(st, counts, last_id);
    sqlite3_reset(st);
    if (good)
        return SQLITE_OK;
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_CORRUPT : rc;
}

void sqlite_marks(struct sqlite_store *s, struct store_marks *marks)
{
    struct store_counts counts;
    *marks = (struct store_marks){.last_fence = last_fence(s), .committed_at = committed_at(s)};
    store_read_counts(s, &counts, &marks->last_id);
}

static void add_up(struct store_counts *sum, const struct store_counts *more)
{
    sum->submitted += more->submitted;
    sum->done += more->done;
    sum->failed += more->failed;
    sum->cancelled += more->cancelled;
    sum->expired += more->expired;
    sum->dead += more->dead;
}

/* Once the wall clock is set back, rows have times of the old one until STORE_SET_BACK comes.  If
 * the server ends before that, the next start learns from this time that it has to set them back.
 */
static uint64_t time_of_rows(struct sqlite_store *s)
{
    uint64_t now = clock_monotonic(), ahead = clock_wall() - now;
    if ((int64_t)(ahead - s->rows_ahead) > -(int64_t)SET_BACK_LEAST)
        s->rows_ahead = ahead;
    return now + s->rows_ahead;
}

int store_add_counts(struct sqlite_store *s)
{
    sqlite3_stmt *st = s->statements.all[STATEMENT_ADD];
    const int64_t numbers[] = {s->add.submitted, s->add.done, s->add.failed,      s->add.cancelled,
                               s->add.expired,   s->add.dead, (int64_t)s->last_id};
    for (int n = 0; n < (int)(sizeof numbers / sizeof *numbers); n++)
        sqlite3_bind_int64(st, n + 1, numbers[n]);
    sqlite3_bind_int64(st, 8, (sqlite3_int64)time_of_rows(s));
    sqlite3_bind_int64(st, 9, (sqlite3_int64)s->last_fence);
    return statement_run(st);
}

static void read_rows(sqlite3_stmt *st, struct store_audit *audit)
{
    uint64_t *const ended[] = {&audit->done, &audit->failed, &audit->cancelled, &audit->expired,
                               &audit->dead};
    audit->open = (uint64_t)sqlite3_column_int64(st, 0);
    if (audit->open == STORE_COUNT_ROWS)
        audit->next = (uint64_t)sqlite3_column_int64(st, 6) + 1;
    for (int n = 0; n < (int)(sizeof ended / sizeof *ended); n++) {
        *ended[n] = (uint64_t)sqlite3_column_int64(st, n + 1);
        audit->open -= *ended[n];
    }
}

/* Counts what stood before this operation in its batch, too. */
static int count(struct sqlite_store *s, struct store_audit *audit)
{
    uint64_t last;
    *audit = (struct store_audit){.from = audit->from};
    int rc = store_read_counts(s, &audit->counters, &last);
    if (rc != SQLITE_OK)
        return rc;
    add_up(&audit->counters, &s->add);
    sqlite3_stmt *st = s->statements.all[STATEMENT_COUNT];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)audit->from);
    sqlite3_bind_int64(st, 2, STORE_COUNT_ROWS);
    rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        read_rows(st, audit);
    sqlite3_reset(st);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* --- Turns that wait --- */

/* One that is refused makes the others wait for their own: each is written alone then. */
static int write_turns(struct sqlite_store *s)
{
    int rc = states_write(&s->states);
    return statement_failed_alone(rc) ? APPLY_AGAIN : rc;
}

static int read_states(struct sqlite_store *s, struct store_op *op)
{
    int rc = write_turns(s);
    return rc == SQLITE_OK ? states_get(&s->states, op) : rc;
}

/* --- One operation --- */

static int apply(struct sqlite_store *s, struct store_op *op)
{
    switch (op->kind) {
    case STORE_PUT:
        return SQLITE_INTERNAL; /* see put.c */
    case STORE_CHANGE:
        return change(s, op);
    case STORE_REMOVE:
        return op->task.bare ? statement_run_id(&s->statements, STATEMENT_REMOVE, op->task.id)
                             : put_take_out(s, op->task.id);
    case STORE_EVENT:
        return add_event(s, &op->event);
    case STORE_ROW_PUT:
        return put_row(s, op);
    case STORE_ROW_REMOVE:
        return remove_row(s, op);
    case STORE_SYNC:
        return SQLITE_OK;
    case STORE_SET_BACK:
        return set_back(s, op->back);
    case STORE_COUNT:
        return count(s, &op->audit);
    case STORE_LOAD:
        return SQLITE_INTERNAL; /* never in a batch */
    case STORE_MARKS:
    case STORE_HAND_OVER:
        return SQLITE_CONSTRAINT; /* of a cluster */
    case STORE_GROUP:
        return SQLITE_INTERNAL; /* see apply_group() */
    case STORE_ROW_GET:
    case STORE_ROW_PAGE:
        return read_states(s, op);
    }
    return SQLITE_INTERNAL;
}

static int apply_one(struct sqlite_store *s, struct store_op *op)
{
    int rc = apply(s, op);
    if (!statement_failed_alone(rc))
        return rc;
    assert(op->error == STORE_OK);
    op->error = STORE_REFUSED;
    return SQLITE_OK;
}

/* --- Groups --- */

/* Puts these tasks and those that follow them.  SQLITE_CONSTRAINT: one was refused. */
static int put_members(struct sqlite_store *s, struct store_op **next)
{
    struct store_op *puts[GATHERED], **batch = s->batch;
    uint32_t count = 0, good = 0;
    for (; *next && (*next)->kind == STORE_PUT && count < GATHERED; *next = (*next)->next)
        puts[count++] = *next;
    s->batch = puts;
    int rc = put_all(s, 0, count);
    s->batch = batch;
    while (good < count && puts[good]->error == STORE_OK)
        good++;
    return rc == SQLITE_OK && good < count ? SQLITE_CONSTRAINT : rc;
}

static int apply_members(struct sqlite_store *s, const struct store_op *group)
{
    struct store_op *next = group->group.first;
    int rc = SQLITE_OK;
    while (next && rc == SQLITE_OK) {
        if (next->kind == STORE_PUT) {
            rc = put_members(s, &next);
            continue;
        }
        rc = apply(s, next);
        next = next->next;
    }
    return rc;
}

static int refuse_group(struct sqlite_store *s, struct store_op *group,
                        const struct states_savepoint *savepoint)
{
    int rc = statement_run(s->statements.all[STATEMENT_ROLLBACK_TO]);
    states_undo(&s->states, savepoint);
    if (rc == SQLITE_OK)
        rc = statement_run(s->statements.all[STATEMENT_RELEASE]);
    store_op_end(group, STORE_REFUSED);
    s->lost_group = true;
    return rc;
}

static int apply_group(struct sqlite_store *s, struct store_op *group)
{
    if (!s->guards_groups) {
        int rc = apply_members(s, group);
        return statement_failed_alone(rc) ? APPLY_AGAIN : rc;
    }
    if (s->lost_group && group->group.follows) {
        store_op_end(group, STORE_FOLLOWS);
        return SQLITE_OK;
    }
    const struct states_savepoint savepoint = states_savepoint(&s->states);
    int rc = statement_run(s->statements.all[STATEMENT_SAVEPOINT]);
    if (rc == SQLITE_OK)
        rc = apply_members(s, group);
    if (statement_failed_alone(rc))
        return refuse_group(s, group, &savepoint);
    return rc == SQLITE_OK ? statement_run(s->statements.all[STATEMENT_RELEASE]) : rc;
}

/* --- A batch --- */

static void account(struct sqlite_store *s, const struct store_op *op)
{
    if (op->error != STORE_OK)
        return;
    add_up(&s->add, &op->add);
    if (op->kind == STORE_PUT && op->task.id > s->last_id)
        s->last_id = op->task.id;
    if (op->kind == STORE_ROW_PUT && op->table->fences && fence_of(op) > s->last_fence)
        s->last_fence = fence_of(op);
    for (op = op->kind == STORE_GROUP ? op->group.first : NULL; op; op = op->next)
        account(s, op);
}

static int apply_from(struct sqlite_store *s, uint32_t from, uint32_t end)
{
    struct store_op *op = s->batch[from];
    if (op->kind == STORE_PUT)
        return put_all(s, from, end);
    return op->kind == STORE_GROUP ? apply_group(s, op) : apply_one(s, op);
}

int store_apply(struct sqlite_store *s, uint32_t count)
{
    int rc = SQLITE_OK;
    for (uint32_t from = 0, end; from < count && rc == SQLITE_OK; from = end) {
        end = s->batch[from]->kind == STORE_PUT ? put_run(s, from, count) : from + 1;
        rc = apply_from(s, from, end);
        for (uint32_t n = from; n < end; n++)
            account(s, s->batch[n]);
    }
    return rc == SQLITE_OK ? write_turns(s) : rc;
}
