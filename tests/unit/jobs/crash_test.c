/* Crashes at any moment: whatever was acknowledged is there, what was seen to have ended does not
 * run again, an attempt that is begun again has a higher number, and the accounts balance.
 *
 * Each seed is a life of some hundred random deeds: submissions of all kinds, ends, failures,
 * lost workers, cancels, retries, pauses, somebody who waits, time, a store that fails for a while,
 * attempts that wait for their begin, and crashes and power cuts in between.
 *
 * In a cluster a life begins with a take-over: of this node's place, with its board or without, or
 * of another's.  The database is away at times, and at times the node may not act. */
#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_world.h"
#include "tests/support/memory_store.h"
#include "tests/support/random.h"

#ifdef __SANITIZE_ADDRESS__
enum { SEEDS = 60 }; /* each is six times as slow */
#else
enum { SEEDS = 300 };
#endif
enum { DEEDS = 150, TASKS = DEEDS + 1 };

static uint32_t cuts; /* of the power, so far */
static uint32_t kept; /* boards, of nodes that took their place again */

/* What the outside knows of a task. */
struct known {
    uint64_t id;
    uint32_t attempt; /* the highest that began */
    enum job_state ended;
    bool acknowledged; /* its submission was answered, and is on disk */
    bool seen;         /* to have ended */
    bool awaited;      /* fsync: its numbers only grow, whatever happens */
};

struct cluster {
    bool acts;
};

struct crashing {
    struct jobs_world w;
    struct cluster cluster;
    struct jobs_cluster options; /* `cluster` NULL: there is none */
    struct jobs_take_over take;
    uint32_t handed; /* over, by then */
    struct known tasks[TASKS];
    uint32_t count;
    uint64_t seed;
};

static struct known *known_of(struct crashing *c, uint64_t id)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->tasks[i].id == id)
            return &c->tasks[i];
    return NULL;
}

/* Of tasks that the next crash makes dead one at a time is out. */
static void expect_one_suspect(const struct jobs_world *w)
{
    const struct job *suspect = NULL;
    for (const struct world_run *r = w->runs; r; r = r->next) {
        const struct job *e = r->run.owner;
        if (w->options.settings.crashes == 0 || e->crashes + 1u < w->options.settings.crashes)
            continue;
        assert_true(!suspect || suspect == e);
        suspect = e;
    }
}

static void on_begun(void *arg, struct world_run *r, ao_time *lasts)
{
    struct crashing *c = arg;
    struct known *k = known_of(c, r->run.id);
    const struct memory_row *row = memory_store_row(c->w.store, r->run.id);
    expect_one_suspect(&c->w);
    const struct job *e = r->run.owner;
    assert_false(e->queue->paused);
    assert_false(job_is(e, JOB_CANCEL));
    if (!k)
        return;
    assert_false(k->seen);
    if (!k->awaited)
        return;
    assert_true(r->run.attempt > k->attempt);
    assert_non_null(row);
    assert_true(store_attempt(&row->task, c->w.jobs->table.boards) + 1 >= r->run.attempt);
    k->attempt = r->run.attempt;
}

/* Looks at what everybody may see, and remembers it. */
static void look(struct crashing *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        struct known *k = &c->tasks[i];
        const struct job *e = world_job(&c->w, k->id);
        if (!k->acknowledged)
            k->acknowledged = e && !job_is(e, JOB_SUBMITTING);
        else
            assert_non_null(e);
        if (k->seen) {
            assert_int_equal(e->state, k->ended);
        } else if (k->acknowledged && !job_state_open((enum job_state)e->state)) {
            k->seen = true;
            k->ended = (enum job_state)e->state;
        }
    }
}

static void submit_one(struct crashing *c)
{
    struct job_spec spec = world_spec(chance(&c->seed, 2) ? "work" : "step");
    struct submitted done;
    char text[JOB_TEXT_MAX];
    spec.durable = chance(&c->seed, 3) ? DURABLE_FSYNC : DURABLE_ASYNC;
    spec.retries = chance(&c->seed, 3);
    spec.backoff = AO_MS(5);
    spec.timeout = chance(&c->seed, 4) ? AO_NEVER : AO_MS(10);
    spec.deadline = chance(&c->seed, 6) ? AO_NEVER : AO_MS(50);
    spec.delay = chance(&c->seed, 3) ? 0 : AO_MS(20);
    spec.priority = (uint8_t)chance(&c->seed, 10);
    spec.keep = AO_S(100000);
    if (chance(&c->seed, 4) == 0) {
        spec.limit_key = span_text("k");
        spec.limit = 2;
    }
    if (chance(&c->seed, 4) == 0 && c->count > 0 && world_job(&c->w, c->tasks[c->count - 1].id)) {
        spec.after = &c->tasks[c->count - 1].id;
        spec.after_count = 1;
    }
    if (chance(&c->seed, 4) == 0) {
        spec.rate_key = span_text("r");
        spec.rate = 3;
        spec.rate_per = AO_MS(30);
    }
    if (chance(&c->seed, 6) == 0)
        spec.coalesce = span_text("c");
    if (world_submit(&c->w, &spec, &done, text, sizeof text) == ERGON_OK && !done.coalesced)
        c->tasks[c->count++] =
            (struct known){.id = done.job->id, .awaited = spec.durable == DURABLE_FSYNC};
}

