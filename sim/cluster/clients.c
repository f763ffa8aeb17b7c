#include "sim/cluster/clients.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/cluster/actors.h"
#include "sim/cluster/engine.h"
#include "sim/cluster/handlers.h"
#include "sim/cluster/jobs.h"
#include "sim/cluster/nodes.h"
#include "sim/feed.h"
#include "sim/net.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum {
    CLIENTS_MAX = 4,
    BURST_MAX = 16,
    WAITING_BURST = 4, /* while a fault waits for another owner, which may take long */
    WAITING_MS = 500,
    OPEN_MAX = 64, /* submissions with a key whose outcome is not known: they are sent again */
    KILLERS_MAX = 1,
    HOLDERS_MAX = 4,
    PERMITS = 2,
    FENCES_MAX = 4096
};

static struct client {
    uint32_t index;
    struct sim_burst burst;
    struct sim_job *again[OPEN_MAX];
    uint32_t again_count;
    struct sim_open_calls calls;
    bool idle;
    bool reads; /* alone, so that it waits for no row */
} clients[CLIENTS_MAX + 1];
static uint32_t client_count, holder_count, killers, killers_max;
static bool calm, has_cron;
static struct {
    uint32_t burst, weights[18], sum;
    uint64_t pause, length; /* ns; ms of a task */
} shape;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_DEEDS, n);
}

/* --- Submissions --- */

static void put_option(struct sim_bytes *out, const char *name, uint64_t value)
{
    sim_put_text(out, name);
    sim_put_uint(out, value);
}

static enum sim_plan choose_plan(struct sim_job *j)
{
    static const enum sim_plan plans[] = {SIM_DONE, SIM_DONE,  SIM_DONE, SIM_DONE,
                                          SIM_DONE, SIM_FAILS, SIM_LATER};
    j->kills = killers < killers_max && below(16) == 0;
    killers += j->kills;
    return j->kills ? SIM_KILLS : plans[below(sizeof plans / sizeof *plans)];
}

static void put_limit(struct sim_bytes *out)
{
    sim_put_text(out, "limit");
    sim_put_map(out, 2);
    sim_put_text(out, "key");
    sim_put_text(out, "few");
    put_option(out, "max", 2);
}

static void put_rate(struct sim_bytes *out)
{
    sim_put_text(out, "rate");
    sim_put_map(out, 3);
    sim_put_text(out, "key");
    sim_put_text(out, "slow");
    put_option(out, "max", 3);
    put_option(out, "per", 1000);
}

static const char *const levels[] = {"none", "async", "fsync", "replicated"};

static void put_durable(struct sim_bytes *out)
{
    sim_put_text(out, "durable");
    sim_put_text(out, levels[below(4)]);
}

static void put_key(struct sim_bytes *out, const struct sim_job *j)
{
    char key[32];
    snprintf(key, sizeof key, "k%" PRIu64, j->serial);
    sim_put_text(out, "key");
    sim_put_text(out, key);
}

static void put_job(struct client *c, struct sim_job *j, bool again)
{
    struct sim_bytes *out = &c->burst.out;
    struct sim_request *r = sim_burst_add(&c->burst, SIM_SUBMIT, "task.submit", 3);
    bool works = j->works, limited = below(4) == 0, other = !again && below(4) == 0,
         late = below(4) == 0, rated = below(8) == 0;
    r->serial = j->serial;
    j->asked++;
    sim_put_text(out, works ? "work.job" : "sim.job");
    sim_put_array(out, 3);
    sim_put_uint(out, j->serial);
    sim_put_uint(out, below(shape.length));
    sim_put_uint(out, works ? SIM_DONE : choose_plan(j));
    sim_put_map(out, 2u + j->keyed + limited + (other && sim_nodes_have_store()) + late + rated);
    put_option(out, "retries", below(4));
    put_option(out, "backoff", 1 + below(200));
    if (j->keyed)
        put_key(out, j);
    if (limited)
        put_limit(out);
    if (other && sim_nodes_have_store())
        put_durable(out);
    if (late)
        put_option(out, "delay", below(5000));
    if (rated)
        put_rate(out);
}

static void submit(struct client *c)
{
    struct sim_job *j = sim_job_new();
    if (!j)
        return;
    j->keyed = below(2) == 0;
    j->works = below(3) == 0;
    put_job(c, j, false);
}

/* The same key once more, perhaps with another level: it is the same task, as durable as the most
 * of them asked for. */
static void submit_twice(struct client *c)
{
    struct sim_job *j = sim_job_any();
    if (j && j->keyed && j->acknowledged)
        put_job(c, j, false);
    else
        submit(c);
}

