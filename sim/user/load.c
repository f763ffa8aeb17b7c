#include "sim/user/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/params.h"
#include "sim/schedule.h"
#include "sim/user/report.h"
#include "sim/user/tasks.h"

enum { OPEN_MAX = 64, PAUSE_MS = 100, COMES_MS = 60000 /* until workers offer a method */ };

/* A task that is to be submitted, until that is answered. */
struct order {
    struct sim_user_task *task;
    json_t *params, *options;
};

struct client {
    const struct sim_scenario *scenario;
    const struct sim_load *load;
    uint64_t from;  /* when it began */
    uint64_t drawn; /* orders so far */
    struct order open[OPEN_MAX];
    uint32_t open_count;
    struct sim_user_task *cancels[OPEN_MAX]; /* to be cancelled with the next burst */
    uint32_t cancel_count;
    bool over;
    struct sim_burst burst;
};

static struct client *clients[SIM_ROWS_MAX];
static uint32_t client_count;

/* --- Orders --- */

static uint64_t due(const struct client *c)
{
    return c->from + c->drawn * c->load->every;
}

static void draw(struct client *c)
{
    struct sim_user_task *t = sim_user_task_add(c->load->method);
    json_t *params =
        c->load->params ? sim_values_draw(c->load->params, &t->seqs, false) : json_array();
    json_t *options =
        c->load->options ? sim_values_draw(c->load->options, &t->seqs, true) : json_object();
    c->open[c->open_count++] = (struct order){t, params, options};
    c->drawn++;
}

static void draw_due(struct client *c)
{
    while (c->open_count < OPEN_MAX && c->drawn < c->load->count && due(c) <= sim_now())
        draw(c);
}

static void drop(struct order *o)
{
    json_decref(o->params);
    json_decref(o->options);
    o->task = NULL;
}

/* --- Requests and answers --- */

static void put_submit(struct sim_burst *b, const char *method, const struct order *o)
{
    sim_burst_add(b, SIM_SUBMIT, "task.submit", 3);
    sim_put_text(&b->out, method);
    sim_put_json(&b->out, o->params);
    sim_put_json(&b->out, o->options);
}

static void put_cancel(struct sim_burst *b, const struct sim_user_task *t)
{
    sim_burst_add(b, SIM_CANCEL, "task.cancel", 1);
    sim_put_text(&b->out, t->id);
    sim_story(t, "a client cancels it");
}

static bool is_chosen(const struct client *c)
{
    return c->cancel_count < OPEN_MAX && c->scenario->cancels > 0 &&
           (double)sim_below(SIM_FAULTS, 1000000) < c->scenario->cancels * 1e6;
}

static void take_id(struct client *c, struct order *o, const struct sim_request *r)
{
    sim_user_task_named(o->task, sim_member_text(r->result, "id"));
    if (is_chosen(c))
        c->cancels[c->cancel_count++] = o->task;
    drop(o);
}

/* A worker may offer the method later. */
static bool comes_yet(const struct sim_scenario *s, uint64_t since, const struct sim_request *r)
{
    return s->has_workers && sim_now() - since < SIM_MS(COMES_MS) && sim_error_is(r, "NO_METHOD");
}

static void heed(struct client *c, struct order *o, const struct sim_request *r)
{
    bool passes =
        sim_error_is(r, "BUSY") || sim_error_is(r, "MEMORY") || sim_error_is(r, "DRAINING");
    if (!r->answered) {
        sim_story(o->task, "submitted, and the connection ended before the answer");
        if (!json_object_get(o->options, "key"))
            drop(o);
    } else if (r->error.len == 0) {
        take_id(c, o, r);
    } else if (!comes_yet(c->scenario, o->task->asked_at, r) && !passes) {
        sim_report_refused(c->load->method, r->error);
    }
}

static void keep_open(struct client *c)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < c->open_count; n++)
        if (c->open[n].task)
            c->open[kept++] = c->open[n];
    c->open_count = kept;
}

