/* What is known of a task after a restart is what was known before. */
#include <inttypes.h>
#include <stdio.h>

#include "tests/support/cmocka_env.h"
#include "server/jobs/core/history_reload.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/jobs_world_lives.h"
#include "tests/support/notation.h"

static uint64_t submit_after(struct jobs_world *w, const uint64_t *first)
{
    return jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .after = first, .after_count = 1));
}

static void retry(struct jobs_world *w, uint64_t id)
{
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_pass(w, AO_S(1));
}

/* --- After --- */

STORED_TEST(what_failed_with_after_can_be_tried_again)
{
    uint64_t first = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC)),
             second = submit_after(w, &first);
    jobs_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, first), "ODD", "not today");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, second), JOB_FAILED);
    retry(w, second);
    assert_non_null(world_run_of(w, second));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, second));
    world_finish(world_run_of(w, second), "\x2a");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, second), JOB_DONE);
    stage_balances(w);
}

STORED_TEST(what_is_tried_again_waits_for_nobody)
{
    w->room[1] = 2;
    uint64_t first = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC)),
             second = submit_after(w, &first);
    jobs_world_pass(w, AO_S(1));
    world_cancel(w, world_job(w, second));
    jobs_world_pass(w, AO_S(1));
    retry(w, second);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, first));
    assert_non_null(world_run_of(w, second));
}

/* What the others take for that they wait was counted anew, and is given back but once. */
STORED_TEST(who_waits_over_a_restart_is_counted_to_nothing)
{
    w->room[1] = 10;
    uint64_t first = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC)), others[10];
    for (unsigned i = 0; i < 10; i++)
        others[i] = submit_after(w, &first);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_pass(w, AO_S(1));
    for (unsigned i = 0; i < 10; i++) {
        world_finish(world_run_of(w, others[i]), "\x2a");
        jobs_world_pass(w, AO_S(1));
        assert_int_equal(world_state(w, others[i]), JOB_DONE);
    }
    assert_int_equal(w->jobs->table.open, 0);
    assert_int_equal(w->jobs->table.open_bytes, 0);
}

/* --- Histories --- */

enum { EVENTS = 200 };

struct seen {
    struct history_event events[EVENTS];
    char texts[EVENTS][120];
    uint32_t count, next;
};

/* As a watcher gets it. */
static void look(struct jobs_world *w, uint64_t id, struct seen *seen)
{
    struct job *e = world_job(w, id);
    seen->count = 0;
    history_complete(&w->jobs->table, e);
    seen->next = history_next(e);
    for (uint32_t seq = 1; history_get(e, seq, &seen->events[seen->count]);) {
        struct history_event *event = &seen->events[seen->count];
        snprintf(seen->texts[seen->count], sizeof seen->texts[0], "%.*s", (int)event->text.len,
                 (const char *)event->text.at);
        seq = event->seq + 1;
        assert_true(++seen->count < EVENTS);
    }
}

static void expect_same(const struct seen *before, const struct seen *after)
{
    assert_int_equal(after->next, before->next);
    assert_int_equal(after->count, before->count);
    for (uint32_t i = 0; i < after->count; i++) {
        assert_int_equal(after->events[i].seq, before->events[i].seq);
        assert_int_equal(after->events[i].what, before->events[i].what);
        assert_int_equal(after->events[i].attempt, before->events[i].attempt);
        assert_string_equal(after->texts[i], before->texts[i]);
        assert_int_equal(after->events[i].at, before->events[i].at);
    }
}

static void is_told_the_same_after_a_crash(struct jobs_world *w, uint64_t id, uint32_t count)
{
    static struct seen before, after;
    jobs_world_pass(w, AO_S(1));
    look(w, id, &before);
    assert_int_equal(before.count, count);
    for (unsigned i = 0; i < 2; i++) {
        jobs_world_crash(w);
        look(w, id, &after);
        expect_same(&before, &after);
    }
}

static uint64_t submit_and_start(struct jobs_world *w, const struct job_spec *spec)
{
    uint64_t id = jobs_world_submit(w, spec);
    jobs_world_pass(w, AO_S(1));
    assert_non_null(world_run_of(w, id));
    return id;
}

STORED_TEST(start_and_end_are_told_by_the_row)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    uint64_t id = submit_and_start(w, &spec);
    world_finish(world_run_of(w, id), "\x2a");
    is_told_the_same_after_a_crash(w, id, 3);
    id = submit_and_start(w, &spec);
    world_fail(world_run_of(w, id), "ODD", "not today");
    is_told_the_same_after_a_crash(w, id, 4);
    spec.delay = AO_S(100);
    id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    world_cancel(w, world_job(w, id));
    is_told_the_same_after_a_crash(w, id, 2);
}

/* What came back late stands behind the end that it was late for. */
STORED_TEST(an_end_is_told_before_what_came_behind_it)
{
    w->stubborn = true;
    uint64_t id = submit_and_start(w, &WORK(.durable = DURABLE_FSYNC, .deadline = AO_S(2)));
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
    world_finish(world_run_of(w, id), "\x2a");
    is_told_the_same_after_a_crash(w, id, 4);
}

