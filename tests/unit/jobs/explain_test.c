/* task.explain gives the true reason: one test for each of JOB_REASONS, named explains_<reason>
 * (tests/lint/reasons_test.py sees to that). */
#include <stdio.h>

#include "proto/job_options.h"
#include "server/jobs/actors/actors.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

/* What task.explain says, in the notation of the tests. */
static const char *explain(struct jobs_world *w, uint64_t id)
{
    static char text[4096];
    struct operation *op = world_about(w, &operation_task_explain, id);

    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

static void gives(struct jobs_world *w, uint64_t id, const char *state, const char *reason)
{
    char pair[100];
    snprintf(pair, sizeof pair, "'state': '%s', 'reason': '%s'", state, reason);
    stage_holds(explain(w, id), pair);
}

static uint64_t submit(struct jobs_world *w, const struct job_spec *spec)
{
    uint64_t id = jobs_world_submit(w, spec);
    jobs_world_settle(w);
    return id;
}

static uint64_t submit_work(struct jobs_world *w)
{
    return submit(w, &WORK());
}

static struct operation *ask_of_queue(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_OK);
    return op;
}

JOBS_TEST(explains_turn)
{
    struct job_spec spec = WORK(.tenant = span_text("other"));
    submit_work(w);
    submit_work(w);
    submit(w, &spec);
    spec.tenant = span_text("");
    spec.priority = 9;
    submit(w, &spec);
    uint64_t id = submit_work(w);
    gives(w, id, "queued", "turn");
    stage_holds(explain(w, id), "'ahead': {'higher': 1, 'own': 1, 'others': 1");
}

JOBS_TEST(explains_executors)
{
    submit_work(w);
    uint64_t id = submit_work(w);
    gives(w, id, "queued", "executors");
    stage_holds(explain(w, id), "'name': 'blocking 1'");
}

/* Its module was there when it was submitted, and is not after the start. */
STORED_TEST(explains_no_executor)
{
    struct job_spec spec = WORK();
    struct method *method = registry_find(w->registry, spec.method);
    spec.durable = DURABLE_FSYNC;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    method->name = span_text("other");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(1));
    gives(w, id, "queued", "no_executor");
    stage_holds(explain(w, id), "'text': 'no module offers \"work\", and no worker has; load one "
                                "and start the server again, or let a worker register it'");
    struct operation *op = ask_of_queue(w, &operation_queue_explain);
    char text[4096];
    stage_holds(
        notation_show(operation_result(op), text, sizeof text),
        "'reason': 'no_executor', 'text': 'no module offers \"work\", and no worker has; load "
        "one and start the server again, or let a worker register it'");
    method->name = span_text("work");
}

JOBS_TEST(explains_paused)
{
    ask_of_queue(w, &operation_queue_pause);
    uint64_t id = submit_work(w);
    gives(w, id, "waiting", "paused");
    ask_of_queue(w, &operation_queue_resume);
    gives(w, id, "running", "running");
}

JOBS_TEST(explains_stopping)
{
    submit_work(w);
    uint64_t id = submit_work(w);
    w->source.stop(w->source.arg, false);
    gives(w, id, "queued", "stopping");
}

/* One is given up, and has not returned; the other has ended meanwhile. */
JOBS_TEST(a_late_attempt_of_an_ended_task_is_named, .room = 2)
{
    char name[ID_TEXT_SIZE];
    w->stubborn = true;
    uint64_t late =
        submit(w, &WORK(.limit_key = span_text("disk"), .limit = 1, .timeout = AO_S(1)));
    uint64_t id = submit(w, &WORK(.limit_key = span_text("disk"), .limit = 1));
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, late), JOB_FAILED);
    gives(w, id, "waiting", "limit");
    char wanted[64];
    snprintf(wanted, sizeof wanted, "'running': ['%s']", id_text(late, name));
    stage_holds(explain(w, id), wanted);
    world_finish(w->runs, "\x2a");
    jobs_world_settle(w);
    gives(w, id, "running", "running");
}

JOBS_TEST(explains_limit)
{
    struct job_spec spec = WORK(.limit_key = span_text("disk"), .limit = 2);
    w->room[1] = 5;
    submit(w, &spec);
    submit(w, &spec);
    uint64_t before = submit(w, &spec), id = submit(w, &spec);
    gives(w, before, "waiting", "limit");
    gives(w, id, "waiting", "limit");
    stage_holds(explain(w, id), "'key': 'disk', 'limit': 2, 'taken': 2, 'before': 1");
    stage_holds(explain(w, id), "'running': ['t");
}