static void put_plain(struct client *c, struct sim_job *j, const char *level)
{
    struct sim_bytes *out = &c->burst.out;
    sim_burst_add(&c->burst, SIM_SUBMIT, "task.submit", 3)->serial = j->serial;
    j->asked++;
    sim_put_text(out, "sim.job");
    sim_put_array(out, 3);
    sim_put_uint(out, j->serial);
    sim_put_uint(out, 0);
    sim_put_uint(out, SIM_FAILS);
    sim_put_map(out, 4);
    put_option(out, "retries", 3);
    put_option(out, "backoff", UINT64_C(1) << below(8));
    put_key(out, j);
    sim_put_text(out, "durable");
    sim_put_text(out, level);
}

/* It becomes more durable while its attempts fail, one after the other. */
static void submit_harder(struct client *c)
{
    struct sim_job *j = sim_nodes_have_store() ? sim_job_new() : NULL;
    if (!j)
        return;
    j->keyed = true;
    put_plain(c, j, levels[below(2)]);
    put_plain(c, j, levels[2 + below(2)]);
}

/* One with a key is asked for until it is known. */
static void submit_again(struct client *c)
{
    while (c->again_count > 0 && c->burst.count < BURST_MAX)
        put_job(c, c->again[--c->again_count], true);
}

/* --- About tasks --- */

static struct sim_request *put_about(struct client *c, enum sim_deed deed, const char *method,
                                     uint32_t params)
{
    struct sim_job *j = sim_job_any();
    struct sim_request *r = sim_burst_add(&c->burst, deed, method, params);
    sim_put_text(&c->burst.out, j && j->acknowledged ? j->id : "t0000000000000");
    r->note = sim_now();
    r->serial = j && j->acknowledged ? j->serial : 0;
    return r;
}

static void get(struct client *c)
{
    put_about(c, SIM_GET, "task.get", 1);
}

static void wait_for(struct client *c)
{
    put_about(c, SIM_OTHER, "task.wait", 2);
    sim_put_map(&c->burst.out, 1);
    put_option(&c->burst.out, "timeout", below(2000));
}

static void cancel(struct client *c)
{
    put_about(c, SIM_CANCEL, "task.cancel", 1);
}

static void retry(struct client *c)
{
    struct sim_job *j = sim_job_of(put_about(c, SIM_OTHER, "task.retry", 1)->serial);
    if (j)
        j->retried = true;
}

static void forget(struct client *c)
{
    if (below(4) > 0) {
        retry(c);
        return;
    }
    struct sim_job *j = sim_job_of(put_about(c, SIM_OTHER, "task.forget", 1)->serial);
    if (j)
        j->forgotten = true;
}

static void explain(struct client *c)
{
    put_about(c, SIM_OTHER, "task.explain", 1);
}

static void list(struct client *c)
{
    sim_burst_add(&c->burst, SIM_OTHER, "task.list", 1);
    sim_put_map(&c->burst.out, 1);
    put_option(&c->burst.out, "limit", 1 + below(8));
}

static void call(struct client *c)
{
    sim_burst_add(&c->burst, SIM_OTHER, "echo", 1);
    sim_put_uint(&c->burst.out, 1);
}

static void ask_status(struct client *c)
{
    sim_burst_add(&c->burst, SIM_OTHER, "cluster.status", 0);
}

static void heed_audit(struct sim_request *r)
{
    struct reader v = reader_of(sim_member(r->result, "balanced"));
    char text[400];
    bool good;
    if (r->error.len > 0 || read_nil(&v))
        return;
    sim_show(sim_member(r->result, "differences"), text, sizeof text);
    if (!read_bool(&v, &good) || !good)
        sim_finding("audit: the accounts differ: %s", text);
}

static void audit(struct client *c)
{
    sim_burst_add(&c->burst, SIM_OTHER, "server.audit", 0)->heed = heed_audit;
}

static void put_cron(struct client *c)
{
    struct sim_bytes *out = &c->burst.out;
    if (!has_cron) {
        call(c);
        return;
    }
    sim_burst_add(&c->burst, SIM_OTHER, "cron.put", 5);
    sim_put_text(out, "tick");
    sim_put_text(out, "every 2s");
    sim_put_text(out, "echo");
    sim_put_array(out, 1);
    sim_put_uint(out, 1);
    sim_put_map(out, 1);
    sim_put_text(out, "overlap");
    sim_put_text(out, "allow");
}

