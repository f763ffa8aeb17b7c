#include "client/bench/outgoing.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool outgoing_init(struct outgoing *o)
{
    o->bytes = malloc(OUTGOING_BYTES);
    outgoing_clear(o);
    return o->bytes != NULL;
}

void outgoing_fini(struct outgoing *o)
{
    free(o->bytes);
    o->bytes = NULL;
}

bool outgoing_has_room(const struct outgoing *o)
{
    return o->used + 2 * OUTGOING_COPY_MAX <= OUTGOING_BYTES && o->count + 4 <= OUTGOING_PARTS;
}

static void add_part(struct outgoing *o, void *at, size_t len)
{
    assert(o->count < OUTGOING_PARTS);
    o->parts[o->count++] = (struct iovec){at, len};
}

void *outgoing_at(const struct outgoing *o)
{
    return o->bytes + o->used;
}

void outgoing_wrote(struct outgoing *o, size_t len)
{
    char *at = outgoing_at(o);
    struct iovec *last = o->count > 0 ? &o->parts[o->count - 1] : NULL;

    assert(o->used + len <= OUTGOING_BYTES);
    if (last && (char *)last->iov_base + last->iov_len == at)
        last->iov_len += len;
    else
        add_part(o, at, len);
    o->used += len;
    o->total += len;
}

void outgoing_add(struct outgoing *o, const void *bytes, size_t len)
{
    if (len <= OUTGOING_COPY_MAX) {
        memcpy(outgoing_at(o), bytes, len);
        outgoing_wrote(o, len);
        return;
    }
    add_part(o, (void *)(uintptr_t)bytes, len);
    o->total += len;
}

void outgoing_clear(struct outgoing *o)
{
    o->used = o->total = 0;
    o->count = 0;
}

ssize_t outgoing_send(const struct outgoing *o, int fd)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)o->parts,
                             .msg_iovlen = (size_t)o->count};
    ssize_t n = o->count == 1 ? send(fd, o->parts->iov_base, o->parts->iov_len, MSG_NOSIGNAL)
                              : sendmsg(fd, &message, MSG_NOSIGNAL);

    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

void outgoing_copy(const struct outgoing *o, size_t from, void *to)
{
    char *end = to;
    for (int i = 0; i < o->count; i++) {
        const struct iovec *part = &o->parts[i];
        size_t skipped = from < part->iov_len ? from : part->iov_len;
        memcpy(end, (const char *)part->iov_base + skipped, part->iov_len - skipped);
        end += part->iov_len - skipped;
        from -= skipped;
    }
}
