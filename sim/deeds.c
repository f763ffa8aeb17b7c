#include "sim/deeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/reader.h"
#include "sim/actors.h"
#include "sim/batches.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/crons.h"
#include "sim/memory.h"
#include "sim/numbers.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/sems.h"
#include "sim/system.h"
#include "sim/trace.h"
#include "sim/worker.h"

enum { KEYS = 8, TENANTS = 3, RATE_MAX = 3, RATE_MS = 1000, EXPLAINED = 16 };

static const char paused_method[] = "work.slow";

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_DEEDS, n);
}

static void put_option(struct sim_burst *b, const char *name, uint64_t value)
{
    sim_put_text(&b->out, name);
    sim_put_uint(&b->out, value);
}

static struct sim_task *any_task(void)
{
    uint64_t most = sim_task_count < 16 ? sim_task_count : 16; /* the latest */
    return sim_task_count > 0 ? &sim_tasks[sim_task_count - 1 - below(most)] : NULL;
}

static struct sim_request *put(struct sim_burst *b, const char *method, uint32_t params)
{
    return sim_burst_add(b, SIM_OTHER, method, params);
}

/* The id of a task, or of none. */
static struct sim_task *put_id(struct sim_burst *b)
{
    struct sim_task *t = any_task();
    sim_put_text(&b->out, t ? t->id : "t0000000000000");
    return t;
}

static void put_queue(struct sim_burst *b, const char *method)
{
    put(b, method, 1);
    sim_put_text(&b->out, paused_method);
}

/* --- Of the server: nothing is looked at but that they are answered --- */

#define PLAIN(name, method)                                                                        \
    static void name(struct sim_burst *b, uint32_t client)                                         \
    {                                                                                              \
        (void)client;                                                                              \
        put(b, method, 0);                                                                         \
    }
PLAIN(ping, "server.ping")
PLAIN(info, "server.info")
PLAIN(whoami, "server.whoami")
PLAIN(times, "server.times")
PLAIN(figures, "server.figures")
PLAIN(methods, "server.methods")
PLAIN(topology, "server.topology")
PLAIN(debug_dump, "server.debug_dump")
PLAIN(connections, "connection.list")
PLAIN(cluster, "cluster.status")
PLAIN(drain_owner, "cluster.drain")
PLAIN(forget_node, "cluster.forget")
PLAIN(retry_owner, "cluster.retry")
PLAIN(vouch, "cluster.session")
PLAIN(board, "cluster.board")
PLAIN(workers, "worker.list")
PLAIN(queues, "queue.list")
PLAIN(tenants, "queue.tenants")
PLAIN(crons, "cron.list")
PLAIN(sems, "sem.list")
#undef PLAIN

static void hello(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "server.hello", 1);
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "half_close");
    sim_put_bool(&b->out, sim_one_in(SIM_DEEDS, 2));
}

static void auth(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "server.auth", 1);
    sim_put_text(&b->out, "no-such-token");
}

static void describe(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "server.describe", 1);
    sim_put_text(&b->out, paused_method);
}

/* A call that was asked in this burst. */
static void cancel_request(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "server.cancel", 1);
    const struct sim_request *other = &b->requests[below(b->count)];
    bool may = other->deed == SIM_CALL || other->deed == SIM_WORK_CALL;
    sim_put_uint(&b->out, may ? other->id : 0);
}

/* A client, a worker, or none: whoever has the number. */
static void kill_connection(struct sim_burst *b, uint32_t client)
{
    (void)client;
    bool tries = !sim_one_in(SIM_DEEDS, 4);
    put(b, "connection.kill", 1);
    sim_put_map(&b->out, 2);
    sim_put_text(&b->out, tries ? "all" : "id");
    if (tries)
        sim_put_bool(&b->out, true);
    else
        sim_put_uint(&b->out, 1 + below(40));
    sim_put_text(&b->out, "dry_run");
    sim_put_bool(&b->out, tries);
}

static void heed_audit(struct sim_request *r)
{
    struct span balanced = sim_member(r->result, "balanced");
    struct reader v = reader_of(balanced);
    char text[400];
    bool good;
    if (r->error.len > 0 || read_nil(&v))
        return;
    sim_show(sim_member(r->result, "differences"), text, sizeof text);
    if (!read_bool(&v, &good) || !good)
        sim_finding("audit: the accounts differ: %s", text);
}

static void audit(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "server.audit", 0)->heed = heed_audit;
}

/* --- Tasks --- */

