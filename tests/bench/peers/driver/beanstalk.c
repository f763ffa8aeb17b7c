/* Beanstalk: put and reserve in one write, and delete when the job has come back, all on one
 * connection.  No result goes back to whoever put it, so this is less work than a task.  And put
 * alone.  And a task by way of a worker: put, then reserve from the tube of answers, and delete. */
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/common/queue.h"
#include "tests/bench/peers/driver/protocol.h"

static inline __attribute__((always_inline)) void add_put(const struct request *r,
                                                          struct outgoing *out, const char *tail)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "put 0 0 60 ");

    n += line_put_number(to + n, r->payload.len);
    protocol_add(out, n + line_put(to + n, "\r\n"), r->payload, tail);
}

static void put_and_reserve(const struct request *r, struct outgoing *out)
{
    add_put(r, out, "\r\nreserve\r\n");
}

static void reserved(const char *at, size_t line, struct answer *a)
{
    char *to = outgoing_at(a->out);
    size_t n = line_put(to, "delete ");

    n += line_put_number(to + n, line_number(at + strlen("RESERVED ")));
    outgoing_wrote(a->out, n + line_put(to + n, "\r\n"));
    a->size = line + line_last_number(at, line) + 2;
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line;
    if (line_starts(at, n, "INSERTED "))
        return ANSWER_NONE;
    if (line_starts(at, n, "RESERVED "))
        return reserved(at, line, a), ANSWER_NONE;
    return line_starts(at, n, "DELETED") ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_beanstalk = {
    .name = "Beanstalk",
    .ordered = true,
    .request = put_and_reserve,
    .parse = parse,
};

static void put(const struct request *r, struct outgoing *out)
{
    add_put(r, out, "\r\n");
}

static enum answer_kind put_parse(const void *work, struct scanner *scanner, const char *at,
                                  size_t n, struct answer *a)
{
    a->size = line_size(at, n);
    if (a->size == 0)
        return ANSWER_PARTIAL;
    return line_starts(at, n, "INSERTED ") ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_beanstalk_put = {
    .name = "Beanstalk",
    .ordered = true,
    .request = put,
    .parse = put_parse,
};

static void queue_hello(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "use tasks\r\nwatch r");

    queue_name(to + n, r->connection);
    n += QUEUE_NAME;
    outgoing_wrote(out, n + line_put(to + n, "\r\nignore default\r\n"));
}

static void queue_put(const struct request *r, struct outgoing *out)
{
    char *to = outgoing_at(out);
    size_t n = line_put(to, "put 0 0 60 ");

    n += line_put_number(to + n, r->payload.len);
    n += line_put(to + n, "\r\n");
    queue_stamp(to + n, r->connection, r->slot);
    protocol_add(out, n + QUEUE_STAMP, span_behind(r->payload, QUEUE_STAMP), "\r\n");
}

static enum answer_kind queue_parse(const void *work, struct scanner *scanner, const char *at,
                                    size_t n, struct answer *a)
{
    size_t line = line_size(at, n);

    if (line == 0)
        return ANSWER_PARTIAL;
    a->size = line;
    if (line_starts(at, n, "RESERVED ")) {
        if (n - line < QUEUE_STAMP)
            return ANSWER_PARTIAL;
        reserved(at, line, a);
        a->slot = queue_slot(at + line);
        return ANSWER_GOOD;
    }
    if (line_starts(at, n, "INSERTED "))
        outgoing_add(a->out, "reserve\r\n", strlen("reserve\r\n"));
    else if (!line_starts(at, n, "DELETED") && !line_starts(at, n, "USING ") &&
             !line_starts(at, n, "WATCHING "))
        return ANSWER_WRONG;
    return ANSWER_NONE;
}

const struct protocol protocol_beanstalk_queue = {
    .name = "Beanstalk",
    .hello = queue_hello,
    .request = queue_put,
    .parse = queue_parse,
};
