/* A real server of connections in one thread: sockets, pollers and loops are real, the clock is the
 * test's, and nothing runs but in net_server_turn(). */
#ifndef ERGON_TESTS_NET_SERVER_H
#define ERGON_TESTS_NET_SERVER_H

#include <ergon/activator.h>
#include <ergon/poller.h>

#include "server/net/net.h"
#include "tests/support/echo_port.h"

enum { NET_SERVER_LOOPS = 4, NET_SERVER_TURNS = 200000 };

struct net_server {
    ao_time now;
    struct ao_clock clock;
    uint32_t count;
    struct poller *pollers[NET_SERVER_LOOPS];
    struct activator *activators[NET_SERVER_LOOPS];
    struct net_loop *loops[NET_SERVER_LOOPS];
    struct echo_port ports[NET_SERVER_LOOPS];
    struct net_limits limits; /* change them before net_server_open() */
    struct acceptor *acceptor;
    char error[256];
};

void net_server_init(struct net_server *s, uint32_t loops);
void net_server_open(struct net_server *s);
void net_server_close(struct net_server *s);
/* One round of every loop, without blocking. */
void net_server_turn(struct net_server *s);
uint64_t net_server_connections(const struct net_server *s, uint32_t loop);
uint64_t net_server_total(const struct net_server *s);

/* Turns until the condition holds; fails the test when it never does. */
#define NET_SERVER_UNTIL(s, condition)                                                             \
    do {                                                                                           \
        int turns_ = 0;                                                                            \
        while (!(condition)) {                                                                     \
            assert_true(turns_++ < NET_SERVER_TURNS);                                              \
            net_server_turn(s);                                                                    \
        }                                                                                          \
    } while (0)

/* A client's socket, non-blocking; -1 when the connection is refused at once. */
int net_client_connect(const char *url);
/* True when an answer with that id has come as the next message; consumes it. */
bool net_client_answered(int fd, uint8_t id);
bool net_client_at_eof(int fd);
void net_client_request(int fd, uint8_t id);

#endif
