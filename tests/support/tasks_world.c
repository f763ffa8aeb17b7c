#include "tests/support/tasks_world.h"

#include "proto/encoder.h"
#include "proto/reader.h"
#include "tests/support/cmocka_env.h"

struct tasks_world w;

/* The lines of manager, executors and ends. */
static void keep_some(void *arg, const char *line)
{
    const char *who = strchr(line, ']');
    if (!w.quiet && who &&
        (strncmp(who + 2, "manager", 7) == 0 || strncmp(who + 2, "executor", 8) == 0 ||
         strncmp(who + 2, "worker", 6) == 0 || strncmp(who + 2, "call", 4) == 0) &&
        !strstr(line, "ACTIVE") && !strstr(line, "SLEEPING"))
        w.record(&w.v, line);
}

static void call_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct reader r = reader_of(span_of(call->msgid, call->msgid_len));
    uint64_t number = 0;
    read_uint(&r, &number);
    w.ended++;
    if (number < WORLD_CALLS) {
        w.told[number]++;
        w.errors[number] = outcome->error;
    }
    if (w.quiet)
        return;
    if (outcome->error == ERGON_OK)
        virtual_say(&w.v, "call", number, "ended: %zu bytes", outcome->result.len);
    else
        virtual_say(&w.v, "call", number, "ended: %s (%.*s)", outcome->code, (int)outcome->text.len,
                    (const char *)outcome->text.at);
}

void tasks_world_init(uint32_t loops, uint32_t blocking)
{
    static const char *const names[WORLD_LOOPS] = {"loop0", "loop1", "loop2", "loop3"};
    w = (struct tasks_world){0};
    w.registry = registry_new();
    virtual_init(&w.v);
    virtual_silence();
    w.record = w.v.trace.line;
    w.v.trace.line = keep_some;
    w.v.trace.arg = &w;
    for (uint32_t i = 0; i < loops; i++) {
        w.loops[i] = virtual_open(&w.v, names[i]);
        w.executors[i] = (struct executor_plan){
            .kind = ERGON_STEPPED, .queue = 64, .parked = 1000, .loop = i, .core = -1, .weight = 1};
    }
    for (uint32_t i = loops; i < loops + blocking; i++)
        w.executors[i] =
            (struct executor_plan){.kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1};
    w.manager = w.loops[0];
    w.plan = (struct tasks_plan){.loops = w.loops,
                                 .loop_count = loops,
                                 .executors = w.executors,
                                 .executor_count = loops + blocking,
                                 .policy = PLACEMENT_OCCUPANCY,
                                 .short_cut = true,
                                 .queue_max = 1000,
                                 .message_max = 1 << 20,
                                 .workers = &worker_executors,
                                 .ended = call_ended};
}

void tasks_world_own_manager(void)
{
    w.manager = virtual_open(&w.v, "manager");
}

static void open_accounts(void)
{
    static const uint64_t seed[2] = {1, 2};
    w.accounts = accounts_new(w.limits ? w.limits : &unlimited_accounts, seed);
    for (uint32_t i = 0; i < w.plan.loop_count; i++)
        tally_book_init(&w.books[i], w.accounts, w.loops[i]);
    w.plan.accounts = w.accounts;
}

static void open_with(bool blocking)
{
    char error[256] = "";
    open_accounts();
    test_handlers_add(w.registry, blocking);
    for (unsigned i = 0; i < 4 && w.joined[i]; i++)
        method_join(registry_find(w.registry, span_text(w.joined[i])));
    w.plan.registry = w.registry;
    w.plan.manager = w.manager;
    w.plan.clock = &w.v.clock;
    w.tasks = tasks_new(&w.plan, error, sizeof error);
    if (!w.tasks)
        fail_msg("%s", error);
    for (uint32_t i = 0; i < w.plan.loop_count; i++)
        tasks_set_owner(w.tasks, i, &w);
}

void tasks_world_open(void)
{
    open_with(w.plan.executor_count > w.plan.loop_count);
}

void tasks_world_open_with_all(void)
{
    open_with(true);
}

void tasks_world_be(const char *principal)
{
    w.principal = principal;
}

void tasks_world_fini(void)
{
    tasks_free(w.tasks);
    for (uint32_t i = 0; w.accounts && i < w.plan.loop_count; i++)
        tally_book_fini(&w.books[i]);
    accounts_free(w.accounts);
    registry_free(w.registry);
    virtual_fini(&w.v);
}

