#include "tests/support/scripted_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/support/heap.h"

/* As the poller would: what is watched and holds. */
static void report(void *arg)
{
    struct script *k = arg;
    unsigned what = 0;

    if (k->closed)
        return;
    if ((k->in_len > 0 && !k->inside) || k->eof || k->left || k->reset)
        what |= STREAM_READ;
    if (k->window > 0 || k->reset)
        what |= STREAM_WRITE;
    /* Watched alone and by edges: whatever has changed. */
    what = k->stream->watched == STREAM_CLOSED
               ? STREAM_WRITE | (k->eof || k->left ? STREAM_CLOSED : 0u)
               : what & k->stream->watched;
    if (what != 0)
        k->on_event(&k->stream->watch, what);
}

static void report_soon(struct script *k)
{
    virtual_at(k->world, k->world->now, k->on, report, k);
}

static int script_handshake(struct stream *s)
{
    struct script *k = s->state;

    size_t n = k->flight < k->window ? k->flight : k->window;
    k->flight -= n;
    k->window -= n;
    if (k->flight > 0)
        return STREAM_WANT_WRITE;
    if (k->handshakes == 0)
        return 0;
    if (k->handshakes > 0)
        k->handshakes--;
    k->in_len = 0;
    return k->eof ? STREAM_EOF : STREAM_WANT_READ;
}

static ssize_t fail(struct stream *s)
{
    s->error = ECONNRESET;
    return STREAM_ERROR;
}

static ssize_t script_read(struct stream *s, uint8_t *buf, size_t size)
{
    struct script *k = s->state;
    size_t n = size < k->in_len ? size : k->in_len;

    k->reads++;
    s->backlog += (uint32_t)k->reply;
    k->reply = 0;
    if (k->reset)
        return fail(s);
    if (n == 0)
        return k->eof || k->left ? STREAM_EOF : STREAM_WANT_READ;
    memcpy(buf, k->in, n);
    k->in_len -= n;
    memmove(k->in, k->in + n, k->in_len);
    if (k->in_len > 0 || k->eof || k->left)
        report_soon(k); /* level-triggered */
    return (ssize_t)n;
}

static ssize_t script_writev(struct stream *s, const struct iovec *parts, int count)
{
    struct script *k = s->state;
    size_t total = 0;

    k->writes++;
    if (k->reset || k->left)
        return fail(s);
    uint32_t late = s->backlog < k->window ? s->backlog : (uint32_t)k->window;
    s->backlog -= late;
    k->window -= late;
    if (s->backlog > 0)
        return STREAM_WANT_WRITE;
    if (count == 0)
        return 0;
    for (int i = 0; i < count && k->window > 0; i++) {
        size_t n = parts[i].iov_len < k->window ? parts[i].iov_len : k->window;
        if (k->out_len + n > SCRIPT_ROOM)
            abort();
        memcpy(k->out + k->out_len, parts[i].iov_base, n);
        k->out_len += n;
        k->window -= n;
        total += n;
    }
    if (k->window > 0 && s->watched & STREAM_WRITE)
        report_soon(k); /* level-triggered */
    return total > 0 ? (ssize_t)total : STREAM_WANT_WRITE;
}

static bool script_watch(struct stream *s, unsigned what)
{
    unsigned fresh = what & ~(unsigned)s->watched;

    s->watched = (uint8_t)what;
    if (fresh != 0)
        report_soon(s->state);
    return true;
}

static bool script_left(const struct stream *s, unsigned period)
{
    struct script *k = s->state;

    if (k->left || k->reset)
        return true;
    if (period > 0)
        k->period = period;
    return false;
}

static void script_ask_often(struct stream *s, const struct stream_asks *asks)
{
    ((struct script *)s->state)->asks = *asks;
}

static bool script_unheard(const struct stream *s, struct stream_silence *out)
{
    const struct script *k = s->state;

    *out = k->silence;
    return !k->mute;
}

static void script_shut(struct stream *s)
{
    ((struct script *)s->state)->shut = true;
}

static void script_close(struct stream *s)
{
    ((struct script *)s->state)->closed = true;
}

static void script_explain(const struct stream *s, char *buf, size_t size)
{
    snprintf(buf, size, "scripted error %u", s->error);
}

static const struct stream_class script_class = {
    .name = "scripted",
    .handshake = script_handshake,
    .read = script_read,
    .writev = script_writev,
    .watch = script_watch,
    .left = script_left,
    .ask_often = script_ask_often,
    .unheard = script_unheard,
    .shut = script_shut,
    .close = script_close,
    .explain = script_explain,
};

/* A test may make the heap fail, for the connection alone. */
static uint8_t *room(void)
{
    void *p = heap_pages(SCRIPT_ROOM);

    if (!p)
        abort();
    return p;
}

void script_init(struct script *k, struct virtual *world, struct activator *on)
{
    *k = (struct script){
        .world = world, .on = on, .in = room(), .out = room(), .window = SCRIPT_WINDOW};
}

void script_fini(struct script *k)
{
    munmap(k->in, SCRIPT_ROOM);
    munmap(k->out, SCRIPT_ROOM);
    k->in = k->out = NULL;
}

void script_open(struct script *k, struct stream *s,
                 void (*on_event)(struct poller_watch *w, unsigned what))
{
    k->on_event = on_event;
    k->stream = s;
    *s = (struct stream){.cls = &script_class, .state = k, .fd = -1};
}

void script_send(struct script *k, struct span bytes)
{
    if (k->in_len + bytes.len > SCRIPT_ROOM)
        abort();
    memcpy(k->in + k->in_len, bytes.at, bytes.len);
    k->in_len += bytes.len;
    report_soon(k);
}

void script_send_eof(struct script *k)
{
    k->eof = true;
    report_soon(k);
}

void script_leave(struct script *k)
{
    k->left = true;
    report_soon(k);
}

void script_reset(struct script *k)
{
    k->reset = true;
    report_soon(k);
}

void script_widen(struct script *k, size_t bytes)
{
    k->window += bytes;
    report_soon(k);
}

void script_forget(struct script *k)
{
    k->out_len = 0;
}
