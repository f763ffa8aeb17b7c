/* The driver of the comparison of handshakes: see README.md.  Connections are opened some at a
 * time, so that the server has several at once, as it would have; each is closed when its handshake
 * is done, and no data is sent.  A "task" of its output is one of them, its processor time that of
 * a connection from accept to close.
 *
 *     handshakes --port PORT [--resumed] [--window SECONDS] [--pid PID]
 *
 * Each line of its input starts one window. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/histogram.h"
#include "tests/bench/peers/driver/processor.h"
#include "tests/bench/peers/driver/tls.h"
#include "tests/bench/peers/driver/window.h"

enum { AT_ONCE = 16 };

struct peer {
    int fd;
    struct ssl_st *tls;
    struct ssl_session_st *ticket; /* to resume from; NULL: a full handshake */
    uint64_t began;                /* ns */
};

struct shaker {
    uint16_t port;
    bool resumed;
    struct ssl_ctx_st *context;
    struct peer peers[AT_ONCE];
};

static bool failed(const char *what)
{
    fprintf(stderr, "handshakes: %s: %s\n", what, tls_why());
    return false;
}

/* Sends the first message. */
static bool begin(struct shaker *s, struct peer *p)
{
    p->began = processor_clock_ns();
    p->fd = socket_connect(s->port);
    if (p->fd < 0 || socket_unblock(p->fd) != 0)
        return perror("handshakes: connecting"), false;
    p->tls = tls_new(s->context, p->fd, p->ticket);
    return p->tls && tls_handshake(p->tls) != TLS_FAILED ? true : failed("beginning");
}

/* Takes what comes until the server closes: a ticket comes after the handshake. */
static bool take_rest(struct peer *p)
{
    char bytes[256];

    tls_close_notify(p->tls);
    shutdown(p->fd, SHUT_WR);
    while (tls_read(p->tls, bytes, sizeof bytes) > 0)
        continue;
    return true;
}

static bool block(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

static bool finish(struct shaker *s, struct peer *p, struct histogram *record)
{
    if (!block(p->fd) || tls_handshake(p->tls) != TLS_DONE)
        return failed("shaking hands");
    if (tls_was_resumed(p->tls) != (p->ticket != NULL))
        return failed("a full handshake where one was to be resumed, or the reverse");
    if (record)
        histogram_add(record, processor_clock_ns() - p->began);
    take_rest(p);
    tls_ticket_free(p->ticket);
    p->ticket = s->resumed ? tls_take_ticket(s->context) : NULL;
    if (s->resumed && !p->ticket)
        return failed("no ticket came");
    return true;
}

static void end(struct peer *p)
{
    tls_free(p->tls);
    if (p->fd >= 0)
        close(p->fd);
    p->tls = NULL;
    p->fd = -1;
}

static bool batch(struct shaker *s, struct histogram *record)
{
    bool ok = true;

    for (int i = 0; i < AT_ONCE && ok; i++)
        ok = begin(s, &s->peers[i]);
    for (int i = 0; i < AT_ONCE && ok; i++)
        ok = finish(s, &s->peers[i], record);
    for (int i = 0; i < AT_ONCE; i++)
        end(&s->peers[i]);
    return ok;
}

static bool run(void *load, uint64_t ns, struct histogram *record)
{
    uint64_t until = processor_clock_ns() + ns;

    do
        if (!batch(load, record))
            return false;
    while (processor_clock_ns() < until);
    return true;
}

static bool paced(struct shaker *s, const struct window_options *o)
{
    char line[64];
    struct window w;

    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!window_measure(run, s, o, &w))
            return false;
        w.lag = 0;
        window_print_json(&w);
    }
    return true;
}

enum { OPT_PORT = 1, OPT_RESUMED, OPT_WINDOW, OPT_PID };

static const struct option options[] = {
    {"port", required_argument, NULL, OPT_PORT},
    {"resumed", no_argument, NULL, OPT_RESUMED},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"pid", required_argument, NULL, OPT_PID},
    {NULL, 0, NULL, 0},
};

static bool take(struct shaker *s, struct window_options *o, int option)
{
    switch (option) {
    case OPT_PORT:
        return (s->port = (uint16_t)atoi(optarg)) != 0;
    case OPT_RESUMED:
        return s->resumed = true;
    case OPT_WINDOW:
        return (o->seconds = atof(optarg)) > 0;
    case OPT_PID:
        return o->pid_count < WINDOW_PIDS && (o->pids[o->pid_count++] = atoi(optarg)) > 0;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    struct shaker s = {.port = 0};
    struct window_options o = {.seconds = 2};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        if (!take(&s, &o, option))
            return fprintf(stderr, "handshakes: not a value for this option\n"), 2;
    for (int i = 0; i < AT_ONCE; i++)
        s.peers[i].fd = -1;
    s.context = tls_context_new(s.resumed);
    bool ok = s.port != 0 && s.context && run(&s, 100000000, NULL) && paced(&s, &o);

    for (int i = 0; i < AT_ONCE; i++)
        tls_ticket_free(s.peers[i].ticket);
    tls_context_free(s.context);
    return ok ? 0 : 1;
}
