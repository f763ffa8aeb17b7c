/* Gearman, binary protocol: SUBMIT_JOB, then JOB_CREATED and WORK_COMPLETE.  Jobs are told apart by
 * the slot, which stands in the first four bytes of the payload and comes back with it; the unique
 * id is empty, so that the server need not look for a job of the same one.
 *
 * SUBMIT_JOB_BG ends with JOB_CREATED.  It has a unique id: a stored job is found by it. */
#include "tests/bench/peers/common/gearman.h"
#include "tests/bench/peers/common/line.h"
#include "tests/bench/peers/driver/protocol.h"

enum { STAMP = 4 };

/* The payload but for the bytes in front, which the slot stands for. */
static void request(const struct request *r, struct outgoing *out)
{
    const struct shape *s = r->work;
    char *to = outgoing_at(out);
    size_t name = strlen(s->method) + 1, n = GEARMAN_HEAD;

    gearman_head(to, GEARMAN_REQUEST, GEARMAN_SUBMIT_JOB, name + 1 + r->payload.len);
    memcpy(to + n, s->method, name);
    n += name;
    to[n++] = 0;
    be32_put(to + n, r->slot);
    protocol_add(out, n + STAMP, span_behind(r->payload, STAMP), "");
}

static enum answer_kind complete(const char *at, size_t n, struct answer *a)
{
    const char *handle_end = memchr(at + GEARMAN_HEAD, 0, n - GEARMAN_HEAD);

    if (!handle_end || (size_t)(handle_end + 1 + STAMP - at) > n)
        return ANSWER_PARTIAL;
    a->slot = be32_get(handle_end + 1);
    return ANSWER_GOOD;
}

static enum answer_kind parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                              struct answer *a)
{
    if (n < GEARMAN_HEAD)
        return ANSWER_PARTIAL;
    a->size = gearman_size(at);
    switch (gearman_kind(at)) {
    case GEARMAN_JOB_CREATED:
        return ANSWER_NONE;
    case GEARMAN_WORK_COMPLETE:
        return complete(at, n, a);
    default:
        return ANSWER_WRONG;
    }
}

const struct protocol protocol_gearman = {
    .name = "Gearman",
    .request = request,
    .parse = parse,
};

static void submit_background(const struct request *r, struct outgoing *out)
{
    const struct shape *s = r->work;
    char *to = outgoing_at(out);
    size_t name = strlen(s->method) + 1, n = GEARMAN_HEAD;

    memcpy(to + n, s->method, name);
    n += name;
    n += line_put_number(to + n, r->number);
    to[n++] = 0;
    gearman_head(to, GEARMAN_REQUEST, GEARMAN_SUBMIT_JOB_BG, n - GEARMAN_HEAD + r->payload.len);
    protocol_add(out, n, r->payload, "");
}

static enum answer_kind background_parse(const void *work, struct scanner *scanner, const char *at,
                                         size_t n, struct answer *a)
{
    if (n < GEARMAN_HEAD)
        return ANSWER_PARTIAL;
    a->size = gearman_size(at);
    return gearman_kind(at) == GEARMAN_JOB_CREATED ? ANSWER_GOOD : ANSWER_WRONG;
}

const struct protocol protocol_gearman_background = {
    .name = "Gearman",
    .ordered = true,
    .request = submit_background,
    .parse = background_parse,
};
