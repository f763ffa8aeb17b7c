/* Beanstalk: put and reserve in one write, and delete when the job has come back, all on one
 * connection.  No result goes back to whoever put it, so this is less work than a task.  And put
 * alone. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

static size_t head(const struct shape *s, struct place p, char *to)
{
    size_t n = line_put(to, "put 0 0 60 ");

    (void)p;
    n += line_put_number(to + n, s->payload);
    return n + line_put(to + n, "\r\n");
}

static enum answer_kind reserved(const char *at, size_t line, struct answer *a)
{
    size_t n = line_put(a->follow, "delete ");

    n += line_put_number(a->follow + n, line_number(at + strlen("RESERVED ")));
    a->followed = n + line_put(a->follow + n, "\r\n");
    a->size = line + line_last_number(at, line) + 2;
    return ANSWER_NONE;
}

static enum answer_kind parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    size_t line = line_size(at, n);

    (void)s;
    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line;
    if (line_starts(at, n, "INSERTED "))
        return ANSWER_NONE;
    if (line_starts(at, n, "RESERVED "))
        return reserved(at, line, a);
    return line_starts(at, n, "DELETED") ? ANSWER_TASK : ANSWER_WRONG;
}

const struct protocol protocol_beanstalk = {
    .name = "beanstalk",
    .task = "put and reserve, then delete, on one connection; no result",
    .method = "",
    .ordered = true,
    .head = head,
    .tail = "\r\nreserve\r\n",
    .parse = parse,
};

static enum answer_kind put_parse(const struct shape *s, const char *at, size_t n, struct answer *a)
{
    (void)s;
    a->size = line_size(at, n);
    if (a->size == 0)
        return ANSWER_PARTIAL;
    return line_starts(at, n, "INSERTED ") ? ANSWER_TASK : ANSWER_WRONG;
}

const struct protocol protocol_beanstalk_put = {
    .name = "beanstalk-put",
    .task = "put",
    .method = "",
    .ordered = true,
    .head = head,
    .tail = "\r\n",
    .parse = put_parse,
};
