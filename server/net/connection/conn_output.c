/* From answers to bytes: all that was committed in a round goes out at its end, in one write; and
 * what becomes of it when we close. */
#include "server/net/connection/conn_output.h"
#include "server/net/connection/holdings.h"
#include "server/net/connection/serving.h"

#include <assert.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "server/runtime/object/trace.h"

enum {
    ERROR_ROOM = 640,    /* bytes of a whole error response */
    WRITES_A_ROUND = 8,  /* system calls of one connection in a flush */
    PARTS_A_WRITE = 64,  /* iovecs of one system call */
    WRITE_MOST = 2 << 20 /* bytes of one system call, and of a flush: to copy these takes long */
};

void output_wanted(struct connection *c)
{
    struct net_loop *l = c->loop;

    if (c->dirty)
        return;
    c->dirty = true;
    STAILQ_INSERT_TAIL(&l->dirty, c, queued);
    loop_arm(l);
}

uint8_t *conn_reserve(struct connection *c, size_t room)
{
    if (!conn_answerable(c))
        return NULL;
    uint8_t *p = chunk_reserve(&c->out, &c->loop->pool, room);
    if (p == NULL)
        conn_out_of_memory(c);
    return p;
}

void conn_commit(struct connection *c, uint8_t *end)
{
    chunk_commit(&c->out, end);
    output_wanted(c);
}

bool conn_send_block(struct connection *c, void *block, struct span bytes,
                     void (*release)(void *block))
{
    if (conn_answerable(c)) {
        if (chunk_append_block(&c->out, block, bytes, release)) {
            output_wanted(c);
            holdings_settle(c); /* now, since many may come in one round */
            return true;
        }
        conn_out_of_memory(c);
    }
    release(block);
    return false;
}

bool conn_may_push(struct connection *c, size_t bytes)
{
    uint64_t waits = output_bytes(c);
    struct conn_cold *cold = cold_begin(c, COLD_PUSHED);

    if (cold == NULL)
        return false;
    if (cold->pushed > waits)
        cold->pushed = waits; /* the rest was read */
    if (cold->pushed > 0 && cold->pushed + bytes > c->loop->limits.output_max)
        return false;
    cold->pushed += bytes;
    return true;
}

void conn_send_error(struct connection *c, struct span msgid, const struct error_answer *error)
{
    uint8_t *p = conn_reserve(c, ERROR_ROOM);

    if (p != NULL)
        conn_commit(c, enc_error_response(p, ERROR_ROOM, msgid,
                                          (enum error_shape)c->mode.error_shape, error));
}

static void write_failed(struct connection *c)
{
    char text[128];

    c->stream.cls->explain(&c->stream, text, sizeof text);
    log_debug("write failed", LOG_UINT("conn", conn_id(c)), LOG_STR("reason", text));
    conn_enter(c, CONN_CLOSED, "write error");
}

/* Leaves so many of the parts as have WRITE_MOST bytes.  Returns how many. */
__attribute__((noinline)) static int cut(struct iovec *parts, int count)
{
    size_t left = WRITE_MOST;
    int i = 0;

    for (; i < count && left > 0; i++) {
        if (parts[i].iov_len > left)
            parts[i].iov_len = left;
        left -= parts[i].iov_len;
    }
    return i;
}

/* One system call's worth.  True when more can be written at once. */
static bool write_some(struct connection *c)
{
    struct iovec parts[PARTS_A_WRITE];
    int count = chunk_parts(&c->out, parts, PARTS_A_WRITE);
    if (__builtin_expect(c->out.bytes > WRITE_MOST, 0))
        count = cut(parts, count);
    ssize_t n = c->stream.cls->writev(&c->stream, parts, count);

    if (n == STREAM_WANT_WRITE || n == STREAM_WANT_READ) {
        c->ready &= (uint8_t)~STREAM_WRITE;
        conn_watch(c, c->stream.watched | STREAM_WRITE);
        return false;
    }
    if (n < 0) {
        write_failed(c);
        return false;
    }
    if (n > 0) {
        c->since = activator_now(c->loop->activator);
        if (c->cold != NULL)
            c->cold->handed += (uint64_t)n;
        counter_add(&c->loop->counters.bytes_out, (uint64_t)n);
        chunk_consume(&c->out, &c->loop->pool, (size_t)n);
        TRACE(c->loop->activator, "conn", conn_id(c), "wrote %zd bytes, %lu left", n,
              (unsigned long)c->out.bytes);
    }
    return output_bytes(c) > 0;
}

static void free_block(void *block)
{
    block_free(block);
    free(block);
}

