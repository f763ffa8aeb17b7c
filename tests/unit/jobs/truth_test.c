/* task.explain against the truth, for each reason to wait.  A case brings a task to where it waits,
 * in a world of which the test knows everything; explain has to say just that; then the cause goes,
 * and explain has to say what comes next, or the task begins.  A reason without a case fails. */
#include <stdio.h>
#include <stdlib.h>

#include "proto/job_options.h"
#include "server/jobs/actors/actors.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

/* --- What explain says --- */

static const char *explain(struct jobs_world *w, uint64_t id)
{
    static char text[4096];
    struct operation *op = world_about(w, &operation_task_explain, id);
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

/* The reason, in task.get too, and what belongs to it. */
static void says(struct jobs_world *w, uint64_t id, enum job_reason reason, const char *more)
{
    char wanted[64], got[4096];
    snprintf(wanted, sizeof wanted, "'reason': '%s'", job_reason_name(reason));
    stage_holds(explain(w, id), wanted);
    stage_holds(explain(w, id), more);
    if (reason == JOB_WHY_EXECUTORS || reason == JOB_WHY_STOPPING)
        return; /* which of all that are queued is the next, explain alone finds out */
    struct operation *op = world_about(w, &operation_task_get, id);
    world_give(w, op);
    stage_holds(notation_show(operation_result(op), got, sizeof got), wanted);
}

/* Its attempt is out, and explain says so. */
static void has_begun(struct jobs_world *w, uint64_t id)
{
    struct world_run *r = world_run_of(w, id);
    assert_non_null(r);
    r->stage = ATTEMPT_RUNNING;
    says(w, id, JOB_WHY_RUNNING, "'executor': '");
}

static void not_begun(struct jobs_world *w, uint64_t id)
{
    assert_null(world_run_of(w, id));
}

/* --- What happens --- */

static uint64_t submit(struct jobs_world *w, const struct job_spec *spec)
{
    uint64_t id = jobs_world_submit(w, spec);
    jobs_world_settle(w);
    return id;
}

/* What is written of it is written, and who waits for its place goes on. */
static void ends(struct jobs_world *w, uint64_t id)
{
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_settle(w);
}

static void ask_of_queue(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static const char *named(const char *format, uint64_t id)
{
    static char text[200];
    char name[ID_TEXT_SIZE];
    snprintf(text, sizeof text, format, id_text(id, name));
    return text;
}

/* --- A case for each reason --- */

/* Ahead of it stand one of a higher priority, one of its own tenant, and one of another, with which
 * it takes turns.  It is no next one while the higher one waits, though it leads its tenant. */
static void of_turn(struct jobs_world *w)
{
    w->room[1] = 1;
    uint64_t holder = submit(w, &WORK()), own = submit(w, &WORK());
    submit(w, &WORK(.tenant = span_text("other")));
    uint64_t higher = submit(w, &WORK(.priority = 9)), id = submit(w, &WORK());
    says(w, id, JOB_WHY_TURN, "'ahead': {'higher': 1, 'own': 1, 'others': 1, 'tenants': 2");
    world_cancel(w, world_job(w, own));
    says(w, id, JOB_WHY_TURN, "'ahead': {'higher': 1, 'own': 0, 'others': 1");
    ends(w, holder);
    has_begun(w, higher);
    says(w, id, JOB_WHY_EXECUTORS, "it is the next of its tenant");
}

static void of_executors(struct jobs_world *w)
{
    w->room[1] = 1;
    uint64_t holder = submit(w, &WORK()), id = submit(w, &WORK());
    says(w, id, JOB_WHY_EXECUTORS, "'name': 'blocking 1', 'running': nil, 'outstanding': 1");
    struct job_spec step = world_spec("step");
    has_begun(w, submit(w, &step)); /* those of the other kind are free */
    ends(w, holder);
    has_begun(w, id);
}

static void of_no_executor(struct jobs_world *w)
{
    struct method *method = registry_find(w->registry, span_text("work"));
    uint64_t id = submit(w, &WORK(.durable = DURABLE_FSYNC, .delay = AO_S(1)));
    jobs_world_pass(w, AO_MS(5));
    method->name = span_text("other");
    jobs_world_crash(w);
    says(w, id, JOB_WHY_DELAY, "it is due in");
    jobs_world_pass(w, AO_S(2));
    says(w, id, JOB_WHY_NO_EXECUTOR, "no module offers \"work\"");
    method->name = span_text("work");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(5));
    has_begun(w, id);
}

static void of_paused(struct jobs_world *w)
{
    ask_of_queue(w, &operation_queue_pause);
    uint64_t id = submit(w, &WORK());
    says(w, id, JOB_WHY_PAUSED, "the queue \"work\" is paused");
    ask_of_queue(w, &operation_queue_resume);
    has_begun(w, id);
}

static void of_stopping(struct jobs_world *w)
{
    w->room[1] = 1;
    uint64_t holder = submit(w, &WORK()), id = submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(5));
    says(w, id, JOB_WHY_EXECUTORS, "");
    w->source.stop(w->source.arg, false);
    says(w, id, JOB_WHY_STOPPING, "the server is shutting down");
    ends(w, holder);
    not_begun(w, id);
    says(w, id, JOB_WHY_STOPPING, "the server is shutting down");
    jobs_world_restart(w);
    jobs_world_pass(w, AO_MS(5));
    has_begun(w, id);
}

