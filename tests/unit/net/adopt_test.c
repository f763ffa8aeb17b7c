/* Connections that no listener of the acceptor's has accepted. */
#include <string.h>
#include <unistd.h>

#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"
#include "tests/support/net_server.h"

static uint32_t listen_inside_as(const char *url, struct listener_options options)
{
    struct url way;

    server_listen((struct listener_options){0});
    assert_null(url_parse(url, URL_ADMIN, &way));
    int index =
        acceptor_listen_inside(server.acceptor, &way, &options, server.error, sizeof server.error);
    assert_in_range(index, 1, 31);
    return (uint32_t)index;
}

static uint32_t listen_inside(struct listener_options options)
{
    return listen_inside_as("http://127.0.0.1:7468", options);
}

static const struct connection *the_connection(void)
{
    for (uint32_t i = 0; i < server.count; i++)
        if (!LIST_EMPTY(&server.loops[i]->all))
            return LIST_FIRST(&server.loops[i]->all);
    fail_msg("there is no connection");
    return NULL;
}

SERVER_TEST(an_adopted_socket_is_served_as_who_is_behind_it)
{
    uint32_t inside = listen_inside((struct listener_options){.methods = "echo"});
    const struct net_origin from = net_client_address("192.0.2.7");
    int fd = net_client_adopt(inside, &from);

    net_client_request(fd, 1);
    SERVER_UNTIL(net_client_answered(fd, 1));
    assert_string_equal(principal_name(conn_principal(the_connection())), "address:192.0.2.7");
    assert_string_equal(conn_allow(the_connection()), "echo");
    assert_string_equal(acceptor_url(server.acceptor, inside), "http://127.0.0.1:7468");
    close(fd);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(where_a_token_is_asked_for_it_is_nobody_yet)
{
    uint32_t inside = listen_inside((struct listener_options){.auth = LISTENER_AUTH_TOKEN});
    const struct net_origin from = net_client_address("127.0.0.1");
    int fd = net_client_adopt(inside, &from);

    SERVER_UNTIL(server_total() == 1);
    assert_null(conn_principal(the_connection()));
    close(fd);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(a_user_is_known_by_name_though_the_socket_is_our_own)
{
    const struct listener_options options = {.auth = LISTENER_AUTH_PEER};
    uint32_t inside = listen_inside_as("unix:///run/admin.sock", options);
    const struct net_origin from = {.is_user = true, .uid = 987654};
    int fd = net_client_adopt(inside, &from);

    net_client_request(fd, 1);
    SERVER_UNTIL(net_client_answered(fd, 1));
    assert_string_equal(principal_name(conn_principal(the_connection())), "unix:987654");
    close(fd);
    SERVER_UNTIL(server_total() == 0);
}

SERVER_TEST(a_server_that_drains_adopts_nobody)
{
    uint32_t inside = listen_inside((struct listener_options){0});
    const struct net_origin from = net_client_address("127.0.0.1");

    net_drain(server.acceptor, NULL, NULL);
    server_turn(8);
    int fd = net_client_adopt(inside, &from);
    server_turn(8);
    assert_true(net_client_at_eof(fd));
    assert_int_equal(server_total(), 0);
    close(fd);
}

SERVER_TEST(what_nobody_has_taken_is_closed_with_the_acceptor)
{
    uint32_t inside = listen_inside((struct listener_options){0});
    const struct net_origin from = net_client_address("127.0.0.1");
    int fd = net_client_adopt(inside, &from);

    server_close(NULL);
    assert_true(net_client_at_eof(fd));
    close(fd);
    server_open(NULL);
}
