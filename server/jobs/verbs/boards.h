/* Crashes that the boards of a cluster's nodes tell: what had begun on a node that died, and comes
 * back when another owns the tasks.  Each board is counted once: the store has, for each node, the
 * epoch of its last one that was.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_BOARDS_H
#define ERGON_JOBS_BOARDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct jobs;
struct jobs_begun;
struct operation;
struct store_node_board;

enum { NODE_NAME_MAX = 64 /* bytes, with the NUL */, NODES_MAX = 64 };

/* Begins zeroed. */
struct node_boards {
    struct node_board {
        char node[NODE_NAME_MAX];
        uint64_t epoch; /* of the last board that was counted */
    } at[NODES_MAX];
    uint32_t count;
};

struct node_boards *jobs_node_boards(const struct jobs *jobs);

/* A row of the store.  False: it is none. */
bool boards_recover(struct jobs *jobs, const struct store_node_board *row);
/* Is this board of the node new?  Then it counts as counted from now on. */
bool boards_take(struct jobs *jobs, struct span node, uint64_t epoch);
/* One more crash for the task, if it is open: it may be dead then.  Returns whether it was. */
bool boards_count(struct jobs *jobs, struct span node, const struct jobs_begun *begun);
/* All crashes of a board are counted: its row follows when those of the tasks are written, so that
 * an owner that is lost in between leaves the board to be reported again: a crash may count twice,
 * and is never lost.  `op` (NULL: none) is answered then. */
void boards_counted(struct jobs *jobs, struct span node, uint64_t epoch, struct operation *op);

#endif
