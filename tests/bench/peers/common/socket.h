/* Sockets on the loopback interface, and numbers as they stand on the wire. */
#ifndef ERGON_PEERS_SOCKET_H
#define ERGON_PEERS_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Connected, blocking, without Nagle's delay.  -1 with errno. */
int socket_connect(uint16_t port);

/* Listening and non-blocking; *port 0 lets the system pick and then says which.  -1 with errno. */
int socket_listen(uint16_t *port);

/* -1 with errno. */
int socket_unblock(int fd);
void socket_no_delay(int fd);

/* Writes on a blocking socket all that is gathered, and clears it.  False with errno. */
struct outgoing;
bool socket_write_all(int fd, struct outgoing *out);

/* As many open files as the hard limit allows. */
void socket_raise_limit(void);

static inline uint32_t be32_get(const char *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof v);
    return __builtin_bswap32(v);
}

static inline void be32_put(char *at, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(at, &v, sizeof v);
}

static inline uint16_t be16_get(const char *at)
{
    uint16_t v;

    memcpy(&v, at, sizeof v);
    return __builtin_bswap16(v);
}

static inline void be16_put(char *at, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(at, &v, sizeof v);
}

#endif
