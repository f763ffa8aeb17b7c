#include "sim/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "server/net/net.h"
#include "sim/chance.h"
#include "sim/link.h"
#include "sim/memory.h"
#include "sim/node.h"
#include "sim/trace.h"

enum { WINDOW = 1 << 16, SILENT_MS = 20000 };

static bool cuts[SIM_OWNERS][SIM_OWNERS]; /* from, to */
static bool no_power[SIM_OWNERS];
static uint64_t longest = SIM_MS(1);
static struct sim_fiber *courier;

/* --- The network --- */

bool sim_peers_pass(const struct sim_link *l, enum sim_way way)
{
    return !(way == SIM_TO_SERVER ? cuts[l->from][l->to] : cuts[l->to][l->from]);
}

void sim_link_put(struct sim_link *l, struct sim_queue *q, const void *bytes, size_t len)
{
    if (l->from && q->from == q->to)
        q->due = sim_now() + l->delay;
    sim_queue_put(q, bytes, len);
}

static void wake_both(struct sim_link *l)
{
    sim_link_tell_server(l);
    sim_peer_wake(l);
}

static void wake_all(void)
{
    for (int n = 0; n < sim_link_count; n++)
        if (sim_links[n]->from)
            wake_both(sim_links[n]);
}

void sim_peers_shape(uint64_t delay)
{
    longest = delay;
}

void sim_peers_cut(enum sim_owner from, enum sim_owner to, bool on)
{
    cuts[from][to] = on;
    wake_all();
}

void sim_peers_whole(void)
{
    memset(cuts, 0, sizeof cuts);
    wake_all();
}

void sim_peers_power(enum sim_owner node)
{
    no_power[node] = true;
}

static void lose(struct sim_link *l)
{
    l->was_reset = l->client_left = l->news = l->server_done = true;
    l->stopped = 0;
    l->lost_at = 0;
    wake_both(l);
}

void sim_peers_reset(uint64_t chance)
{
    int count = 0;
    for (int n = 0; n < sim_link_count; n++)
        count += sim_links[n]->peer && sim_links[n]->stream;
    for (int n = 0, at = count > 0 ? (int)(chance % (uint64_t)count) : -1; at >= 0; n++)
        if (sim_links[n]->peer && sim_links[n]->stream && at-- == 0)
            lose(sim_links[n]);
}

/* One that is bound to be lost says so after a while: the machine at the other end has no power. */
static void go_silent(struct sim_link *l)
{
    l->stopped = SIM_TO_SERVER | SIM_TO_CLIENT;
    l->lost_at = sim_now() + SIM_MS(1000) + sim_below(SIM_NET, SIM_MS(SILENT_MS));
    sim_wake(courier);
}

void sim_peers_died(enum sim_owner node)
{
    for (int n = 0; n < sim_link_count; n++) {
        struct sim_link *l = sim_links[n];
        if (!l->from || (l->from != node && l->to != node))
            continue;
        if (l->from == node) {
            l->peer = NULL;
            l->meet_at = 0;
            l->client_left = l->news = l->breaks = true;
        }
        if (no_power[node] && (l->peer || l->stream))
            go_silent(l);
        wake_both(l);
    }
    no_power[node] = false;
}

/* --- The end of the node that connected --- */

static struct sim_link *of(const struct stream *s)
{
    return s->state;
}

void sim_peer_wake(struct sim_link *l)
{
    if (l->peer)
        l->peer_poller->table.wake(&l->peer_poller->table);
}

static size_t room(const struct sim_link *l)
{
    size_t there = l->to_server.to - l->to_server.from;
    return there < WINDOW ? WINDOW - there : 0;
}

static bool has_ended(const struct sim_link *l)
{
    return l->server_done && sim_link_passes(l, SIM_TO_CLIENT);
}

static unsigned ready(const struct sim_link *l)
{
    unsigned what = 0;
    if (l->refused || l->was_reset)
        return STREAM_READ | STREAM_WRITE;
    if (!l->established)
        return 0;
    if (has_ended(l) || (sim_link_passes(l, SIM_TO_CLIENT) && sim_queue_waiting(&l->to_client) > 0))
        what |= STREAM_READ;
    return what | (room(l) > 0 ? STREAM_WRITE : 0);
}

