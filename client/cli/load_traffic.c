#include "client/cli/load_inside.h"

#include "client/lib/frame.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/reader.h"

#include <stdio.h>
#include <sys/epoll.h>

enum {
    ID_OFFSET = 3, /* of the message id in a frame: 94 00 ce id ... */
    FRAME_HEAD = ID_OFFSET + 4 + ENC_HEAD_MAX
};

/* ---- requests ---- */

/* The id has a fixed width, so that it can be patched. */
bool load_make_frame(struct load *l)
{
    const struct load_plan *plan = l->plan;
    size_t room = FRAME_HEAD + plan->method.len + plan->params.len;
    uint8_t *at = buffer_reserve(&l->frame, room);
    if (at == NULL)
        return false;
    uint8_t *p = enc_uint(enc_array(at, 4), 0);
    *p++ = 0xce;
    p = enc_str(p + 4, plan->method);
    memcpy(p, plan->params.at, plan->params.len);
    buffer_filled(&l->frame, (size_t)(p - at) + plan->params.len);
    return true;
}

static bool append_request(struct load *l, uint32_t slot)
{
    struct span frame = buffer_span(&l->frame);
    uint8_t *at = buffer_reserve(&l->batch, frame.len);
    if (at == NULL)
        return false;
    memcpy(at, frame.at, frame.len);
    at[ID_OFFSET] = (uint8_t)(slot >> 24);
    at[ID_OFFSET + 1] = (uint8_t)(slot >> 16);
    at[ID_OFFSET + 2] = (uint8_t)(slot >> 8);
    at[ID_OFFSET + 3] = (uint8_t)slot;
    buffer_filled(&l->batch, frame.len);
    return true;
}

void load_watch(struct load *l, struct peer *p, bool write)
{
    struct epoll_event e = {.events = EPOLLIN | (write ? EPOLLOUT : 0), .data.ptr = p};
    if (p->waits_to_write == write)
        return;
    p->waits_to_write = write;
    epoll_ctl(l->epoll, EPOLL_CTL_MOD, p->stream.fd, &e);
}

static void drop_peer(struct load *l, struct peer *p, const char *why)
{
    snprintf(l->result->why, sizeof l->result->why, "%s", why);
    l->result->broken++;
    l->result->lost += p->in_flight;
    l->in_flight -= p->in_flight;
    p->in_flight = 0;
    l->live--;
    peer_close(p);
}

/* Writes `from`; what the socket does not take stays in it.  False: the peer is gone. */
static bool write_some(struct load *l, struct peer *p, struct buffer *from)
{
    while (buffer_length(from) > 0) {
        struct span rest = buffer_span(from);
        size_t done = 0;
        enum stream_verdict v = p->stream.ops->write(&p->stream, rest.at, rest.len, &done);
        if (v == STREAM_WANT_READ || v == STREAM_WANT_WRITE)
            return true;
        if (v != STREAM_OK) {
            drop_peer(l, p, v == STREAM_EOF ? "the server closed the connection" : p->stream.why);
            return false;
        }
        l->result->bytes_out += done;
        buffer_drop(from, done);
    }
    return true;
}

static void flush_batch(struct load *l, struct peer *p)
{
    if (buffer_length(&p->out) > 0) {
        if (!buffer_append(&p->out, buffer_span(&l->batch)))
            drop_peer(l, p, "out of memory");
    } else if (write_some(l, p, &l->batch) && buffer_length(&l->batch) > 0) {
        if (buffer_append(&p->out, buffer_span(&l->batch)))
            load_watch(l, p, true);
        else
            drop_peer(l, p, "out of memory");
    }
    buffer_drop(&l->batch, buffer_length(&l->batch));
}

static bool may_send(struct load *l)
{
    if (l->plan->requests > 0 && l->result->sent >= l->plan->requests)
        l->sending = false;
    return l->sending;
}

/* New requests for the freed slots, all in one write. */
void load_send_freed(struct load *l, struct peer *p)
{
    uint64_t now = load_now_ns();
    for (uint32_t i = 0; i < l->freed_count && may_send(l); i++) {
        if (!append_request(l, l->freed[i]))
            break;
        p->sent_ns[l->freed[i]] = now;
        p->in_flight++;
        l->in_flight++;
        l->result->sent++;
    }
    l->freed_count = 0;
    flush_batch(l, p);
}

/* ---- answers ---- */