static void submit_many(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.submit_many", 2);
    sim_put_array(&b->out, 3);
    for (uint32_t n = 0; n < 3; n++) {
        sim_put_array(&b->out, 2);
        sim_put_text(&b->out, "echo");
        sim_put_array(&b->out, 1);
        sim_put_uint(&b->out, n);
    }
    sim_put_map(&b->out, 1);
    put_option(b, "priority", below(10));
}

static void call_by_task(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.call", 3);
    sim_put_text(&b->out, sim_one_in(SIM_DEEDS, 4) ? "flaky" : "sleep");
    sim_put_array(&b->out, 1);
    sim_put_uint(&b->out, below(20));
    sim_put_map(&b->out, 1);
    put_option(b, "deadline", 1 + below(40));
}

static void wait_for_task(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.wait", 2);
    put_id(b);
    sim_put_map(&b->out, 1);
    put_option(b, "timeout", below(100));
}

static void watch(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.watch", 2);
    put_id(b);
    sim_put_map(&b->out, 1);
    put_option(b, "timeout", below(100));
}

static void explain(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.explain", 1);
    put_id(b);
}

static void list(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.list", 1);
    sim_put_map(&b->out, 1);
    put_option(b, "limit", 1 + below(20));
}

static void change(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.change", 2);
    struct sim_task *t = put_id(b);
    if (t)
        t->meddled = true;
    sim_put_map(&b->out, 1);
    put_option(b, "priority", below(10));
}

static void forget(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.forget", 1);
    struct sim_task *t = any_task();
    bool may = t && !*t->run && !t->named;
    sim_put_text(&b->out, may ? t->id : "t0000000000000");
    if (may)
        t->forgotten = true;
}

static void cancel_many(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "task.cancel", 1);
    sim_put_map(&b->out, 2);
    sim_put_text(&b->out, "method");
    sim_put_text(&b->out, "flaky");
    put_option(b, "newer", below(50));
}

/* --- Keys: few, of all clients; each tenant has its own --- */

static const char *const tenants_of_keys[TENANTS] = {"red", "green", "blue"};
static struct {
    char id[SIM_ID];
} keyed[KEYS * TENANTS];

static void follow(struct sim_task *t, bool named)
{
    if (t)
        t->named |= named;
}

static void heed_keyed(struct sim_request *r)
{
    struct span id = sim_member_text(r->result, "id");
    char *known = keyed[r->note].id;
    if (r->error.len > 0)
        return;
    if (!*known)
        memcpy(known, id.at, id.len);
    if (!span_is(id, known) && !sim_may_be_forgotten())
        sim_finding("keys: key k%u of %s names task %s, and now %.*s",
                    (unsigned)(r->note / TENANTS), tenants_of_keys[r->note % TENANTS], known,
                    (int)id.len, id.at);
    follow(sim_saw_submit(r->result, ""), true);
}

static void submit_keyed(struct sim_burst *b, uint32_t client)
{
    char key[8];
    (void)client;
    struct sim_request *r = put(b, "task.submit", 3);
    r->note = below(KEYS * TENANTS);
    r->heed = heed_keyed;
    snprintf(key, sizeof key, "k%u", (unsigned)(r->note / TENANTS));
    sim_put_text(&b->out, "echo");
    sim_put_array(&b->out, 0);
    sim_put_map(&b->out, 3);
    sim_put_text(&b->out, "tenant");
    sim_put_text(&b->out, tenants_of_keys[r->note % TENANTS]);
    sim_put_text(&b->out, "key");
    sim_put_text(&b->out, key);
    put_option(b, "delay", below(100));
}

/* --- What waits for others --- */

static void heed_after(struct sim_request *r)
{
    struct sim_task *t = r->error.len == 0 ? sim_saw_submit(r->result, "") : NULL;
    follow(t, true);
    follow(r->task, true);
    if (t)
        t->after = r->task;
}

static void submit_after(struct sim_burst *b, uint32_t client)
{
    (void)client;
    struct sim_task *of = any_task();
    if (of && *of->run) /* it is open for an hour */
        of = NULL;
    struct sim_request *r = put(b, "task.submit", 3);
    r->heed = heed_after;
    r->task = of;
    sim_put_text(&b->out, "echo");
    sim_put_array(&b->out, of != NULL);
    if (of) {
        sim_put_map(&b->out, 1);
        sim_put_text(&b->out, "$result");
        sim_put_text(&b->out, of->id);
    }
    sim_put_map(&b->out, of != NULL);
    if (!of)
        return;
    of->named = true; /* it is not forgotten */
    sim_put_text(&b->out, "after");
    sim_put_text(&b->out, of->id);
}

