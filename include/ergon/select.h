/* Select: waits for the first of several; the others are withdrawn.
 *
 *     struct ao_select sel;  struct ao_wait both[2], wait;      all in the object
 *
 *     AO_AWAIT_FOR(self, &c->seq, &c->wait, AO_S(1),
 *              (ao_select_begin(&c->sel, c->both, 2),
 *               AO_SELECT(&c->sel, 0, ao_mailbox_receive(&c->box, &c->both[0])),
 *               AO_SELECT(&c->sel, 1, ao_event_await(&c->stop, &c->both[1])),
 *               ao_select_await(&c->sel, &c->wait)));
 *     if (c->wait.outcome == AO_WAIT_READY && c->sel.winner == 0) ...
 *
 * Exactly one wins: what is ready first, and of several that are ready at once the first listed;
 * nothing is taken from the losers.  The wait has the winner's outcome (READY, CLOSED or REFUSED)
 * and value.
 *
 * Thread: the home activator of the waiter.  Memory: select and records belong to the waiter, and
 * must stand still until the wait has ended. */
#ifndef ERGON_SELECT_H
#define ERGON_SELECT_H

#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ao_select {
    struct ao_wait_listener listener;
    struct ao_wait *records; /* n, of the waiter */
    struct ao_wait *wait;    /* NULL until ao_select_await() */
    uint32_t n;
    uint32_t armed; /* records 0 .. armed - 1 were started */
    int32_t winner; /* index; -1: none */
};

void ao_select_begin(struct ao_select *s, struct ao_wait *records, uint32_t n);

/* Prepares record `i`; in rising order, without gaps.  False: one has won already, do not start. */
bool ao_select_arm(struct ao_select *s, uint32_t i);
/* Start function; once, and after one record at least was armed. */
void ao_select_await(struct ao_select *s, struct ao_wait *w);

#define AO_SELECT(select, i, start) (ao_select_arm((select), (i)) ? (void)(start) : (void)0)

#ifdef __cplusplus
}
#endif

#endif