static void count_error(struct load *l, struct span error)
{
    struct load_result *r = l->result;
    struct error_text said;
    error_text_read(error, &said);
    const char *code = said.code[0] != 0 ? said.code : "other";
    size_t i = 0;
    while (i < r->error_kinds && strcmp(r->errors[i].code, code) != 0)
        i++;
    if (i == LOAD_CODES_MAX)
        i--; /* a server with more codes than that has its rest in the last one */
    if (i == r->error_kinds) {
        snprintf(r->errors[i].code, sizeof r->errors[i].code, "%s", code);
        r->error_kinds++;
    }
    r->errors[i].count++;
}

static void take_answer(struct load *l, struct peer *p, uint64_t id, uint64_t now)
{
    if (id >= l->plan->in_flight || p->sent_ns[id] == 0)
        return;
    histogram_add(&l->result->latency, now - p->sent_ns[id]);
    p->sent_ns[id] = 0;
    p->in_flight--;
    l->in_flight--;
    l->freed[l->freed_count++] = (uint32_t)id;
}

/* [1, id as it was sent, nil, ...: all good answers of a server that returns ids byte for byte. */
static bool is_plain_answer(struct span m)
{
    return m.len > 8 && m.at[0] == 0x94 && m.at[1] == 1 && m.at[2] == 0xce && m.at[7] == 0xc0;
}

static bool take_message(struct load *l, struct peer *p, struct span m, uint64_t now)
{
    struct envelope e;
    const char *why = NULL;
    uint64_t id = UINT64_MAX;
    if (is_plain_answer(m)) {
        l->result->good++;
        take_answer(l, p,
                    (uint64_t)m.at[3] << 24 | (uint64_t)m.at[4] << 16 | (uint64_t)m.at[5] << 8 |
                        m.at[6],
                    now);
        return true;
    }
    if (envelope_read(m, &e, &why) != ENVELOPE_OK)
        return false;
    if (e.type != ENVELOPE_RESPONSE)
        return true;
    struct reader r = reader_of(e.msgid);
    if (e.error.len == 1 && e.error.at[0] == 0xc0)
        l->result->good++;
    else
        count_error(l, e.error);
    if (read_uint(&r, &id))
        take_answer(l, p, id, now);
    return true;
}

/* Takes all whole messages of `bytes`; *taken tells how many bytes they have.  False: not
 * MessagePack-RPC. */
static bool take_messages(struct load *l, struct peer *p, struct span bytes, size_t *taken)
{
    const struct scan_limits limits = {UINT32_MAX, SCAN_DEPTH_CAP};
    uint64_t now = load_now_ns();
    for (*taken = 0; *taken < bytes.len;) {
        struct span rest = span_of(bytes.at + *taken, bytes.len - *taken);
        enum scan_verdict v = scanner_run(&p->scanner, &limits, rest);
        if (v == SCAN_MORE)
            return true;
        if (v != SCAN_WHOLE || !take_message(l, p, span_of(rest.at, p->scanner.done), now))
            return false;
        *taken += p->scanner.done;
        scanner_init(&p->scanner);
    }
    return true;
}

/* The common case, whole messages, never copies. */
static bool take_bytes(struct load *l, struct peer *p, size_t len)
{
    size_t taken;
    struct span fresh = span_of(l->scratch, len);
    l->result->bytes_in += len;
    if (buffer_length(&p->in) == 0) {
        return take_messages(l, p, fresh, &taken) &&
               (taken == len || buffer_append(&p->in, span_of(fresh.at + taken, len - taken)));
    }
    if (!buffer_append(&p->in, fresh) || !take_messages(l, p, buffer_span(&p->in), &taken))
        return false;
    buffer_drop(&p->in, taken);
    return true;
}

void load_read_peer(struct load *l, struct peer *p)
{
    for (;;) {
        size_t done = 0;
        enum stream_verdict v = p->stream.ops->read(&p->stream, l->scratch, LOAD_SCRATCH, &done);
        if (v == STREAM_WANT_READ || v == STREAM_WANT_WRITE)
            break;
        if (v != STREAM_OK) {
            drop_peer(l, p, v == STREAM_EOF ? "the server closed the connection" : p->stream.why);
            return;
        }
        if (!take_bytes(l, p, done)) {
            drop_peer(l, p, "the server does not speak MessagePack-RPC");
            return;
        }
        if (done < LOAD_SCRATCH && l->plan->target.tls == NULL)
            break; /* the socket is empty: no need to hear so */
    }
    if (l->freed_count > 0)
        load_send_freed(l, p);
}

void load_write_peer(struct load *l, struct peer *p)
{
    if (write_some(l, p, &p->out) && buffer_length(&p->out) == 0)
        load_watch(l, p, false);
}
