/* The admin listener: health, metrics, the page and the JSON gateway behind it, by HTTP.
 *
 * It has a thread of its own, with an event base of its own: evhttp and its bufferevents run there,
 * and nothing of HTTP on a serving loop.  What it asks of the server it asks as a client, by
 * connections that the acceptor adopts (gateway.h), so rights, limits and audit are those of any
 * client.  It may live before the rest of the server does (/readyz tells that it starts), and ends
 * before the loops do.
 *
 *   admin.c        its life, and its thread
 *   web.c          a request: its checks, and the handler that answers it
 *   connections.c  the connections of HTTP, and their bounds
 *   evhttp_errors.c  what evhttp refuses by itself
 *   http_reply.c   answers: headers, texts, JSON, errors
 *   accept.c       what a client takes;  gzip.c  text made smaller
 *   framing.c      is it beyond doubt where a request ends?
 *   host_check.c   is a request for us, and from our page?
 *   files.c        the embedded page
 *   monitoring.c   /healthz, /readyz, /metrics, /debug/topology
 *   session.c      the table of sessions;  api.c  what a session may ask;  live.c  what is pushed
 *   gateway.c      a connection to the server, as one principal
 *
 * Thread: main. */
#ifndef ERGON_ADMIN_ADMIN_H
#define ERGON_ADMIN_ADMIN_H

#include "server/net/net.h"

struct admin;
struct health;
struct rpc_shared; /* server/rpc/rpc.h */

struct admin_options {
    const struct listener_options *listeners; /* their URLs: url_parse() with URL_ADMIN */
    uint32_t count;
    const char *const *hosts; /* names that it may be called by, beside its address */
    size_t host_count;
    struct scan_limits scan; /* of a message of a client */
    ao_time call_time;       /* ns that a call has, at least 1 ms */
    ao_time request_time;    /* ns in which a request has to be whole, and something to be read */
    const struct health *health; /* borrowed until admin_free() */
};

/* Binds, listens, and starts the thread, which serves health until admin_attach().  The options'
 * strings are copied.  NULL with a text: a URL, address, socket file or certificate that cannot be
 * used, no thread, no memory. */
struct admin *admin_open(const struct admin_options *options, char *error, size_t size);

/* Before the acceptor's threads run: gives it a listener inside for each of ours.  The acceptor,
 * and what the loops share, of which the metrics tell, are borrowed until admin_close().  0, or -1
 * with a text. */
int admin_attach(struct admin *a, struct acceptor *acceptor, const struct rpc_shared *shared,
                 const struct admin_options *options, char *error, size_t size);

/* Reads the files of certificates, authorities and revocation lists again, for new connections.  If
 * authorities or lists have changed, the certificates of connected clients are verified once more:
 * a client whose certificate is no longer valid loses connection and session, within a second or
 * with its next request.  All other settings need a restart.  0, or -1 with a text: a file cannot
 * be used, and all stay as they are. */
int admin_reload(struct admin *a, char *error, size_t size);

/* Ends all sessions and connections, and joins the thread, which blocks on nothing.  Frees it; NULL
 * is fine. */
void admin_close(struct admin *a);

#endif
