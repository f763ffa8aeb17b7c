/* Listeners, limits, and who gets which connection; over real sockets. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/connection/conn_private.h"
#include "server/net/auth/principal.h"
#include "tests/support/net_server.h"

static const char *listen_at(struct net_server *s, struct listener_options options)
{
    if (acceptor_listen(s->acceptor, &options, s->error, sizeof s->error) != 0)
        return NULL;
    return acceptor_url(s->acceptor, acceptor_count(s->acceptor) - 1);
}

static const char *listen_plain(struct net_server *s)
{
    const char *url = listen_at(s, (struct listener_options){.url = "ergon://127.0.0.1:0"});

    assert_non_null(url);
    return url;
}

static void the_loop_with_the_fewest_gets_it(void **state)
{
    struct net_server s;
    int fds[9];

    (void)state;
    net_server_init(&s, 3);
    net_server_open(&s);
    const char *url = listen_plain(&s);
    for (int i = 0; i < 9; i++) {
        fds[i] = net_client_connect(url);
        net_client_request(fds[i], 1);
        NET_SERVER_UNTIL(&s, net_client_answered(fds[i], 1));
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(net_server_connections(&s, i), 3);
    for (int i = 1; i < 9; i += 3) /* all of the second loop */
        close(fds[i]);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 6);
    for (int i = 0; i < 8; i++)
        net_server_turn(&s); /* the slots come home */
    for (int i = 1; i < 9; i += 3)
        fds[i] = net_client_connect(url);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 9);
    assert_int_equal(net_server_connections(&s, 1), 3);
    for (int i = 0; i < 9; i++)
        close(fds[i]);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 0);
    net_server_close(&s);
}

static void refused_beyond(struct net_server *s, const char *url, int limit)
{
    int fds[8];

    for (int i = 0; i < limit; i++)
        fds[i] = net_client_connect(url);
    NET_SERVER_UNTIL(s, net_server_total(s) == (uint64_t)limit);
    int over = net_client_connect(url);
    NET_SERVER_UNTIL(s, net_client_at_eof(over));
    close(over);
    close(fds[0]);
    NET_SERVER_UNTIL(s, net_server_total(s) == (uint64_t)limit - 1);
    for (int i = 0; i < 8; i++)
        net_server_turn(s);
    fds[0] = net_client_connect(url);
    net_client_request(fds[0], 2);
    NET_SERVER_UNTIL(s, net_client_answered(fds[0], 2));
    for (int i = 0; i < limit; i++)
        close(fds[i]);
    NET_SERVER_UNTIL(s, net_server_total(s) == 0);
}

static void limits_of_connections(void **state)
{
    struct net_server s;

    (void)state;
    net_server_init(&s, 2);
    s.limits.connections = 3;
    net_server_open(&s);
    refused_beyond(&s, listen_plain(&s), 3);
    net_server_close(&s);

    net_server_init(&s, 2);
    s.limits.connections_per_address = 2;
    net_server_open(&s);
    refused_beyond(&s, listen_plain(&s), 2);
    net_server_close(&s);

    net_server_init(&s, 1);
    net_server_open(&s);
    const char *url =
        listen_at(&s, (struct listener_options){.url = "ergon://[::]:0", .connections = 4});
    assert_non_null(url);
    refused_beyond(&s, url, 4);
    net_server_close(&s);
}

static void a_shortage_of_files_is_a_pause(void **state)
{
    struct net_server s;
    struct rlimit old;
    int fds[3];

    (void)state;
    net_server_init(&s, 1);
    net_server_open(&s);
    const char *url = listen_plain(&s);
    for (int i = 0; i < 3; i++)
        fds[i] = net_client_connect(url);
    getrlimit(RLIMIT_NOFILE, &old);
    struct rlimit low = {.rlim_cur = (rlim_t)fds[2] + 2, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 1);
    struct activator_stats before, after;
    for (int i = 0; i < 100; i++)
        net_server_turn(&s);
    activator_stats(s.activators[0], &before);
    for (int i = 0; i < 100; i++)
        net_server_turn(&s);
    activator_stats(s.activators[0], &after);
    assert_int_equal(after.steps, before.steps); /* it waits, and does not spin */
    setrlimit(RLIMIT_NOFILE, &old);
    s.now += AO_MS(200);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 3);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    net_server_close(&s);
}

/* While it pauses, connections that end come home: that neither ends the pause nor prolongs it. */
static void the_pause_ends_in_its_time(void **state)
{
    struct net_server s;
    struct rlimit old;
    int fds[12];

    (void)state;
    net_server_init(&s, 1);
    net_server_open(&s);
    const char *url = listen_plain(&s);
    for (int i = 0; i < 10; i++)
        fds[i] = net_client_connect(url);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 10);
    for (int i = 10; i < 12; i++)
        fds[i] = net_client_connect(url);
    getrlimit(RLIMIT_NOFILE, &old);
    struct rlimit low = {.rlim_cur = (rlim_t)fds[11] + 1, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    NET_SERVER_UNTIL(&s, s.acceptor->paused);
    setrlimit(RLIMIT_NOFILE, &old);
    for (uint64_t i = 0; i < 5; i++) { /* one in 30 ms */
        close(fds[i]);
        NET_SERVER_UNTIL(&s, s.loops[0]->counters.closed == i + 1);
        s.now += AO_MS(30);
    }
    for (int i = 0; i < 100; i++)
        net_server_turn(&s);
    assert_int_equal(net_server_total(&s), 7);
    for (int i = 5; i < 12; i++)
        close(fds[i]);
    net_server_close(&s);
}

