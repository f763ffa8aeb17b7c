#include "sim/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/acts.h"
#include "sim/attempts.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/ends.h"
#include "sim/deeds.h"
#include "sim/limits.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/promises.h"
#include "sim/record.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/worker.h"

enum { CLIENTS_MAX = 4, RUN_NAMES = 2 };

struct client {
    uint32_t index;
    uint32_t epoch; /* one more when a connection was lost: names of runs are new then */
    struct sim_burst burst;
    bool idle;
};

static struct client clients[CLIENTS_MAX];
static uint32_t client_count;
static bool quiet;
static struct {
    uint32_t burst; /* requests, at most */
    uint64_t pause; /* ns between two bursts, at most */
} shape;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_DEEDS, n);
}

/* --- What a request says --- */

static void put_option(struct sim_bytes *out, const char *name, uint64_t value)
{
    sim_put_text(out, name);
    sim_put_uint(out, value);
}

/* A submission of a method with one parameter; the options follow. */
static struct sim_request *put_submit(struct client *c, const char *method, uint64_t param,
                                      uint32_t options)
{
    struct sim_bytes *out = &c->burst.out;
    struct sim_request *r = sim_burst_add(&c->burst, SIM_SUBMIT, "task.submit", 3);
    sim_put_text(out, method);
    sim_put_array(out, 1);
    sim_put_uint(out, param);
    sim_put_map(out, options);
    return r;
}

static struct sim_request *put_task(struct client *c, enum sim_deed deed, const char *method,
                                    struct sim_task *t)
{
    struct sim_request *r = sim_burst_add(&c->burst, deed, method, 1);
    sim_put_text(&c->burst.out, t->id);
    r->task = t;
    r->mark = sim_end_mark(t);
    if (deed == SIM_RETRY)
        sim_asked_retry(t);
    t->meddled |= deed == SIM_RUN_NOW;
    return r;
}

static void put_call(struct client *c, const char *method, uint64_t param)
{
    sim_burst_add(&c->burst, SIM_CALL, method, 1);
    sim_put_uint(&c->burst.out, param);
}

/* --- What workers run --- */

enum { PADDING_MAX = 12000 };

/* The parameters of a method of workers; see attempts.h. */
static void put_work(struct client *c, struct sim_request *r, const struct sim_limit *limit,
                     enum sim_serial what)
{
    struct sim_bytes *out = &c->burst.out;
    bool is_long = sim_one_in(SIM_DEEDS, 4) && out->len < sizeof out->at / 2;
    r->serial = sim_serial(what);
    if (r->deed == SIM_SUBMIT)
        sim_put_array(out, 4);
    sim_put_uint(out, r->serial);
    sim_put_text(out, limit ? limit->key : "");
    sim_put_uint(out, 1);
    sim_put_zeros(out, is_long ? (uint32_t)below(PADDING_MAX) : 0);
}

static void put_limit(struct client *c, struct sim_request *r, const struct sim_limit *limit)
{
    struct sim_bytes *out = &c->burst.out;
    sim_put_text(out, "limit");
    sim_put_map(out, 3);
    sim_put_text(out, "key");
    sim_put_text(out, limit->key);
    put_option(out, "max", sim_limit_ask(limit, r));
    put_option(out, "take", 1);
}

static struct sim_request *put_work_submit(struct client *c, const struct sim_limit *limit,
                                           enum sim_serial what, uint32_t options)
{
    struct sim_request *r = sim_burst_add(&c->burst, SIM_SUBMIT, "task.submit", 3);
    sim_put_text(&c->burst.out, sim_worker_any());
    put_work(c, r, limit, what);
    sim_put_map(&c->burst.out, options + (limit != NULL));
    if (limit)
        put_limit(c, r, limit);
    return r;
}

static bool is_own_run(const struct client *c, const struct sim_task *t)
{
    return *t->run && t->run[0] == 'c' && (uint32_t)(t->run[1] - '0') == c->index;
}

