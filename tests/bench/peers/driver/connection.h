/* One connection of the driver. */
#ifndef ERGON_PEERS_CONNECTION_H
#define ERGON_PEERS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/peers/common/outgoing.h"

struct ssl_ctx_st;
struct ssl_st;

struct connection {
    int fd;
    struct ssl_st *tls; /* NULL: plain */
    uint32_t index;
    uint32_t next;   /* slot of the task that ends next, where tasks end in order */
    uint32_t free;   /* slot to take next, in an open loop */
    bool ends;       /* the message being skipped ends a task: that of slot `ending` */
    uint32_t ending; /* valid while `ends` */
    size_t skip;     /* bytes of a known message that are still to come */
    char *part;      /* head of a message that has not come whole; NULL: none */
    size_t part_len;
    char *rest; /* what the socket did not take; NULL: nothing */
    size_t rest_at, rest_len;
    uint64_t *began; /* of each slot, ns; 0: free */
};

void connection_fini(struct connection *c);

/* Shakes hands; the socket blocks still.  False after it has said on stderr why not. */
bool connection_begin_tls(struct connection *c, struct ssl_ctx_st *context);

/* Reads what is there, as recv() does.  With TLS, all that the reading of one record has brought.
 */
ssize_t connection_receive(struct connection *c, char *to, size_t size);

/* Writes what is gathered and clears it.  *blocked: the socket takes no more; connection_resume()
 * goes on when it does.  False with errno: broken. */
bool connection_send(struct connection *c, struct outgoing *out, bool *blocked);
bool connection_resume(struct connection *c, bool *blocked);

/* Puts the kept head in front of `in`; its length. */
size_t connection_take_part(struct connection *c, char *in);
bool connection_keep_part(struct connection *c, const char *at, size_t n);

#endif
