/* The power is cut at any call of the disk, under SQLite and the jobs, and processes are killed and
 * stopped in between: over all lives, and watched at the begin of each handler,
 *
 *   - nothing is lost whose submission was answered as on disk, nor is its priority,
 *   - the attempts of a task only grow,
 *   - nothing begins after its end was seen, nor after its cancel was answered, nor while its queue
 *     is paused, and that was answered,
 *   - no more of a limit run at a time than it lets, and no more of a rate start in any window of
 *     its time, restarts or not,
 *   - nothing begins while what has a higher priority could,
 *
 * and in the end nothing is stuck, and the accounts balance.  The power also goes in the commit
 * that raises the numbers of attempts (raise.c), by which they grow where FILE-running was lost.
 *
 * Each seed is a store that lives through some dozen deaths.  What is answered, or begins, after
 * the power has gone did not happen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/jobs/sched/out.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/disk_store.h"
#include "sim/fault_vfs.h"
#include "tests/support/jobs_world_lives.h"
#include "tests/support/random.h"

enum {
    CUTS = 120,     /* at least, in the tests */
    LIVES = 14,     /* of a seed */
    DEEDS = 60,     /* of a life */
    TASKS = 400,    /* of a seed */
    CALLS = 1000,   /* of the disk, in a life: cut at one of them */
    RAISE_CALLS = 8 /* as many as a raise makes */
};
#define RATE_PER AO_MS(30)
enum { RATE = 3 };

static struct tally {
    uint32_t cuts, kills, stops, boots_cut, raises_cut;
    uint64_t tasks, begins, again, limited, rated, highest, cancels, pauses;
} tally;

enum { FREE, ONE, TWO, LIMITS }; /* how many may run at once of the limit of that number */
static const char *const limit_names[LIMITS] = {"", "one", "two"};

/* What the outside knows of a task.  Its number stands in its parameters. */
struct known {
    uint64_t id;       /* 0: nobody has seen it */
    uint8_t params[4]; /* [number] */
    uint32_t attempt;  /* the highest that began */
    enum job_state ended;
    bool fsync;
    bool acknowledged; /* its submission was answered, and fsync kept its word */
    bool seen;         /* to have ended */
    bool cancelled;    /* that was answered */
    bool plain;        /* it waits for its turn alone */
    bool touched;      /* and nobody has meddled with it since */
    bool rated;
    uint8_t limit;
    uint8_t priority;
    uint8_t changes; /* of its priority, that were not answered yet */
    bool unsure;     /* of several the last is not known */
    uint32_t lives;  /* retries that somebody wished: its cancels before count no more */
};

enum { WORK_QUEUE, STEP_QUEUE, QUEUES };
static const char *const queue_names[QUEUES] = {"work", "step"};

struct cutting {
    struct jobs_world w;
    char folder[64], path[96];
    uint64_t store; /* the seed that it began with; 0: it has lived to its end */
    uint64_t seed;
    struct known tasks[TASKS];
    uint32_t count;
    bool paused[QUEUES];      /* that was answered */
    uint32_t meddled[QUEUES]; /* pauses and resumptions under way */
    uint32_t wishes[QUEUES];  /* so many were made: only the last one holds */
    bool booting;
    ao_time starts[RATE]; /* the last ones of the rate, in turn */
    uint64_t started;
};

/* --- Who is who --- */

static uint32_t number_of(struct span params)
{
    assert_int_equal(params.len, 4);
    return (uint32_t)params.at[2] << 8 | params.at[3];
}

static struct known *known_of(struct cutting *c, struct span params, uint64_t id)
{
    struct known *k = &c->tasks[number_of(params)];
    assert_true(number_of(params) < c->count);
    assert_true(k->id == 0 || k->id == id);
    k->id = id;
    return k;
}

static struct known *by_id(struct cutting *c, uint64_t id)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->tasks[i].id == id)
            return &c->tasks[i];
    fail_msg("nobody submitted it");
    return NULL;
}

static struct known *any_known(struct cutting *c)
{
    struct known *k = c->count > 0 ? &c->tasks[chance(&c->seed, c->count)] : NULL;
    return k && k->id != 0 ? k : NULL;
}

static unsigned queue_of(const struct job *job)
{
    return span_equal(job->queue->name, span_text("step")) ? STEP_QUEUE : WORK_QUEUE;
}

/* --- The begin of a handler --- */

static void expect_limit(const struct cutting *c, const struct known *k)
{
    uint32_t run = 0;
    for (const struct world_run *r = c->w.runs; r; r = r->next)
        run += r->stage != ATTEMPT_ASSIGNED && c->tasks[number_of(r->run.params)].limit == k->limit;
    assert_in_range(run, 1, k->limit);
    tally.limited++;
}

