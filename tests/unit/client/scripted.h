/* A server whose answers a test writes: it listens on a port of its own on the loopback, on the
 * test's event base, and hands each message of a client to the test. */
#ifndef ERGON_TESTS_CLIENT_SCRIPTED_H
#define ERGON_TESTS_CLIENT_SCRIPTED_H

#include <event2/event.h>

#include "proto/envelope.h"
#include "proto/scanner.h"
#include "tests/support/cmocka_env.h"

struct scripted;
typedef void scripted_fn(struct scripted *s, const struct envelope *e);

struct scripted {
    struct event_base *base;
    struct evconnlistener *listener;
    struct bufferevent *connection; /* the latest; NULL while there is none */
    unsigned accepted;
    unsigned ended;    /* by the client */
    unsigned messages; /* but for the greeting of each connection, which nobody is handed */
    bool greeted;      /* the latest connection; without a greeting at its start the test fails */
    scripted_fn *on_message;
    void *user;
    char url[64];
    struct scanner scanner;
};

void scripted_start(struct scripted *s, scripted_fn *on_message, void *user);
void scripted_stop(struct scripted *s);

/* Closes the connection. */
void scripted_hang_up(struct scripted *s);

void scripted_send(struct scripted *s, const void *bytes, size_t len);

/* [1, id, nil, "text"] and [1, id, "text", nil]. */
void scripted_answer(struct scripted *s, struct span msgid, const char *text);
void scripted_refuse(struct scripted *s, struct span msgid, const char *text);

/* Runs the loop until *flag is at least `count`. */
void scripted_until(struct scripted *s, const unsigned *flag, unsigned count);

#endif
