/* Calls of a session's connection whose other end, the server, the test plays. */
#include <event2/event.h>
#include <msgpack.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/admin/gateway.h"
#include "tests/support/cmocka_env.h"

struct world {
    struct gateway gateway;
    struct gateway_peer *peer;
    int server; /* the other end */
    char in[1024];
    size_t length, taken; /* bytes that came, and those of messages that were taken */
    bool opened, lost;
    struct gateway_call *calls[2];
    unsigned answers[2];
    char code[2][16];
    unsigned cancels; /* calls that are given up when the connection is lost, from the last on */
};

static struct world *the;

/* ---- the acceptor that the test plays ---- */

int net_adopt(struct acceptor *a, uint32_t listener, int fd, const struct net_origin *from)
{
    (void)a;
    (void)listener;
    (void)from;
    the->server = fd;
    return 0;
}

/* ---- what the gateway tells ---- */

static void on_opened(void *arg, const char *principal, const char *code, const char *text)
{
    struct world *w = arg;

    (void)code;
    (void)text;
    assert_string_equal(principal, "somebody");
    w->opened = true;
}

/* As a session does that ends with its connection, and with it whoever waits for an answer. */
static void on_lost(void *arg)
{
    struct world *w = arg;

    w->lost = true;
    gateway_close(w->peer);
    w->peer = NULL;
    for (unsigned i = 2; i > 2 - w->cancels; i--)
        if (w->answers[i - 1] == 0)
            gateway_cancel(w->calls[i - 1]);
}

static void on_answer(void *arg, const struct gateway_answer *a)
{
    unsigned index = (unsigned)((struct gateway_call **)arg - the->calls);

    the->answers[index]++;
    snprintf(the->code[index], sizeof the->code[index], "%s", a->result ? "" : a->code);
}

/* ---- the server that the test plays ---- */

/* The id of the next request.  Notifications are passed over. */
static uint64_t take_request(struct world *w, const char *method)
{
    msgpack_unpacked message;
    const msgpack_object *parts;

    msgpack_unpacked_init(&message);
    do {
        while (msgpack_unpack_next(&message, w->in, w->length, &w->taken) !=
               MSGPACK_UNPACK_SUCCESS) {
            event_base_loop(w->gateway.base, EVLOOP_NONBLOCK);
            ssize_t n = recv(w->server, w->in + w->length, sizeof w->in - w->length, MSG_DONTWAIT);
            w->length += n > 0 ? (size_t)n : 0;
        }
        parts = message.data.via.array.ptr;
    } while (parts[0].via.u64 != 0);
    uint64_t id = parts[1].via.u64;
    assert_int_equal(parts[2].via.str.size, strlen(method));
    assert_memory_equal(parts[2].via.str.ptr, method, strlen(method));
    msgpack_unpacked_destroy(&message);
    return id;
}

static void send_answer(const struct world *w, uint64_t id, const char *key, const char *text)
{
    msgpack_sbuffer out;
    msgpack_packer p;

    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&p, &out, msgpack_sbuffer_write);
    msgpack_pack_array(&p, 4);
    msgpack_pack_int(&p, 1);
    msgpack_pack_uint64(&p, id);
    msgpack_pack_nil(&p);
    msgpack_pack_map(&p, 1);
    msgpack_pack_str_with_body(&p, key, strlen(key));
    msgpack_pack_str_with_body(&p, text, strlen(text));
    assert_int_equal(write(w->server, out.data, out.size), out.size);
    msgpack_sbuffer_destroy(&out);
}

static void begin_call(struct world *w, unsigned index, const char *method)
{
    json_t *none = json_array();
    const char *code;

    w->calls[index] =
        gateway_call(w->peer, method, none, 60 * 1000, on_answer, &w->calls[index], &code);
    assert_non_null(w->calls[index]);
    json_decref(none);
}

static void set_up(struct world *w)
{
    static const struct gateway_port port = {.opened = on_opened, .lost = on_lost};
    static const struct net_origin from;

    *w = (struct world){
        .gateway = {.base = event_base_new(), .scan = {.message_max = 1 << 20, .depth_max = 16}}};
    the = w;
    w->peer = gateway_open(&w->gateway, 0, &from, NULL, &port, w);
    assert_non_null(w->peer);
    send_answer(w, take_request(w, "server.hello"), "principal", "somebody");
    while (!w->opened)
        assert_int_equal(event_base_loop(w->gateway.base, EVLOOP_ONCE), 0);
    begin_call(w, 0, "first");
    begin_call(w, 1, "second");
}

static void tear_down(struct world *w)
{
    gateway_end(&w->gateway);
    close(w->server);
    event_base_free(w->gateway.base);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(w->answers[i], 1);
}

static void lose(struct world *w)
{
    shutdown(w->server, SHUT_RDWR);
    while (!w->lost)
        assert_int_equal(event_base_loop(w->gateway.base, EVLOOP_ONCE), 0);
}

TEST(an_answer_ends_its_call)
{
    struct world w;
    set_up(&w);
    send_answer(&w, take_request(&w, "first"), "k", "v");
    while (w.answers[0] == 0)
        assert_int_equal(event_base_loop(w.gateway.base, EVLOOP_ONCE), 0);
    assert_string_equal(w.code[0], "");
    gateway_close(w.peer);
    assert_string_equal(w.code[1], "CLOSED");
    tear_down(&w);
}

TEST(a_call_that_is_given_up_is_answered_at_once)
{
    struct world w;
    set_up(&w);
    gateway_cancel(w.calls[1]);
    assert_string_equal(w.code[1], "CANCELLED");
    assert_int_equal(w.answers[0], 0);
    tear_down(&w);
    assert_string_equal(w.code[0], "CLOSED");
}

TEST(calls_of_a_lost_connection_are_answered)
{
    struct world w;
    set_up(&w);
    lose(&w);
    assert_string_equal(w.code[0], "CLOSED");
    assert_string_equal(w.code[1], "CLOSED");
    tear_down(&w);
}

/* Its peer is closed by then, and libergon ends its calls only when `lost` has returned. */
TEST(a_call_of_a_lost_connection_can_be_given_up)
{
    struct world w;
    set_up(&w);
    w.cancels = 1;
    lose(&w);
    assert_string_equal(w.code[0], "CLOSED");
    assert_string_equal(w.code[1], "CANCELLED");
    tear_down(&w);
}
