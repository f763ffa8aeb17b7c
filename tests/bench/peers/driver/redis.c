/* Redis: ECHO, and RPUSH to one list; both answered in the main loop. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

static inline __attribute__((always_inline)) void add(const struct request *r, struct outgoing *out,
                                                      const char *command)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, command);

    n += line_put_number(to + n, r->payload.len);
    protocol_add(out, n + line_put(to + n, "\r\n"), r->payload, "\r\n");
}

static void echo(const struct request *r, struct outgoing *out)
{
    add(r, out, "*2\r\n$4\r\nECHO\r\n$");
}

static enum answer_kind parse_echo(const void *work, struct scanner *scanner, const char *at,
                                   size_t n, struct answer *a)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line + line_number(at + 1) + 2;
    return *at == '$' ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_redis = {
    .name = "Redis",
    .ordered = true,
    .request = echo,
    .parse = parse_echo,
};

static void push(const struct request *r, struct outgoing *out)
{
    add(r, out, "*3\r\n$5\r\nRPUSH\r\n$5\r\ntasks\r\n$");
}

static enum answer_kind parse_push(const void *work, struct scanner *scanner, const char *at,
                                   size_t n, struct answer *a)
{
    a->size = line_size(at, n);
    if (a->size == 0)
        return ANSWER_PARTIAL;
    return *at == ':' ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_redis_push = {
    .name = "Redis",
    .ordered = true,
    .request = push,
    .parse = parse_push,
};
