/* What an operation was answered about is the same after the server's death: each deed is done and
 * answered, the server is killed or stopped right then, and all that clients may ask is compared;
 * and once more, of a server that has only read what the one before it read.
 *
 * tests/lint/state_test.py says which member of the state is changed by which deed. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"
#include "server/jobs/verbs/view.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

/* --- What may differ --- */

enum death { CRASH = 1, STOP = 2, EITHER = 3 };

/* The differences that each deed may have, and why. */
#define RUNS  "an_attempt_that_@(runs|told_its_progress)"
#define HOLDS "@(a_sem_acquire|a_sem_renew|a_sem_resume|one_at_its_limit)"
static const struct difference {
    const char *deed, *path;
    enum death after;
    const char *why;
} differences[] = {
    {"*", "queue.*/submitted", EITHER, "counted since the start"},
    {"*", "queue.*/done", EITHER, "counted since the start"},
    {"*", "queue.*/failed", EITHER, "counted since the start"},
    {"*", "*bytes", EITHER, "room that memory has, and history that is read when it is asked for"},
    {RUNS, "task.*/@(state|reason|text|attempt|crashes|executor|timeout|store)", EITHER,
     "its attempt was interrupted, and the next begins"},
    {RUNS, "task.get/0/history/[23]/*", EITHER, "likewise"},
    {RUNS, "task.get/0/attempts/0/@(ended|run_us|outcome)", EITHER, "likewise"},
    {RUNS, "task.get/0/attempts/0/error", CRASH, "likewise"},
    {RUNS, "queue.*", EITHER, "likewise"},
    {RUNS, "info/kept/states/*", EITHER, "likewise"},
    {"an_attempt_that_told_its_progress", "task.*/progress*", EITHER, "progress is in memory only"},
    {"an_event_set", "*", EITHER, "events are in memory only"},
    {HOLDS, "sem.explain/holders/0/connected", EITHER, "the connection is lost"},
    {HOLDS, "sem.explain/holders/0/grace_ms", EITHER, "and so its grace runs"},
    {"one_at_its_rate", "task.explain/1/refill", CRASH,
     "starts that were promised count as of the restart"},
    {"one_at_its_rate", "task.explain/1/text", CRASH, "likewise"},
    {"one_at_its_rate", "task.get/1/history/[23]/*", EITHER, "it is found there again"},
    {"one_at_its_limit", "task.get/1/history/[23]/*", EITHER, "likewise"},
    {"one_at_its_limit", "sem.explain/waiters/0/waited_ms", EITHER, "since the start"},
    {"an_offer_of_workers", "task.explain/0/@(left|worker|text)", EITHER, "since the start"},
    {"a_method_with_secrets", "task.explain/0/@(left|worker|text)", EITHER, "since the start"},
};

/* --- All that is said, as paths with their values --- */

struct said {
    char *path, *value;
    bool met;
};

struct sayings {
    struct said *at;
    size_t count;
};

static void add_line(struct sayings *l, const char *path, struct span value)
{
    char text[4096];
    l->at = realloc(l->at, (l->count + 1) * sizeof *l->at);
    assert_non_null(l->at);
    notation_show(value, text, sizeof text);
    l->at[l->count++] = (struct said){.path = strdup(path), .value = strdup(text)};
}

static void add_value(struct sayings *l, const char *path, struct reader *r)
{
    char below[512], key[200];
    uint32_t count;
    struct span value;
    if (read_array(r, &count)) {
        for (uint32_t i = 0; i < count; i++) {
            snprintf(below, sizeof below, "%s/%" PRIu32, path, i);
            add_value(l, below, r);
        }
    } else if (read_map(r, &count)) {
        for (uint32_t i = 0; i < count; i++) {
            assert_true(read_text(r, &value));
            snprintf(key, sizeof key, "%.*s", (int)value.len, (const char *)value.at);
            snprintf(below, sizeof below, "%s/%s", path, key);
            add_value(l, below, r);
        }
    } else {
        assert_true(read_any(r, &value));
        add_line(l, path, value);
    }
}

