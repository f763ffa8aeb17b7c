/* What clients hold of semaphores, and wait for.
 *
 * A semaphore is a limit (sched/limits.h) whose permits clients may have, too: each wish of one is
 * a hold, which waits in the line of the limit, has its permits, and gives them back.
 *
 *     hold_ask() --> WAITS --called--> SAVES --> HELD --> GONE: released, or taken back
 *                      |                 |
 *                      +-----------------+--> GONE: nobody waits for it any more; no row
 *
 * A hold belongs to a connection, its holder.  When that is lost, the hold stays for its grace; so
 * long it can be bound to another one.  A time to live takes it back in any case.
 *
 * Holds and their bytes are counted, and bounded in all and by tenant.  Those of a durable
 * semaphore have rows (rows.h).
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_HOLDS_H
#define ERGON_JOBS_HOLDS_H

#include "base/hash_table.h"
#include "server/jobs/semaphores/semaphore.h"

struct jobs;
struct operation;

enum { HOLDS_MAX = 100000 /* in all, with those that wait */ };

enum { HOLD_SECRET = 16 /* bytes; a client that shows them owns the hold */ };

/* A connection that may hold permits: part of an operation that the jobs keep as long as the
 * connection exists. */
struct holder {
    struct hash_link by_conn; /* first; the id of the connection is its hash */
    struct hold *first;       /* holds that it has, or waits for */
};

enum hold_state { HOLD_WAITS, HOLD_SAVES, HOLD_HELD, HOLD_GONE };

struct hold {
    struct claim claim;
    struct hash_link by_secret;
    struct hash_link by_fence; /* SAVES, HELD: the fence is its hash */
    struct ao timer;           /* sleeps until it is taken back */
    struct semaphore *semaphore;
    struct hold *prev, *next;               /* of its semaphore, held or waiting */
    struct hold *holder_prev, *holder_next; /* of its holder */
    struct holder *holder;                  /* NULL: its connection is lost */
    struct hold *next_over;                 /* while `is_over` */
    struct operation *op;                   /* that waits for it; NULL: none */
    uint8_t secret[HOLD_SECRET];
    uint64_t fence; /* SAVES, HELD */
    uint64_t since; /* Unix ns: it waits, or is held */
    ao_time asked;
    ao_time ttl, grace; /* ttl: AO_NEVER: none */
    ao_time ends;       /* by its time to live; AO_NEVER */
    ao_time lost_until; /* its connection is lost, and this is the end of its grace; AO_NEVER */
    uint32_t writes;    /* of its row, on their way: its memory stays */
    bool unsaved;       /* the file does not say what it is: likewise, and it is in a list */
    LIST_ENTRY(hold) by_unsaved;
    bool durable; /* it has a row, or will have */
    bool is_over; /* its time has run out: the next step ends it, by a list */
    uint8_t state;
    struct span who; /* the principal, behind the hold in its memory */
};

/* --- Connections --- */

void holder_enter(struct jobs *jobs, struct holder *holder);
struct holder *holder_find(const struct jobs *jobs, uint64_t conn); /* NULL: it is gone */
/* The connection is lost: what it holds stays for its grace. */
void holder_leave(struct jobs *jobs, struct holder *holder);

/* --- All holds --- */

void holds_start(struct jobs *jobs); /* what was read back waits for its connections from now on */
bool holds_go_on(struct jobs *jobs); /* ends what is over.  True: nothing is left */
/* If the machine was suspended since the last look, by more than a second, that time has passed for
 * what is held.  A wall clock that is set changes nothing: holders count as this does. */
void holds_look(struct jobs *jobs);
bool holds_follow_wall(const struct jobs *jobs); /* is there one that such a leap concerns? */
void holds_free(struct jobs *jobs);              /* nobody waits any more */

/* --- Holds --- */

struct hold_wish {
    const uint8_t *secret; /* HOLD_SECRET bytes */
    uint32_t permits;
    ao_time ttl, grace;
    struct span who;
    struct holder *holder;
    struct operation *op; /* that waits */
};

/* Asks for permits; it may be called at once (hold_claim_next_called()).  NULL: ERGON_E_BUSY,
 * ERGON_E_MEMORY, and a text. */
struct hold *hold_ask(struct jobs *jobs, struct semaphore *s, const struct hold_wish *wish,
                      struct refusal *why);
/* One that the file has; it is held, and has no connection.  NULL without memory. */
struct hold *hold_recover(struct jobs *jobs, struct semaphore *s, const struct hold_wish *wish,
                          uint64_t fence);
/* It was called: it has its permits and its fence, and its row is to be written.  If it has none,
 * or when that is written, it is held, and not before can its time to live take it back. */
void hold_begin(struct jobs *jobs, struct hold *h);
void hold_saved(struct jobs *jobs, struct hold *h);
/* That is held, of this secret at the semaphore of this name; NULL: it was taken back, or never
 * was. */
struct hold *hold_find(const struct jobs *jobs, struct span tenant, struct span name,
                       const uint8_t *secret);
/* That is held, with this fence; NULL: as above. */
struct hold *hold_find_fence(const struct jobs *jobs, struct span tenant, struct span name,
                             uint64_t fence);
/* Its time to live begins anew. */
void hold_renew(struct jobs *jobs, struct hold *h, ao_time ttl);
/* It belongs to this connection from now on. */
void hold_bind(struct jobs *jobs, struct hold *h, struct holder *to);
/* It goes, with its row, and gives back what it has; its semaphore may go with it.  No operation
 * waits for it any more: the caller has taken `op` out.  False without memory: its row goes later.
 */
bool hold_end(struct jobs *jobs, struct hold *h);

/* Its connection is lost. */
void hold_lose(struct jobs *jobs, struct hold *h);

#endif
