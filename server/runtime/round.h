/* The parts of an activator's round, which run_round() in activator.c calls in order.  Home thread;
 * nothing here fails. */
#ifndef ERGON_RUNTIME_ROUND_H
#define ERGON_RUNTIME_ROUND_H

#include "server/runtime/state.h"

/* posts.c: requests that other threads posted */
void posts_serve(struct activator *a);  /* serves all requests in the inbox */
void posts_refuse(struct activator *a); /* refuses all of them with AO_E_CLOSED */

/* threads/lane.c */
void lanes_init(struct activator *a);     /* for a new activator */
void lanes_look(struct activator *a);     /* activates the receivers that have items */
bool lanes_ready(struct activator *a);    /* true: a receiver has items */
void lanes_run_next(struct activator *a); /* between steps: a receiver here with a batch is next */
void lanes_flush(struct activator *a);    /* publishes; a lane with overflow stays dirty */
void lanes_forget(struct activator *a);   /* when the activator closes */

/* step.c: steps each object that is active now, once, in order */
void step_round(struct activator *a);
void step_behind(struct activator *a); /* steps the objects that are behind, for a quantum */

/* hook.c */
void hooks_run(struct activator *a); /* at the end of the round */
bool hooks_run_idle(
    struct activator *a); /* the hooks for a time without work; true: there was one */
bool hooks_forbid_rest(const struct activator *a); /* true: hooks_run_idle() has some to run */
ao_time hooks_next(const struct activator *a);     /* when the next of those that wait is due */
void hooks_disarm(struct activator *a);            /* when the activator closes */

/* idle.c */
void idle_poll(struct activator *a, bool may_block); /* the end of a round */
bool activator_busy(const struct activator *a);      /* true: the next round has work */

#endif