static void of_limit(struct jobs_world *w)
{
    const struct job_spec spec = WORK(.limit_key = span_text("disk"), .limit = 2);
    uint64_t first = submit(w, &spec), second = submit(w, &spec);
    uint64_t before = submit(w, &spec), id = submit(w, &spec);
    says(w, id, JOB_WHY_LIMIT, "'key': 'disk', 'limit': 2, 'taken': 2, 'before': 1");
    char name[ID_TEXT_SIZE];
    stage_holds(explain(w, id), id_text(first, name));
    stage_holds(explain(w, id), id_text(second, name));
    ends(w, first);
    has_begun(w, before);
    says(w, id, JOB_WHY_LIMIT, "'limit': 2, 'taken': 2, 'before': 0");
    ends(w, second);
    has_begun(w, id);
}

/* A limit and a rate: while the place is waited for no token is kept, so another has it; and the
 * reason follows that of the two that holds the task now. */
static void of_both(struct jobs_world *w)
{
    struct job_spec spec = WORK(.limit_key = span_text("disk"), .limit = 1), rated;
    uint64_t holder = submit(w, &spec);
    spec.rate_key = span_text("mail");
    spec.rate = 1;
    spec.rate_per = AO_S(60);
    rated = spec;
    rated.limit_key = (struct span){0};
    uint64_t id = submit(w, &spec);
    says(w, id, JOB_WHY_LIMIT, "'key': 'disk', 'limit': 1, 'taken': 1, 'before': 0");
    uint64_t other = submit(w, &rated);
    jobs_world_pass(w, AO_MS(5));
    has_begun(w, other);
    ends(w, holder);
    says(w, id, JOB_WHY_RATE, "'key': 'mail', 'rate': 1, 'per': 60000, 'before': 0");
    stage_holds(explain(w, id), "1 of at most 1 starts of rate");
    jobs_world_pass(w, AO_S(60) - AO_MS(6));
    not_begun(w, id);
    says(w, id, JOB_WHY_RATE, "");
    jobs_world_pass(w, AO_MS(20));
    has_begun(w, id);
}

static uint64_t number_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoull(at + strlen(name), NULL, 10);
}

static uint64_t wall_ms(struct jobs_world *w)
{
    return table_wall(&w->jobs->table) / AO_MS(1);
}