static void expect_rate(struct cutting *c)
{
    ao_time *start = &c->starts[c->started % RATE];
    assert_true(c->started < RATE || c->w.v.now - *start >= RATE_PER);
    *start = c->w.v.now;
    c->started++;
    tally.rated++;
}

static bool is_out(const struct cutting *c, uint64_t id)
{
    for (const struct world_run *r = c->w.runs; r; r = r->next)
        if (r->run.id == id)
            return true;
    return false;
}

/* Of those that wait for their turn alone none goes before this one. */
static void expect_first(struct cutting *c, const struct job *job, unsigned queue)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct known *k = &c->tasks[i];
        const struct job *other;
        if (!k->plain || k->touched || !k->acknowledged || k->attempt > 0 || k->seen ||
            k->priority <= job->priority)
            continue;
        other = table_find(&c->w.jobs->table, k->id);
        assert_non_null(other);
        if (queue_of(other) == queue)
            assert_true(is_out(c, k->id));
    }
    tally.highest += job->priority == 9;
}

static void on_begun(void *arg, struct world_run *r, ao_time *lasts)
{
    struct cutting *c = arg;
    const struct job *job = r->run.owner;
    unsigned queue = queue_of(job);
    if (fault_is_cut())
        return;
    struct known *k = known_of(c, r->run.params, r->run.id);
    assert_false(k->seen);
    assert_false(k->cancelled);
    assert_false(c->paused[queue]);
    assert_true(r->run.attempt > k->attempt);
    tally.begins++;
    tally.again += k->attempt > 0;
    if (!c->booting && c->meddled[queue] == 0)
        expect_first(c, job, queue);
    k->attempt = r->run.attempt;
    if (k->limit != FREE)
        expect_limit(c, k);
    if (k->rated)
        expect_rate(c);
}

/* --- Answers --- */

static void submitted(struct operation *op, struct known *k)
{
    const struct submission_outcome *outcome = &op->submission.outcomes[0];
    if (op->reply.error != ERGON_OK)
        return;
    assert_int_equal(outcome->durable, k->fsync ? DURABLE_FSYNC : DURABLE_ASYNC);
    k->id = outcome->id;
    k->acknowledged = k->fsync;
}

static void paused(struct cutting *c, const struct operation *op)
{
    unsigned queue = span_equal(op->named.name, span_text("step")) ? STEP_QUEUE : WORK_QUEUE;
    c->meddled[queue]--;
    if (op->cls != &operation_queue_pause || op->reply.error != ERGON_OK ||
        (uint32_t)(uintptr_t)op->loop != c->wishes[queue])
        return;
    c->paused[queue] = true;
    tally.pauses++;
}

static void cancelled(struct known *k, const struct operation *op)
{
    struct span answer = operation_result(op);
    if (op->reply.error != ERGON_OK || answer.at[answer.len - 1] != 0xc3)
        return;
    k->cancelled = k->lives == (uint32_t)(uintptr_t)op->loop;
    tally.cancels++;
}

static void changed(struct known *k, const struct operation *op)
{
    k->changes--;
    k->unsure |= op->reply.error == ERGON_E_STORE; /* it is so, and a restart may forget it */
    if (op->reply.error == ERGON_OK)
        k->priority = op->change.change.priority;
}

static void on_told(void *arg, struct operation *op)
{
    struct cutting *c = arg;
    if (fault_is_cut() || op->reply.error == ERGON_E_DRAINING)
        return;
    if (op->cls == &operation_queue_pause || op->cls == &operation_queue_resume)
        paused(c, op);
    else if (op->cls == &operation_task_submit)
        submitted(op, &c->tasks[number_of(op->submission.specs[0].params)]);
    else if (op->cls == &operation_task_cancel)
        cancelled(by_id(c, op->job.id), op);
    else if (op->cls == &operation_task_change)
        changed(by_id(c, op->change.id), op);
}

/* --- What everybody may see --- */

static void look_at(struct cutting *c, struct known *k)
{
    const struct job *job = k->id != 0 ? world_job(&c->w, k->id) : NULL;
    if (k->acknowledged || k->seen)
        assert_non_null(job);
    if (!job)
        return;
    if (k->seen) {
        assert_int_equal(job->state, k->ended);
    } else if (!job_state_open((enum job_state)job->state)) {
        k->seen = true;
        k->ended = (enum job_state)job->state;
    }
}

static void look(struct cutting *c)
{
    for (uint32_t i = 0; i < c->count && !fault_is_cut(); i++)
        look_at(c, &c->tasks[i]);
}

