/* Workers that come, are quiet, do not read, answer, and are lost at random, under calls and
 * attempts of jobs that are cancelled at random: whatever happens, each ends exactly once, no
 * worker has more than its slots, and in the end nothing is left.
 *
 * All on the virtual clock: a seed that fails, fails again. */
#include "server/tasks/executors/blocking.h"
#include "server/workers/worker_group.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/played_worker.h"
#include "tests/support/random.h"
#include "tests/support/tasks_world.h"

enum { WORLDS = 60, CALLS = 1200, JOBS = 1200, WORKERS = 8, METHODS = 6, OF_WORKERS = 4 };

/* The last two are handlers that workers have joined, in half of the worlds. */
static const char *const names[METHODS] = {"one", "two", "three", "four", "block", "again"};
static uint32_t methods;

static uint64_t seed;
static struct played_worker workers[WORKERS];
static uint32_t slots[WORKERS];
static bool quiet[WORKERS];

static uint32_t draw(uint32_t below)
{
    return chance(&seed, below);
}

/* --- Workers --- */

static bool is_in(const struct played_worker *p)
{
    return p->executor && p->joined;
}

static void join(unsigned i)
{
    char list[64] = "";
    uint32_t which = 1 + draw((1u << methods) - 1);
    struct worker_executor_spec spec = {.slots = slots[i] = 1 + draw(5),
                                        .share = draw(2) ? 100 : 10};
    for (unsigned n = 0; n < methods; n++)
        if (which & 1u << n)
            strcat(strcat(list, names[n]), " ");
    spec.version = draw(2) ? span_text("2") : (struct span){0};
    played_join_as(&workers[i], draw(2), list, &spec);
    workers[i].slow = draw(2);
    quiet[i] = false;
}

static void answer(struct played_worker *p)
{
    unsigned n = draw(p->count);
    if (p->slow)
        played_begin(p, n);
    if (draw(4))
        played_answer(p, n);
    else
        played_fail(p, n, "by chance");
}

static void be_quiet(unsigned i)
{
    quiet[i] = !quiet[i];
    worker_executor_quiet(workers[i].executor, quiet[i]);
}

static void read_or_not(struct played_worker *p)
{
    p->full = !p->full;
    if (!p->full)
        worker_executor_flushed(p->executor);
}

static void random_act(unsigned i)
{
    struct played_worker *p = &workers[i];
    if (!p->executor) {
        if (draw(4) == 0)
            join(i);
    } else if (draw(60) == 0) {
        played_lose(p, "lost by chance");
    } else if (is_in(p) && draw(30) == 0) {
        be_quiet(i);
    } else if (is_in(p) && draw(20) == 0) {
        read_or_not(p);
    } else if (p->count > 0 && draw(2)) {
        answer(p);
    } else if (p->count > 0 && p->slow) {
        played_begin(p, draw(p->count));
    }
    assert_true(p->count <= slots[i]);
}

/* --- Calls --- */

/* Handlers of both kinds, too, that only the server runs. */
static const char *any_method(struct span *params)
{
    static const char *const others[] = {"managed", "outer"};
    static uint8_t call[64], number[16];
    uint32_t n = draw(methods > OF_WORKERS ? methods + 2 : methods);
    *params = n == OF_WORKERS + 1 ? params_int(number, 1) : params_none();
    if (n < methods)
        return names[n];
    if (n > methods)
        *params = params_call(call, names[draw(methods - 1)], params_none());
    return others[n - methods];
}

static void random_call(void)
{
    struct span params;
    const char *method = any_method(&params);
    if (!registry_find(w.registry, span_text(method)))
        return;
    ao_time deadline = draw(4) == 0 ? w.v.now + AO_MS(draw(10)) : AO_NEVER;
    tasks_world_call(draw(2), method, params, deadline);
}

static void random_end(void)
{
    struct call *c = w.list;
    for (uint32_t n = draw(8); c && c->next && n > 0; n--)
        c = c->next;
    if (!c)
        return;
    struct home *h = ao_of(c, struct call_record, call)->home;
    if (draw(2))
        home_cancel(h, c);
    else
        home_abandon(h, c);
}

