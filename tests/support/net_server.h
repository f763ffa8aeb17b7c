/* A real server of connections in one thread: sockets, pollers and loops are real, the clock is the
 * test's, and nothing runs but in server_turn().  One server at a time. */
#ifndef ERGON_TESTS_NET_SERVER_H
#define ERGON_TESTS_NET_SERVER_H

#include <sched.h>
#include <ergon/activator.h>
#include <ergon/poller.h>

#include "server/accounts/tally.h"
#include "server/net/net.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/echo_port.h"

enum { NET_SERVER_LOOPS = 4, NET_SERVER_TURNS = 200000 };

struct net_server {
    ao_time now;
    struct ao_clock clock;
    uint32_t count; /* of loops; change it before server_listen() */
    struct poller *pollers[NET_SERVER_LOOPS];
    struct activator *activators[NET_SERVER_LOOPS];
    struct accounts *accounts;
    struct tally_book tallies[NET_SERVER_LOOPS];
    struct net_loop *loops[NET_SERVER_LOOPS];
    struct echo_port ports[NET_SERVER_LOOPS];
    struct net_limits limits; /* the same */
    struct acceptor *acceptor;
    char error[256];
};

extern struct net_server server;

/* For cmocka's set-up and tear-down, and for tests of many servers: opening closes the one before.
 */
int server_open(void **state);
int server_close(void **state);
#define SERVER_TEST(name) TEST_WITH(server_open, server_close, name)

/* Where it listens; by default at a port of the system's choice, without rules.  The first call
 * starts the loops.  NULL with a text in server.error. */
const char *server_listen(struct listener_options options);
void server_turn(int times); /* rounds of every loop, without blocking */
uint64_t server_connections(uint32_t loop);
uint64_t server_total(void);

/* Turns until the condition holds; fails the test when it never does.  The kernel and the server's
 * threads that look names up get the processor in between, however many others want it. */
#define SERVER_UNTIL(condition)                                                                    \
    do {                                                                                           \
        int turns_ = 0;                                                                            \
        while (!(condition)) {                                                                     \
            assert_true(turns_++ < NET_SERVER_TURNS);                                              \
            server_turn(1);                                                                        \
            if (turns_ > NET_SERVER_TURNS / 100)                                                   \
                sched_yield();                                                                     \
        }                                                                                          \
    } while (0)

/* A client's socket, non-blocking; -1 when the connection is refused at once. */
int net_client_connect(const char *url);
/* The same from 127.0.0.`host`, to a server of version 4 on this machine. */
int net_client_connect_from(const char *url, uint32_t host);
/* An IPv4 address, whoever has it. */
struct net_origin net_client_address(const char *text);
/* One that the listener takes over as if it came from there: net_adopt(). */
int net_client_adopt(uint32_t listener, const struct net_origin *from);
/* True when an answer with that id has come as the next message; consumes it. */
bool net_client_answered(int fd, uint8_t id);
/* Has the server closed it?  What comes before that is consumed. */
bool net_client_at_eof(int fd);
/* The same, and nothing is consumed but a notification: as long as something else can be read it
 * has not. */
bool net_client_ended(int fd);
void net_client_request(int fd, uint8_t id);
int net_clients_open(const int *fds, int count); /* how many have not ended */
void net_clients_close(const int *fds, int count);

#endif