/* --- Deeds --- */

static struct job_spec spec_of(struct cutting *c, struct known *k)
{
    struct job_spec spec = WORK();
    spec.method = span_text(queue_names[chance(&c->seed, QUEUES)]);
    spec.params = span_of(k->params, sizeof k->params);
    spec.durable = k->fsync ? DURABLE_FSYNC : DURABLE_ASYNC;
    spec.priority = k->priority;
    spec.keep = AO_S(1000000);
    spec.retries = chance(&c->seed, 3);
    spec.backoff = AO_MS(5);
    spec.timeout = chance(&c->seed, 4) ? AO_NEVER : AO_MS(10);
    spec.limit_key = span_text(limit_names[k->limit]);
    spec.limit = k->limit;
    if (k->rated) {
        spec.rate_key = span_text("rate");
        spec.rate = RATE;
        spec.rate_per = RATE_PER;
    }
    if (!k->plain && chance(&c->seed, 2))
        spec.delay = AO_MS(20);
    if (!k->plain && chance(&c->seed, 6) == 0)
        spec.deadline = AO_MS(50);
    return spec;
}

static void submit_one(struct cutting *c)
{
    struct known *k = &c->tasks[c->count];
    if (c->count == TASKS)
        return;
    *k = (struct known){.params = {0x91, 0xcd, (uint8_t)(c->count >> 8), (uint8_t)c->count},
                        .fsync = chance(&c->seed, 3) > 0,
                        .plain = chance(&c->seed, 3) == 0,
                        .priority = (uint8_t)chance(&c->seed, 10)};
    if (!k->plain) {
        k->limit = (uint8_t)chance(&c->seed, LIMITS);
        k->rated = chance(&c->seed, 4) == 0;
    }
    c->count++;
    tally.tasks++;
    struct operation *op = world_operation(&c->w, &operation_task_submit);
    op->submission.spec = spec_of(c, k);
    op->submission.specs = &op->submission.spec;
    op->submission.count = 1;
    world_give(&c->w, op);
}

static void steer(struct cutting *c)
{
    static const struct operation_class *const kinds[] = {
        &operation_task_cancel, &operation_task_retry, &operation_task_change,
        &operation_task_run_now};
    const struct operation_class *kind = kinds[chance(&c->seed, 4)];
    struct known *k = any_known(c);
    if (!k)
        return;
    struct operation *op = world_operation(&c->w, kind);
    op->job.id = k->id;
    if (kind == &operation_task_change || kind == &operation_task_run_now)
        op->change.id = k->id;
    if (kind == &operation_task_change) {
        op->change.change = (struct job_change){.priority = (uint8_t)chance(&c->seed, 10)};
        k->unsure |= k->changes++ > 0;
    }
    if (kind == &operation_task_retry) {
        k->seen = k->cancelled = false; /* it may begin again from here on */
        k->lives++;
    }
    op->loop = (void *)(uintptr_t)k->lives;
    k->touched = true;
    world_give(&c->w, op);
}

static void pause_or_resume(struct cutting *c)
{
    unsigned queue = chance(&c->seed, QUEUES);
    bool pause = chance(&c->seed, 2);
    struct operation *op =
        world_operation(&c->w, pause ? &operation_queue_pause : &operation_queue_resume);
    op->named.name = span_text(queue_names[queue]);
    c->meddled[queue]++;
    op->loop = (void *)(uintptr_t)++c->wishes[queue];
    if (!pause)
        c->paused[queue] = false;
    world_give(&c->w, op);
}

static void begin_some(struct cutting *c)
{
    struct world_run *next;
    for (struct world_run *r = c->w.runs; r; r = next) {
        next = r->next;
        if (r->stage == ATTEMPT_ASSIGNED && chance(&c->seed, 4) == 0)
            world_begin(r);
    }
}

static void end_one(struct cutting *c)
{
    struct world_run *r = c->w.runs;
    for (uint64_t i = chance(&c->seed, 6); r && r->next && i > 0; i--)
        r = r->next;
    if (!r || r->stage == ATTEMPT_ASSIGNED)
        return;
    switch (chance(&c->seed, 5)) {
    case 0:
        world_fail(r, "ODD", "not today");
        return;
    case 1:
        if (r->flagged)
            world_fail(r, "LATE", "told to stop");
        else
            world_again(r, AO_MS(3));
        return;
    default:
        world_finish(r, "\x2a");
        return;
    }
}

