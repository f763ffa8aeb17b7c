/* Reads all rows, on a connection of its own, as one snapshot, in pieces of some thousand: COPY
 * in binary, a message a row. */
#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/chunk.h"
#include "server/store/postgres/load.h"
#include "server/store/postgres/sql.h"

#define LOAD_TIMEOUT AO_S(60)   /* for the first row of a table, and for each further one */
#define LOAD_PART    AO_MS(500) /* a chunk waits no longer for its next row: the store may stop */
#define LOCK_PART    "500ms"    /* nor for a lock of a table */
enum { COPY_HEADER = 19 };
static const char copy_signature[11] = "PGCOPY\n\377\r\n"; /* its NUL is part of it */

/* What is read of the owner's row, in this order. */
enum { MARK_EPOCH, MARK_BOARDS, MARK_ID, MARK_FENCE, MARKS };
static const char marks_sql[] =
    "SELECT epoch, boards, id_mark, fence_mark, submitted, done, failed, cancelled, expired, dead, "
    "last_id, committed_at, last_fence, commits FROM ergon.owner";
enum { COUNT_LAST_ID = 6, COUNT_COMMITTED_AT, COUNT_LAST_FENCE, COUNT_COMMITS, COUNTS };

struct loader {
    struct connection c;
    bool all;                /* also rows that are read by their keys: no owner reads */
    uint32_t step;           /* 0: marks; then rows of tables; then tasks; then events */
    bool copies;             /* the COPY of this step has begun */
    bool headed;             /* and its header is behind */
    ao_time waited;          /* for its next message */
    uint64_t last;           /* id: of the task, or of the event's, that was read last */
    uint32_t seq;            /* of that event */
    uint64_t options, lives; /* rows that belonged to a task */
    struct store_chunk *chunk;
    struct store_fault *fault;
    struct postgres_store *store;
};

/* --- What cannot be: then the row is no row of ours any more --- */

static bool damaged(struct loader *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool damaged(struct loader *l, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_say(l->fault, STORE_CORRUPT, l->store->where,
              "%s; correct the row by hand, or restore the database from a backup", text);
    return false;
}

static bool no_memory(struct loader *l)
{
    error_say(l->fault, STORE_MEMORY, l->store->where, "there is no memory to read the rows");
    return false;
}

/* --- Fields --- */

/* One row as it came: fields with their lengths before them. */
struct row {
    const char *at;
    size_t left;
    uint32_t fields; /* that were not read yet */
    bool typed;      /* it is a field itself: before each length is a type */
};

/* A field; len is -1 for NULL.  False: the row has no more, or it is cut. */
static bool next_field(struct row *r, const char **at, int *len)
{
    uint32_t size;
    size_t type = r->typed ? sizeof(uint32_t) : 0;
    if (r->fields == 0 || r->left < type + sizeof size)
        return false;
    memcpy(&size, r->at + type, sizeof size);
    *len = (int)be32toh(size);
    r->at += type + sizeof size;
    r->left -= type + sizeof size;
    r->fields--;
    *at = r->at;
    if (*len < 0)
        return true;
    if (r->left < (size_t)*len)
        return false;
    r->at += *len;
    r->left -= (size_t)*len;
    return true;
}

/* A field that is a row; !*there: it is NULL. */
static bool next_row(struct row *r, struct row *row, bool *there)
{
    const char *at;
    int len;
    uint32_t fields = 0;
    if (!next_field(r, &at, &len))
        return false;
    *there = len >= 0;
    if (*there && (size_t)len < sizeof fields)
        return false;
    if (*there)
        memcpy(&fields, at, sizeof fields);
    *row = (struct row){.at = at + sizeof fields,
                        .left = *there ? (size_t)len - sizeof fields : 0,
                        .fields = be32toh(fields),
                        .typed = true};
    return true;
}

/* Reads the columns of a map.  NULL, or the first column that holds what its field cannot. */
static const struct store_column *take_columns(struct row *r, const struct store_table *t, void *to,
                                               const struct row_names *names)
{
    const uint32_t columns = sql_columns(t);
    for (uint32_t n = 0; n < columns; n++) {
        const struct store_column *c = &t->columns[n];
        const char *at = NULL;
        int len = -1;
        if (!next_field(r, &at, &len) || !value_take(c, at, len, to, names))
            return c;
    }
    return NULL;
}

/* The same of a table of which the task may have no row. */
static const struct store_column *take_part(struct row *r, const struct store_table *t,
                                            struct store_task *task, bool *there,
                                            const struct row_names *names)
{
    struct row part;
    if (!next_row(r, &part, there))
        return &t->columns[0];
    return *there ? take_columns(&part, t, task, names) : NULL;
}

/* --- Rows --- */

static bool bad_column(struct loader *l, const char *table, uint64_t id,
                       const struct store_column *c)
{
    return damaged(l, "row %lld of ergon.%s has an impossible value in the column %s",
                   (long long)id, table, c->name);
}

/* A part of the key that is text is never empty; NULL: it is not. */
static const struct store_column *empty_key(const struct store_table *t, const uint8_t *row)
{
    for (uint32_t n = 0; n < sql_columns(t); n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key == KEY_PART && c->kind == COLUMN_TEXT &&
            ((const struct span *)(row + c->at))->len == 0)
            return c;
    }
    return NULL;
}

