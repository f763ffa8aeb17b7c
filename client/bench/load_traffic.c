#include "client/bench/load_inside.h"

#include "client/lib/frame.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
    ID_OFFSET = 3, /* of the message id in a request: 94 00 ce id ... */
    HEAD_ROOM = ID_OFFSET + 4 + 2 * ENC_HEAD_MAX
};

/* ---- requests ---- */

/* Bytes that do not compress to nothing, the same in every run. */
static bool make_payload(struct load *l)
{
    size_t size = l->plan->payload.most;
    struct bench_random random = {0};
    l->payload = malloc(size + 1);
    if (l->payload == NULL)
        return false;
    for (size_t i = 0; i < size; i++)
        l->payload[i] = (uint8_t)bench_random_next(&random);
    return true;
}

/* The id has a fixed width, so that it can be patched. */
bool load_make_request(struct load *l)
{
    const struct load_plan *plan = l->plan;
    struct span params = plan->has_payload ? span_of(NULL, 0) : plan->params;
    uint8_t *at = buffer_reserve(&l->head, HEAD_ROOM + plan->method.len + params.len);
    if (at == NULL)
        return false;
    uint8_t *p = enc_uint(enc_array(at, 4), 0);
    *p++ = 0xce;
    p = enc_str(p + 4, plan->method);
    if (plan->has_payload)
        p = enc_array(p, 1);
    else
        memcpy(p, params.at, params.len);
    buffer_filled(&l->head, (size_t)(p - at) + params.len);
    return !plan->has_payload || make_payload(l);
}

static void patch_id(uint8_t *request, uint32_t slot)
{
    request[ID_OFFSET] = (uint8_t)(slot >> 24);
    request[ID_OFFSET + 1] = (uint8_t)(slot >> 16);
    request[ID_OFFSET + 2] = (uint8_t)(slot >> 8);
    request[ID_OFFSET + 3] = (uint8_t)slot;
}

static bool frame(struct load *l, struct peer *p, uint32_t slot)
{
    struct span head = buffer_span(&l->head);
    uint32_t size = l->plan->has_payload ? bench_size_draw(&l->plan->payload, &l->sizes) : 0;
    uint8_t *at = buffer_reserve(&p->out, head.len + ENC_HEAD_MAX + size);
    if (at == NULL)
        return false;
    memcpy(at, head.at, head.len);
    patch_id(at, slot);
    uint8_t *end = at + head.len;
    if (l->plan->has_payload)
        end = enc_bin(end, span_of(l->payload, size));
    buffer_filled(&p->out, (size_t)(end - at));
    return true;
}

bool load_append_request(struct load *l, struct peer *p, uint64_t since_ns)
{
    uint32_t slot = p->free_slot;
    if (!frame(l, p, slot))
        return false;
    p->free_slot = p->slots[slot].next;
    p->slots[slot].since_ns = since_ns;
    p->in_flight++;
    l->in_flight++;
    l->result.sent += load_counts(l, since_ns);
    return true;
}

static const char *reason(const struct peer *p, enum stream_verdict v)
{
    return v == STREAM_EOF ? "the server closed the connection" : p->stream.why;
}

void load_flush(struct load *l, struct peer *p)
{
    while (buffer_length(&p->out) > 0) {
        struct span rest = buffer_span(&p->out);
        size_t done = 0;
        enum stream_verdict v = p->stream.ops->write(&p->stream, rest.at, rest.len, &done);
        if (v == STREAM_WANT_READ || v == STREAM_WANT_WRITE) {
            load_watch(l, p, EPOLLIN | EPOLLOUT);
            return;
        }
        if (v != STREAM_OK) {
            load_drop(l, p, reason(p, v));
            return;
        }
        if (load_counts(l, l->now))
            l->result.bytes_out += done;
        buffer_drop(&p->out, done);
    }
    load_watch(l, p, EPOLLIN);
}

/* ---- answers ---- */

