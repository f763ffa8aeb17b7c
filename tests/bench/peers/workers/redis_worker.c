/* A worker of Redis that gives back what it was given: it takes up to so many tasks at once from
 * the list `tasks`, and pushes each to the list that its first four bytes name.
 *
 *     redis_worker PORT COUNT */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "client/bench/outgoing.h"
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/common/queue.h"
#include "tests/bench/peers/common/socket.h"

enum { READ_MAX = 1 << 20, COMMAND_MAX = 128 };

struct worker {
    int fd;
    char pop[COMMAND_MAX]; /* the command that takes tasks */
    char *in;
    size_t held;
    struct outgoing out;
};

static void add_text(struct worker *w, const char *text)
{
    outgoing_add(&w->out, text, strlen(text));
}

static void push(struct worker *w, const char *task, size_t len)
{
    char *to = outgoing_at(&w->out);
    size_t n = line_put(to, "*3\r\n$5\r\nLPUSH\r\n$" QUEUE_REDIS_KEY);

    memcpy(to + n, task, QUEUE_NAME);
    n += QUEUE_NAME;
    n += line_put(to + n, "\r\n$");
    n += line_put_number(to + n, len);
    outgoing_wrote(&w->out, n + line_put(to + n, "\r\n"));
    outgoing_add(&w->out, task, len);
    add_text(w, "\r\n");
}

/* "$64", the bytes, and the end of the line: what it took; 0: not here whole. */
static size_t bulk(const char *at, size_t n, const char **bytes, size_t *len)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return 0;
    *bytes = at + line;
    *len = line_number(at + 1);
    return n - line >= *len + 2 ? line + *len + 2 : 0;
}

/* "*2", the list's name, "*COUNT", and so many tasks: which stand at `*tasks`. */
static bool popped(const char *at, size_t n, const char **tasks, size_t *count)
{
    const char *name;
    size_t len, line = line_size(at, n);
    size_t key = line > 0 ? bulk(at + line, n - line, &name, &len) : 0;
    size_t head = key > 0 ? line_size(at + line + key, n - line - key) : 0;

    if (head == 0)
        return false;
    *count = line_number(at + line + key + 1);
    *tasks = at + line + key + head;
    return true;
}

/* What it took of the input; 0: not here whole. */
static size_t on_input(struct worker *w, const char *at, size_t n)
{
    const char *tasks, *task;
    size_t count, len, took;

    if (*at == ':') /* a push was done */
        return line_size(at, n);
    if (*at != '*')
        return errno = EPROTO, 0;
    if (!popped(at, n, &tasks, &count))
        return 0;
    const char *end = tasks;
    for (size_t i = 0; i < count; i++, end += took)
        if ((took = bulk(end, n - (size_t)(end - at), &task, &len)) == 0)
            return 0;
    for (size_t i = 0; i < count; i++) {
        tasks += bulk(tasks, n, &task, &len);
        push(w, task, len);
    }
    add_text(w, w->pop);
    return (size_t)(end - at);
}

static bool serve_once(struct worker *w)
{
    ssize_t n = recv(w->fd, w->in + w->held, READ_MAX - w->held, 0);
    size_t at = 0, end = w->held + (size_t)(n > 0 ? n : 0), taken = 1;

    if (n <= 0)
        return false;
    errno = 0;
    while (taken > 0 && at < end) {
        taken = on_input(w, w->in + at, end - at);
        at += taken;
    }
    if (errno != 0 || !socket_write_all(w->fd, &w->out))
        return false;
    memmove(w->in, w->in + at, end - at);
    w->held = end - at;
    return true;
}

int main(int argc, char **argv)
{
    struct worker w = {.in = malloc(READ_MAX)};

    if (argc != 3)
        return fprintf(stderr, "usage: redis_worker PORT COUNT\n"), 2;
    snprintf(
        w.pop, sizeof w.pop,
        "*7\r\n$6\r\nBLMPOP\r\n$1\r\n0\r\n$1\r\n1\r\n$5\r\ntasks\r\n$5\r\nRIGHT\r\n$5\r\nCOUNT\r\n"
        "$%zu\r\n%s\r\n",
        strlen(argv[2]), argv[2]);
    w.fd = socket_connect((uint16_t)atoi(argv[1]));
    if (w.fd < 0 || !w.in || !outgoing_init(&w.out))
        return perror("redis_worker"), 1;
    add_text(&w, w.pop);
    bool ok = socket_write_all(w.fd, &w.out);
    puts("ready");
    fflush(stdout);
    while (ok)
        ok = serve_once(&w);
    if (errno != 0)
        perror("redis_worker");
    return 1;
}
