/* The board: which attempts of durable jobs are out, and how far each has come, in memory that
 * outlives the process.  After a crash it tells whose handlers had begun, and whose had returned
 * although no row says so yet.
 *
 *     free --board_take()--> given --> begun --> over --board_saved()--> free
 *                                  executor
 *
 * A slot is taken when an attempt is given, and given back when that has returned or was withdrawn,
 * and a row that knows of the attempt is in the store.
 *
 * Thread: the jobs'; the mark of a slot is its executor's while the attempt is out. */
#ifndef ERGON_JOBS_BOARD_H
#define ERGON_JOBS_BOARD_H

#include "server/jobs/core/job.h"
#include "server/tasks/job_source.h"

/* As it is in the memory.  A slot whose stage is not FREE and whose `check` is wrong is
 * damaged.
 */
struct board_slot {
    uint64_t id; /* of the job */
    uint32_t attempt;
    uint32_t check;
    struct attempt_mark mark;
};
_Static_assert(sizeof(struct board_slot) == 32, "other processes read it");

enum { BOARD_SLOTS = 4096, BOARD_SEGMENT = BOARD_SLOTS * 32 /* bytes */ };

/* A slot that is taken, in a job's list. */
struct board_place {
    struct board_place *next;
    struct board_slot *slot;
    bool returned; /* nobody writes the mark any more */
};

/* Where the memory comes from: segments of BOARD_SEGMENT bytes that never move, aligned for any
 * type.  segment() returns the n-th; if that is not there yet, `grow` lets it be made, zeroed.
 * NULL: the segment is not there, or there is no room to make it. */
struct board_memory {
    void *arg;
    void *(*segment)(void *arg, uint32_t n, bool grow);
};

struct board;
struct board *board_new(const struct board_memory *memory); /* NULL without memory */
void board_free(struct board *b);                           /* NULL is fine */

/* Before anything was taken.  Is what an earlier process left whole?  Else nothing of it may be
 * believed, and the segments are to become zeroed. */
bool board_is_sound(struct board *b);
/* Each slot of an attempt that had begun is given to `found`, which may put it into a job's list,
 * and returns whether it did; all others are free.  False without memory. */
bool board_read(struct board *b, bool (*found)(void *arg, struct board_place *place), void *arg);
enum mark_stage board_stage(const struct board_place *place);
/* Had its handler begun in the process that crashed, and not returned?  What ran at a worker did
 * not bring that process down. */
bool board_is_crash(const struct board_place *place);

/* A slot for the job's next attempt, in the job's list.  NULL: there is no room for it. */
struct board_place *board_take(struct board *b, struct job *job, uint32_t attempt);

/* The attempt of this mark has not begun, and never will: its slot is given back. */
void board_withdrawn(struct board *b, struct job *job, const struct attempt_mark *mark);
/* It has returned.  NULL is fine, as everywhere here. */
void board_returned(struct board *b, struct job *job, const struct attempt_mark *mark);
/* What ran until now is no cause of what comes, and is not waited for. */
void board_end(const struct job *job);
/* Gives back the slots of returned attempts of which a row in the store knows. */
void board_saved(struct board *b, struct job *job);
/* Gives back all slots: the job is forgotten. */
void board_forget(struct board *b, struct job *job);

#endif
