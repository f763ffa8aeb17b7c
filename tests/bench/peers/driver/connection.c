#include "tests/bench/peers/driver/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/peers/driver/tls.h"

void connection_fini(struct connection *c)
{
    tls_free(c->tls);
    if (c->fd >= 0)
        close(c->fd);
    free(c->part);
    free(c->rest);
}

bool connection_begin_tls(struct connection *c, struct ssl_ctx_st *context)
{
    c->tls = tls_new(context, c->fd, NULL);
    if (c->tls && tls_handshake(c->tls) == TLS_DONE)
        return true;
    return fprintf(stderr, "driver: TLS: %s\n", tls_why()), false;
}

ssize_t connection_receive(struct connection *c, char *to, size_t size)
{
    ssize_t n = 0, total = 0;

    if (!c->tls)
        return recv(c->fd, to, size, 0);
    do {
        n = tls_read(c->tls, to + total, size - (size_t)total);
        total += n > 0 ? n : 0;
    } while (n > 0 && (size_t)total < size && tls_has_more(c->tls));
    return total > 0 ? total : n;
}

/* A record, or as many as it takes, for each part. */
static ssize_t send_parts(struct connection *c, const struct outgoing *out)
{
    ssize_t n = 0, total = 0;

    for (int i = 0; i < out->count; i++) {
        const struct iovec *part = &out->parts[i];
        for (size_t at = 0; at < part->iov_len; at += (size_t)n) {
            n = tls_write(c->tls, (const char *)part->iov_base + at, part->iov_len - at);
            if (n <= 0)
                return n < 0 && errno != EAGAIN ? n : total;
            total += n;
        }
    }
    return total;
}

/* What was kept is older and stays in front. */
static bool keep_rest(struct connection *c, const struct outgoing *out, size_t from)
{
    size_t kept = c->rest_len - c->rest_at, more = out->total - from;
    char *rest = malloc(kept + more);

    if (!rest)
        return false;
    if (kept > 0)
        memcpy(rest, c->rest + c->rest_at, kept);
    outgoing_copy(out, from, rest + kept);
    free(c->rest);
    c->rest = rest;
    c->rest_at = 0;
    c->rest_len = kept + more;
    return true;
}

bool connection_send(struct connection *c, struct outgoing *out, bool *blocked)
{
    ssize_t n = 0;
    bool ok = true;

    *blocked = c->rest != NULL;
    if (!*blocked && out->total > 0)
        n = c->tls ? send_parts(c, out) : outgoing_send(out, c->fd);
    if (n < 0)
        return false;
    if ((size_t)n < out->total) {
        *blocked = true;
        ok = keep_rest(c, out, (size_t)n);
    }
    outgoing_clear(out);
    return ok;
}

bool connection_resume(struct connection *c, bool *blocked)
{
    const char *from = c->rest + c->rest_at;
    size_t size = c->rest_len - c->rest_at;
    ssize_t n = c->tls ? tls_write(c->tls, from, size) : send(c->fd, from, size, MSG_NOSIGNAL);

    *blocked = true;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    c->rest_at += (size_t)n;
    if (c->rest_at < c->rest_len)
        return true;
    free(c->rest);
    c->rest = NULL;
    c->rest_at = c->rest_len = 0;
    *blocked = false;
    return true;
}

size_t connection_take_part(struct connection *c, char *in)
{
    size_t n = c->part_len;

    if (!c->part)
        return 0;
    memcpy(in, c->part, n);
    free(c->part);
    c->part = NULL;
    c->part_len = 0;
    return n;
}

bool connection_keep_part(struct connection *c, const char *at, size_t n)
{
    c->part = malloc(n);
    if (!c->part)
        return false;
    memcpy(c->part, at, n);
    c->part_len = n;
    return true;
}
