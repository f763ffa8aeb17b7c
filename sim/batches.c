#include "sim/batches.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/memory.h"
#include "sim/promises.h"
#include "sim/system.h"
#include "sim/trace.h"

enum {
    BATCHES_MAX = 48,
    MEMBERS_MAX = 4,
    CALLS = 3,
    PAGE = 1000,
    PAGES = 100,
    FOUND_MAX = 8192,
    SHOWN = 900
};

static const char tenant[] = "batches";
static const char *const calls[CALLS] = {"on_success", "on_failure", "on_end"};

static struct batch {
    char id[SIM_ID];
    uint64_t tag;     /* of what follows it */
    uint64_t members; /* that were answered */
    uint32_t life;    /* of the server, in which it was made */
    bool durable, cancelled;
    uint8_t *ended; /* how it was answered when it had ended; NULL: not yet */
    size_t ended_len;
} batches[BATCHES_MAX];
static uint32_t batch_count;
static uint64_t tags;
static uint32_t life;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_DEEDS, n);
}

void sim_batches_node_started(void)
{
    life++;
}

/* Of one that is in memory nothing is known after a death. */
static bool is_there(const struct batch *b)
{
    return b->durable || b->life == life;
}

static struct batch *any(void)
{
    struct batch *b = batch_count > 0 ? &batches[below(batch_count)] : NULL;
    return b && is_there(b) ? b : NULL;
}

static void put_name(struct sim_bytes *out, const char *name, const char *value)
{
    sim_put_text(out, name);
    sim_put_text(out, value);
}

/* --- batch.create --- */

static void heed_create(struct sim_request *r)
{
    if (r->error.len > 0 || batch_count == BATCHES_MAX)
        return;
    struct batch *b = &batches[batch_count++];
    struct span id = sim_member_text(r->result, "id");
    memcpy(b->id, id.at, id.len < SIM_ID ? id.len : SIM_ID - 1);
    b->tag = r->note;
    b->life = life;
    b->durable = span_is(sim_member_text(r->result, "durable"), "fsync");
    sim_tell("batch %s, tag %" PRIu64, b->id, b->tag);
}

static void put_call(struct sim_bytes *out, uint32_t which, uint64_t tag)
{
    sim_put_text(out, calls[which]);
    sim_put_array(out, 3);
    sim_put_text(out, "echo");
    sim_put_array(out, 2);
    sim_put_uint(out, tag);
    sim_put_uint(out, which);
    sim_put_map(out, 1);
    put_name(out, "keep", "100d");
}

void sim_create_batch(struct sim_burst *b, uint32_t client)
{
    (void)client;
    struct sim_request *r = sim_burst_add(b, SIM_OTHER, "batch.create", 1);
    const struct batch *parent = sim_one_in(SIM_DEEDS, 4) ? any() : NULL;
    bool durable = parent ? parent->durable : !sim_one_in(SIM_DEEDS, 4);
    r->heed = heed_create;
    r->note = ++tags;
    sim_put_map(&b->out, 3 + CALLS + (parent != NULL));
    put_name(&b->out, "tenant", tenant);
    put_name(&b->out, "durable", durable ? "fsync" : "none");
    put_name(&b->out, "keep", "100d");
    for (uint32_t which = 0; which < CALLS; which++)
        put_call(&b->out, which, r->note);
    if (parent)
        put_name(&b->out, "parent", parent->id);
}

/* --- batch.add --- */

static void heed_add(struct sim_request *r)
{
    struct reader reader = reader_of(r->result);
    struct span one;
    uint32_t count = 0;
    if (r->error.len > 0 || !read_array(&reader, &count))
        return;
    for (uint32_t n = 0; n < count && read_any(&reader, &one); n++)
        batches[r->note].members += sim_member_text(one, "id").len > 0;
}

static void put_id(struct sim_burst *b, const struct batch *of)
{
    sim_put_text(&b->out, of ? of->id : "b0000000000001");
}

