/* A stage for the tests of the cooperative primitives: two activators on a virtual clock, actors
 * that run sequences, and what they said, with the virtual milliseconds, as one text. */
#ifndef ERGON_TESTS_UNIT_RUNTIME_STAGE_H
#define ERGON_TESTS_UNIT_RUNTIME_STAGE_H

#include <ergon/sem.h>
#include <ergon/seq.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

struct stage {
    struct virtual v;
    struct activator *home, *away;
    void *props; /* of the test */
    char text[8192];
    size_t length;
};

struct actor {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    struct ao_permit permit;
    struct stage *stage;
    char name;
    enum ao_verdict (*step)(struct ao *self);
    int i;
    ao_time patience; /* of awaits that have a deadline */
    bool retired;
};

void stage_open(struct stage *s, void *props);
void stage_close(struct stage *s);

/* Lines are "[ms] text". */
void stage_say(struct stage *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define stage_expect(s, expected) stage_expect_at((s), (expected), __FILE__, __LINE__)
void stage_expect_at(struct stage *s, const char *expected, const char *file, int line);

/* A new actor that runs `step`, active. */
void actor_enter(struct actor *a, struct stage *s, struct activator *home, char name,
                 enum ao_verdict (*step)(struct ao *self));
struct actor *actor_of(struct ao *ao);

/* Says "<name> <what>"; the second form with the outcome of its wait. */
void actor_say(struct actor *a, const char *what);
void actor_say_outcome(struct actor *a, const char *what);

#endif
