#include "server/net/auth/peer.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_v4(const struct sockaddr_storage *address, struct in_addr *v4, uint16_t *port)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        *v4 = in->sin_addr;
        *port = ntohs(in->sin_port);
        return true;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
    if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
        return false;
    memcpy(v4, in6->sin6_addr.s6_addr + 12, sizeof *v4);
    *port = ntohs(in6->sin6_port);
    return true;
}

void peer_text(const struct sockaddr_storage *address, char *buf, size_t size)
{
    char host[INET6_ADDRSTRLEN];
    struct in_addr v4;
    uint16_t port;

    if (is_v4(address, &v4, &port)) {
        snprintf(buf, size, "%s:%u", inet_ntop(AF_INET, &v4, host, sizeof host), port);
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
        snprintf(buf, size, "[%s]:%u", inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host),
                 ntohs(in6->sin6_port));
    } else {
        snprintf(buf, size, "unix");
    }
}

void peer_network(const char *text, char *buf, size_t size)
{
    char host[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    const char *end = strrchr(text, ':');
    int len = end != NULL ? (int)(end - text) : (int)strlen(text);

    snprintf(host, sizeof host, "%.*s", text[0] == '[' ? len - 2 : len, text + (text[0] == '['));
    if (inet_pton(AF_INET6, host, &v6) != 1) {
        snprintf(buf, size, "%s", host);
        return;
    }
    memset(v6.s6_addr + 8, 0, 8);
    snprintf(buf, size, "%s/64", inet_ntop(AF_INET6, &v6, host, sizeof host));
}

/* The upper half of the keys that are no prefix of a v6 address. */
#define KEY_V4     UINT64_C(0xffffffff)
#define KEY_USER   UINT64_C(0xfffffffe)
#define KEY_NOBODY UINT64_C(0xfffffffd)

uint64_t peer_key(const struct sockaddr_storage *address)
{
    struct in_addr v4;
    uint16_t port;
    uint64_t prefix;

    if (is_v4(address, &v4, &port))
        return KEY_V4 << 32 | ntohl(v4.s_addr);
    if (address->ss_family != AF_INET6)
        return KEY_NOBODY << 32;
    memcpy(&prefix, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof prefix);
    return be64toh(prefix);
}

uint64_t peer_key_of_user(uint32_t uid)
{
    return KEY_USER << 32 | uid;
}

bool peer_key_is_address(uint64_t key)
{
    return key >> 32 != KEY_USER && key >> 32 != KEY_NOBODY;
}

/* 127.0.0.0/8, or the /64 of ::1, from which no other address sends. */
bool peer_key_is_remote(uint64_t key)
{
    return peer_key_is_address(key) && key >> 24 != (KEY_V4 << 8 | IN_LOOPBACKNET) && key != 0;
}

#define UNMAPPED_USER 65534 /* /proc/sys/kernel/overflowuid of every system */

bool peer_key_is_own(uint64_t key)
{
    uint32_t own = geteuid();

    return key == peer_key_of_user(0) || (own != UNMAPPED_USER && key == peer_key_of_user(own));
}

bool peer_uid(int fd, uint32_t *uid)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return false;
    *uid = credentials.uid;
    return true;
}