JOBS_TEST(explains_rate)
{
    struct job_spec spec = WORK(.rate_key = span_text("mail"), .rate = 1, .rate_per = AO_S(60));
    w->room[1] = 5;
    submit(w, &spec);
    uint64_t id = submit(w, &spec);
    gives(w, id, "waiting", "rate");
    stage_holds(explain(w, id),
                "'key': 'mail', 'rate': 1, 'per': 60000, 'before': 0, 'refill': 16000000");
}

JOBS_TEST(explains_after)
{
    struct job_spec spec = world_spec("work");
    char text[ID_TEXT_SIZE], wanted[64];
    uint64_t first = submit_work(w);
    spec.after = &first;
    spec.after_count = 1;
    uint64_t id = submit(w, &spec);
    gives(w, id, "waiting", "after");
    snprintf(wanted, sizeof wanted, "'after': ['%s']", id_text(first, text));
    stage_holds(explain(w, id), wanted);
    snprintf(wanted, sizeof wanted, "task %s must be done first, and is", text);
    stage_holds(explain(w, id), wanted);
}

/* Both ran in two crashes; the third makes dead. */
/* At most sixteen, and those alone that the caller may know of. */
JOBS_TEST(who_waits_for_a_task_is_named)
{
    uint64_t first = submit_work(w);
    struct job_spec spec = WORK(.after = &first, .after_count = 1);
    char text[ID_TEXT_SIZE], wanted[64];
    spec.tenant = span_text("other");
    submit(w, &spec);
    assert_null(strstr(explain(w, first), "awaited_by"));
    spec.tenant = span_text("");
    uint64_t second = submit(w, &spec);
    snprintf(wanted, sizeof wanted, "'awaited_by': ['%s']", id_text(second, text));
    stage_holds(explain(w, first), wanted);
    for (unsigned n = 0; n < 30; n++)
        submit(w, &spec);
    const char *named = strstr(explain(w, first), "'awaited_by': ['");
    unsigned count = 0;
    for (const char *at = named; at < strchr(named, ']'); at++)
        count += *at == ',';
    assert_int_equal(count + 1, 16);
    world_finish(world_run_of(w, first), "\xc0");
    jobs_world_settle(w);
    assert_null(strstr(explain(w, first), "awaited_by"));
}

STORED_TEST(explains_suspect)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    char text[ID_TEXT_SIZE], wanted[64];
    w->room[1] = 2;
    uint64_t first = submit(w, &spec), id = submit(w, &spec);
    for (unsigned crash = 1; crash <= 2; crash++) {
        jobs_world_pass(w, AO_MS(5));
        jobs_world_crash(w);
    }
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, first));
    gives(w, id, "waiting", "suspect");
    stage_holds(explain(w, id), "it was running in 2 crashes of the server");
    snprintf(wanted, sizeof wanted, "'before': 0, 'running': '%s'", id_text(first, text));
    stage_holds(explain(w, id), wanted);
    snprintf(wanted, sizeof wanted, "and 0 wait before it; %s is running", id_text(first, text));
    stage_holds(explain(w, id), wanted);
}

/* It is said that another is out, and not which: who asks may see tasks of one tenant alone. */
STORED_TEST(a_suspect_names_no_task_of_another_tenant)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC, .tenant = span_text("one"));
    char text[ID_TEXT_SIZE];
    w->room[1] = 2;
    uint64_t first = submit(w, &spec);
    spec.tenant = span_text("other");
    uint64_t id = submit(w, &spec);
    for (unsigned crash = 1; crash <= 2; crash++) {
        jobs_world_pass(w, AO_MS(5));
        jobs_world_crash(w);
    }
    jobs_world_pass(w, AO_MS(5));
    if (!world_run_of(w, first)) {
        uint64_t other = first;
        first = id, id = other;
    }
    assert_non_null(world_run_of(w, first));
    gives(w, id, "waiting", "suspect");
    stage_holds(explain(w, id), "'running': nil");
    stage_holds(explain(w, id), "one that you may not see is running");
    assert_null(strstr(explain(w, id), id_text(first, text)));
}

JOBS_TEST(explains_delay)
{
    struct job_spec spec = WORK(.delay = AO_S(30));
    uint64_t id = submit(w, &spec);
    gives(w, id, "delayed", "delay");
    stage_holds(explain(w, id), "it is due in 30.0 s");
    spec.delay = AO_S(3600);
    stage_holds(explain(w, submit(w, &spec)), "it is due in 60 m");
    spec.delay = AO_S(3600 * 24 * 40);
    stage_holds(explain(w, submit(w, &spec)), "it is due in 40 d");
    stage_holds(explain(w, id), "'next': 16000000");
}

