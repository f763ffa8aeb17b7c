/* The store read back.
 *
 * First, before the start, every row becomes a job: those that have ended are kept for the rest of
 * their time.  The board says which attempts had begun when the last process died: each whose
 * handler had not returned is one crash more.  Then, at the start, when the store takes writes
 * again, what was open goes on, and the next attempt has a higher number.
 *
 * After a power cut, or where the board is missing or damaged, nobody knows what had begun.  Then
 * no crash is counted, and store_board_renew() has raised the numbers of all that may have begun
 * once more than its row says.
 *
 * In a cluster all of this happens while the process serves (ownership.h), and numbers are raised
 * as rows are read (store_attempt()).
 *
 * Thread: the one that builds, or the jobs'; table->recovering is set while rows are read. */
#ifndef ERGON_JOBS_RECOVER_H
#define ERGON_JOBS_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/jobs/core/walk.h"
#include "server/store/store.h"

struct job;
struct jobs;

/* --- Histories --- */

/* core/history.h says what the row of a job tells by itself.  Nothing here fails: without memory an
 * event is lost, as in core/history.h. */

/* Adds an event of the file; the events of a job come in order, after its row. */
void replay_event(struct jobs *jobs, const struct store_event *row);
/* The job ran when the server died: what its handler said last may not have been stored. */
void replay_crash(struct jobs *jobs, struct job *job);

/* --- Rows --- */

void recover_counts(struct jobs *jobs, const struct store_counts *counts);
/* The queue is paused, or drained, or workers offered its method, which is known from now on: it is
 * made in the registry.  False without memory. */
bool recover_queue(struct jobs *jobs, const struct store_queue *row);
/* A row becomes a job; rows come in the order of their ids.  False, and `failure` is a constant
 * text: the row has a state that is none, or there is no memory.  Then no job was made. */
bool recover_task(struct jobs *jobs, const struct store_task *row, const char **failure);

/* Before rows are read: opens the board that the last process left.  0, or -1 and a text of
 * store_board_open() or store_board_renew(). */
int recover_board(struct jobs *jobs, char *error, size_t size);

/* Makes the board, on segments that store_board_open() has found, or store_board_renew() has
 * zeroed. 0, or -1 and a text. */
int recover_new_board(struct jobs *jobs, char *error, size_t size);

/* Rows were read: whose handlers had begun becomes known, as far as the board tells it.  0, or -1
 * and a text without memory. */
int recover_begins(struct jobs *jobs, char *error, size_t size);

/* How far what was open has gone on; begins zeroed.  `walk` is in a list of the table: it stays
 * where it is until recover_end(). */
struct recover_pass {
    enum { RECOVER_BEGINS, RECOVER_RELINKS, RECOVER_GOES_ON, RECOVER_LATE, RECOVER_OVER } phase;
    struct job_walk walk;
    ao_time now;               /* when it began */
    struct recover_late *late; /* a heap */
    uint32_t count, room;
    bool no_memory; /* nobody is in `late` */
};

/* With the store started: what is open is scheduled, in the order in which it was queued.  Looks at
 * `most` tasks.  True: that was all, and nothing is left to be ended. */
bool recover_go_on(struct jobs *jobs, struct recover_pass *p, uint32_t most);
/* It goes no further. */
void recover_end(struct jobs *jobs, struct recover_pass *p);

#endif
