/* The board of a store: memory that outlives the process, and not the machine's power
 * (FILE-running, or a file in a folder of this node of a cluster). */
#ifndef ERGON_STORE_BOARD_H
#define ERGON_STORE_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

enum { STORE_BOARD_SEGMENT = 128 * 1024 /* bytes */, STORE_BOARD_SEGMENTS = 256 };

/* How the last process left it. */
enum store_board {
    STORE_BOARD_LOST, /* not at all: the power was cut, or it is damaged, missing, of another file
                       */
    STORE_BOARD_KEPT, /* it died, and the segments are as it left them */
    STORE_BOARD_CLEAN /* it stopped in order; the segments mean nothing */
};

/* Before store_load(), on the thread that opened.  0, or -1 and a text: there is no right to write
 * FILE-running, or it cannot be made or mapped, or is no file. */
int store_board_open(struct store *s, enum store_board *was, char *error, size_t size);

/* The segments become zeroed, and belong to this process; on the disk before the return.  With
 * `raise` the number of the last attempt is raised by one first, in the file, of each open task
 * with fsync that no row says to run.  0, or -1 and a text: file or FILE-running cannot be written
 * (no room). */
int store_board_renew(struct store *s, bool raise, char *error, size_t size);

/* The n-th segment, which stays where it is until store_close(); with `grow` it is made, zeroed, if
 * it is not there.  Any one thread at a time.  NULL: it is not there, or there is no room; the log
 * says the latter once. */
void *store_board_segment(struct store *s, uint32_t n, bool grow);

/* In a handler of SIGBUS, on any thread: another process has truncated the file, and `at` was in
 * the part that is gone.  From now on that segment is memory of this process alone, zeroed; the
 * next start after a crash finds the file lost; the log says so with the next commit.  False: `at`
 * is not in a segment, or there is no memory. */
bool store_board_mend(const void *at);

/* After store_stop(): marks the board as clean, as the file has all that the board has. */
void store_board_close(struct store *s);

/* Of a cluster, after store_board_open(): the epoch under which the board was written, if its
 * cluster, its node and this boot of the machine are right and it was not closed; else 0. */
uint64_t store_board_epoch(const struct store *s);
/* Of a cluster: store_board_renew() writes this epoch from now on. */
void store_board_own(struct store *s, uint64_t epoch);
/* As store_board_renew(), without a raise, but the segments stay as they were found. */
int store_board_keep(struct store *s, char *error, size_t size);

#endif