STORED_TEST(the_ends_of_one_that_was_tried_again_are_all_told)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)));
    jobs_world_pass(w, AO_S(1));
    world_cancel(w, world_job(w, id));
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    retry(w, id);
    world_finish(world_run_of(w, id), "\x2a");
    is_told_the_same_after_a_crash(w, id, 5);
}

STORED_TEST(a_watcher_goes_on_where_it_was)
{
    char text[800];
    uint64_t id = submit_and_start(w, &WORK(.durable = DURABLE_FSYNC));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    struct operation *op = world_about(w, &operation_task_watch, id);
    op->watch.from = 3;
    world_give(w, op);
    notation_show(operation_result(op), text, sizeof text);
    stage_holds(text, "'missed': 0");
    stage_holds(text, "'events': [{'seq': 3");
    stage_holds(text, "'event': 'done', 'attempt': 1");
    stage_holds(text, "'next': 4, 'ended': true");
}

static void say(struct jobs_world *w, uint64_t id, uint64_t done)
{
    struct world_run *r = world_run_of(w, id);
    struct attempt_note note = {.owner = r->run.owner, .attempt = r->run.attempt, .done = done};
    w->source.noted(w->source.arg, &note);
}

/* Progress is not stored, but its numbers were given out. */
STORED_TEST(numbers_of_progress_are_not_given_out_again)
{
    uint64_t id = submit_and_start(w, &WORK(.durable = DURABLE_FSYNC));
    for (uint64_t done = 1; done <= 150; done++) {
        say(w, id, done);
        jobs_world_pass(w, AO_MS(2));
        if (done != 50 && done != 140)
            continue;
        uint32_t next = history_next(world_job(w, id));
        jobs_world_crash(w);
        assert_true(history_next(world_job(w, id)) > next);
        jobs_world_pass(w, AO_MS(10));
        say(w, id, done);
    }
    assert_true(w->store->rows.event_count < 40);
}

/* --- Memory --- */

/* As one that runs again every millisecond has, in some weeks: what it wrote can be read. */
STORED_TEST(who_has_had_all_numbers_begins_no_more)
{
    uint64_t id = jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(1), .retries = UINT32_MAX));
    jobs_world_settle(w);
    world_job(w, id)->attempt = JOB_COUNT_MAX - 1;
    world_job(w, id)->failures = JOB_COUNT_MAX;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_job(w, id)->attempt, JOB_COUNT_MAX);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(10000));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(world_state(w, id), JOB_DEAD);
        assert_int_equal(world_job(w, id)->attempt, JOB_COUNT_MAX);
        jobs_world_crash(w);
    }
}

/* What was read by then goes with the jobs, and leaves nothing behind. */
STORED_TEST(memory_that_fails_while_the_store_is_read)
{
    char error[200];
    bool met = true;
    jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .limit_key = span_text("l"), .limit = 1,
                               .rate_key = span_text("r"), .rate = 5, .rate_per = AO_S(1)));
    jobs_world_pass(w, AO_MS(20));
    world_finish(w->runs, "\x2a");
    jobs_world_pass(w, AO_MS(20));
    jobs_world_die(w);
    for (int n = 1; met; n++) {
        int64_t before = heap_live();
        heap_fail_at(n);
        struct jobs *jobs = jobs_new(&w->options, error, sizeof error);
        bool whole = jobs && jobs_recover(jobs, error, sizeof error) == 0;
        met = heap_failed();
        heap_fail_at(0);
        jobs_free(jobs);
        assert_true(whole || met);
        assert_int_equal(heap_live(), before);
    }
    assert_true(jobs_world_live(w, error, sizeof error));
}

/* A handler of its method is in the server, too. */
/* --- Order --- */

/* Ends what runs now, which is this one. */
static void expect_next(struct jobs_world *w, uint64_t id)
{
    struct world_run *r = world_run_of(w, id);
    if (!r)
        fail_msg("task %" PRIu64 " does not run now", id - w->first_id + 1);
    world_finish(r, "\x01");
    jobs_world_pass(w, AO_MS(10));
}

/* Tasks stand in the queue by the time at which they could begin: one that was delayed, or failed
 * and is tried again, behind those that were submitted before that. */
static void expect_order_after(struct jobs_world *w, void (*death)(struct jobs_world *w))
{
    w->room[1] = 2;
    uint64_t holder = jobs_world_submit(w, &WORK()); /* of the executor; it is forgotten */
    uint64_t failed = jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .retries = 1, .backoff = AO_S(1), .backoff_jitter = 0));
    uint64_t delayed = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(2)));
    jobs_world_pass(w, AO_MS(500));
    w->room[1] = 1;
    world_fail(world_run_of(w, failed), "ODD", "not today");
    jobs_world_pass(w, AO_MS(500));
    uint64_t third = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(700));
    uint64_t fourth = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    uint64_t last = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_S(1));
    death(w);
    jobs_world_pass(w, AO_MS(10));
    if (world_job(w, holder))
        expect_next(w, holder);
    const uint64_t order[] = {third, failed, fourth, delayed, last};
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
        expect_next(w, order[i]);
    stage_balances(w);
}

