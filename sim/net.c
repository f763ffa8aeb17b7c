#include "sim/net.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ergon/poller.h>

#include "base/check.h"
#include "server/net/net.h"
#include "sim/chance.h"
#include "sim/disk.h"
#include "sim/link.h"
#include "sim/memory.h"
#include "sim/points.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum { LOOKS_MAX = 64, SPIN_NS = 20000, LOOKS_FEW = 8, DOUBLED = 3 };

/* The process ends with the run: none is freed. */
struct sim_link *sim_links[SIM_LINKS_MAX];
int sim_link_count;
static unsigned all_stopped; /* of links that come, too */
static bool spins_rarely;

static bool passes(const struct sim_link *l, enum sim_way way)
{
    return !((l->stopped | all_stopped) & way) && (!l->from || sim_peers_pass(l, way));
}

bool sim_link_passes(const struct sim_link *l, enum sim_way way)
{
    return passes(l, way);
}

static size_t queued(const struct sim_queue *q)
{
    return q->to - q->from;
}

/* Bytes that have arrived. */
static size_t waiting(const struct sim_queue *q)
{
    return q->due <= sim_now() ? queued(q) : 0;
}

size_t sim_queue_waiting(const struct sim_queue *q)
{
    return waiting(q);
}

void sim_queue_put(struct sim_queue *q, const void *bytes, size_t len)
{
    if (q->to + len > q->room) {
        q->room = (q->to + len) * 2;
        q->at = realloc(q->at, q->room);
        require(q->at != NULL, "no memory for bytes on their way");
    }
    memcpy(q->at + q->to, bytes, len);
    q->to += len;
}

size_t sim_queue_take(struct sim_queue *q, void *out, size_t len)
{
    memcpy(out, q->at + q->from, len);
    q->from += len;
    if (q->from == q->to)
        q->from = q->to = 0;
    return len;
}

/* Of so many bytes that could go at once, those that do. */
size_t sim_piece(size_t most)
{
    return sim_one_in(SIM_NET, 3) ? 1 + sim_below(SIM_NET, most) : most;
}

/* --- The poller, of loops and of whoever waits for a wake alone --- */

struct poller *__wrap_poller_libevent_new(void);
void __wrap_poller_libevent_free(struct poller *poller);
struct poller *__wrap_poller_eventfd_new(void);
void __wrap_poller_eventfd_free(struct poller *poller);

static unsigned ready(const struct sim_link *l)
{
    unsigned what = 0;
    bool hears = passes(l, SIM_TO_SERVER);
    if (hears && (waiting(&l->to_server) > 0 || l->client_left))
        what |= STREAM_READ;
    if (queued(&l->to_client) < l->window || (hears && l->client_left))
        what |= STREAM_WRITE;
    return what | (hears && l->news ? STREAM_CLOSED : 0);
}

/* The callbacks activate objects, and close nothing. */
static bool report(struct sim_poller *p)
{
    bool any = false;
    struct sim_link *l;
    LIST_FOREACH(l, &p->links, link)
    {
        unsigned what = ready(l) & l->stream->watched;
        if (what & STREAM_CLOSED)
            l->news = false;
        if (what)
            l->stream->watch.watcher->on_event(&l->stream->watch, what);
        any |= what != 0;
    }
    return sim_peers_report(p) || any;
}

/* When bytes of another node arrive next; SIM_NEVER: none are under way. */
static uint64_t next_due(const struct sim_poller *p)
{
    uint64_t due = sim_peers_due(p);
    const struct sim_link *l;
    LIST_FOREACH(l, &p->links, link)
    if (l->to_server.due > sim_now() && l->to_server.due < due)
        due = l->to_server.due;
    return due;
}

/* Time passes for one that looks again and again, up to what comes next. */
static void look_later(struct sim_poller *p)
{
    uint32_t times = p->in_vain - LOOKS_FEW;
    uint64_t until = sim_now() + ((uint64_t)SPIN_NS << (times < DOUBLED ? times : DOUBLED));
    if (next_due(p) < until)
        until = next_due(p);
    if (!p->woken)
        sim_wait_for(p, until);
    p->woken = false;
    report(p);
}

