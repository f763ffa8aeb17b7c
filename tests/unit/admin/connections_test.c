/* The bounds of HTTP's connections, on real sockets and a time of our own. */
#include "server/admin/connections.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

#define REQUEST_TIME AO_S(30)
#define ANSWER_TIME  AO_S(90)

static struct event_base *base;
static struct http_connections all;
static struct client {
    struct bufferevent *bev;
    int end; /* its client's */
} clients[HTTP_CONNECTIONS_MOST + 1];
static size_t count;

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    (void)bev;
    (void)what;
    (void)arg;
}

static void set_up(void)
{
    base = event_base_new();
    assert_non_null(base);
    all = (struct http_connections){.request_time = REQUEST_TIME, .answer_time = ANSWER_TIME};
    count = 0;
}

/* As evhttp does it. */
static void drop(struct client *c)
{
    bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
    bufferevent_free(c->bev);
    c->bev = NULL;
}

static void tear_down(void)
{
    for (size_t i = 0; i < count; i++) {
        if (clients[i].bev)
            drop(&clients[i]);
        close(clients[i].end);
    }
    connections_sweep(&all);
    assert_int_equal(all.count, 0);
    event_base_loop(base, EVLOOP_NONBLOCK);
    event_base_free(base);
}

static struct client *come(ao_time now)
{
    struct client *c = &clients[count++];
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    c->end = ends[1];
    c->bev = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
    assert_non_null(c->bev);
    bufferevent_setcb(c->bev, NULL, NULL, on_event, NULL);
    connections_add(&all, c->bev, NULL, now);
    return c;
}

static bool is_hung_up(const struct client *c)
{
    char byte;

    return recv(c->end, &byte, 1, MSG_DONTWAIT) == 0;
}

static void enter(const struct client *c, enum http_phase phase, ao_time now)
{
    connections_enter(&all, c->bev, phase, now);
}

TEST(a_request_has_to_be_whole_in_time)
{
    set_up();
    const struct client *c = come(AO_S(1));
    connections_tick(&all, AO_S(1) + REQUEST_TIME);
    assert_false(is_hung_up(c));
    connections_tick(&all, AO_S(1) + REQUEST_TIME + 1);
    assert_true(is_hung_up(c));
    tear_down();
}

TEST(each_answer_begins_the_time_anew)
{
    set_up();
    const struct client *c = come(AO_S(1));
    enter(c, HTTP_ANSWERS, AO_S(20));
    enter(c, HTTP_READS, AO_S(40));
    connections_tick(&all, AO_S(40) + REQUEST_TIME);
    assert_false(is_hung_up(c));
    connections_tick(&all, AO_S(40) + REQUEST_TIME + 1);
    assert_true(is_hung_up(c));
    tear_down();
}

TEST(an_answer_has_to_be_read_in_time_and_a_stream_has_none)
{
    set_up();
    const struct client *slow = come(0), *stream = come(0);
    enter(slow, HTTP_ANSWERS, AO_S(1));
    enter(stream, HTTP_STREAMS, AO_S(1));
    connections_tick(&all, AO_S(1) + ANSWER_TIME);
    assert_false(is_hung_up(slow));
    connections_tick(&all, AO_S(1) + ANSWER_TIME + 1);
    assert_true(is_hung_up(slow));
    assert_false(is_hung_up(stream));
    tear_down();
}

TEST(who_has_been_idle_longest_gives_way)
{
    set_up();
    for (int i = 0; i < HTTP_CONNECTIONS; i++)
        come(AO_S(10 + i));
    enter(&clients[0], HTTP_ANSWERS, AO_S(10));
    assert_false(is_hung_up(&clients[1]));
    come(AO_S(500));
    assert_false(is_hung_up(&clients[0]));
    assert_true(is_hung_up(&clients[1]));
    assert_false(is_hung_up(&clients[2]));
    tear_down();
}

TEST(there_are_only_so_many)
{
    set_up();
    for (int i = 0; i < HTTP_CONNECTIONS_MOST; i++) {
        assert_false(connections_full(&all));
        enter(come(0), HTTP_ANSWERS, 0);
    }
    assert_true(connections_full(&all));
    assert_false(connections_add(&all, come(0)->bev, NULL, 0));
    assert_int_equal(all.count, HTTP_CONNECTIONS_MOST);
    tear_down();
}

TEST(slow_readers_keep_nobody_away)
{
    set_up();
    for (int i = 0; i < HTTP_CONNECTIONS_MOST; i++)
        enter(come(0), i == 0 ? HTTP_STREAMS : HTTP_ANSWERS, i == 7 ? AO_S(1) : AO_S(2));
    connections_tick(&all, AO_S(1) + HTTP_ANSWER_LEAST);
    assert_false(is_hung_up(&clients[7]));
    connections_tick(&all, AO_S(1) + HTTP_ANSWER_LEAST + 1);
    assert_true(is_hung_up(&clients[7]));
    assert_false(is_hung_up(&clients[0]));
    assert_false(is_hung_up(&clients[1]));
    int hung_up = 0;
    connections_tick(&all, AO_S(2) + HTTP_ANSWER_LEAST + 1);
    for (int i = 0; i < HTTP_CONNECTIONS_MOST; i++)
        hung_up += is_hung_up(&clients[i]);
    assert_int_equal(hung_up, 1 + HTTP_CONNECTIONS_MORE); /* as many as came beyond the places */
    assert_false(is_hung_up(&clients[0]));
    int stays = HTTP_CONNECTIONS_MOST - 1;
    assert_false(is_hung_up(&clients[stays]));
    drop(&clients[7]);
    connections_sweep(&all);
    connections_tick(&all, AO_S(1) + ANSWER_TIME);
    assert_false(is_hung_up(&clients[stays])); /* there is a place */
    tear_down();
}

TEST(what_evhttp_drops_is_closed_after_the_round)
{
    set_up();
    struct client *c = come(0);
    drop(c);
    assert_false(is_hung_up(c));
    connections_sweep(&all);
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_true(is_hung_up(c));
    assert_int_equal(all.count, 0);
    tear_down();
}

static void send_bytes(const struct client *c, size_t length)
{
    struct evbuffer *input = bufferevent_get_input(c->bev);
    char *bytes = calloc(1, length);

    assert_non_null(bytes);
    evbuffer_unfreeze(input, 0);
    assert_int_equal(evbuffer_add(input, bytes, length), 0);
    free(bytes);
}

TEST(who_sends_more_than_a_request_may_have_is_hung_up)
{
    set_up();
    const struct client *c = come(0);
    send_bytes(c, HTTP_INPUT_ONE);
    connections_sweep(&all);
    assert_false(is_hung_up(c));
    send_bytes(c, 1);
    connections_sweep(&all);
    assert_true(is_hung_up(c));
    tear_down();
}

TEST(who_has_sent_most_gives_way_when_all_have_sent_too_much)
{
    enum { COUNT = 16, EACH = HTTP_INPUT_MAX / COUNT };
    set_up();
    for (int i = 0; i < COUNT; i++)
        send_bytes(come(0), i == 2 ? EACH + 1 : i == 3 ? EACH - 1 : EACH);
    connections_sweep(&all);
    assert_false(is_hung_up(&clients[2]));
    send_bytes(come(0), 1);
    connections_sweep(&all);
    for (size_t i = 0; i <= COUNT; i++)
        assert_int_equal(is_hung_up(&clients[i]), i == 2);
    tear_down();
}