/* Any node may be asked to hand over. */
static void drain(struct client *c)
{
    char name[2] = {(char)('a' + below(sim_nodes_count()))};
    if (!sim_nodes_have_store() || below(8) > 0) {
        call(c);
        return;
    }
    sim_burst_add(&c->burst, SIM_OTHER, "cluster.drain", 1);
    sim_put_text(&c->burst.out, name);
}

static void call_actor(struct client *c)
{
    if (!sim_nodes_have_store() || !sim_cluster_call_actor(&c->burst, &c->calls))
        call(c);
}

static void list_actors(struct client *c)
{
    sim_burst_add(&c->burst, SIM_OTHER, "actor.list", 0);
}

static void (*const deeds[])(struct client *c) = {
    submit, submit,   get,   wait_for,     cancel, explain, list,          call,       ask_status,
    audit,  put_cron, drain, submit_twice, retry,  forget,  submit_harder, call_actor, list_actors};
enum { DEEDS = sizeof deeds / sizeof *deeds };
_Static_assert(DEEDS == sizeof shape.weights / sizeof *shape.weights, "a weight each");

static void put_any(struct client *c)
{
    uint64_t at = below(shape.sum);
    uint32_t kind = 0;
    while (at >= shape.weights[kind])
        at -= shape.weights[kind++];
    deeds[kind](c);
}

/* --- Answers --- */

static void heed(struct client *c, struct sim_request *r)
{
    if (r->deed == SIM_CALL) {
        sim_cluster_called(&c->calls, r);
        return;
    }
    struct sim_job *j = sim_job_of(r->serial);
    if (r->deed == SIM_SUBMIT && j) {
        sim_job_answered(j, r);
        if (!j->acknowledged && j->keyed && c->again_count < OPEN_MAX)
            c->again[c->again_count++] = j;
        return;
    }
    if (!r->answered)
        return;
    sim_tell("c%u: %s %" PRIu64 " %.*s", c->index, r->method, r->serial, (int)r->error.len,
             r->error.at);
    if (r->heed)
        r->heed(r);
    if (r->deed == SIM_GET && j && r->error.len == 0)
        sim_job_saw(j, r->result, r->note);
}

static bool run_burst(struct client *c, struct sim_link *l)
{
    uint32_t most = sim_engine_waits() && shape.burst > WAITING_BURST ? WAITING_BURST : shape.burst;
    uint32_t wanted = 1 + (uint32_t)below(most);
    sim_burst_clear(&c->burst);
    submit_again(c);
    sim_cluster_call_again(&c->burst, &c->calls, BURST_MAX);
    for (uint32_t n = 0; n < wanted && !calm; n++)
        (c->reads ? get : put_any)(c);
    bool good = sim_burst_run(&c->burst, l);
    for (uint32_t n = 0; n < c->burst.count; n++)
        heed(c, &c->burst.requests[n]);
    return good;
}

/* --- Their lives --- */

static bool is_done(const struct client *c)
{
    return calm && c->again_count == 0 && c->calls.count == 0;
}

static void serve_connection(struct client *c)
{
    uint32_t node;
    struct sim_link *l = sim_nodes_connect(&node);
    bool good = l != NULL;
    while (good && !is_done(c)) {
        good = run_burst(c, l);
        sim_sleep_for(1 + below(sim_engine_waits() ? SIM_MS(WAITING_MS) : shape.pause));
        if (below(16) == 0)
            break;
    }
    if (l)
        sim_net_leave(l);
    sim_sleep_for(1 + below(SIM_MS(100)));
}

static void run_client(void *arg)
{
    struct client *c = arg;
    for (;;) {
        c->idle = is_done(c);
        if (c->idle)
            sim_sleep(SIM_NEVER);
        else
            serve_connection(c);
    }
}

/* --- Semaphores: fences grow --- */

static struct {
    uint64_t fence, at;
} fences[FENCES_MAX];
static uint32_t fence_count, held; /* held: clients that hold permits */

static void note_fence(uint64_t fence, uint64_t asked)
{
    for (uint32_t n = 0; n < fence_count; n++) {
        if (fences[n].fence == fence)
            sim_finding("fences: %" PRIu64 " was granted twice", fence);
        if (fences[n].at < asked && fences[n].fence > fence)
            sim_finding("fences: %" PRIu64 " was granted after %" PRIu64, fence, fences[n].fence);
    }
    if (fence_count == FENCES_MAX)
        return;
    fences[fence_count].fence = fence;
    fences[fence_count++].at = sim_now();
}

/* An answer that was under way for longer than a lost connection keeps its holds may come late. */
static void note_held(uint64_t asked)
{
    if (++held > PERMITS && sim_nodes_have_store() && !sim_jobs_excused_since(asked))
        sim_finding("permits: %" PRIu32 " clients hold one of %d", held, PERMITS);
}

