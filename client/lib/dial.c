#include "client/lib/dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void explain(char *why, size_t size, int error)
{
    char text[96];
    snprintf(why, size, "%s", strerror_r(error, text, sizeof text));
}

bool dial_start(struct dial *d, const struct url *url, char *why, size_t why_size)
{
    *d = (struct dial){.url = url};
    if (url->scheme == URL_UNIX)
        return true;
    char port[8];
    snprintf(port, sizeof port, "%u", url->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int rc = getaddrinfo(url->host, port, &hints, &d->list);
    if (rc != 0) {
        d->list = NULL;
        snprintf(why, why_size, "host %s: %s", url->host, gai_strerror(rc));
        return false;
    }
    d->next = d->list;
    return true;
}

void dial_fini(struct dial *d)
{
    if (d->list != NULL)
        freeaddrinfo(d->list);
    *d = (struct dial){0};
}

/* A server whose machine has gone without a word is noticed after a minute, also where nobody
 * sends.  Without it the connection works as well, so failures are ignored. */
static void keep_alive(int fd)
{
    static const int silence = 15 /* s */, between = 15 /* s */, asks = 3, on = 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silence, sizeof silence);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
}

static int open_socket(const struct sockaddr *address, socklen_t len, char *why, size_t why_size)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        explain(why, why_size, errno);
        return -1;
    }
    int on = 1;
    if (address->sa_family != AF_UNIX) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        keep_alive(fd);
    }
    if (connect(fd, address, len) == 0 || errno == EINPROGRESS || errno == EINTR)
        return fd;
    explain(why, why_size, errno);
    close(fd);
    return -1;
}

static int open_path(struct dial *d, char *why, size_t why_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (d->path_tried)
        return -1;
    d->path_tried = true;
    memcpy(address.sun_path, d->url->path, strlen(d->url->path) + 1);
    return open_socket((const struct sockaddr *)&address, sizeof address, why, why_size);
}

int dial_next(struct dial *d, char *why, size_t why_size)
{
    if (d->url->scheme == URL_UNIX)
        return open_path(d, why, why_size);
    int fd = -1;
    while (fd < 0 && d->next != NULL) {
        fd = open_socket(d->next->ai_addr, d->next->ai_addrlen, why, why_size);
        d->next = d->next->ai_next;
    }
    return fd;
}

bool dial_result(int fd, char *why, size_t why_size)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error == 0)
        return true;
    explain(why, why_size, error);
    return false;
}
