#include "client/lib/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static enum stream_verdict failed(struct stream *s, enum stream_verdict want)
{
    char text[96];
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return want;
    snprintf(s->why, sizeof s->why, "%s", strerror_r(errno, text, sizeof text));
    return STREAM_BROKEN;
}

enum stream_verdict stream_receive(struct stream *s, void *to, size_t room, size_t *done)
{
    ssize_t n = recv(s->fd, to, room, MSG_DONTWAIT);
    if (n < 0)
        return failed(s, STREAM_WANT_READ);
    *done = (size_t)n;
    return n == 0 ? STREAM_EOF : STREAM_OK;
}

enum stream_verdict stream_send(struct stream *s, const void *from, size_t len, size_t *done)
{
    ssize_t n = send(s->fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return failed(s, STREAM_WANT_WRITE);
    *done = (size_t)n;
    return STREAM_OK;
}

static enum stream_verdict plain_handshake(struct stream *s)
{
    (void)s;
    return STREAM_OK;
}

void stream_hang_up(int fd)
{
    shutdown(fd, SHUT_RDWR);
    close(fd);
}

static void plain_close(struct stream *s)
{
    stream_hang_up(s->fd);
}

static const struct stream_ops PLAIN = {plain_handshake, stream_receive, stream_send, plain_close};

void stream_open_plain(struct stream *s, int fd)
{
    *s = (struct stream){.ops = &PLAIN, .fd = fd};
}

void stream_close(struct stream *s)
{
    if (s->ops == NULL)
        return;
    s->ops->close(s);
    s->ops = NULL;
    s->fd = -1;
}
