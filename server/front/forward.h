/* A front passes requests about tasks on to the owner, and the owner's answers back to the client.
 *
 * The first request of a connection that the owner has to answer opens a session (outgoing.h).  It
 * begins with cluster.session, which names the client; from then on messages pass both ways
 * unchanged, with the ids that the client chose.
 *
 * The loop keeps a few sessions connected, so that a new client waits for no TLS handshake.  It
 * begins with that once the owner has accepted a first client.
 *
 *   no owner            requests wait, for `patience` or their own deadline, then get BUSY
 *   owner out of reach  likewise; one client of the loop at a time tries to connect
 *   owner lost          requests that may be sent twice go to the next owner; others get UNSURE; a
 *                       connection with a hold, a worker or a watch at the lost owner is closed
 *
 * Requests and their output are charged to the client.  The front reads a session only while its
 * client has room for answers.
 *
 * The owner's side is vouch.h.
 *
 * Thread: the loop's, but for the set-up. */
#ifndef ERGON_FRONT_FORWARD_H
#define ERGON_FRONT_FORWARD_H

#include "server/front/owner_place.h"
#include "server/rpc/rpc.h"

struct forward;

struct forward_options {
    struct cluster_roles roles;
    struct owner_finder *finder; /* borrowed; outlives it */
    struct rpc_loop *rpc;        /* gets `remote` and `forwarded`; outlives it */
    struct poller *poller;
    const struct net_limits *limits; /* borrowed; outlive it */
    const struct tls_files *tls;     /* cluster.cert, cluster.key, cluster.ca; cert NULL: none */
    ao_time patience;                /* ns */
    bool unix_users; /* cluster.unix: requests of principals of Unix sockets are passed on */
    /* How many sessions of the loop are kept connected for clients that have none yet. */
    uint32_t stock;
    /* For tests: outgoing_loop.open, and the id of the first cluster.session; NULL, 0: by chance.
     */
    bool (*open)(struct outgoing *s);
    uint64_t first_identity;
};

/* NULL with a text: a TLS file cannot be used, or there is no memory.  Set-up, before the loop
 * runs. */
struct forward *forward_new(const struct forward_options *options, char *error, size_t size);
/* Reads the TLS files again, for sessions that begin from now on.  False with a text: the old ones
 * stay.  Any thread, one call at a time. */
bool forward_reload(struct forward *f, char *error, size_t size);
/* The server drains (struct rpc_shared): requests that only read and wait are answered DRAINING, as
 * the owner answers its own.  Any thread. */
void forward_drain(struct forward *f);
/* After the loop's connections are freed; NULL is fine. */
void forward_free(struct forward *f);

#endif
