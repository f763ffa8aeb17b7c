/* A client and the server that it talks to, on one event base, and what the tests see of its calls.
 */
#ifndef ERGON_TESTS_CLIENT_WORLD_H
#define ERGON_TESTS_CLIENT_WORLD_H

#include "tests/unit/client/scripted.h"

#include <ergon/client.h>

/* One for each call: counts its callbacks and keeps what the last said. */
struct seen {
    unsigned *total;
    unsigned count;
    ergon_call_id id;
    enum ergon_end outcome;
    char code[40];
    char text[128];
    char result[64];
};

void seen_answer(void *arg, const struct ergon_answer *a);

struct world {
    struct scripted server;
    struct ergon_client *client; /* NULL: none, or the test has freed it */
    unsigned total;              /* callbacks of its calls */
    unsigned called;             /* of `calls` */
    struct seen calls[8];
};

/* *state of each test is a world whose server is there; what the test leaves is freed. */
int world_setup(void **state);
int world_teardown(void **state);
#define WORLD_TEST(name) TEST_WITH(world_setup, world_teardown, name)

/* The client; its back-off is 1 ms unless given.  The server hands its messages to `on_message`. */
struct world *world_open(void **state, scripted_fn *on_message, void *user,
                         struct ergon_options options);

/* A call without parameters that must be accepted. */
struct seen *world_call(struct world *w, const char *method, uint32_t timeout_ms);

/* Runs the loop until there were so many callbacks; until the client is connected. */
void world_until(struct world *w, unsigned total);
void world_until_ready(struct world *w);

/* For scripted_start() and world_open(): each call returns the name of its method. */
void answer_with_name(struct scripted *s, const struct envelope *e);

#endif
