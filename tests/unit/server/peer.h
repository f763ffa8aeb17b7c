/* A client of a few lines: a blocking socket on this machine. */
#ifndef ERGON_TESTS_UNIT_SERVER_PEER_H
#define ERGON_TESTS_UNIT_SERVER_PEER_H

#include "base/span.h"

enum { PEER_READ_MAX = 65536 };

struct peer {
    int fd;
    uint8_t next_id; /* at most 127 requests */
    uint8_t in[PEER_READ_MAX];
    size_t have;
};

void peer_open(struct peer *p, const char *url); /* ergon:// or unix:// */
void peer_close(struct peer *p);

/* A request; `params` is raw MessagePack. */
void peer_send(struct peer *p, const char *method, struct span params);

/* Waits until `count` whole responses are there in all, or for the end of the stream; then how many
 * there are. */
uint32_t peer_receive(struct peer *p, uint32_t count);
uint32_t peer_receive_all(struct peer *p); /* waits for the end of the stream */

#endif