static void ask(struct jobs_world *w, struct sayings *l, const char *path, struct operation *op)
{
    uint8_t error[32];
    world_give(w, op);
    assert_true(world_answered(w, op));
    if (op->reply.error == ERGON_OK) {
        struct reader r = reader_of(operation_result(op));
        add_value(l, path, &r);
    } else {
        char text[32];
        snprintf(text, sizeof text, "'%s'", error_name(op->reply.error));
        add_line(l, path, span_of(error, notation_pack(text, error, sizeof error)));
    }
}

static void add_number(struct sayings *l, const char *path, uint64_t number)
{
    char text[32];
    uint8_t bytes[16];
    snprintf(text, sizeof text, "%" PRIu64, number);
    add_line(l, path, span_of(bytes, notation_pack(text, bytes, sizeof bytes)));
}

static void ask_of_tasks(struct jobs_world *w, struct sayings *l)
{
    char path[64];
    for (const struct job *job = w->jobs->table.first; job; job = job->all_next) {
        uint64_t id = job->id;
        struct operation *op = world_about(w, &operation_task_get, id);
        op->job.parts = VIEW_RESULT | VIEW_HISTORY | VIEW_ATTEMPTS;
        snprintf(path, sizeof path, "task.get/%" PRIu64, id - w->first_id);
        ask(w, l, path, op);
        snprintf(path, sizeof path, "task.explain/%" PRIu64, id - w->first_id);
        ask(w, l, path, world_about(w, &operation_task_explain, id));
    }
    struct operation *op = world_operation(w, &operation_task_list);
    op->list.filter.state = -1;
    op->list.max = 100;
    ask(w, l, "task.list", op);
}

static void ask_of_queues(struct jobs_world *w, struct sayings *l)
{
    struct operation *op = world_operation(w, &operation_queue_explain);
    op->named.name = span_text("work");
    ask(w, l, "queue.explain", op);
    ask(w, l, "queue.list", world_operation(w, &operation_queue_list));
    ask(w, l, "queue.tenants", world_operation(w, &operation_queue_tenants));
}

static void ask_of_semaphores(struct jobs_world *w, struct sayings *l)
{
    struct operation *op = world_operation(w, &operation_sem_explain);
    op->semaphore.name = span_text("disk");
    ask(w, l, "sem.explain", op);
    ask(w, l, "sem.list", world_operation(w, &operation_sem_list));
}

static void ask_of_batches(struct jobs_world *w, struct sayings *l)
{
    struct operation *op = world_operation(w, &operation_batch_list);
    op->batch.state = -1;
    op->batch.max = 100;
    ask(w, l, "batch.list", op);
    op = world_operation(w, &operation_batch_get);
    op->batch.id = w->first_id;
    ask(w, l, "batch.get", op);
}

/* As server.info packs them: `kept`, `shared`. */
static void ask_for_info(struct jobs_world *w, struct sayings *l)
{
    char path[64];
    struct jobs_info info;
    jobs_info(w->jobs, &info);
    add_number(l, "info/kept/held", info.tasks);
    add_number(l, "info/kept/bytes", info.bytes);
    add_number(l, "info/kept/ended_bytes", info.kept_bytes);
    for (unsigned i = 0; i < JOB_STATE_COUNT; i++) {
        snprintf(path, sizeof path, "info/kept/states/%s", job_state_names[i]);
        add_number(l, path, info.by_state[i]);
    }
    add_number(l, "info/shared/semaphores", info.semaphores);
    add_number(l, "info/shared/held", info.held);
    add_number(l, "info/shared/waiting", info.waiting);
    add_number(l, "info/shared/events", info.events);
    add_number(l, "info/batches", info.batches);
    add_number(l, "info/durable", info.durable);
}

static struct sayings all_that_is_said(struct jobs_world *w)
{
    struct sayings l = {0};
    ask_of_tasks(w, &l);
    ask_of_queues(w, &l);
    ask_of_semaphores(w, &l);
    ask_of_batches(w, &l);
    ask_for_info(w, &l);
    return l;
}