static void deed(struct cutting *c)
{
    begin_some(c);
    switch (chance(&c->seed, 14)) {
    case 0:
    case 1:
    case 2:
    case 3:
        submit_one(c);
        return;
    case 4:
    case 5:
    case 6:
        end_one(c);
        return;
    case 7:
    case 8:
    case 9:
    case 10:
        steer(c);
        return;
    case 11:
        pause_or_resume(c);
        return;
    default:
        jobs_world_pass(&c->w, chance(&c->seed, 3) ? AO_US(300) : AO_MS(chance(&c->seed, 30)));
        return;
    }
}

/* --- Lives and deaths --- */

static void stop_in_order(struct cutting *c)
{
    c->w.source.stop(c->w.source.arg, false);
    jobs_world_settle(&c->w);
    c->w.source.stop(c->w.source.arg, true);
    jobs_world_settle(&c->w);
    jobs_stop(c->w.jobs);
}

/* What is known of `async` tasks after a death. */
static void forget(struct cutting *c, enum disk_end how)
{
    for (uint32_t i = 0; i < c->count; i++) {
        struct known *k = &c->tasks[i];
        if (!k->fsync && how == DISK_CUT)
            k->attempt = 0;
        if (!k->fsync && how != DISK_STOP)
            k->cancelled = false;
    }
    memset(c->meddled, 0, sizeof c->meddled);
}

static void bury(struct cutting *c, enum disk_end how)
{
    disk_store_end(c->w.store, how);
    c->w.store = c->w.options.store = NULL;
    forget(c, how);
    tally.cuts += how == DISK_CUT;
    tally.kills += how == DISK_KILL;
    tally.stops += how == DISK_STOP;
    virtual_run_until(&c->w.v, c->w.v.now + AO_MS(chance(&c->seed, 20)));
}

static void die(struct cutting *c, enum disk_end how)
{
    if (how == DISK_STOP)
        stop_in_order(c);
    jobs_world_die(&c->w);
    bury(c, how == DISK_STOP && fault_is_cut() ? DISK_CUT : how);
}

static enum disk_end some_death(struct cutting *c)
{
    return chance(&c->seed, 4) ? DISK_CUT : DISK_KILL;
}

/* What nobody was told of may be there or not; what is there is known from now on. */
static void meet(struct cutting *c)
{
    for (struct job *job = c->w.jobs->table.first; job; job = job->all_next) {
        struct known *k = known_of(c, job_params(job), job->id);
        if (k->fsync && k->changes == 0 && !k->unsure)
            assert_int_equal(job->priority, k->priority);
        k->priority = job->priority;
        k->changes = 0;
        k->unsure = false;
    }
    for (uint32_t i = 0; i < c->count; i++)
        if (c->tasks[i].id != 0 && !table_find(&c->w.jobs->table, c->tasks[i].id)) {
            assert_false(c->tasks[i].acknowledged || c->tasks[i].seen);
            c->tasks[i].id = 0;
        }
}

/* It may die in its boot again and again. */
static void boot(struct cutting *c, bool may_die)
{
    char error[400] = "";
    for (;;) {
        uint32_t raises = disk_store_raises_cut();
        fault_heal(); /* a stop in order leaves a cut that did not come */
        if (may_die && chance(&c->seed, 4))
            fault_cut_at(1 + chance(&c->seed, CALLS));
        disk_store_cut_raises(may_die && chance(&c->seed, 2) ? RAISE_CALLS : 0);
        c->booting = true;
        c->w.store = c->w.options.store = disk_store_open(error, sizeof error);
        if (c->w.store && jobs_world_live(&c->w, error, sizeof error))
            break;
        if (!fault_is_cut())
            fail_msg("%s", error);
        tally.boots_cut++;
        bury(c, disk_store_raises_cut() > raises ? DISK_CUT : some_death(c));
    }
    c->booting = false;
    meet(c);
}

static void live(struct cutting *c)
{
    static const ao_time latencies[] = {AO_US(100), AO_MS(1), AO_MS(5)};
    c->w.holds = chance(&c->seed, 2);
    c->w.stubborn = chance(&c->seed, 3) == 0;
    c->w.room[0] = 1 + chance(&c->seed, 3);
    c->w.room[1] = 1 + chance(&c->seed, 3);
    disk_store_latency(latencies[chance(&c->seed, 3)]);
    boot(c, true);
    for (uint64_t deeds = 1 + chance(&c->seed, DEEDS); deeds > 0 && !fault_is_cut(); deeds--) {
        look(c);
        deed(c);
        jobs_world_pass(&c->w, AO_US(chance(&c->seed, 200))); /* a quick disk has answered then */
    }
    look(c);
    die(c, fault_is_cut() || chance(&c->seed, 3) ? some_death(c) : DISK_STOP);
}

