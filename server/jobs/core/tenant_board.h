/* The tenants that have most open jobs, for other threads to show: a place each for at most
 * TENANT_PLACES, and how many jobs are open in all.
 *
 * The first tenants get the places, and keep them until another has more than twice as many; so the
 * choice costs little, and is not quite the first hundred.
 *
 * Thread: the jobs', but for tenant_board_read(). */
#ifndef ERGON_JOBS_TENANT_BOARD_H
#define ERGON_JOBS_TENANT_BOARD_H

#include <stdbool.h>

#include "base/counter.h"
#include "base/span.h"

enum { TENANT_PLACES = 100, TENANT_NAME_WORDS = 16, TENANT_NAME_SHOWN = 8 * TENANT_NAME_WORDS };

struct tenant_place {
    /* Even, and one more than before while the name changes: acquire and release of it, and of each
     * word of the name, so that a thread that finds it the same before and after has read one name.
     */
    _Atomic uint64_t version;
    _Atomic uint64_t name[TENANT_NAME_WORDS]; /* a text that ends in NUL, cut where it must be */
    counter open;                             /* jobs */
};

/* Zeroed: all places are free. */
struct tenant_board {
    struct tenant_place places[TENANT_PLACES];
    uint16_t *owners[TENANT_PLACES]; /* the mark of each one's tenant; NULL: it is free */
    uint32_t used;
    counter open; /* jobs, of all tenants */
};

/* A tenant has so many open jobs now.  `*mark` is the tenant's, 0 at first: its place and one. */
void tenant_board_note(struct tenant_board *board, uint16_t *mark, struct span name, uint32_t open);
/* The tenant goes. */
void tenant_board_leave(struct tenant_board *board, uint16_t *mark);

/* Any thread: the tenant of this place, and how many of its jobs are open; false: there is none, or
 * its name changes just now. */
bool tenant_board_read(const struct tenant_board *board, unsigned place,
                       char name[TENANT_NAME_SHOWN], uint64_t *open);

#endif