JOBS_TEST(explains_retry)
{
    uint64_t id = submit(w, &WORK(.retries = 3, .backoff_jitter = 0));
    world_fail(world_run_of(w, id), "ODD", "not today");
    gives(w, id, "delayed", "retry");
    stage_holds(explain(w, id), "'last_error': 'ODD: not today'");
    stage_holds(explain(w, id),
                "attempt 1 failed (ODD: not today); the next comes in 1.0 s, 3 of 3 retries");
    for (ao_time wait = AO_S(1); wait < AO_S(4); wait *= 2) {
        jobs_world_pass(w, wait);
        world_fail(world_run_of(w, id), "ODD", "not today");
        jobs_world_settle(w);
    }
    stage_holds(explain(w, id), "1 of 3 retries are left");
}

JOBS_TEST(explains_lost)
{
    uint64_t id = submit_work(w);
    for (unsigned i = 0; i < 2; i++) {
        world_lose(world_run_of(w, id), LOSS_IN_COMPANY, "worker w1 at 10.0.0.7: connection reset");
        jobs_world_settle(w);
    }
    gives(w, id, "delayed", "lost");
    stage_holds(explain(w, id),
                "'text': 'attempt 2 was lost with its worker (WORKER_LOST: worker w1 at 10.0.0.7: "
                "connection reset); the next comes in ");
    stage_holds(explain(w, id), " s; losses: 2 of 9'");
    stage_holds(explain(w, id), "'losses': 2");
}

JOBS_TEST(explains_again)
{
    uint64_t id = submit_work(w);
    world_again(world_run_of(w, id), AO_S(5));
    gives(w, id, "delayed", "again");
    stage_holds(explain(w, id), "that is in 5.0 s");
}

/* --- Messages --- */

/* To actors of the type "a", which workers run, one at a time; `more`: of enum actor_method. */
static struct job_spec message_of(struct jobs_world *w, const char *name, unsigned more)
{
    struct method *methods[1];
    struct actor_offer offer = {
        .type = span_text("a"), .policy = {ACTOR_POLICY_DEFAULTS}, .methods = methods, .count = 1};
    struct job_spec spec = world_spec(name);
    assert_int_equal(registry_intern(w->registry, span_text(name), &methods[0]), ERGON_OK);
    method_set_actor(methods[0], ACTOR_METHOD | more);
    assert_true(w->source.typed(w->source.arg, &offer));
    world_offer(w, name, true, "");
    spec.actor = span_text("a/1");
    return spec;
}

JOBS_TEST(explains_actor)
{
    struct job_spec spec = message_of(w, "a.do", 0);
    submit(w, &spec);
    submit(w, &spec);
    uint64_t id = submit(w, &spec);
    gives(w, id, "waiting", "actor");
    stage_holds(explain(w, id), "'actor': 'a/1', 'turn': '");
    stage_holds(explain(w, id), "'before': 1");
    stage_holds(explain(w, id), "and 1 messages come before it");
}

STORED_TEST(explains_loading)
{
    struct job_spec spec = message_of(w, "a.do", 0);
    struct actor_policy durable = {ACTOR_POLICY_DEFAULTS, .durable = DURABLE_FSYNC};
    struct actor_offer offer = {.type = span_text("a"), .policy = durable};
    assert_true(w->source.typed(w->source.arg, &offer));
    spec.durable = DURABLE_NONE;
    spec.said = 1u << JOB_OPTION_durable; /* so it does not wait for its own row */
    uint64_t id = submit(w, &spec);
    gives(w, id, "waiting", "loading");
    stage_holds(explain(w, id), "the state of \"a/1\" is being read");
    w->store->error = STORE_IO;
    jobs_world_pass(w, AO_MS(2));
    gives(w, id, "waiting", "loading");
    stage_holds(explain(w, id), "could not be read; it is tried again every second");
}

JOBS_TEST(explains_stopped)
{
    struct job_spec spec = message_of(w, "a.do", 0);
    struct operation *op = world_operation(w, &operation_actor_stop);
    w->room[POOL_OF_WORKERS] = 0;
    uint64_t id = submit(w, &spec);
    op->actor.name = spec.actor;
    op->actor.reason = span_text("sold out");
    world_give(w, op);
    gives(w, id, "waiting", "stopped");
    stage_holds(explain(w, id), "is stopped: sold out; actor.start lets it go on");
}

