/* What a task was wished to be, and how far it has come, is the same after a restart. */
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static bool same(struct span a, const char *b)
{
    return span_is(a, b);
}

static uint64_t submit_all(struct jobs_world *w, const uint64_t *first)
{
    return jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .key = span_text("order 7"),
                 .coalesce = span_text("report"), .limit_key = span_text("disk"), .limit = 3,
                 .rate_key = span_text("mail"), .rate = 4, .rate_per = AO_S(7), .delay = AO_S(30),
                 .deadline = AO_S(600), .timeout = AO_S(11), .retries = 5, .backoff = AO_S(2),
                 .backoff_max = AO_S(9), .backoff_jitter = 13, .priority = 8, .keep = AO_S(77),
                 .keep_size = 4321, .after = first, .after_count = 1));
}

static void expect_wishes(const struct job *job, uint64_t first)
{
    const struct job_more *more = job->more;
    assert_non_null(more);
    assert_true(same(more->key.name, "order 7"));
    assert_true(same(more->coalesce.name, "report"));
    assert_non_null(more->claim.line);
    assert_int_equal(more->limit_max, 3);
    assert_int_equal(more->rate, 4);
    assert_int_equal(more->rate_per, AO_S(7));
    assert_int_equal(job->timeout, AO_S(11));
    assert_int_equal(job->retries, 5);
    assert_int_equal(more->policy.backoff, AO_S(2));
    assert_int_equal(more->policy.backoff_max, AO_S(9));
    assert_int_equal(more->policy.backoff_jitter, 13);
    assert_int_equal(job->priority, 8);
    assert_int_equal(more->policy.keep, AO_S(77));
    assert_int_equal(more->policy.keep_size, 4321);
    assert_int_equal(more->after_count, 1);
    assert_int_equal(more->after_ids[0], first);
    assert_int_equal(job->durable, DURABLE_FSYNC);
}

STORED_TEST(every_wish_is_kept)
{
    uint64_t first = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(3000)));
    uint64_t id = submit_all(w, &first);
    jobs_world_pass(w, AO_S(1));
    expect_wishes(world_job(w, id), first);
    uint64_t created = world_job(w, id)->created;
    ao_time deadline = world_job(w, id)->deadline;
    jobs_world_crash(w);
    expect_wishes(world_job(w, id), first);
    assert_int_equal(world_job(w, id)->created, created);
    assert_int_equal(world_job(w, id)->deadline, deadline);
    jobs_world_restart(w);
    expect_wishes(world_job(w, id), first);
}

STORED_TEST(a_deadline_passes_as_if_nothing_had_been)
{
    uint64_t id = jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(300), .deadline = AO_S(20)));
    jobs_world_pass(w, AO_S(10));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(9));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
}

static struct operation *retry(struct jobs_world *w, uint64_t id)
{
    struct operation *op = world_about(w, &operation_task_retry, id);
    world_give(w, op);
    return op;
}

/* Answered, and the process dies: the deadline that has passed does not come back. */
STORED_TEST(one_that_expired_is_tried_again_without_its_deadline)
{
    for (unsigned how = 0; how < 2; how++) {
        uint64_t id = jobs_world_submit(
            w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(300), .deadline = AO_S(20)));
        jobs_world_pass(w, AO_S(30));
        assert_int_equal(world_state(w, id), JOB_EXPIRED);
        struct operation *op = retry(w, id);
        while (!world_answered(w, op))
            jobs_world_pass(w, AO_MS(1));
        (how == 0 ? jobs_world_crash : jobs_world_restart)(w);
        jobs_world_pass(w, AO_S(1));
        assert_int_equal(world_job(w, id)->deadline, AO_NEVER);
        world_finish(world_run_of(w, id), "\x2a");
        jobs_world_pass(w, AO_S(1));
        assert_int_equal(world_state(w, id), JOB_DONE);
    }
}

STORED_TEST(a_deadline_that_has_not_passed_stays_over_a_retry)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .deadline = AO_S(20)));
    jobs_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w); /* as an ended one it is read back */
    retry(w, id);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_true(world_job(w, id)->deadline < AO_S(30));
    jobs_world_pass(w, AO_S(20));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
}

/* Also where the server was stopped for longer than that, and after its clock was set back. */
STORED_TEST(an_ended_task_had_the_deadline_that_it_had)
{
    uint64_t id = jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(300), .deadline = AO_S(20)));
    uint64_t deadline = world_job(w, id)->deadline_at;
    jobs_world_pass(w, AO_S(30));
    assert_int_equal(world_state(w, id), JOB_EXPIRED);
    for (unsigned life = 0; life < 3; life++) {
        assert_int_equal(world_job(w, id)->deadline_at, deadline);
        jobs_world_pass(w, AO_S(30));
        jobs_world_crash(w);
        w->leap -= life == 1 ? (int64_t)AO_S(3) : 0;
    }
}

