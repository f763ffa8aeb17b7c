/* Where applications leave submissions that they made in transactions of their own: the table
 * ergon.inbox of a database (docs/own-transaction.md).  PostgreSQL's is in the shared object of its
 * store's driver (symbol INBOX_SOURCE_SYMBOL).
 *
 * It reads, and it refuses.  A row that became a task is removed by the store, with the first row
 * of that task, or of what the task has joined: store_task.taken, store_inbox (store.h).
 *
 * Thread: one at a time.  All but open() block, for seconds at most. */
#ifndef ERGON_STORE_INBOX_SOURCE_H
#define ERGON_STORE_INBOX_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INBOX_SOURCE_SYMBOL "ergon_inbox_source" /* a struct inbox_source */

enum inbox_result {
    INBOX_DONE,
    INBOX_MISSING, /* the schema has no inbox, or this role has no right to it; with a text */
    INBOX_AWAY     /* the database; with a text.  It is connected anew by the next call. */
};

/* Texts of one submission, each with a NUL; valid during the call. */
struct inbox_row {
    uint64_t id;
    const char *role, *method;
    const char *params, *options; /* JSON: an array, an object */
};

enum { INBOX_ROWS = 512 /* of a read; fewer, if they are large */ };

struct inbox_source {
    uint32_t version; /* STORE_DRIVER_VERSION */
    /* Connects nowhere.  `stop`: readable once the process stops: then a call waits for one more
     * second.  NULL without memory. */
    void *(*open)(const char *where, int stop);
    void (*close)(void *source); /* NULL is fine */
    /* Calls `each` with the oldest rows that are committed, in the order of their ids.  If that
     * returns false, the read ends. */
    enum inbox_result (*read)(void *source, bool (*each)(void *arg, const struct inbox_row *row),
                              void *arg, char *error, size_t size);
    /* Moves a row to those that are refused, with this reason, while the owner of this epoch owns
     * the tasks; one that is gone, or another's, stays as it is. */
    enum inbox_result (*refuse)(void *source, uint64_t epoch, uint64_t id, const char *why,
                                char *error, size_t size);
};

#endif
