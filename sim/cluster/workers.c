#include "sim/cluster/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/chance.h"
#include "sim/cluster/jobs.h"
#include "sim/cluster/nodes.h"
#include "sim/net.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum { WORKERS_MAX = 3, SLOTS = 2, INPUT_MAX = 1 << 16, READ_MAX = 4096 };

struct call {
    uint64_t id, due;
    char result[64];
    bool taken;
};

struct worker {
    uint32_t index, node;
    struct sim_link *link;
    struct call calls[SLOTS];
    uint8_t in[INPUT_MAX];
    size_t in_len;
    uint64_t in_from;
    bool leaves;
    struct sim_bytes out;
};

static struct worker *workers[WORKERS_MAX];
static uint32_t worker_count;
static bool calm;
static uint64_t busy;

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_WORK, n);
}

static void send_out(struct worker *w)
{
    sim_net_send(w->link, span_of(w->out.at, w->out.len));
    w->out.len = 0;
}

static void send_register(struct worker *w)
{
    sim_put_request(&w->out, 1, "worker.register", 2);
    sim_put_array(&w->out, 1);
    sim_put_text(&w->out, "work.job");
    sim_put_map(&w->out, 2);
    sim_put_text(&w->out, "slots");
    sim_put_uint(&w->out, SLOTS);
    sim_put_text(&w->out, "context");
    sim_put_bool(&w->out, true);
    send_out(w);
}

static struct call *free_call(struct worker *w)
{
    for (uint32_t n = 0; n < SLOTS; n++)
        if (!w->calls[n].taken)
            return &w->calls[n];
    sim_finding("workers: a worker with %d slots is given another request", SLOTS);
}

/* [serial, ms, plan, context] */
static void begin(struct worker *w, const struct sim_message *m)
{
    struct reader r = reader_of(m->params);
    uint32_t count;
    uint64_t serial, ms, plan;
    struct span context;
    bool held, good = read_array(&r, &count) && count == 4 && read_uint(&r, &serial) &&
                      read_uint(&r, &ms) && read_uint(&r, &plan) && read_any(&r, &context);
    require(good, "a worker was given other parameters");
    uint64_t number = sim_member_uint(context, "attempt");
    struct call *c = free_call(w);
    *c = (struct call){
        .id = m->id, .taken = true, .due = sim_now() + below(calm ? SIM_MS(20) : busy)};
    snprintf(c->result, sizeof c->result, "%" PRIu64 "-%" PRIu64, serial, number);
    sim_job_begins(serial, sim_member_text(context, "task"), number,
                   sim_net_written_at(w->link, w->in_from, &held));
}

static void take_message(struct worker *w, const struct sim_message *m)
{
    if (m->type == 1 && m->id == 1 && m->error.len > 0)
        w->leaves = true; /* and asks again */
    if (m->type != 0)
        return;
    if (!span_is(m->method, "worker.ping")) {
        begin(w, m);
        return;
    }
    sim_put_response(&w->out, m->id, NULL, NULL);
    send_out(w);
}

static void take_messages(struct worker *w)
{
    struct sim_message m;
    size_t len;
    while ((len = sim_read_any_message(span_of(w->in, w->in_len), &m)) > 0) {
        take_message(w, &m);
        w->in_len -= len;
        w->in_from += len;
        memmove(w->in, w->in + len, w->in_len);
    }
}

static bool receive(struct worker *w, uint64_t until)
{
    require(w->in_len + READ_MAX <= sizeof w->in, "a worker was sent too much");
    size_t len = sim_net_receive(w->link, w->in + w->in_len, READ_MAX, until);
    w->in_len += len;
    return len > 0;
}

static uint64_t next_due(const struct worker *w)
{
    uint64_t due = sim_now() + SIM_MS(1000);
    for (uint32_t n = 0; n < SLOTS; n++)
        if (w->calls[n].taken && w->calls[n].due < due)
            due = w->calls[n].due;
    return due;
}

static void answer(struct worker *w, struct call *c)
{
    if (!calm && below(24) == 0) {
        w->leaves = true;
        return;
    }
    bool fails = !calm && below(6) == 0;
    sim_put_response(&w->out, c->id, fails ? "it failed" : NULL, c->result);
    c->taken = false;
    send_out(w);
}

static void serve_connection(struct worker *w)
{
    w->link = sim_nodes_connect(&w->node);
    if (!w->link)
        return;
    w->in_from = w->in_len = w->out.len = 0;
    w->leaves = false;
    memset(w->calls, 0, sizeof w->calls);
    send_register(w);
    while (!w->leaves && !sim_net_ended(w->link)) {
        if (receive(w, next_due(w)))
            take_messages(w);
        for (uint32_t n = 0; n < SLOTS && !w->leaves; n++)
            if (w->calls[n].taken && w->calls[n].due <= sim_now())
                answer(w, &w->calls[n]);
        w->leaves |= !calm && below(512) == 0;
    }
    while (receive(w, sim_now())) /* what was sent has begun */
        take_messages(w);
    sim_net_leave(w->link);
}

static void run_worker(void *arg)
{
    for (;;) {
        serve_connection(arg);
        sim_sleep_for(SIM_MS(10) + below(SIM_MS(300)));
    }
}

void sim_cluster_workers_shape(void)
{
    worker_count = 1 + (uint32_t)sim_below(SIM_SHAPE, WORKERS_MAX);
    busy = SIM_MS(1) << sim_below(SIM_SHAPE, 12);
}

void sim_cluster_workers_spawn(void)
{
    for (uint32_t n = 0; n < worker_count; n++) {
        char name[24];
        workers[n] = calloc(1, sizeof *workers[n]);
        require(workers[n] != NULL, "no memory for a worker");
        workers[n]->index = n;
        snprintf(name, sizeof name, "worker %" PRIu32, n);
        sim_spawn(SIM_WORLD, name, run_worker, workers[n]);
    }
}

void sim_cluster_workers_calm(void)
{
    calm = true;
}
