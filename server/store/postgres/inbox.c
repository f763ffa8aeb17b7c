/* The inbox in PostgreSQL: see server/store/inbox_source.h.
 *
 * A read needs no fence: what it returns may be gone or refused meanwhile, and the store's DELETE
 * decides.  Its commit waits for nothing, as it writes nothing; rows that a fail-over loses are
 * lost together with the tasks that they became. */
#include "server/store/inbox_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/ddl_inbox.h"
#include "server/store/postgres/driver_parts.h"

#define CALL_TIMEOUT AO_S(9)

struct inbox {
    char *where;
    int stop;
    struct connection c;
    struct values values;
    struct store_fault fault;
};

static void inbox_close(void *source)
{
    struct inbox *b = source;
    if (!b)
        return;
    connection_close(&b->c);
    values_free(&b->values);
    free(b->where);
    free(b);
}

static void *inbox_open(const char *where, int stop)
{
    struct inbox *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->stop = stop;
    b->where = strdup(where);
    if (b->where)
        return b;
    free(b);
    return NULL;
}

static bool is_right_or_name(const PGconn *pg, const struct store_fault *fault)
{
    return pg && fault->error != STORE_AWAY;
}

/* A connection that broke is closed by connection_run(); one that was refused what it asked for
 * stays, but for the next call it may have been repaired. */
static enum inbox_result fail(struct inbox *b, char *error, size_t size)
{
    bool missing = is_right_or_name(b->c.pg, &b->fault);
    snprintf(error, size, "%s", b->fault.text);
    connection_close(&b->c);
    return missing ? INBOX_MISSING : INBOX_AWAY;
}

static PGresult *run(struct inbox *b, const char *sql)
{
    const struct params *p = values_end(&b->values);
    if (!p) {
        error_say(&b->fault, STORE_AWAY, b->where, "there is no memory");
        return NULL;
    }
    return connection_run(&b->c, sql, p->count > 0 ? p : NULL, clock_monotonic() + CALL_TIMEOUT,
                          b->where, &b->fault);
}

/* Without the right to DELETE the store would fail with the first row. */
static bool is_there(struct inbox *b)
{
    PGresult *r =
        run(b, "SELECT coalesce(bool_and(has_table_privilege(to_regclass('ergon.inbox'), right_)), "
               "false) FROM unnest(ARRAY['SELECT', 'DELETE']) right_");
    if (!r)
        return false;
    bool there = PQgetvalue(r, 0, 0)[0] == 't';
    PQclear(r);
    if (!there)
        error_say(&b->fault, STORE_IO, b->where,
                  "its schema has no inbox for submissions of applications, or no rights to it; "
                  "run 'ergon cluster upgrade'");
    return there;
}

static bool connect(struct inbox *b)
{
    values_begin(&b->values);
    if (b->c.pg)
        return true;
    if (!connection_open(&b->c, b->where, CONNECTION_MEMBER, b->stop, &b->fault))
        return false;
    return is_there(b);
}

/* Rows by their number and by their bytes, of which the first may have any. */
static const char read_sql[] =
    "SELECT id, role, method, params::text, options::text FROM (SELECT *, "
    "sum(pg_column_size(params)) OVER (ORDER BY id) - pg_column_size(params) AS before "
    "FROM (SELECT * FROM ergon.inbox ORDER BY id LIMIT $1::bigint) i) s "
    "WHERE before < 1048576 ORDER BY id";

/* In binary a text has no NUL behind it in the result, but libpq puts one there. */
static bool take_row(const PGresult *r, int n, bool (*each)(void *, const struct inbox_row *),
                     void *arg)
{
    const struct inbox_row row = {.id = value_number(PQgetvalue(r, n, 0), PQgetlength(r, n, 0)),
                                  .role = PQgetvalue(r, n, 1),
                                  .method = PQgetvalue(r, n, 2),
                                  .params = PQgetvalue(r, n, 3),
                                  .options = PQgetvalue(r, n, 4)};
    return each(arg, &row);
}

static enum inbox_result inbox_read(void *source,
                                    bool (*each)(void *arg, const struct inbox_row *row), void *arg,
                                    char *error, size_t size)
{
    struct inbox *b = source;
    if (!connect(b))
        return fail(b, error, size);
    values_number(&b->values, INBOX_ROWS);
    PGresult *r = run(b, read_sql);
    if (!r)
        return fail(b, error, size);
    for (int n = 0; n < PQntuples(r) && take_row(r, n, each, arg); n++)
        continue;
    PQclear(r);
    return INBOX_DONE;
}

/* The owner's row is locked, so that no other node takes over before this is committed. */
static const char refuse_sql[] =
    "WITH o AS (SELECT 1 FROM ergon.owner WHERE epoch = $1::bigint FOR SHARE), "
    "d AS (DELETE FROM ergon.inbox USING o WHERE id = $2::bigint RETURNING id, role, method, "
    "params, options, submitted_at), "
    "old AS (DELETE FROM ergon.inbox_refused WHERE id IN (SELECT id FROM ergon.inbox_refused "
    "ORDER BY id DESC OFFSET " INBOX_REFUSED_KEEP " - 1)) "
    "INSERT INTO ergon.inbox_refused (id, role, method, params, options, submitted_at, error) "
    "SELECT d.*, $3 FROM d";

static enum inbox_result inbox_refuse(void *source, uint64_t epoch, uint64_t id, const char *why,
                                      char *error, size_t size)
{
    struct inbox *b = source;
    if (!connect(b))
        return fail(b, error, size);
    values_number(&b->values, (int64_t)epoch);
    values_number(&b->values, (int64_t)id);
    values_text(&b->values, why);
    PGresult *r = run(b, refuse_sql);
    PQclear(r);
    return r ? INBOX_DONE : fail(b, error, size);
}

__attribute__((visibility("default"))) extern const struct inbox_source ergon_inbox_source;
const struct inbox_source ergon_inbox_source = {.version = STORE_DRIVER_VERSION,
                                                .open = inbox_open,
                                                .close = inbox_close,
                                                .read = inbox_read,
                                                .refuse = inbox_refuse};
