/* actor.list: pages over the store's file and memory as one, in the order of type, key and tenant;
 * and, with `busiest`, those in memory with the most messages that wait.
 *
 *     scan of memory, in parts ---> row pages of the store ---> answered
 *          ^      the first so many of them    |
 *          +--- they are all shown, and memory has others behind them
 *
 * The store answers in the order in which it was asked.  So when a page of rows is back, memory has
 * all that these rows have, and what memory has beside is newer: a row whose actor is in memory is
 * shown as memory has it.  An actor without a row is found by the scan, since it stays in memory
 * until it has one.  So an actor that exists all the time is shown once, whatever happens to it.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_ACTOR_LISTING_H
#define ERGON_JOBS_ACTOR_LISTING_H

#include "server/jobs/actors/actors.h"

/* Of operation_actor_list: `serve_part` and `fini`. */
bool listing_serve(struct actors *actors, struct operation *op);
void listing_fini(struct operation *op);

/* A cursor, `next` of a page, is the length of a name, a colon, the name, and a tenant: those of
 * the last actor that the page looked at.  False: it is none. */
bool actor_cursor_read(struct span cursor, struct span *name, struct span *tenant);

#endif
