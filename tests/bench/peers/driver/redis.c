/* Redis: ECHO, and RPUSH to one list; both answered in the main loop.  And a task by way of a
 * worker: LPUSH to the list of tasks, and when that is done BRPOP from the list of answers. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/common/queue.h"
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

static void queue_push(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "*3\r\n$5\r\nLPUSH\r\n$5\r\ntasks\r\n$");

    n += line_put_number(to + n, r->payload.len);
    n += line_put(to + n, "\r\n");
    queue_stamp(to + n, r->connection, r->slot);
    protocol_add(out, n + QUEUE_STAMP, span_behind(r->payload, QUEUE_STAMP), "\r\n");
}

/* One command for each task: it waits for whichever answer comes next. */
static void queue_pop(const struct answer *a)
{
    char *to = outgoing_at(a->out);
    size_t n = line_put(to, "*3\r\n$5\r\nBRPOP\r\n$" QUEUE_REDIS_KEY);

    queue_name(to + n, a->connection);
    n += QUEUE_NAME;
    outgoing_wrote(a->out, n + line_put(to + n, "\r\n$1\r\n0\r\n"));
}

/* "*2", the list's name, "$64", and the answer. */
static enum answer_kind queue_popped(const char *at, size_t n, struct answer *a)
{
    static const char head[] = "*2\r\n$" QUEUE_REDIS_KEY "000000\r\n";
    size_t length = sizeof head - 1;
    size_t line = n > length ? line_size(at + length, n - length) : 0;

    if (line == 0 || n - length - line < QUEUE_STAMP)
        return ANSWER_PARTIAL;
    if (at[length] != '$')
        return ANSWER_WRONG;
    a->size = length + line + line_number(at + length + 1) + 2;
    a->slot = queue_slot(at + length + line);
    return ANSWER_GOOD;
}

static enum answer_kind queue_parse(const void *work, struct scanner *scanner, const char *at,
                                    size_t n, struct answer *a)
{
    if (*at == '*')
        return queue_popped(at, n, a);
    a->size = line_size(at, n);
    if (a->size == 0)
        return ANSWER_PARTIAL;
    if (*at != ':')
        return ANSWER_WRONG;
    queue_pop(a);
    return ANSWER_NONE;
}

const struct protocol protocol_redis_queue = {
    .name = "Redis",
    .request = queue_push,
    .parse = queue_parse,
};
