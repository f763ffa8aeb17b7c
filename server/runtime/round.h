/* The parts of an activator's round, which run_round() of activator.c calls in order.  Home thread;
 * nothing here fails. */
#ifndef ERGON_RUNTIME_ROUND_H
#define ERGON_RUNTIME_ROUND_H

#include "server/runtime/state.h"

/* posts.c: what other threads posted. */
void posts_serve(struct activator *a);  /* all that stands in the inbox */
void posts_refuse(struct activator *a); /* the same, each with AO_E_CLOSED */

/* threads/lane.c */
void lanes_init(struct activator *a);     /* of a new activator */
void lanes_look(struct activator *a);     /* rouses the receivers that have items */
bool lanes_ready(struct activator *a);    /* is there one to rouse? */
void lanes_run_next(struct activator *a); /* between steps: who has much to take here goes next */
void lanes_flush(struct activator *a);    /* what stays dirty has overflow */
void lanes_forget(struct activator *a);   /* it closes */

/* step.c: each object that is active now, once, in order. */
void step_round(struct activator *a);
void step_behind(struct activator *a); /* those that stand behind, for their time */

/* hook.c */
void hooks_run(struct activator *a);      /* at the end of the round */
bool hooks_run_idle(struct activator *a); /* what waited for nothing to do: was there some? */
void hooks_disarm(struct activator *a);   /* it closes */

/* idle.c */
void idle_poll(struct activator *a, bool may_block); /* the end of a round */
bool activator_busy(const struct activator *a);      /* has the next round something to do? */

#endif
