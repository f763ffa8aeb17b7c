/* One loop with connections over scripted streams, on the virtual clock; the trace holds the lines
 * of connections alone.  One world at a time. */
#ifndef ERGON_TESTS_NET_WORLD_H
#define ERGON_TESTS_NET_WORLD_H

#include "server/net/connection/conn_private.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/echo_port.h"
#include "tests/support/scripted_stream.h"

struct net_world {
    struct virtual v;
    void (*record)(void *arg, const char *line); /* of the virtual world */
    struct activator *activator;
    struct accounts *accounts;
    struct tally_book tallies;
    struct net_loop *loop; /* between net_start(), or the first net_connect(), and net_stop() */
    struct conn_port port; /* that of `echo`, unless it is set before the loop is opened */
    struct echo_port echo;
    struct listener_rules rules;
    struct net_limits limits; /* that no test meets by accident; change them before the loop is */
    uint64_t next_id;
    struct script *scripts; /* all that were connected */
};

/* For the next net_open() alone; nothing is limited where nothing was wished. */
struct net_wish {
    struct account_limits accounts; /* with no bytes_in_all: none */
    uint64_t connection_bytes;
};

extern struct net_world net;
extern struct net_wish net_wish;
extern struct script peer; /* of tests that need one */

/* For cmocka's set-up and tear-down, and for tests of many worlds: opening closes the one before.
 */
int net_open(void **state);
int net_close(void **state);
#define NET_TEST(name) TEST_WITH(net_open, net_close, name)

void net_start(void); /* opens the loop */
void net_stop(void);  /* frees it, with its connections; net_close() does, too */
/* A connection in HANDSHAKE over `k`, which is static: net_close() lets go of it.  NULL without
 * memory. */
struct connection *net_connect(struct script *k);
/* The same from an address that is counted. */
struct connection *net_connect_from(struct script *k, uint64_t key);
void net_run_ms(uint64_t ms); /* until that time, since the beginning */
void net_order(enum loop_message_kind kind);

/* [0, id, method, [argument]]; `id` below 128.  Returns its length. */
size_t net_request(uint8_t *p, uint8_t id, const char *method, const char *argument);
void net_send(struct script *k, uint8_t id, const char *method, const char *argument);
/* The ids of the whole responses in `out`, as text: "1 2 5"; "?" for what is no response.  Valid
 * until the next call. */
const char *net_answered(const struct script *k);

#define net_expect(expected) trace_expect(&net.v, expected)

#endif
