/* Listeners, limits, and who gets which connection; over real sockets. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/principal.h"
#include "server/net/auth/token.h"
#include "server/net/connection/conn_private.h"
#include "tests/support/net_server.h"

SERVER_TEST(the_loop_with_the_fewest_gets_it)
{
    int fds[9];

    server.count = 3;
    const char *url = server_listen((struct listener_options){0});
    for (int i = 0; i < 9; i++) {
        fds[i] = net_client_connect(url);
        net_client_request(fds[i], 1);
        SERVER_UNTIL(net_client_answered(fds[i], 1));
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(server_connections(i), 3);
    for (int i = 1; i < 9; i += 3) /* all of the second loop */
        close(fds[i]);
    SERVER_UNTIL(server_total() == 6);
    server_turn(8); /* the slots come home */
    for (int i = 1; i < 9; i += 3)
        fds[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == 9);
    assert_int_equal(server_connections(1), 3);
    for (int i = 0; i < 9; i++)
        close(fds[i]);
    SERVER_UNTIL(server_total() == 0);
}

/* Else one that is alone would always be the first loop's. */
SERVER_TEST(loops_with_as_many_take_turns)
{
    unsigned had = 0;

    server.count = 3;
    const char *url = server_listen((struct listener_options){0});
    for (int i = 0; i < 3; i++) {
        int fd = net_client_connect(url);
        SERVER_UNTIL(server_total() == 1);
        for (uint32_t loop = 0; loop < 3; loop++)
            had |= server_connections(loop) ? 1u << loop : 0;
        close(fd);
        SERVER_UNTIL(server_total() == 0);
        server_turn(8); /* the slot comes home */
    }
    assert_int_equal(had, 7);
}

static int connect_from(const char *address)
{
    const struct net_origin from = net_client_address(address);

    return net_client_adopt(0, &from);
}

static void fifteen_say_nothing(const char *address)
{
    int fds[15];

    for (int i = 0; i < 15; i++)
        fds[i] = connect_from(address);
    SERVER_UNTIL(server_total() == 15);
    server.now += AO_S(1);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8); /* the slots come home */
    for (int i = 0; i < 15; i++)
        close(fds[i]);
}

static bool is_let_in(const char *address)
{
    int fd = connect_from(address);
    bool in = false;

    net_client_request(fd, 1);
    SERVER_UNTIL(net_client_ended(fd) || (in = net_client_answered(fd, 1)));
    close(fd);
    SERVER_UNTIL(server_total() == 0);
    return in;
}

static void listen_with_penalties(struct listener_options options)
{
    server.limits.auth_timeout = AO_S(1);
    server.limits.penalty = AO_S(5);
    server_listen(options);
}

static const struct listener_options asks = {.auth = LISTENER_AUTH_TOKEN, .penalties = true};
static const char elsewhere[] = "192.0.2.7";

SERVER_TEST(an_address_that_only_says_nothing_is_kept_out_for_a_while)
{
    listen_with_penalties(asks);
    assert_true(is_let_in(elsewhere));
    fifteen_say_nothing(elsewhere);
    assert_false(is_let_in(elsewhere));
    assert_true(is_let_in("192.0.2.8"));
    server.now += AO_S(15);
    assert_true(is_let_in(elsewhere));
}

SERVER_TEST(who_is_kept_out_is_told_why)
{
    static const char text[] = "\x93\x02\xaeserver.closing\x92\xa4"
                               "BUSY\xda\x00\x66this address is refused for a while, after wrong "
                               "tokens, failed handshakes or silence (limits.penalty)";
    char got[sizeof text];

    listen_with_penalties(asks);
    fifteen_say_nothing(elsewhere);
    int fd = connect_from(elsewhere);
    SERVER_UNTIL(recv(fd, got, sizeof got, MSG_PEEK) > 0);
    assert_int_equal(recv(fd, got, sizeof got, 0), sizeof text - 1);
    assert_memory_equal(got, text, sizeof text - 1);
    SERVER_UNTIL(net_client_at_eof(fd));
    close(fd);
}

