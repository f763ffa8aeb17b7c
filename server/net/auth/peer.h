/* Addresses of peers, as text and as keys to count by; users at the other end of a socket.  Any
 * thread.  Pure, but for what asks the system. */
#ifndef ERGON_NET_PEER_H
#define ERGON_NET_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PEER_TEXT_MAX = 64 };

/* "127.0.0.1:4711", "[::1]:4711"; a v4 address mapped to v6 reads as v4; a Unix socket's reads
 * "unix". */
void peer_text(const struct sockaddr_storage *address, char *buf, size_t size);

/* The key that connections are counted by.  It is a v4 address, or the first 64 bits of a v6
 * address, since one host usually has all of those.  For a Unix socket it is the user
 * (peer_key_of_user()); peers without a known user share one key.  No two of different kinds are
 * equal: a v6 address that is as a v4 one begins with ff, and so is no sender's. */
uint64_t peer_key(const struct sockaddr_storage *address);
uint64_t peer_key_of_user(uint32_t uid);
bool peer_key_is_address(uint64_t key); /* and no user's */
bool peer_key_is_remote(uint64_t key);  /* an address, and none of loopback */
/* Is it that of root or of the server's own user, which can read and replace all of the server
 * anyway?  Not of user 65534, even if the server runs as it: the kernel reports this number for
 * every user of another user namespace. */
bool peer_key_is_own(uint64_t key);

/* The text that peer_text() wrote, without the port: it names the origin of connections.  A v6
 * address is shown by its first 64 bits, "2001:db8::/64", as it is counted. */
void peer_network(const char *text, char *buf, size_t size);

/* The user at the other end of a Unix socket, from the system.  False when it does not say. */
bool peer_uid(int fd, uint32_t *uid);

#endif