static bool take_table_row(struct loader *l, struct row *r, const struct store_table *t)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    const struct store_column *bad = take_columns(r, t, row, &l->store->names);
    if (!bad)
        bad = empty_key(t, row);
    if (bad) {
        const struct span *name = (const struct span *)(row + t->named);
        return damaged(l, "row \"%.*s\" of ergon.%s has an impossible value in the column %s",
                       (int)name->len, (const char *)name->at, t->table, bad->name);
    }
    return store_chunk_row(l->chunk, t, row) || no_memory(l);
}

static bool take_task(struct loader *l, struct row *r)
{
    const struct store_table *part = &row_database_submissions;
    const struct row_names *names = &l->store->names;
    struct store_task task = {0};
    const struct store_column *bad = take_columns(r, part, &task, names);
    if (!bad)
        bad = take_part(r, part = &row_options, &task, &task.has_options, names);
    if (!bad)
        bad = take_part(r, part = &row_lives, &task, &task.has_life, names);
    if (bad)
        return bad_column(l, part->table, task.id, bad);
    if (task.id <= l->last || task.id > INT64_MAX)
        return damaged(l, "row %lld of ergon.submissions has a number that no row can have",
                       (long long)task.id);
    l->last = task.id;
    l->options += task.has_options;
    l->lives += task.has_life;
    return store_chunk_task(l->chunk, &task) || no_memory(l);
}

static bool take_event(struct loader *l, struct row *r)
{
    struct store_event event = {0};
    const struct store_column *bad = take_columns(r, &row_events, &event, &l->store->names);
    if (bad)
        return bad_column(l, row_events.table, event.id, bad);
    if (event.id < l->last || (event.id == l->last && event.seq <= l->seq))
        return damaged(l, "row %lld of ergon.events has a number that no row can have",
                       (long long)event.id);
    l->last = event.id;
    l->seq = event.seq;
    return store_chunk_event(l->chunk, &event) || no_memory(l);
}

/* --- Steps --- */

/* The table of a step; NULL: it is a later one, which *last counts from 0. */
static const struct store_table *table_of(const struct loader *l, uint32_t *last)
{
    uint32_t at = 1;
    for (uint32_t n = 0; n < l->store->table_count; n++) {
        const struct store_table *t = l->store->tables[n];
        if (t->one && (l->all || !t->by_key) && at++ == l->step)
            return t;
    }
    *last = l->step - at;
    return NULL;
}

static bool run_on(const struct postgres_store *s, struct connection *c, const char *sql,
                   struct store_fault *fault)
{
    PGresult *r = connection_run(c, sql, NULL, clock_monotonic() + LOAD_TIMEOUT, s->where, fault);
    PQclear(r);
    return r != NULL;
}

static bool run(struct loader *l, const char *sql)
{
    return run_on(l->store, &l->c, sql, l->fault);
}

