/* Limits and rates, under everything that can happen to who holds of them. */
#include "server/jobs/sched/admission.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/random.h"

enum { LIMIT = 3, ROUNDS = 20000, RATE = 7 };

static uint32_t runs_out(const struct jobs_world *w)
{
    uint32_t count = 0;
    for (const struct world_run *r = w->runs; r; r = r->next)
        count++;
    return count;
}

static struct world_run *any_run(const struct jobs_world *w, uint64_t random)
{
    struct world_run *r = w->runs;
    for (uint64_t i = random % (runs_out(w) + 1); r && r->next && i > 0; i--)
        r = r->next;
    return r;
}

static uint32_t of_state(const struct jobs_world *w, enum job_state s)
{
    return (uint32_t)w->jobs->table.queues->by_state[s];
}

static void do_something(struct jobs_world *w, struct job_spec *spec, uint64_t *seed)
{
    struct world_run *r = any_run(w, chance(seed, UINT32_MAX));
    struct job *e = table_find(&w->jobs->table, w->jobs->table.next_id - 1 - chance(seed, 8));
    switch (chance(seed, 8)) {
    case 0:
    case 1:
    case 2:
        spec->timeout = chance(seed, 2) ? AO_MS(5) : AO_NEVER;
        spec->priority = (uint8_t)(chance(seed, 10));
        if (of_state(w, JOB_WAITING) < 20)
            jobs_world_submit(w, spec);
        break;
    case 3:
        if (r)
            world_finish(r, "\x01");
        break;
    case 4:
        if (r)
            world_fail(r, chance(seed, 2) ? "ODD" : "PERMANENT", "not today");
        break;
    case 5:
        if (r && !r->flagged)
            world_again(r, AO_MS(1));
        break;
    case 6:
        if (e)
            world_cancel(w, e);
        break;
    case 7:
        jobs_world_pass(w, AO_MS(1 + chance(seed, 5)));
        break;
    }
}

#define HOLD_TEST(name) JOBS_TEST(name, .quiet = true, .room = 100)

/* Handlers do not hear that they are late or cancelled: such attempts go on to hold their slot. */
HOLD_TEST(a_limit_is_never_exceeded_and_never_idle)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = LIMIT, .retries = 2,
                                .backoff = AO_MS(1), .keep = AO_MS(50));
    uint64_t seed = 42;
    uint32_t full = 0;
    w->stubborn = true;
    jobs_world_submit(w, &spec);
    for (unsigned i = 0; i < ROUNDS; i++) {
        do_something(w, &spec, &seed);
        jobs_world_settle(w);
        uint32_t out = runs_out(w);
        assert_true(out <= LIMIT);
        if (of_state(w, JOB_WAITING) + of_state(w, JOB_QUEUED) > 0)
            assert_int_equal(out, LIMIT);
        full += out == LIMIT;
    }
    assert_true(full > ROUNDS / 4);
    assert_true(counter_read(&w->jobs->sched.fenced) > 100);
}

HOLD_TEST(a_stray_keeps_its_slot)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1, .timeout = AO_S(1));
    w->stubborn = true;
    uint64_t first = jobs_world_submit(w, &spec), second = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    struct world_run *late = world_run_of(w, first);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_state(w, first), JOB_FAILED);
    assert_int_equal(world_reason(w, second), JOB_WHY_LIMIT);
    world_finish(late, "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, second), JOB_RUNNING);
}

HOLD_TEST(another_key_or_tenant_is_not_held)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    jobs_world_submit(w, &spec);
    spec.tenant = span_text("other");
    uint64_t other = jobs_world_submit(w, &spec);
    spec.limit_key = span_text("l");
    uint64_t key = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, other), JOB_RUNNING);
    assert_int_equal(world_state(w, key), JOB_RUNNING);
}

struct rated {
    ao_time starts[2000];
    uint32_t count;
    struct jobs_world *w;
};

static void note_start(void *arg, struct world_run *r, ao_time *lasts)
{
    struct rated *rated = arg;
    rated->starts[rated->count++] = rated->w->v.now;
    *lasts = AO_MS(3);
}

