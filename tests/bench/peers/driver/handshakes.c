/* The driver of the comparison of handshakes: see README.md.  Connections are opened some at a
 * time, so that the server has several at once, as it would have; each is closed when its handshake
 * is done, and no data is sent.  A "task" of its output is one of them, its processor time that of
 * a connection from accept to close.
 *
 *     handshakes --port PORT [--resumed] [--cert PEM] [--window SECONDS] [--pid PID]
 *
 * Each line of its input starts one window. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/driver/processor.h"
#include "tests/bench/peers/driver/window.h"

enum { AT_ONCE = 16 };

struct peer {
    int fd;
    SSL *tls;
    SSL_SESSION *ticket; /* to resume from; NULL: a full handshake */
    uint64_t began;      /* ns */
};

struct shaker {
    uint16_t port;
    bool resumed;
    const char *cert;   /* a file of a client's certificate and its key; NULL: none is shown */
    SSL_CTX *context;   /* TLS 1.3; the server's certificate is not looked at */
    SSL_SESSION *fresh; /* the last ticket that came; NULL: none */
    struct hdr_histogram times;
    struct peer peers[AT_ONCE];
};

static int keep_ticket(SSL *tls, SSL_SESSION *ticket)
{
    struct shaker *s = SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls));

    SSL_SESSION_free(s->fresh);
    s->fresh = ticket;
    return 1;
}

static bool shaker_init(struct shaker *s)
{
    for (int i = 0; i < AT_ONCE; i++)
        s->peers[i].fd = -1;
    s->context = SSL_CTX_new(TLS_client_method());
    if (!s->context || !hdr_init(&s->times))
        return false;
    if (s->cert && (SSL_CTX_use_certificate_chain_file(s->context, s->cert) != 1 ||
                    SSL_CTX_use_PrivateKey_file(s->context, s->cert, SSL_FILETYPE_PEM) != 1))
        return false;
    SSL_CTX_set_app_data(s->context, s);
    SSL_CTX_set_min_proto_version(s->context, TLS1_3_VERSION);
    SSL_CTX_set_session_cache_mode(s->context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    if (s->resumed)
        SSL_CTX_sess_set_new_cb(s->context, keep_ticket);
    return true;
}

static bool failed(const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());

    fprintf(stderr, "handshakes: %s: %s\n", what, reason ? reason : "the server has closed it");
    return false;
}

/* Sends the first message. */
static bool begin(struct shaker *s, struct peer *p)
{
    p->began = processor_clock_ns();
    p->fd = socket_connect(s->port);
    if (p->fd < 0 || socket_unblock(p->fd) != 0)
        return perror("handshakes: connecting"), false;
    p->tls = SSL_new(s->context);
    if (!p->tls || SSL_set_fd(p->tls, p->fd) != 1 ||
        (p->ticket && SSL_set_session(p->tls, p->ticket) != 1))
        return failed("beginning");
    int done = SSL_connect(p->tls);
    return done == 1 || SSL_get_error(p->tls, done) == SSL_ERROR_WANT_READ || failed("beginning");
}

/* Takes what comes until the server closes: a ticket comes after the handshake. */
static void take_rest(struct peer *p)
{
    char bytes[256];

    SSL_shutdown(p->tls);
    shutdown(p->fd, SHUT_WR);
    while (SSL_read(p->tls, bytes, sizeof bytes) > 0)
        continue;
    ERR_clear_error();
}

static bool block(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

static bool finish(struct shaker *s, struct peer *p)
{
    if (!block(p->fd) || SSL_connect(p->tls) != 1)
        return failed("shaking hands");
    if (SSL_session_reused(p->tls) != (p->ticket != NULL))
        return failed("a full handshake where one was to be resumed, or the reverse");
    hdr_add(&s->times, processor_clock_ns() - p->began);
    take_rest(p);
    SSL_SESSION_free(p->ticket);
    p->ticket = s->fresh;
    s->fresh = NULL;
    return !s->resumed || p->ticket || failed("no ticket came");
}

static void end(struct peer *p)
{
    SSL_free(p->tls);
    if (p->fd >= 0)
        close(p->fd);
    p->tls = NULL;
    p->fd = -1;
}

static bool batch(struct shaker *s)
{
    bool ok = true;

    for (int i = 0; i < AT_ONCE && ok; i++)
        ok = begin(s, &s->peers[i]);
    for (int i = 0; i < AT_ONCE && ok; i++)
        ok = finish(s, &s->peers[i]);
    for (int i = 0; i < AT_ONCE; i++)
        end(&s->peers[i]);
    return ok;
}

static bool run(void *load, uint64_t end_ns)
{
    do
        if (!batch(load))
            return false;
    while (processor_clock_ns() < end_ns);
    return true;
}

static bool paced(struct shaker *s, const struct window_options *o)
{
    char line[64];
    struct window w;

    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!window_measure(run, s, &s->times, o, &w))
            return false;
        w.lag = 0;
        window_print_json(&w);
    }
    return true;
}

enum { OPT_PORT = 1, OPT_RESUMED, OPT_CERT, OPT_WINDOW, OPT_PID };

static const struct option options[] = {
    {"port", required_argument, NULL, OPT_PORT}, {"resumed", no_argument, NULL, OPT_RESUMED},
    {"cert", required_argument, NULL, OPT_CERT}, {"window", required_argument, NULL, OPT_WINDOW},
    {"pid", required_argument, NULL, OPT_PID},   {NULL, 0, NULL, 0},
};

static bool take(struct shaker *s, struct window_options *o, int option)
{
    switch (option) {
    case OPT_PORT:
        return (s->port = (uint16_t)atoi(optarg)) != 0;
    case OPT_RESUMED:
        return s->resumed = true;
    case OPT_CERT:
        return (s->cert = optarg) != NULL;
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
    static struct shaker s;
    struct window_options o = {.seconds = 2};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        if (!take(&s, &o, option))
            return fprintf(stderr, "handshakes: not a value for this option\n"), 2;
    bool ok = s.port != 0 && shaker_init(&s) && run(&s, processor_clock_ns() + 100000000) &&
              paced(&s, &o);

    for (int i = 0; i < AT_ONCE; i++)
        SSL_SESSION_free(s.peers[i].ticket);
    SSL_SESSION_free(s.fresh);
    SSL_CTX_free(s.context);
    hdr_fini(&s.times);
    return ok ? 0 : 1;
}