static bool begin_copy(struct loader *l)
{
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    uint32_t last = 0;
    const struct store_table *t = table_of(l, &last);
    sql_add(&sql, "COPY (");
    if (t)
        sql_select(&sql, t);
    else if (last == 0)
        sql_select_tasks(&sql);
    else
        sql_select(&sql, &row_events);
    sql_add(&sql, ") TO STDOUT (FORMAT binary)");
    l->last = l->seq = 0;
    l->headed = false;
    l->waited = 0;
    l->copies = run(l, text);
    return l->copies;
}

/* A row, or the header and perhaps a row, or the end. */
static bool take_message(struct loader *l, const char *at, size_t len)
{
    uint16_t fields;
    uint32_t last = 0;
    if (!l->headed) {
        if (len < COPY_HEADER || memcmp(at, copy_signature, sizeof copy_signature) != 0)
            return damaged(l, "what the server sends is no COPY");
        at += COPY_HEADER;
        len -= COPY_HEADER;
        l->headed = true;
    }
    if (len < sizeof fields)
        return true;
    memcpy(&fields, at, sizeof fields);
    fields = be16toh(fields);
    if (fields == UINT16_MAX)
        return true;
    struct row r = {.at = at + sizeof fields, .left = len - sizeof fields, .fields = fields};
    const struct store_table *t = table_of(l, &last);
    if (t)
        return take_table_row(l, &r, t);
    return last == 0 ? take_task(l, &r) : take_event(l, &r);
}

enum { NONE_YET = 2 };

/* Returns how long it waited for more. */
static ao_time wait_for_more(struct loader *l, ao_time most)
{
    ao_time began = clock_monotonic();
    connection_wait(&l->c, false, -1, most);
    ao_time took = clock_monotonic() - began;
    l->waited += took;
    return took;
}

/* 1: a message; NONE_YET; 0: that was all; -1 and the fault. */
static int next_message(struct loader *l, char **message, int *len)
{
    ao_time waited = 0;
    while ((*len = PQgetCopyData(l->c.pg, message, 1)) == 0) {
        if (waited >= LOAD_PART && l->waited < LOAD_TIMEOUT)
            return NONE_YET;
        if (waited >= LOAD_PART) {
            error_say(l->fault, STORE_AWAY, l->store->where, "the server does not answer");
            return -1;
        }
        waited += wait_for_more(l, LOAD_PART - waited);
        if (!PQconsumeInput(l->c.pg))
            break;
    }
    l->waited = 0;
    if (*len > 0)
        return 1;
    PGresult *r = PQgetResult(l->c.pg);
    bool good = *len == -1 && r && PQresultStatus(r) == PGRES_COMMAND_OK;
    if (!good && r)
        error_of_result(l->fault, l->store->where, r);
    else if (!good)
        error_of_connection(l->fault, l->store->where, l->c.pg);
    PQclear(r);
    while (good && (r = PQgetResult(l->c.pg)))
        PQclear(r);
    return good ? 0 : -1;
}

/* --- The first step: marks and counters --- */

static bool are_counts(const uint64_t *n)
{
    for (int c = 0; c < COUNTS; c++)
        if (c != COUNT_COMMITTED_AT &&
            n[c] > (c == COUNT_LAST_FENCE ? STORE_FENCE_MAX : STORE_COUNT_MAX))
            return false;
    return true;
}

static bool take_marks(struct loader *l, const uint64_t *n, uint64_t epoch)
{
    const uint64_t *c = n + MARKS;
    if (n[MARK_EPOCH] < epoch) {
        error_say_former(l->fault, l->store->where, n[MARK_EPOCH], epoch);
        return false;
    }
    if (epoch && n[MARK_EPOCH] != epoch) {
        error_say(l->fault, STORE_FENCED, l->store->where,
                  "another node owns the tasks (epoch %llu, and not %llu)",
                  (unsigned long long)n[MARK_EPOCH], (unsigned long long)epoch);
        return false;
    }
    if (!are_counts(c))
        return damaged(l, "ergon.owner has what is no count");
    struct store_marks marks = {.last_id = c[COUNT_LAST_ID],
                                .last_fence = c[COUNT_LAST_FENCE],
                                .committed_at = c[COUNT_COMMITTED_AT],
                                .id_mark = n[MARK_ID],
                                .fence_mark = n[MARK_FENCE],
                                .boards = (uint32_t)n[MARK_BOARDS],
                                .commits = c[COUNT_COMMITS]};
    struct store_counts counts = {(int64_t)c[0], (int64_t)c[1], (int64_t)c[2],
                                  (int64_t)c[3], (int64_t)c[4], (int64_t)c[5]};
    return (store_chunk_marks(l->chunk, &marks) && store_chunk_counts(l->chunk, &counts)) ||
           no_memory(l);
}