SERVER_TEST(a_reload_forgets_who_was_kept_out)
{
    char error[200];
    listen_with_penalties(asks);
    fifteen_say_nothing(elsewhere);
    assert_false(is_let_in(elsewhere));
    assert_int_equal(net_reload(server.acceptor, NULL, error, sizeof error), 0);
    server_turn(8);
    assert_true(is_let_in(elsewhere));
}

SERVER_TEST(behind_a_proxy_no_address_is_kept_out)
{
    listen_with_penalties((struct listener_options){.auth = LISTENER_AUTH_TOKEN});
    fifteen_say_nothing(elsewhere);
    assert_true(is_let_in(elsewhere));
}

SERVER_TEST(this_machine_is_not_kept_out)
{
    listen_with_penalties(asks);
    fifteen_say_nothing("127.0.0.2");
    assert_true(is_let_in("127.0.0.2"));
}

static bool is_let_in_after_guesses(const char *address)
{
    int fd = connect_from(address);

    SERVER_UNTIL(server_total() == 1);
    for (int i = 0; i < 4; i++)
        conn_auth_failed(LIST_FIRST(&server.loops[0]->all));
    close(fd);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8); /* the slot comes home */
    return is_let_in(address);
}

SERVER_TEST(an_address_that_guesses_is_kept_out)
{
    listen_with_penalties(asks);
    assert_false(is_let_in_after_guesses(elsewhere));
}

SERVER_TEST(where_nobody_has_to_say_who_it_is_a_wrong_token_costs_nothing)
{
    listen_with_penalties((struct listener_options){.penalties = true});
    assert_true(is_let_in_after_guesses(elsewhere));
}

