/* NATS: a message to the subject, answered by a responder to _I.CONNECTION.SLOT, for which the
 * connection has one subscription.  A stream answers there itself. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

#define INBOX "_I."

static void hello(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB " INBOX);

    n += line_put_number(to + n, r->connection);
    outgoing_wrote(out, n + line_put(to + n, ".* 1\r\n"));
}

static void request(const struct request *r, struct outgoing *out)
{
    const struct shape *s = r->work;
    char *to = outgoing_at(out);
    size_t n = line_put(to, "PUB ");

    n += line_put(to + n, s->method);
    n += line_put(to + n, " " INBOX);
    n += line_put_number(to + n, r->connection);
    to[n++] = '.';
    n += line_put_number(to + n, r->slot);
    to[n++] = ' ';
    n += line_put_number(to + n, r->payload.len);
    protocol_add(out, n + line_put(to + n, "\r\n"), r->payload, "\r\n");
}

/* MSG _I.7.12 1 64, and the payload. */
static enum answer_kind message(const char *at, size_t line, struct answer *a)
{
    const char *dot = memchr(at + strlen("MSG " INBOX), '.', line - strlen("MSG " INBOX));

    if (!dot)
        return ANSWER_WRONG;
    a->slot = (uint32_t)line_number(dot + 1);
    a->size = line + line_last_number(at, line) + 2;
    return ANSWER_GOOD;
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line;
    if (line_starts(at, n, "MSG " INBOX))
        return message(at, line, a);
    if (line_starts(at, n, "PING"))
        outgoing_add(a->out, "PONG\r\n", strlen("PONG\r\n"));
    else if (!line_starts(at, n, "INFO ") && !line_starts(at, n, "PONG"))
        return ANSWER_WRONG;
    return ANSWER_NONE;
}

const struct protocol protocol_nats = {
    .name = "NATS",
    .hello = hello,
    .request = request,
    .parse = parse,
};

/* MSG _I.7.12 1 30, and {"stream":"tasks","seq":1} or {"error":... */
static enum answer_kind stream_parse(const void *work, struct scanner *scanner, const char *at,
                                     size_t n, struct answer *a)
{
    static const char error[] = "{\"error\"";
    enum answer_kind kind = parse(work, scanner, at, n, a);

    if (kind != ANSWER_GOOD)
        return kind;
    size_t line = line_size(at, n);
    if (n - line < sizeof error - 1)
        return ANSWER_PARTIAL;
    return line_starts(at + line, n - line, error) ? ANSWER_WRONG : ANSWER_GOOD;
}

const struct protocol protocol_nats_stream = {
    .name = "NATS",
    .hello = hello,
    .request = request,
    .parse = stream_parse,
};