static void free_lines(struct sayings *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->at[i].path);
        free(l->at[i].value);
    }
    free(l->at);
}

/* --- Compared --- */

struct comparison {
    const char *deed;
    enum death death;
    unsigned unwanted;
    bool met[sizeof differences / sizeof differences[0]];
};

static void differs(struct comparison *c, const char *path, const char *before, const char *after)
{
    bool promised = false;
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        const struct difference *d = &differences[i];
        if (fnmatch(d->deed, c->deed, FNM_EXTMATCH) == 0 && (d->after & c->death) &&
            fnmatch(d->path, path, FNM_EXTMATCH) == 0)
            c->met[i] = promised = true;
    }
    if (promised)
        return;
    printf("%s, %s: %s was %s, is %s\n", c->deed, c->death == CRASH ? "crash" : "stop", path,
           before, after);
    c->unwanted++;
}

static struct said *line_of(const struct sayings *l, size_t guess, const char *path)
{
    for (size_t i = 0; i < l->count; i++) {
        struct said *line = &l->at[(guess + i) % l->count];
        if (strcmp(line->path, path) == 0)
            return line;
    }
    return NULL;
}

static void compare(struct comparison *c, const struct sayings *before, const struct sayings *after)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct said *was = &before->at[i];
        struct said *is = line_of(after, i, was->path);
        if (is)
            is->met = true;
        if (!is || strcmp(was->value, is->value) != 0)
            differs(c, was->path, was->value, is ? is->value : "gone");
    }
    for (size_t i = 0; i < after->count; i++)
        if (!after->at[i].met)
            differs(c, after->at[i].path, "not there", after->at[i].value);
}

/* A difference that is listed and does not come about is listed no more. */
static void expect_met(const struct comparison *c)
{
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        const struct difference *d = &differences[i];
        bool is_of_all = strcmp(d->deed, "*") == 0;
        if (!is_of_all && fnmatch(d->deed, c->deed, FNM_EXTMATCH) == 0 && (d->after & c->death) &&
            !c->met[i])
            fail_msg("%s: no difference at %s (%s)", c->deed, d->path, d->why);
    }
}

static void dies(struct jobs_world *w, struct comparison *c, struct sayings *before)
{
    (c->death == CRASH ? jobs_world_crash : jobs_world_restart)(w);
    struct sayings after = all_that_is_said(w);
    compare(c, before, &after);
    free_lines(before);
    *before = after;
}

static void outlives(struct jobs_world *w, const char *name, void (*deed)(struct jobs_world *w),
                     enum death death)
{
    struct comparison c = {.deed = name, .death = death};
    w->worker = (struct source_label){span_text("w7"), span_text("ann"), span_text("h"), {0}};
    w->store->most = 1; /* so what the answer did not wait for is lost */
    deed(w);
    w->holds = true; /* what may run again is given to an executor, and does not begin */
    jobs_world_settle(w);
    struct sayings before = all_that_is_said(w);
    dies(w, &c, &before);
    dies(w, &c, &before);
    free_lines(&before);
    assert_int_equal(c.unwanted, 0);
    expect_met(&c);
    stage_balances(w);
}

