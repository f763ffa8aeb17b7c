/* A server in a thread of its own, plain, TLS or on a Unix socket, for what blocks: it answers each
 * request with the name of its method, "task.watch" after about 1 ms, "fail" with an error, and
 * "silence", as a method or the name of a task, not at all; at the first "third time" it hangs up,
 * and at the second it says that it is about to stop. */
#ifndef ERGON_TESTS_CLIENT_THREADED_H
#define ERGON_TESTS_CLIENT_THREADED_H

#include <pthread.h>

#include "tests/support/cmocka_env.h"

enum threaded_kind { THREADED_TCP, THREADED_TLS, THREADED_UNIX };

struct threaded {
    enum threaded_kind kind;
    pthread_t thread;
    int listener;
    unsigned notifications; /* valid after threaded_stop() */
    unsigned tries;         /* of "third time" */
    char folder[64];        /* temporary; holds what follows */
    char certificate[96];   /* PEM, self-made, names localhost and 127.0.0.1 */
    char key[96];
    char path[96]; /* Unix socket */
    char url[128];
};

void threaded_start(struct threaded *t, enum threaded_kind kind);
void threaded_stop(struct threaded *t); /* after the clients have gone; idempotent */

#endif
