/* Submits delayed tasks by task.submit_many, each connection so many batches at a time, and prints
 * what came of it as JSON.  Tasks are of the method `late`, with 64 bytes of parameters; their
 * times are spread evenly, and submitted in no order. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/reader.h"
#include "proto/scanner.h"
#include "tests/bench/peers/common/pack.h"
#include "tests/bench/peers/driver/processor.h"

enum {
    CONNECTIONS_MAX = 64,
    TASK_MAX = 128, /* bytes of one in a batch */
    PADDING = 52,   /* of the parameters: 1 + 9 + 2 + 52 = 64 bytes */
    IN_MAX = 4 << 20,
    SCATTER =
        7919 /* a prime: how far apart in time those lie that are submitted one after the other */
};

struct peer {
    int fd;
    uint8_t *in;
    size_t have;
};

struct load {
    uint16_t port;
    const char *durable;
    uint64_t tasks, batch;
    uint64_t connections, in_flight;
    uint64_t begin, over; /* ms: Unix time of the first, span of all */
    uint64_t asked, answered, refused;
    char first_error[200];
    char *out;
    struct peer peers[CONNECTIONS_MAX];
};

static void put_u64(char **to, uint64_t v)
{
    *(*to)++ = (char)0xcf;
    be32_put(*to, (uint32_t)(v >> 32));
    be32_put(*to + 4, (uint32_t)v);
    *to += 8;
}

static void put_array(char **to, uint32_t count)
{
    *(*to)++ = (char)0xdd;
    be32_put(*to, count);
    *to += 4;
}

/* [method, [due, padding], {"at": due}] */
static void put_task(const struct load *l, char **to, uint64_t number)
{
    uint64_t place = number * SCATTER % l->tasks, due = l->begin + place * l->over / l->tasks;

    *(*to)++ = (char)0x93;
    *to += pack_str(*to, "late");
    *(*to)++ = (char)0x92;
    put_u64(to, due * 1000000);
    *to += pack_bytes(*to, 0xc4, PADDING);
    memset(*to, 'x', PADDING);
    *to += PADDING;
    *(*to)++ = (char)0x81;
    *to += pack_str(*to, "at");
    put_u64(to, due);
}

static bool write_all(int fd, const char *at, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, at, n);
        if (written < 0 && errno != EINTR)
            return perror("submit_many: writing"), false;
        at += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* The next batch, if there is one. */
static bool ask(struct load *l, struct peer *p)
{
    uint64_t left = l->tasks - l->asked, count = left < l->batch ? left : l->batch;
    char *to = l->out;

    if (count == 0)
        return true;
    *to++ = (char)0x94;
    *to++ = 0;
    to += pack_u32(to, (uint32_t)l->asked);
    to += pack_str(to, "task.submit_many");
    *to++ = (char)0x92;
    put_array(&to, (uint32_t)count);
    for (uint64_t i = 0; i < count; i++)
        put_task(l, &to, l->asked + i);
    *to++ = (char)0x81;
    to += pack_str(to, "durable");
    to += pack_str(to, l->durable);
    l->asked += count;
    return write_all(p->fd, l->out, (size_t)(to - l->out));
}

static void refuse(struct load *l, struct span text)
{
    l->refused++;
    if (!l->first_error[0])
        snprintf(l->first_error, sizeof l->first_error, "%.*s", (int)text.len,
                 (const char *)text.at);
}

/* {id, ...} or {error} */
static bool take_outcome(struct load *l, struct reader *r)
{
    struct span key, value;
    uint32_t pairs;

    if (!read_map(r, &pairs))
        return false;
    for (; pairs > 0; pairs--) {
        if (!read_text(r, &key) || !read_any(r, &value))
            return false;
        if (span_equal(key, span_text("error")))
            refuse(l, value);
    }
    return true;
}