void sim_add_to_batch(struct sim_burst *b, uint32_t client)
{
    struct batch *of = any();
    uint64_t count = 1 + below(MEMBERS_MAX);
    if (!of) {
        sim_create_batch(b, client);
        return;
    }
    struct sim_request *r = sim_burst_add(b, SIM_OTHER, "batch.add", 3);
    r->heed = heed_add;
    r->note = (uint64_t)(of - batches);
    put_id(b, of);
    sim_put_array(&b->out, (uint32_t)count);
    for (; count > 0; count--) {
        sim_put_array(&b->out, 2);
        sim_put_text(&b->out, sim_one_in(SIM_DEEDS, 6) ? "fail" : "sleep");
        sim_put_array(&b->out, 1);
        sim_put_uint(&b->out, below(200));
    }
    sim_put_map(&b->out, 3);
    put_name(&b->out, "tenant", tenant);
    put_name(&b->out, "durable", of->durable ? "fsync" : "none");
    sim_put_text(&b->out, "keep");
    sim_put_uint(&b->out, sim_one_in(SIM_DEEDS, 2) ? 0 : 3600000);
}

/* --- batch.close, cancel, get, list --- */

static void heed_get(struct sim_request *r)
{
    struct batch *b = &batches[r->note];
    if (r->error.len > 0) {
        if (sim_error_is(r, "NOT_FOUND") && is_there(b))
            sim_finding("batches: %s is not there", b->id);
        return;
    }
    uint64_t open = sim_member_uint(r->result, "open"), sum = open;
    static const char *const ends[] = {"done", "failed", "cancelled", "expired", "dead"};
    for (unsigned n = 0; n < sizeof ends / sizeof *ends; n++)
        sum += sim_member_uint(r->result, ends[n]);
    if (sum != sim_member_uint(r->result, "total"))
        sim_finding("batches: the counts of %s are no sum", b->id);
    if (!span_is(sim_member_text(r->result, "state"), "ended"))
        return;
    if (open > 0)
        sim_finding("batches: %s has ended, and %" PRIu64 " members are open", b->id, open);
    if (b->ended && !span_equal(span_of(b->ended, b->ended_len), r->result))
        sim_finding("batches: %s has ended, and is another than it was", b->id);
    if (b->ended || !(b->ended = malloc(r->result.len)))
        return;
    memcpy(b->ended, r->result.at, r->result.len);
    b->ended_len = r->result.len;
}

static void about(struct sim_burst *b, const char *method, struct batch *of)
{
    struct sim_request *r = sim_burst_add(b, SIM_OTHER, method, 1);
    put_id(b, of);
    if (!of)
        return;
    r->heed = heed_get; /* all are answered with the batch */
    r->note = (uint64_t)(of - batches);
}

void sim_close_batch(struct sim_burst *b, uint32_t client)
{
    (void)client;
    about(b, "batch.close", any());
}

void sim_cancel_batch(struct sim_burst *b, uint32_t client)
{
    struct batch *of = any();
    if (!sim_one_in(SIM_DEEDS, 4) || !of) {
        sim_get_batch(b, client);
        return;
    }
    of->cancelled = true;
    about(b, "batch.cancel", of);
}

void sim_get_batch(struct sim_burst *b, uint32_t client)
{
    (void)client;
    about(b, "batch.get", any());
}

void sim_list_batches(struct sim_burst *b, uint32_t client)
{
    (void)client;
    sim_burst_add(b, SIM_OTHER, "batch.list", 1);
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "limit");
    sim_put_uint(&b->out, 1 + below(10));
}

/* --- The end of the run --- */

static struct span list_open(struct sim_burst *b, struct sim_link *l)
{
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "batch.list", 1);
    sim_put_map(&b->out, 2);
    put_name(&b->out, "state", "open");
    sim_put_text(&b->out, "limit");
    sim_put_uint(&b->out, PAGE);
    if (!sim_burst_run(b, l))
        sim_finding("answers: a connection ended in calm");
    return sim_member(b->requests[0].result, "batches");
}

/* Returns how many it has closed. */
static uint32_t close_page(struct sim_burst *b, struct sim_link *l)
{
    static char ids[PAGE][SIM_ID];
    struct reader r = reader_of(list_open(b, l));
    struct span one;
    uint32_t count = 0, known = 0;
    read_array(&r, &count);
    for (; known < count && known < PAGE && read_any(&r, &one); known++) {
        struct span id = sim_member_text(one, "id");
        memset(ids[known], 0, SIM_ID);
        memcpy(ids[known], id.at, id.len < SIM_ID ? id.len : SIM_ID - 1);
    }
    for (uint32_t n = 0; n < known; n++) {
        sim_burst_clear(b);
        sim_burst_add(b, SIM_OTHER, "batch.close", 1);
        sim_put_text(&b->out, ids[n]);
        if (!sim_burst_run(b, l))
            sim_finding("answers: a connection ended in calm");
    }
    return known;
}