/* --- Jobs --- */

static struct kept_item {
    struct method *method;
    struct task *task; /* while it is out */
    unsigned given, ended;
} items[JOBS];
static unsigned kept;
static bool stopped;

static struct kept_item *first_of(uint32_t pool)
{
    for (unsigned i = 0; i < kept; i++)
        if (items[i].given == 0 && items[i].method->pool->index == pool)
            return &items[i];
    return NULL;
}

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    assert_true(room > 0);
    return first_of(pool) && draw(8) > 0;
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    struct kept_item *it = first_of(pool);
    assert_false(stopped);
    if (!it || draw(16) == 0)
        return false;
    it->given++;
    *run = (struct attempt_spec){.method = it->method,
                                 .params = params_none(),
                                 .deadline = AO_NEVER,
                                 .timeout = AO_NEVER,
                                 .attempt = 1,
                                 .owner = it};
    return true;
}

static void unwant(struct kept_item *it)
{
    const struct attempt_mark *mark;
    if (attempt_withdraw(w.tasks, it->task, &mark)) {
        it->task = NULL;
        it->ended++;
    } else {
        attempt_flag(w.tasks, it->task, draw(2) ? ATTEMPT_CANCEL : ATTEMPT_LATE);
    }
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    struct kept_item *it = run->owner;
    it->task = t;
}

/* What was not sent is there to be given again. */
static void returned(void *arg, const struct attempt_end *r)
{
    struct kept_item *it = r->owner;
    it->task = NULL;
    if (r->loss == LOSS_UNSENT && !stopped) {
        it->given = 0;
        job_source_wake(w.tasks, it->method->pool->index);
    } else {
        it->ended++;
    }
}

static void noted(void *arg, const struct attempt_note *note)
{
}

static void full(void *arg, uint32_t pool, bool is_full)
{
}

static void offered(void *arg, struct method *method, bool some, struct span who)
{
    if (some)
        job_source_wake(w.tasks, method->pool->index);
}

static void unwant_some(uint32_t one_of)
{
    for (unsigned i = 0; i < kept; i++)
        if (items[i].task && draw(one_of) == 0)
            unwant(&items[i]);
}

static void stop(void *arg, bool cancel)
{
    stopped = true;
    if (cancel)
        unwant_some(1);
}

static const struct job_source source = {.ready = ready,
                                         .take = take,
                                         .given = given,
                                         .returned = returned,
                                         .noted = noted,
                                         .full = full,
                                         .offered = offered,
                                         .stop = stop};

static void keep_some(void)
{
    for (uint32_t n = draw(6); n > 0 && kept < JOBS; n--) {
        struct method *m = registry_find(w.registry, span_text(names[draw(methods)]));
        if (!m)
            continue;
        items[kept++].method = m;
        job_source_wake(w.tasks, m->pool->index);
    }
    if (draw(8) == 0)
        unwant_some(8);
}

/* --- A world --- */

/* What waits there is told of room, and there is none; a place behind a blocking handler is not
 * everybody's (executor_owner.h). */
static void check_local(const struct pool *x)
{
    assert_true(waker_announced(&x->waiting_for_room));
    for (uint32_t i = 0; i < x->count; i++) {
        const struct executor *e = x->group.list[i];
        bool takes = atomic_load(&e->accepting) == ACCEPTS_ALL && !atomic_load(&e->away);
        assert_false(takes && executor_outstanding(e) < (x->owners ? 1 : counter_read(&e->bound)));
    }
}