static uint64_t submit_with_deadline(struct jobs_world *w)
{
    return jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(300), .deadline = AO_S(20)));
}

static void expect_deadline(struct jobs_world *w, uint64_t id, uint64_t deadline)
{
    for (unsigned life = 0; life < 3; life++) {
        assert_int_equal(world_job(w, id)->deadline_at, deadline);
        jobs_world_pass(w, AO_S(1));
        assert_int_equal(world_state(w, id), JOB_EXPIRED);
        assert_int_equal(world_job(w, id)->deadline_at, deadline);
        jobs_world_crash(w);
    }
}

STORED_TEST(a_deadline_that_passed_while_nobody_ran_is_shown_as_it_was)
{
    uint64_t id = submit_with_deadline(w), deadline = world_job(w, id)->deadline_at;
    jobs_world_pass(w, AO_S(1));
    w->leap += (int64_t)AO_S(60);
    jobs_world_crash(w);
    expect_deadline(w, id, deadline);
}

STORED_TEST(a_deadline_that_the_clock_leapt_over_is_shown_as_it_was)
{
    uint64_t id = submit_with_deadline(w), deadline = world_job(w, id)->deadline_at;
    jobs_world_pass(w, AO_S(1));
    w->leap += (int64_t)AO_S(60);
    jobs_world_pass(w, AO_S(1));
    expect_deadline(w, id, deadline);
}

/* With what is left of it, in memory as in the file. */
STORED_TEST(a_deadline_is_set_back_with_the_clock)
{
    uint64_t id = submit_with_deadline(w), deadline = world_job(w, id)->deadline_at;
    uint64_t in_memory = jobs_world_submit(
        w, &WORK(.durable = DURABLE_NONE, .delay = AO_S(300), .deadline = AO_S(20)));
    uint64_t of_memory = world_job(w, in_memory)->deadline_at;
    jobs_world_pass(w, AO_S(1));
    w->leap -= (int64_t)AO_S(60);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_job(w, in_memory)->deadline_at, of_memory - AO_S(60));
    assert_int_equal(world_job(w, id)->deadline_at, deadline - AO_S(60));
    jobs_world_crash(w);
    assert_int_equal(world_job(w, id)->deadline_at, deadline - AO_S(60));
    jobs_world_pass(w, AO_S(17));
    assert_int_equal(world_state(w, id), JOB_DELAYED);
    jobs_world_pass(w, AO_S(2));
    expect_deadline(w, id, deadline - AO_S(60));
}

STORED_TEST(a_delay_goes_on)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(20)));
    jobs_world_pass(w, AO_S(10));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(9));
    assert_null(world_run_of(w, id));
    jobs_world_pass(w, AO_S(2));
    assert_non_null(world_run_of(w, id));
}

/* Without its count a task would be tried for ever by a server that is restarted often. */
STORED_TEST(failures_are_counted_on)
{
    uint64_t id = jobs_world_submit(
        w, &WORK(.durable = DURABLE_FSYNC, .retries = 2, .backoff = AO_S(5), .backoff_jitter = 0));
    for (uint32_t n = 1; n <= 3; n++) {
        jobs_world_pass(w, AO_S(30));
        assert_int_equal(world_job(w, id)->attempt, n);
        assert_int_equal(world_job(w, id)->failures, n - 1);
        world_fail(world_run_of(w, id), "ODD", "not today");
        jobs_world_pass(w, AO_S(1));
        jobs_world_crash(w);
    }
    assert_int_equal(world_state(w, id), JOB_DEAD);
    assert_int_equal(world_job(w, id)->failures, 3);
}

STORED_TEST(what_has_ended_is_kept_for_its_time)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .keep = AO_S(20)));
    jobs_world_pass(w, AO_S(1));
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(10));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(8));
    assert_non_null(world_job(w, id));
    assert_int_equal(world_job(w, id)->end->result->len, 1);
    assert_memory_equal(world_job(w, id)->end->result->at, "\x2a", 1);
    jobs_world_pass(w, AO_S(4));
    assert_null(world_job(w, id));
}

STORED_TEST(how_much_of_a_result_is_kept_is_not_forgotten)
{
    uint64_t id =
        jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .keep_size = 2, .delay = AO_S(5)));
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(5));
    world_finish(world_run_of(w, id), "\xa2hi");
    jobs_world_pass(w, AO_S(1));
    assert_true(world_job(w, id)->end->cut);
}

