/* The plain stream: a socket as it is. */
#include "server/net/stream/stream.h"

#include <stdio.h>
#include <string.h>

static ssize_t plain_read(struct stream *s, uint8_t *buf, size_t size)
{
    return stream_fd_read(s, buf, size);
}

static ssize_t plain_writev(struct stream *s, const struct iovec *parts, int count)
{
    return count == 0 ? 0 : stream_fd_writev(s, parts, count);
}

static void plain_explain(const struct stream *s, char *buf, size_t size)
{
    char text[96];

    snprintf(buf, size, "%s", strerror_r((int)s->error, text, sizeof text));
}

static const struct stream_class plain_class = {
    .name = "plain",
    .read = plain_read,
    .writev = plain_writev,
    .watch = stream_fd_watch,
    .shut = stream_fd_shut,
    .close = stream_fd_close,
    .explain = plain_explain,
};

void stream_plain_open(struct stream *s, int fd, struct event_base *base)
{
    stream_fd_open(s, fd, base);
    s->cls = &plain_class;
}
