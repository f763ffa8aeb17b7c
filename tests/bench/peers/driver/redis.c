/* Redis: ECHO, RPUSH to one list, and INCR of a key; all answered in the main loop.  RPUSH, and
 * then WAIT for a replica.  And a task by way of a worker: LPUSH to the list of tasks, and when
 * that is done BRPOP from the list of answers. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/common/queue.h"
#include "tests/bench/peers/driver/keys.h"

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

static void incr(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "*2\r\n$4\r\nINCR\r\n$");

    n += line_put_number(to + n, KEY_LENGTH);
    n += line_put(to + n, "\r\n");
    key_put(to + n, r);
    outgoing_wrote(out, n + KEY_LENGTH + line_put(to + n + KEY_LENGTH, "\r\n"));
}

const struct protocol protocol_redis_incr = {
    .name = "Redis",
    .ordered = true,
    .request = incr,
    .parse = parse_push,
};

/* --- One task, or sixteen, and one WAIT for all of them --- */

enum { WAIT_MANY = 16 };

static void push_and_wait(const struct request *r, struct outgoing *out, unsigned tasks)
{
    static const char wait[] = "*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n";

    for (unsigned n = 0; n < tasks; n++)
        push(r, out);
    outgoing_add(out, wait, sizeof wait - 1);
}

/* A line of each RPUSH, and that of WAIT: how many replicas have it. */
static enum answer_kind parse_wait(const char *at, size_t n, unsigned tasks, struct answer *a)
{
    bool good = true;

    a->size = 0;
    for (unsigned lines = 0; lines <= tasks; lines++) {
        size_t line = line_size(at + a->size, n - a->size);
        if (line == 0)
            return ANSWER_PARTIAL;
        good = good && at[a->size] == ':' && at[a->size + 1] != '0';
        a->size += line;
    }
    return good ? ANSWER_GOOD : ANSWER_WRONG;
}

static void push_one(const struct request *r, struct outgoing *out)
{
    push_and_wait(r, out, 1);
}

static enum answer_kind parse_one(const void *work, struct scanner *scanner, const char *at,
                                  size_t n, struct answer *a)
{
    return parse_wait(at, n, 1, a);
}

const struct protocol protocol_redis_wait = {
    .name = "Redis",
    .ordered = true,
    .request = push_one,
    .parse = parse_one,
};

static void push_many(const struct request *r, struct outgoing *out)
{
    push_and_wait(r, out, WAIT_MANY);
}

static enum answer_kind parse_many(const void *work, struct scanner *scanner, const char *at,
                                   size_t n, struct answer *a)
{
    return parse_wait(at, n, WAIT_MANY, a);
}

const struct protocol protocol_redis_wait_16 = {
    .name = "Redis",
    .ordered = true,
    .request = push_many,
    .parse = parse_many,
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