/* --- Numbers in force --- */

static void crash(struct jobs_world *w)
{
    jobs_world_crash(w);
}

static void restart(struct jobs_world *w)
{
    jobs_world_restart(w);
}

static void (*const deaths[])(struct jobs_world *w) = {crash, restart};

static uint64_t answered(struct jobs_world *w, struct job_spec spec)
{
    struct operation *op = world_operation(w, &operation_task_submit);
    op->submission.specs = &spec;
    op->submission.count = 1;
    world_give(w, op);
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_OK);
    return op->submission.outcomes[0].id;
}

static const struct limit *disk(struct jobs_world *w, uint64_t id)
{
    return world_job(w, id)->more->claim.line->limit;
}

static const struct rate *mail(struct jobs_world *w, uint64_t id)
{
    return world_job(w, id)->more->claim.line->rate;
}

#define NUMBERED(level, max, ...)                                                                  \
    WORK(.durable = DURABLE_##level, .limit_key = span_text("disk"), .limit = (max),               \
         .rate_key = span_text("mail"), .rate = 10 * (max), .rate_per = AO_S(max),                 \
         .delay = AO_S(100), __VA_ARGS__)

static void expect_numbers(struct jobs_world *w, uint64_t id, uint32_t max)
{
    assert_int_equal(disk(w, id)->max, max);
    assert_int_equal(mail(w, id)->of.max, 10 * max);
    assert_int_equal(mail(w, id)->of.per, AO_S(max));
}

/* The newest submission is kept in memory only, or is lost with the process. */
STORED_TEST(numbers_are_as_durable_as_the_most_durable_that_uses_them)
{
    static const uint8_t levels[] = {DURABLE_NONE, DURABLE_ASYNC, DURABLE_FSYNC};
    for (unsigned n = 0; n < 6; n++) {
        uint64_t id = answered(w, NUMBERED(FSYNC, 5));
        struct job_spec spec = NUMBERED(NONE, 2);
        spec.durable = levels[n % 3];
        answered(w, spec);
        deaths[n / 3](w);
        expect_numbers(w, id, 2);
        answered(w, NUMBERED(FSYNC, 3)); /* a row that was read back is written again */
        deaths[n / 3](w);
        expect_numbers(w, id, 3);
        jobs_world_pass(w, AO_S(100));
        while (w->runs) {
            world_finish(w->runs, "\x2a");
            jobs_world_pass(w, AO_MS(500));
        }
        jobs_world_pass(w, AO_S(3600 + 60));
        assert_int_equal(w->jobs->table.count, 0);
        jobs_world_pass(w, AO_S(10));
        assert_int_equal(w->store->rows.rate_count, 0);
        assert_null(limit_find(w->jobs->sched.limits,
                               table_tenant_find(&w->jobs->table, span_text("")),
                               span_text("disk")));
        stage_balances(w);
    }
}

/* The older task has the later time. */
STORED_TEST(numbers_that_came_behind_a_clock_that_was_set_back_count)
{
    for (unsigned how = 0; how < 2; how++) {
        uint64_t id = answered(w, NUMBERED(FSYNC, 5));
        w->leap -= (int64_t)AO_S(50);
        answered(w, NUMBERED(FSYNC, 1));
        deaths[how](w);
        expect_numbers(w, id, 1);
        jobs_world_pass(w, AO_S(200));
    }
}

/* Each row has a commit of its own, and the process dies at the answer. */
STORED_TEST(numbers_are_on_disk_before_the_task_that_changed_them)
{
    w->store->most = 1;
    for (unsigned back = 0; back < 2; back++) {
        uint64_t id = answered(w, NUMBERED(FSYNC, 5));
        answered(w, NUMBERED(FSYNC, 4)); /* there are rows */
        jobs_world_pass(w, AO_S(1));
        w->leap -= back * (int64_t)AO_S(50);
        answered(w, NUMBERED(FSYNC, 1));
        jobs_world_crash(w);
        expect_numbers(w, id, 1);
        jobs_world_pass(w, AO_S(200));
    }
}

STORED_TEST(numbers_outlive_the_task_that_named_them)
{
    for (unsigned how = 0; how < 2; how++) {
        uint64_t id = answered(w, NUMBERED(FSYNC, 5)),
                 newest = answered(w, NUMBERED(FSYNC, 1, .keep = 0));
        world_cancel(w, world_job(w, newest));
        jobs_world_pass(w, AO_S(3));
        assert_null(world_job(w, newest));
        deaths[how](w);
        expect_numbers(w, id, 1);
        world_cancel(w, world_job(w, id));
        jobs_world_pass(w, AO_S(3600));
    }
}