/* What stands in the queue of an executor begins, or stays there. */
static void begin_some(struct crashing *c)
{
    struct world_run *next;
    for (struct world_run *r = c->w.runs; r; r = next) {
        next = r->next;
        if (r->stage == ATTEMPT_ASSIGNED && chance(&c->seed, 2))
            world_begin(r);
    }
}

/* One that was not sent has not begun. */
static void lose(struct crashing *c, struct world_run *r)
{
    enum attempt_loss begun = chance(&c->seed, 2) ? LOSS_ALONE : LOSS_IN_COMPANY;
    world_lose(r, r->stage == ATTEMPT_ASSIGNED ? LOSS_UNSENT : begun, "worker w1: gone");
}

static void end_one(struct crashing *c, uint64_t how)
{
    struct world_run *r = c->w.runs;
    for (uint64_t i = chance(&c->seed, 8); r && r->next && i > 0; i--)
        r = r->next;
    if (!r || (r->stage == ATTEMPT_ASSIGNED && how != 2))
        return;
    if (how == 2)
        lose(c, r);
    else if (how == 0)
        world_fail(r, "ODD", "not today");
    else if (how == 1 && !r->flagged)
        world_again(r, AO_MS(3));
    else
        world_finish(r, "\x2a");
}

/* What nobody was told of may be gone, or not. */
static void live_again(struct crashing *c, void (*how)(struct jobs_world *w))
{
    look(c);
    how(&c->w);
    for (uint32_t i = 0; i < c->count;)
        if (!c->tasks[i].acknowledged && !world_job(&c->w, c->tasks[i].id))
            c->tasks[i] = c->tasks[--c->count];
        else
            i++;
}

/* Somebody wants to hear of one of the tasks. */
static void ask(struct crashing *c)
{
    static const struct operation_class *const kinds[] = {
        &operation_task_cancel, &operation_task_watch, &operation_task_wait};
    const struct operation_class *kind = kinds[chance(&c->seed, 3)];
    struct known *k = c->count > 0 ? &c->tasks[chance(&c->seed, c->count)] : NULL;
    if (!k || c->w.answered > 3000)
        return;
    struct operation *op = world_about(&c->w, kind, k->id);
    if (kind == &operation_task_wait) {
        uint64_t *id = (uint64_t *)operation_room(op, sizeof *id);
        *id = k->id;
        op->wait = (struct wait_arguments){.ids = id, .count = 1, .timeout = AO_MS(50)};
    }
    if (kind == &operation_task_watch) {
        op->watch.timeout = AO_MS(50);
        op->watch.push = chance(&c->seed, 2);
    }
    world_give(&c->w, op);
}

static void cut_power(struct jobs_world *w)
{
    cuts++;
    memory_store_cut_power(w->store);
    jobs_world_crash(w);
}

static void pause_or_resume(struct crashing *c)
{
    struct operation *op = world_operation(&c->w, chance(&c->seed, 2) ? &operation_queue_pause
                                                                      : &operation_queue_resume);
    op->named.name = span_text(chance(&c->seed, 2) ? "work" : "step");
    world_give(&c->w, op);
}

static void resume(struct crashing *c)
{
    for (struct job_queue *q = c->w.jobs->table.queues; q; q = q->next) {
        q->paused = false;
        scheduler_move(&c->w.jobs->sched, q);
    }
}

static void fail_for_a_while(struct crashing *c)
{
    bool fails = chance(&c->seed, 4) == 0;
    uint64_t how = c->options.cluster ? chance(&c->seed, 3) : 0;
    c->w.store->error = fails && how == 0 ? STORE_FULL : STORE_OK;
    c->w.store->away = fails && how == 1;
    c->cluster.acts = !fails || how != 2;
}

static void recover_all(struct crashing *c)
{
    c->w.store->error = STORE_OK;
    c->w.store->away = false;
    c->cluster.acts = true;
    jobs_world_pass(&c->w, AO_MS(200));
}