static uint64_t submit(struct jobs_world *w, struct job_spec spec)
{
    spec.durable = DURABLE_FSYNC;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(10));
    return id;
}

static void about(struct jobs_world *w, const struct operation_class *cls, uint64_t id)
{
    world_give(w, world_about(w, cls, id));
    jobs_world_pass(w, AO_MS(10));
}

static void run_now(struct jobs_world *w, uint64_t id)
{
    struct operation *op = world_operation(w, &operation_task_run_now);
    op->change.id = id;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
}

static void change(struct jobs_world *w, uint64_t id, struct job_change change)
{
    struct operation *op = world_operation(w, &operation_task_change);
    op->change = (struct change_arguments){.id = id, .change = change};
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
}

/* What became ready by a wish, or since what it came after has ended, stands behind those that were
 * there, and before those that came later. */
static void expect_order_of_wishes_after(struct jobs_world *w, void (*death)(struct jobs_world *w))
{
    w->room[1] = 2;
    uint64_t holder = jobs_world_submit(w, &WORK()), order[10];
    uint64_t retried = submit(w, WORK());
    world_fail(world_run_of(w, retried), "ODD", "not today");
    uint64_t first = submit(w, WORK()), changed = submit(w, WORK(.priority = SPEC_PRIORITY - 1)),
             run = submit(w, WORK(.delay = AO_S(60))), sooner = submit(w, WORK(.delay = AO_S(60))),
             after = submit(w, WORK(.after = &first, .after_count = 1)),
             after_any = submit(w, WORK(.after_any = &first, .after_any_count = 1));
    order[0] = submit(w, WORK());
    about(w, &operation_task_retry, order[1] = retried);
    order[2] = submit(w, WORK());
    run_now(w, order[3] = run);
    order[4] = submit(w, WORK());
    change(w, order[5] = changed, (struct job_change){.priority = SPEC_PRIORITY});
    change(w, order[6] = sooner,
           (struct job_change){.priority = CHANGE_NO_PRIORITY, .timed = true});
    w->room[1] = 1;
    world_finish(world_run_of(w, first), "\x01");
    jobs_world_pass(w, AO_MS(10));
    order[7] = after;
    order[8] = after_any;
    order[9] = submit(w, WORK());
    death(w);
    jobs_world_pass(w, AO_MS(10));
    if (world_job(w, holder))
        expect_next(w, holder);
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
        expect_next(w, order[i]);
    stage_balances(w);
}

static void live_on(struct jobs_world *w)
{
    (void)w;
}

STORED_TEST(tasks_begin_when_it_is_their_turn)
{
    expect_order_after(w, live_on);
    expect_order_of_wishes_after(w, live_on);
}

STORED_TEST(their_turns_outlive_a_crash)
{
    expect_order_after(w, jobs_world_crash);
    expect_order_of_wishes_after(w, jobs_world_crash);
}

/* Its predecessor had ended before it was submitted, so the task was ready at once. */
STORED_TEST(one_that_came_after_what_had_ended_keeps_its_turn)
{
    uint64_t ended = submit(w, WORK());
    world_finish(world_run_of(w, ended), "\x01");
    jobs_world_pass(w, AO_S(1));
    w->room[1] = 0;
    uint64_t first = submit(w, WORK());
    jobs_world_pass(w, AO_S(1));
    uint64_t later = submit(w, WORK(.after = &ended, .after_count = 1));
    w->room[1] = 1;
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(10));
    expect_next(w, first);
    expect_next(w, later);
}

/* Its row is written once more by a server that never saw the time at which it was due. */
STORED_TEST(a_turn_outlives_two_crashes)
{
    w->room[1] = 0;
    uint64_t first = submit(w, WORK(.coalesce = span_text("report"), .delay = AO_S(1)));
    jobs_world_pass(w, AO_S(2));
    uint64_t last = submit(w, WORK());
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(submit(w, WORK(.coalesce = span_text("report"))), first);
    w->room[1] = 1;
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(10));
    expect_next(w, first);
    expect_next(w, last);
}

STORED_TEST(their_turns_outlive_a_stop)
{
    expect_order_after(w, jobs_world_restart);
    expect_order_of_wishes_after(w, jobs_world_restart);
}

STORED_TEST(what_ran_at_workers_is_no_crash_of_the_server)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    for (unsigned i = 0; i < 3; i++) {
        jobs_world_pass(w, AO_MS(5));
        atomic_store(&world_run_of(w, id)->run.mark->place, MARK_AT_WORKER);
        jobs_world_crash(w);
    }
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(world_run_of(w, id)->run.attempt, 4);
    assert_int_equal(world_job(w, id)->crashes, 0);
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->crashes, 1);
}
