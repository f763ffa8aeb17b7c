#include "sim/world.h"

#include <string.h>

#include "server/tasks/registry.h"
#include "sim/attempts.h"
#include "sim/batches.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/client.h"
#include "sim/crons.h"
#include "sim/deeds.h"
#include "sim/disk.h"
#include "sim/ends.h"
#include "sim/limits.h"
#include "sim/lists.h"
#include "sim/lives.h"
#include "sim/memory.h"
#include "sim/feed.h"
#include "sim/guest.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/points.h"
#include "sim/postgres.h"
#include "sim/promises.h"
#include "sim/record.h"
#include "sim/schedule.h"
#include "sim/sems.h"
#include "sim/stand_ins.h"
#include "sim/system.h"
#include "sim/trace.h"
#include "sim/faults.h"
#include "sim/worker.h"

extern const struct ergon_module_info *const demo_module; /* linked in */

enum {
    PATIENCE_MS = 7200000, /* of clients that are to come to rest; a burst has an hour */
    MINUTE_MS = 60000,
    ROWS_MS = 3000,
    KEEP_MS = 10,           /* until a node that has ended by itself is started again */
    CALM_MINUTES = 60,      /* tasks that kill their workers are tried at a minute's distance */
    DONE_IN_A_MINUTE = 1000 /* tasks, at least */
};

/* --- A look at all tasks, on a connection of its own --- */

enum look { NOTE, COMPARE, COUNT, ENDED };

static struct sim_burst burst;
static bool may_stand_in;   /* there may be more blocking executors than there are */
static uint32_t open_count; /* tasks that COUNT found open */

/* The store could not write, and the task says so: a restart may still forget what it is now. */
static bool is_unwritten(struct span result)
{
    return span_is(sim_member_text(result, "reason"), "store");
}

static void heed(const struct sim_request *r, enum look how)
{
    if (how == NOTE || how == COMPARE)
        sim_compare_said(r->task, r->mark, r->error, r->result);
    if (how == ENDED && r->error.len == 0) {
        sim_check_ended(r->task, r->result);
        sim_deeds_saw_end(r->task, r->result);
    }
    open_count += how == COUNT && r->error.len == 0 && !*r->task->run && !sim_has_ended(r->result);
    if (r->error.len == 0)
        sim_check_work(r->task, r->result);
    if (how == NOTE && r->error.len == 0 && !is_unwritten(r->result))
        sim_note_said(r->task, r->result);
    if (r->error.len == 0)
        sim_saw_state(r->task, r->mark, r->result);
}

/* False: the node died under it. */
static bool look_at(struct sim_link *l, uint32_t from, enum look how)
{
    sim_burst_clear(&burst);
    for (uint32_t n = from; n < sim_task_count && n < from + SIM_BURST_MAX; n++) {
        struct sim_request *r = sim_burst_add(&burst, SIM_OTHER, "task.get", 1);
        sim_put_text(&burst.out, sim_tasks[n].id);
        r->task = &sim_tasks[n];
        r->mark = sim_end_mark(r->task);
    }
    if (!sim_burst_run(&burst, l))
        return false;
    for (uint32_t n = 0; n < burst.count; n++)
        heed(&burst.requests[n], how);
    return true;
}

/* Memory does not fail meanwhile, since a look needs all of its answers. */
static bool look(enum look how)
{
    if (!sim_node_up())
        return false;
    sim_memory_ample(true);
    struct sim_link *l = sim_node_connect();
    bool good = true;
    for (uint32_t n = 0; good && n < sim_task_count; n += SIM_BURST_MAX)
        good = look_at(l, n, how);
    if (good && how == NOTE)
        good = sim_lists_note(l);
    else if (good && how == COMPARE)
        good = sim_lists_compare(l);
    else if (how == COMPARE) /* what is asked from now on may change them */
        sim_lists_forget();
    good = good && sim_check_accounts(l);
    sim_net_leave(l);
    sim_memory_ample(false);
    return good;
}

/* A death leaves the numbers of limits and rates as they were. */
static void look_at_numbers(void)
{
    if (!sim_node_up())
        return;
    sim_memory_ample(true);
    struct sim_link *l = sim_node_connect();
    sim_burst_clear(&burst);
    sim_limit_explain(&burst);
    sim_deeds_explain_rate(&burst);
    if (sim_burst_run(&burst, l))
        for (uint32_t n = 0; n < burst.count; n++)
            burst.requests[n].heed(&burst.requests[n]);
    sim_net_leave(l);
    sim_memory_ample(false);
}

static void look_after_start(void)
{
    look(COMPARE);
    look_at_numbers();
}

/* --- Lives --- */

static void wait_for_quiet(void)
{
    uint64_t until = sim_now() + SIM_MS(PATIENCE_MS);
    sim_clients_quiet(true);
    while (!sim_clients_idle() && sim_now() < until)
        sim_sleep_for(SIM_MS(1));
    if (!sim_clients_idle())
        sim_finding("answers: clients wait for two hours");
}

