/* A connection to the server as one principal: libergon over a pair of sockets, of which the
 * acceptor adopts one end.
 *
 * To the server it is a connection like any other, that came by the admin listener from where the
 * HTTP connection came from: the address, or the user of a Unix socket.  So it has the rules of
 * that listener (its `auth` and `allow`), its address is counted, and kept out after wrong tokens;
 * a reload that takes rights away closes or lowers it, and a drain ends it.  A lost one is
 * never made again: its client asks anew.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_GATEWAY_H
#define ERGON_ADMIN_GATEWAY_H

#include <jansson.h>

#include <ergon/client.h>

#include "base/list.h"
#include "server/net/net.h"

enum {
    GATEWAY_CONNECT_MS = 10 * 1000, /* to be adopted, and to authenticate */
    GATEWAY_MESSAGE_MAX = 64 << 20, /* bytes of an answer of the server */
    GATEWAY_JSON_MAX = 8 << 20      /* bytes of a result that becomes JSON */
};

struct gateway {
    struct event_base *base;
    struct acceptor *acceptor;
    struct scan_limits scan; /* of a message: beyond them the server closes the connection */
    LIST_HEAD(, gateway_peer) peers; /* those that were not closed */
};

struct gateway_peer;
struct gateway_call;

struct gateway_port {
    /* Authentication has ended.  `principal` is valid during the call; NULL: it failed, `code` and
     * `text` say why, as errors of the server do, and the peer is to be closed.  Once. */
    void (*opened)(void *arg, const char *principal, const char *code, const char *text);
    /* The server has ended the connection, after `opened` gave a principal.  Once. */
    void (*lost)(void *arg);
};

/* Begins; `port` is called with the outcome later, from the event loop.  `token` NULL: the listener
 * asks for none, or a certificate names the principal; otherwise the token alone decides the
 * principal.  NULL without memory. */
struct gateway_peer *gateway_open(struct gateway *g, uint32_t listener,
                                  const struct net_origin *from, const char *token,
                                  const struct gateway_port *port, void *arg);
/* Ends what is under way with CLOSED, before this returns.  NULL is fine, and so is a call from
 * within the port's functions. */
void gateway_close(struct gateway_peer *p);

/* Closes all peers: each that waits is answered CLOSED, by `opened` or as an answer. */
void gateway_end(struct gateway *g);

/* Of an answer: a result (a new reference), or NULL and what to tell the page. */
struct gateway_answer {
    json_t *result;
    const char *code; /* "NOT_FOUND", "TIMEOUT", "CLOSED" ...: valid during the call */
    const char *text;
};
typedef void gateway_answer_fn(void *arg, const struct gateway_answer *answer);

/* Calls a method; params is a JSON array, borrowed.  `answered` is called once, later.  The call,
 * valid until then, or NULL and *code: "MEMORY" (or the name of the method is too long),
 * "BAD_PARAMS" (the parameters cannot be packed: too deep, bad base64), or "TOO_LARGE" (in bytes or
 * depth, for the limits of a message). */
struct gateway_call *gateway_call(struct gateway_peer *p, const char *method, const json_t *params,
                                  uint32_t ms, gateway_answer_fn *answered, void *arg,
                                  const char **code);
/* Asks the server to cancel a call that nobody waits for any more; the call is answered CANCELLED
 * before this returns.  Also of a peer that was closed. */
void gateway_cancel(struct gateway_call *call);

/* For a page: bytes that are no UTF-8 are {"$bin": "base64"}. */
#define GATEWAY_BYTES "$bin"

#endif