/* When all has been done that can be: nothing waits beside a slot that is free. */
static void check_waits(void)
{
    const struct manager *m = &w.tasks->manager;
    for (uint32_t i = POOLS_LOCAL; i < m->pool_count; i++) {
        const struct pool *p = m->pools[i];
        assert_int_equal(p->queue.length > 0 && !p->in_line && worker_groups_there(p), 0);
        if (p->workers->local && p->queue.length > 0)
            check_local(p->workers->local);
        assert_true(p->queue.length == 0 || worker_groups_room(p) == 0);
        assert_true(!p->in_line || worker_groups_room(p) == 0);
    }
    assert_true((TAILQ_EMPTY(&m->roster->waiting) && TAILQ_EMPTY(&m->roster->waiting_joined)) ||
                waker_announced(&m->shared->inbox.waiting_for_workers));
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
        if (methods > OF_WORKERS) /* the blocking ones are busy meanwhile */
            virtual_run_until(&w.v, w.v.now + AO_MS(draw(2)));
        else
            tasks_world_run_ms(w.v.now / AO_MS(1) + draw(2));
        check_waits();
        return;
    default:
        if (methods > OF_WORKERS && draw(2))
            blocking_round(ao_of(w.tasks->executors[2 + draw(2)], struct blocking, base));
        else
            tasks_world_run_ms(w.v.now / AO_MS(1) + draw(2));
        virtual_run_until(&w.v, w.v.now);
        check_waits();
    }
}

static void open_world(void)
{
    tasks_world_init(2, methods > OF_WORKERS ? 2 : 0);
    for (uint32_t i = OF_WORKERS; i < methods; i++)
        w.joined[i - OF_WORKERS] = names[i];
    if (draw(2))
        tasks_world_own_manager();
    w.plan.queue_max = 1 + draw(64);
    w.quiet = true;
    memset(items, 0, sizeof items);
    memset(workers, 0, sizeof workers);
    kept = 0;
    stopped = false;
    tasks_world_open();
    tasks_set_job_source(w.tasks, &source);
    played_workers_open();
}

/* Whoever is left answers; then all are lost. */
static void wind_up(void)
{
    tasks_cancel_all(w.tasks);
    tasks_world_run();
    assert_null(w.list);
    for (unsigned i = 0; i < WORKERS; i++)
        if (workers[i].executor)
            played_lose(&workers[i], "the end");
    tasks_world_run();
}

static void check_ends(void)
{
    assert_int_equal(w.begun, w.ended);
    for (unsigned i = 1; i <= w.begun; i++)
        assert_int_equal(w.told[i], 1);
    for (unsigned i = 0; i < kept; i++)
        assert_int_equal(items[i].given, items[i].ended);
    tasks_expect_at_rest(w.tasks);
    assert_int_equal(w.tasks->manager.roster->member_count, 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(LIST_EMPTY(&worker_loop_at(w.tasks, i)->executors));
}

/* How many calls were answered with a result. */
static unsigned one_world(uint64_t number)
{
    seed = number * 0x9e3779b97f4a7c15u;
    int64_t live = heap_live();
    unsigned answered = 0;
    open_world();
    for (unsigned steps = 0; w.begun < CALLS && steps < 20 * CALLS; steps++) {
        keep_some();
        for (uint32_t n = draw(4); n > 0; n--)
            random_call();
        if (draw(4) == 0)
            random_end();
        for (unsigned i = 0; i < WORKERS; i++)
            random_act(i);
        random_rounds();
        if (draw(64) == 0)
            tasks_set_away(w.tasks, draw(2), draw(2));
    }
    for (unsigned i = 1; i <= w.begun; i++)
        answered += w.errors[i] == ERGON_OK;
    wind_up();
    check_ends();
    tasks_world_fini();
    assert_int_equal(heap_live(), live);
    return answered;
}

/* A single world may answer few by chance; all of them together answer many. */
static void all_worlds(uint64_t from)
{
    unsigned answered = 0;
    for (uint64_t n = 1; n <= WORLDS; n++) {
        unsigned here = one_world(from + n);
        assert_true(here > CALLS / 20);
        answered += here;
    }
    assert_true(answered > WORLDS * CALLS / 4);
}

TEST(each_task_of_a_worker_ends_once)
{
    methods = OF_WORKERS;
    all_worlds(0);
}

TEST(each_task_that_handlers_and_workers_share_ends_once)
{
    methods = METHODS;
    all_worlds(WORLDS);
}