/* The time that is told is the time at which it begins. */
static void begins_at(struct jobs_world *w, uint64_t id, const char *name, enum job_reason reason)
{
    uint64_t at = number_behind(explain(w, id), name);
    assert_true(at > wall_ms(w));
    while (wall_ms(w) < at) {
        not_begun(w, id);
        says(w, id, reason, "");
        uint64_t left = at - wall_ms(w);
        jobs_world_pass(w, left > 50 ? AO_MS(left / 2) : AO_MS(1));
    }
    jobs_world_pass(w, AO_MS(10));
    has_begun(w, id);
}

static void of_rate(struct jobs_world *w)
{
    const struct job_spec spec =
        WORK(.rate_key = span_text("mail"), .rate = 2, .rate_per = AO_S(60));
    submit(w, &spec);
    jobs_world_pass(w, AO_S(20));
    submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    uint64_t before = submit(w, &spec), id = submit(w, &spec);
    says(w, id, JOB_WHY_RATE, "'key': 'mail', 'rate': 2, 'per': 60000, 'before': 1");
    begins_at(w, before, "'refill': ", JOB_WHY_RATE);
    says(w, id, JOB_WHY_RATE, "'before': 0");
    begins_at(w, id, "'refill': ", JOB_WHY_RATE);
}

static void of_after(struct jobs_world *w)
{
    uint64_t first[2] = {submit(w, &WORK()), submit(w, &WORK())};
    uint64_t id = submit(w, &WORK(.after = first, .after_count = 2));
    says(w, id, JOB_WHY_AFTER, "2 tasks must be done first");
    ends(w, first[0]);
    says(w, id, JOB_WHY_AFTER, named("task %s must be done first", first[1]));
    stage_holds(explain(w, id), named("'after': ['%s']", first[1]));
    ends(w, first[1]);
    has_begun(w, id);
}

static void of_suspect(struct jobs_world *w)
{
    const struct job_spec spec = WORK(.durable = DURABLE_FSYNC);
    uint64_t first = submit(w, &spec), id = submit(w, &spec);
    for (unsigned crash = 1; crash <= 2; crash++) {
        jobs_world_pass(w, AO_MS(5));
        has_begun(w, id);
        jobs_world_crash(w);
    }
    jobs_world_pass(w, AO_MS(5));
    has_begun(w, first);
    says(w, id, JOB_WHY_SUSPECT, named("'before': 0, 'running': '%s'", first));
    stage_holds(explain(w, id), "it was running in 2 crashes");
    ends(w, first);
    jobs_world_pass(w, AO_MS(5));
    has_begun(w, id);
}

static void of_delay(struct jobs_world *w)
{
    uint64_t id = submit(w, &WORK(.delay = AO_S(30)));
    says(w, id, JOB_WHY_DELAY, "it is due in 30.0 s");
    begins_at(w, id, "'next': ", JOB_WHY_DELAY);
}

static void of_retry(struct jobs_world *w)
{
    uint64_t id = submit(w, &WORK(.retries = 2, .backoff = AO_S(4), .backoff_jitter = 0));
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    says(w, id, JOB_WHY_RETRY, "'last_error': 'ODD: not today'");
    stage_holds(explain(w, id), "the next comes in 4.0 s, 2 of 2 retries are left");
    begins_at(w, id, "'next': ", JOB_WHY_RETRY);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    stage_holds(explain(w, id), "the next comes in 8.0 s, 1 of 2 retries are left");
}

static void of_again(struct jobs_world *w)
{
    uint64_t id = submit(w, &WORK());
    world_again(world_run_of(w, id), AO_S(5));
    jobs_world_settle(w);
    says(w, id, JOB_WHY_AGAIN, "its handler asked to be run again; that is in 5.0 s");
    begins_at(w, id, "'next': ", JOB_WHY_AGAIN);
}

static void of_lost(struct jobs_world *w)
{
    uint64_t id = submit(w, &WORK());
    for (unsigned i = 0; i < 2; i++) {
        world_lose(world_run_of(w, id), LOSS_ALONE, "worker w1 at 10.0.0.7: killed");
        jobs_world_settle(w);
    }
    says(w, id, JOB_WHY_LOST, "'last_error': 'WORKER_LOST: worker w1 at 10.0.0.7: killed'");
    stage_holds(explain(w, id), "losses: 4 of 9");
    begins_at(w, id, "'next': ", JOB_WHY_LOST);
}

