#include "tests/bench/peers/driver/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void connection_fini(struct connection *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->part);
    free(c->rest);
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
        n = outgoing_send(out, c->fd);
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
    ssize_t n = send(c->fd, c->rest + c->rest_at, c->rest_len - c->rest_at, MSG_NOSIGNAL);

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