static void poller_poll(struct poller *self, ao_time timeout)
{
    struct sim_poller *p = ao_of(self, struct sim_poller, table);
    uint64_t now = sim_now(), until = timeout < SIM_NEVER - now ? now + timeout : SIM_NEVER;
    sim_point("poll");
    p->looks = now == p->looked_at ? p->looks + 1 : 0;
    p->looked_at = now;
    if (p->looks > LOOKS_MAX) /* it waits for time to pass, without sleeping */
        sim_sleep_for(SPIN_NS);
    bool found = report(p);
    p->in_vain = found || timeout > 0 ? 0 : p->in_vain + 1;
    if (spins_rarely && p->in_vain > LOOKS_FEW)
        look_later(p);
    if (found || timeout == 0)
        return;
    if (next_due(p) < until)
        until = next_due(p);
    if (!p->woken)
        sim_wait_for(p, until);
    p->woken = false;
    report(p);
}

static void poller_wake(struct poller *self)
{
    struct sim_poller *p = ao_of(self, struct sim_poller, table);
    p->woken = true;
    sim_wake_all(p);
}

struct poller *__wrap_poller_libevent_new(void)
{
    struct sim_poller *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->table = (struct poller){.poll = poller_poll, .wake = poller_wake};
    return &p->table;
}

void __wrap_poller_libevent_free(struct poller *poller)
{
    free(poller);
}

struct poller *__wrap_poller_eventfd_new(void)
{
    return __wrap_poller_libevent_new();
}

void __wrap_poller_eventfd_free(struct poller *poller)
{
    free(poller);
}

void sim_net_spin_rarely(void)
{
    spins_rarely = true;
}

/* --- The server's end --- */

void __wrap_stream_plain_open(struct stream *s, int fd, const struct poller_watcher *watcher);
int __wrap_close(int fd);
int __real_close(int fd);

static struct sim_link *of(const struct stream *s)
{
    return s->state;
}

static void server_ends(struct sim_link *l)
{
    if (!l->server_done)
        l->ended_at = sim_now();
    l->server_done = true;
    sim_peer_wake(l);
    sim_wake_all(l);
}

static ssize_t stream_read(struct stream *s, uint8_t *buf, size_t size)
{
    struct sim_link *l = of(s);
    size_t there = waiting(&l->to_server);
    if (l->was_reset)
        return STREAM_ERROR;
    if (!passes(l, SIM_TO_SERVER))
        return STREAM_WANT_READ;
    if (there == 0)
        return l->client_left ? STREAM_EOF : STREAM_WANT_READ;
    size = sim_queue_take(&l->to_server, buf, sim_piece(there < size ? there : size));
    sim_peer_wake(l); /* there is room */
    return (ssize_t)size;
}

static void note_write(struct sim_link *l, size_t len)
{
    if (l->write_count == l->write_room) {
        l->write_room = l->write_room * 2 + 16;
        l->writes = realloc(l->writes, l->write_room * sizeof *l->writes);
        require(l->writes != NULL, "no memory for times of bytes");
    }
    uint64_t from = l->write_count > 0 ? l->writes[l->write_count - 1].end : 0;
    l->writes[l->write_count].end = from + len;
    l->writes[l->write_count].held = l->held;
    l->writes[l->write_count++].at = sim_now();
}

static size_t write_part(struct sim_link *l, const struct iovec *part, size_t room)
{
    size_t len = sim_piece(part->iov_len < room ? part->iov_len : room);
    if (l->client_left || sim_disk_is_cut())
        return len; /* the node has no power, and does not know it yet */
    sim_link_put(l, &l->to_client, part->iov_base, len);
    note_write(l, len);
    sim_hash_bytes(span_of(part->iov_base, len));
    return len;
}

