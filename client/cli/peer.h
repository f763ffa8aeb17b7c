/* One connection of a load run: opened blocking, then driven without blocking.  It has a fixed
 * number of slots, and a slot one request in flight; the slot's index is the message id. */
#ifndef ERGON_CLI_PEER_H
#define ERGON_CLI_PEER_H

#include "client/cli/status.h"
#include "client/lib/buffer.h"
#include "client/lib/stream.h"
#include "client/lib/tls.h"
#include "client/lib/url.h"
#include "proto/scanner.h"

struct peer {
    struct stream stream;   /* open while ops is set */
    struct buffer in;       /* the start of a message whose rest has not come */
    struct buffer out;      /* what the socket did not take */
    struct scanner scanner; /* of the value at the start of `in` */
    uint64_t *sent_ns;      /* in the load's block; by slot; 0: the slot is free */
    uint32_t in_flight;
    bool waits_to_write; /* asked of epoll */
};

struct peer_target {
    const struct url *url;
    struct tls *tls;         /* NULL for plain */
    const char *server_name; /* for TLS */
    const char *token;       /* NULL: none */
    int timeout_ms;
};

/* Connects, does the handshake, and authenticates; `p` must not move afterwards.  STATUS_OK, or
 * STATUS_CONNECT or STATUS_AUTH with `why`, and nothing is open. */
enum status peer_open(struct peer *p, const struct peer_target *t, char *why, size_t why_size);
void peer_close(struct peer *p); /* idempotent */

#endif
