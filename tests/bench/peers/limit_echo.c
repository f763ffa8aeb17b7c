/* The physical limit of a MessagePack-RPC echo: one thread, epoll, the envelope parsed by hand, and
 * all answers of a read in one write.  It checks next to nothing, knows one shape of request and
 * limits nothing: what a server does beyond this is its price.
 *
 *     limit_echo [PORT]      prints the port; runs until a signal ends it */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/bench/outgoing.h"
#include "client/lib/frame.h"
#include "tests/bench/peers/common/pack.h"
#include "tests/bench/peers/common/socket.h"

enum { EVENTS = 256, READ_MAX = 1 << 20, NAME_MAX_SHORT = 31 };

struct peer {
    int fd;
    char *part; /* of a request that has not come whole; NULL: none */
    size_t part_len;
    char *rest; /* what the socket did not take; NULL: nothing, and then only do we read */
    size_t rest_len, rest_at;
};

struct server {
    int epoll, listener;
    char *in;
    struct outgoing out;
};

static void watch(struct server *s, int operation, struct peer *p, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = p};

    epoll_ctl(s->epoll, operation, p->fd, &e);
}

static void close_peer(struct peer *p)
{
    close(p->fd);
    free(p->part);
    free(p->rest);
    free(p);
}

/* Length of the integer that stands here, header included. */
static size_t integer_len(unsigned char first)
{
    return first < 0x80                     ? 1
           : first >= 0xcc && first <= 0xcf ? (size_t)1 + (1u << (first - 0xcc))
                                            : 0;
}

/* Length of the driver's first message, which wants no answer; 0: it does not stand here. */
static size_t hello_len(const char *in, size_t n)
{
    struct span hello = frame_hello();
    return n >= hello.len && memcmp(in, hello.at, hello.len) == 0 ? hello.len : 0;
}

/* Answers the request [0, id, name, [bytes]] at the front of `in`.  Its length; 0: not here whole,
 * or none of ours. */
static size_t answer(struct outgoing *out, const char *in, size_t n)
{
    static const char head[] = {(char)0x94, 1}, nil = (char)0xc0;
    size_t id, name, param, len;

    if (n < 8 || (id = integer_len((unsigned char)in[2])) == 0 || n < 2 + id + 1)
        return 0;
    name = 2 + id;
    param = name + 2 + ((unsigned char)in[name] & NAME_MAX_SHORT);
    if (n <= param || (len = unpack_bytes_size(in + param, in + n)) == 0 || n < param + len)
        return 0;
    outgoing_add(out, head, sizeof head);
    outgoing_add(out, in + 2, id);
    outgoing_add(out, &nil, 1);
    outgoing_add(out, in + param, len);
    return param + len;
}

static void keep(char **to, size_t *to_len, size_t len)
{
    *to = len > 0 ? malloc(len) : NULL;
    if (len > 0 && !*to)
        abort();
    *to_len = len;
}

/* False: the connection is broken. */
static bool flush(struct server *s, struct peer *p)
{
    ssize_t n = s->out.count > 0 ? outgoing_send(&s->out, p->fd) : 0;

    if (n < 0)
        return false;
    if ((size_t)n < s->out.total) {
        keep(&p->rest, &p->rest_len, s->out.total - (size_t)n);
        outgoing_copy(&s->out, (size_t)n, p->rest);
        p->rest_at = 0;
        watch(s, EPOLL_CTL_MOD, p, EPOLLOUT);
    }
    outgoing_clear(&s->out);
    return true;
}

/* Answers what lies in s->in, as much as one write holds; what remains is kept for the next read.
 */
static bool answer_all(struct server *s, struct peer *p, size_t n)
{
    size_t at = hello_len(s->in, n), len = 1;

    while (len > 0 && !p->rest) {
        while (outgoing_has_room(&s->out) && (len = answer(&s->out, s->in + at, n - at)) > 0)
            at += len;
        if (!flush(s, p))
            return false;
    }
    keep(&p->part, &p->part_len, n - at);
    if (p->part)
        memcpy(p->part, s->in + at, n - at);
    return true;
}

static bool on_readable(struct server *s, struct peer *p)
{
    size_t held = p->part_len;

    if (held >= READ_MAX)
        return false;
    if (p->part) {
        memcpy(s->in, p->part, held);
        free(p->part);
        p->part = NULL;
        p->part_len = 0;
    }
    ssize_t n = recv(p->fd, s->in + held, READ_MAX - held, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        return false;
    return answer_all(s, p, held + (n > 0 ? (size_t)n : 0));
}

static bool on_writable(struct server *s, struct peer *p)
{
    ssize_t n = send(p->fd, p->rest + p->rest_at, p->rest_len - p->rest_at, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EAGAIN;
    p->rest_at += (size_t)n;
    if (p->rest_at < p->rest_len)
        return true;
    free(p->rest);
    p->rest = NULL;
    watch(s, EPOLL_CTL_MOD, p, EPOLLIN);
    return !p->part || on_readable(s, p);
}

static void accept_all(struct server *s)
{
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct peer *p = calloc(1, sizeof *p);
        if (!p)
            abort();
        p->fd = fd;
        socket_no_delay(fd);
        watch(s, EPOLL_CTL_ADD, p, EPOLLIN);
    }
}

static void serve(struct server *s)
{
    struct epoll_event events[EVENTS];

    for (;;) {
        int count = epoll_wait(s->epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct peer *p = events[i].data.ptr;
            if (!p)
                accept_all(s);
            else if (!(p->rest ? on_writable(s, p) : on_readable(s, p)))
                close_peer(p);
        }
    }
}

int main(int argc, char **argv)
{
    uint16_t port = argc > 1 ? (uint16_t)atoi(argv[1]) : 0;
    struct server s = {.epoll = epoll_create1(EPOLL_CLOEXEC), .in = malloc(READ_MAX)};
    struct epoll_event e = {.events = EPOLLIN};

    socket_raise_limit();
    s.listener = socket_listen(&port);
    if (s.listener < 0 || s.epoll < 0 || !s.in || !outgoing_init(&s.out) ||
        epoll_ctl(s.epoll, EPOLL_CTL_ADD, s.listener, &e) != 0)
        return perror("limit_echo"), 1;
    printf("%u\n", port);
    fflush(stdout);
    serve(&s);
}
