/* What counts, counts from the begin of the handler; until then an attempt can be taken back, and
 * after a crash the board tells who had begun. */
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/out.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/random.h"

/* Given to an executor, and not begun. */
static uint64_t assigned(struct jobs_world *w, struct job_spec *spec)
{
    w->holds = true;
    uint64_t id = jobs_world_submit(w, spec);
    jobs_world_pass(w, w->store ? AO_MS(2) : 0);
    assert_non_null(world_run_of(w, id));
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    return id;
}

static void ask_of_queue(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    world_give(w, op);
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
}

JOBS_TEST(nothing_counts_before_the_begin)
{
    uint64_t id = assigned(w, &WORK());
    assert_int_equal(world_job(w, id)->attempt, 0);
    assert_int_equal(world_job(w, id)->started, 0);
    jobs_world_pass(w, AO_S(5));
    world_begin(world_run_of(w, id));
    uint64_t began = table_wall(&w->jobs->table);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(world_job(w, id)->attempt, 1);
    assert_int_equal(world_job(w, id)->started, began);
}

JOBS_TEST(a_begin_is_looked_for)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_pass(w, AO_MS(2));
    assert_int_equal(table_find(&w->jobs->table, id)->state, JOB_RUNNING);
}

/* If everything were taken back within a second, an executor of a machine under heavy load would
 * never come to anything. */
JOBS_TEST(an_executor_that_needs_twenty_seconds_comes_to_what_it_is_given)
{
    enum { SEEN = 1, NEEDED = 20, PATIENCE = 120 };
    uint64_t id = assigned(w, &WORK());
    int out = 0; /* seconds, of the attempt that is out */
    for (int second = 0; out < NEEDED && second < PATIENCE; second++) {
        struct world_run *r = world_run_of(w, id);
        out = r->began == SEEN ? out + 1 : 0;
        r->began = SEEN;
        jobs_world_pass(w, AO_S(1));
    }
    assert_int_equal(out, NEEDED);
    world_begin(world_run_of(w, id));
    jobs_world_pass(w, AO_S(30));
    assert_int_equal(world_job(w, id)->attempt, 1);
}

JOBS_TEST(a_cancel_before_the_begin_takes_effect_at_once)
{
    uint64_t id = assigned(w, &WORK());
    assert_true(world_cancel(w, world_job(w, id)));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    assert_null(world_run_of(w, id));
}

JOBS_TEST(nothing_begins_after_a_pause_was_answered)
{
    uint64_t id = assigned(w, &WORK()), second = jobs_world_submit(w, &WORK());
    ask_of_queue(w, &operation_queue_pause);
    assert_int_equal(world_reason(w, id), JOB_WHY_PAUSED);
    assert_null(w->runs);
    w->holds = false;
    ask_of_queue(w, &operation_queue_resume);
    assert_non_null(world_run_of(w, id)); /* it was the first, and is again */
    assert_null(world_run_of(w, second));
}

/* Everything is full, and one of higher priority comes. */
JOBS_TEST(who_goes_first_begins_first)
{
    uint64_t low = assigned(w, &WORK());
    w->holds = false;
    uint64_t high = jobs_world_submit(w, &WORK(.priority = 9));
    jobs_world_pass(w, 0);
    assert_non_null(world_run_of(w, high));
    assert_int_equal(world_reason(w, low), JOB_WHY_TURN);
    world_finish(world_run_of(w, high), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_run_of(w, low)->run.attempt, 1);
}

JOBS_TEST(an_equal_does_not_overtake)
{
    uint64_t first = assigned(w, &WORK());
    uint64_t second = jobs_world_submit(w, &WORK());
    jobs_world_pass(w, 0);
    assert_non_null(world_run_of(w, first));
    assert_null(world_run_of(w, second));
}

static void change_queue(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    world_give(w, op);
}

