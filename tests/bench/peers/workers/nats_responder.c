/* A responder of NATS that gives back what it was sent.
 *
 *     nats_responder PORT SUBJECT [GROUP]      GROUP: of responders that share the subject */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "client/bench/outgoing.h"
#include "tests/bench/peers/common/socket.h"
#include "tests/bench/peers/common/line.h"

enum { READ_MAX = 1 << 20 };

struct responder {
    int fd;
    char *in;
    size_t held;
    struct outgoing out;
};

static void add_text(struct responder *r, const char *text)
{
    outgoing_add(&r->out, text, strlen(text));
}

/* MSG subject sid reply length: the last two words are those of our PUB, and the payload follows
 * with its CRLF. What it took; 0: not here whole. */
static size_t on_message(struct responder *r, const char *at, size_t n, size_t line)
{
    size_t size = line + line_last_number(at, line) + 2;
    const char *word = memchr(at + 4, ' ', line - 4);

    word = word ? memchr(word + 1, ' ', (size_t)(at + line - word - 1)) : NULL;
    if (!word)
        return errno = EPROTO, 0;
    if (n < size)
        return 0;
    add_text(r, "PUB");
    outgoing_add(&r->out, word, size - (size_t)(word - at));
    return size;
}

static size_t on_line(struct responder *r, const char *at, size_t n)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return 0;
    if (line_starts(at, n, "MSG "))
        return on_message(r, at, n, line);
    if (line_starts(at, n, "PING"))
        add_text(r, "PONG\r\n");
    else if (line_starts(at, n, "-ERR"))
        errno = EPROTO;
    return line;
}

static bool serve_once(struct responder *r)
{
    ssize_t n = recv(r->fd, r->in + r->held, READ_MAX - r->held, 0);
    size_t at = 0, end = r->held + (size_t)(n > 0 ? n : 0), taken = 1;

    if (n <= 0)
        return false;
    errno = 0;
    while (taken > 0 && at < end) {
        if (!outgoing_has_room(&r->out) && !socket_write_all(r->fd, &r->out))
            return false;
        taken = on_line(r, r->in + at, end - at);
        at += taken;
    }
    if (errno != 0 || !socket_write_all(r->fd, &r->out))
        return false;
    memmove(r->in, r->in + at, end - at);
    r->held = end - at;
    return true;
}

int main(int argc, char **argv)
{
    struct responder r = {.in = malloc(READ_MAX)};

    if (argc != 3 && argc != 4)
        return fprintf(stderr, "usage: nats_responder PORT SUBJECT [GROUP]\n"), 2;
    r.fd = socket_connect((uint16_t)atoi(argv[1]));
    if (r.fd < 0 || !r.in || !outgoing_init(&r.out))
        return perror("nats_responder"), 1;
    add_text(&r, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB ");
    for (int i = 2; i < argc; i++) {
        add_text(&r, argv[i]);
        add_text(&r, " ");
    }
    add_text(&r, "1\r\n");
    bool ok = socket_write_all(r.fd, &r.out);
    puts("ready");
    fflush(stdout);
    while (ok)
        ok = serve_once(&r);
    if (errno != 0)
        perror("nats_responder");
    return 1;
}
