/* Connections to PostgreSQL: one way to make them, with settings and checks of our own, whatever
 * the role, the database or a pooler has for others; and one way to run a statement that waits for
 * its result, but not for ever.
 *
 * Thread: a connection is used by one at a time.  All but connection_close() block. */
#ifndef ERGON_STORE_POSTGRES_CONNECTION_H
#define ERGON_STORE_POSTGRES_CONNECTION_H

#include <ergon/ao.h>

#include <libpq-fe.h>

#include "server/store/driver.h"

struct connection {
    PGconn *pg; /* NULL: there is none */
    /* The notice 01000 came since this was cleared: a commit is on the primary alone. */
    bool cancelled;
    ao_time opened_by; /* connection_open() does not wait longer */
    int stop;          /* as connection_open() has it */
    ao_time stop_by;   /* 0; or the process stops, and what waits ends then */
    int least;         /* the oldest version of nodes that may share the database */
};

enum connection_use {
    CONNECTION_WRITES, /* plans that suit batches of any size, whatever the tables' statistics */
    CONNECTION_READS,
    CONNECTION_MEMBER, /* no transaction stays open for long */
    CONNECTION_ADMIN   /* the schema need not be there, nor be of this version */
};

/* The version of the tables: a server takes those of its own and, once `upgrade` has added to them,
 * those of the next one. */
enum { SCHEMA_VERSION = 3, SERVER_VERSION_MIN = 140000 };

/* Nodes of versions before this one take messages to actors for plain tasks: there are none while
 * such a node may own the tasks. */
enum { ACTORS_SINCE = 2, BATCHES_SINCE = 3 };

/* NULL, or what is wrong with the URL or the connection string: it cannot be parsed, or has a
 * password in it.  Writes into `text`. */
const char *connection_check(const char *where, char *text, size_t size);

/* Does the URL name several servers, so that another one may have become the primary? */
bool connection_has_hosts(const char *where);

/* Connects to the primary, in a few seconds for each host of `where`.  False and a fault:
 * STORE_AWAY, if it may work later by itself; else the database, its schema or the rights are
 * wrong.  `stop`: a descriptor that is readable once the process stops: then this, and each
 * statement of the connection, waits for one more second; 0: there is none. */
bool connection_open(struct connection *c, const char *where, enum connection_use use, int stop,
                     struct store_fault *fault);
void connection_close(struct connection *c); /* one that is closed is fine */

/* A statement and its parameters in binary.  Zeroed: none. */
enum { PARAMS_MAX = 40 };
struct params {
    int count;
    Oid types[PARAMS_MAX];
    const char *values[PARAMS_MAX]; /* NULL: NULL */
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
};

/* Runs a statement, in binary with `params`; without them also several in one text.  The last
 * result, which the caller clears with PQclear(); or NULL and a fault, after which the connection
 * is closed if it is of no use any more.  Waits until `deadline` (monotonic), or a stop. */
PGresult *connection_run(struct connection *c, const char *sql, const struct params *params,
                         ao_time deadline, const char *where, struct store_fault *fault);

/* Waits until the connection has something to read, or to write if it wants to, or `other` (a
 * descriptor; -1: none) is readable, or `timeout` has passed. */
void connection_wait(const struct connection *c, bool writes, int other, ao_time timeout);

/* Waits until the connection has something to read, or to write if it wants to.  False: `deadline`
 * is over, or a second since the stop. */
bool connection_wait_until(struct connection *c, bool writes, ao_time deadline);

#endif
