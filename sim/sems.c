#include "sim/sems.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/limits.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"

enum { HOLDERS_MAX = 2, HOLDS_MAX = 1024, SECRET = 48, SLACK_MS = 5 };

struct hold {
    const struct sim_limit *limit;
    uint64_t permits, fence, grace; /* ns */
    uint64_t from, until;           /* for certain */
    char secret[SECRET];
};

struct holder {
    struct sim_burst burst;
    struct sim_link *link;
    struct hold *of;
};

static struct hold holds[HOLDS_MAX];
static uint32_t hold_count;
static struct holder holders[HOLDERS_MAX];
static uint32_t holder_count;
static uint64_t last_fence; /* the highest that was answered */
static bool calm;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_WORK, n);
}

/* --- The wire --- */

static void put_option(struct holder *h, const char *name, uint64_t value)
{
    sim_put_text(&h->burst.out, name);
    sim_put_uint(&h->burst.out, value);
}

static struct sim_bytes *begin(struct holder *h, const char *method, uint32_t params)
{
    sim_burst_clear(&h->burst);
    sim_burst_add(&h->burst, SIM_OTHER, method, params);
    return &h->burst.out;
}

/* NULL: the connection has ended. */
static const struct sim_request *ask(struct holder *h)
{
    return sim_burst_run(&h->burst, h->link) ? &h->burst.requests[0] : NULL;
}

static const struct sim_request *ask_about(struct holder *h, const struct hold *of,
                                           const char *method)
{
    struct sim_bytes *out = begin(h, method, 2);
    sim_put_text(out, of->limit->key);
    sim_put_text(out, of->secret);
    return ask(h);
}

/* --- A hold --- */

static void note_fence(const struct hold *of, uint64_t before)
{
    if (of->fence <= before)
        sim_finding("semaphores: fence %" PRIu64 " of %s was given after %" PRIu64, of->fence,
                    of->limit->key, before);
    if (of->fence > last_fence)
        last_fence = of->fence;
}

/* NULL: it got none. */
static struct hold *acquire(struct holder *h)
{
    struct hold of = {.limit = sim_limit_any(), .until = SIM_NEVER};
    uint64_t before = last_fence;
    of.permits = 1 + below(of.limit->max);
    of.grace = SIM_MS(200 + below(800));
    struct sim_bytes *out = begin(h, "sem.acquire", 2);
    sim_put_text(out, of.limit->key);
    sim_put_map(out, 4);
    put_option(h, "permits", of.permits);
    put_option(h, "of", of.limit->max);
    put_option(h, "wait", below(300));
    put_option(h, "grace", of.grace / 1000000);
    const struct sim_request *r = ask(h);
    if (!r || r->error.len > 0 || hold_count == HOLDS_MAX)
        return NULL;
    struct span secret = sim_member_text(r->result, "hold");
    memcpy(of.secret, secret.at, secret.len < SECRET ? secret.len : SECRET - 1);
    of.fence = sim_member_uint(r->result, "fence");
    of.from = sim_now();
    note_fence(&of, before);
    holds[hold_count] = of;
    sim_tell("holds %" PRIu64 " of %s, fence %" PRIu64, of.permits, of.limit->key, of.fence);
    return &holds[hold_count++];
}

/* From now on it is certain for its grace alone. */
static void lose(struct holder *h, struct hold *of)
{
    of->until = sim_net_ended_at(h->link) + of->grace;
    sim_tell("fence %" PRIu64 " is certain for %" PRIu64 " ms", of->fence, of->grace / 1000000);
    sim_net_leave(h->link);
    h->link = NULL;
}

static void come_again(struct holder *h)
{
    while (!sim_node_up())
        sim_wait_for(holders, SIM_NEVER);
    h->link = sim_node_connect();
}

/* Its grace was over, and the server died before that was on disk: so it is held again, and was not
 * meanwhile. */
static void hold_anew(struct holder *h)
{
    if (hold_count == HOLDS_MAX)
        return;
    holds[hold_count] = *h->of;
    h->of = &holds[hold_count++];
    h->of->from = sim_now();
    h->of->until = SIM_NEVER;
}

