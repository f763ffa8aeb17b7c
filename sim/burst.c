#include "sim/burst.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/net.h"
#include "sim/reach.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum { PATIENCE_MS = 3600000 /* threads may stall at every other point */, READ_MAX = 16 << 10 };

static uint64_t last_id, answers;

uint64_t sim_requests(void)
{
    return answers;
}

struct sim_request *sim_burst_add(struct sim_burst *b, enum sim_deed deed, const char *method,
                                  uint32_t params)
{
    require(b->count < SIM_BURST_MAX, "a burst has too many requests");
    struct sim_request *r = &b->requests[b->count++];
    *r = (struct sim_request){.id = ++last_id, .method = method, .deed = deed};
    sim_put_request(&b->out, r->id, method, params);
    return r;
}

void sim_burst_clear(struct sim_burst *b)
{
    b->out.len = 0;
    b->count = 0;
    b->in_len = 0;
}

bool sim_error_is(const struct sim_request *r, const char *name)
{
    size_t len = strlen(name);
    return r->error.len >= len && memcmp(r->error.at, name, len) == 0;
}

static struct sim_request *find(struct sim_burst *b, uint64_t id)
{
    for (uint32_t n = 0; n < b->count; n++)
        if (b->requests[n].id == id)
            return &b->requests[n];
    return NULL;
}

static void take_answer(struct sim_burst *b, const struct sim_answer *a)
{
    struct sim_request *r = find(b, a->id);
    if (!r)
        sim_finding("answers: %" PRIu64 " was answered, and was not asked", a->id);
    if (r->answered)
        sim_finding("answers: %" PRIu64 " was answered twice", a->id);
    r->answered = true;
    r->answered_at = sim_now();
    answers++;
}

/* Spans of answers are set at the end: the input moves while it grows. */
static uint32_t take_messages(struct sim_burst *b, struct scanner *s, size_t *from)
{
    struct sim_answer a;
    bool is_answer;
    uint32_t count = 0;
    size_t len;
    while ((len = sim_read_message(s, span_of(b->in + *from, b->in_len - *from), &a, &is_answer))) {
        if (is_answer) {
            take_answer(b, &a);
            count++;
        }
        *from += len;
    }
    return count;
}

static void set_spans(struct sim_burst *b)
{
    struct scanner s;
    struct sim_answer a;
    bool is_answer;
    size_t len, from = 0;
    scanner_init(&s);
    while ((len = sim_read_message(&s, span_of(b->in + from, b->in_len - from), &a, &is_answer))) {
        struct sim_request *r = is_answer ? find(b, a.id) : NULL;
        if (r) {
            r->error = a.error;
            r->result = a.result;
            sim_reach(a.error, a.result);
        }
        from += len;
    }
}

static size_t receive(struct sim_burst *b, struct sim_link *l, uint64_t until)
{
    if (b->in_room - b->in_len < READ_MAX) {
        b->in_room = b->in_room * 2 + READ_MAX;
        b->in = realloc(b->in, b->in_room);
        require(b->in != NULL, "no memory for answers");
    }
    size_t len = sim_net_receive(l, b->in + b->in_len, READ_MAX, until);
    b->in_len += len;
    return len;
}

void sim_burst_send(struct sim_burst *b, struct sim_link *l)
{
    sim_net_send(l, span_of(b->out.at, b->out.len));
}

static const struct sim_request *first_open(const struct sim_burst *b)
{
    const struct sim_request *r = b->requests;
    while (r->answered)
        r++;
    return r;
}

bool sim_burst_run(struct sim_burst *b, struct sim_link *l)
{
    uint32_t left = b->count;
    struct scanner s;
    size_t from = 0;
    uint64_t until = sim_now() + SIM_MS(PATIENCE_MS);
    scanner_init(&s);
    sim_burst_send(b, l);
    while (left > 0 && (receive(b, l, until) > 0 || !sim_net_ended(l))) {
        left -= take_messages(b, &s, &from);
        if (left > 0 && sim_now() >= until)
            sim_finding("answers: %u requests wait for an hour, the first for %s", left,
                        first_open(b)->method);
    }
    set_spans(b);
    return left == 0;
}