bool sim_peers_report(struct sim_poller *p)
{
    bool any = false;
    struct sim_link *l;
    LIST_FOREACH(l, &p->peers, peer_link)
    {
        unsigned what = ready(l) & l->peer->watched;
        if (what)
            l->peer->watch.watcher->on_event(&l->peer->watch, what);
        any |= what != 0;
    }
    return any;
}

uint64_t sim_peers_due(const struct sim_poller *p)
{
    uint64_t due = SIM_NEVER;
    const struct sim_link *l;
    LIST_FOREACH(l, &p->peers, peer_link)
    if (l->to_client.due > sim_now() && l->to_client.due < due)
        due = l->to_client.due;
    return due;
}

static ssize_t peer_read(struct stream *s, uint8_t *buf, size_t size)
{
    struct sim_link *l = of(s);
    size_t there = sim_queue_waiting(&l->to_client);
    if (l->was_reset)
        return STREAM_ERROR;
    if (!sim_link_passes(l, SIM_TO_CLIENT))
        return STREAM_WANT_READ;
    if (l->to_client.from == l->to_client.to)
        return l->server_done ? STREAM_EOF : STREAM_WANT_READ;
    if (there == 0)
        return STREAM_WANT_READ;
    size = sim_queue_take(&l->to_client, buf, sim_piece(there < size ? there : size));
    sim_link_tell_server(l);
    return (ssize_t)size;
}

static ssize_t peer_writev(struct stream *s, const struct iovec *parts, int count)
{
    struct sim_link *l = of(s);
    size_t sent = 0;
    if (l->was_reset || has_ended(l))
        return STREAM_ERROR;
    for (int n = 0; n < count; n++) {
        size_t most = parts[n].iov_len < room(l) ? parts[n].iov_len : room(l);
        if (parts[n].iov_len == 0)
            continue;
        if (most == 0)
            break;
        size_t len = sim_piece(most);
        sim_link_put(l, &l->to_server, parts[n].iov_base, len);
        sim_hash_bytes(span_of(parts[n].iov_base, len));
        sent += len;
        if (len < parts[n].iov_len)
            break;
    }
    sim_link_tell_server(l);
    return sent > 0 || count == 0 ? (ssize_t)sent : STREAM_WANT_WRITE;
}

static bool peer_watch(struct stream *s, unsigned what)
{
    s->watched = (uint8_t)what;
    return true;
}

static bool peer_left(const struct stream *s, unsigned period)
{
    (void)period;
    return has_ended(of(s));
}

static void peer_shut(struct stream *s)
{
    of(s)->client_left = of(s)->news = true;
    sim_link_tell_server(of(s));
}

void sim_peer_close(struct sim_link *l)
{
    l->peer = NULL;
    l->meet_at = 0;
    l->client_left = l->news = true;
    sim_link_tell_server(l);
}

static void peer_close(struct stream *s)
{
    struct sim_link *l = of(s);
    LIST_REMOVE(l, peer_link);
    s->fd = -1;
    s->watched = 0;
    sim_peer_close(l);
}

static void peer_explain(const struct stream *s, char *buf, size_t size)
{
    (void)s;
    snprintf(buf, size, "the connection was reset");
}

void sim_peer_open(struct stream *s, int fd, const struct poller_watcher *watcher)
{
    static const struct stream_class simulated = {.name = "simulated",
                                                  .read = peer_read,
                                                  .writev = peer_writev,
                                                  .watch = peer_watch,
                                                  .left = peer_left,
                                                  .shut = peer_shut,
                                                  .close = peer_close,
                                                  .explain = peer_explain};
    struct sim_link *l = sim_links[fd - SIM_PEER_BASE];
    s->cls = &simulated;
    s->state = l;
    s->fd = fd;
    s->error = 0;
    s->watched = 0;
    s->backlog = 0;
    s->more = false;
    s->watch.watcher = watcher;
    l->peer = s;
    l->peer_poller = ao_of(watcher->poller, struct sim_poller, table);
    LIST_INSERT_HEAD(&l->peer_poller->peers, l, peer_link);
}

