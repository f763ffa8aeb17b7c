/* One loop with connections over scripted streams, on the virtual clock; the trace holds the lines
 * of connections alone. */
#ifndef ERGON_TESTS_NET_WORLD_H
#define ERGON_TESTS_NET_WORLD_H

#include "server/net/connection/conn_private.h"
#include "tests/support/echo_port.h"
#include "tests/support/scripted_stream.h"

struct net_world {
    struct virtual v;
    void (*record)(void *arg, const char *line); /* of the virtual world */
    struct activator *activator;
    struct net_loop *loop;
    struct echo_port echo;
    struct listener_rules rules;
    struct net_limits limits; /* change them before net_world_open() */
    uint64_t next_id;
};

/* Limits that no test meets by accident. */
void net_world_init(struct net_world *w);
void net_world_open(struct net_world *w);
/* Both halves of the tear-down.  net_world_fini() frees the connections that are left. */
void net_world_fini(struct net_world *w);

/* A connection in HANDSHAKE over `k`, which it initialises.  NULL without memory. */
struct connection *net_world_connect(struct net_world *w, struct script *k);
void net_world_run_ms(struct net_world *w, uint64_t ms); /* until that time, since the beginning */
void net_world_order(struct net_world *w, enum loop_message_kind kind);

/* [0, id, method, [argument]]; `id` below 128.  Returns its length. */
size_t net_request(uint8_t *p, uint8_t id, const char *method, const char *argument);
void net_send(struct script *k, uint8_t id, const char *method, const char *argument);
/* The ids of the whole responses in `out`, as text: "1 2 5"; "?" for what is no response. */
const char *net_answered(const struct script *k, char *buf, size_t size);

#define net_expect(w, expected) trace_expect(&(w)->v, expected)

#endif