static bool read_marks(struct loader *l, uint64_t epoch)
{
    const struct params none = {0};
    uint64_t n[MARKS + COUNTS];
    PGresult *r = connection_run(&l->c, marks_sql, &none, clock_monotonic() + LOAD_TIMEOUT,
                                 l->store->where, l->fault);
    if (!r)
        return false;
    bool good = PQntuples(r) == 1;
    for (int c = 0; c < MARKS + COUNTS && good; c++)
        n[c] = value_number(PQgetvalue(r, 0, c), PQgetlength(r, 0, c));
    PQclear(r);
    return good ? take_marks(l, n, epoch) : damaged(l, "ergon.owner has no row");
}

/* --- Before it: locks --- */

/* Names the session that is in the way. */
static void say_holder(const struct postgres_store *s, struct connection *c,
                       struct store_fault *fault)
{
    static const char sql[] =
        "SELECT l.relation::regclass::text, l.pid::text, coalesce(a.application_name, '') "
        "FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.granted AND l.mode "
        "IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock') "
        "AND l.relation IN (SELECT oid FROM pg_class WHERE relnamespace = "
        "to_regnamespace('ergon')) "
        "ORDER BY l.mode, 1 LIMIT 1";
    PGresult *r = connection_run(c, sql, NULL, clock_monotonic() + LOAD_TIMEOUT, s->where, fault);
    if (r && PQntuples(r) == 1)
        error_say(fault, STORE_AWAY, s->where,
                  "%s is locked by the session %s (%s), which has to end (SELECT "
                  "pg_terminate_backend(%s))",
                  PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 1), PQgetvalue(r, 0, 2),
                  PQgetvalue(r, 0, 1));
    else if (r)
        error_say(fault, STORE_AWAY, s->where, "a table is locked");
    PQclear(r);
}

/* Each table but ergon.owner, between two other texts. */
static void add_tables(struct sql *sql, const struct postgres_store *s, const char *before,
                       const char *after)
{
    const struct store_table *const last[] = {&row_database_submissions, &row_options, &row_lives,
                                              &row_events};
    for (uint32_t n = 0; n < s->table_count; n++)
        if (s->tables[n]->one)
            sql_add(sql, "%sergon.%s%s", before, s->tables[n]->table, after);
    for (unsigned n = 0; n < sizeof last / sizeof *last; n++)
        sql_add(sql, "%sergon.%s%s", before, last[n]->table, after);
}

/* For a look: a transaction that locks all tables as writes do.  For the load: in its transaction,
 * as reads do; to plan a SELECT locks all indexes of its table, too, which a REINDEX has.  False:
 * the fault; *held: another session is in the way, and the transaction is over. */
static bool lock_all(const struct postgres_store *s, struct connection *c, bool loads,
                     struct store_fault *fault, bool *held)
{
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    *held = false;
    sql_add(&sql, "%sSET LOCAL lock_timeout = '" LOCK_PART "'; LOCK TABLE ergon.owner",
            loads ? "" : "BEGIN; ");
    add_tables(&sql, s, ", ", "");
    sql_add(&sql, " IN %s MODE; ", loads ? "ACCESS SHARE" : "ROW EXCLUSIVE");
    if (loads) {
        sql_add(&sql, "SELECT FROM ergon.owner LIMIT 0; ");
        add_tables(&sql, s, "SELECT FROM ", " LIMIT 0; ");
    }
    sql_add(&sql, loads ? "SET LOCAL lock_timeout = 0" : "COMMIT");
    if (run_on(s, c, text, fault))
        return true;
    if (!c->pg || fault->error != STORE_AWAY || !run_on(s, c, "ROLLBACK", fault))
        return false;
    *held = true;
    say_holder(s, c, fault);
    return false;
}

