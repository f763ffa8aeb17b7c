/* The memory that messages take which are not whole yet, of all connections of all loops: it is
 * taken here before it is allocated, at once, and not settled at a round's end, since such messages
 * are few and large.  So all together never have more than the limit, at no moment.
 *
 * Which of them gives way is the business of the loops that keep them: one that finds too little
 * left asks the others to look whether they have more than their part.  Where one that is within
 * its own part asks, it presses them: then not even a message that is alone stays beyond a part.
 *
 * Thread: any. */
#ifndef ERGON_ACCOUNTS_INPUT_BUDGET_H
#define ERGON_ACCOUNTS_INPUT_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ao_handle; /* ergon/ao.h */

/* One who keeps such messages: a loop, whose object is posted when it is asked.  Its memory, which
 * stays until it is removed; `next` is private. */
struct input_keeper {
    struct input_keeper *next;
    struct ao_handle *handle; /* borrowed; it outlives this */
    bool pressed;             /* private, by the budget's lock: input_budget_was_pressed() */
};

/* Private. */
struct input_budget {
    /* Orders nothing (relaxed): each change is one read-modify-write, and a figure that is right by
     * itself. */
    _Atomic uint64_t bytes;
    pthread_mutex_t lock; /* over what follows */
    struct input_keeper *keepers;
};

void input_budget_init(struct input_budget *b);
/* When all is given back, and all keepers are removed: asserted. */
void input_budget_fini(struct input_budget *b);

/* So many bytes more, unless all would then be more than `limit`: false, and nothing was taken. */
bool input_budget_take(struct input_budget *b, size_t bytes, uint64_t limit);
void input_budget_give(struct input_budget *b, size_t bytes);
/* How many are taken. */
uint64_t input_budget_bytes(const struct input_budget *b);

/* From here on it is asked. */
void input_budget_add(struct input_budget *b, struct input_keeper *keeper);
void input_budget_remove(struct input_budget *b, struct input_keeper *keeper);
/* Activates the objects of all keepers but this one, or wakes those that sleep; `press`: they are
 * pressed from here on. */
void input_budget_ask(struct input_budget *b, const struct input_keeper *but, bool press);
/* Whether it was pressed since the last call, or since it was added. */
bool input_budget_was_pressed(struct input_budget *b, struct input_keeper *keeper);

#endif
