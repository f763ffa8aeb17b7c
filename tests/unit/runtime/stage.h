/* A stage for the tests of the cooperative primitives: two activators on a virtual clock, actors
 * that run sequences, and what they said, with the virtual milliseconds, as one text. */
#ifndef ERGON_TESTS_UNIT_RUNTIME_STAGE_H
#define ERGON_TESTS_UNIT_RUNTIME_STAGE_H

#include <ergon/sem_remote.h>
#include <ergon/seq.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

struct actor {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    struct ao_permit permit;
    char name;
    enum ao_verdict (*step)(struct ao *self);
    int i;
    ao_time patience; /* of awaits that have a deadline */
    bool retired;
};

enum { STAGE_ACTORS = 8 };

struct stage {
    struct virtual v;
    struct activator *home, *away;
    struct actor actors[STAGE_ACTORS];
    int entered; /* how many of them */
    char text[8192];
    size_t length;
};

/* The one of the program.  A STAGE_TEST begins with it empty; who plays several times in a test
 * opens and closes it himself. */
extern struct stage stage;
void stage_open(void);
void stage_close(void);

int stage_set_up(void **state);
int stage_tear_down(void **state);
#define STAGE_TEST(name) TEST_WITH(stage_set_up, stage_tear_down, name)

/* Lines are "[ms] text". */
void stage_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define stage_expect(expected) stage_expect_at((expected), __FILE__, __LINE__)
void stage_expect_at(const char *expected, const char *file, int line);

/* A new actor that runs `step`, active: at home, or on another activator.  It is the stage's. */
struct actor *actor_enter(char name, enum ao_verdict (*step)(struct ao *self));
struct actor *actor_enter_at(struct activator *home, char name,
                             enum ao_verdict (*step)(struct ao *self));
struct actor *actor_of(struct ao *ao);

/* Says "<name> <what>"; the second form with the outcome of its wait. */
void actor_say(struct actor *a, const char *what);
void actor_say_outcome(struct actor *a, const char *what);

#endif
