#include "sim/cluster/world.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/cluster/actors.h"
#include "sim/cluster/clients.h"
#include "sim/cluster/engine.h"
#include "sim/cluster/jobs.h"
#include "sim/cluster/nodes.h"
#include "sim/cluster/workers.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/points.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/wire.h"

enum { MINUTE_MS = 60000, CALM_MINUTES = 120, TRIES = 40, RETRIES = 4, REQUESTS_MAX = 1000 };

static struct sim_burst burst;

/* Some node answers all of the burst, sooner or later. */
static void run_in_calm(void (*fill)(struct sim_burst *b, uint64_t from), uint64_t from)
{
    uint32_t node;
    for (uint32_t n = 0; n < TRIES; n++) {
        struct sim_link *l = sim_nodes_connect(&node);
        sim_burst_clear(&burst);
        fill(&burst, from);
        bool good = l && sim_burst_run(&burst, l);
        for (uint32_t i = 0; good && i < burst.count; i++)
            good = !sim_error_is(&burst.requests[i], "BUSY");
        if (l)
            sim_net_leave(l);
        if (good)
            return;
        sim_sleep_for(SIM_MS(1000));
    }
    sim_finding("answers: no node answers in calm");
}

/* --- All tasks --- */

static bool is_followed(const struct sim_job *j)
{
    return j->acknowledged && j->level >= SIM_FSYNC && j->open;
}

static void fill_gets(struct sim_burst *b, uint64_t from)
{
    for (uint64_t serial = from; serial < from + SIM_BURST_MAX && serial <= sim_job_count();
         serial++) {
        const struct sim_job *j = sim_job_of(serial);
        if (!is_followed(j))
            continue;
        struct sim_request *r = sim_burst_add(b, SIM_GET, "task.get", 1);
        sim_put_text(&b->out, j->id);
        r->serial = serial;
        r->note = sim_now();
    }
}

static void heed_get(const struct sim_request *r)
{
    struct sim_job *j = sim_job_of(r->serial);
    if (r->error.len > 0 && sim_nodes_have_store() && !j->forgotten)
        sim_finding("kept: task %s of submission %" PRIu64 " was answered `%s`, and now: %.*s",
                    j->id, j->serial, j->level == SIM_REPLICATED ? "replicated" : "fsync",
                    (int)r->error.len, r->error.at);
    if (r->error.len == 0)
        sim_job_saw(j, r->result, r->note);
    else
        j->open = false;
}

static uint32_t count_open(void)
{
    uint32_t open = 0;
    for (uint64_t from = 1; from <= sim_job_count(); from += SIM_BURST_MAX) {
        run_in_calm(fill_gets, from);
        for (uint32_t n = 0; n < burst.count; n++) {
            heed_get(&burst.requests[n]);
            open += sim_job_of(burst.requests[n].serial)->open;
        }
    }
    return open;
}

static void fill_explain(struct sim_burst *b, uint64_t serial)
{
    sim_burst_add(b, SIM_OTHER, "task.explain", 1);
    sim_put_text(&b->out, sim_job_of(serial)->id);
}

static void find_open(uint64_t serial)
{
    char text[400];
    run_in_calm(fill_explain, serial);
    sim_show(burst.requests[0].result, text, sizeof text);
    sim_finding("ends: task %s of submission %" PRIu64 " has not ended after a long calm: %s",
                sim_job_of(serial)->id, serial, text);
}

static void wait_for_ends(void)
{
    for (uint64_t n = 1; n <= sim_job_count(); n++)
        sim_job_of(n)->open = true;
    uint32_t minutes = CALM_MINUTES, open;
    while ((open = count_open()) > 0 && minutes-- > 0)
        sim_sleep_for(SIM_MS(MINUTE_MS));
    for (uint64_t n = 1; open > 0 && n <= sim_job_count(); n++)
        if (is_followed(sim_job_of(n)) && sim_job_of(n)->open)
            find_open(n);
}

/* --- The accounts --- */

static void fill_audit(struct sim_burst *b, uint64_t from)
{
    (void)from;
    sim_burst_add(b, SIM_OTHER, "server.audit", 0);
}

static void check_accounts(void)
{
    char text[400];
    run_in_calm(fill_audit, 0);
    const struct sim_request *r = &burst.requests[0];
    sim_show(r->result, text, sizeof text);
    if (r->error.len > 0 || !sim_member_true(r->result, "balanced"))
        sim_finding("audit: %.*s %s", (int)r->error.len, r->error.at, text);
}

/* --- Actors --- */