static void put_acquire(struct sim_burst *b)
{
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "sem.acquire", 2);
    sim_put_text(&b->out, "few");
    sim_put_map(&b->out, 2);
    put_option(&b->out, "of", PERMITS);
    put_option(&b->out, "wait", 5000);
}

/* Held for a while, and then given back or lost with the connection. */
static bool hold(struct sim_burst *b, struct sim_link *l)
{
    uint64_t asked = sim_now();
    char secret[64];
    put_acquire(b);
    if (!sim_burst_run(b, l))
        return false;
    const struct sim_request *r = &b->requests[0];
    sim_tell("sem.acquire: %.*s", (int)r->error.len, r->error.at);
    if (r->error.len > 0)
        return true;
    if (sim_nodes_have_store()) /* else each node has its own */
        note_fence(sim_member_uint(r->result, "fence"), asked);
    note_held(asked);
    struct span text = sim_member_text(r->result, "hold");
    snprintf(secret, sizeof secret, "%.*s", (int)text.len, text.at);
    sim_sleep_for(1 + below(SIM_MS(1000)));
    held--;
    if (below(4) == 0)
        return false;
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "sem.release", 2);
    sim_put_text(&b->out, "few");
    sim_put_text(&b->out, secret);
    return sim_burst_run(b, l);
}

static void run_holder(void *arg)
{
    struct sim_burst *b = arg;
    uint32_t node;
    while (!calm) {
        struct sim_link *l = sim_nodes_connect(&node);
        while (l && !calm && hold(b, l))
            sim_sleep_for(1 + below(SIM_MS(500)));
        if (l)
            sim_net_leave(l);
        sim_sleep_for(1 + below(SIM_MS(200)));
    }
}

/* --- The run's --- */

void sim_cluster_clients_shape(void)
{
    static const uint32_t some[] = {0, 1, 1, 3};
    client_count = 1 + (uint32_t)sim_below(SIM_SHAPE, CLIENTS_MAX);
    if (sim_one_in(SIM_SHAPE, 2))
        clients[client_count++].reads = true;
    holder_count = (uint32_t)sim_below(SIM_SHAPE, HOLDERS_MAX + 1);
    killers_max = sim_one_in(SIM_SHAPE, 4) ? KILLERS_MAX : 0;
    has_cron = sim_one_in(SIM_SHAPE, 2);
    shape.burst = 1u << sim_below(SIM_SHAPE, 5);
    shape.pause = SIM_MS(16) << sim_below(SIM_SHAPE, 7);
    shape.length = UINT64_C(1) << sim_below(SIM_SHAPE, 12);
    for (uint32_t n = 0; n < DEEDS; n++) {
        shape.weights[n] = some[sim_below(SIM_SHAPE, 4)] + (n == 0);
        shape.sum += shape.weights[n];
    }
}

static struct sim_link *connect_anywhere(void)
{
    uint32_t node;
    return sim_nodes_connect(&node);
}

void sim_cluster_clients_spawn(void)
{
    char name[24];
    for (uint32_t n = 0; n < client_count; n++) {
        clients[n].index = n;
        snprintf(name, sizeof name, "client %" PRIu32, n);
        sim_spawn(SIM_WORLD, name, run_client, &clients[n]);
    }
    for (uint32_t n = 0; n < holder_count; n++) {
        struct sim_burst *b = calloc(1, sizeof *b);
        require(b != NULL, "no memory for a holder");
        snprintf(name, sizeof name, "holder %" PRIu32, n);
        sim_spawn(SIM_WORLD, name, run_holder, b);
    }
    if (sim_nodes_have_store()) /* else each node has its own */
        sim_feed_spawn_at(connect_anywhere);
}

void sim_cluster_clients_calm(void)
{
    calm = true;
}

bool sim_cluster_clients_idle(void)
{
    for (uint32_t n = 0; n < client_count; n++)
        if (!clients[n].idle)
            return false;
    return true;
}

void sim_cluster_clients_tell_open(void)
{
    for (uint32_t n = 0; n < client_count; n++)
        for (uint32_t k = 0; !clients[n].idle && k < clients[n].burst.count; k++) {
            const struct sim_request *r = &clients[n].burst.requests[k];
            sim_tell("client %" PRIu32 ", last asked: %s, id %" PRIu64 ", number %" PRIu64
                     ": %s %.*s",
                     n, r->method, r->id, r->serial, r->answered ? "answered" : "no answer",
                     (int)r->error.len, r->error.at);
        }
}
