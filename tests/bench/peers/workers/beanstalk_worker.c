/* A worker of Beanstalk that gives back what it was given: it reserves a task, puts it into the
 * tube whose name stands in front of it, deletes the task and reserves the next, all in one write.
 * It has so many connections, each with one task at a time, since whoever waits for a task can say
 * nothing more meanwhile.
 *
 *     beanstalk_worker PORT CONNECTIONS */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "client/bench/outgoing.h"
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/common/queue.h"
#include "tests/bench/peers/common/socket.h"

enum { READ_MAX = 256 * 1024, EVENTS = 64 };

struct link {
    int fd;
    char *in;
    size_t held;
};

static struct outgoing out; /* empty between two events */

static void add_text(const char *text)
{
    outgoing_add(&out, text, strlen(text));
}

/* RESERVED id bytes, and the task: what it took; 0: not here whole. */
static size_t on_task(const char *at, size_t n, size_t line)
{
    size_t len = line_last_number(at, line), size = line + len + 2;
    char *to = outgoing_at(&out);

    if (n < size)
        return 0;
    size_t used = line_put(to, "use r");
    memcpy(to + used, at + line, QUEUE_NAME);
    used += QUEUE_NAME;
    used += line_put(to + used, "\r\nput 0 0 60 ");
    used += line_put_number(to + used, len);
    outgoing_wrote(&out, used + line_put(to + used, "\r\n"));
    outgoing_add(&out, at + line, len);
    to = outgoing_at(&out);
    used = line_put(to, "\r\ndelete ");
    used += line_put_number(to + used, line_number(at + strlen("RESERVED ")));
    outgoing_wrote(&out, used + line_put(to + used, "\r\nreserve\r\n"));
    return size;
}

/* What it took of the input; 0: not here whole, or broken. */
static size_t on_line(const char *at, size_t n)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return 0;
    if (line_starts(at, n, "RESERVED "))
        return on_task(at, n, line);
    if (line_starts(at, n, "USING ") || line_starts(at, n, "INSERTED ") ||
        line_starts(at, n, "DELETED") || line_starts(at, n, "WATCHING "))
        return line;
    return errno = EPROTO, 0;
}

static bool serve_once(struct link *l)
{
    ssize_t n = recv(l->fd, l->in + l->held, READ_MAX - l->held, 0);
    size_t at = 0, end = l->held + (size_t)(n > 0 ? n : 0), taken = 1;

    if (n <= 0)
        return false;
    errno = 0;
    while (taken > 0 && at < end) {
        taken = on_line(l->in + at, end - at);
        at += taken;
    }
    if (errno != 0 || (out.total > 0 && !socket_write_all(l->fd, &out)))
        return false;
    memmove(l->in, l->in + at, end - at);
    l->held = end - at;
    return true;
}

static bool link_open(struct link *l, int epoll, uint16_t port)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = l};

    l->in = malloc(READ_MAX);
    l->fd = socket_connect(port);
    if (!l->in || l->fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, l->fd, &e) != 0)
        return false;
    add_text("watch tasks\r\nignore default\r\nreserve\r\n");
    return socket_write_all(l->fd, &out);
}

static bool serve(int epoll)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(epoll, events, EVENTS, -1);

    for (int i = 0; i < n; i++)
        if (!serve_once(events[i].data.ptr))
            return false;
    return n >= 0 || errno == EINTR;
}

int main(int argc, char **argv)
{
    int epoll = epoll_create1(0), count = argc == 3 ? atoi(argv[2]) : 0;
    struct link *links = count > 0 ? calloc((size_t)count, sizeof *links) : NULL;
    bool ok = outgoing_init(&out) && links != NULL;

    if (argc != 3)
        return fprintf(stderr, "usage: beanstalk_worker PORT CONNECTIONS\n"), 2;
    for (int i = 0; ok && i < count; i++)
        ok = link_open(&links[i], epoll, (uint16_t)atoi(argv[1]));
    if (!ok)
        return perror("beanstalk_worker"), 1;
    puts("ready");
    fflush(stdout);
    while (ok)
        ok = serve(epoll);
    perror("beanstalk_worker");
    return 1;
}