JOBS_TEST(explains_overrun)
{
    struct job_spec spec = message_of(w, "a.do", 0);
    w->stubborn = true;
    submit(w, &spec);
    jobs_world_pass(w, AO_S(40));
    uint64_t id = submit(w, &spec);
    gives(w, id, "waiting", "actor"); /* the first is tried again */
    uint64_t first = w->jobs->table.first->id;
    gives(w, first, "waiting", "overrun");
    stage_holds(explain(w, first), "holds its actor until it has returned");
}

JOBS_TEST(explains_sleep)
{
    struct job_spec spec = message_of(w, "a.step", ACTOR_STEP);
    spec = message_of(w, "a.do", 0);
    uint64_t id = submit(w, &spec);
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_settle(w);
    uint64_t step = w->jobs->table.last->id;
    assert_null(turn_sleep(world_run_of(w, step)->run.turn, AO_S(5)));
    world_finish(world_run_of(w, step), "\x01");
    gives(w, step, "delayed", "sleep");
    stage_holds(explain(w, step), "the next step of \"a/1\" is due in 5.0 s");
    jobs_world_pass(w, AO_S(5));
    assert_null(turn_sleep(world_run_of(w, step)->run.turn, AO_NEVER));
    world_finish(world_run_of(w, step), "\x01");
    stage_holds(explain(w, step), "sleeps until it is woken");
    stage_holds(explain(w, step), "'next': nil");
}

STORED_TEST(explains_commit)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    gives(w, id, "queued", "commit");
    stage_holds(explain(w, id), "its submission is being written to disk");
    jobs_world_pass(w, AO_MS(5));
    world_finish(world_run_of(w, id), "\x01");
    gives(w, id, "running", "commit");
    stage_holds(explain(w, id), "its end is being written to disk");
}

/* A power cut would forget the attempt, and raises the number by one only. */
STORED_TEST(explains_commit_of_the_last_attempt)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(5));
    world_again(world_run_of(w, id), 0);
    jobs_world_settle(w);
    gives(w, id, "queued", "commit");
    stage_holds(explain(w, id), "how its last attempt ended is being written to disk");
    jobs_world_pass(w, AO_MS(1));
    gives(w, id, "running", "running");
}

/* Not before its handler has begun. */
JOBS_TEST(an_attempt_is_shown_when_it_has_begun)
{
    char text[2048];
    w->holds = true;
    uint64_t id = submit_work(w);
    for (unsigned n = 0; n < 2; n++) {
        struct operation *op = world_about(w, &operation_task_get, id);
        world_give(w, op);
        stage_holds(notation_show(operation_result(op), text, sizeof text),
                    n == 0 ? "'attempt': 0" : "'attempt': 1");
        if (n == 0)
            world_begin(world_run_of(w, id));
    }
}

STORED_TEST(explains_store)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(1));
    w->store->error = STORE_FULL;
    world_again(world_run_of(w, id), 0);
    jobs_world_pass(w, AO_MS(2));
    gives(w, id, "queued", "store");
    stage_holds(explain(w, id), "make room");
}

JOBS_TEST(explains_assigned)
{
    w->holds = true;
    uint64_t id = submit(w, &WORK(.timeout = AO_S(10)));
    gives(w, id, "assigned", "assigned");
    stage_holds(explain(w, id), "'executor': 'blocking 1', 'attempt': 1, 'timeout': nil");
    world_begin(world_run_of(w, id));
    stage_holds(explain(w, id), "'executor': 'blocking 1', 'attempt': 1, 'timeout': 16000000");
}

JOBS_TEST(explains_running)
{
    uint64_t id = submit_work(w);
    gives(w, id, "running", "running");
}

JOBS_TEST(explains_parked)
{
    uint64_t id = submit_work(w);
    world_run_of(w, id)->stage = ATTEMPT_PARKED;
    gives(w, id, "parked", "parked");
}

