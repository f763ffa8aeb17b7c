/* Listening sockets, made from a URL. */
#include "server/net/accept/listen_socket.h"

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

#include <ergon/ao.h>

enum {
    BACKLOG = 4096,     /* the system lowers it to its own limit */
    KEEPALIVE_ASKS = 3, /* without an answer: then the peer is gone */
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
static void set_tcp_options(int fd, int family, int keepalive)
{
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (keepalive > 0) {
        set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive);
        set(fd, IPPROTO_TCP, TCP_KEEPINTVL, keepalive);
        set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_ASKS);
    }
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

static int open_address(const struct addrinfo *a, struct url *url, int keepalive, char *error,
                        size_t size)
{
    char place[sizeof url->host + 40];
    int fd = socket(a->ai_family, SOCKET_TYPE, 0);

    snprintf(place, sizeof place, "cannot listen at %.*s port %u", (int)sizeof url->host, url->host,
             url->port);
    if (fd < 0)
        return fail(fd, error, size, place, errno);
    set_tcp_options(fd, a->ai_family, keepalive);
    if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return fail(fd, error, size, place, errno);
    real_port(fd, url);
    return fd;
}

static int open_tcp(struct url *url, int keepalive, char *error, size_t size)
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
    int fd = open_address(found, url, keepalive, error, size);
    freeaddrinfo(found);
    return fd;
}

/* Does a process listen there? */
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

/* Removes a file at the socket's path only if it is left over from a server that did not end well:
 * it is a socket, and no process listens.  Returns NULL, or why the file stays. */
static const char *make_way(const struct sockaddr_un *address)
{
    struct stat status;

    if (lstat(address->sun_path, &status) != 0)
        return "something was there a moment ago; try again";
    if (!S_ISSOCK(status.st_mode))
        return "there is a file that is no socket; move it away, or choose another path";
    if (is_alive(address))
        return "another server listens there";
    unlink(address->sun_path);
    return NULL;
}

static bool bind_path(int fd, const struct sockaddr_un *address)
{
    return bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
}

static bool bind_unix(int fd, const struct sockaddr_un *address, char *error, size_t size)
{
    char text[96];

    if (bind_path(fd, address))
        return true;
    const char *why =
        errno == EADDRINUSE ? make_way(address) : strerror_r(errno, text, sizeof text);
    if (why == NULL && bind_path(fd, address))
        return true;
    if (why == NULL)
        why = strerror_r(errno, text, sizeof text);
    snprintf(error, size, "cannot listen at %s: %s", address->sun_path, why);
    return false;
}

/* Which file it is, so that no other one is removed at the end. */
static void note_file(struct listen_socket *l, const struct url *url)
{
    struct stat status;

    if (lstat(url->path, &status) != 0)
        return;
    l->device = status.st_dev;
    l->inode = status.st_ino;
}

static void remove_file(const struct listen_socket *l, const struct url *url)
{
    struct stat status;

    if (lstat(url->path, &status) == 0 && status.st_dev == l->device && status.st_ino == l->inode)
        unlink(url->path);
}

static int open_unix(struct listen_socket *l, const struct url *url, uint32_t mode, char *error,
                     size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char place[sizeof address.sun_path + 32];
    int fd = socket(AF_UNIX, SOCKET_TYPE, 0);

    snprintf(place, sizeof place, "cannot listen at %s", url->path);
    memcpy(address.sun_path, url->path, strlen(url->path) + 1);
    if (fd < 0)
        return fail(fd, error, size, place, errno);
    if (!bind_unix(fd, &address, error, size)) {
        close(fd);
        return -1;
    }
    note_file(l, url);
    /* No client can connect before listen(), so the mode is never wider than requested. */
    if (chmod(url->path, (mode_t)mode) != 0 || listen(fd, BACKLOG) != 0) {
        int code = errno;
        remove_file(l, url);
        return fail(fd, error, size, place, code);
    }
    return fd;
}

int listen_socket_open(struct listen_socket *l, struct url *url, ao_time keepalive,
                       uint32_t unix_mode, char *error, size_t size)
{
    *l = (struct listen_socket){.fd = -1};
    l->fd = url->scheme == URL_UNIX ? open_unix(l, url, unix_mode, error, size)
                                    : open_tcp(url, (int)(keepalive / AO_S(1)), error, size);
    return l->fd < 0 ? -1 : 0;
}

void listen_socket_close(struct listen_socket *l, const struct url *url)
{
    if (l->fd < 0)
        return;
    close(l->fd);
    l->fd = -1;
    if (url->scheme == URL_UNIX)
        remove_file(l, url);
}
