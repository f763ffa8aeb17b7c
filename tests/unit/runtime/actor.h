/* Scripted objects, two of them on one virtual activator: what the tests of objects share. */
#ifndef ERGON_TESTS_ACTOR_H
#define ERGON_TESTS_ACTOR_H

#include "tests/support/virtual.h"

/* An object whose step is a list of things to do, one a step; the last goes on for ever. */
struct actor {
    struct ao ao;
    enum ao_verdict (*script[8])(struct actor *self);
    int at;
    unsigned why; /* of the last step */
    int steps, retired, faults, code;
    char text[256];
    struct actor *other;
};

struct world {
    struct virtual v;
    struct activator *loop;
    struct actor x, y;
};

/* Set-up and tear-down of a test: a fresh world as its state. */
int actors_set_up(void **state);
int actors_tear_down(void **state);
#define ACTORS_TEST(name) TEST_OF(struct world *w, NULL, actors_set_up, actors_tear_down, name)

/* Activates `x` with `first` as its first step; it is done in the second. */
void actors_begin(struct world *w, enum ao_verdict (*first)(struct actor *));
enum ao_state actors_round(struct world *w); /* one round; the state of `x` afterwards */

/* Steps for scripts. */
enum ao_verdict actor_again(struct actor *self);
enum ao_verdict actor_done(struct actor *self);
enum ao_verdict actor_park(struct actor *self);
enum ao_verdict actor_fault(struct actor *self);
enum ao_verdict actor_fault_silently(struct actor *self);
enum ao_verdict actor_sleep_5(struct actor *self);

#endif
