/* The order of the pick: priority with ageing, then tenants in turn (deficit round robin by their
 * weights; Shreedhar and Varghese 1995), then arrival.
 *
 * One pick for each kind of executor.  Ten levels; in each a ring of the tenants that have
 * something there, each with its entries in order.  Who has stood in a level for `ageing` is moved
 * up one, so the lowest priority waits for the highest at most nine times that.  A turn is `weight`
 * entries. Every operation is O(1), moves by age are paid out of a budget.  Pure: the time is
 * passed in. */
#ifndef ERGON_LEDGER_PICK_H
#define ERGON_LEDGER_PICK_H

#include "server/ledger/entry.h"

enum { PICK_LEVELS = 10, PICK_KINDS = 2 };

/* A tenant's entries in one level.  Those that came up from below stand beside those that were
 * born there; the older of the two heads goes first. */
struct pick_share {
    struct tenant *tenant;
    struct pick_share *prev, *next; /* in the level's ring; NULL: has nothing there */
    struct entry_list born, risen;
    uint32_t left; /* of its turn */
};

struct pick_level {
    struct pick_share *turn;         /* whose turn it is; NULL: the level is empty */
    struct entry *oldest, *youngest; /* by `entered` */
    uint32_t count;
};

struct pick {
    struct pick_level levels[PICK_LEVELS];
    ao_time ageing; /* 0: never */
    uint32_t count;
};

/* One owner of work.  Shares are made when first needed. */
struct tenant {
    struct tenant *next; /* in the table of tenants */
    uint32_t weight;
    uint32_t entries; /* that name it */
    struct span name;
    struct pick_share *shares[PICK_KINDS]; /* PICK_LEVELS each; NULL: not yet */
};

void pick_init(struct pick *p, ao_time ageing);

/* Queued at the end of its tenant's share, or, for one that had its turn before and could not be
 * run then, at its head.  False without memory. */
bool pick_add(struct pick *p, unsigned kind, struct entry *e, bool front, ao_time now);
void pick_remove(struct pick *p, unsigned kind, struct entry *e); /* of one that is queued */

/* Takes the next out; NULL when there is none. */
struct entry *pick_take(struct pick *p, unsigned kind, ao_time now);

/* How many are certain to go before it, for task.explain: those in higher levels, its own tenant's
 * before it in its level (counted to `max`), and those of other tenants in its level. */
struct pick_place {
    uint32_t higher, own, others, tenants;
    bool own_is_least; /* counting stopped at `max` */
};
void pick_place(const struct pick *p, unsigned kind, const struct entry *e, uint32_t max,
                struct pick_place *out);

#endif
