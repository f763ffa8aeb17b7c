/* The statements that the writer runs again and again, prepared once, and how one is run.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_STATEMENTS_H
#define ERGON_STORE_STATEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "server/store/store.h"

enum statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_SAVEPOINT, /* around a group */
    STATEMENT_RELEASE,
    STATEMENT_ROLLBACK_TO,
    STATEMENT_PUT, /* and its options, and its life: prepared by put_open() */
    STATEMENT_PUT_OPTIONS,
    STATEMENT_PUT_LIFE,
    STATEMENT_CHANGE,
    STATEMENT_SETTLE,
    STATEMENT_DURABLE, /* of what was submitted before */
    STATEMENT_OPTIONS, /* likewise */
    STATEMENT_REMOVE,
    STATEMENT_REMOVE_OPTIONS,
    STATEMENT_REMOVE_LIFE,
    STATEMENT_REMOVE_EVENTS,
    STATEMENT_EVENT,
    STATEMENT_TRIM_EVENTS,
    STATEMENT_COMMITTED_AT,
    STATEMENT_DUE_BACK,
    STATEMENT_DEADLINES_BACK,
    STATEMENT_HOLDS_BACK,
    STATEMENT_LAST_FENCE,
    STATEMENT_COUNT,    /* rows by state */
    STATEMENT_COUNTERS, /* read */
    STATEMENT_ADD,      /* to the counters */
    STATEMENTS
};

/* Those that put and remove rows of a table. */
struct table_statements {
    const struct store_table *table;
    sqlite3_stmt *put, *remove;
};

enum { STATEMENT_TABLES = 16 };

struct statements {
    sqlite3 *db; /* borrowed */
    sqlite3_stmt *all[STATEMENTS];
    struct table_statements tables[STATEMENT_TABLES];
    uint32_t table_count;
};

/* Prepares all but those of put_open().  An SQLite code; statements_close() must follow. */
int statements_open(struct statements *s, sqlite3 *db);
void statements_close(struct statements *s);
/* An SQLite code. */
int statement_prepare(struct statements *s, enum statement which, const char *sql);

/* Of a table, prepared when it is first asked for.  NULL: an SQLite code says why. */
const struct table_statements *statements_of(struct statements *s, const struct store_table *t,
                                             int *rc);

/* Runs a statement to its end.  SQLITE_OK, or the SQLite code of what went wrong. */
int statement_run(sqlite3_stmt *st);
int statement_run_id(struct statements *s, enum statement which, uint64_t id); /* ?1 is the id */

/* Is this SQLite code the failure of one operation or row?  Then what that did is taken back, and
 * no more. */
bool statement_failed_alone(int rc);

/* What an SQLite code means for the store. */
enum store_error store_error_of(sqlite3 *db, int rc);

#endif
