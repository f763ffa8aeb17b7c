#include "tests/unit/client/scripted.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdio.h>

#include "proto/encoder.h"

static const struct scan_limits LIMITS = {1 << 26, 64};

/* [2, "server.hello", [{"half_close": false}]] */
static void take_greeting(struct scripted *s, const struct envelope *e)
{
    static const uint8_t params[] = "\x91\x81\xaahalf_close\xc2";
    assert_int_equal(e->type, ENVELOPE_NOTIFICATION);
    assert_true(span_is(e->method, "server.hello"));
    assert_true(span_equal(e->params, span_of(params, sizeof params - 1)));
    s->greeted = true;
}

static void take_message(struct scripted *s, const struct envelope *e)
{
    s->messages++;
    if (s->on_message != NULL)
        s->on_message(s, e);
}

static void on_read(struct bufferevent *connection, void *arg)
{
    struct scripted *s = arg;
    struct evbuffer *in = bufferevent_get_input(connection);
    while (s->connection == connection && evbuffer_get_length(in) > 0) {
        struct envelope e;
        const char *why;
        struct span all = span_of(evbuffer_pullup(in, -1), evbuffer_get_length(in));
        if (scanner_run(&s->scanner, &LIMITS, all) != SCAN_WHOLE)
            return;
        size_t len = s->scanner.done;
        assert_int_equal(envelope_read(span_of(all.at, len), &e, &why), ENVELOPE_OK);
        scanner_init(&s->scanner);
        if (!s->greeted)
            take_greeting(s, &e);
        else
            take_message(s, &e);
        if (s->connection == connection)
            evbuffer_drain(in, len);
    }
}

static void on_event(struct bufferevent *connection, short what, void *arg)
{
    struct scripted *s = arg;
    s->ended++;
    if (s->connection == connection)
        scripted_hang_up(s);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int len, void *arg)
{
    struct scripted *s = arg;
    if (s->connection != NULL)
        bufferevent_free(s->connection);
    s->accepted++;
    s->greeted = false;
    scanner_init(&s->scanner);
    s->connection = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(s->connection, on_read, NULL, on_event, s);
    bufferevent_enable(s->connection, EV_READ | EV_WRITE);
}

void scripted_start(struct scripted *s, scripted_fn *on_message, void *user)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *s = (struct scripted){.on_message = on_message, .user = user};
    s->base = event_base_new();
    assert_non_null(s->base);
    s->listener = evconnlistener_new_bind(s->base, on_accept, s, LEV_OPT_CLOSE_ON_FREE, 16,
                                          (struct sockaddr *)&address, sizeof address);
    assert_non_null(s->listener);
    getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&address, &len);
    snprintf(s->url, sizeof s->url, "ergon://127.0.0.1:%u", ntohs(address.sin_port));
}

void scripted_hang_up(struct scripted *s)
{
    if (s->connection != NULL)
        bufferevent_free(s->connection);
    s->connection = NULL;
}

void scripted_stop(struct scripted *s)
{
    scripted_hang_up(s);
    evconnlistener_free(s->listener);
    event_base_free(s->base);
}

void scripted_send(struct scripted *s, const void *bytes, size_t len)
{
    assert_non_null(s->connection);
    bufferevent_write(s->connection, bytes, len);
}

void scripted_answer(struct scripted *s, struct span msgid, const char *text)
{
    uint8_t bytes[ENC_RESPONSE_MAX + ENC_HEAD_MAX + 256];
    uint8_t *end = enc_str(enc_response_head(bytes, msgid), span_text(text));
    scripted_send(s, bytes, (size_t)(end - bytes));
}

void scripted_refuse(struct scripted *s, struct span msgid, const char *text)
{
    uint8_t bytes[ENC_RESPONSE_MAX + ENC_HEAD_MAX + 256];
    uint8_t *end = enc_response_head(bytes, msgid) - 1;
    end = enc_nil(enc_str(end, span_text(text)));
    scripted_send(s, bytes, (size_t)(end - bytes));
}

void scripted_until(struct scripted *s, const unsigned *flag, unsigned count)
{
    while (*flag < count)
        assert_int_equal(event_base_loop(s->base, EVLOOP_ONCE), 0);
}
