/* Fills a database without rows: COPY in binary, a table after the other and again, in one
 * transaction, which has the owner's row locked from its begin. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/connection.h"
#include "server/store/postgres/errors.h"
#include "server/store/postgres/sql.h"
#include "server/store/postgres/values.h"

#define FILL_TIMEOUT AO_S(600)
enum { PIECE = 1 << 20 /* bytes of a table that are sent together */ };

/* The signature, no flags, no extension. */
static const char copy_header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
static const char copy_trailer[2] = {'\377', '\377'};

struct fill {
    char *where;
    struct connection c;
    struct row_names names;
    struct values rows[ROW_DATABASE_TABLES]; /* that were not sent yet */
    uint32_t boards;                         /* of the owner's row */
};

static void free_fill(struct fill *f)
{
    connection_close(&f->c);
    for (int n = 0; n < ROW_DATABASE_TABLES; n++)
        values_free(&f->rows[n]);
    free(f->where);
    free(f);
}

static PGresult *run(struct fill *f, const char *sql, const struct params *params,
                     struct store_fault *fault)
{
    return connection_run(&f->c, sql, params, clock_monotonic() + FILL_TIMEOUT, f->where, fault);
}

static bool do_run(struct fill *f, const char *sql, const struct params *params,
                   struct store_fault *fault)
{
    PGresult *r = run(f, sql, params, fault);
    PQclear(r);
    return r != NULL;
}

/* --- The database --- */

/* The lock keeps nodes from taking the rows over meanwhile. */
static bool lock_owner(struct fill *f, struct store_fault *fault)
{
    const struct params none = {0};
    PGresult *r = do_run(f, "BEGIN", NULL, fault)
                      ? run(f, "SELECT node, boards FROM ergon.owner FOR UPDATE", &none, fault)
                      : NULL;
    if (!r)
        return false;
    bool there = PQntuples(r) == 1, owned = there && !PQgetisnull(r, 0, 0);
    if (!there)
        error_say(fault, STORE_CORRUPT, f->where, "ergon.owner has no row");
    else if (owned)
        error_say(fault, STORE_FENCED, f->where,
                  "the node %.*s owns the tasks; stop the nodes first (ergon cluster drain)",
                  PQgetlength(r, 0, 0), PQgetvalue(r, 0, 0));
    else
        f->boards = (uint32_t)value_number(PQgetvalue(r, 0, 1), PQgetlength(r, 0, 1));
    PQclear(r);
    return there && !owned;
}

static bool is_empty(struct fill *f, const struct store_table *t, struct store_fault *fault)
{
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    const struct params none = {0};
    sql_add(&sql, "SELECT 1 FROM ergon.%s LIMIT 1", t->table);
    PGresult *r = run(f, text, &none, fault);
    if (!r)
        return false;
    bool empty = PQntuples(r) == 0;
    PQclear(r);
    if (!empty)
        error_say(fault, STORE_REFUSED, f->where,
                  "it has rows already (in ergon.%s); name a database that has none", t->table);
    return empty;
}

static bool are_empty(struct fill *f, struct store_fault *fault)
{
    for (int n = 0; n < ROW_DATABASE_TABLES; n++)
        if (!row_database_tables[n]->one_row && !is_empty(f, row_database_tables[n], fault))
            return false;
    return true;
}

static void *fill_begin(const struct store_setup *setup, struct store_fault *fault)
{
    char text[sizeof fault->text];
    const char *wrong = connection_check(setup->where, text, sizeof text);
    struct fill *f = wrong ? NULL : calloc(1, sizeof *f);
    if (wrong) {
        *fault = (struct store_fault){.error = STORE_IO};
        memcpy(fault->text, text, sizeof text);
        return NULL;
    }
    if (!f || !(f->where = strdup(setup->where))) {
        error_say(fault, STORE_MEMORY, setup->where, "there is no memory to fill it");
        free(f);
        return NULL;
    }
    f->names = setup->names;
    if (connection_open(&f->c, f->where, CONNECTION_WRITES, 0, fault) && lock_owner(f, fault) &&
        are_empty(f, fault))
        return f;
    free_fill(f);
    return NULL;
}

