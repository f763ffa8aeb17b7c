/* Sockets that listen, made from a URL: those of the acceptor, and of the admin listener.
 *
 * Set-up and tear-down; one thread at a time.  Finding the address of a host name may block. */
#ifndef ERGON_NET_LISTEN_SOCKET_H
#define ERGON_NET_LISTEN_SOCKET_H

#include <sys/types.h>

#include <ergon/ao.h>

#include "base/url.h"

struct listen_socket {
    int fd;       /* -1: closed */
    dev_t device; /* of a Unix socket: which file it made */
    ino_t inode;
};

/* Binds and listens, non-blocking; the URL then has the real port.  A Unix socket without a
 * listening process is replaced, and gets the permission bits.  `keepalive`: ns of silence before a
 * TCP peer is asked whether it is there; 0: never.  0, or -1 with a text for people: the address
 * cannot be found or bound, or is in use, the socket file cannot be made. */
int listen_socket_open(struct listen_socket *l, struct url *url, ao_time keepalive,
                       uint32_t unix_mode, char *error, size_t size);
/* Removes the file of a Unix socket, if it is still that one.  Twice is fine. */
void listen_socket_close(struct listen_socket *l, const struct url *url);

#endif
