/* What a test sees of its calls, and the client that it makes them with. */
#ifndef ERGON_TESTS_CLIENT_SEEN_H
#define ERGON_TESTS_CLIENT_SEEN_H

#include "tests/unit/client/scripted.h"

#include <ergon/client.h>

/* One for each call: counts its callbacks and keeps what the last said. */
struct seen {
    unsigned *total;
    unsigned count;
    enum ergon_end outcome;
    char code[32];
    char text[128];
    char result[64];
};

void seen_answer(void *arg, const struct ergon_answer *a);

/* A client of `s`; its back-off is 1 ms unless given. */
struct ergon_client *seen_client(struct scripted *s, struct ergon_options options);

/* A call without parameters that must be accepted. */
ergon_call_id seen_call(struct ergon_client *client, const char *method, struct seen *seen,
                        uint32_t timeout_ms);

/* For scripted_start(): each call returns the name of its method. */
void seen_answer_with_name(struct scripted *s, const struct envelope *e);

#endif