static struct world_run *first_at(struct jobs_world *w, enum attempt_stage stage)
{
    struct world_run *r = w->runs;
    while (r && r->stage != stage)
        r = r->next;
    return r;
}

struct arrivals {
    struct jobs_world *w;
    uint64_t seed, last; /* the last that began */
    uint32_t open;       /* that have not begun */
};

static void begin_first(struct arrivals *a)
{
    struct world_run *r = first_at(a->w, ATTEMPT_ASSIGNED);
    if (!r)
        return;
    if (world_job(a->w, r->run.id)->priority == 5) {
        assert_true(r->run.id > a->last);
        a->last = r->run.id;
        a->open--;
    }
    world_begin(r);
}

static void finish_first(struct arrivals *a)
{
    struct world_run *r = first_at(a->w, ATTEMPT_RUNNING);
    if (r)
        world_finish(r, "\x01");
}

static void come_about(struct arrivals *a)
{
    enum { OPEN_MOST = 1000 };
    uint64_t what = a->open < OPEN_MOST ? chance(&a->seed, 100) : 50 + chance(&a->seed, 50);
    if (what < 50) {
        jobs_world_submit(a->w, &WORK());
        a->open++;
    } else if (what < 53) {
        change_queue(a->w, &operation_queue_pause);
    } else if (what < 60) {
        change_queue(a->w, &operation_queue_resume);
    } else if (what < 64) { /* what has not begun is taken back for it */
        jobs_world_submit(a->w, &WORK(.priority = 9));
    } else if (what < 80) {
        begin_first(a);
    } else {
        finish_first(a);
    }
    jobs_world_settle(a->w); /* no time passes: what waits is not sent elsewhere */
}

/* Whatever is taken back, held and released meanwhile. */
JOBS_TEST(tasks_of_a_priority_begin_in_order_of_arrival, .room = 3, .quiet = true)
{
    struct arrivals a = {.w = w, .seed = 7};
    w->holds = true;
    for (int i = 0; i < 6000; i++)
        come_about(&a);
    change_queue(w, &operation_queue_resume);
    while (a.open > 0) {
        jobs_world_settle(w);
        begin_first(&a);
        finish_first(&a);
    }
}

/* More than are released in one step. */
JOBS_TEST(what_was_queued_goes_on_before_what_came_during_a_pause, .quiet = true)
{
    uint64_t first = stage_submit(w), second = stage_submit(w);
    change_queue(w, &operation_queue_pause);
    jobs_world_settle(w);
    for (int i = 0; i < 1000; i++)
        jobs_world_submit(w, &WORK());
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, second), JOB_WHY_PAUSED);
    change_queue(w, &operation_queue_resume);
    jobs_world_settle(w);
    assert_non_null(world_run_of(w, second));
}

/* It stands in the queue of an executor that is busy, and another of its limit could run. */
JOBS_TEST(a_permit_is_not_held_without_running)
{
    uint64_t id = assigned(w, &WORK(.limit_key = span_text("k"), .limit = 1));
    w->holds = false;
    struct job_spec spec = world_spec("step");
    spec.limit_key = span_text("k");
    spec.limit = 1;
    uint64_t other = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, other), JOB_WHY_LIMIT);
    w->room[1] = 0;
    jobs_world_pass(w, AO_MS(2));
    assert_non_null(world_run_of(w, other));
    assert_null(world_run_of(w, id));
}

JOBS_TEST(a_timeout_runs_from_the_begin)
{
    w->room[0] = w->room[1] = 1;
    uint64_t id = assigned(w, &WORK(.timeout = AO_MS(50)));
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    world_begin(world_run_of(w, id));
    jobs_world_pass(w, AO_MS(49));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(world_state(w, id), JOB_FAILED);
}

JOBS_TEST(a_deadline_takes_back_what_has_not_begun)
{
    uint64_t id = assigned(w, &WORK(.deadline = AO_MS(50)));
    jobs_world_pass(w, AO_MS(50));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
    assert_int_equal(world_job(w, id)->orphans, 0);
    assert_null(world_run_of(w, id));
}

