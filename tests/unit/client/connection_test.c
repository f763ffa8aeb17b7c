/* A connection whose stream the test plays, once it stands; and a host that has two addresses. */
#include "client/lib/connection.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "tests/unit/client/scripted.h"

/* --- The host --- */

enum { ADDRESSES = 2 };

static struct sockaddr_in addresses[ADDRESSES];
static struct addrinfo found[ADDRESSES];

/* In place of the system's: the addresses of every host. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    for (int i = 0; i < ADDRESSES; i++)
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_addr = (struct sockaddr *)&addresses[i],
                                     .ai_addrlen = sizeof addresses[i],
                                     .ai_next = i + 1 < ADDRESSES ? &found[i + 1] : NULL};
    *list = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
}

static void set_address(int i, const char *url)
{
    addresses[i] = (struct sockaddr_in){.sin_family = AF_INET};
    addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    addresses[i].sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1));
}

/* --- The stream --- */

static struct {
    const uint8_t *bytes; /* that can be read, at most `piece` at a time */
    size_t len, piece;
    bool ends, broken; /* behind them; for writing */
} script;

static enum stream_verdict play_read(struct stream *s, void *to, size_t room, size_t *done)
{
    size_t n = script.len < script.piece ? script.len : script.piece;
    n = n < room ? n : room;
    if (n == 0)
        return script.ends ? STREAM_EOF : STREAM_WANT_READ;
    memcpy(to, script.bytes, n);
    script.bytes += n;
    script.len -= n;
    *done = n;
    return STREAM_OK;
}

static enum stream_verdict play_write(struct stream *s, const void *from, size_t len, size_t *done)
{
    snprintf(s->why, sizeof s->why, "the stream is broken");
    *done = len;
    return script.broken ? STREAM_BROKEN : STREAM_OK;
}

static void play(const void *bytes, size_t len)
{
    script.bytes = bytes;
    script.len = len;
    script.piece = len;
    script.ends = script.broken = false;
}

/* --- Its owner --- */

struct owner {
    struct scripted server;
    struct settings settings;
    struct connection connection;
    unsigned ups, downs, messages;
    size_t bytes; /* of the last message */
    char why[128];
};

static void on_enter_or_leave(void *owner)
{
}

static void on_up(void *owner)
{
    static struct stream_ops ops;
    struct owner *o = owner;

    ops = *o->connection.stream.ops;
    ops.read = play_read;
    ops.write = play_write;
    o->connection.stream.ops = &ops;
    o->ups++;
}

static void on_message(void *owner, struct span message, const struct envelope *known)
{
    (void)known;
    struct owner *o = owner;

    o->messages++;
    o->bytes = message.len;
}

static void on_down(void *owner, const char *why)
{
    struct owner *o = owner;

    o->downs++;
    snprintf(o->why, sizeof o->why, "%s", why);
}

static const struct connection_port port = {on_enter_or_leave, on_up, on_message, on_down,
                                            on_enter_or_leave};

static int set_up(void **state)
{
    static struct owner o;
    const struct ergon_options options = {
        .size = sizeof options, .url = "ergon://host:1", .message_max = 1 << 20};

    o = (struct owner){0};
    play(NULL, 0);
    scripted_start(&o.server, NULL, NULL);
    assert_int_equal(settings_init(&o.settings, &options, o.why, sizeof o.why), ERGON_END_OK);
    connection_init(&o.connection, o.server.base, &o.settings, &port, &o);
    for (int i = 0; i < ADDRESSES; i++)
        set_address(i, o.server.url);
    *state = &o;
    return 0;
}

static int tear_down(void **state)
{
    struct owner *o = *state;

    connection_fini(&o->connection);
    settings_fini(&o->settings);
    scripted_stop(&o->server);
    return 0;
}

#define CONNECTION_TEST(name) TEST_OF(struct owner *o, NULL, set_up, tear_down, name)

static void open_connection(struct owner *o)
{
    unsigned ups = o->ups;

    connection_open(&o->connection);
    scripted_until(&o->server, &o->ups, ups + 1);
}

/* All that needs no news of the socket. */
static void go_on(struct owner *o)
{
    if (o->connection.state == CONNECTION_OPEN)
        connection_flush(&o->connection);
    for (int i = 0; i < 10; i++)
        event_base_loop(o->server.base, EVLOOP_NONBLOCK);
}

CONNECTION_TEST(where_one_address_does_not_answer_the_next_is_tried)
{
    struct scripted gone;

    scripted_start(&gone, NULL, NULL);
    set_address(0, gone.url);
    scripted_stop(&gone);
    open_connection(o);
    assert_int_equal(o->downs, 0);
    assert_int_equal(o->server.accepted, 1);
}

CONNECTION_TEST(a_server_that_has_gone_without_a_word_is_noticed)
{
    int on = 0, silence = 0;
    socklen_t len = sizeof on;

    open_connection(o);
    getsockopt(o->connection.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len);
    getsockopt(o->connection.fd, IPPROTO_TCP, TCP_KEEPIDLE, &silence, &len);
    assert_int_equal(on, 1);
    assert_int_equal(silence, 15);
}

/* As TLS may: what the socket gave is in the stream, and no event will tell of it. */
CONNECTION_TEST(what_the_stream_holds_is_read_to_its_end)
{
    enum { LEN = 600000 };
    uint8_t *bytes = calloc(1, LEN + ENC_HEAD_MAX);
    size_t len = (size_t)(enc_bin_head(bytes, LEN) - bytes) + LEN;

    open_connection(o);
    play(bytes, len);
    script.piece = 16384;
    go_on(o);
    assert_int_equal(o->messages, 1);
    assert_int_equal(o->bytes, len);
    free(bytes);
}

CONNECTION_TEST(a_message_that_is_too_long_ends_it)
{
    static const uint8_t head[] = {0xc6, 0x00, 0x20, 0x00, 0x00}; /* 2 MiB */

    open_connection(o);
    play(head, sizeof head);
    go_on(o);
    assert_int_equal(o->messages, 0);
    assert_int_equal(o->downs, 1);
    assert_non_null(strstr(o->why, "what is not allowed"));
}

CONNECTION_TEST(half_a_message_goes_with_its_connection)
{
    open_connection(o);
    play("\x93\x01", 2);
    script.ends = true;
    go_on(o);
    assert_int_equal(o->downs, 1);
    play(NULL, 0);
    open_connection(o);
    play("\xa3xyz", 4);
    go_on(o);
    assert_int_equal(o->messages, 1);
    assert_int_equal(o->bytes, 4);
}

CONNECTION_TEST(what_a_server_said_before_it_closed_is_heard)
{
    open_connection(o);
    play("\xa3xyz", 4);
    script.broken = true;
    assert_true(buffer_append(&o->connection.out, span_text("\xc0")));
    go_on(o);
    assert_int_equal(o->messages, 1);
    assert_int_equal(o->downs, 1);
    assert_string_equal(o->why, "the stream is broken");
}