static void count_error(struct load *l, struct span error)
{
    struct load_result *r = &l->result;
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

/* True: the request is of those that count. */
static bool take_answer(struct load *l, struct peer *p, uint64_t id)
{
    if (id >= l->plan->in_flight || p->slots[id].since_ns == 0)
        return false;
    struct peer_slot *slot = &p->slots[id];
    uint64_t since_ns = slot->since_ns;
    *slot = (struct peer_slot){.next = p->free_slot};
    p->free_slot = (uint32_t)id;
    p->in_flight--;
    l->in_flight--;
    if (!load_counts(l, since_ns))
        return false;
    histogram_add(&l->result.latency, l->now - since_ns);
    l->news.answers++;
    l->answer_ns = l->now;
    return true;
}

/* [1, id as it was sent, nil, ...: all good answers of a server that returns ids byte for byte. */
static bool is_plain_answer(struct span m)
{
    return m.len > 8 && m.at[0] == 0x94 && m.at[1] == 1 && m.at[2] == 0xce && m.at[7] == 0xc0;
}

static uint32_t plain_id(struct span m)
{
    return (uint32_t)m.at[3] << 24 | (uint32_t)m.at[4] << 16 | (uint32_t)m.at[5] << 8 | m.at[6];
}

static bool take_message(struct load *l, struct peer *p, struct span m)
{
    struct envelope e;
    const char *why = NULL;
    uint64_t id = UINT64_MAX;
    if (is_plain_answer(m)) {
        l->result.good += take_answer(l, p, plain_id(m));
        return true;
    }
    if (envelope_read(m, &e, &why) != ENVELOPE_OK)
        return false;
    if (e.type != ENVELOPE_RESPONSE)
        return true;
    struct reader r = reader_of(e.msgid);
    if (!read_uint(&r, &id) || !take_answer(l, p, id))
        return true;
    if (e.error.len == 1 && e.error.at[0] == 0xc0)
        l->result.good++;
    else
        count_error(l, e.error);
    return true;
}

/* Takes all whole messages of `bytes`; *taken tells how many bytes they have.  False: not
 * MessagePack-RPC. */
static bool take_messages(struct load *l, struct peer *p, struct span bytes, size_t *taken)
{
    const struct scan_limits limits = {UINT32_MAX, SCAN_DEPTH_CAP};
    l->now = load_now_ns();
    for (*taken = 0; *taken < bytes.len;) {
        struct span rest = span_of(bytes.at + *taken, bytes.len - *taken);
        enum scan_verdict v = scanner_run(&p->scanner, &limits, rest);
        if (v == SCAN_MORE)
            return true;
        if (v != SCAN_WHOLE || !take_message(l, p, span_of(rest.at, p->scanner.done)))
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
    if (load_counts(l, l->now))
        l->result.bytes_in += len;
    if (buffer_length(&p->in) == 0) {
        return take_messages(l, p, fresh, &taken) &&
               (taken == len || buffer_append(&p->in, span_of(fresh.at + taken, len - taken)));
    }
    if (!buffer_append(&p->in, fresh) || !take_messages(l, p, buffer_span(&p->in), &taken))
        return false;
    buffer_drop(&p->in, taken);
    return true;
}

void load_read(struct load *l, struct peer *p)
{
    for (;;) {
        size_t done = 0;
        enum stream_verdict v = p->stream.ops->read(&p->stream, l->scratch, LOAD_SCRATCH, &done);
        if (v == STREAM_WANT_READ || v == STREAM_WANT_WRITE)
            break;
        if (v != STREAM_OK) {
            load_drop(l, p, reason(p, v));
            return;
        }
        if (!take_bytes(l, p, done)) {
            load_drop(l, p, "the server does not speak MessagePack-RPC");
            return;
        }
        if (done < LOAD_SCRATCH && l->tls == NULL)
            break; /* the socket is empty: no need to hear so */
    }
    if (p->retiring && p->in_flight == 0)
        load_replace(l, p);
    else if (p->free_slot != PEER_NO_SLOT)
        load_offer(l, p);
}