static void expect_balance(struct cutting *c)
{
    struct operation *op = world_operation(&c->w, &operation_server_audit);
    world_give(&c->w, op);
    jobs_world_pass(&c->w, AO_S(5));
    assert_true(world_answered(&c->w, op));
    assert_int_equal(operation_result(op).at[10], 0xc3);
}

/* All goes on, and ends. */
static void live_to_the_end(struct cutting *c)
{
    c->w.holds = c->w.stubborn = false;
    c->w.lasts = AO_MS(1);
    boot(c, false);
    expect_balance(c);
    for (unsigned queue = 0; queue < QUEUES; queue++) {
        struct operation *op = world_operation(&c->w, &operation_queue_resume);
        op->named.name = span_text(queue_names[queue]);
        c->paused[queue] = false;
        c->meddled[queue]++;
        world_give(&c->w, op);
    }
    jobs_world_pass(&c->w, AO_S(60));
    look(c);
    for (const struct job *job = c->w.jobs->table.first; job; job = job->all_next)
        if (job_state_open((enum job_state)job->state))
            fail_msg("task %u stays %s: %s", number_of(job_params(job)),
                     job_state_names[job->state], job_reason_name((enum job_reason)job->reason));
    expect_balance(c);
}

static void live_all(struct cutting *c, uint64_t seed)
{
    c->store = c->seed = seed;
    c->count = 0;
    c->started = 0;
    memset(c->paused, 0, sizeof c->paused);
    memset(c->meddled, 0, sizeof c->meddled);
    fault_open(seed);
    jobs_world_init(&c->w);
    disk_store_use(c->path);
    jobs_world_keep_store(&c->w);
    c->w.quiet = true;
    c->w.begun = on_begun;
    c->w.told = on_told;
    c->w.arg = c;
    c->w.options.settings.ageing = AO_S(1000000);
    c->w.options.settings.crashes = seed % 2 ? 3 : 0;
    for (unsigned life = 0; life < LIVES; life++)
        live(c);
    live_to_the_end(c);
    jobs_world_fini(&c->w);
    tally.raises_cut += disk_store_raises_cut();
    fault_close();
    c->store = 0;
}

static int make_folder(void **state)
{
    struct cutting *c = calloc(1, sizeof *c);
    assert_non_null(c);
    snprintf(c->folder, sizeof c->folder, "/tmp/ergon-cuts-XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    snprintf(c->path, sizeof c->path, "%s/tasks.db", c->folder);
    *state = c;
    return 0;
}

static int remove_folder(void **state)
{
    struct cutting *c = *state;
    char command[sizeof c->folder + 16];
    if (c->store > 0)
        print_error("that was ERGON_CUTS_FROM=%llu ERGON_CUTS=1\n", (unsigned long long)c->store);
    snprintf(command, sizeof command, "rm -r %s", c->folder);
    assert_int_equal(system(command), 0);
    free(c);
    return 0;
}

static void report(uint64_t seeds)
{
    print_message(
        "%llu stores: %u power cuts and %u kills (%u of both in a boot, %u while a raise was "
        "committed), %u stops; %llu tasks, %llu begins (%llu again, %llu under a limit, %llu "
        "of a rate, %llu of the highest priority), %llu cancels and %llu pauses answered\n",
        (unsigned long long)seeds, tally.cuts, tally.kills, tally.boots_cut, tally.raises_cut,
        tally.stops, (unsigned long long)tally.tasks, (unsigned long long)tally.begins,
        (unsigned long long)tally.again, (unsigned long long)tally.limited,
        (unsigned long long)tally.rated, (unsigned long long)tally.highest,
        (unsigned long long)tally.cancels, (unsigned long long)tally.pauses);
}

/* ERGON_CUTS: so many at least; ERGON_CUTS_FROM: the first seed. */
TEST_OF(struct cutting *c, NULL, make_folder, remove_folder, promises_are_kept_over_power_cuts)
{
    const char *wanted = getenv("ERGON_CUTS"), *from = getenv("ERGON_CUTS_FROM");
    uint64_t cuts = wanted ? strtoul(wanted, NULL, 10) : CUTS;
    uint64_t first = from ? strtoul(from, NULL, 10) : 1, seed = first;
    for (; tally.cuts < cuts; seed++)
        live_all(c, seed);
    report(seed - first);
    if (from)
        return; /* what one of them does not meet, another does */
    assert_true(tally.raises_cut > 0);
    assert_true(tally.again > 0 && tally.limited > 0 && tally.rated > 0 && tally.highest > 0);
    assert_true(tally.cancels > 0 && tally.pauses > 0);
}