/* A run is cancelled by its own client alone, so that the order of requests is known. */
static struct sim_task *any_task(const struct client *c)
{
    if (sim_task_count == 0)
        return NULL;
    uint64_t most = sim_task_count < 16 ? sim_task_count : 16; /* the latest */
    struct sim_task *t = &sim_tasks[sim_task_count - 1 - below(most)];
    return *t->run && !is_own_run(c, t) ? NULL : t;
}

static void put_about(struct client *c, enum sim_deed deed, const char *method)
{
    struct sim_task *t = any_task(c);
    if (t && (deed == SIM_CANCEL || !*t->run))
        put_task(c, deed, method, t);
    else
        put_call(c, "echo", 1);
}

/* --- The deeds that a seed weighs --- */

static void call_echo(struct client *c)
{
    put_call(c, "echo", below(1000));
}

static void call_block(struct client *c)
{
    put_call(c, "block", below(30));
}

static void call_sleep(struct client *c)
{
    put_call(c, "sleep", below(30));
}

static void submit_brief(struct client *c)
{
    put_submit(c, "echo", below(1000), 0);
}

static void submit_blocking(struct client *c)
{
    put_submit(c, "block", below(40), 0);
}

static void submit_flaky(struct client *c)
{
    put_submit(c, "flaky", 1 + below(4), 2);
    put_option(&c->burst.out, "retries", below(4));
    put_option(&c->burst.out, "backoff", 1 + below(50));
}

static void submit_delayed(struct client *c)
{
    put_submit(c, "echo", 2, 1);
    put_option(&c->burst.out, "delay", below(300));
}

static void submit_with_deadline(struct client *c)
{
    bool is_far = below(4) == 0;
    put_submit(c, "sleep", below(200), 1);
    put_option(&c->burst.out, "deadline", is_far ? 3600 * 1000 : 1 + below(100));
}

static void submit_with_priority(struct client *c)
{
    put_submit(c, "progress", 1 + below(3), 1);
    put_option(&c->burst.out, "priority", below(10));
}

static void call_work(struct client *c)
{
    put_work(c, sim_burst_add(&c->burst, SIM_WORK_CALL, sim_worker_any(), 4), NULL, SIM_OF_CALL);
}

static void submit_work(struct client *c)
{
    put_work_submit(c, NULL, SIM_OF_TASK, 0);
}

/* A brief task is forgotten as it ends, while older tasks of the limit may still wait.  Then only
 * the limit's own row in the store has the latest number of permits. */
static void submit_limited_work(struct client *c)
{
    bool brief = sim_one_in(SIM_DEEDS, 2);
    uint64_t delay = sim_one_in(SIM_DEEDS, 2) ? below(400) : 0;
    put_work_submit(c, sim_limit_for(c->index), SIM_OF_TASK, brief ? 3 : 2)->brief = brief;
    put_option(&c->burst.out, "retries", below(3));
    put_option(&c->burst.out, "delay", delay);
    if (brief)
        put_option(&c->burst.out, "keep", 1);
}

static void submit_work_with_timeout(struct client *c)
{
    const struct sim_limit *limit = sim_one_in(SIM_DEEDS, 2) ? sim_limit_for(c->index) : NULL;
    put_work_submit(c, limit, SIM_WITH_TIMEOUT, 3);
    put_option(&c->burst.out, "retries", below(5));
    put_option(&c->burst.out, "backoff", 1 + below(50));
    put_option(&c->burst.out, "timeout", 1 + below(60));
}

static void submit_work_with_deadline(struct client *c)
{
    put_work_submit(c, NULL, SIM_OF_TASK, 2);
    put_option(&c->burst.out, "priority", below(10));
    put_option(&c->burst.out, "deadline", 1 + below(400));
}

static void submit_run(struct client *c)
{
    struct sim_request *r = put_submit(c, "echo", 1, 2);
    snprintf(r->run, sizeof r->run, "c%u-%u-%u", c->index, c->epoch, (unsigned)below(RUN_NAMES));
    sim_put_text(&c->burst.out, "coalesce");
    sim_put_text(&c->burst.out, r->run);
    put_option(&c->burst.out, "delay", 3600 * 1000);
}

