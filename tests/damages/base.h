/* Stores to damage: files as a server leaves them, and what each of their tasks was after each
 * commit. */
#ifndef ERGON_TESTS_DAMAGES_BASE_H
#define ERGON_TESTS_DAMAGES_BASE_H

#include "server/store/store.h"
#include "tests/support/store_files.h"

enum { BASE_TASKS = 96, BASE_VERSIONS = 16, BASE_ACTORS = 60 };

/* How the server ended. */
enum base_end {
    BASE_CLOSED, /* in order: the file has it all */
    BASE_KILLED, /* most stands in the log */
    BASE_BUSY,   /* the log went into the file, and was begun anew, more than once */
    BASE_ENDS
};

struct base_task {
    uint64_t versions[BASE_VERSIONS]; /* sums over its rows, the last is what counts */
    uint32_t count;
    bool there; /* and not removed at the end */
};

struct base {
    struct store_files files;
    struct base_task tasks[BASE_TASKS];
};

/* Works on the store at `path`, which is not there, as `seed` says.  Fails the test that calls it.
 */
void base_make(struct base *b, const char *path, enum base_end end, uint64_t seed);
void base_free(struct base *b);

uint64_t base_id(uint32_t index);
/* The place of a task by its id, or BASE_TASKS: it is none of them. */
uint32_t base_index(uint64_t id);
uint64_t base_sum(const struct store_task *task); /* over all of its rows */

#endif
