#include "server/net/accept/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,   /* the system lowers it to its own limit */
    KEEP_ALIVE = 120, /* seconds of silence before a peer is asked whether it is still there */
    SOCKET_TYPE = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC
};

static int fail(int fd, char *error, size_t size, const char *what, int code)
{
    char text[96];

    snprintf(error, size, "%s: %s", what, strerror_r(code, text, sizeof text));
    if (fd >= 0)
        close(fd);
    return -1;
}

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

/* On Linux an accepted socket inherits these, which saves system calls for each connection. */
static void set_tcp_options(int fd, int family)
{
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_ALIVE);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (family == AF_INET6)
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0); /* [::] is for everybody */
}

static void real_port(int fd, struct url *url)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return;
    if (address.ss_family == AF_INET6)
        url->port = ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    else
        url->port = ntohs(((const struct sockaddr_in *)&address)->sin_port);
}

static int open_address(const struct addrinfo *a, struct url *url, char *error, size_t size)
{
    char place[sizeof url->host + 40];
    int fd = socket(a->ai_family, SOCKET_TYPE, 0);

    snprintf(place, sizeof place, "cannot listen at %.*s port %u", (int)sizeof url->host, url->host,
             url->port);
    if (fd < 0)
        return fail(fd, error, size, place, errno);
    set_tcp_options(fd, a->ai_family);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return fail(fd, error, size, place, errno);
    real_port(fd, url);
    return fd;
}

static int open_tcp(struct url *url, char *error, size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    char port[8];

    if (url->kind != URL_HOST_NAME)
        hints.ai_flags |= AI_NUMERICHOST;
    snprintf(port, sizeof port, "%u", url->port);
    int code = getaddrinfo(url->host, port, &hints, &found);
    if (code != 0) {
        snprintf(error, size, "cannot find the address of \"%s\": %s", url->host,
                 gai_strerror(code));
        return -1;
    }
    int fd = open_address(found, url, error, size);
    freeaddrinfo(found);
    return fd;
}

/* Does somebody listen there? */
static bool is_alive(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    if (fd < 0)
        return true;
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                   errno == ECONNREFUSED;
    close(fd);
    return !refused;
}

static int bind_unix(int fd, const struct sockaddr_un *address)
{
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return 0;
    struct stat status;
    if (errno != EADDRINUSE)
        return -1;
    if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode) || is_alive(address)) {
        errno = EADDRINUSE;
        return -1;
    }
    unlink(address->sun_path); /* left over from a server that did not end well */
    return bind(fd, (const struct sockaddr *)address, sizeof *address);
}

static int open_unix(const struct url *url, uint32_t mode, char *error, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char place[sizeof address.sun_path + 32];
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    snprintf(place, sizeof place, "cannot listen at %s", url->path);
    memcpy(address.sun_path, url->path, strlen(url->path) + 1);
    if (fd < 0 || bind_unix(fd, &address) != 0)
        return fail(fd, error, size, place, errno);
    /* Nobody can connect before listen(), so the mode is never wider than asked for. */
    if (chmod(url->path, (mode_t)mode) != 0 || listen(fd, BACKLOG) != 0) {
        int code = errno;
        unlink(url->path);
        return fail(fd, error, size, place, code);
    }
    return fd;
}

int listener_open(struct url *url, uint32_t unix_mode, char *error, size_t size)
{
    return url->scheme == URL_UNIX ? open_unix(url, unix_mode, error, size)
                                   : open_tcp(url, error, size);
}