/* --- Rates --- */

static struct sim_number rate; /* of the first client, so that the order of its numbers is known */

static void heed_rate(struct sim_request *r)
{
    struct sim_task *t = r->error.len == 0 ? sim_saw_submit(r->result, "") : NULL;
    if (t) {
        t->of_rate = true;
        t->forgotten |= r->brief;
    }
    if (r->error.len == 0)
        sim_number_answered(&rate, r->note);
}

void sim_rate_asked(uint64_t max, struct sim_request *r)
{
    r->heed = heed_rate;
    r->note = sim_number_ask(&rate, max);
}

/* Submissions that were not answered may be there, too. */
uint64_t sim_deeds_rate_ms(void)
{
    return (uint64_t)rate.count * RATE_MS;
}

static void put_with_rate(struct sim_burst *b)
{
    uint64_t max = 1 + below(RATE_MAX);
    struct sim_request *r = put(b, "task.submit", 3);
    r->brief = sim_one_in(SIM_DEEDS, 2);
    sim_rate_asked(max, r);
    sim_put_text(&b->out, "echo");
    sim_put_array(&b->out, 0);
    sim_put_map(&b->out, r->brief ? 3 : 1);
    if (r->brief) {
        put_option(b, "deadline", 1 + below(100));
        put_option(b, "keep", 1);
    }
    sim_put_text(&b->out, "rate");
    sim_put_map(&b->out, 3);
    sim_put_text(&b->out, "key");
    sim_put_text(&b->out, SIM_RATE);
    put_option(b, "max", max);
    put_option(b, "per", RATE_MS);
}

/* Submits several tasks at a time, so that some of them wait.  The latest may be forgotten before
 * the others start.  Then only the rate's own row in the store has the latest number. */
static void submit_with_rate(struct sim_burst *b, uint32_t client)
{
    uint64_t count = 1 + below(8);
    if (client != 0 || rate.count + count > SIM_CHANGES_MAX || b->count + count > SIM_BURST_MAX) {
        put_queue(b, "queue.explain");
        return;
    }
    while (count-- > 0)
        put_with_rate(b);
}

static void heed_explain_rate(struct sim_request *r)
{
    uint64_t max = sim_member_uint(r->result, "rate");
    if (r->error.len > 0 || !span_is(sim_member_text(r->result, "reason"), "rate") ||
        sim_memory_failed_within(sim_now()))
        return;
    if (!sim_number_may_be(&rate, max))
        sim_finding("numbers: the rate is %" PRIu64 ", and another number was answered", max);
}

void sim_deeds_explain_rate(struct sim_burst *b)
{
    uint32_t left = EXPLAINED;
    for (uint32_t n = sim_task_count; n-- > 0 && left > 0;) {
        if (!sim_tasks[n].of_rate)
            continue;
        put(b, "task.explain", 1)->heed = heed_explain_rate;
        sim_put_text(&b->out, sim_tasks[n].id);
        left--;
    }
}

static uint64_t starts[SIM_TASKS_MAX]; /* ms, in order */
static uint32_t start_count;

static void note_start(uint64_t ms)
{
    uint32_t n = start_count++;
    for (; n > 0 && starts[n - 1] > ms; n--)
        starts[n] = starts[n - 1];
    starts[n] = ms;
}

void sim_deeds_saw_end(struct sim_task *t, struct span task)
{
    t->done = span_is(sim_member_text(task, "state"), "done");
    t->started_ms = sim_member_uint(task, "started");
    t->ended_ms = sim_member_uint(task, "ended");
    if (t->of_rate && t->started_ms > 0)
        note_start(t->started_ms);
}

static void check_after(const struct sim_task *t)
{
    const struct sim_task *of = t->after;
    if (!of || !t->done || t->retries > 0 || of->retries > 0 || of->ended_ms == 0)
        return;
    if (!of->done)
        sim_finding("after: task %s is done, and %s, which it waits for, is not", t->id, of->id);
    if (t->started_ms < of->ended_ms)
        sim_finding("after: task %s began %" PRIu64 " ms before the end of %s", t->id,
                    of->ended_ms - t->started_ms, of->id);
}