static void refused_beyond(const char *url, int limit)
{
    int fds[8];

    for (int i = 0; i < limit; i++)
        fds[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == (uint64_t)limit);
    int over = net_client_connect(url);
    SERVER_UNTIL(net_client_at_eof(over));
    close(over);
    close(fds[0]);
    SERVER_UNTIL(server_total() == (uint64_t)limit - 1);
    server_turn(8);
    fds[0] = net_client_connect(url);
    net_client_request(fds[0], 2);
    SERVER_UNTIL(net_client_answered(fds[0], 2));
    for (int i = 0; i < limit; i++)
        close(fds[i]);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(beyond_a_limit_a_connection_is_refused)
{
    server.count = 2;
    server.limits.connections = 3;
    refused_beyond(server_listen((struct listener_options){0}), 3);
    server_open(NULL);

    server.count = 2;
    server.limits.connections_per_address = 2;
    refused_beyond(server_listen((struct listener_options){0}), 2);
    server_open(NULL);

    const char *url =
        server_listen((struct listener_options){.url = "ergon://[::]:0", .connections = 4});
    refused_beyond(url, 4);
}

/* Or strangers could fill the memory by being refused. */
SERVER_TEST(of_an_address_that_was_refused_nothing_is_kept)
{
    server.limits.connections = 1;
    server.limits.connections_per_address = 10;
    const char *url = server_listen((struct listener_options){0});
    int fd = net_client_connect(url);
    SERVER_UNTIL(server_total() == 1);
    int other = net_client_connect_from(url, 2);
    SERVER_UNTIL(net_client_at_eof(other));
    assert_int_equal(server.acceptor->origins.by_key.count, 1);
    close(other);
    close(fd);
    SERVER_UNTIL(server_total() == 0);
    server_turn(8); /* the slot comes home */
    assert_int_equal(server.acceptor->origins.by_key.count, 0);
}

SERVER_TEST(a_shortage_of_files_is_a_pause)
{
    struct rlimit old;
    int fds[3];

    const char *url = server_listen((struct listener_options){0});
    for (int i = 0; i < 3; i++)
        fds[i] = net_client_connect(url);
    getrlimit(RLIMIT_NOFILE, &old);
    struct rlimit low = {.rlim_cur = (rlim_t)fds[2] + 2, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    SERVER_UNTIL(server_total() == 1);
    struct activator_stats before, after;
    server_turn(100);
    activator_stats(server.activators[0], &before);
    server_turn(100);
    activator_stats(server.activators[0], &after);
    assert_int_equal(after.steps, before.steps); /* it waits, and does not spin */
    setrlimit(RLIMIT_NOFILE, &old);
    server.now += AO_MS(200);
    SERVER_UNTIL(server_total() == 3);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

/* While it pauses, connections that end come home: that neither ends the pause nor prolongs it. */
SERVER_TEST(the_pause_ends_in_its_time)
{
    struct rlimit old;
    int fds[12];

    const char *url = server_listen((struct listener_options){0});
    for (int i = 0; i < 10; i++)
        fds[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == 10);
    for (int i = 10; i < 12; i++)
        fds[i] = net_client_connect(url);
    getrlimit(RLIMIT_NOFILE, &old);
    struct rlimit low = {.rlim_cur = (rlim_t)fds[11] + 1, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    SERVER_UNTIL(server.acceptor->paused);
    setrlimit(RLIMIT_NOFILE, &old);
    for (uint64_t i = 0; i < 5; i++) { /* one in 30 ms */
        close(fds[i]);
        SERVER_UNTIL(server.loops[0]->counters.closed == i + 1);
        server.now += AO_MS(30);
    }
    server_turn(100);
    assert_int_equal(server_total(), 7);
    for (int i = 5; i < 12; i++)
        close(fds[i]);
}

SERVER_TEST(a_unix_socket_knows_its_users)
{
    char directory[] = "/tmp/ergon-acceptor-XXXXXX";
    char path[64];
    char url[80];
    struct stat status;
    const struct passwd *me = getpwuid(getuid());
    char name[64];

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/s", directory);
    snprintf(url, sizeof url, "unix://%s", path);
    const struct listener_options options = {
        .url = url, .auth = LISTENER_AUTH_PEER, .methods = "echo", .unix_mode = 0640};
    assert_string_equal(server_listen(options), url);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_null(server_listen(options)); /* somebody listens there: us */
    assert_non_null(strstr(server.error, "another server listens"));
    assert_non_null(strstr(server.error, path));

    int fd = net_client_connect(url);
    net_client_request(fd, 3);
    SERVER_UNTIL(net_client_answered(fd, 3));
    const struct connection *c = LIST_FIRST(&server.loops[0]->all);
    assert_non_null(me);
    snprintf(name, sizeof name, "unix:%s", me->pw_name);
    assert_string_equal(principal_name(conn_principal(c)), name);
    assert_true(principal_may(conn_principal(c), span_text("echo")));
    assert_false(principal_may(conn_principal(c), span_text("hash")));
    char peer[32];
    snprintf(peer, sizeof peer, "unix:%u", getuid());
    assert_string_equal(conn_peer(c), peer);
    close(fd);
    server_close(NULL);
    assert_int_not_equal(stat(path, &status), 0); /* taken away */
    rmdir(directory);
}

SERVER_TEST(a_stale_unix_socket_is_replaced)
{
    char directory[] = "/tmp/ergon-acceptor-XXXXXX";
    char url[80];
    char copy[80];

    assert_non_null(mkdtemp(directory));
    snprintf(url, sizeof url, "unix://%s/s", directory);
    snprintf(copy, sizeof copy, "%s/old", directory);
    assert_non_null(server_listen((struct listener_options){.url = url, .unix_mode = 0600}));
    assert_int_equal(link(url + 7, copy), 0); /* survives the unlink, as after a crash */
    server_open(NULL);
    assert_int_equal(rename(copy, url + 7), 0);
    assert_non_null(server_listen((struct listener_options){.url = url, .unix_mode = 0600}));
    int fd = net_client_connect(url);
    net_client_request(fd, 1);
    SERVER_UNTIL(net_client_answered(fd, 1));
    close(fd);
    rmdir(directory);
}

/* --- Peers that leave, and peers that only have no more to ask --- */

static int connect_and_hold(const char *url)
{
    static const uint8_t request[] = {0x94, 0, 1, 0xa4, 'h', 'o', 'l', 'd', 0x90};
    int fd = net_client_connect(url);

    assert_int_equal(send(fd, request, sizeof request, MSG_NOSIGNAL), sizeof request);
    SERVER_UNTIL(server.ports[0].held_count == 1);
    return fd;
}

/* It is answered, and before that nobody takes it for gone. */
static void expect_answer(int fd)
{
    uint8_t answer[5];

    SERVER_UNTIL(LIST_FIRST(&server.loops[0]->all)->state == CONN_DRAINING);
    server_turn(100);
    assert_int_equal(server.ports[0].gone, 0);
    echo_release(&server.ports[0], 1);
    SERVER_UNTIL(recv(fd, answer, sizeof answer, 0) == sizeof answer);
}

SERVER_TEST(the_full_close_of_a_unix_socket_is_no_half_close)
{
    char directory[] = "/tmp/ergon-acceptor-XXXXXX";
    char url[80];

    assert_non_null(mkdtemp(directory));
    snprintf(url, sizeof url, "unix://%s/s", directory);
    assert_non_null(server_listen((struct listener_options){.url = url, .unix_mode = 0600}));
    int fd = connect_and_hold(url);
    shutdown(fd, SHUT_WR);
    expect_answer(fd);
    close(fd);
    SERVER_UNTIL(server_total() == 0);

    fd = connect_and_hold(url); /* at once */
    close(fd);
    SERVER_UNTIL(server.ports[0].gone == 2);
    echo_release(&server.ports[0], 1);

    fd = connect_and_hold(url); /* or after a half-close */
    shutdown(fd, SHUT_WR);
    SERVER_UNTIL(LIST_FIRST(&server.loops[0]->all)->state == CONN_DRAINING);
    server_turn(100);
    close(fd);
    SERVER_UNTIL(server.ports[0].gone == 3);
    echo_release(&server.ports[0], 1);
    SERVER_UNTIL(server_total() == 0);
    server_close(NULL);
    rmdir(directory);
}

/* Or the answer to TCP's question whether it is there, which is the same. */
SERVER_TEST(the_reset_of_a_half_closed_peer_is_heard_of)
{
    const struct linger reset = {.l_onoff = 1};
    const char *url = server_listen((struct listener_options){0});
    int fd = connect_and_hold(url);

    shutdown(fd, SHUT_WR);
    expect_answer(fd);
    close(fd);
    SERVER_UNTIL(server_total() == 0);

    fd = connect_and_hold(url);
    shutdown(fd, SHUT_WR);
    SERVER_UNTIL(LIST_FIRST(&server.loops[0]->all)->state == CONN_DRAINING);
    server_turn(100);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
    SERVER_UNTIL(server.ports[0].gone == 2);
    echo_release(&server.ports[0], 1);
}

static int option(const struct connection *c, int name)
{
    int value = 0;
    socklen_t size = sizeof value;

    assert_int_equal(getsockopt(c->stream.fd, IPPROTO_TCP, name, &value, &size), 0);
    return value;
}

SERVER_TEST(a_quiet_peer_is_asked_whether_it_is_there)
{
    server.limits.keepalive = AO_S(15);
    int fd = connect_and_hold(server_listen((struct listener_options){0}));
    const struct connection *c = LIST_FIRST(&server.loops[0]->all);
    int on = 0;
    socklen_t size = sizeof on;

    assert_int_equal(getsockopt(c->stream.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size), 0);
    assert_int_equal(on, 1);
    assert_int_equal(option(c, TCP_KEEPIDLE), 15);
    assert_int_equal(option(c, TCP_KEEPINTVL), 15);
    assert_int_equal(option(c, TCP_KEEPCNT), 3);
    shutdown(fd, SHUT_WR); /* then more often */
    SERVER_UNTIL(option(c, TCP_KEEPIDLE) == 3);
    assert_int_equal(option(c, TCP_KEEPINTVL), 3);
    echo_release(&server.ports[0], 1);
    close(fd);
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
}

static void expect_file(const char *path)
{
    char text[16] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_string_equal(text, "precious");
    fclose(file);
}

/* Nor is a link followed: to a socket that nobody listens at any more, say. */
SERVER_TEST(no_file_but_its_own_socket_is_removed)
{
    char directory[] = "/tmp/ergon-acceptor-XXXXXX";
    char url[80];
    char other[80];

    assert_non_null(mkdtemp(directory));
    snprintf(url, sizeof url, "unix://%s/s", directory);
    snprintf(other, sizeof other, "%s/other", directory);
    const char *path = url + 7;
    const struct listener_options options = {.url = url, .unix_mode = 0600};
    write_file(path);
    assert_null(server_listen(options));
    assert_non_null(strstr(server.error, path));
    assert_non_null(strstr(server.error, "is no socket"));
    expect_file(path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_null(server_listen(options));
    assert_non_null(strstr(server.error, "is no socket"));
    expect_file(path);
    unlink(path);
    assert_non_null(server_listen(options));
    assert_int_equal(rename(other, path), 0); /* and later somebody puts it in the socket's place */
    server_close(NULL);
    expect_file(path);
    unlink(path);
    rmdir(directory);
}

SERVER_TEST(what_cannot_be_listened_at_is_said)
{
    static const char *const urls[] = {
        "http://x:1",          "unix://relative",      "ergon://nowhere.invalid:1",
        "ergon://192.0.2.1:1", "ergons://127.0.0.1:0", "unix:///nowhere/at/all"};

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        server.error[0] = '\0';
        assert_null(server_listen((struct listener_options){.url = urls[i]}));
        assert_true(strlen(server.error) > 10);
    }
    assert_int_equal(acceptor_count(server.acceptor), 0);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

SERVER_TEST(drain_ends_with_the_last_connection)
{
    int drained = 0;

    server.count = 2;
    const char *url = server_listen((struct listener_options){0});
    int a = net_client_connect(url);
    int b = net_client_connect(url);
    SERVER_UNTIL(server_total() == 2);
    net_drain(server.acceptor, count_call, &drained);
    net_drain(server.acceptor, count_call, &drained); /* asked twice, told once */
    SERVER_UNTIL(net_client_at_eof(a) && net_client_at_eof(b));
    int late = net_client_connect(url);
    SERVER_UNTIL(late < 0 || net_client_at_eof(late));
    close(a);
    assert_int_equal(drained, 0);
    close(b);
    SERVER_UNTIL(drained > 0);
    server_turn(100);
    assert_int_equal(drained, 1);
    assert_int_equal(server_total(), 0);
    if (late >= 0)
        close(late);
}

static void stand_in(void)
{
    acceptor_stand_in(server.acceptor);
    activator_round(server.activators[1], false);
    server.now += AO_US(60);
}

/* Until `condition`, while the first loop hangs. */
#define STOOD_IN_UNTIL(condition)                                                                  \
    do {                                                                                           \
        int turns_ = 0;                                                                            \
        while (!(condition)) {                                                                     \
            assert_true(turns_++ < NET_SERVER_TURNS);                                              \
            stand_in();                                                                            \
        }                                                                                          \
    } while (0)

SERVER_TEST(another_thread_stands_in_for_a_loop_that_hangs)
{
    struct pollfd ready[ACCEPTOR_FDS_MAX];
    int fds[3];

    server.count = 2;
    server.limits.connections = 3;
    const char *url = server_listen((struct listener_options){0});
    net_loop_set_away(server.loops[0], true);
    assert_int_equal(acceptor_poll_fds(server.acceptor, ready), 1);
    for (int i = 0; i < 3; i++)
        fds[i] = net_client_connect(url);
    assert_int_equal(poll(ready, 1, -1), 1);
    STOOD_IN_UNTIL(server_connections(1) == 3);
    for (int i = 0; i < 3; i++) {
        net_client_request(fds[i], 1);
        STOOD_IN_UNTIL(net_client_answered(fds[i], 1));
    }
    int over = net_client_connect(url);
    STOOD_IN_UNTIL(net_client_at_eof(over));
    close(over);
    close(fds[0]);
    STOOD_IN_UNTIL(server.acceptor->open == 2); /* it was counted */
    net_loop_set_away(server.loops[1], true);
    assert_int_equal(acceptor_poll_fds(server.acceptor, ready), 0); /* nobody would serve it */
    net_loop_set_away(server.loops[0], false);
    fds[0] = net_client_connect(url);
    SERVER_UNTIL(server_connections(0) == 1);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(a_drain_needs_no_first_loop)
{
    int drained = 0;

    server.count = 2;
    const char *url = server_listen((struct listener_options){0});
    net_loop_set_away(server.loops[0], true);
    int fd = net_client_connect(url);
    STOOD_IN_UNTIL(server_connections(1) == 1);
    net_drain(server.acceptor, count_call, &drained);
    STOOD_IN_UNTIL(net_client_at_eof(fd));
    close(fd);
    STOOD_IN_UNTIL(drained == 1);
    struct pollfd ready[ACCEPTOR_FDS_MAX];
    assert_int_equal(acceptor_poll_fds(server.acceptor, ready), 0);
}

SERVER_TEST(one_thread_is_the_acceptor)
{
    server.count = 2;
    const char *url = server_listen((struct listener_options){0});
    int fd = net_client_connect(url);
    assert_true(acceptor_take(server.acceptor)); /* another is at work */
    acceptor_stand_in(server.acceptor);
    server_turn(20);
    assert_int_equal(server_total(), 0);
    acceptor_let_go(server.acceptor);
    SERVER_UNTIL(server_total() == 1);
    close(fd);
}

SERVER_TEST(abort_closes_all)
{
    int drained = 0;

    server.count = 2;
    const char *url = server_listen((struct listener_options){0});
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = net_client_connect(url);
    SERVER_UNTIL(server_total() == 4);
    net_abort(server.acceptor);
    net_drain(server.acceptor, count_call, &drained);
    SERVER_UNTIL(drained == 1);
    for (int i = 0; i < 4; i++) {
        assert_true(net_client_at_eof(fds[i]));
        close(fds[i]);
    }
}

SERVER_TEST(nobody_listens_after_an_abort)
{
    server_listen((struct listener_options){0});
    net_abort(server.acceptor);
    server_turn(10);
    assert_int_equal(server.acceptor->listeners[0]->socket.fd, -1);
}

SERVER_TEST(every_loop_reads_the_tokens_again)
{
    char path[] = "/tmp/ergon-tokens-XXXXXX";
    int fd = mkstemp(path);

    server.count = 3;
    server_listen((struct listener_options){0});
    struct token_table *tokens = token_table_load(path, NULL, server.error, sizeof server.error);
    assert_non_null(tokens);
    assert_int_equal(net_reload(server.acceptor, &(struct net_secrets){.tokens = tokens},
                                server.error, sizeof server.error),
                     0);
    server_turn(10);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(server.loops[i]->tokens, tokens);
    token_table_unref(tokens);
    close(fd);
    unlink(path);
}

static void note_taken(void *arg)
{
    ++*(int *)arg;
}

/* Who asks is told when the last of the loops goes by what is new. */
SERVER_TEST(a_reload_is_taken_when_every_loop_has_it)
{
    int taken = 0;
    const struct net_secrets secrets = {.taken = note_taken, .arg = &taken};

    server.count = 3;
    server_listen((struct listener_options){0});
    assert_int_equal(net_reload(server.acceptor, &secrets, server.error, sizeof server.error), 0);
    for (int i = 0; i < 10; i++) {
        activator_round(server.activators[0], false);
        activator_round(server.activators[1], false);
        server.now += AO_US(60);
    }
    assert_int_equal(taken, 0);
    SERVER_UNTIL(taken > 0);
    for (int i = 0; i < 2; i++)
        net_reload(server.acceptor, &secrets, server.error, sizeof server.error);
    SERVER_UNTIL(taken == 3);
    net_reload(server.acceptor, &secrets, server.error, sizeof server.error);
    activator_round(server.activators[0], false); /* on its way, as the server ends */
    server_close(NULL);
    assert_int_equal(taken, 3);
}

SERVER_TEST(connections_on_their_way_are_dropped)
{
    server.count = 2;
    const char *url = server_listen((struct listener_options){0});
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = net_client_connect(url);
    for (int i = 0; i < 2; i++)
        activator_round(server.activators[0], false); /* accepted, and not yet taken by the other */
    server_close(NULL);
    for (int i = 0; i < 4; i++) {
        assert_true(net_client_at_eof(fds[i]));
        close(fds[i]);
    }
}
