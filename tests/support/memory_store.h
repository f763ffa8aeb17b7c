/* A store without a disk, for tests of the jobs on the virtual clock: the functions of
 * server/store/store.h over the rows of memory_rows.h.
 *
 * It is made and freed by world_store.h.  A commit takes `latency` of virtual time and covers what
 * was pushed before it began.  After a crash what was not committed is gone; the rows can be loaded
 * again. */
#ifndef ERGON_TESTS_MEMORY_STORE_H
#define ERGON_TESTS_MEMORY_STORE_H

#include "server/store/store.h"
#include "tests/support/memory_rows.h"

struct store {
    struct ao disk;                /* sleeps while a commit is under way */
    struct ao *receiver;           /* NULL: not started */
    struct store_op *first, *last; /* pushed; linked by item.next */
    struct store_op *done_first, *done_last;
    bool stopped; /* and not started again */
    ao_time latency;
    uint32_t most;          /* operations of a commit, but of the last; 0: all pushed by its end */
    enum store_error error; /* of commits from now on */
    bool refuses_groups;    /* likewise: STORE_REFUSED */
    bool refuses_one;       /* the next group, and no other */
    bool refuses_changes;   /* of tasks: STORE_REFUSED */
    bool lost_group;        /* of the commit under way: a group failed */
    uint64_t given, taken, group_failed; /* operations; until the last commit in which one did */
    enum store_level level;              /* likewise */
    enum store_level level_most;
    uint8_t require;             /* as in struct store_options */
    uint64_t (*wall)(void *arg); /* Unix ns; NULL: no commit has a time */
    void *wall_arg;
    uint64_t committed_at;
    struct memory_rows rows;
    uint32_t commits, operations;
    bool lacks_actors;   /* as a database whose upgrade is not finished */
    uint32_t lost_reads; /* so many come back STORE_AWAY */
    void *board[2];      /* segments */
    bool kept, clean;    /* the board was begun; and ended in order */
    uint32_t board_room; /* segments that there is room for; at most 2 */

    /* --- Of a cluster --- */
    bool in_chunks;              /* it has none before STORE_LOAD; set before the jobs are opened */
    uint32_t chunk_rows;         /* of a chunk, at most */
    struct store_chunk **chunks; /* of the load under way, from `chunk_at` on */
    uint32_t chunk_at, chunk_count;
    bool chunks_whole;
    uint32_t loads, handed;   /* STORE_LOADs, STORE_HAND_OVERs that came */
    bool fenced;              /* another owns the rows */
    bool away;                /* nothing comes back */
    struct store_marks marks; /* STORE_MARKS, and what load gives */
    uint64_t epoch;           /* of the last STORE_LOAD */
    uint64_t board_epoch;     /* of the board that is kept */
};

/* After a crash: nor is the board what it was. */
void memory_store_cut_power(struct store *s);
const struct memory_row *memory_store_row(const struct store *s, uint64_t id); /* NULL: none */

#endif
