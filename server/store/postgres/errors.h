/* What PostgreSQL's errors mean: by SQLSTATE, never by their texts, which are in the language of
 * the server.  Pure; any thread that has the connection or the result. */
#ifndef ERGON_STORE_POSTGRES_ERRORS_H
#define ERGON_STORE_POSTGRES_ERRORS_H

#include <libpq-fe.h>

#include "server/store/driver.h"

/* Raised by the functions ergon.fence() and ergon.rows(). */
#define STATE_FENCED "EF001"
#define STATE_ROWS   "EF002"
#define STATE_LEVEL  "EF003"
/* The notice of a commit that did not wait for its standby. */
#define STATE_CANCELLED_WAIT "01000"

enum error_kind {
    ERROR_REFUSED, /* one of the operations cannot be: the batch without it may work */
    ERROR_LEVEL,   /* it does not replicate, and an operation needs that */
    ERROR_NUMBER,  /* the fence: another owner, or another batch has this number */
    ERROR_AGAIN,   /* a lock or a cancel: the same works a moment later */
    ERROR_AWAY,    /* this server takes nothing any more: connect again */
    ERROR_BROKEN   /* it needs somebody: disk, rights, schema */
};

/* `state` is five characters, or NULL where there is none: then the connection broke. */
enum error_kind error_kind_of(const char *state);

/* Fills the fault from a state, with what PostgreSQL says (one line of it, or NULL). */
void error_describe(struct store_fault *fault, const char *where, const char *state,
                    const char *said);

/* Of a result that is an error, or of a connection that broke. */
void error_of_result(struct store_fault *fault, const char *where, const PGresult *result);
void error_of_connection(struct store_fault *fault, const char *where, const PGconn *pg);

/* STORE_AWAY: the engine's owner has an older epoch than the one that this node has won. */
void error_say_former(struct store_fault *fault, const char *where, uint64_t epoch, uint64_t own);
/* The texts of all others promise no retry, since a command that connects once has the same.
 * A caller that tries again appends that. */
void error_add_retry(struct store_fault *fault);
/* Writes "store WHERE: text". */
void error_say(struct store_fault *fault, enum store_error error, const char *where,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