static void cancel(struct client *c)
{
    put_about(c, SIM_CANCEL, "task.cancel");
}

static void retry(struct client *c)
{
    put_about(c, SIM_RETRY, "task.retry");
}

static void run_now(struct client *c)
{
    put_about(c, SIM_RUN_NOW, "task.run_now");
}

static void get(struct client *c)
{
    put_about(c, SIM_GET, "task.get");
}

static void explain(struct client *c)
{
    put_about(c, SIM_OTHER, "task.explain");
}

static void (*const deeds[])(struct client *c) = {
    submit_brief, /* the first: always possible, or nothing is looked at */
    call_echo,
    call_block,
    call_sleep,
    submit_blocking,
    submit_flaky,
    submit_delayed,
    submit_with_deadline,
    submit_with_priority,
    submit_run,
    cancel,
    retry,
    run_now,
    get,
    explain,
    /* Of workers, from here on. */
    call_work,
    submit_work,
    submit_limited_work,
    submit_work_with_timeout,
    submit_work_with_deadline,
};
enum { DEED_KINDS = sizeof deeds / sizeof *deeds, WORK_KINDS = 5 };

/* And behind them those of deeds.h. */
enum { MORE_MAX = 128 };
static uint32_t weights[DEED_KINDS + MORE_MAX], weight_sum;

static void put_any(struct client *c)
{
    uint64_t at = below(weight_sum);
    uint32_t kind = 0;
    while (at >= weights[kind])
        at -= weights[kind++];
    if (kind < DEED_KINDS)
        deeds[kind](c);
    else
        sim_deeds[kind - DEED_KINDS].put(&c->burst, c->index);
}

/* --- What the answers say --- */

/* Without an answer, or without memory: the server may have had none for the answer, or none to
 * write to the store what it had done.  UNSURE says so itself. */
static bool may_be_done(const struct sim_request *r)
{
    return !r->answered || sim_error_is(r, "MEMORY") || sim_error_is(r, "STORE") ||
           sim_error_is(r, "UNSURE");
}

static void heed(struct client *c, struct sim_request *r)
{
    if (may_be_done(r))
        sim_lost(r->run);
    if (may_be_done(r) && r->deed == SIM_CANCEL)
        sim_lost(r->task->run);
    if (!r->answered)
        return;
    sim_tell("c%u: %d %s %s %.*s", c->index, (int)r->deed, r->task ? r->task->id : "", r->run,
             (int)r->error.len, r->error.at);
    if (r->deed == SIM_RETRY)
        sim_saw_retry(r->task);
    sim_check_act(r);
    if (r->heed)
        r->heed(r);
    if (r->deed == SIM_WORK_CALL)
        sim_check_call(r->serial, r->error, r->result);
    if (r->error.len > 0)
        return;
    if (r->deed == SIM_GET) {
        sim_saw_get(r->task, r->mark, r->result);
        sim_check_work(r->task, r->result);
    }
    if (r->deed == SIM_SUBMIT) {
        struct sim_task *t = sim_saw_submit(r->result, r->run);
        if (t && t->serial == 0)
            t->serial = r->serial;
        if (t)
            t->forgotten |= r->brief;
    }
    if (r->deed == SIM_CANCEL)
        sim_saw_cancel(r->task, r->result);
    if (r->deed == SIM_CANCEL)
        sim_saw_cancelled(r->task, r->mark, r->result);
    if (r->deed == SIM_GET)
        sim_saw_state(r->task, r->mark, r->result);
}

/* Answers are heeded in the order in which they were asked for: so they are served.  False: the
 * connection has ended, or is to be left with all that is in flight. */
