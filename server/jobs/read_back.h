/* The rows of the store, read back: what becomes of each.  It serves a store that is read in one go
 * before the start (jobs_recover()), and one that is read in chunks (ownership.h).
 *
 * Thread: the one that builds, or the jobs'. */
#ifndef ERGON_JOBS_READ_BACK_H
#define ERGON_JOBS_READ_BACK_H

#include "server/store/store.h"

struct jobs;

enum { READ_BACK_TABLES = 16 /* whose rows are read back, at most */ };

struct read_back {
    struct store_reader reader; /* for store_load(), or store_chunk_read() */
    /* Takes the marks above which numbers begin.  NULL: the caller knows them before. */
    void (*marks)(struct jobs *jobs, const struct store_marks *marks);
    /* A row of store_node_boards; false: it is none.  NULL: there are none. */
    bool (*board)(struct jobs *jobs, const struct store_node_board *row);
    bool in_steps; /* timers of tasks that have ended wait for recover_go_on() */

    /* --- Private --- */
    struct jobs *jobs;
    const char *failure; /* NULL: none */
    const char *fault;   /* of the row that ends the reading; NULL: none */
    uint64_t strays;     /* events of tasks that are not there */
    const struct store_table *tables[READ_BACK_TABLES];
};

/* All of it; `r` stays where it is. */
void read_back_init(struct read_back *r, struct jobs *jobs);
/* The reading has ended, as `result` says: 0, or -1 and a text in `error`, which is replaced where
 * a row could not become a task.  Returns whether all is well, in the same way. */
int read_back_end(const struct read_back *r, int result, char *error, size_t size);

#endif
