/* A hundred thousand random calls, and as many attempts of jobs: whatever happens to them,
 * the end of each is told exactly once.
 *
 * Loops, manager, blocking executors, parks, failures, cancels and deadlines, all on the virtual
 * clock: a seed that fails, fails again. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/random.h"
#include "tests/support/tasks_world.h"

enum { WORLDS = 50, CALLS = 2000, KEPT = 2000 };

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    return chance(&seed, below);
}

static void random_call(void)
{
    static const char *const methods[] = {"echo",  "sleep", "again", "hang",    "fail",
                                          "fault", "outer", "block", "managed", "late_fault"};
    static const char *const nested[] = {"echo", "hang", "block", "fail", "sleep"};
    uint8_t buf[64], inner[16];
    uint32_t which = draw(10);
    struct span params = params_int(buf, draw(8));
    if (which == 6)
        params = params_call(buf, nested[draw(5)], params_int(inner, draw(8)));
    ao_time deadline = draw(2) || which == 3 ? w.v.now + AO_MS(draw(10)) : AO_NEVER;
    tasks_world_call(draw(2), methods[which], params, deadline);
}

static void random_end(void)
{
    struct call *c = w.list;
    for (uint32_t n = draw(4); c && c->next && n > 0; n--)
        c = c->next;
    if (!c)
        return;
    struct home *h = ao_of(c, struct call_record, call)->home;
    if (draw(2))
        home_cancel(h, c);
    else
        home_abandon(h, c);
}

/* --- Kept tasks --- */

static struct kept_item {
    struct task *task; /* while it is out */
    uint32_t pool;
    unsigned given, returned;
} items[KEPT];
static unsigned kept, next_kept; /* there are; are given */
static bool stopped;

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    assert_true(room > 0);
    return next_kept < kept && items[next_kept].pool == pool && draw(8) > 0;
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    static const char *const stepped[] = {"echo", "hang", "fail", "late_fault", "managed"};
    if (next_kept == kept || items[next_kept].pool != pool)
        return false;
    assert_false(stopped);
    *run = (struct attempt_spec){
        .method =
            registry_find(w.registry, span_text(pool == POOL_STEPPED ? stepped[draw(5)] : "block")),
        .params = params_none(),
        .deadline = AO_NEVER,
        .timeout = AO_NEVER,
        .attempt = 1,
        .owner = &items[next_kept++]};
    tasks_world_wake_source(); /* what comes next may be of the other pool */
    return true;
}

/* Before its handler has begun it never does. */
static void unwant(struct kept_item *it)
{
    const struct attempt_mark *mark;
    if (attempt_withdraw(w.tasks, it->task, &mark)) {
        it->task = NULL;
        it->returned++;
    } else {
        attempt_flag(w.tasks, it->task, draw(2) ? ATTEMPT_CANCEL : ATTEMPT_LATE);
    }
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    struct kept_item *it = run->owner;
    it->task = t;
    it->given++;
    if (draw(16) == 0)
        unwant(it);
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct kept_item *it = r->owner;
    it->task = NULL;
    it->returned++;
}

static void noted(void *arg, const struct attempt_note *note)
{
}

static void full(void *arg, uint32_t pool, bool is_full)
{
}

static void unwant_all(uint32_t one_of)
{
    for (unsigned i = 0; i < next_kept; i++)
        if (items[i].task && draw(one_of) == 0)
            unwant(&items[i]);
}

static void stop(void *arg, bool cancel)
{
    stopped = true;
    if (cancel)
        unwant_all(1);
}

static const struct job_source source = {.ready = ready,
                                         .take = take,
                                         .given = given,
                                         .returned = returned,
                                         .noted = noted,
                                         .full = full,
                                         .stop = stop};

static void open_source(void)
{
    memset(items, 0, sizeof items);
    kept = next_kept = 0;
    stopped = false;
    tasks_set_job_source(w.tasks, &source);
}

static void keep_some(void)
{
    for (uint32_t n = draw(8); n > 0 && kept < KEPT; n--)
        items[kept++].pool = draw(2) ? POOL_STEPPED : POOL_BLOCKING;
    tasks_world_wake_source();
    if (draw(16) == 0)
        unwant_all(2);
}

static void check_kept(void)
{
    assert_int_equal(w.tasks->manager.attempts_out, 0);
    for (unsigned i = 0; i < kept; i++) {
        assert_int_equal(items[i].given, i < next_kept);
        assert_int_equal(items[i].returned, i < next_kept);
    }
    assert_in_range(next_kept, 1, KEPT);
}

static void random_rounds(void)
{
    switch (draw(4)) {
    case 0:
        virtual_round(&w.v, w.loops[draw(2)]);
        return;
    case 1:
        virtual_round(&w.v, w.manager);
        return;
    case 2:
        tasks_world_run_ms(w.v.now / AO_MS(1) + draw(3));
        return;
    default:
        blocking_round(ao_of(w.tasks->executors[2 + draw(2)], struct blocking, base));
    }
}

static void random_plan(void)
{
    tasks_world_init(2, 2);
    if (draw(2))
        tasks_world_own_manager();
    for (int i = 0; i < 4; i++) {
        w.executors[i].queue = 1 + draw(16);
        w.executors[i].parked = 1 + draw(64);
        w.executors[i].weight = draw(3);
    }
    w.plan.policy = (enum placement_policy)draw(PLACEMENT_COMPLETION + 1);
    w.plan.short_cut = draw(4) > 0;
    w.plan.queue_max = 1 + draw(64);
    w.quiet = true;
}

static void one_world(uint64_t number)
{
    seed = number * 0x9e3779b97f4a7c15u;
    int64_t live = heap_live();
    random_plan();
    tasks_world_open();
    open_source();
    while (w.begun < CALLS) {
        keep_some();
        for (uint32_t n = draw(8); n > 0; n--)
            random_call();
        if (draw(3) == 0)
            random_end();
        random_rounds();
    }
    while (w.list && draw(20))
        random_end();
    tasks_cancel_all(w.tasks);
    tasks_world_run();
    assert_null(w.list);
    check_kept();
    assert_int_equal(w.begun, w.ended);
    for (unsigned i = 1; i <= w.begun; i++)
        assert_int_equal(w.told[i], 1);
    struct tasks_info info;
    tasks_info(w.tasks, &info);
    assert_int_equal(info.queued, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(executor_outstanding(w.tasks->executors[i]), 0);
    tasks_world_fini();
    assert_int_equal(heap_live(), live);
}

TEST(each_end_is_told_once)
{
    for (uint64_t n = 1; n <= WORLDS; n++)
        one_world(n);
}