static void end(enum sim_end how)
{
    sim_crons_node_ended(); /* while it stops nothing fires */
    sim_node_end(how);
    sim_attempts_node_died();
}

/* The server writes rows that lacked memory within a second or two after there is some again. */
static void wait_for_rows(void)
{
    if (!sim_memory_failed_within(SIM_MS(ROWS_MS)))
        return;
    sim_memory_ample(true);
    sim_sleep_for(SIM_MS(ROWS_MS));
    sim_memory_ample(false);
}

/* The node dies while nobody asks for anything, just after a look. */
static void end_in_quiet(enum sim_end how)
{
    wait_for_quiet();
    sim_sleep_for(sim_below(SIM_DEEDS, SIM_MS(500)));
    sim_sleep_for(20 * sim_slack()); /* until what clients left without its answer is done */
    wait_for_rows();
    sim_forget_said();
    if (!sim_node_up() || !look(NOTE))
        sim_forget_said();
    end(how);
}

/* The power goes at one of the next calls of the disk, if so many come. */
static void cut_within(uint64_t ns, uint64_t calls)
{
    uint64_t until = sim_now() + ns;
    sim_disk_cut_at(1 + sim_below(SIM_DISK, calls));
    while (!sim_disk_is_cut() && sim_now() < until)
        sim_sleep_for(SIM_MS(1));
}

/* Amid requests, or at a call of the disk. */
static void end_in_work(enum sim_end how)
{
    sim_forget_said();
    if (sim_one_in(SIM_DEEDS, 2))
        cut_within(SIM_MS(500), 200);
    end(how);
}

/* A start may be cut, too, or fail without memory. */
static void start(void)
{
    if (sim_one_in(SIM_DEEDS, 4))
        sim_disk_cut_at(1 + sim_below(SIM_DISK, 400));
    while (!sim_node_start())
        end(SIM_KILL);
    sim_disk_spare();
    sim_crons_node_started();
    sim_batches_node_started();
    sim_deeds_node_started();
}

static int add_demo(struct registry *r, char *error, size_t size)
{
    return module_add(r, demo_module, error, size);
}

void sim_configure(struct sim_flags *f)
{
    char error[400] = "";
    if (!sim_flag_is_set(f, "--store"))
        sim_flag_set(f, "--store", SIM_STORE);
    if (strcmp(sim_flag_value(f, "--store"), SIM_POSTGRES) == 0) {
        sim_flag_set(f, "--cluster-node", SIM_NODE_NAME);
        sim_postgres_open();
    }
    may_stand_in = sim_may_stand_in(f);
    if (!sim_node_configure(f->words, add_demo, error, sizeof error))
        sim_finding("the configuration is not accepted: %s", error);
}

void sim_others_shape(void)
{
    sim_workers_shape();
    sim_holders_shape();
    sim_crons_shape();
    sim_faults_shape();
}

void sim_others_spawn(void)
{
    sim_workers_spawn();
    sim_holders_spawn();
    sim_feed_spawn();
    sim_guest_spawn();
    sim_faults_spawn();
    sim_postgres_spawn();
}

void sim_others_wake(void)
{
    sim_workers_wake();
    sim_holders_wake();
    sim_feed_wake();
    sim_guest_wake();
}

static void wake_all(void)
{
    sim_clients_wake();
    sim_others_wake();
}

/* What the server can be asked has a deed. */
static void look_at_methods(void)
{
    sim_memory_ample(true);
    struct sim_link *l = sim_node_connect();
    sim_burst_clear(&burst);
    sim_burst_add(&burst, SIM_OTHER, "server.methods", 0);
    if (sim_burst_run(&burst, l))
        sim_check_deeds(burst.requests[0].result);
    sim_net_leave(l);
    sim_memory_ample(false);
}

static uint64_t life_steps; /* each doubles the longest life */

/* The power went, and it goes again at the end of this life.  In this life only workers send
 * requests, so the server writes little.  What the start wrote survives only if the start synced
 * it: hardly any later commit does. */
static void live_for_workers(void)
{
    sim_sleep_for(SIM_MS(100)); /* then all workers wait for the node */
    start();
    sim_record_begin();
    sim_workers_wake();
    cut_within(SIM_MS(100), 8);
    end(SIM_POWER);
}

/* A node of a cluster ends by itself, as `cluster.drain` wants it to, and is started again. */
static void keep_up(void)
{
    while (!sim_node_up() && !sim_disk_is_cut()) {
        end(SIM_STOP);
        start();
        wake_all();
    }
}

static void sleep_for(uint64_t ns)
{
    uint64_t until = sim_now() + ns;
    if (!sim_postgres())
        sim_sleep_for(ns);
    while (sim_now() < until) {
        sim_sleep_for(SIM_MS(KEEP_MS));
        keep_up();
    }
}

