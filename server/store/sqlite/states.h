/* States of actors in the file: each turn appends one to `turns`, which costs a part of a page,
 * where a change of a row of `actors` costs a page of its own.  What was appended goes into
 * `actors` later, in the order of its names, by some rows a commit; then the turns are deleted.
 *
 * Tables in memory tell the number of the last turn of each actor (`fresh`) and how far that is
 * (`fold`).  As they are SQLite's, they are rolled back as the file is.  They are made anew from
 * `turns` at the start; a turn that was folded before, and is still there, is folded again.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_STATES_H
#define ERGON_STORE_STATES_H

#include <sqlite3.h>

#include "server/store/rows.h"

enum { STATES_STATEMENTS = 16 };

struct states {
    sqlite3 *db; /* borrowed */
    const struct row_names *names;
    sqlite3_stmt *all[STATES_STATEMENTS];
    uint64_t next;                   /* the number of the next turn */
    uint64_t oldest;                 /* about: that of the first that is there; at most `next` */
    uint32_t added;                  /* turns, since the client set it to 0 */
    bool folds;                      /* some of the turns are being folded */
    uint32_t fold_step, delete_step; /* rows of one; constant, tests have others */
};

/* An SQLite code; states_close() ends it either way. */
int states_open(struct states *t, sqlite3 *db, const struct row_names *names);
void states_close(struct states *t);

/* STORE_ROW_PUT or STORE_ROW_REMOVE of a row of store_actors, in a transaction.  An SQLite code. */
int states_put(struct states *t, const struct store_op *op);
/* STORE_ROW_GET or STORE_ROW_PAGE.  An SQLite code; SQLITE_MISMATCH: a row that cannot be. */
int states_get(struct states *t, struct store_op *op);

/* Are there enough turns for a step?  `idle`: nothing else is to be done. */
bool states_fold_due(const struct states *t, bool idle);
/* One step of the fold, in a transaction: at least as many rows as were added.  An SQLite code. */
int states_fold(struct states *t);

#endif
