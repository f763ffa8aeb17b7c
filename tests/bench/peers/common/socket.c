#include "tests/bench/peers/common/socket.h"

#include "client/bench/outgoing.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

void socket_no_delay(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

int socket_unblock(int fd)
{
    return fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int close_keeping_errno(int fd)
{
    int saved = errno;

    close(fd);
    errno = saved;
    return -1;
}

int socket_connect(uint16_t port)
{
    struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return close_keeping_errno(fd);
    socket_no_delay(fd);
    return fd;
}

int socket_listen(uint16_t *port)
{
    struct sockaddr_in at = loopback(*port);
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return close_keeping_errno(fd);
    *port = ntohs(at.sin_port);
    return fd;
}

void socket_raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

bool socket_write_all(int fd, struct outgoing *out)
{
    int first = 0;

    while (first < out->count) {
        struct msghdr message = {.msg_iov = out->parts + first,
                                 .msg_iovlen = (size_t)(out->count - first)};
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        size_t left = n < 0 ? 0 : (size_t)n;
        for (; first < out->count && left >= out->parts[first].iov_len; first++)
            left -= out->parts[first].iov_len;
        if (left > 0) {
            out->parts[first].iov_base = (char *)out->parts[first].iov_base + left;
            out->parts[first].iov_len -= left;
        }
    }
    outgoing_clear(out);
    return true;
}