static bool run_burst(struct client *c, struct sim_link *l)
{
    uint32_t count = 1 + (uint32_t)below(shape.burst);
    sim_burst_clear(&c->burst);
    while (c->burst.count < count)
        put_any(c);
    sim_record_burst(c->index, &c->burst);
    bool stays = !sim_one_in(SIM_DEEDS, 24), good = stays && sim_burst_run(&c->burst, l);
    if (!stays) {
        sim_record_leave(c->index);
        sim_burst_send(&c->burst, l);
    }
    for (uint32_t n = 0; n < c->burst.count; n++)
        heed(c, &c->burst.requests[n]);
    sim_record_answers(&c->burst);
    return good;
}

/* --- Its life --- */

static void serve_connection(struct client *c)
{
    struct sim_link *l = sim_node_connect();
    while (!quiet && sim_node_up()) {
        if (!run_burst(c, l)) {
            c->epoch++;
            break;
        }
        sim_sleep_for(1 + below(shape.pause));
        if (sim_one_in(SIM_DEEDS, 16))
            break; /* and comes again */
    }
    if (!quiet && sim_node_up())
        sim_record_leave(c->index);
    sim_net_leave(l);
    sim_memory_wait();
}

static void run_client(void *arg)
{
    struct client *c = arg;
    for (;;) {
        c->idle = quiet || !sim_node_up();
        if (c->idle)
            sim_wait_for(clients, SIM_NEVER);
        else
            serve_connection(c);
    }
}

/* A run does few of these, and those often. */
static void shape_more(void)
{
    require(sim_deed_count <= MORE_MAX, "there are more deeds than weights");
    for (uint32_t n = 0; n < sim_deed_count; n++) {
        bool some = sim_deeds[n].put && sim_one_in(SIM_SHAPE, 4);
        weights[DEED_KINDS + n] = some ? 1 + (uint32_t)sim_below(SIM_SHAPE, 3) : 0;
        weight_sum += weights[DEED_KINDS + n];
    }
}

/* Some runs ask for one thing as often as for all others together. */
static void shape_most(void)
{
    uint32_t kind = (uint32_t)sim_below(SIM_SHAPE, DEED_KINDS + sim_deed_count);
    if (weights[kind] == 0 || !sim_one_in(SIM_SHAPE, 2))
        return;
    weights[kind] += weight_sum;
    weight_sum *= 2;
}

void sim_clients_shape(void)
{
    static const uint32_t some[] = {0, 1, 1, 2, 8};
    client_count = 1 + (uint32_t)sim_below(SIM_SHAPE, CLIENTS_MAX);
    shape.burst = 1u << sim_below(SIM_SHAPE, 5);
    if (sim_one_in(SIM_SHAPE, 8)) /* more than the lane to an executor holds */
        shape.burst = SIM_BURST_MAX;
    shape.pause = SIM_MS(1) << sim_below(SIM_SHAPE, 7);
    for (uint32_t n = 0; n < DEED_KINDS; n++) {
        weights[n] = some[sim_below(SIM_SHAPE, sizeof some / sizeof *some)] + (n == 0);
        if (n >= DEED_KINDS - WORK_KINDS && !sim_workers_there())
            weights[n] = 0;
        weight_sum += weights[n];
    }
    shape_more();
    shape_most();
}

void sim_clients_spawn(void)
{
    for (uint32_t n = 0; n < client_count; n++) {
        char name[24];
        clients[n].index = n;
        snprintf(name, sizeof name, "client %u", n);
        sim_spawn(SIM_WORLD, name, run_client, &clients[n]);
    }
}

void sim_clients_quiet(bool on)
{
    quiet = on;
    sim_record_quiet(on);
    sim_clients_wake();
}

bool sim_clients_idle(void)
{
    for (uint32_t n = 0; n < client_count; n++)
        if (!clients[n].idle)
            return false;
    return true;
}

void sim_clients_wake(void)
{
    sim_wake_all(clients);
}

void sim_client_heed(uint32_t client, struct sim_request *r)
{
    require(client < CLIENTS_MAX, "a client that there is not");
    clients[client].index = client;
    heed(&clients[client], r);
}
