#include "tests/bench/peers/driver/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/peers/common/outgoing.h"
#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/arrivals.h"
#include "tests/bench/peers/driver/connection.h"
#include "tests/bench/peers/driver/processor.h"
#include "tests/bench/peers/driver/tls.h"

enum {
    EVENTS = 256,
    READ_MAX = 512 * 1024,
    POLL_MS = 100, /* looks at the time at least so often */
};

#define DRAIN_NS 10000000000u

struct load {
    struct load_options o;
    struct connection *connections;
    uint64_t *began; /* depth of each connection */
    uint64_t now;    /* at the last read */
    uint64_t in_flight;
    uint64_t asked; /* number of the next */
    bool asking;    /* tasks are asked for, until a drain */
    struct arrivals arrivals;
    uint32_t turn; /* connection that takes what is due */
    struct {
        double sum; /* ns */
        uint64_t count;
    } lag;
    struct histogram *record;
    char *payload;
    char *in;
    struct outgoing out;
    struct ssl_ctx_st *tls; /* NULL: plain */
    int epoll;
};

static bool is_open(const struct load *l)
{
    return l->arrivals.gap > 0;
}

static uint32_t after(const struct load *l, uint32_t slot)
{
    return slot + 1 < l->o.depth ? slot + 1 : 0;
}

/* ---- asking ---- */

static bool watch(struct load *l, int operation, struct connection *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = c};

    return epoll_ctl(l->epoll, operation, c->fd, &e) == 0;
}

static bool flush(struct load *l, struct connection *c)
{
    bool was = c->rest != NULL, blocked;

    if (!connection_send(c, &l->out, &blocked))
        return perror("driver: writing"), false;
    return blocked == was || watch(l, EPOLL_CTL_MOD, c, EPOLLIN | EPOLLOUT);
}

/* Gathers one request; its time counts from `since`. */
static bool ask(struct load *l, struct connection *c, uint32_t slot, uint64_t since)
{
    const struct protocol *p = l->o.protocol;

    if (!outgoing_has_room(&l->out) && !flush(l, c))
        return false;
    outgoing_wrote(&l->out, p->head(&l->o.shape, (struct place){c->index, slot, l->asked++},
                                    outgoing_at(&l->out)));
    if (!p->bare)
        outgoing_add(&l->out, l->payload + p->stamp, l->o.shape.payload - p->stamp);
    if (*p->tail)
        outgoing_add(&l->out, p->tail, strlen(p->tail));
    c->began[slot] = since;
    l->in_flight++;
    return true;
}

/* ---- answers ---- */

/* Tasks that one read has ended, in order. */
struct ended {
    uint32_t slots[LOAD_DEPTH_MAX];
    uint32_t count;
};

static bool wrong(const struct connection *c, const char *why, const char *at, size_t n)
{
    fprintf(stderr, "driver: connection %u: %s: ", c->index, why);
    for (size_t i = 0; i < n && i < 80; i++)
        fprintf(stderr, at[i] >= ' ' && at[i] <= '~' ? "%c" : "\\x%02x", (unsigned char)at[i]);
    fprintf(stderr, "\n");
    return false;
}

static bool end_task(struct load *l, struct connection *c, uint32_t slot, struct ended *ended)
{
    if (l->o.protocol->ordered) {
        slot = c->next;
        c->next = after(l, slot);
    }
    if (slot >= l->o.depth || c->began[slot] == 0)
        return wrong(c, "an answer to nothing that was asked", "", 0);
    if (l->record)
        histogram_add(l->record, l->now - c->began[slot]);
    c->began[slot] = 0;
    l->in_flight--;
    ended->slots[ended->count++] = slot;
    return true;
}

/* The bytes of a known message; what of them was taken.  The task ends with the last one. */
static bool skip(struct load *l, struct connection *c, size_t n, size_t *taken, struct ended *ended)
{
    *taken = c->skip < n ? c->skip : n;
    c->skip -= *taken;
    if (c->skip > 0 || !c->ends)
        return true;
    c->ends = false;
    return end_task(l, c, c->ending, ended);
}