void sim_latency(const struct sim_scenario *s)
{
    uint64_t span = s->latency[1] - s->latency[0];
    if (s->latency[1] > 0)
        sim_sleep_for(s->latency[0] + sim_below(SIM_NET, span + 1));
}

static bool run_burst(struct client *c, struct sim_link *l)
{
    sim_burst_clear(&c->burst);
    for (uint32_t n = 0; n < c->open_count && c->burst.out.len < SIM_WIRE_MAX / 8; n++)
        put_submit(&c->burst, c->load->method, &c->open[n]);
    uint32_t submitted = c->burst.count;
    for (uint32_t n = 0; n < c->cancel_count; n++)
        put_cancel(&c->burst, c->cancels[n]);
    c->cancel_count = 0;
    sim_latency(c->scenario);
    bool good = sim_burst_run(&c->burst, l);
    sim_latency(c->scenario);
    for (uint32_t n = 0; n < submitted; n++)
        heed(c, &c->open[n], &c->burst.requests[n]);
    keep_open(c);
    return good;
}

/* --- Their lives --- */

static void wait_for_due(const struct client *c)
{
    if (c->open_count > 0)
        sim_sleep_for(SIM_MS(PAUSE_MS));
    else if (c->drawn < c->load->count && due(c) > sim_now())
        sim_wait_for(clients, due(c));
}

static bool is_over(const struct client *c)
{
    return c->drawn == c->load->count && c->open_count == 0 && c->cancel_count == 0;
}

static void serve_connection(struct client *c)
{
    struct sim_link *l = sim_node_connect();
    bool good = true;
    while (good && sim_node_up() && !is_over(c)) {
        draw_due(c);
        if (c->open_count + c->cancel_count > 0)
            good = run_burst(c, l);
        if (good)
            wait_for_due(c);
    }
    sim_net_leave(l);
}

static void run(void *arg)
{
    struct client *c = arg;
    while (!is_over(c)) {
        if (!sim_node_up())
            sim_wait_for(clients, SIM_NEVER);
        else
            serve_connection(c);
    }
    c->over = true;
}

void sim_load_spawn(const struct sim_scenario *s)
{
    for (uint32_t n = 0; n < s->load_count; n++) {
        struct client *c = calloc(1, sizeof *c);
        require(c != NULL, "no memory for clients");
        c->scenario = s;
        c->load = &s->loads[n];
        c->from = sim_now();
        clients[client_count++] = c;
        sim_spawn(SIM_WORLD, "client", run, c);
    }
}

void sim_load_wake(void)
{
    sim_wake_all(clients);
}

bool sim_load_over(void)
{
    for (uint32_t n = 0; n < client_count; n++)
        if (!clients[n]->over)
            return false;
    return true;
}

/* --- Crons --- */

static bool put_cron(const struct sim_scenario *s, const struct sim_cron *c, struct sim_link *l)
{
    static struct sim_burst burst;
    sim_burst_clear(&burst);
    sim_burst_add(&burst, SIM_OTHER, "cron.put", 5);
    sim_put_text(&burst.out, c->name);
    sim_put_text(&burst.out, c->schedule);
    sim_put_text(&burst.out, c->method);
    if (c->params)
        sim_put_json(&burst.out, c->params);
    else
        sim_put_array(&burst.out, 0);
    if (c->options)
        sim_put_json(&burst.out, c->options);
    else
        sim_put_map(&burst.out, 0);
    bool good = sim_burst_run(&burst, l);
    const struct sim_request *r = &burst.requests[0];
    if (good && r->error.len > 0 && !comes_yet(s, 0, r))
        sim_report_refused(c->name, r->error);
    return good && r->error.len == 0;
}

bool sim_crons_put(const struct sim_scenario *s, struct sim_link *l)
{
    bool good = true;
    for (uint32_t n = 0; good && n < s->cron_count; n++)
        good = put_cron(s, &s->crons[n], l);
    return good;
}
