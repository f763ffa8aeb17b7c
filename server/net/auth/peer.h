/* Addresses of peers: as text, and as keys to count by.  Pure but for the calls on an fd. */
#ifndef ERGON_NET_PEER_H
#define ERGON_NET_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PEER_TEXT_MAX = 64 };

/* "127.0.0.1:4711", "[::1]:4711"; a v4 address in v6 clothes as v4; "unix" without more.  */
void peer_text(const struct sockaddr_storage *address, char *buf, size_t size);

/* What connections are counted by: a v4 address, or the first 64 bits of a v6 address, since
 * whoever has one of those has them all.  False for a Unix socket. */
bool peer_key(const struct sockaddr_storage *address, uint64_t *key);

/* The user at the other end of a Unix socket.  False when the system does not say. */
bool peer_uid(int fd, uint32_t *uid);
/* The user's name, or the number in digits when it has none. */
void peer_user_name(uint32_t uid, char *buf, size_t size);

#endif