static void of_commit(struct jobs_world *w)
{
    w->store->latency = AO_MS(100);
    uint64_t id = submit(w, &WORK(.durable = DURABLE_FSYNC));
    says(w, id, JOB_WHY_COMMIT, "its submission is being written to disk");
    jobs_world_pass(w, AO_MS(99));
    says(w, id, JOB_WHY_COMMIT, "its submission is being written to disk");
    jobs_world_pass(w, AO_MS(400));
    has_begun(w, id);
    ends(w, id);
    says(w, id, JOB_WHY_COMMIT, "its end is being written to disk");
    jobs_world_pass(w, AO_MS(200));
    says(w, id, JOB_WHY_ENDED, "it is done after attempt 1");
}

static void of_store(struct jobs_world *w)
{
    uint64_t id = submit(w, &WORK(.durable = DURABLE_FSYNC));
    jobs_world_pass(w, AO_MS(10));
    has_begun(w, id);
    w->store->error = STORE_FULL;
    ends(w, id);
    jobs_world_pass(w, AO_MS(10));
    says(w, id, JOB_WHY_STORE, store_error_text(STORE_FULL));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    says(w, id, JOB_WHY_ENDED, "it is done after attempt 1");
}

/* It stands in an executor's queue; its handler runs; it waits for something; it has returned. */
static void of_attempt(struct jobs_world *w)
{
    uint64_t id = submit(w, &WORK());
    world_run_of(w, id)->stage = ATTEMPT_ASSIGNED;
    if (world_state(w, id) == JOB_ASSIGNED) /* as the board of what runs has it */
        says(w, id, JOB_WHY_ASSIGNED, "attempt 1 is at blocking 1");
    world_run_of(w, id)->stage = ATTEMPT_RUNNING;
    says(w, id, JOB_WHY_RUNNING, "attempt 1 is at blocking 1: its handler runs");
    world_run_of(w, id)->stage = ATTEMPT_PARKED;
    says(w, id, JOB_WHY_PARKED, "its handler waits for something");
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    says(w, id, JOB_WHY_ENDED, "it is failed after attempt 1: ODD: not today");
}

/* To the actor "a/1", whose methods workers run; `more`: of enum actor_method. */
static struct job_spec message_of(struct jobs_world *w, const char *name, unsigned more)
{
    struct method *methods[1];
    struct actor_offer offer = {.type = span_text("a"),
                                .policy = {ACTOR_POLICY_DEFAULTS, .durable = DURABLE_NONE},
                                .methods = methods,
                                .count = 1};
    struct job_spec spec = world_spec(name);
    assert_int_equal(registry_intern(w->registry, span_text(name), &methods[0]), ERGON_OK);
    method_set_actor(methods[0], ACTOR_METHOD | more);
    assert_true(w->source.typed(w->source.arg, &offer));
    world_offer(w, name, true, "");
    spec.actor = span_text("a/1");
    return spec;
}

/* One message runs, the next waits for it; its attempt is late; the actor is stopped, and started.
 */
static void of_mailbox(struct jobs_world *w)
{
    struct job_spec spec = message_of(w, "a.do", 0);
    struct operation *op = world_operation(w, &operation_actor_stop);
    w->stubborn = true;
    uint64_t first = submit(w, &spec), id = submit(w, &spec);
    struct world_run *late = world_run_of(w, first);
    says(w, id, JOB_WHY_ACTOR, "and 0 messages come before it");
    jobs_world_pass(w, AO_S(40));
    says(w, first, JOB_WHY_OVERRUN, "holds its actor until it has returned");
    op->actor.name = spec.actor;
    world_give(w, op);
    world_finish(late, "\xc0");
    jobs_world_settle(w);
    says(w, first, JOB_WHY_STOPPED, "is stopped: by actor.stop");
    op = world_operation(w, &operation_actor_start);
    op->actor.name = spec.actor;
    world_give(w, op);
    says(w, first, JOB_WHY_RUNNING, "its handler runs");
}