JOBS_TEST(explains_ended)
{
    uint64_t id = submit_work(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    gives(w, id, "failed", "ended");
    stage_holds(explain(w, id), "it is failed after attempt 1: ODD: not today");
}

static struct operation *give_explain(struct jobs_world *w, uint64_t id, uint32_t line)
{
    struct operation *op = world_about(w, &operation_task_explain, id);
    op->turn_queue = line;
    channel_give(w->channel, op);
    return op;
}

/* Counting is work, which is bounded, and which whoever asks pays for with turns. */
JOBS_TEST(counts_no_further_than_it_may, .quiet = true)
{
    enum { MOST = 10000, ASKED = 20 };
    uint64_t last = 0, held = 0;
    w->room[1] = 2;
    for (unsigned i = 0; i < MOST + 10; i++)
        held = jobs_world_submit(w, &WORK(.limit_key = span_text("l"), .limit = 1));
    jobs_world_settle(w);
    gives(w, held, "waiting", "limit");
    stage_holds(explain(w, held), "at least 9998 wait before it");
    stage_holds(explain(w, held - MOST), "at least ");
    for (unsigned i = 0; i < MOST + 10; i++)
        last = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    for (unsigned i = 0; i < ASKED; i++)
        give_explain(w, last, 1);
    const struct operation *other = give_explain(w, last, 2);
    jobs_world_settle(w);
    assert_true(w->operations[w->answered - ASKED] == other ||
                w->operations[w->answered - ASKED - 1] == other);
    stage_holds(explain(w, last), "'own': 10000");
    stage_holds(explain(w, last), "at least 10000 of its own tenant");
}

/* The text of an end is the same for all who read it. */
static bool end_names(struct jobs_world *w, uint64_t id, uint64_t other)
{
    char name[ID_TEXT_SIZE];
    const struct job *job = world_job(w, id);

    assert_int_equal(job->state, JOB_FAILED);
    assert_string_equal(job->end->code, "AFTER");
    assert_non_null(strstr(job->end->text, "which had to be done first, failed"));
    return strstr(job->end->text, id_text(other, name)) != NULL;
}

/* One that comes after `first`, which fails. */
static uint64_t fails_after(struct jobs_world *w, uint64_t first, struct job_spec spec)
{
    spec.after = &first;
    spec.after_count = 1;
    uint64_t id = submit(w, &spec);
    world_fail(world_run_of(w, first), "ODD", "not today");
    jobs_world_settle(w);
    return id;
}

/* Both task.explain and task.get name it. */
static void expect_named(struct jobs_world *w, uint64_t id, uint64_t first)
{
    char text[ID_TEXT_SIZE], wanted[64];
    struct operation *op = world_about(w, &operation_task_get, id);
    snprintf(wanted, sizeof wanted, "'after_failed': '%s'", id_text(first, text));
    stage_holds(explain(w, id), wanted);
    world_give(w, op);
    stage_says(op, wanted);
}

JOBS_TEST(what_had_to_be_done_first_is_named_to_who_may_know_it)
{
    char text[4096];
    uint64_t first = submit_work(w), id = fails_after(w, first, WORK());
    assert_true(end_names(w, id, first));
    expect_named(w, id, first);

    first = submit(w, &WORK(.tenant = span_text("other")));
    id = fails_after(w, first, WORK());
    assert_false(end_names(w, id, first));
    stage_holds(explain(w, id), "'after_failed': nil");
    assert_null(strstr(explain(w, id), id_text(first, text)));
    struct operation *op = world_about(w, &operation_task_get, id);
    world_give(w, op);
    assert_null(strstr(notation_show(operation_result(op), text, sizeof text), "after_failed"));

    first = submit(w, &WORK(.key = span_text("secret"))); /* a role may have no right to it */
    id = fails_after(w, first, WORK());
    assert_false(end_names(w, id, first));
    expect_named(w, id, first);
}

/* Nor is it in why one that is there already cannot become durable. */
STORED_TEST(who_joins_hears_of_no_task_of_another_tenant)
{
    char text[ID_TEXT_SIZE];
    uint64_t first = submit(w, &WORK(.tenant = span_text("other")));
    struct job_spec spec = WORK(.coalesce = span_text("report"));
    spec.after = &first;
    spec.after_count = 1;
    submit(w, &spec);
    struct job_spec joins = WORK(.coalesce = span_text("report"), .durable = DURABLE_ASYNC);
    const struct operation *op = stage_call(w, &joins);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
    assert_non_null(strstr(op->reply.text, "since it waits for a task"));
    assert_null(strstr(op->reply.text, id_text(first, text)));
}

JOBS_TEST(an_unknown_task_is_not_found)
{
    struct operation *op = world_about(w, &operation_task_explain, 1);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
}

JOBS_TEST(a_queue_says_whether_it_flows)
{
    char text[2048];
    struct operation *op = ask_of_queue(w, &operation_queue_explain);
    stage_holds(notation_show(operation_result(op), text, sizeof text), "'reason': 'turn'");
    submit_work(w);
    op = ask_of_queue(w, &operation_queue_explain);
    stage_holds(notation_show(operation_result(op), text, sizeof text), "'reason': 'executors'");
    ask_of_queue(w, &operation_queue_pause);
    op = ask_of_queue(w, &operation_queue_explain);
    stage_holds(notation_show(operation_result(op), text, sizeof text), "'reason': 'paused'");
}