/* Those, too, whose answer was lost. */
void sim_batches_calm(struct sim_burst *b, struct sim_link *l)
{
    for (unsigned pages = 0; pages < PAGES && close_page(b, l) > 0; pages++)
        ;
}

/* The callbacks of a batch, by tasks that were found. */
static struct {
    uint64_t tag, which;
} found[FOUND_MAX];
static uint32_t found_count;

static void note(struct span task)
{
    struct span text = sim_member_text(task, "params_text");
    char copy[64] = "";
    if (!span_is(sim_member_text(task, "method"), "echo") || found_count == FOUND_MAX)
        return;
    memcpy(copy, text.at, text.len < sizeof copy ? text.len : sizeof copy - 1);
    if (sscanf(copy, "[%" SCNu64 ",%" SCNu64 "]", &found[found_count].tag,
               &found[found_count].which) == 2)
        found_count++;
}

static void find_all(struct sim_burst *b, struct sim_link *l)
{
    char cursor[80] = "";
    do {
        sim_burst_clear(b);
        sim_burst_add(b, SIM_OTHER, "task.list", 1);
        sim_put_map(&b->out, 3 + (*cursor != '\0'));
        put_name(&b->out, "tenant", tenant);
        sim_put_text(&b->out, "params_text");
        sim_put_bool(&b->out, true);
        sim_put_text(&b->out, "limit");
        sim_put_uint(&b->out, PAGE);
        if (*cursor)
            put_name(&b->out, "cursor", cursor);
        struct span page = sim_burst_run(b, l) ? b->requests[0].result : span_of(NULL, 0);
        struct span next = sim_member_text(page, "next"), task;
        struct reader r = reader_of(sim_member(page, "tasks"));
        uint32_t count = 0;
        read_array(&r, &count);
        for (uint32_t n = 0; n < count && read_any(&r, &task); n++)
            note(task);
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.len, (const char *)next.at);
    } while (*cursor);
}

static void check_calls(const struct batch *b, struct span said)
{
    struct span outcome = sim_member_text(said, "outcome");
    char text[SHOWN];
    sim_show(said, text, sizeof text);
    bool done = span_is(outcome, "done"), failed = span_is(outcome, "failed");
    for (uint32_t which = 0; which < CALLS; which++) {
        uint32_t count = 0;
        for (uint32_t n = 0; n < found_count; n++)
            count += found[n].tag == b->tag && found[n].which == which;
        /* The first failure may have come before a cancel, or before it was tried again. */
        bool due = which == 0 ? done : which == 1 ? failed : true;
        bool may = which != 1 || due;
        if (count > 1 || (due && count == 0) || (may && !due && count > 0))
            sim_finding("batches: %s is %.*s, and %s came %" PRIu32 " times: %s", b->id,
                        (int)outcome.len, (const char *)outcome.at, calls[which], count, text);
    }
}

static void check(struct sim_burst *b, struct sim_link *l, struct batch *of)
{
    sim_burst_clear(b);
    about(b, "batch.get", of);
    if (!sim_burst_run(b, l) || b->requests[0].error.len > 0)
        return; /* heed_get() has looked at that */
    struct span said = b->requests[0].result, state = sim_member_text(said, "state");
    uint64_t total = sim_member_uint(said, "total");
    if (!span_is(state, "ended"))
        sim_finding("batches: %s is %.*s in calm", of->id, (int)state.len, (const char *)state.at);
    else if (!sim_may_be_forgotten())
        check_calls(of, said);
    if (total < of->members)
        sim_finding("batches: %s counts %" PRIu64 " members, and %" PRIu64 " were answered", of->id,
                    total, of->members);
}

void sim_check_batches(struct sim_burst *b, struct sim_link *l)
{
    find_all(b, l);
    for (uint32_t n = 0; n < batch_count; n++)
        if (is_there(&batches[n]))
            check(b, l, &batches[n]);
}