static void of_loading(struct jobs_world *w)
{
    struct job_spec spec = message_of(w, "a.do", 0);
    struct actor_policy durable = {ACTOR_POLICY_DEFAULTS, .durable = DURABLE_FSYNC};
    struct actor_offer offer = {.type = span_text("a"), .policy = durable};
    assert_true(w->source.typed(w->source.arg, &offer));
    spec.said = 1u << JOB_OPTION_durable; /* so it does not wait for its own row */
    uint64_t id = submit(w, &spec);
    says(w, id, JOB_WHY_LOADING, "is being read");
    w->store->error = STORE_IO;
    jobs_world_pass(w, AO_MS(10));
    says(w, id, JOB_WHY_LOADING, "could not be read");
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    says(w, id, JOB_WHY_RUNNING, "its handler runs");
}

static void of_sleep(struct jobs_world *w)
{
    struct job_spec spec = message_of(w, "a.step", ACTOR_STEP);
    spec = message_of(w, "a.do", 0);
    world_finish(world_run_of(w, submit(w, &spec)), "\x01");
    jobs_world_settle(w);
    uint64_t step = w->jobs->table.last->id;
    assert_null(turn_sleep(world_run_of(w, step)->run.turn, AO_S(5)));
    world_finish(world_run_of(w, step), "\x01");
    jobs_world_settle(w);
    says(w, step, JOB_WHY_SLEEP, "is due in 5.0 s");
    begins_at(w, step, "'next': ", JOB_WHY_SLEEP);
}

static void (*const cases[JOB_REASON_COUNT])(struct jobs_world *w) = {
    [JOB_WHY_TURN] = of_turn,
    [JOB_WHY_EXECUTORS] = of_executors,
    [JOB_WHY_NO_EXECUTOR] = of_no_executor,
    [JOB_WHY_PAUSED] = of_paused,
    [JOB_WHY_STOPPING] = of_stopping,
    [JOB_WHY_LIMIT] = of_limit,
    [JOB_WHY_RATE] = of_rate,
    [JOB_WHY_AFTER] = of_after,
    [JOB_WHY_ACTOR] = of_mailbox,
    [JOB_WHY_LOADING] = of_loading,
    [JOB_WHY_STOPPED] = of_mailbox,
    [JOB_WHY_OVERRUN] = of_mailbox,
    [JOB_WHY_SLEEP] = of_sleep,
    [JOB_WHY_SUSPECT] = of_suspect,
    [JOB_WHY_DELAY] = of_delay,
    [JOB_WHY_RETRY] = of_retry,
    [JOB_WHY_AGAIN] = of_again,
    [JOB_WHY_LOST] = of_lost,
    [JOB_WHY_COMMIT] = of_commit,
    [JOB_WHY_STORE] = of_store,
    [JOB_WHY_ASSIGNED] = of_attempt,
    [JOB_WHY_RUNNING] = of_attempt,
    [JOB_WHY_PARKED] = of_attempt,
    [JOB_WHY_ENDED] = of_attempt,
};

static void in_a_world(void (*run)(struct jobs_world *w))
{
    struct jobs_stage stage = {.stored = true, .quiet = true, .room = 5};
    void *state = &stage;
    jobs_stage_open(&state);
    run(state);
    jobs_stage_close(&state);
}

TEST(explain_says_the_truth_for_each_reason)
{
    for (unsigned reason = 0; reason < JOB_REASON_COUNT; reason++) {
        if (!cases[reason])
            fail_msg("the reason %s has no case", job_reason_name((enum job_reason)reason));
        print_message("%s\n", job_reason_name((enum job_reason)reason));
        in_a_world(cases[reason]);
    }
}

TEST(the_reason_follows_what_holds_it_now)
{
    in_a_world(of_both);
}