/* A tell from one to another may be on its way. */
static void check_actors(void)
{
    for (uint32_t n = 0; n <= CALM_MINUTES; n++) {
        run_in_calm(sim_cluster_read_counters, 0);
        if (sim_cluster_check_counters(&burst, n == CALM_MINUTES))
            return;
        sim_sleep_for(SIM_MS(MINUTE_MS));
    }
}

/* --- Firings of the cron: each has a key of its own --- */

enum { FIRINGS_MAX = 4096, PAGE = 100, KEY = 64 };
static char firings[FIRINGS_MAX][KEY];
static char cursor[80];

static void fill_list(struct sim_burst *b, uint64_t from)
{
    (void)from;
    sim_burst_add(b, SIM_OTHER, "task.list", 1);
    sim_put_map(&b->out, 2 + (*cursor != '\0'));
    sim_put_text(&b->out, "method");
    sim_put_text(&b->out, "echo");
    sim_put_text(&b->out, "limit");
    sim_put_uint(&b->out, PAGE);
    if (*cursor) {
        sim_put_text(&b->out, "cursor");
        sim_put_text(&b->out, cursor);
    }
}

static void note_firing(struct span key, uint32_t *count)
{
    if (key.len < 5 || key.len >= KEY || memcmp(key.at, "cron ", 5) != 0)
        return;
    for (uint32_t n = 0; n < *count; n++)
        if (span_is(key, firings[n]))
            sim_finding("crons: two tasks for one firing: %s", firings[n]);
    if (*count < FIRINGS_MAX)
        memcpy(firings[(*count)++], key.at, key.len);
}

static void check_crons(void)
{
    uint32_t found = 0, tasks;
    struct span task, next;
    do {
        run_in_calm(fill_list, 0);
        const struct sim_request *r = &burst.requests[0];
        struct reader of = reader_of(sim_member(r->result, "tasks"));
        if (r->error.len > 0 || !read_array(&of, &tasks))
            sim_finding("crons: task.list answers %.*s", (int)r->error.len, r->error.at);
        while (tasks-- > 0 && read_any(&of, &task))
            note_firing(sim_member_text(task, "key"), &found);
        next = sim_member_text(r->result, "cursor");
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.len, next.at);
    } while (*cursor);
    sim_tell("%" PRIu32 " firings", found);
}

/* --- The run --- */

/* Two take-overs may have failed, since their nodes died: then people allow another one. */
static void fill_retry(struct sim_burst *b, uint64_t from)
{
    (void)from;
    sim_burst_add(b, SIM_OTHER, "cluster.retry", 0);
}

static void calm_down(void)
{
    sim_cluster_clients_calm();
    sim_schedule_calm();
    sim_nodes_calm();
    sim_cluster_workers_calm();
    for (uint32_t n = 0; n < TRIES && !sim_nodes_all_up(); n++)
        sim_sleep_for(SIM_MS(5000));
    if (!sim_nodes_all_up())
        sim_finding("nodes: a node does not come up in calm");
    for (uint32_t n = 0; n < RETRIES && sim_nodes_have_store(); n++) {
        run_in_calm(fill_retry, 0);
        sim_sleep_for(SIM_MS(5000));
    }
    for (uint32_t n = 0; n < TRIES && !sim_cluster_clients_idle(); n++)
        sim_sleep_for(SIM_MS(5000));
    if (sim_cluster_clients_idle())
        return;
    sim_cluster_clients_tell_open();
    sim_finding("answers: a client has no answer in calm");
}

/* Many small worlds find more than a few large ones. */
static void wait_for_end(void)
{
    uint64_t end = sim_now() + (SIM_MS(5000) << sim_below(SIM_SHAPE, 5));
    while ((sim_now() < end && sim_requests() < REQUESTS_MAX) || sim_engine_waits())
        sim_sleep_for(SIM_MS(250));
}

static void run(void *arg)
{
    (void)arg;
    sim_nodes_spawn();
    sim_cluster_clients_spawn();
    sim_cluster_workers_spawn();
    wait_for_end();
    calm_down();
    if (sim_nodes_have_store()) {
        wait_for_ends();
        check_accounts();
        check_actors();
        check_crons();
    }
    sim_nodes_stop();
}

void sim_cluster_run(uint64_t seed)
{
    sim_chance_seed(seed);
    sim_schedule_shape();
    sim_schedule_mild();
    sim_memory_apart();
    sim_net_spin_rarely();
    sim_nodes_shape();
    sim_cluster_clients_shape();
    sim_cluster_workers_shape();
    sim_spawn(SIM_WORLD, "world", run, NULL);
    sim_run();
}