/* Nothing more is written than its own rows. */
STORED_TEST(numbers_that_stay_cost_no_write)
{
    answered(w, NUMBERED(FSYNC, 5));
    uint32_t before = w->store->operations;
    answered(w, NUMBERED(FSYNC, 5));
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(w->store->operations, before + 1);
    assert_int_equal(w->store->rows.rate_count, 0);
}

STORED_TEST(numbers_are_written_when_the_store_works_again)
{
    uint64_t id = answered(w, NUMBERED(FSYNC, 5));
    struct job_spec spec = NUMBERED(NONE, 2);
    struct operation *op = world_operation(w, &operation_task_submit);
    op->submission.specs = &spec;
    op->submission.count = 1;
    w->store->error = STORE_FULL;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE); /* whoever repeated it would have two */
    stage_holds(op->reply.text, "was submitted, but until the numbers");
    expect_numbers(w, id, 2);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    jobs_world_crash(w);
    expect_numbers(w, id, 2);
}

/* What may have been written is not answered as if it were not. */
STORED_TEST(numbers_that_may_be_written_are_unsure)
{
    answered(w, NUMBERED(FSYNC, 5));
    struct job_spec spec = NUMBERED(NONE, 2);
    struct operation *op = world_operation(w, &operation_task_submit);
    op->submission.specs = &spec;
    op->submission.count = 1;
    w->store->error = STORE_UNSURE;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
}

/* The store fails when the rows of tasks are on disk, and numbers of one are to follow. */
STORED_TEST(numbers_that_are_not_written_hide_no_other_task)
{
    char text[512];
    answered(w, NUMBERED(FSYNC, 5));
    struct job_spec specs[] = {WORK(.durable = DURABLE_FSYNC, .delay = AO_S(100)),
                               NUMBERED(NONE, 2)};
    struct operation *op = world_operation(w, &operation_task_submit_many);
    op->submission.specs = specs;
    op->submission.count = 2;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(1));
    assert_false(world_answered(w, op));
    w->store->error = STORE_FULL;
    jobs_world_pass(w, AO_MS(5));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    notation_show(operation_result(op), text, sizeof text);
    stage_holds(text, "'state': 'delayed', 'durable': 'fsync'");
    stage_holds(text, "{'error': 'UNSURE: task ");
}

STORED_TEST(a_stop_says_that_a_submission_was_made)
{
    answered(w, NUMBERED(FSYNC, 5));
    struct job_spec spec = NUMBERED(NONE, 2);
    struct operation *op = world_operation(w, &operation_task_submit);
    op->submission.specs = &spec;
    op->submission.count = 1;
    world_give(w, op);
    jobs_stop(w->jobs);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
}

STORED_TEST(a_submission_that_is_refused_changes_no_numbers)
{
    uint64_t id = answered(w, NUMBERED(FSYNC, 5)), unknown = id + 7;
    struct job_spec spec = NUMBERED(FSYNC, 1, .after = &unknown, .after_count = 1);
    struct submitted out;
    char text[JOB_TEXT_MAX];
    for (unsigned n = 0; n < 2; n++) {
        assert_int_equal(world_submit(w, &spec, &out, text, sizeof text), ERGON_E_NOT_FOUND);
        expect_numbers(w, id, 5);
        jobs_world_crash(w);
    }
}

/* Whichever allocation fails. */
STORED_TEST(a_submission_without_memory_changes_no_numbers)
{
    uint64_t id = answered(w, NUMBERED(FSYNC, 5));
    struct job_spec spec = NUMBERED(FSYNC, 1);
    struct submitted out;
    char text[JOB_TEXT_MAX];
    for (int64_t n = 1;; n++) {
        spec.method = n % 2 ? span_text("step") : span_text("work"); /* a line of its own */
        heap_fail_at(n);
        bool taken = world_submit(w, &spec, &out, text, sizeof text) == ERGON_OK;
        bool met = heap_failed();
        heap_fail_at(0);
        if (taken || !met)
            break;
        expect_numbers(w, id, 5);
    }
}

/* --- Histories --- */

static enum job_reason reason_told(struct jobs_world *w, uint64_t id, enum job_event what)
{
    struct history_event event;
    for (uint32_t seq = 2; history_get(world_job(w, id), seq, &event); seq = event.seq + 1)
        if (event.what == what)
            return (enum job_reason)event.reason;
    return JOB_REASON_COUNT;
}