/* [1, number, error, outcomes] */
static bool take_answer(struct load *l, struct span message)
{
    struct reader r = reader_of(message);
    struct span any;
    uint32_t count;

    if (!read_array(&r, &count) || count != 4 || !read_any(&r, &any) || !read_any(&r, &any))
        return false;
    if (!read_nil(&r)) {
        if (read_any(&r, &any))
            fprintf(stderr, "submit_many: %.*s\n", (int)any.len, (const char *)any.at);
        return false;
    }
    if (!read_array(&r, &count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!take_outcome(l, &r))
            return false;
    l->answered += count;
    return true;
}

static bool take(struct load *l, struct peer *p)
{
    static const struct scan_limits limits = {.message_max = IN_MAX, .depth_max = 8};
    struct scanner s;
    size_t done = 0;

    for (;;) {
        scanner_init(&s);
        enum scan_verdict v = scanner_run(&s, &limits, span_of(p->in + done, p->have - done));
        if (v != SCAN_WHOLE)
            break;
        if (!take_answer(l, span_of(p->in + done, s.done)))
            return fprintf(stderr, "submit_many: not the answer of a batch\n"), false;
        done += s.done;
        if (!ask(l, p))
            return false;
    }
    p->have -= done;
    memmove(p->in, p->in + done, p->have);
    return p->have < IN_MAX;
}

static bool on_readable(struct load *l, struct peer *p)
{
    ssize_t n = read(p->fd, p->in + p->have, IN_MAX - p->have);

    if (n <= 0)
        return fprintf(stderr, "submit_many: the server has closed a connection\n"), false;
    p->have += (size_t)n;
    return take(l, p);
}

static bool run(struct load *l)
{
    struct pollfd fds[CONNECTIONS_MAX];

    for (uint64_t i = 0; i < l->connections; i++) {
        fds[i] = (struct pollfd){.fd = l->peers[i].fd, .events = POLLIN};
        for (uint64_t k = 0; k < l->in_flight; k++)
            if (!ask(l, &l->peers[i]))
                return false;
    }
    while (l->answered < l->tasks) {
        if (poll(fds, (nfds_t)l->connections, 60000) <= 0)
            return fprintf(stderr, "submit_many: no answer in a minute\n"), false;
        for (uint64_t i = 0; i < l->connections; i++)
            if (fds[i].revents != 0 && !on_readable(l, &l->peers[i]))
                return false;
    }
    return true;
}

static bool open_all(struct load *l)
{
    l->out = malloc(l->batch * TASK_MAX + 256);
    for (uint64_t i = 0; i < l->connections; i++) {
        l->peers[i] = (struct peer){.fd = socket_connect(l->port), .in = malloc(IN_MAX)};
        if (l->peers[i].fd < 0 || !l->peers[i].in)
            return perror("submit_many: connecting"), false;
    }
    return l->out != NULL;
}

int main(int argc, char **argv)
{
    struct load l = {0};

    if (argc != 9)
        return fprintf(stderr, "usage: submit_many PORT TASKS BATCH CONNECTIONS IN-FLIGHT "
                               "FIRST-UNIX-MS OVER-MS DURABLE\n"),
               2;
    uint64_t *const numbers[] = {&l.tasks,     &l.batch, &l.connections,
                                 &l.in_flight, &l.begin, &l.over};
    l.port = (uint16_t)strtoul(argv[1], NULL, 10);
    for (int i = 0; i < 6; i++)
        *numbers[i] = strtoull(argv[2 + i], NULL, 10);
    l.durable = argv[8];
    if (l.tasks == 0 || l.batch == 0 || l.connections == 0 || l.connections > CONNECTIONS_MAX)
        return fprintf(stderr, "submit_many: a number is out of its range\n"), 2;
    if (!open_all(&l))
        return 1;
    uint64_t begun = processor_clock_ns();
    if (!run(&l))
        return 1;
    double seconds = (double)(processor_clock_ns() - begun) / 1e9;
    printf("{\"tasks\": %llu, \"refused\": %llu, \"error\": \"%s\", \"seconds\": %.4f, "
           "\"rate\": %.0f, \"driver_seconds\": %.3f}\n",
           (unsigned long long)l.answered, (unsigned long long)l.refused, l.first_error, seconds,
           (double)l.answered / seconds, processor_own());
    return 0;
}
