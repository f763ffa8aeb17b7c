/* Connections that serve, over real sockets: the server's drain, and what the system knows of their
 * peers. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/connection/conn_private.h"
#include "server/net/serving.h"
#include "tests/support/net_server.h"

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void keep(void *block)
{
}

/* Closes those whose server has; returns how many it were. */
static int let_go(int *fds, int count)
{
    int closed = 0;

    for (int i = 0; i < count; i++) {
        if (fds[i] < 0 || !net_client_at_eof(fds[i]))
            continue;
        close(fds[i]);
        fds[i] = -1;
        closed++;
    }
    return closed;
}

/* Those of workers are not waited for, but for what these have asked themselves. */
SERVER_TEST(a_drain_is_done_when_only_connections_that_serve_are_left)
{
    int drained = 0;
    int fds[4];

    server.count = 2;
    const char *url = server_listen((struct listener_options){0});
    for (int i = 0; i < 4; i++)
        fds[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == 4);
    server_turn(2);
    struct connection *first = LIST_FIRST(&server.loops[0]->all),
                      *second = LIST_FIRST(&server.loops[1]->all);
    assert_true(conn_serve(first, true) && conn_serve(second, true));
    conn_call_began(second, true);
    net_drain(server.acceptor, count_call, &drained);
    SERVER_UNTIL(server_connections(0) == 2 && second->drain);
    server_turn(20);
    assert_int_equal(drained, 0);
    for (int gone = 0; gone < 2; gone += let_go(fds, 4))
        server_turn(1);
    SERVER_UNTIL(server_total() == 2);
    server_turn(20);
    assert_int_equal(drained, 0);
    conn_call_ended(second, true);
    SERVER_UNTIL(drained == 1);
    assert_int_equal(server_total(), 2);
    net_abort(server.acceptor);
    SERVER_UNTIL(server_total() == 0);
    server_turn(20);
    assert_int_equal(drained, 1);
    assert_int_equal(let_go(fds, 4), 2);
}

static int option_of(const struct connection *c, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    getsockopt(c->stream.fd, level, name, &value, &size);
    return value;
}

SERVER_TEST(the_system_asks_the_peer_of_one_that_serves)
{
    server.limits.silence = AO_S(15);
    const char *url = server_listen((struct listener_options){0});
    int fd = net_client_connect(url);
    SERVER_UNTIL(server_total() == 1);
    struct connection *c = LIST_FIRST(&server.loops[0]->all);
    server_turn(2);
    assert_int_equal(option_of(c, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_true(conn_serve(c, true));
    assert_int_equal(option_of(c, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option_of(c, IPPROTO_TCP, TCP_KEEPIDLE), 5);
    assert_int_equal(option_of(c, IPPROTO_TCP, TCP_KEEPINTVL), 3);
    assert_int_equal(option_of(c, IPPROTO_TCP, TCP_KEEPCNT), 3);
    assert_int_equal(option_of(c, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    close(fd);
}

/* Its window is full, and its system says so. */
SERVER_TEST(who_does_not_read_is_heard_all_the_same)
{
    static char block[1 << 20];
    struct stream_silence s;

    server.limits.silence = AO_S(15);
    const char *url = server_listen((struct listener_options){0});
    int fd = net_client_connect(url);
    SERVER_UNTIL(server_total() == 1);
    struct connection *c = LIST_FIRST(&server.loops[0]->all);
    server_turn(2);
    assert_true(conn_serve(c, true));
    for (int i = 0; i < 8; i++)
        conn_send_block(c, block, span_of(block, sizeof block), keep);
    SERVER_UNTIL(stream_fd_unheard(&c->stream, &s) && s.waits && !s.asked);
    assert_true(output_bytes(c) > 0);
    assert_true(s.since < AO_S(10));
    close(fd);
}

SERVER_TEST(of_a_unix_socket_nobody_can_tell)
{
    int fds[2];
    struct stream_silence out;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct stream s = {.fd = fds[0]};
    stream_fd_ask_often(&s, &(struct stream_asks){.quiet = 5, .interval = 3, .count = 3});
    assert_false(stream_fd_unheard(&s, &out));
    close(fds[0]);
    close(fds[1]);
}
