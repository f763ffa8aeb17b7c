#include "client/cli/peer.h"

#include "client/lib/dial.h"
#include "client/lib/frame.h"
#include "proto/encoder.h"
#include "proto/envelope.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { AUTH_ANSWER_MAX = 4096 }; /* bytes of the answer of server.auth */

static const char *const LATE = "no answer in time";

static bool wait_for(int fd, short what, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = what};
    return poll(&p, 1, timeout_ms) > 0;
}

static int connect_one(const struct peer_target *t, char *why, size_t why_size)
{
    struct dial dial;
    int fd;
    if (!dial_start(&dial, t->url, why, why_size))
        return -1;
    while ((fd = dial_next(&dial, why, why_size)) >= 0) {
        if (!wait_for(fd, POLLOUT, t->timeout_ms))
            snprintf(why, why_size, "%s", LATE);
        else if (dial_result(fd, why, why_size))
            break;
        close(fd);
    }
    dial_fini(&dial);
    return fd;
}

/* Waits for what a verdict wants.  False: the stream is of no use, `why` says so. */
static bool go_on(struct peer *p, enum stream_verdict v, int timeout_ms, char *why, size_t size)
{
    const char *text = LATE;
    switch (v) {
    case STREAM_OK:
        return true;
    case STREAM_WANT_READ:
    case STREAM_WANT_WRITE:
        if (wait_for(p->stream.fd, v == STREAM_WANT_READ ? POLLIN : POLLOUT, timeout_ms))
            return true;
        break;
    case STREAM_EOF:
        text = "the server closed the connection";
        break;
    case STREAM_BROKEN:
        text = p->stream.why;
        break;
    }
    snprintf(why, size, "%s", text);
    return false;
}

static bool handshake(struct peer *p, const struct peer_target *t, char *why, size_t size)
{
    enum stream_verdict v;
    do
        v = p->stream.ops->handshake(&p->stream);
    while (v != STREAM_OK && go_on(p, v, t->timeout_ms, why, size));
    return v == STREAM_OK;
}

static bool send_all(struct peer *p, int timeout_ms, char *why, size_t size)
{
    while (buffer_length(&p->out) > 0) {
        struct span rest = buffer_span(&p->out);
        size_t done = 0;
        enum stream_verdict v = p->stream.ops->write(&p->stream, rest.at, rest.len, &done);
        if (!go_on(p, v, timeout_ms, why, size))
            return false;
        buffer_drop(&p->out, done);
    }
    return true;
}

static enum status read_auth_answer(struct peer *p, const struct peer_target *t, char *why,
                                    size_t size)
{
    const struct scan_limits limits = {AUTH_ANSWER_MAX, SCAN_DEPTH_CAP};
    uint8_t bytes[AUTH_ANSWER_MAX];
    size_t len = 0;
    enum scan_verdict scanned = SCAN_MORE;
    while (scanned == SCAN_MORE) {
        size_t done = 0;
        enum stream_verdict v =
            p->stream.ops->read(&p->stream, bytes + len, sizeof bytes - len, &done);
        if (!go_on(p, v, t->timeout_ms, why, size))
            return STATUS_CONNECT;
        len += done;
        scanned = scanner_run(&p->scanner, &limits, span_of(bytes, len));
    }
    struct envelope e;
    const char *wrong = "the answer is too long";
    if (scanned != SCAN_WHOLE || envelope_read(span_of(bytes, p->scanner.done), &e, &wrong) != 0 ||
        e.type != ENVELOPE_RESPONSE) {
        snprintf(why, size, "server.auth: %s", wrong);
        return STATUS_CONNECT;
    }
    scanner_init(&p->scanner);
    if (e.error.len == 1 && e.error.at[0] == 0xc0)
        return STATUS_OK;
    struct error_text said;
    error_text_read(e.error, &said);
    snprintf(why, size, "the server refused the token: %.200s", said.text);
    return STATUS_AUTH;
}

static enum status authenticate(struct peer *p, const struct peer_target *t, char *why, size_t size)
{
    struct span token = span_text(t->token);
    struct buffer params = {0};
    uint8_t *at = buffer_reserve(&params, 2 * ENC_HEAD_MAX + token.len);
    if (at != NULL) {
        buffer_filled(&params, (size_t)(enc_str(enc_array(at, 1), token) - at));
        if (!frame_request(&p->out, 0, span_text("server.auth"), buffer_span(&params)))
            at = NULL;
    }
    buffer_fini(&params);
    if (at == NULL) {
        snprintf(why, size, "out of memory");
        return STATUS_CONNECT;
    }
    if (!send_all(p, t->timeout_ms, why, size))
        return STATUS_CONNECT;
    return read_auth_answer(p, t, why, size);
}

enum status peer_open(struct peer *p, const struct peer_target *t, char *why, size_t why_size)
{
    int fd = connect_one(t, why, why_size);
    if (fd < 0)
        return STATUS_CONNECT;
    scanner_init(&p->scanner);
    if (t->tls == NULL) {
        stream_open_plain(&p->stream, fd);
    } else if (!tls_open_stream(t->tls, &p->stream, fd, t->server_name)) {
        close(fd);
        snprintf(why, why_size, "out of memory");
        return STATUS_CONNECT;
    }
    enum status status = STATUS_CONNECT;
    if (handshake(p, t, why, why_size))
        status = t->token != NULL ? authenticate(p, t, why, why_size) : STATUS_OK;
    if (status != STATUS_OK)
        peer_close(p);
    return status;
}

void peer_close(struct peer *p)
{
    stream_close(&p->stream);
    buffer_fini(&p->in);
    buffer_fini(&p->out);
}
