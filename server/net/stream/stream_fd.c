/* What all streams over a file descriptor share: its one level-triggered event, and system calls
 * with their errors sorted.
 *
 * Read and send go to the system directly: the C library's are points of cancellation, and in a
 * program of several threads each of its calls marks their beginning and end by an atomic. */
#include "server/net/stream/stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct stream *s = arg;

    (void)fd;
    stream_ready(s,
                 ((what & EV_READ) ? STREAM_READ : 0u) | ((what & EV_WRITE) ? STREAM_WRITE : 0u));
}

void stream_fd_open(struct stream *s, int fd, struct event_base *base)
{
    s->state = NULL;
    s->fd = fd;
    s->error = 0;
    s->watched = 0;
    s->backlog = 0;
    s->more = false;
    event_assign(&s->event, base, fd, EV_READ | EV_PERSIST, on_event, s);
}

/* One event serves both directions: it is assigned anew when the interest changes, which is rare
 * (a full socket buffer, a connection that is stopped), and an idle connection holds no second one.
 */
bool stream_fd_watch(struct stream *s, unsigned what)
{
    if (s->watched == what)
        return true;
    struct event_base *base = event_get_base(&s->event);
    if (s->watched != 0)
        event_del(&s->event);
    s->watched = 0;
    if (what == 0)
        return true;
    short bits = (short)(EV_PERSIST | ((what & STREAM_READ) ? EV_READ : 0) |
                         ((what & STREAM_WRITE) ? EV_WRITE : 0));
    event_assign(&s->event, base, s->fd, bits, on_event, s);
    if (event_add(&s->event, NULL) != 0)
        return false;
    s->watched = (uint8_t)what;
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

ssize_t stream_fd_read(struct stream *s, void *buf, size_t size)
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