enum ergon_error tasks_world_call(uint32_t loop, const char *method, struct span params,
                                  ao_time deadline)
{
    uint8_t id[ENC_INT_MAX];
    uint8_t *end = enc_uint(id, ++w.begun);
    struct tally *tally = w.principal ? tally_open(&w.books[loop], w.principal) : NULL;
    const struct call_request request = {.tally = tally,
                                         .list = &w.list,
                                         .owner = &w,
                                         .msgid = span_of(id, (size_t)(end - id)),
                                         .params = params,
                                         .deadline = deadline};
    struct method *m = registry_find(w.registry, span_text(method));
    assert_non_null(m);
    enum ergon_error error = home_call(tasks_home(w.tasks, loop), m, &request);
    if (error != ERGON_OK)
        w.begun--;
    tally_close(tally);
    return error;
}

struct call *tasks_world_find(unsigned number)
{
    uint8_t id[ENC_INT_MAX];
    struct span msgid = span_of(id, (size_t)(enc_uint(id, number) - id));
    struct call *c = w.list;
    while (c && !span_equal(span_of(c->msgid, c->msgid_len), msgid))
        c = c->next;
    return c;
}

static bool run_blocking(void)
{
    bool ran = false;
    for (uint32_t i = w.plan.loop_count; i < w.plan.executor_count; i++)
        ran |= blocking_round(ao_of(w.tasks->executors[i], struct blocking, base));
    return ran;
}

void tasks_world_adopt(struct method *m)
{
    m->pool = m->attempts_pool = local_pool(&w.tasks->shared, m->handler->kind);
}

void tasks_world_wake_source(void)
{
    for (uint32_t i = 0; i < w.tasks->manager.pool_count; i++)
        job_source_wake(w.tasks, i);
}

/* The executors have run what they have before time passes. */
void tasks_world_run(void)
{
    do {
        do
            virtual_run_until(&w.v, w.v.now);
        while (run_blocking());
        virtual_run(&w.v);
    } while (run_blocking());
}

void tasks_world_run_ms(uint64_t ms)
{
    do
        virtual_run_until(&w.v, AO_MS(ms));
    while (run_blocking());
}

static void expect_home_at_rest(const struct home *h)
{
    assert_int_equal(h->calls.taken, 0);
    assert_int_equal(slab_taken(&h->slab), 0);
    assert_true(LIST_EMPTY(&h->unwanted));
    assert_null(h->returned);
}

static void expect_executor_at_rest(const struct executor *e)
{
    assert_int_equal(executor_outstanding(e), 0);
    assert_int_equal(counter_read(&e->parked), 0);
    assert_int_equal(counter_read(&e->turning), 0);
    assert_int_equal(counter_read(&e->turning_jobs), 0);
    for (uint32_t i = 0; i < e->shared->method_count; i++) {
        assert_int_equal(counter_read(&e->figures[i].living), 0);
        assert_int_equal(counter_read(&e->figures[i].parked), 0);
    }
}

static void expect_worker_loop_at_rest(struct executor *e)
{
    const struct worker_loop *d = worker_loop_of(e);
    const struct worker_executor *r;
    assert_true(LIST_EMPTY(&d->sent) && LIST_EMPTY(&d->checked));
    LIST_FOREACH(r, &d->executors, link)
    {
        assert_int_equal(r->out_count, 0);
        assert_int_equal(executor_outstanding(&r->base), 0);
        assert_int_equal(r->member.attempts, 0);
    }
}

void tasks_expect_at_rest(const struct tasks *t)
{
    for (uint32_t i = 0; i < t->home_count; i++)
        expect_home_at_rest(t->homes[i]);
    for (uint32_t i = 0; i < t->shared.plan.executor_count; i++)
        expect_executor_at_rest(t->executors[i]);
    for (uint32_t i = 0; i < t->shared.worker_loops.count; i++)
        expect_worker_loop_at_rest(t->worker_loops[i]);
    assert_true(TAILQ_EMPTY(&t->manager.roster->waiting));
    assert_true(TAILQ_EMPTY(&t->manager.roster->waiting_joined));
    for (uint32_t i = 0; i < t->manager.pool_count; i++)
        assert_int_equal(t->manager.pools[i]->queue.length, 0);
    assert_int_equal(manager_queued(&t->shared.inbox), 0);
    assert_int_equal(t->manager.attempts_out, 0);
}

void tasks_world_start(uint32_t loops, uint32_t blocking)
{
    tasks_world_init(loops, blocking);
    tasks_world_open();
}

int tasks_world_end(void **state)
{
    assert_int_equal(w.begun, w.ended);
    for (unsigned i = 1; i <= w.begun && i < WORLD_CALLS; i++)
        assert_int_equal(w.told[i], 1);
    if (!w.unfinished)
        tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
    return 0;
}