/* In no second, wherever it is laid, more than may; and over the minute no start is lost. */
HOLD_TEST(a_rate_holds_over_a_minute)
{
    static struct rated rated;
    struct job_spec spec = WORK(.rate_key = span_text("api"), .rate = RATE, .rate_per = AO_S(1));
    rated = (struct rated){.w = w};
    w->begun = note_start;
    w->arg = &rated;
    for (unsigned i = 0; i < 600; i++)
        jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(60));
    assert_true(rated.count >= 60 * RATE && rated.count <= 60 * RATE + RATE);
    for (uint32_t i = RATE; i < rated.count; i++)
        assert_true(rated.starts[i] - rated.starts[i - RATE] >= AO_S(1));
    assert_int_equal(of_state(w, JOB_WAITING), 600 - rated.count);
}

HOLD_TEST(who_waits_for_a_token_keeps_no_slot)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 2, .rate_key = span_text("r"),
                                .rate = 1, .rate_per = AO_S(10));
    jobs_world_submit(w, &spec);
    uint64_t second = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_RATE);
    spec.rate_key = span_text("");
    uint64_t third = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, third), JOB_RUNNING);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(world_reason(w, second), JOB_WHY_LIMIT);
    world_finish(world_run_of(w, third), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, second), JOB_RUNNING);
}

/* Tasks that stand in the queue for long, since the executors are full, do not save up their
 * tokens. */
HOLD_TEST(a_rate_holds_behind_full_executors)
{
    static struct rated rated;
    struct job_spec plain = world_spec("work"), spec = plain;
    uint64_t first = jobs_world_submit(w, &plain);
    w->room[1] = 1;
    spec.rate_key = span_text("api");
    spec.rate = 2;
    spec.rate_per = AO_S(2);
    jobs_world_settle(w);
    for (unsigned i = 0; i < 20; i++)
        jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(60));
    rated = (struct rated){.w = w};
    w->begun = note_start;
    w->arg = &rated;
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_pass(w, AO_MS(900));
    assert_int_equal(rated.count, 2);
    jobs_world_pass(w, AO_S(4));
    assert_int_equal(rated.count, 6);
}

HOLD_TEST(who_waits_for_a_slot_keeps_no_token)
{
    struct job_spec spec = world_spec("work"), rated;
    spec.limit_key = span_text("k");
    spec.limit = 1;
    uint64_t first = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    rated = spec;
    rated.limit_key = (struct span){0};
    rated.rate_key = spec.rate_key = span_text("r");
    rated.rate = spec.rate = 1;
    rated.rate_per = spec.rate_per = AO_S(10);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t both = jobs_world_submit(w, &spec);
        uint64_t one = jobs_world_submit(w, &rated);
        jobs_world_pass(w, AO_S(10));
        assert_int_equal(world_reason(w, both), JOB_WHY_LIMIT);
        assert_int_equal(world_state(w, one), JOB_RUNNING);
    }
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_settle(w);
    assert_int_equal(of_state(w, JOB_WAITING), 4);
}

HOLD_TEST(who_is_paused_keeps_no_slot)
{
    struct job_spec work = world_spec("work"), step = world_spec("step");
    work.limit_key = step.limit_key = span_text("k");
    work.limit = step.limit = 1;
    uint64_t first = jobs_world_submit(w, &work), second = jobs_world_submit(w, &work);
    jobs_world_settle(w);
    uint64_t third = jobs_world_submit(w, &step);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, third), JOB_WHY_LIMIT);
    world_job(w, first)->queue->paused = true;
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_PAUSED);
    assert_int_equal(world_state(w, third), JOB_RUNNING);
}

HOLD_TEST(a_limit_that_is_raised_lets_others_go_on)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    for (unsigned i = 0; i < 5; i++)
        jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    spec.limit = 4;
    spec.delay = AO_S(1000); /* it does not ask for a slot itself */
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(runs_out(w), 4);
}

HOLD_TEST(many_that_expire_together_hold_up_nobody)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1);
    uint64_t first = jobs_world_submit(w, &spec);
    spec.deadline = AO_S(1);
    for (unsigned i = 0; i < 50000; i++)
        jobs_world_submit(w, &spec);
    spec.deadline = AO_NEVER;
    uint64_t last = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, last), JOB_RUNNING);
    assert_int_equal(of_state(w, JOB_EXPIRED), 50000);
}