static ssize_t stream_writev(struct stream *s, const struct iovec *parts, int count)
{
    struct sim_link *l = of(s);
    size_t sent = 0, offered = 0;
    if (l->was_reset || (l->client_left && l->breaks && passes(l, SIM_TO_SERVER)))
        return STREAM_ERROR;
    for (int n = 0; n < count; n++)
        offered += parts[n].iov_len;
    for (int n = 0; n < count; n++) {
        size_t room = l->client_left ? SIZE_MAX : l->window - queued(&l->to_client);
        if (parts[n].iov_len == 0)
            continue;
        if (room == 0)
            break;
        size_t len = write_part(l, &parts[n], room);
        sent += len;
        if (len < parts[n].iov_len)
            break;
    }
    l->held = sent < offered;
    sim_peer_wake(l);
    sim_wake_all(l);
    return sent > 0 || count == 0 ? (ssize_t)sent : STREAM_WANT_WRITE;
}

static bool stream_watch(struct stream *s, unsigned what)
{
    s->watched = (uint8_t)what;
    return true;
}

static bool stream_left(const struct stream *s, unsigned period)
{
    (void)period;
    return of(s)->client_left && passes(of(s), SIM_TO_SERVER);
}

static void stream_shut(struct stream *s)
{
    server_ends(of(s));
}

static void stream_close(struct stream *s)
{
    struct sim_link *l = of(s);
    LIST_REMOVE(l, link);
    l->stream = NULL;
    s->fd = -1;
    s->watched = 0;
    server_ends(l);
}

static void stream_explain(const struct stream *s, char *buf, size_t size)
{
    (void)s;
    snprintf(buf, size, "the simulation has no errors of sockets");
}

void __wrap_stream_plain_open(struct stream *s, int fd, const struct poller_watcher *watcher)
{
    static const struct stream_class simulated = {.name = "simulated",
                                                  .read = stream_read,
                                                  .writev = stream_writev,
                                                  .watch = stream_watch,
                                                  .left = stream_left,
                                                  .shut = stream_shut,
                                                  .close = stream_close,
                                                  .explain = stream_explain};
    if (fd >= SIM_PEER_BASE) {
        sim_peer_open(s, fd, watcher);
        return;
    }
    struct sim_link *l = sim_links[fd - SIM_FD_BASE];
    s->cls = &simulated;
    s->state = l;
    s->fd = fd;
    s->error = 0;
    s->watched = 0;
    s->backlog = 0;
    s->more = false;
    l->stream = s;
    s->watch.watcher = watcher;
    l->poller = ao_of(watcher->poller, struct sim_poller, table);
    LIST_INSERT_HEAD(&l->poller->links, l, link);
}

/* One that the server refuses before it opens it. */
int __wrap_close(int fd)
{
    if (fd < SIM_FD_BASE)
        return __real_close(fd);
    if (fd >= SIM_PEER_BASE) {
        sim_peer_close(sim_links[fd - SIM_PEER_BASE]);
        return 0;
    }
    server_ends(sim_links[fd - SIM_FD_BASE]);
    return 0;
}

/* --- The client's end --- */

void sim_link_tell_server(struct sim_link *l)
{
    if (l->stream)
        poller_wake(&l->poller->table);
}

struct sim_link *sim_link_new(enum sim_owner from, enum sim_owner to)
{
    struct sim_link *l = calloc(1, sizeof *l);
    require(l && sim_link_count < SIM_LINKS_MAX, "too many connections");
    sim_links[sim_link_count] = l;
    l->fd = SIM_FD_BASE + sim_link_count++;
    l->from = from;
    l->to = to;
    return l;
}

struct sim_link *sim_net_connect(enum sim_owner node, struct acceptor *acceptor, uint32_t listener)
{
    struct sim_link *l = sim_link_new(SIM_WORLD, node);
    l->window = sim_one_in(SIM_NET, 4) ? 256 + sim_below(SIM_NET, 4096) : 1 << 16;
    struct net_origin from = {0};
    struct sockaddr_in *address = (struct sockaddr_in *)&from.address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(4000)};
    address->sin_addr.s_addr = htonl(0xc0000207); /* 192.0.2.7 */
    sim_memory_for(node);
    require(net_adopt(acceptor, listener, l->fd, &from) == 0, "no memory for a connection");
    return l;
}