/* --- Connections begin --- */

/* As an owner of the server's process: other processes of this user may speak for nodes. */
static void establish(struct sim_link *l)
{
    struct net_origin from = {.is_user = true};
    struct acceptor *acceptor;
    uint32_t listener;
    l->meet_at = 0;
    if (cuts[l->from][l->to] || cuts[l->to][l->from])
        return; /* the dialler gives up, some time */
    if (!sim_nth_listens((uint32_t)l->to - SIM_NODE, &acceptor, &listener)) {
        l->refused = ECONNREFUSED;
    } else {
        sim_memory_for(l->to);
        require(net_adopt(acceptor, listener, l->fd, &from) == 0, "no memory for a connection");
        l->established = true;
    }
    sim_peer_wake(l);
}

static uint64_t deliver(void)
{
    uint64_t next = SIM_NEVER;
    for (int n = 0; n < sim_link_count; n++) {
        struct sim_link *l = sim_links[n];
        if (l->meet_at > 0 && l->meet_at <= sim_now())
            establish(l);
        if (l->lost_at > 0 && l->lost_at <= sim_now())
            lose(l);
        if (l->meet_at > 0 && l->meet_at < next)
            next = l->meet_at;
        if (l->lost_at > 0 && l->lost_at < next)
            next = l->lost_at;
    }
    return next;
}

static void run_courier(void *arg)
{
    (void)arg;
    for (;;)
        sim_sleep(deliver());
}

/* --- The system's calls --- */

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __real_connect(int fd, const struct sockaddr *at, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *at, socklen_t size);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int __real_socketpair(int domain, int type, int protocol, int *fds);
int __wrap_socketpair(int domain, int type, int protocol, int *fds);

static bool is_on_node(void)
{
    return sim_self() && sim_self_owner() >= SIM_NODE;
}

static int peer_fd(const struct sim_link *l)
{
    return l->fd - SIM_FD_BASE + SIM_PEER_BASE;
}

int __wrap_socket(int domain, int type, int protocol)
{
    if (!is_on_node())
        return __real_socket(domain, type, protocol);
    if (!courier)
        courier = sim_spawn(SIM_WORLD, "courier", run_courier, NULL);
    struct sim_link *l = sim_link_new(sim_self_owner(), SIM_WORLD);
    l->window = WINDOW;
    l->delay = 1 + sim_below(SIM_NET, longest);
    return peer_fd(l);
}

int __wrap_connect(int fd, const struct sockaddr *at, socklen_t size)
{
    if (fd < SIM_PEER_BASE)
        return __real_connect(fd, at, size);
    const struct sockaddr_un *path = (const struct sockaddr_un *)at;
    struct sim_link *l = sim_links[fd - SIM_PEER_BASE];
    unsigned node;
    if (at->sa_family != AF_UNIX || sscanf(path->sun_path, SIM_PEER_PATH "%u", &node) != 1)
        sim_finding("a node dials what is no node");
    l->to = SIM_NODE + node;
    l->meet_at = sim_now() + 2 * l->delay;
    sim_wake(courier);
    errno = EINPROGRESS;
    return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    if (fd < SIM_PEER_BASE)
        return __real_getsockopt(fd, level, name, value, size);
    *(int *)value = sim_links[fd - SIM_PEER_BASE]->refused;
    return 0;
}

/* Within a node, so without a delay. */
int __wrap_socketpair(int domain, int type, int protocol, int *fds)
{
    if (!is_on_node())
        return __real_socketpair(domain, type, protocol, fds);
    struct sim_link *l = sim_link_new(sim_self_owner(), sim_self_owner());
    l->window = WINDOW;
    l->established = true;
    fds[0] = peer_fd(l);
    fds[1] = l->fd;
    return 0;
}