/* Starts are told in whole milliseconds. */
static void check_rate(uint32_t n)
{
    uint64_t most = sim_number_most(&rate, SIM_MS(starts[n] + 1) - SIM_EPOCH);
    if (n >= most && starts[n] - starts[n - most] + 1 < RATE_MS)
        sim_finding("rates: %" PRIu64 " tasks started within %" PRIu64 " ms, and may in %d",
                    most + 1, starts[n] - starts[n - most], RATE_MS);
}

void sim_check_order(void)
{
    if (sim_clock_leapt())
        return;
    for (uint32_t n = 0; n < sim_task_count; n++)
        check_after(&sim_tasks[n]);
    if (sim_memory_failed_within(sim_now())) /* the store may not have been told of starts */
        return;
    for (uint32_t n = 0; n < start_count; n++)
        check_rate(n);
}

/* --- Queues: the first client pauses one and opens it again, so that the order is known --- */

static uint64_t paused_since = SIM_NEVER;
static uint64_t pause_id; /* of the last pause, unless something followed it */
/* Of what opens the queue; one whose answer was lost may still be done at any time. */
static uint32_t unanswered;

static void heed_open(struct sim_request *r)
{
    (void)r;
    unanswered--;
}

static void heed_pause(struct sim_request *r)
{
    if (r->error.len == 0 && r->id == pause_id && unanswered == 0)
        paused_since = sim_now();
}

/* Whatever its answer says. */
static void forget_pause(struct sim_burst *b)
{
    unanswered++;
    b->requests[b->count - 1].heed = heed_open;
    paused_since = SIM_NEVER;
    pause_id = 0;
}

static void open_queue(struct sim_burst *b)
{
    put_queue(b, "queue.resume");
    forget_pause(b);
}

static void pause_queue(struct sim_burst *b, uint32_t client)
{
    if (client != 0) {
        put_queue(b, "queue.explain");
        return;
    }
    if (paused_since < SIM_NEVER && sim_one_in(SIM_DEEDS, 2)) {
        open_queue(b);
        return;
    }
    put_queue(b, "queue.pause");
    b->requests[b->count - 1].heed = heed_pause;
    pause_id = b->requests[b->count - 1].id;
}

static void resume_queue(struct sim_burst *b, uint32_t client)
{
    if (client == 0)
        open_queue(b);
    else
        put_queue(b, "queue.explain");
}

/* One that drains runs what it has. */
static void drain_queue(struct sim_burst *b, uint32_t client)
{
    bool drains = client == 0 && sim_one_in(SIM_DEEDS, 4);
    put_queue(b, drains ? "queue.drain" : "queue.explain");
    if (drains)
        forget_pause(b);
}

static void explain_queue(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put_queue(b, "queue.explain");
}

void sim_deeds_node_started(void)
{
    sim_numbers_node_started();
    unanswered = 0;
}

void sim_deeds_resume(struct sim_burst *b)
{
    open_queue(b);
}

void sim_check_pause(const char *method, uint64_t began)
{
    if (strcmp(method, paused_method) == 0 && paused_since < SIM_NEVER &&
        began > paused_since + sim_slack())
        sim_finding("pause: a task of %s began at %" PRIu64
                    " us, and its pause was answered at %" PRIu64 " us",
                    method, began / 1000, paused_since / 1000);
}

/* --- Events of clients --- */

static uint64_t event_seq;

static void heed_event(struct sim_request *r)
{
    uint64_t seq = sim_member_uint(r->result, "seq");
    if (r->error.len > 0)
        return;
    if (seq <= r->note && !sim_clock_leapt())
        sim_finding("events: the number %" PRIu64 " came after %" PRIu64, seq, r->note);
    if (seq > event_seq)
        event_seq = seq;
}

static void set_event(struct sim_burst *b, uint32_t client)
{
    (void)client;
    struct sim_request *r = put(b, "event.set", 2);
    sim_put_text(&b->out, "news");
    sim_put_uint(&b->out, below(1000));
    r->note = event_seq;
    r->heed = heed_event;
}

static void wait_for_event(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "event.wait", 2);
    sim_put_text(&b->out, "news");
    sim_put_map(&b->out, 1);
    put_option(b, "timeout", below(50));
}

/* --- The table --- */