/* --- Whose turn it is --- */

struct order {
    uint64_t ids[100];
    uint32_t count;
};

static void note_order(void *arg, struct world_run *r, ao_time *lasts)
{
    struct order *order = arg;
    order->ids[order->count++] = r->run.id;
    *lasts = AO_MS(10);
}

static void follow(struct jobs_world *w, struct order *order)
{
    *order = (struct order){.count = 0};
    w->begun = note_order;
    w->arg = order;
}

/* Those of `ids` began in this order, behind the first that began. */
static void began(const struct order *order, const uint64_t *ids, uint32_t count)
{
    assert_int_equal(order->count, count + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(order->ids[i + 1], ids[i]);
}

static void five_that_wait(struct jobs_world *w, struct job_spec spec, uint64_t ids[5])
{
    static const uint8_t priorities[] = {5, 2, 9, 5, 9};
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    for (unsigned i = 0; i < 5; i++) {
        spec.priority = priorities[i];
        ids[i] = jobs_world_submit(w, &spec);
        jobs_world_pass(w, AO_MS(1));
    }
}

HOLD_TEST(who_waits_for_a_limit_goes_by_priority_then_arrival)
{
    struct order order;
    uint64_t ids[5];
    follow(w, &order);
    five_that_wait(w, WORK(.limit_key = span_text("k"), .limit = 1), ids);
    jobs_world_pass(w, AO_S(1));
    began(&order, (uint64_t[]){ids[2], ids[4], ids[0], ids[3], ids[1]}, 5);
}

HOLD_TEST(who_waits_for_a_rate_goes_by_priority_then_arrival)
{
    struct order order;
    uint64_t ids[5];
    follow(w, &order);
    five_that_wait(w, WORK(.rate_key = span_text("k"), .rate = 1, .rate_per = AO_MS(50)), ids);
    jobs_world_pass(w, AO_S(1));
    began(&order, (uint64_t[]){ids[2], ids[4], ids[0], ids[3], ids[1]}, 5);
}

/* Who waits long enough is overtaken by nobody, as in the queue. */
HOLD_TEST(who_waits_grows_older)
{
    struct job_spec spec = WORK(.limit_key = span_text("k"), .limit = 1, .priority = 0);
    struct order order;
    uint64_t ids[2];
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    follow(w, &order);
    ids[0] = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(91));
    spec.priority = 9;
    ids[1] = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    world_finish(world_run_of(w, w->first_id), "\x01");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(order.count, 2);
    assert_memory_equal(order.ids, ids, sizeof ids);
}

/* Another priority is another place. */
HOLD_TEST(a_change_of_priority_moves_who_waits)
{
    struct order order;
    uint64_t ids[5];
    follow(w, &order);
    five_that_wait(w, WORK(.limit_key = span_text("k"), .limit = 1), ids);
    world_job(w, ids[1])->priority = 9;
    admission_reorder(&w->jobs->sched, world_job(w, ids[1]));
    world_job(w, ids[2])->priority = 0;
    admission_reorder(&w->jobs->sched, world_job(w, ids[2]));
    jobs_world_pass(w, AO_S(1));
    began(&order, (uint64_t[]){ids[1], ids[4], ids[0], ids[3], ids[2]}, 5);
}

/* The executors of one kind are full: who was called there holds no permit that another can use. */
HOLD_TEST(who_stands_in_the_queue_keeps_no_permit)
{
    struct job_spec work = world_spec("work"), step = world_spec("step"), plain = work;
    work.limit_key = step.limit_key = span_text("k");
    work.limit = step.limit = 1;
    w->room[1] = 2;
    uint64_t first = jobs_world_submit(w, &work), other = jobs_world_submit(w, &plain);
    jobs_world_settle(w);
    uint64_t called = jobs_world_submit(w, &work);
    jobs_world_submit(w, &plain); /* takes the place of the first */
    jobs_world_settle(w);
    world_job(w, called)->queue->paused = false;
    w->room[1] = 1;
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, called), JOB_QUEUED);
    assert_int_equal(world_job(w, called)->more->claim.line->limit->taken, 0);
    uint64_t stepped = jobs_world_submit(w, &step);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, stepped), JOB_RUNNING);
    world_finish(world_run_of(w, other), "\x01");
    jobs_world_settle(w);
    assert_int_not_equal(world_state(w, called), JOB_RUNNING);
    world_finish(world_run_of(w, stepped), "\x01");
    jobs_world_pass(w, AO_MS(1));
    assert_true(runs_out(w) <= 1);
}