STORED_TEST(a_history_says_for_what_a_task_waited)
{
    w->room[1] = 3;
    const struct job_spec limited =
        WORK(.durable = DURABLE_FSYNC, .limit_key = span_text("disk"), .limit = 1);
    uint64_t retried =
        jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .retries = 1, .backoff = AO_S(3000)));
    jobs_world_pass(w, AO_S(1));
    world_fail(world_run_of(w, retried), "ODD", "not today");
    jobs_world_pass(w, AO_S(1));
    jobs_world_submit(w, &limited);
    jobs_world_pass(w, AO_S(1));
    uint64_t second = jobs_world_submit(w, &limited);
    jobs_world_pass(w, AO_S(1));
    for (int life = 0; life < 3; life++) {
        assert_int_equal(reason_told(w, second, JOB_EVENT_WAITING), JOB_WHY_LIMIT);
        assert_int_equal(reason_told(w, retried, JOB_EVENT_DELAYED), JOB_WHY_RETRY);
        jobs_world_crash(w);
    }
}

/* The rows of an earlier version say nothing there; a retry writes the last of them again. */
STORED_TEST(a_history_of_an_earlier_version_is_written_again)
{
    uint64_t id =
        jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .retries = 1, .backoff = AO_S(1)));
    jobs_world_pass(w, AO_MS(100));
    world_again(world_run_of(w, id), AO_S(1));
    jobs_world_pass(w, AO_S(2));
    for (int n = 0; n < 2; n++) {
        world_fail(world_run_of(w, id), "ODD", "not today");
        jobs_world_pass(w, AO_S(10));
    }
    assert_int_equal(world_state(w, id), JOB_DEAD);
    for (uint32_t i = 0; i < w->store->rows.event_count; i++)
        w->store->rows.events[i].event.text.len = 0;
    jobs_world_crash(w);
    assert_int_equal(reason_told(w, id, JOB_EVENT_DELAYED), JOB_REASON_COUNT);
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_equal(reason_told(w, id, JOB_EVENT_DELAYED), JOB_REASON_COUNT);
}

/* --- Names --- */

static uint64_t shared(struct jobs_world *w)
{
    struct submitted out = {0};
    char text[200];
    enum ergon_error error =
        world_submit(w, &WORK(.durable = DURABLE_FSYNC, .coalesce = span_text("report")), &out,
                     text, sizeof text);
    assert_int_equal(error, ERGON_OK);
    jobs_world_pass(w, AO_S(1));
    return out.job->id;
}

STORED_TEST(who_comes_after_the_end_of_a_shared_run_gets_another)
{
    uint64_t first = shared(w);
    assert_int_equal(shared(w), first);
    jobs_world_crash(w);
    assert_int_equal(shared(w), first);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, first), JOB_DONE);
    assert_int_not_equal(shared(w), first);
}

/* --- Crons --- */

static const char all[] = "\x82\xa8"
                          "catch_up"
                          "\xa3"
                          "all"
                          "\xa7"
                          "overlap"
                          "\xa5"
                          "allow";
static const char skip[] = "\x80";

static void tick(struct jobs_world *w, uint8_t overlap, uint8_t catch_up)
{
    struct operation *op = world_operation(w, &operation_cron_put);
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("every 10s"),
                                  .overlap = overlap,
                                  .catch_up = catch_up,
                                  .options = span_text(catch_up == CRON_CATCH_ALL ? all : skip),
                                  .task = world_spec("work")};
    op->cron.task.durable = DURABLE_FSYNC;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static uint64_t submissions(const struct jobs_world *w)
{
    return w->jobs->table.count; /* none of them is forgotten so soon */
}

STORED_TEST(a_cron_that_skips_knows_what_it_has_begun)
{
    tick(w, CRON_SKIP, CRON_CATCH_NONE);
    jobs_world_pass(w, AO_S(12));
    assert_int_equal(submissions(w), 1);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(20));
    assert_int_equal(submissions(w), 1);
}

/* What came while the server was down; the world's clock goes on meanwhile. */
static uint64_t submissions_after_an_hour_down(struct jobs_world *w, uint8_t catch_up)
{
    tick(w, CRON_ALLOW, catch_up);
    jobs_world_pass(w, AO_S(12));
    w->v.now += AO_S(600);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(3));
    return submissions(w);
}

STORED_TEST(what_a_cron_missed_stays_missed)
{
    assert_in_range(submissions_after_an_hour_down(w, CRON_CATCH_NONE), 1, 3);
}

STORED_TEST(what_a_cron_missed_is_made_up_for)
{
    assert_in_range(submissions_after_an_hour_down(w, CRON_CATCH_ALL), 60, 63);
}
