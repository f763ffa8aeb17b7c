/* The memory that messages take which are not whole yet, of all connections of all loops.  It is
 * taken here before it is allocated, at once, and not settled at a round's end, since such messages
 * are few and large.
 *
 * Each loop has a little that is its own, and that no other takes; all the rest is shared.  What is
 * its own a loop counts by itself, and only shows it here.  So all together never have more than
 * what is shared and what is each one's own, at no moment:
 *
 *     bytes <= limits.shared, and for each keeper own <= limits.own.
 *
 * Where nothing is left of what is shared, the loop that has most of it gives way.  A loop that
 * finds too little asks, and at most one is asked at a time, so that a need closes one message, and
 * not one on each loop.
 *
 * Thread: any, but for what a keeper's owner alone may do. */
#ifndef ERGON_ACCOUNTS_INPUT_BUDGET_H
#define ERGON_ACCOUNTS_INPUT_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ao_handle; /* ergon/ao.h */

/* Bytes. */
struct input_limits {
    uint64_t shared; /* of all loops together */
    uint64_t own;    /* of each loop beside */
};

/* A keeper of such messages: a loop, whose object is posted when it is asked.  Its memory, which
 * stays until it is removed; `next` is private. */
struct input_keeper {
    struct input_keeper *next;
    struct ao_handle *handle; /* borrowed; it outlives this */
    /* Bytes this keeper has taken.  Relaxed, since they order no other access: only the keeper's
     * thread writes them.  Other threads read them to choose which loop to ask
     * (input_budget_ask()), or to show them; for both a slightly old value is good enough. */
    _Atomic uint64_t shared, own;
};

/* Private. */
struct input_budget {
    /* Orders nothing (relaxed): each change is one read-modify-write, and a figure that is right by
     * itself. */
    _Atomic uint64_t bytes;
    pthread_mutex_t lock; /* over what follows */
    struct input_keeper *keepers;
    struct input_keeper *asked; /* and has not answered yet; NULL: none is */
    uint64_t wanted;            /* bytes, for which it was */
};

void input_budget_init(struct input_budget *b);
/* When all is given back, and all keepers are removed: asserted. */
void input_budget_fini(struct input_budget *b);

/* So many bytes more of what is shared, unless all would then be more than `limit`: false, and
 * nothing was taken.  Both: the keeper's thread. */
bool input_budget_take(struct input_budget *b, struct input_keeper *k, size_t bytes,
                       uint64_t limit);
void input_budget_give(struct input_budget *b, struct input_keeper *k, size_t bytes);
/* How many are taken of what is shared. */
uint64_t input_budget_bytes(const struct input_budget *b);
/* The same, and what is each one's own. */
uint64_t input_budget_in_all(struct input_budget *b);

/* From here on it may be asked. */
void input_budget_add(struct input_budget *b, struct input_keeper *keeper);
void input_budget_remove(struct input_budget *b, struct input_keeper *keeper);
/* `k` has found too little for `wanted` bytes more.  True: another has most of what is shared, even
 * if `k` had them too, and was asked, or is already; it may look again in a while.  False: it is
 * the one itself. */
bool input_budget_ask(struct input_budget *b, struct input_keeper *k, size_t wanted);
/* Whether it is asked, and there is still too little: then it gives way with one message.  Either
 * way it says input_budget_answer() when it is done. */
bool input_budget_is_asked(struct input_budget *b, const struct input_keeper *k, uint64_t limit);
void input_budget_answer(struct input_budget *b, const struct input_keeper *k);

#endif