/* --- Crashes --- */

STORED_TEST(what_had_not_begun_counts_no_crash)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    for (unsigned n = 0; n < 3; n++)
        jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->crashes, 0);
    assert_int_equal(world_job(w, id)->attempt, 0);
}

/* Before any row says so. */
STORED_TEST(what_had_begun_counts_one_and_has_its_number)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    w->store->latency = AO_S(100);
    world_begin(world_run_of(w, id));
    uint64_t began = table_wall(&w->jobs->table);
    jobs_world_crash(w);
    assert_int_equal(memory_store_row(w->store, id)->task.attempt, 0);
    assert_int_equal(world_job(w, id)->crashes, 1);
    assert_int_equal(world_job(w, id)->attempt, 1);
    assert_int_equal(world_job(w, id)->started, began);
    jobs_world_crash(w); /* and again, before that could be written */
    assert_int_equal(world_job(w, id)->crashes, 1);
    assert_int_equal(world_job(w, id)->attempt, 1);
}

STORED_TEST(what_had_returned_counts_none)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    w->store->latency = AO_S(100);
    world_begin(world_run_of(w, id));
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->crashes, 0);
    assert_int_equal(world_job(w, id)->attempt, 1);
}

STORED_TEST(a_number_is_told_once)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    world_begin(world_run_of(w, id));
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1)); /* its row knows of the crash */
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->crashes, 1);
}

/* --- Without the board --- */

/* A crash behind which nothing tells that the task had begun: its next attempt has the number after
 * that. */
static void crashes_untold(struct jobs_world *w, uint64_t id)
{
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->crashes, 0);
    w->holds = false;
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_run_of(w, id)->run.attempt, 2);
}

STORED_TEST(over_a_power_cut_a_number_is_skipped)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    world_begin(world_run_of(w, id));
    memory_store_cut_power(w->store);
    crashes_untold(w, id);
}

STORED_TEST(what_was_known_to_run_skips_none)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    world_begin(world_run_of(w, id));
    jobs_world_pass(w, AO_MS(10));
    memory_store_cut_power(w->store);
    crashes_untold(w, id);
}

STORED_TEST(a_damaged_board_is_not_believed)
{
    uint64_t id = assigned(w, &WORK(.durable = DURABLE_FSYNC));
    world_begin(world_run_of(w, id));
    ((struct board_slot *)w->store->board[0])->attempt ^= 1u << 20;
    crashes_untold(w, id);
}

STORED_TEST(without_room_on_the_board_it_waits)
{
    w->store->board_room = 0;
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_reason(w, id), JOB_WHY_DELAY);
    assert_null(world_run_of(w, id));
    w->store->board_room = 1;
    jobs_world_pass(w, AO_MS(200));
    assert_non_null(world_run_of(w, id));
}

/* It returns while the next one stands in the queue of an executor: its answer is that of an
 * attempt that was given up, also then. */
JOBS_TEST(what_was_given_up_does_not_answer_for_the_next, .room = 2)
{
    uint64_t id = jobs_world_submit(
        w, &WORK(.timeout = AO_MS(10), .retries = 3, .backoff = AO_MS(1), .backoff_jitter = 0));
    w->stubborn = true;
    jobs_world_settle(w);
    struct world_run *late = world_run_of(w, id);
    w->holds = true;
    jobs_world_pass(w, AO_MS(11));
    struct world_run *next = world_run_of(w, id);
    assert_ptr_not_equal(next, late);
    assert_int_equal(next->stage, ATTEMPT_ASSIGNED);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    world_finish(late, "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    next = world_run_of(w, id);
    assert_int_equal(next->run.attempt, 2);
    world_begin(next);
    world_finish(next, "\x02");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(world_job(w, id)->attempt, 2);
    assert_int_equal(world_job(w, id)->end->result->at[0], 2);
}
