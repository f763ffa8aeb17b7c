/* A port for connections in tests: answers by itself, or when the test says so.
 *
 *   echo   answers its parameters at once, as a call that began and ended
 *   hold   a call in flight until echo_release()
 *   poll   the same, and not counted
 *   big    [bytes]: answers a bin of that length, as a block
 *   close  conn_close()
 *   note   begins nothing: harmless
 *
 * Thread: the loop's. */
#ifndef ERGON_TESTS_ECHO_PORT_H
#define ERGON_TESTS_ECHO_PORT_H

#include "server/net/connection.h"

enum { ECHO_HELD_MAX = 1024 };

struct echo_held {
    struct connection *c;
    bool counted;
    uint8_t msgid[MSGID_MAX];
    uint8_t msgid_len;
};

struct echo_port {
    uint64_t requests, notifications, responses;
    uint64_t gone; /* connections */
    uint64_t finished, flushed;
    const char *why; /* of the last that was gone, or finished: conn_why() */
    void (*on_flushed)(struct connection *c); /* NULL: nothing is done */
    uint32_t held_count;
    struct echo_held held[ECHO_HELD_MAX]; /* in order of arrival */
};

struct conn_port echo_port(struct echo_port *e);
/* Answers and ends the oldest `count` calls that are held. */
void echo_release(struct echo_port *e, uint32_t count);

#endif