static void a_unix_socket(void **state)
{
    struct net_server s;
    char directory[] = "/tmp/ergon-acceptor-XXXXXX";
    char path[64];
    char url[80];
    struct stat status;
    const struct passwd *me = getpwuid(getuid());

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/s", directory);
    snprintf(url, sizeof url, "unix://%s", path);
    net_server_init(&s, 1);
    net_server_open(&s);
    const struct listener_options options = {
        .url = url, .auth = LISTENER_AUTH_PEER, .methods = "echo", .unix_mode = 0640};
    assert_string_equal(listen_at(&s, options), url);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_null(listen_at(&s, options)); /* somebody listens there: us */
    assert_non_null(strstr(s.error, path));

    int fd = net_client_connect(url);
    net_client_request(fd, 3);
    NET_SERVER_UNTIL(&s, net_client_answered(fd, 3));
    const struct connection *c = s.loops[0]->first;
    assert_non_null(me);
    assert_string_equal(principal_name(conn_principal(c)), me->pw_name);
    assert_true(principal_may(conn_principal(c), span_text("echo")));
    assert_false(principal_may(conn_principal(c), span_text("hash")));
    char peer[32];
    snprintf(peer, sizeof peer, "unix:%u", getuid());
    assert_string_equal(conn_peer(c), peer);
    close(fd);
    net_server_close(&s);
    assert_int_not_equal(stat(path, &status), 0); /* taken away */
    rmdir(directory);
}

static void a_stale_unix_socket_is_replaced(void **state)
{
    struct net_server s;
    char directory[] = "/tmp/ergon-acceptor-XXXXXX";
    char url[80];
    char copy[80];

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(url, sizeof url, "unix://%s/s", directory);
    snprintf(copy, sizeof copy, "%s/old", directory);
    net_server_init(&s, 1);
    net_server_open(&s);
    assert_non_null(listen_at(&s, (struct listener_options){.url = url, .unix_mode = 0600}));
    assert_int_equal(link(url + 7, copy), 0); /* survives the unlink, as after a crash */
    net_server_close(&s);
    assert_int_equal(rename(copy, url + 7), 0);
    net_server_init(&s, 1);
    net_server_open(&s);
    assert_non_null(listen_at(&s, (struct listener_options){.url = url, .unix_mode = 0600}));
    int fd = net_client_connect(url);
    net_client_request(fd, 1);
    NET_SERVER_UNTIL(&s, net_client_answered(fd, 1));
    close(fd);
    net_server_close(&s);
    rmdir(directory);
}

static void what_cannot_be_listened_at_is_said(void **state)
{
    static const char *const urls[] = {
        "http://x:1",          "unix://relative",      "ergon://nowhere.invalid:1",
        "ergon://192.0.2.1:1", "ergons://127.0.0.1:0", "unix:///nowhere/at/all"};
    struct net_server s;

    (void)state;
    net_server_init(&s, 1);
    net_server_open(&s);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        s.error[0] = '\0';
        assert_null(listen_at(&s, (struct listener_options){.url = urls[i]}));
        assert_true(strlen(s.error) > 10);
    }
    assert_int_equal(acceptor_count(s.acceptor), 0);
    net_server_close(&s);
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void drain_ends_with_the_last_connection(void **state)
{
    struct net_server s;
    int drained = 0;

    (void)state;
    net_server_init(&s, 2);
    net_server_open(&s);
    const char *url = listen_plain(&s);
    int a = net_client_connect(url);
    int b = net_client_connect(url);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 2);
    net_drain(s.acceptor, count_call, &drained);
    net_drain(s.acceptor, count_call, &drained); /* asked twice, told once */
    NET_SERVER_UNTIL(&s, net_client_at_eof(a) && net_client_at_eof(b));
    int late = net_client_connect(url);
    NET_SERVER_UNTIL(&s, late < 0 || net_client_at_eof(late));
    close(a);
    assert_int_equal(drained, 0);
    close(b);
    NET_SERVER_UNTIL(&s, drained > 0);
    for (int i = 0; i < 100; i++)
        net_server_turn(&s);
    assert_int_equal(drained, 1);
    assert_int_equal(net_server_total(&s), 0);
    if (late >= 0)
        close(late);
    net_server_close(&s);
}

static void abort_closes_all(void **state)
{
    struct net_server s;
    int drained = 0;

    (void)state;
    net_server_init(&s, 2);
    net_server_open(&s);
    const char *url = listen_plain(&s);
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = net_client_connect(url);
    NET_SERVER_UNTIL(&s, net_server_total(&s) == 4);
    net_abort(s.acceptor);
    net_drain(s.acceptor, count_call, &drained);
    NET_SERVER_UNTIL(&s, drained == 1);
    for (int i = 0; i < 4; i++) {
        assert_true(net_client_at_eof(fds[i]));
        close(fds[i]);
    }
    net_server_close(&s);
}

static void connections_on_their_way_are_dropped(void **state)
{
    struct net_server s;

    (void)state;
    net_server_init(&s, 2);
    net_server_open(&s);
    const char *url = listen_plain(&s);
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = net_client_connect(url);
    for (int i = 0; i < 2; i++)
        activator_round(s.activators[0], false); /* accepted, and not yet taken by the other */
    net_server_close(&s);
    for (int i = 0; i < 4; i++) {
        assert_true(net_client_at_eof(fds[i]));
        close(fds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loop_with_the_fewest_gets_it),
        cmocka_unit_test(limits_of_connections),
        cmocka_unit_test(a_shortage_of_files_is_a_pause),
        cmocka_unit_test(the_pause_ends_in_its_time),
        cmocka_unit_test(a_unix_socket),
        cmocka_unit_test(a_stale_unix_socket_is_replaced),
        cmocka_unit_test(what_cannot_be_listened_at_is_said),
        cmocka_unit_test(drain_ends_with_the_last_connection),
        cmocka_unit_test(abort_closes_all),
        cmocka_unit_test(connections_on_their_way_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
