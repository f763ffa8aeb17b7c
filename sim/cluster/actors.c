#include "sim/cluster/actors.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum { CALLS_MAX = 2048, GIVEN_MOST = 9 };

static struct call {
    bool gives;  /* to the next counter; else it adds one */
    bool unsure; /* once there was no answer, or one that says that */
    bool ended, done;
    int64_t result;
} calls[CALLS_MAX + 1];
static uint64_t call_count, doubtful; /* doubtful: these may have been done */
static int64_t added;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_DEEDS, n);
}

static void put_counter(struct sim_bytes *out, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "counter/%" PRIu64, number % SIM_COUNTERS);
    sim_put_text(out, name);
}

static void put(struct sim_burst *b, uint64_t number)
{
    char key[24];
    const struct call *c = &calls[number];
    sim_burst_add(b, SIM_CALL, "actor.call", 4)->serial = number;
    put_counter(&b->out, number);
    sim_put_text(&b->out, c->gives ? "give" : "add");
    sim_put_array(&b->out, c->gives ? 2 : 1);
    if (c->gives)
        put_counter(&b->out, number + 1);
    sim_put_uint(&b->out, c->gives ? 1 + number % GIVEN_MOST : 1);
    sim_put_map(&b->out, 1);
    snprintf(key, sizeof key, "c%" PRIu64, number);
    sim_put_text(&b->out, "key");
    sim_put_text(&b->out, key);
}

bool sim_cluster_call_actor(struct sim_burst *b, struct sim_open_calls *open)
{
    uint64_t before = call_count > 0 ? 1 + below(call_count) : 0;
    if (open->count == SIM_CALLS_OPEN)
        return false;
    if (before > 0 && below(4) == 0 && calls[before].done) {
        put(b, before);
        return true;
    }
    if (call_count == CALLS_MAX)
        return false;
    calls[++call_count].gives = below(3) == 0;
    put(b, call_count);
    return true;
}

void sim_cluster_call_again(struct sim_burst *b, struct sim_open_calls *open, uint32_t most)
{
    while (open->count > 0 && b->count < most)
        put(b, open->numbers[--open->count]);
}

/* --- Answers --- */

static bool says_nothing(const struct sim_request *r)
{
    return !r->answered || sim_error_is(r, "UNSURE") || sim_error_is(r, "BUSY") ||
           sim_error_is(r, "DRAINING");
}

static void note_result(struct call *c, uint64_t number, int64_t result)
{
    if (c->done && c->result != result)
        sim_finding("once: call %" PRIu64 " was answered %" PRId64 ", and then %" PRId64, number,
                    c->result, result);
    added += !c->done && !c->gives;
    c->done = c->ended = true;
    c->result = result;
}

void sim_cluster_called(struct sim_open_calls *open, const struct sim_request *r)
{
    struct call *c = &calls[r->serial];
    struct reader reader = reader_of(r->result);
    int64_t result = 0;
    if (says_nothing(r)) {
        c->unsure |= !r->answered || sim_error_is(r, "UNSURE");
        if (!c->ended && open->count < SIM_CALLS_OPEN)
            open->numbers[open->count++] = r->serial;
        else if (!c->ended)
            doubtful += !c->gives;
        return;
    }
    sim_tell("call %" PRIu64 ": %.*s", r->serial, (int)r->error.len, r->error.at);
    if (r->error.len == 0 && read_int(&reader, &result))
        note_result(c, r->serial, result);
    else if (!c->ended) /* what was not known before may have been done, and is not known now */
        doubtful += c->unsure && !c->gives;
    c->ended = true;
}

/* --- In calm --- */

void sim_cluster_read_counters(struct sim_burst *b, uint64_t from)
{
    (void)from;
    for (uint64_t n = 0; n < SIM_COUNTERS; n++) {
        sim_burst_add(b, SIM_OTHER, "actor.call", 2);
        put_counter(&b->out, n);
        sim_put_text(&b->out, "get");
    }
}

bool sim_cluster_check_counters(const struct sim_burst *b, bool last)
{
    int64_t sum = 0, one;
    bool good = b->count == SIM_COUNTERS;
    for (uint32_t n = 0; n < b->count; n++) {
        struct reader reader = reader_of(b->requests[n].result);
        good &= b->requests[n].error.len == 0 && read_int(&reader, &one);
        sum += good ? one : 0;
    }
    good &= sum >= added && sum <= added + (int64_t)doubtful;
    if (!good && last)
        sim_finding("once: the counters have %" PRId64 ", and %" PRId64 " was added (%" PRIu64
                    " more are doubtful)",
                    sum, added, doubtful);
    return good;
}
