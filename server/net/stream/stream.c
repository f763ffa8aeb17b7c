/* The plain stream, and what TLS shares with it: one level-triggered watch of a socket, and system
 * calls with their errors sorted.
 *
 * Read and send go to the system directly: the C library's are points of cancellation, and in a
 * program of several threads each of its calls marks their beginning and end by an atomic. */
#include "server/net/stream/stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

void stream_fd_open(struct stream *s, const struct stream_class *cls, int fd,
                    const struct poller_watcher *watcher)
{
    s->cls = cls;
    s->state = NULL;
    s->fd = fd;
    s->error = 0;
    s->watched = 0;
    s->backlog = 0;
    s->more = false;
    s->watch.watcher = watcher;
}

/* A peer's end alone by edges, or one that has half-closed would be reported for ever. */
static unsigned asked_for(unsigned what)
{
    return what == STREAM_CLOSED ? STREAM_CLOSED | POLLER_EDGES : what;
}

bool stream_fd_watch(struct stream *s, unsigned what)
{
    if (s->watched == what)
        return true;
    if (!poller_change(&s->watch, s->fd, asked_for(s->watched), asked_for(what)))
        return false;
    s->watched = (uint8_t)what;
    return true;
}

/* The system says POLLHUP when both directions are shut: by the full close of a Unix socket, and by
 * a reset, be it the answer to the question whether the peer is still there. */
bool stream_fd_left(const struct stream *s, unsigned period)
{
    struct pollfd state = {.fd = s->fd};

    if (poll(&state, 1, 0) == 1 && state.revents & (POLLHUP | POLLERR))
        return true;
    if (period > 0) {
        /* Of a Unix socket these are refused, and nothing needs them. */
        setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPIDLE, &period, sizeof period);
        setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPINTVL, &period, sizeof period);
    }
    return false;
}

/* What the system cannot do it refuses: of a Unix socket all of it, and nothing needs it there;
 * before Linux 6.15 the last, and a peer whose window has long been full is asked for room every
 * two minutes. */
void stream_fd_ask_often(struct stream *s, const struct stream_asks *asks)
{
    enum { RTO_MAX_MS = 44 /* TCP_RTO_MAX_MS, which older headers do not have */ };
    unsigned on = 1, most = asks->interval * 1000;

    setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPIDLE, &asks->quiet, sizeof asks->quiet);
    setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPINTVL, &asks->interval, sizeof asks->interval);
    setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPCNT, &asks->count, sizeof asks->count);
    setsockopt(s->fd, IPPROTO_TCP, RTO_MAX_MS, &most, sizeof most);
}

bool stream_fd_unheard(const struct stream *s, struct stream_silence *out)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int waits = 0;

    if (getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        ioctl(s->fd, SIOCOUTQ, &waits) != 0)
        return false;
    *out = (struct stream_silence){.since = AO_MS(info.tcpi_last_ack_recv),
                                   .asked = info.tcpi_unacked > 0 || info.tcpi_probes > 0,
                                   .waits = waits > 0};
    return true;
}

void stream_fd_shut(struct stream *s)
{
    shutdown(s->fd, SHUT_WR);
}

void stream_fd_close(struct stream *s)
{
    stream_fd_watch(s, 0);
    close(s->fd);
    s->fd = -1;
}

static ssize_t failed(struct stream *s, int want)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return want;
    s->error = (uint32_t)errno;
    return STREAM_ERROR;
}

ssize_t stream_fd_read(struct stream *s, uint8_t *buf, size_t size)
{
    ssize_t n = syscall(SYS_recvfrom, s->fd, buf, size, 0, NULL, NULL);

    if (n > 0)
        return n;
    return n == 0 ? STREAM_EOF : failed(s, STREAM_WANT_READ);
}

ssize_t stream_fd_writev(struct stream *s, const struct iovec *parts, int count)
{
    ssize_t n;

    if (count == 1) {
        n = syscall(SYS_sendto, s->fd, parts->iov_base, parts->iov_len, MSG_NOSIGNAL, NULL, 0);
    } else {
        struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                                 .msg_iovlen = (size_t)count};
        n = syscall(SYS_sendmsg, s->fd, &message, MSG_NOSIGNAL);
    }
    return n >= 0 ? n : failed(s, STREAM_WANT_WRITE);
}

/* --- The plain stream --- */

static void plain_explain(const struct stream *s, char *buf, size_t size)
{
    char text[96];

    snprintf(buf, size, "%s", strerror_r((int)s->error, text, sizeof text));
}

static ssize_t plain_writev(struct stream *s, const struct iovec *parts, int count)
{
    return count == 0 ? 0 : stream_fd_writev(s, parts, count);
}

void stream_plain_open(struct stream *s, int fd, const struct poller_watcher *watcher)
{
    static const struct stream_class plain = {
        .name = "plain",
        .read = stream_fd_read,
        .writev = plain_writev,
        .watch = stream_fd_watch,
        .left = stream_fd_left,
        .ask_often = stream_fd_ask_often,
        .unheard = stream_fd_unheard,
        .shut = stream_fd_shut,
        .close = stream_fd_close,
        .explain = plain_explain,
    };

    stream_fd_open(s, &plain, fd, watcher);
}