static bool take(struct load *l, struct connection *c, const char *at, size_t n,
                 struct ended *ended)
{
    char follow[PROTOCOL_BYTES_MAX];
    size_t taken;

    while (n > 0) {
        struct answer a = {.follow = follow};
        if (c->skip == 0) {
            enum answer_kind kind = l->o.protocol->parse(&l->o.shape, at, n, &a);
            if (kind == ANSWER_WRONG || (kind == ANSWER_PARTIAL && n > PROTOCOL_BYTES_MAX))
                return wrong(c, "not the answer of a task that went well", at, n);
            if (kind == ANSWER_PARTIAL)
                return connection_keep_part(c, at, n);
            if (a.followed > 0)
                outgoing_add(&l->out, follow, a.followed);
            c->skip = a.size;
            c->ends = kind == ANSWER_TASK;
            c->ending = a.slot;
        }
        if (!skip(l, c, n, &taken, ended))
            return false;
        at += taken;
        n -= taken;
    }
    return true;
}

static bool on_readable(struct load *l, struct connection *c)
{
    size_t held = connection_take_part(c, l->in);
    ssize_t n = connection_receive(c, l->in + held, READ_MAX - held);
    struct ended ended = {.count = 0};

    if (n == 0)
        return wrong(c, "the server has closed it", "", 0);
    if (n < 0 && errno != EAGAIN)
        return perror("driver: reading"), false;
    l->now = processor_clock_ns();
    if (!take(l, c, l->in, held + (n > 0 ? (size_t)n : 0), &ended))
        return false;
    for (uint32_t i = 0; i < ended.count && l->asking && !is_open(l); i++)
        if (!ask(l, c, ended.slots[i], l->now))
            return false;
    return flush(l, c);
}

/* What TLS holds already is not told by the socket. */
static bool read_all(struct load *l, struct connection *c)
{
    do
        if (!on_readable(l, c))
            return false;
    while (c->tls && tls_has_more(c->tls));
    return true;
}

static bool on_event(struct load *l, struct connection *c, uint32_t events)
{
    bool blocked;

    if (c->rest && events & EPOLLOUT) {
        if (!connection_resume(c, &blocked))
            return perror("driver: writing"), false;
        if (!blocked && !watch(l, EPOLL_CTL_MOD, c, EPOLLIN))
            return false;
    }
    return !(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || read_all(l, c);
}

static bool turn(struct load *l)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(l->epoll, events, EVENTS, is_open(l) ? 0 : POLL_MS);

    for (int i = 0; i < count; i++)
        if (!on_event(l, events[i].data.ptr, events[i].events))
            return false;
    if (count <= 0)
        l->now = processor_clock_ns();
    return count >= 0 || errno == EINTR;
}

/* Fills the free slots.  The next task to end in order is then that of the slot filled first. */
static bool fill(struct load *l)
{
    l->now = processor_clock_ns();
    for (uint32_t i = 0; i < l->o.connections; i++) {
        struct connection *c = &l->connections[i];
        for (uint32_t k = 0, slot = c->next; k < l->o.depth; k++) {
            if (c->began[slot] == 0 && !ask(l, c, slot, l->now))
                return false;
            slot = after(l, slot);
        }
        if (!flush(l, c))
            return false;
    }
    return true;
}

/* What is due goes to one connection, as much as it has slots for. */
static bool ask_due(struct load *l)
{
    struct connection *c = &l->connections[l->turn];

    l->now = processor_clock_ns();
    if (l->arrivals.due > (double)l->now)
        return true;
    while (l->arrivals.due <= (double)l->now && c->began[c->free] == 0) {
        if (!ask(l, c, c->free, (uint64_t)l->arrivals.due))
            return false;
        l->lag.sum += (double)l->now - l->arrivals.due;
        l->lag.count++;
        c->free = after(l, c->free);
        arrivals_advance(&l->arrivals);
    }
    l->turn = l->turn + 1 < l->o.connections ? l->turn + 1 : 0;
    return flush(l, c);
}

