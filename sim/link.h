/* The inside of a connection, for net.c, which has the server's end, and peers.c, which has the end
 * of another node. */
#ifndef ERGON_SIM_LINK_H
#define ERGON_SIM_LINK_H

#include <sys/queue.h>

#include <ergon/poller.h>

#include "server/net/stream/stream.h"
#include "sim/net.h"

/* No descriptor of the system's is so large. */
enum { SIM_FD_BASE = 1 << 20, SIM_PEER_BASE = 1 << 21, SIM_LINKS_MAX = 1 << 20 };

struct sim_queue {
    uint8_t *at;
    size_t from, to, room;
    uint64_t due; /* when they arrive; between nodes alone */
};

struct sim_poller {
    struct poller table; /* first member */
    bool woken;
    uint64_t looked_at; /* last */
    uint32_t looks;     /* since the clock stands at that time */
    uint32_t in_vain;   /* looks without a wait, one behind the other, that found nothing */
    LIST_HEAD(, sim_link) links;
    LIST_HEAD(, sim_link) peers;
};

struct sim_link {
    LIST_ENTRY(sim_link) link; /* of its poller, while `stream` is open */
    struct sim_poller *poller;
    struct stream *stream; /* NULL: not opened yet, or closed by the server */
    int fd;
    struct sim_queue to_server, to_client;
    size_t window;
    struct { /* when the server wrote: at `at` all bytes before the number `end` */
        uint64_t end, at;
        bool held;
    } * writes;
    bool held; /* the server has not got rid of all bytes */
    uint32_t write_count, write_room;
    uint64_t ended_at; /* of `server_done` */
    unsigned stopped;  /* enum sim_way: nothing passes so */
    bool was_reset;
    bool breaks;                   /* once the client has left, writes fail; else they vanish */
    bool client_left, server_done; /* sends no more */
    bool news;                     /* for STREAM_CLOSED: the client has left since */
    enum sim_owner from, to;       /* from: SIM_WORLD: the client is none of the server's nodes */

    /* --- Between nodes (peers.c) --- */
    struct stream *peer; /* of the node that connected; NULL: not opened, or closed */
    struct sim_poller *peer_poller;
    LIST_ENTRY(sim_link) peer_link;
    uint64_t delay;   /* ns that bytes are on their way */
    uint64_t meet_at; /* when it is to be established; 0: it is, or never will be */
    uint64_t lost_at; /* when its ends hear that it is lost; 0: it is not */
    bool established;
    int refused; /* errno of the connect */
};

extern struct sim_link *sim_links[SIM_LINKS_MAX];
extern int sim_link_count;

struct sim_link *sim_link_new(enum sim_owner from, enum sim_owner to);
void sim_link_put(struct sim_link *l, struct sim_queue *q, const void *bytes, size_t len);
bool sim_link_passes(const struct sim_link *l, enum sim_way way);
void sim_link_tell_server(struct sim_link *l);

size_t sim_queue_waiting(const struct sim_queue *q); /* bytes that have arrived */
void sim_queue_put(struct sim_queue *q, const void *bytes, size_t len);
size_t sim_queue_take(struct sim_queue *q, void *out, size_t len);
size_t sim_piece(size_t most); /* of so many bytes that could go at once, those that do */

/* --- peers.c --- */

bool sim_peers_pass(const struct sim_link *l, enum sim_way way);
bool sim_peers_report(struct sim_poller *p);
uint64_t sim_peers_due(const struct sim_poller *p); /* when bytes arrive next */
void sim_peer_wake(struct sim_link *l);
void sim_peer_open(struct stream *s, int fd, const struct poller_watcher *watcher);
void sim_peer_close(struct sim_link *l);
void sim_peers_died(enum sim_owner node);

#endif