bool load_look_for_locks(struct postgres_store *s, struct store_fault *fault)
{
    bool held;
    return lock_all(s, &s->link, false, fault, &held);
}

enum { LOCKED = 2 };

/* Takes the tables before the snapshot: one that another session rewrites meanwhile would have no
 * row in an older snapshot. */
static int lock_for_load(struct loader *l)
{
    bool held;
    if (lock_all(l->store, &l->c, true, l->fault, &held))
        return 1;
    if (!held || !l->c.pg)
        return -1;
    error_add_retry(l->fault);
    return LOCKED;
}

/* --- The last: options and a life belong to a task, or it has lost its own row --- */

static bool none_left(struct loader *l, const char *table, uint64_t belonged)
{
    char text[100];
    struct sql sql = {.at = text, .room = sizeof text};
    const struct params none = {0};
    sql_add(&sql, "SELECT count(*) FROM ergon.%s", table);
    PGresult *r = connection_run(&l->c, text, &none, clock_monotonic() + LOAD_TIMEOUT,
                                 l->store->where, l->fault);
    if (!r)
        return false;
    uint64_t rows = value_number(PQgetvalue(r, 0, 0), PQgetlength(r, 0, 0));
    PQclear(r);
    return rows == belonged ||
           damaged(l, "of %llu rows of ergon.%s only %llu belong to a task",
                   (unsigned long long)rows, table, (unsigned long long)belonged);
}

/* --- All --- */

/* By the indexes, in their order: the first row comes at once, whatever the tables' statistics are,
 * and nothing is sorted. */
static const char begin_sql[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                                "SET LOCAL enable_hashjoin = off; SET LOCAL enable_sort = off";

static struct loader *begin(struct postgres_store *s, struct store_fault *fault)
{
    struct loader *l = calloc(1, sizeof *l);
    if (!l) {
        error_say(fault, STORE_MEMORY, s->where, "there is no memory to read the rows");
        return NULL;
    }
    l->store = s;
    l->fault = fault;
    if (connection_open(&l->c, s->where, CONNECTION_READS, s->stop, fault) && run(l, begin_sql))
        return l;
    connection_close(&l->c);
    free(l);
    return NULL;
}

void load_free(struct postgres_store *s)
{
    if (!s->loader)
        return;
    connection_close(&s->loader->c);
    free(s->loader);
    s->loader = NULL;
}

/* Fills the chunk.  1: there are more rows; LOCKED: so there are, and all begins anew; 0: that was
 * all; -1. */
static int fill(struct loader *l, uint64_t epoch)
{
    uint32_t last = 0;
    if (l->step == 0) {
        int locked = lock_for_load(l);
        if (locked != 1 || !read_marks(l, epoch))
            return locked == LOCKED ? LOCKED : -1;
        l->step++;
    }
    while (store_chunk_rows(l->chunk) < STORE_CHUNK_ROWS) {
        char *message = NULL;
        int len = 0;
        if (!l->copies && !begin_copy(l))
            return -1;
        int more = next_message(l, &message, &len);
        if (more == NONE_YET)
            return 1;
        bool good = more <= 0 || take_message(l, message, (size_t)len);
        PQfreemem(message);
        if (more < 0 || !good)
            return -1;
        if (more > 0)
            continue;
        l->copies = false;
        if (!table_of(l, &last) && last == 1)
            return none_left(l, row_options.table, l->options) &&
                           none_left(l, row_lives.table, l->lives)
                       ? 0
                       : -1;
        l->step++;
    }
    return 1;
}

int load_next(struct postgres_store *s, uint64_t epoch, struct store_chunk *chunk,
              struct store_fault *fault)
{
    if (!s->loader)
        s->loader = begin(s, fault);
    if (!s->loader)
        return -1;
    s->loader->all = epoch == 0;
    s->loader->chunk = chunk;
    s->loader->fault = fault;
    int more = fill(s->loader, epoch);
    if (more != 1)
        load_free(s);
    if (more == 0 || more == 1)
        fault->text[0] = '\0'; /* of a host that was tried before */
    return more == LOCKED ? 1 : more;
}