/* --- What stays behind --- */

/* The starts of tasks that are forgotten count until they are past; then nothing is left. */
HOLD_TEST(the_starts_of_forgotten_tasks_count)
{
    static struct rated rated;
    struct job_spec spec =
        WORK(.rate_key = span_text("k"), .rate = 2, .rate_per = AO_S(10), .keep = 0);
    rated = (struct rated){.w = w};
    w->begun = note_start;
    w->arg = &rated;
    for (unsigned i = 0; i < 2; i++)
        jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(w->jobs->table.count, 0);
    assert_int_equal(rated.count, 2);
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(9) - AO_MS(1));
    assert_int_equal(rated.count, 2);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(rated.count, 3);
    assert_non_null(limit_table_rate(w->jobs->sched.limits, NULL));
    jobs_world_pass(w, AO_S(10));
    assert_null(limit_table_rate(w->jobs->sched.limits, NULL));
}

static unsigned begins; /* of walks over the table of rates */

struct rate *__wrap_limit_table_rate(const struct limit_table *t, const struct rate *behind);
struct rate *__real_limit_table_rate(const struct limit_table *t, const struct rate *behind);
struct rate *__wrap_limit_table_rate(const struct limit_table *t, const struct rate *behind)
{
    begins += !behind;
    return __real_limit_table_rate(t, behind);
}

enum { RATES = 50 };

/* Rates of tasks that have started and are forgotten. */
static void make_rates(struct jobs_world *w)
{
    char name[] = "r00";
    struct job_spec spec =
        WORK(.rate_key = span_text(name), .rate = 2, .rate_per = AO_S(1000), .keep = 0);
    w->lasts = 0;
    for (unsigned i = 0; i < RATES; i++) {
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        jobs_world_submit(w, &spec);
    }
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(w->store->rows.rate_count, RATES);
}

/* A walk per rate would take time that is quadratic in the rates. */
STORED_TEST(a_stop_walks_over_the_rates_once)
{
    make_rates(w);
    begins = 0;
    jobs_world_crash(w);
    assert_in_range(begins, 1, 3);
}

static uint64_t last_row; /* of a rate, that was written */
static unsigned rows, out_of_order;

void __wrap_store_push(struct store *s, struct store_op *op);
void __real_store_push(struct store *s, struct store_op *op);
void __wrap_store_push(struct store *s, struct store_op *op)
{
    if (op->kind == STORE_ROW_PUT && op->table == &store_rates) {
        rows++;
        out_of_order += ((const struct store_rate *)op->row)->id <= last_row && rows <= RATES;
        last_row = ((const struct store_rate *)op->row)->id;
    }
    __real_store_push(s, op);
}

static void restart_and_expect_order(struct jobs_world *w)
{
    last_row = rows = out_of_order = 0;
    jobs_world_restart(w);
    assert_in_range(rows, RATES, 2 * RATES); /* the start writes some behind those of the stop */
    assert_int_equal(out_of_order, 0);
}

/* In any other order each commit would write about as many pages as it has rows. */
STORED_TEST(a_stop_writes_rates_in_the_order_of_their_rows)
{
    make_rates(w);
    jobs_world_pass(w, AO_S(2)); /* the store has been told of each start */
    restart_and_expect_order(w);
    jobs_world_pass(w, AO_S(2));
    restart_and_expect_order(w); /* as they were read back */
    jobs_world_pass(w, AO_S(1000));
    assert_int_equal(w->store->rows.rate_count, 0);
    assert_true(TAILQ_EMPTY(&w->jobs->sched.notes.rows));
}