static void deed(struct crashing *c)
{
    struct job *e;
    begin_some(c);
    switch (chance(&c->seed, 15)) {
    case 14:
        if (c->w.answered < 3000)
            pause_or_resume(c);
        return;
    case 10:
    case 11:
        ask(c);
        return;
    case 0:
    case 1:
    case 2:
    case 3:
        submit_one(c);
        return;
    case 4:
    case 5:
    case 6:
        end_one(c, chance(&c->seed, 5));
        return;
    case 7:
        e = c->count > 0 ? world_job(&c->w, c->tasks[chance(&c->seed, c->count)].id) : NULL;
        if (e && world_retry(&c->w, e))
            known_of(c, e->id)->seen = false;
        else if (e)
            world_cancel(&c->w, e);
        return;
    case 8:
        fail_for_a_while(c);
        return;
    case 9:
        if (chance(&c->seed, 4) == 0)
            live_again(c, chance(&c->seed, 2) ? cut_power : jobs_world_crash);
        else if (chance(&c->seed, 8) == 0)
            live_again(c, jobs_world_restart);
        return;
    default:
        jobs_world_pass(&c->w, chance(&c->seed, 2) ? AO_MS(1) : AO_MS(chance(&c->seed, 30)));
        return;
    }
}

static void expect_balance(struct crashing *c)
{
    struct operation *op = world_operation(&c->w, &operation_server_audit);
    world_give(&c->w, op);
    jobs_world_pass(&c->w, AO_S(5));
    assert_true(world_answered(&c->w, op));
    struct span answer = operation_result(op);
    if (answer.at[10] == 0xc3)
        return;
    for (size_t i = 0; i < answer.len; i++)
        print_error("%c", answer.at[i] >= ' ' && answer.at[i] < 0x7f ? answer.at[i] : ' ');
    fail_msg("it does not balance");
}

/* --- In a cluster --- */

static bool may_act(const struct cluster *cluster)
{
    return cluster->acts;
}

static void owns(void *arg)
{
    (void)arg;
}

static void load_failed(void *arg, const char *text, bool away)
{
    (void)arg;
    fail_msg("%s", text);
}

/* Another owned the tasks in between, or nobody did. */
static void take_over(void *arg)
{
    struct crashing *c = arg;
    const struct jobs_begun *begun;
    uint64_t epoch;
    jobs_old_board(c->w.jobs, &begun, &epoch);
    bool other = chance(&c->seed, 4) == 0;
    c->take.keeps_board = !other && epoch > 0 && epoch == c->take.epoch;
    c->take.boards += !c->take.keeps_board && c->handed == c->w.store->handed;
    c->take.boards += other;
    c->take.epoch += 1 + other;
    c->take.id_mark = c->w.store->marks.id_mark;
    c->take.fence_mark = c->w.store->marks.fence_mark;
    c->handed = c->w.store->handed;
    kept += c->take.keeps_board;
    recover_all(c);
    jobs_become_owner(c->w.jobs, &c->take);
    while (c->w.jobs->ownership.state != OWNERSHIP_OWNER)
        jobs_world_pass(&c->w, AO_MS(1));
}

static void join_cluster(struct crashing *c)
{
    c->options = (struct jobs_cluster){.node = "a",
                                       .cluster = &c->cluster,
                                       .may_act = may_act,
                                       .owns = owns,
                                       .load_failed = load_failed,
                                       .deposed = owns,
                                       .arg = c};
    c->take = (struct jobs_take_over){.epoch = 0};
    c->handed = 0;
    c->w.options.cluster = &c->options;
    c->w.store->in_chunks = true;
    c->w.store->chunk_rows = 1 + (uint32_t)(c->seed % 20);
    c->w.born = take_over;
}

static void live(struct crashing *c, uint64_t seed, bool in_cluster)
{
    c->count = 0;
    c->seed = seed;
    c->options.cluster = NULL;
    jobs_world_init(&c->w);
    jobs_world_keep_store(&c->w);
    if (in_cluster)
        join_cluster(c);
    c->w.store->rows.count_rows = 5;
    c->w.quiet = true;
    c->w.store->latency = AO_MS(1 + seed % 4 * 5);
    c->w.stubborn = seed % 3 == 0;
    c->w.begun = on_begun;
    c->w.holds = seed % 5 == 0;
    c->w.arg = c;
    c->w.room[0] = c->w.room[1] = 2;
    c->w.options.settings.crashes = seed % 2 ? 3 : 0;
    jobs_world_open(&c->w);
    for (unsigned i = 0; i < DEEDS; i++) {
        deed(c);
        look(c);
    }
    recover_all(c);
    resume(c);
    jobs_world_pass(&c->w, AO_S(5));
    look(c);
    expect_balance(c);
    live_again(c, jobs_world_crash);
    expect_balance(c);
    jobs_world_fini(&c->w);
}

TEST(nothing_is_lost_or_run_twice)
{
    static struct crashing c;
    const char *wanted = getenv("ERGON_CUTS"); /* so many power cuts at least */
    for (uint64_t seed = 1; seed <= SEEDS || (wanted && cuts < strtoul(wanted, NULL, 10)); seed++)
        live(&c, seed, false);
    print_message("%u power cuts\n", cuts);
}

TEST(nothing_is_lost_or_run_twice_in_a_cluster)
{
    static struct crashing c;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        live(&c, seed, true);
    print_message("%u boards kept\n", kept);
    assert_true(kept > 0);
}