void sim_net_narrow(struct sim_link *l, size_t window)
{
    l->window = window;
}

void sim_net_send(struct sim_link *l, struct span bytes)
{
    while (bytes.len > 0 && !sim_net_ended(l)) {
        size_t len = sim_piece(bytes.len);
        sim_queue_put(&l->to_server, bytes.at, len);
        sim_hash_bytes(span_of(bytes.at, len));
        sim_link_tell_server(l);
        bytes = span_behind(bytes, len);
        if (bytes.len > 0)
            sim_sleep_for(1 + sim_below(SIM_NET, SIM_MS(2)));
    }
}

size_t sim_net_receive(struct sim_link *l, uint8_t *buffer, size_t size, uint64_t until)
{
    while ((waiting(&l->to_client) == 0 || !passes(l, SIM_TO_CLIENT)) && !l->server_done &&
           sim_now() < until)
        sim_wait_for(l, until);
    size_t there = passes(l, SIM_TO_CLIENT) || l->server_done ? waiting(&l->to_client) : 0;
    if (there == 0)
        return 0;
    size_t len = sim_queue_take(&l->to_client, buffer, sim_piece(there < size ? there : size));
    sim_link_tell_server(l);
    return len;
}

uint64_t sim_net_written_at(const struct sim_link *l, uint64_t byte, bool *held)
{
    uint32_t n = l->write_count;
    while (n > 0 && l->writes[n - 1].end > byte)
        n--;
    *held = l->writes[n].held;
    return l->writes[n].at;
}

bool sim_net_ended(const struct sim_link *l)
{
    return l->server_done && waiting(&l->to_client) == 0;
}

uint64_t sim_net_ended_at(const struct sim_link *l)
{
    return l->server_done ? l->ended_at : sim_now();
}

void sim_net_leave(struct sim_link *l)
{
    l->client_left = l->news = true;
    l->breaks = sim_one_in(SIM_NET, 2);
    sim_link_tell_server(l);
}

/* --- Faults --- */

static bool stands(const struct sim_link *l)
{
    return l->stream && !l->client_left && !l->server_done && !l->from;
}

void sim_net_reset_one(struct sim_link *l)
{
    sim_tell("connection %d is reset", l->fd - SIM_FD_BASE);
    l->was_reset = l->client_left = l->news = true;
    l->to_server.from = l->to_server.to = l->to_client.from = l->to_client.to = 0;
    server_ends(l);
    sim_link_tell_server(l);
}

/* `chance` selects one of the open connections; NULL: none is open. */
static struct sim_link *one_of(uint64_t chance)
{
    int count = 0;
    static struct sim_link *standing[SIM_LINKS_MAX];
    for (int n = 0; n < sim_link_count; n++)
        if (stands(sim_links[n]))
            standing[count++] = sim_links[n];
    return count > 0 ? standing[chance % (uint64_t)count] : NULL;
}

void sim_net_reset(uint64_t chance)
{
    struct sim_link *l = one_of(chance);
    if (l)
        sim_net_reset_one(l);
}

void sim_net_stop_all(unsigned ways)
{
    all_stopped = ways;
}

void sim_net_stop(unsigned ways, uint64_t chance)
{
    struct sim_link *l = one_of(chance);
    if (l)
        l->stopped = ways;
}

void sim_net_go(void)
{
    all_stopped = 0;
    for (int n = 0; n < sim_link_count; n++) {
        sim_links[n]->stopped = 0;
        sim_wake_all(sim_links[n]);
        sim_link_tell_server(sim_links[n]);
    }
}

/* Bytes that the server had sent still arrive. */
void sim_net_died(enum sim_owner node)
{
    for (int n = 0; n < sim_link_count; n++) {
        if (sim_links[n]->to != node)
            continue;
        sim_links[n]->stream = NULL;
        server_ends(sim_links[n]);
    }
    sim_peers_died(node);
}