const struct sim_deed_row sim_deeds[] = {
    {"server.hello", hello},
    {"server.auth", auth},
    {"server.ping", ping},
    {"server.cancel", cancel_request},
    {"server.info", info},
    {"server.whoami", whoami},
    {"server.times", times},
    {"server.figures", figures},
    {"server.methods", methods},
    {"server.describe", describe},
    {"server.topology", topology},
    {"server.debug_dump", debug_dump},
    {"server.audit", audit},
    {"connection.list", connections},
    {"connection.kill", kill_connection},
    {"cluster.status", cluster},
    {"cluster.drain", drain_owner},
    {"cluster.forget", forget_node},
    {"cluster.retry", retry_owner},
    {"cluster.session", vouch},
    {"cluster.board", board},
    {"task.submit", submit_keyed},
    {"task.submit", submit_after},
    {"task.submit", submit_with_rate},
    {"task.submit_many", submit_many},
    {"task.call", call_by_task},
    {"task.get", NULL}, /* client.c */
    {"task.retry", NULL},
    {"task.run_now", NULL},
    {"task.wait", wait_for_task},
    {"task.watch", watch},
    {"task.explain", explain},
    {"task.list", list},
    {"task.change", change},
    {"task.forget", forget},
    {"task.cancel", cancel_many},
    {"task.events", NULL}, /* feed.c */
    {"queue.list", queues},
    {"queue.explain", explain_queue},
    {"queue.tenants", tenants},
    {"queue.pause", pause_queue},
    {"queue.resume", resume_queue},
    {"queue.drain", drain_queue},
    {"cron.put", sim_put_cron},
    {"cron.list", crons},
    {"cron.pause", sim_pause_cron},
    {"cron.resume", sim_resume_cron},
    {"cron.run", sim_run_cron},
    {"cron.delete", sim_delete_cron},
    {"sem.create", sim_create_sem},
    {"sem.list", sems},
    {"sem.explain", sim_explain_sem},
    {"sem.delete", sim_delete_sem},
    {"sem.acquire", NULL}, /* sems.c */
    {"sem.release", NULL},
    {"sem.renew", NULL},
    {"sem.resume", NULL},
    {"sem.revoke", sim_revoke_sem},
    {"batch.create", sim_create_batch},
    {"batch.add", sim_add_to_batch},
    {"batch.close", sim_close_batch},
    {"batch.get", sim_get_batch},
    {"batch.list", sim_list_batches},
    {"batch.cancel", sim_cancel_batch},
    {"event.set", set_event},
    {"event.wait", wait_for_event},
    {"actor.call", sim_call_actor},
    {"actor.call", sim_give},
    {"actor.call", sim_read_actor},
    {"actor.call", sim_start_ticker},
    {"actor.tell", sim_tell_actor},
    {"actor.get", sim_get_actor},
    {"actor.explain", sim_explain_actor},
    {"actor.list", sim_list_actors},
    {"actor.watch", sim_watch_actor},
    {"actor.types", sim_actor_types},
    {"actor.stop", sim_stop_actor},
    {"actor.start", sim_start_actor},
    {"actor.wake", sim_wake_actor},
    {"actor.drop", sim_drop_actor},
    {"actor.remind", sim_remind_actor},
    {"actor.forget", sim_forget_reminder},
    {"counter.add", NULL}, /* actor.call sends these */
    {"counter.give", NULL},
    {"counter.get", NULL},
    {"ticker.start", NULL},
    {"ticker.step", NULL}, /* nobody does */
    {"worker.list", workers},
    {"worker.register", NULL}, /* worker.c */
    {"worker.quiet", NULL},
    {"worker.resume", NULL},
    {"worker.progress", NULL},
    {"worker.partial", NULL},
    {"worker.checkpoint", NULL},
    {"worker.submit", NULL},
};
const uint32_t sim_deed_count = sizeof sim_deeds / sizeof *sim_deeds;

static bool has_row(struct span method)
{
    for (uint32_t n = 0; n < sim_deed_count; n++)
        if (span_is(method, sim_deeds[n].method))
            return true;
    return false;
}

/* The server's own have a dot, and the handlers of this server have none; workers' begin so. */
static bool is_own(struct span method)
{
    return memchr(method.at, '.', method.len) && memcmp(method.at, "work.", 5) != 0;
}

void sim_check_deeds(struct span result)
{
    struct reader r = reader_of(result);
    struct span method;
    uint32_t count = 0, own = 0;
    read_array(&r, &count);
    for (uint32_t n = 0; n < count && read_text(&r, &method); n++) {
        own += is_own(method);
        if (is_own(method) && !has_row(method))
            sim_finding("deeds: %.*s has no row in sim/deeds.c", (int)method.len, method.at);
    }
    if (own == 0)
        sim_finding("deeds: server.methods lists none");
}