static void live(bool is_last)
{
    start();
    if (is_last)
        look_at_methods();
    look_after_start();
    wake_all();
    sim_clients_quiet(false);
    sleep_for(SIM_MS(20) << sim_below(SIM_DEEDS, life_steps));
    if (is_last)
        return;
    bool twice = sim_workers_there() && sim_one_in(SIM_DEEDS, 3);
    enum sim_end how = twice ? SIM_POWER : (enum sim_end)sim_below(SIM_DEEDS, 3);
    if (sim_one_in(SIM_DEEDS, 2))
        end_in_quiet(how);
    else
        end_in_work(how);
    if (twice)
        live_for_workers();
    wake_all();
}

/* Each run that is left, by as many cancels as it needs. */
static void cancel_runs(void)
{
    struct sim_link *l = sim_node_connect();
    for (uint32_t n = 0; n < sim_task_count; n++) {
        struct sim_task *t = &sim_tasks[n];
        /* After its hour it may have ended, and been forgotten. */
        while (*t->run && t->certain && t->joined > 0 && !sim_hour_is_over()) {
            sim_burst_clear(&burst);
            sim_burst_add(&burst, SIM_CANCEL, "task.cancel", 1);
            sim_put_text(&burst.out, t->id);
            if (!sim_burst_run(&burst, l) || burst.requests[0].error.len > 0)
                sim_finding("joins: run %s cannot be cancelled", t->id);
            sim_saw_cancel(t, burst.requests[0].result);
        }
    }
    sim_net_leave(l);
}

/* Every task ends at last; see workers.md for how long one may take that kills its workers. */
static void wait_for_ends(void)
{
    uint64_t minutes = sim_workers_there() ? CALM_MINUTES : 1;
    minutes += sim_deeds_rate_ms() / MINUTE_MS + sim_submitted() / DONE_IN_A_MINUTE;
    open_count = 1;
    while (open_count > 0 && minutes-- > 0) {
        sim_sleep_for(SIM_MS(MINUTE_MS));
        open_count = 0;
        look(COUNT);
    }
    look(ENDED);
}

/* All queues are open, and nothing new comes of itself. */
static void calm_down(void)
{
    struct sim_link *l = sim_node_connect();
    sim_workers_calm();
    sim_holders_calm();
    sim_burst_clear(&burst);
    sim_deeds_resume(&burst);
    sim_cron_delete(&burst);
    if (!sim_burst_run(&burst, l))
        sim_finding("answers: a connection ended in calm");
    sim_crons_look(&burst, l);
    sim_batches_calm(&burst, l);
    sim_net_leave(l);
}

static void check_all(void)
{
    struct sim_link *l = sim_node_connect();
    sim_check_cron(&burst, l);
    sim_check_batches(&burst, l);
    if (may_stand_in)
        sim_check_stand_ins(&burst, l);
    sim_net_leave(l);
    sim_check_order();
    sim_check_limits();
}

/* In the last life. */
static void end_in_calm(void)
{
    wait_for_quiet();
    if (sim_postgres())
        keep_up();
    sim_schedule_calm();
    sim_faults_calm();
    sim_postgres_calm();
    sim_guest_calm();
    sleep_for(SIM_MS(5000)); /* until a fault that has begun is over, and crons have fired */
    cancel_runs();
    calm_down();
    wait_for_ends();
    check_all();
    end(SIM_STOP);
}

static void run(void *arg)
{
    uint64_t lives = 2 + sim_below(SIM_SHAPE, 4);
    (void)arg;
    life_steps = sim_one_in(SIM_SHAPE, 8) ? 10 : 7;
    sim_clients_spawn();
    sim_others_spawn();
    for (uint64_t n = 1; n <= lives; n++)
        live(n == lives);
    end_in_calm();
}

static bool postgres;

void sim_world_on_postgres(void)
{
    postgres = true;
}

bool sim_world_is_on_postgres(void)
{
    return postgres;
}

void sim_world_run(uint64_t seed)
{
    struct sim_flags flags;
    sim_chance_seed(seed);
    sim_schedule_shape();
    sim_others_shape();
    sim_record_others(seed);
    sim_clients_shape();
    sim_disk_open();
    sim_flags_draw(&flags);
    if (postgres) {
        sim_flag_set(&flags, "--store", SIM_POSTGRES);
        sim_record_flag("--store", SIM_POSTGRES);
    }
    sim_configure(&flags);
    sim_spawn(SIM_WORLD, "world", run, NULL);
    sim_run();
}

/* --- What a script does as a seed does it --- */

void sim_begin_life(uint64_t cut)
{
    if (cut)
        sim_disk_cut_at(cut);
    start();
    look_after_start();
}

void sim_note_all(void)
{
    sim_forget_said();
    if (!sim_node_up() || !look(NOTE))
        sim_forget_said();
}

void sim_end_life(enum sim_end how)
{
    end(how);
}

void sim_end_in_calm(void)
{
    end_in_calm();
}