#define DEED(name)                                                                                 \
    static void name(struct jobs_world *w);                                                        \
    STORED_TEST(name##_outlives_a_crash)                                                           \
    {                                                                                              \
        outlives(w, #name, name, CRASH);                                                           \
    }                                                                                              \
    STORED_TEST(name##_outlives_a_stop)                                                            \
    {                                                                                              \
        outlives(w, #name, name, STOP);                                                            \
    }                                                                                              \
    static void name(struct jobs_world *w)

/* --- What deeds are made of --- */

/* Gives it, and stops time in the moment of its answer. */
static struct operation *give(struct jobs_world *w, struct operation *op)
{
    world_give(w, op);
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_US(100));
    if (op->reply.error != ERGON_OK)
        fail_msg("%s: %s", error_name(op->reply.error), op->reply.text);
    return op;
}

static uint64_t submit(struct jobs_world *w, struct job_spec spec)
{
    struct operation *op = world_operation(w, &operation_task_submit);
    op->submission.specs = &spec;
    op->submission.count = 1;
    return give(w, op)->submission.outcomes[0].id;
}

#define KEPT(...)    WORK(.durable = DURABLE_FSYNC, __VA_ARGS__)
#define DELAYED(...) KEPT(.delay = AO_S(60), __VA_ARGS__)

static void about(struct jobs_world *w, const struct operation_class *cls, uint64_t id)
{
    give(w, world_about(w, cls, id));
}

/* Its attempt returns, and what that means is on disk. */
static void later(struct jobs_world *w)
{
    jobs_world_pass(w, AO_MS(20));
}

static uint64_t running(struct jobs_world *w, struct job_spec spec)
{
    uint64_t id = submit(w, spec);
    later(w);
    assert_non_null(world_run_of(w, id));
    return id;
}

static uint64_t failed(struct jobs_world *w, struct job_spec spec)
{
    uint64_t id = running(w, spec);
    world_fail(world_run_of(w, id), "ODD", "not today");
    later(w);
    return id;
}

static uint64_t done(struct jobs_world *w, struct job_spec spec)
{
    uint64_t id = running(w, spec);
    world_finish(world_run_of(w, id), "\x2a");
    later(w);
    return id;
}

/* --- Submissions --- */

DEED(a_submission_that_waits)
{
    submit(w, DELAYED(.key = span_text("order 7"), .timeout = AO_S(11), .retries = 5,
                      .backoff = AO_S(2), .backoff_max = AO_S(9), .backoff_jitter = 13,
                      .priority = 8, .deadline = AO_S(600), .keep = AO_S(77), .keep_size = 4321,
                      .tenant = span_text("acme")));
}

DEED(a_submission_with_a_time)
{
    submit(w, KEPT(.at = AO_S(1600000000) + w->v.now + AO_S(100)));
}

DEED(a_submission_with_a_limit)
{
    submit(w, DELAYED(.limit_key = span_text("disk"), .limit = 3, .take = 2));
}

DEED(a_submission_with_other_numbers)
{
    submit(w, DELAYED(.limit_key = span_text("disk"), .limit = 3, .rate_key = span_text("mail"),
                      .rate = 9, .rate_per = AO_S(7)));
    uint64_t id =
        submit(w, DELAYED(.limit_key = span_text("disk"), .limit = 1, .rate_key = span_text("mail"),
                          .rate = 1, .rate_per = AO_S(70), .keep = 0));
    about(w, &operation_task_cancel, id);
    later(w);
    assert_null(world_job(w, id));
}

DEED(one_at_its_rate)
{
    done(w, KEPT(.rate_key = span_text("mail"), .rate = 1, .rate_per = AO_S(100)));
    uint64_t id = submit(w, KEPT(.rate_key = span_text("mail"), .rate = 1, .rate_per = AO_S(100)));
    later(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_RATE);
}

DEED(one_that_comes_after_others)
{
    uint64_t ids[2] = {submit(w, DELAYED()), submit(w, DELAYED())};
    submit(w, KEPT(.after = ids, .after_count = 1, .after_any = ids + 1, .after_any_count = 1));
}

DEED(one_that_failed_after_another)
{
    uint64_t first = submit(w, DELAYED());
    submit(w, KEPT(.after = &first, .after_count = 1));
    about(w, &operation_task_cancel, first);
    later(w);
}

DEED(one_with_a_trace)
{
    struct job_spec spec = DELAYED();
    struct span text = span_text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    assert_true(traceparent_parse(text, &spec.traceparent));
    submit(w, spec);
}

DEED(some_that_were_submitted_together)
{
    struct job_spec specs[3] = {DELAYED(.coalesce = span_text("report")),
                                KEPT(.coalesce = span_text("report")), DELAYED(.priority = 2)};
    struct operation *op = world_operation(w, &operation_task_submit_many);
    op->submission.specs = specs;
    op->submission.count = 3;
    give(w, op);
}

DEED(a_submission_that_joins)
{
    submit(w, DELAYED(.coalesce = span_text("report"), .durable = DURABLE_ASYNC));
    submit(w, KEPT(.coalesce = span_text("report"), .keep = AO_S(90000), .keep_size = 1 << 22));
}

DEED(a_submission_by_key_that_makes_durable)
{
    submit(w, DELAYED(.key = span_text("order 7"), .durable = DURABLE_NONE));
    submit(w, KEPT(.key = span_text("order 7"), .keep = AO_S(90000)));
}

/* The events of the task up to then are on disk, too. */
DEED(one_that_was_tried_in_memory_becomes_durable)
{
    uint64_t id = submit(w, WORK(.key = span_text("order 7"), .durable = DURABLE_NONE, .retries = 2,
                                 .backoff = AO_S(60)));
    later(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    later(w);
    submit(w, KEPT(.key = span_text("order 7")));
}

/* --- Wishes about tasks --- */

DEED(a_cancel)
{
    about(w, &operation_task_cancel, submit(w, DELAYED()));
}

DEED(a_cancel_of_a_share)
{
    uint64_t id = submit(w, DELAYED(.coalesce = span_text("report")));
    submit(w, KEPT(.coalesce = span_text("report")));
    about(w, &operation_task_cancel, id);
}

DEED(a_retry)
{
    uint64_t id = failed(w, KEPT());
    w->holds = true;
    about(w, &operation_task_retry, id);
}

DEED(a_retry_of_an_expired_one)
{
    uint64_t id = submit(w, KEPT(.delay = AO_S(300), .deadline = AO_S(20)));
    jobs_world_pass(w, AO_S(30));
    w->holds = true;
    about(w, &operation_task_retry, id);
}

DEED(a_retry_of_one_whose_predecessor_failed)
{
    uint64_t first = submit(w, DELAYED()), id = submit(w, KEPT(.after = &first, .after_count = 1));
    about(w, &operation_task_cancel, first);
    later(w);
    w->holds = true;
    about(w, &operation_task_retry, id);
}

DEED(a_change_of_priority_and_time)
{
    struct operation *op = world_operation(w, &operation_task_change);
    op->change.id = submit(w, DELAYED());
    op->change.change = (struct job_change){.priority = 9, .timed = true, .delay = AO_S(500)};
    give(w, op);
}

DEED(a_run_now)
{
    struct operation *op = world_operation(w, &operation_task_run_now);
    op->change.id = submit(w, DELAYED());
    w->holds = true;
    give(w, op);
}

DEED(a_forget)
{
    about(w, &operation_task_forget, done(w, KEPT()));
}

static void sweep(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->sweep.filter.state = -1;
    w->holds = true;
    give(w, op);
}

DEED(a_cancel_of_many)
{
    submit(w, DELAYED());
    submit(w, DELAYED());
    sweep(w, &operation_task_cancel_matching);
}

DEED(a_retry_of_many)
{
    failed(w, KEPT());
    failed(w, KEPT());
    w->room[1] = 2;
    sweep(w, &operation_task_retry_matching);
}

DEED(a_forget_of_many)
{
    failed(w, KEPT());
    done(w, KEPT());
    submit(w, DELAYED());
    sweep(w, &operation_task_forget_matching);
}

/* --- What becomes of attempts --- */

DEED(an_attempt_that_runs)
{
    running(w, KEPT());
}

DEED(an_attempt_that_told_its_progress)
{
    uint64_t id = running(w, KEPT());
    const struct attempt_note note = {.owner = world_run_of(w, id)->run.owner,
                                      .attempt = 1,
                                      .done = 3,
                                      .total = 7,
                                      .text = span_text("page 3")};
    w->source.noted(w->source.arg, &note);
    later(w);
}

DEED(a_checkpoint)
{
    uint64_t id = running(w, KEPT());
    const struct attempt_note note = {.owner = world_run_of(w, id)->run.owner,
                                      .attempt = 1,
                                      .kind = NOTE_CHECKPOINT,
                                      .data = span_text("\xa6page 3")};
    w->source.noted(w->source.arg, &note);
    world_fail(world_run_of(w, id), "ODD", "not today");
    later(w);
}

DEED(an_end)
{
    done(w, KEPT(.keep_size = 1));
}

DEED(an_end_that_is_cut)
{
    uint64_t id = running(w, KEPT(.keep_size = 1));
    world_finish(world_run_of(w, id), "\xa2hi");
    later(w);
}

DEED(a_failure_that_is_tried_again)
{
    failed(w, KEPT(.retries = 2, .backoff = AO_S(50), .backoff_jitter = 0));
}

DEED(an_end_of_the_second_attempt)
{
    uint64_t id = failed(w, KEPT(.retries = 1, .backoff = AO_S(1), .backoff_jitter = 0));
    jobs_world_pass(w, AO_S(2));
    world_finish(world_run_of(w, id), "\x2a");
    later(w);
}

DEED(a_failure_of_the_whole)
{
    failed(w, KEPT());
}

DEED(one_that_is_to_come_again)
{
    uint64_t id = running(w, KEPT());
    world_again(world_run_of(w, id), AO_S(100));
    later(w);
}

DEED(a_lost_worker)
{
    uint64_t id = running(w, KEPT());
    world_lose(world_run_of(w, id), LOSS_ALONE, "worker w17: connection reset");
    w->holds = true;
    later(w);
}

DEED(an_attempt_that_took_too_long)
{
    running(w, KEPT(.timeout = AO_MS(500)));
    jobs_world_pass(w, AO_MS(600));
}

DEED(a_deadline_that_passed)
{
    submit(w, KEPT(.delay = AO_S(300), .deadline = AO_S(20)));
    jobs_world_pass(w, AO_S(30));
}

/* --- Queues --- */

static void queue(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    give(w, op);
}

DEED(a_pause)
{
    queue(w, &operation_queue_pause);
    submit(w, KEPT());
}

DEED(a_drain)
{
    submit(w, DELAYED());
    queue(w, &operation_queue_drain);
}

DEED(a_method_with_secrets)
{
    world_offer(w, "print", true, "");
    w->source.secret(w->source.arg, registry_find(w->registry, span_text("print")), true);
    world_offer(w, "print", false, "worker w17: connection reset");
    later(w);
    struct job_spec spec = world_spec("print");
    spec.durable = DURABLE_FSYNC;
    submit(w, spec);
}

DEED(an_offer_of_workers)
{
    world_offer(w, "print", true, "");
    world_offer(w, "print", false, "worker w17: connection reset");
    later(w);
    struct job_spec spec = world_spec("print");
    spec.durable = DURABLE_FSYNC;
    submit(w, spec);
}

DEED(a_resume)
{
    queue(w, &operation_queue_pause);
    queue(w, &operation_queue_drain);
    queue(w, &operation_queue_resume);
}

/* --- Semaphores and events --- */

static struct operation *of_disk(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->semaphore.name = span_text("disk");
    op->semaphore.durable = SEMAPHORE_DURABLE;
    return op;
}

static void create(struct jobs_world *w, uint32_t permits)
{
    struct operation *op = of_disk(w, &operation_sem_create);
    op->semaphore.of = permits;
    give(w, op);
}

enum { CONNECTION = 7 };

static void open_connection(struct jobs_world *w)
{
    struct operation *op = world_operation(w, &operation_sem_holder);
    op->holder.by_conn.hash = CONNECTION;
    world_give(w, op);
}

static struct operation *acquire(struct jobs_world *w)
{
    struct operation *op = of_disk(w, &operation_sem_acquire);
    struct semaphore_arguments *a = &op->semaphore;
    a->conn = CONNECTION;
    a->permits = 2;
    a->wait = AO_S(8);
    a->grace = AO_S(10);
    a->ttl = AO_S(100);
    a->secret[0] = 1;
    return give(w, op);
}

static struct operation *held(struct jobs_world *w)
{
    create(w, 3);
    open_connection(w);
    return acquire(w);
}

static void of_held(struct jobs_world *w, const struct operation_class *cls)
{
    const struct operation *has = held(w);
    struct operation *op = of_disk(w, cls);
    jobs_world_pass(w, AO_S(3));
    memcpy(op->semaphore.secret, has->semaphore.secret, HOLD_SECRET);
    op->semaphore.conn = CONNECTION;
    give(w, op);
}

DEED(a_sem_create)
{
    create(w, 3);
}

DEED(a_sem_create_with_another_number)
{
    create(w, 3);
    create(w, 5);
}

DEED(a_sem_delete)
{
    create(w, 3);
    give(w, of_disk(w, &operation_sem_delete));
}

DEED(a_sem_acquire)
{
    held(w);
}

DEED(one_at_its_limit)
{
    held(w);
    uint64_t id = submit(w, KEPT(.limit_key = span_text("disk"), .limit = 3, .take = 2));
    later(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_LIMIT);
}

DEED(a_sem_release)
{
    of_held(w, &operation_sem_release);
}

DEED(a_sem_renew)
{
    of_held(w, &operation_sem_renew);
}

DEED(a_sem_resume)
{
    of_held(w, &operation_sem_resume);
}

DEED(a_sem_revoke)
{
    held(w);
    struct operation *op = of_disk(w, &operation_sem_revoke);
    const struct tenant *t = table_tenant_find(&w->jobs->table, span_text(""));
    op->semaphore.fence =
        limit_find(w->jobs->sched.limits, t, span_text("disk"))->semaphore->first->fence;
    give(w, op);
}

DEED(an_event_set)
{
    struct operation *op = world_operation(w, &operation_event_set);
    op->event.name = span_text("ready");
    op->event.value = span_text("\x2a");
    give(w, op);
}

/* --- Batches --- */

static uint64_t create_batch(struct jobs_world *w)
{
    static uint8_t call[64];
    struct operation *op = world_operation(w, &operation_batch_create);
    size_t len = notation_pack("['work', [1], {'delay': 60000}]", call, sizeof call);
    op->batch.calls[BATCH_ON_FAILURE] = op->batch.calls[BATCH_ON_END] = span_of(call, len);
    op->batch.durable = DURABLE_FSYNC;
    op->batch.keep = AO_S(600);
    give(w, op);
    return w->jobs->batches->last->by_id.hash;
}

static uint64_t add_to(struct jobs_world *w, uint64_t batch)
{
    struct job_spec spec = DELAYED(.batch = batch);
    struct operation *op = world_operation(w, &operation_batch_add);
    op->submission.specs = &spec;
    op->submission.count = 1;
    return give(w, op)->submission.outcomes[0].id;
}

static void of_batch(struct jobs_world *w, const struct operation_class *cls, uint64_t id)
{
    struct operation *op = world_operation(w, cls);
    op->batch.id = id;
    give(w, op);
}

DEED(a_batch_with_members)
{
    uint64_t id = create_batch(w);
    add_to(w, id);
    add_to(w, id);
}

DEED(a_batch_that_is_closed)
{
    uint64_t id = create_batch(w);
    add_to(w, id);
    of_batch(w, &operation_batch_close, id);
}

/* Its callbacks wait. */
DEED(a_batch_that_has_ended)
{
    of_batch(w, &operation_batch_close, create_batch(w));
    later(w);
}

DEED(a_batch_with_a_member_that_failed)
{
    uint64_t id = create_batch(w);
    add_to(w, id);
    about(w, &operation_task_cancel, add_to(w, id));
    later(w);
}

DEED(a_batch_that_is_cancelled)
{
    uint64_t id = create_batch(w);
    add_to(w, id);
    of_batch(w, &operation_batch_cancel, id);
    later(w);
}