/* What is lent last is most of a long message, which has no other user: to copy megabytes would
 * take a step long.  Without memory it is copied all the same, or not. */
static void keep_message(struct connection *c)
{
    struct span rest = chunk_borrowed(&c->out);
    struct block *block = rest.len > 0 ? malloc(sizeof *block) : NULL;

    if (block == NULL)
        return;
    if (conn_take_message(c, rest, block))
        chunk_adopt(&c->out, block, free_block);
    else
        free(block);
}

/* A large answer in the loop's read buffer waits for the end of the connection's step, so that all
 * answers to one read go out in one write; any other is written now. */
void conn_send_large(struct connection *c, struct span bytes)
{
    const uint8_t *scratch = c->loop->scratch;

    if (!conn_answerable(c))
        return;
    if (!chunk_append_block(&c->out, NULL, bytes, NULL)) {
        conn_out_of_memory(c);
        return;
    }
    c->borrows = true;
    output_wanted(c);
    if (bytes.at >= scratch && bytes.at < scratch + HEADROOM + READ_MANY)
        return;
    if (!(c->stream.watched & STREAM_WRITE))
        write_some(c);
    if (c->state != CONN_CLOSED)
        keep_message(c);
    output_keep(c);
}

void output_keep(struct connection *c)
{
    if (!c->borrows)
        return;
    c->borrows = false;
    if (c->state != CONN_CLOSED && !chunk_keep(&c->out))
        conn_out_of_memory(c);
}

/* What was pushed waits, for a peer that reads slowly or not at all.  `less` waits than before, in
 * the stream's backlog too: the peer reads. */
static void note_unread(struct connection *c, bool less)
{
    bool begins = !c->unread;

    if (c->cold == NULL || c->cold->pushed == 0 || !conn_open(c) || c->loop->limits.unread == 0)
        return;
    assert(c->cold->uses & COLD_PUSHED);
    if (begins || less)
        c->cold->unread_since = activator_now(c->loop->activator);
    c->unread = true;
    if (begins)
        conn_kick(c); /* its step sets the alarm */
}

/* All of it: the connection's step goes on, and so does the port. */
__attribute__((noinline)) static void note_written(struct connection *c)
{
    if (!conn_open(c) || conn_goes_on(c))
        conn_kick(c);
    if (c->serves)
        serving_wrote(c);
    else if (c->loop->port.has_room)
        c->loop->port.has_room(c->loop->port.arg, c);
}

void output_flush(struct connection *c)
{
    if (c->state == CONN_CLOSED || c->state == CONN_LINGERING)
        return;
    int budget = WRITES_A_ROUND;
    uint64_t before = output_bytes(c), out = c->out.bytes;
    if (before > 0)
        while (write_some(c) && --budget > 0 && out - c->out.bytes < WRITE_MOST)
            ;
    if (c->state == CONN_CLOSED)
        return;
    if (output_bytes(c) > 0) {
        output_keep(c);
        holdings_settle(c);
        if (output_bytes(c) < before) /* maybe of the backlog alone */
            c->since = activator_now(c->loop->activator);
        note_unread(c, output_bytes(c) < before);
        /* What stops at the budget goes on when the poller says so, at once. */
        if (conn_watch(c, c->stream.watched | STREAM_WRITE) && c->serves)
            serving_wrote(c);
        return;
    }
    chunk_drop_all(&c->out, &c->loop->pool); /* a chunk that was reserved and not used */
    if (c->cold != NULL)
        c->cold->pushed = 0;
    if (c->charged > 0)
        holdings_settle(c);
    if (c->stream.watched & STREAM_WRITE) {
        c->unread = false;
        conn_watch(c, c->stream.watched & ~(unsigned)STREAM_WRITE);
    }
    c->ready &= (uint8_t)~STREAM_WRITE;
    if (c->state != CONN_OPEN || c->stopped || c->serves)
        note_written(c);
}

void output_flush_last(struct connection *c)
{
    uint64_t before;

    do {
        before = output_bytes(c);
        output_flush(c);
    } while (c->state != CONN_CLOSED && output_bytes(c) > 0 && output_bytes(c) < before);
}

void conn_end(struct connection *c, const char *why)
{
    if (!c->serves) {
        conn_enter(c, CONN_FLUSHING, why);
        return;
    }
    serving_end(c);
    output_flush_last(c);
    conn_abort(c, why);
}

void conn_close(struct connection *c, const char *why)
{
    if (!conn_answerable(c))
        return;
    CONN_LOG(info, "connection closed", c, why);
    conn_end(c, why);
}