double load_lag(struct load *l)
{
    double mean = l->lag.count > 0 ? l->lag.sum / (double)l->lag.count : 0;

    l->lag.sum = 0;
    l->lag.count = 0;
    return mean;
}

static bool start(struct load *l)
{
    l->asking = true;
    if (!is_open(l))
        return fill(l);
    arrivals_start(&l->arrivals, processor_clock_ns());
    return true;
}

bool load_run(struct load *l, uint64_t ns, struct histogram *record)
{
    uint64_t end = processor_clock_ns() + ns;

    l->record = record;
    if (!l->asking && !start(l))
        return false;
    while (l->now < end)
        if ((is_open(l) && !ask_due(l)) || !turn(l))
            return false;
    l->record = NULL;
    return true;
}

bool load_drain(struct load *l)
{
    uint64_t end = processor_clock_ns() + DRAIN_NS;

    l->asking = false;
    while (l->in_flight > 0) {
        if (!turn(l))
            return false;
        if (l->now > end) {
            fprintf(stderr, "driver: %llu tasks are not answered\n",
                    (unsigned long long)l->in_flight);
            return false;
        }
    }
    return true;
}

/* ---- opening ---- */

static bool greet(struct load *l, struct connection *c)
{
    const struct protocol *p = l->o.protocol;

    c->skip = p->greeting;
    if (!p->hello)
        return true;
    outgoing_wrote(&l->out, p->hello(&l->o.shape, c->index, outgoing_at(&l->out)));
    if (p->hello_payload) {
        outgoing_add(&l->out, l->payload, l->o.shape.payload);
        outgoing_add(&l->out, "\r\n", 2);
    }
    return outgoing_flush(&l->out, c->fd);
}

static bool open_connection(struct load *l, uint32_t index)
{
    struct connection *c = &l->connections[index];

    *c = (struct connection){.fd = socket_connect(l->o.port),
                             .index = index,
                             .began = l->began + (size_t)index * l->o.depth};
    return c->fd >= 0 && (!l->tls || connection_begin_tls(c, l->tls)) && greet(l, c) &&
           socket_unblock(c->fd) == 0 && watch(l, EPOLL_CTL_ADD, c, EPOLLIN);
}

static bool open_all(struct load *l)
{
    for (uint32_t i = 0; i < l->o.connections; i++)
        if (!open_connection(l, i)) {
            fprintf(stderr, "driver: connection %u to port %u: %m\n", i, l->o.port);
            return false;
        }
    return true;
}

static struct load *load_new(const struct load_options *options)
{
    struct load *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->o = *options;
    l->asked = processor_clock_ns();
    arrivals_init(&l->arrivals, options->rate);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->payload = malloc(options->shape.payload);
    l->in = malloc(READ_MAX);
    l->connections = calloc(options->connections, sizeof *l->connections);
    l->began = calloc((size_t)options->connections * options->depth, sizeof *l->began);
    l->tls = options->tls ? tls_context_new(false) : NULL;
    if (!outgoing_init(&l->out) || (options->tls && !l->tls) || l->epoll < 0 || !l->payload ||
        !l->in || !l->connections || !l->began) {
        perror("driver");
        load_close(l);
        return NULL;
    }
    memset(l->payload, 'x', options->shape.payload);
    for (uint32_t i = 0; i < options->connections; i++)
        l->connections[i].fd = -1;
    return l;
}

struct load *load_open(const struct load_options *options)
{
    struct load *l = load_new(options);

    if (!l || open_all(l))
        return l;
    load_close(l);
    return NULL;
}

void load_close(struct load *l)
{
    for (uint32_t i = 0; l->connections && i < l->o.connections; i++)
        connection_fini(&l->connections[i]);
    tls_context_free(l->tls);
    if (l->epoll >= 0)
        close(l->epoll);
    outgoing_fini(&l->out);
    free(l->connections);
    free(l->began);
    free(l->payload);
    free(l->in);
    free(l);
}