/* False: it is no longer its own. */
static bool resume(struct holder *h)
{
    struct hold *of = h->of;
    come_again(h);
    const struct sim_request *r = ask_about(h, of, "sem.resume");
    if (r)
        sim_tell("resumes fence %" PRIu64 ": %.*s", of->fence, (int)r->error.len, r->error.at);
    bool in_time = sim_now() + SIM_MS(SLACK_MS) < of->until;
    if (r && in_time && !sim_clock_leapt() && sim_error_is(r, "FENCED"))
        sim_finding("semaphores: hold %" PRIu64 " of %s is fenced, and its grace is not over",
                    of->fence, of->limit->key);
    if (!r || r->error.len > 0)
        return false;
    if (sim_now() < of->until)
        of->until = SIM_NEVER;
    else
        hold_anew(h);
    return true;
}

/* False: the hold is over, or may be. */
static bool hold_on(struct holder *h)
{
    struct hold *of = h->of;
    if (sim_net_ended(h->link) || below(6) == 0) {
        lose(h, of);
        sim_sleep_for(1 + below(of->grace + SIM_MS(20)));
        return resume(h);
    }
    if (below(2) == 0)
        return true;
    const struct sim_request *r = ask_about(h, of, "sem.renew");
    if (r && r->error.len > 0)
        of->until = sim_now();
    return r ? r->error.len == 0 : hold_on(h);
}

static void release(struct holder *h, struct hold *of)
{
    of->until = sim_now();
    if (h->link)
        ask_about(h, of, "sem.release");
}

static void hold_for_a_while(struct holder *h)
{
    uint64_t turns = below(4);
    bool good = true;
    while (good && turns-- > 0 && !calm) {
        sim_sleep_for(1 + below(SIM_MS(60)));
        good = hold_on(h);
    }
    if (good)
        release(h, h->of);
}

static void run_holder(void *arg)
{
    struct holder *h = arg;
    for (;;) {
        if (calm) {
            sim_sleep_for(SIM_MS(3600000));
            continue;
        }
        come_again(h);
        h->of = acquire(h);
        if (h->of)
            hold_for_a_while(h);
        if (h->link)
            sim_net_leave(h->link);
        h->link = NULL;
        sim_sleep_for(1 + below(SIM_MS(100)));
    }
}

/* --- The run's --- */

void sim_holders_shape(void)
{
    holder_count = (uint32_t)sim_below(SIM_SHAPE, HOLDERS_MAX + 1);
}

void sim_holders_spawn(void)
{
    for (uint32_t n = 0; n < holder_count; n++) {
        char name[24];
        snprintf(name, sizeof name, "holder %u", n);
        sim_spawn(SIM_WORLD, name, run_holder, &holders[n]);
    }
}

void sim_holders_wake(void)
{
    sim_wake_all(holders);
}

void sim_holders_calm(void)
{
    calm = true;
}

/* Where the machine slept, holds may have been taken back earlier. */
uint64_t sim_held_at(const char *key, uint64_t time)
{
    uint64_t sum = 0;
    if (sim_clock_leapt())
        return 0;
    for (const struct hold *of = holds; of < holds + hold_count; of++)
        if (strcmp(of->limit->key, key) == 0 && of->from <= time && of->until > time)
            sum += of->permits;
    return sum;
}

void sim_check_holds(uint64_t (*taken_by_tasks)(const char *key, uint64_t time))
{
    for (const struct hold *of = holds; of < holds + hold_count; of++) {
        uint64_t taken =
            sim_held_at(of->limit->key, of->from) + taken_by_tasks(of->limit->key, of->from);
        if (taken > of->limit->max)
            sim_finding("semaphores: %" PRIu64 " of %" PRIu64 " permits of %s are taken as fence "
                        "%" PRIu64 " is answered at %" PRIu64 " us",
                        taken, of->limit->max, of->limit->key, of->fence, of->from / 1000);
    }
}

/* --- Deeds of clients --- */

static void put_name(struct sim_burst *b, const char *method, uint32_t params,
                     const struct sim_limit *limit)
{
    sim_burst_add(b, SIM_OTHER, method, params);
    sim_put_text(&b->out, limit->key);
}

void sim_create_sem(struct sim_burst *b, uint32_t client)
{
    const struct sim_limit *limit = sim_limit_any();
    (void)client;
    put_name(b, "sem.create", 2, limit);
    sim_put_uint(&b->out, limit->max);
}

void sim_explain_sem(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put_name(b, "sem.explain", 1, sim_limit_any());
}

void sim_delete_sem(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put_name(b, "sem.delete", 1, sim_limit_any());
}

/* A fence that nobody has. */
void sim_revoke_sem(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put_name(b, "sem.revoke", 2, sim_limit_any());
    sim_put_uint(&b->out, 1);
}