/* --- Rows --- */

static bool put(struct fill *f, const void *at, size_t len)
{
    return PQputCopyData(f->c.pg, at, (int)len) == 1;
}

static bool finish_copy(struct fill *f, struct store_fault *fault)
{
    bool good = true;
    PGresult *r;
    while ((r = PQgetResult(f->c.pg))) {
        if (good && PQresultStatus(r) != PGRES_COMMAND_OK) {
            error_of_result(fault, f->where, r);
            good = false;
        }
        PQclear(r);
    }
    return good;
}

static bool send_rows(struct fill *f, int n, struct store_fault *fault)
{
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    struct values *v = &f->rows[n];
    if (v->len == 0)
        return true;
    sql_add(&sql, "COPY ergon.%s (", row_database_tables[n]->table);
    for (uint32_t c = 0; c < row_database_tables[n]->count + row_database_tables[n]->more; c++)
        sql_add(&sql, "%s%s", c ? ", " : "", row_database_tables[n]->columns[c].name);
    sql_add(&sql, ") FROM STDIN (FORMAT binary)");
    if (!do_run(f, text, NULL, fault))
        return false;
    if (PQsetnonblocking(f->c.pg, 0) != 0 || !put(f, copy_header, sizeof copy_header) ||
        !put(f, v->at, v->len) || !put(f, copy_trailer, sizeof copy_trailer) ||
        PQputCopyEnd(f->c.pg, NULL) != 1) {
        error_of_connection(fault, f->where, f->c.pg);
        return false;
    }
    values_begin(v);
    return finish_copy(f, fault);
}

static int index_of(const struct store_table *table)
{
    int n = 0;
    while (strcmp(row_database_tables[n]->table, table->table) != 0)
        n++;
    return n;
}

static int fill_row(void *fill, const struct store_table *table, const void *row,
                    struct store_fault *fault)
{
    struct fill *f = fill;
    int n = index_of(table);
    struct store_task task;
    if (row_database_tables[n]->more > 0) { /* its boards */
        task = *(const struct store_task *)row;
        task.boards = f->boards;
        row = &task;
    }
    values_copy_row(&f->rows[n], row_database_tables[n], row, &f->names);
    if (f->rows[n].failed) {
        error_say(fault, STORE_MEMORY, f->where, "there is no memory for a row");
        return -1;
    }
    return f->rows[n].len < PIECE || send_rows(f, n, fault) ? 0 : -1;
}

/* --- Counters --- */

static bool send_counters(struct fill *f, const struct row_counters *counters,
                          struct store_fault *fault)
{
    char text[SQL_MAX];
    struct sql sql = {.at = text, .room = sizeof text};
    struct values v = {0};
    sql_add(&sql, "UPDATE ergon.owner SET ");
    values_begin(&v);
    for (uint32_t n = 0; n < row_counters.count; n++) {
        const struct store_column *c = &row_counters.columns[n];
        sql_add(&sql, "%s%s = $%u", n ? ", " : "", c->name, n + 1);
        values_number(&v, (int64_t) * (const uint64_t *)((const char *)counters + c->at));
    }
    const struct params *params = values_end(&v);
    if (!params)
        error_say(fault, STORE_MEMORY, f->where, "there is no memory for the counters");
    bool good = params && do_run(f, text, params, fault);
    values_free(&v);
    return good;
}

static bool finish(struct fill *f, const struct row_counters *counters, struct store_fault *fault)
{
    for (int n = 0; n < ROW_DATABASE_TABLES; n++)
        if (!send_rows(f, n, fault))
            return false;
    return send_counters(f, counters, fault) && do_run(f, "COMMIT", NULL, fault);
}

static int fill_end(void *fill, const struct row_counters *counters, struct store_fault *fault)
{
    struct fill *f = fill;
    bool good = !counters || finish(f, counters, fault);
    free_fill(f); /* what was not committed is taken back */
    return good ? 0 : -1;
}

__attribute__((visibility("default"))) extern const struct store_fill ergon_store_fill;
const struct store_fill ergon_store_fill = {
    .version = STORE_DRIVER_VERSION, .begin = fill_begin, .row = fill_row, .end = fill_end};
