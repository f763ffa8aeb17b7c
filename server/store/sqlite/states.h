/* States of actors in the file: each turn appends one to `turns`, which costs a part of a page,
 * where a change of a row of `actors` costs a page of its own.  What was appended goes into
 * `actors` later, in the order of its names, by some rows a commit; then the turns are deleted.
 *
 * A turn waits to be written with the others of its batch, and takes the place of one of its actor
 * that waits.
 *
 * The memory knows which actors have turns (fresh.h), and how far the fold is.  Both are taken back
 * as the transaction is.  At the start they are made anew from `turns`; a turn that was folded and
 * is still there is folded again.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_STATES_H
#define ERGON_STORE_STATES_H

#include <sqlite3.h>

#include "server/store/sqlite/fresh.h"
#include "server/store/sqlite/row_view.h"

enum { STATES_STATEMENTS = 9 };

struct waiting_turn {
    const struct store_op *op;
    uint64_t seq;
    const struct fresh_actor *actor;
};

struct fold {
    uint64_t oldest; /* about: the number of the first turn that is there; at most `next` */
    uint64_t until;  /* the turn up to which this fold goes; 0: there is none */
    uint32_t left;   /* actors whose last turn is that one or before; 0: turns are being deleted */
    /* The last actor that is left to the next fold, since its turn came later; NULL: none is. */
    const struct fresh_actor *passed;
};

struct states_savepoint {
    uint32_t changes; /* of `fresh` */
    struct fold fold;
};

struct states {
    sqlite3 *db; /* borrowed */
    const struct row_names *names;
    sqlite3_stmt *all[STATES_STATEMENTS];
    struct fresh fresh;
    struct row_view view;            /* of those that wait */
    struct waiting_turn *waiting;    /* turns that are not written */
    uint32_t count, room, at;        /* of these; the one that is being written */
    struct store_turn turn;          /* that one */
    uint64_t next;                   /* the number of the next turn */
    struct fold fold, kept;          /* how far it is, and was when the last transaction ended */
    uint32_t added;                  /* turns, since the client set it to 0 */
    uint32_t fold_step, delete_step; /* rows of one; constant, tests have others */
};

/* An SQLite code; states_close() ends it either way. */
int states_open(struct states *t, sqlite3 *db, const struct row_names *names);
void states_close(struct states *t); /* also of zeros */

/* STORE_ROW_PUT or STORE_ROW_REMOVE of a row of store_actors, in a transaction; it is written at
 * once, or by states_write(), until when the operation stays.  An SQLite code: that is to be undone
 * (states_undo()). */
int states_put(struct states *t, const struct store_op *op, bool at_once);
/* Writes all that waits: before anything is read, folded or committed.  An SQLite code: the
 * transaction is to be rolled back. */
int states_write(struct states *t);

/* A savepoint of the transaction, for states_undo(). */
struct states_savepoint states_savepoint(const struct states *t);
/* The transaction was rolled back to this savepoint; NULL: as a whole. */
void states_undo(struct states *t, const struct states_savepoint *savepoint);
/* It was committed. */
void states_keep(struct states *t);

/* STORE_ROW_GET or STORE_ROW_PAGE.  An SQLite code; SQLITE_MISMATCH: a row that cannot be. */
int states_get(struct states *t, struct store_op *op);

/* Are there enough turns for a step?  `idle`: nothing else is to be done. */
bool states_fold_due(const struct states *t, bool idle);
/* One step of the fold, in a transaction: more actors than were added, so that turns do not become
 * more and more.  An SQLite code. */
int states_fold(struct states *t);

#endif
