/* Memory that a process of a module shares with its server: how far each call that the process was
 * given has come.  It outlives the process, so the server knows of one that has ended which calls
 * had begun, and which of them ended it.
 *
 *     free ---> given ---> begun ---> over ---> free, and used again behind all others
 *
 * A call is known by the number of its request.  A place keeps its number until it is used again,
 * and there are twice as many places as requests may be out: so the call of each request that is
 * not answered is in its place, also while its answer is on the way.
 *
 * Thread: each function says. */
#ifndef ERGON_TASKS_CALL_BOARD_H
#define ERGON_TASKS_CALL_BOARD_H

#include "server/tasks/job_source.h"

struct call_board;

enum {
    CALL_BOARD_SLOTS_MAX = 1024, /* requests that are out at a time */
    CALL_BOARD_WHY_MAX = 160     /* bytes of what ended a process, with the terminator */
};

/* How far a call had come when its process ended. */
enum call_fate {
    CALL_WAITED, /* it had not begun */
    CALL_RAN,    /* it had begun, and may have ended; another one ended the process */
    CALL_LOST,   /* it had begun, and nobody knows which one it was */
    CALL_GUILTY  /* its handler ended the process */
};

/* The server: a board of nothing, for so many requests at a time.  NULL and errno.  *fd is the
 * caller's: the process maps the board by it. */
struct call_board *call_board_new(uint32_t slots, int *fd);
/* The process: the board of this descriptor.  NULL: it is none, or there is no memory. */
struct call_board *call_board_map(int fd);
/* Any thread; a board has one reference at first.  The last one unmaps it; NULL is fine. */
void call_board_ref(struct call_board *b);
void call_board_unref(struct call_board *b);

/* --- The process --- */

/* The manager's thread.  A place for the call of this request, GIVEN, which its executors mark;
 * there is always one. */
struct attempt_mark *call_board_give(struct call_board *b, uint64_t number);
/* The manager's thread.  The call has returned, or was withdrawn: its place may be used again. */
void call_board_take(struct call_board *b, struct attempt_mark *mark);

/* Any thread, in a signal handler too: the process ends because of this call (NULL: of none that is
 * known), for this reason.  The first that is said counts. */
void call_board_blame(struct call_board *b, const struct attempt_mark *mark, const char *why);

/* --- The server; any thread --- */

/* The same, of the call of this request; nothing if it is not on the board. */
void call_board_blame_number(struct call_board *b, uint64_t number, const char *why);

/* --- The server, once the process has ended; any thread --- */

/* Which one ended it is known if that was said, or the handler of only one was being run: it had
 * begun, was not over, and was not parked. */
enum call_fate call_board_fate(const struct call_board *b, uint64_t number);
/* What was said of its end; empty: nothing.  As long as the board.  It ends with a zero, or, where
 * a module wrote into it, after CALL_BOARD_WHY_MAX bytes. */
const char *call_board_why(const struct call_board *b);

#endif
