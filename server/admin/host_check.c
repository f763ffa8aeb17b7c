#include "server/admin/host_check.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The name without brackets and port.  False: it is neither. */
static bool take_name(const char *host, char name[static URL_HOST_MAX + 1])
{
    bool v6 = *host == '[';
    size_t length = strcspn(host + v6, v6 ? "]" : ":");
    const char *rest = host + v6 + length;

    if (length == 0 || length > URL_HOST_MAX || (v6 && *rest++ != ']'))
        return false;
    if (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1))
        rest += strlen(rest);
    memcpy(name, host + v6, length);
    name[length] = '\0';
    return *rest == '\0';
}

static bool is_loopback(const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, name, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* However they are written. */
static bool same_address(const char *a, const char *b)
{
    struct in6_addr x, y;

    if (inet_pton(AF_INET, a, &x) == 1)
        return inet_pton(AF_INET, b, &y) == 1 && memcmp(&x, &y, sizeof(struct in_addr)) == 0;
    return inet_pton(AF_INET6, a, &x) == 1 && inet_pton(AF_INET6, b, &y) == 1 &&
           memcmp(&x, &y, sizeof x) == 0;
}

bool host_is_ours(const char *host, const struct url *listener, const char *local,
                  const char *const *hosts, size_t host_count)
{
    char name[URL_HOST_MAX + 1];

    if (!host || !take_name(host, name))
        return false;
    if (strcasecmp(name, "localhost") == 0 || is_loopback(name))
        return true;
    if (listener->scheme != URL_UNIX &&
        (strcasecmp(name, listener->host) == 0 || same_address(name, listener->host)))
        return true;
    if (local && same_address(name, local))
        return true;
    for (size_t i = 0; i < host_count; i++)
        if (strcasecmp(name, hosts[i]) == 0)
            return true;
    return false;
}

bool origin_is_ours(const char *origin, const char *host)
{
    if (!origin)
        return true;
    if (!host)
        return false;
    size_t scheme = strncmp(origin, "http://", 7) == 0    ? 7
                    : strncmp(origin, "https://", 8) == 0 ? 8
                                                          : 0;
    return scheme > 0 && strcasecmp(origin + scheme, host) == 0;
}
