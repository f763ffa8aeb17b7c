/* Redis: ECHO, and RPUSH to one list; both answered in the main loop. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

static size_t head(const struct shape *s, struct place p, char *to)
{
    size_t n = line_put(to, "*2\r\n$4\r\nECHO\r\n$");

    (void)p;
    n += line_put_number(to + n, s->payload);
    return n + line_put(to + n, "\r\n");
}

static enum answer_kind parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    size_t line = line_size(at, n);

    (void)s;
    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line + line_number(at + 1) + 2;
    return *at == '$' ? ANSWER_TASK : ANSWER_WRONG;
}

const struct protocol protocol_redis = {
    .name = "redis",
    .task = "ECHO",
    .method = "",
    .ordered = true,
    .head = head,
    .tail = "\r\n",
    .parse = parse,
};

static size_t push_head(const struct shape *s, struct place p, char *to)
{
    size_t n = line_put(to, "*3\r\n$5\r\nRPUSH\r\n$5\r\ntasks\r\n$");

    (void)p;
    n += line_put_number(to + n, s->payload);
    return n + line_put(to + n, "\r\n");
}

static enum answer_kind push_parse(const struct shape *s, const char *at, size_t n,
                                   struct answer *a)
{
    (void)s;
    a->size = line_size(at, n);
    if (a->size == 0)
        return ANSWER_PARTIAL;
    return *at == ':' ? ANSWER_TASK : ANSWER_WRONG;
}

const struct protocol protocol_redis_push = {
    .name = "redis-push",
    .task = "RPUSH",
    .method = "",
    .ordered = true,
    .head = push_head,
    .tail = "\r\n",
    .parse = push_parse,
};
