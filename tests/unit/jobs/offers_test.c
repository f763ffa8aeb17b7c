/* Methods that workers offer: their tasks wait for a worker, and who names a method that nobody has
 * ever offered hears so. */
#include <stdio.h>

#include "server/tasks/actor_offer.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static const char left[] = "worker w1 at 10.0.0.7: connection reset";

static struct job_spec resize(void)
{
    return world_spec("resize");
}

static enum ergon_error refused(struct jobs_world *w, const char *method)
{
    struct submitted done;
    struct job_spec spec = world_spec(method);
    char text[JOB_TEXT_MAX];
    return world_submit(w, &spec, &done, text, sizeof text);
}

static uint64_t submit(struct jobs_world *w, uint8_t durable)
{
    struct job_spec spec = resize();
    spec.durable = durable;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    return id;
}

static const char *explain(struct jobs_world *w, uint64_t id)
{
    static char text[4096];
    struct operation *op = world_about(w, &operation_task_explain, id);
    world_give(w, op);
    return notation_show(operation_result(op), text, sizeof text);
}

static const char *ask_queue(struct jobs_world *w, const struct operation_class *cls)
{
    static char text[4096];
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("resize");
    world_give(w, op);
    return notation_show(operation_result(op), text, sizeof text);
}

/* --- Which are taken --- */

JOBS_TEST(what_nobody_ever_offered_is_no_method)
{
    assert_int_equal(refused(w, "resize"), ERGON_E_NO_METHOD);
    assert_int_equal(refused(w, "work"), ERGON_OK);
}

/* Interned, since a worker registers; and that one has gone before it was let in. */
JOBS_TEST(a_name_is_no_offer)
{
    struct method *m;
    assert_int_equal(registry_intern(w->registry, span_text("resize"), &m), ERGON_OK);
    assert_int_equal(refused(w, "resize"), ERGON_E_NO_METHOD);
}

JOBS_TEST(what_workers_offer_is_run)
{
    world_offer(w, "resize", true, "");
    uint64_t id = submit(w, DURABLE_NONE);
    assert_non_null(world_run_of(w, id));
    assert_int_equal(world_run_of(w, id)->run.method->pool->index, POOL_OF_WORKERS);
}

JOBS_TEST(what_they_offered_before_waits_for_the_next)
{
    world_offer(w, "resize", true, "");
    world_offer(w, "resize", false, left);
    uint64_t id = submit(w, DURABLE_NONE);
    assert_null(world_run_of(w, id));
    assert_int_equal(world_reason(w, id), JOB_WHY_NO_EXECUTOR);
    world_offer(w, "resize", true, "");
    assert_non_null(world_run_of(w, id));
}

static void expect(struct jobs_world *w, const char *patterns)
{
    w->options.worker_methods = w->jobs->options.worker_methods = patterns;
}

JOBS_TEST(what_is_expected_waits_for_the_first)
{
    expect(w, "img.*,resize");
    uint64_t id = submit(w, DURABLE_NONE);
    assert_int_equal(world_state(w, id), JOB_WAITING);
    assert_int_equal(world_reason(w, id), JOB_WHY_NO_EXECUTOR);
    assert_int_equal(refused(w, "img.crop"), ERGON_OK);
    assert_int_equal(refused(w, "crop"), ERGON_E_NO_METHOD);
    assert_int_equal(refused(w, "img. crop"), ERGON_E_NO_METHOD);
    world_offer(w, "resize", true, "");
    assert_non_null(world_run_of(w, id));
}

JOBS_TEST(names_of_strangers_take_so_many_queues)
{
    char name[32];
    expect(w, "img.*");
    for (unsigned i = 0; i < 2 * METHODS_OFFERED; i++) {
        snprintf(name, sizeof name, "img.%u", i);
        assert_non_null(table_queue(&w->jobs->table, span_text(name)));
    }
    assert_int_equal(refused(w, "img.more"), ERGON_E_BUSY);
    assert_int_equal(refused(w, "img.7"), ERGON_OK);
}

/* Of many queues, and more than a step takes of each. */
JOBS_TEST(all_that_was_held_goes_on, .room = 4)
{
    enum { TASKS = 700 };
    uint64_t ids[TASKS];
    const struct job_spec spec = resize();
    expect(w, "resize");
    w->quiet = true;
    w->room[POOL_OF_WORKERS] = TASKS;
    for (unsigned i = 0; i < TASKS; i++)
        ids[i] = jobs_world_submit(w, &spec);
    world_offer(w, "resize", true, "");
    for (unsigned i = 0; i < TASKS; i++)
        assert_non_null(world_run_of(w, ids[i]));
    for (unsigned i = 1; i < TASKS; i++) /* in their order */
        assert_true(w->runs && world_run_of(w, ids[i])->prev == world_run_of(w, ids[i - 1]));
}

/* Before there was a pool it stood in a line of none. */
JOBS_TEST(a_limit_holds_across_methods_that_came_before_and_after, .room = 4)
{
    struct job_spec before = resize(), after = world_spec("work");
    expect(w, "resize");
    w->room[POOL_OF_WORKERS] = 4;
    before.limit_key = after.limit_key = span_text("gpu");
    before.limit = after.limit = 1;
    uint64_t ids[] = {jobs_world_submit(w, &before), jobs_world_submit(w, &before)};
    jobs_world_settle(w);
    world_offer(w, "resize", true, "");
    assert_non_null(world_run_of(w, ids[0]));
    assert_int_equal(world_reason(w, ids[1]), JOB_WHY_LIMIT);
    uint64_t id = jobs_world_submit(w, &after);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_LIMIT);
    for (unsigned i = 0; i < 3; i++) { /* one after another */
        assert_true(w->runs && w->runs == w->runs_last);
        world_finish(w->runs, "\x01");
        jobs_world_settle(w);
    }
    assert_int_equal(world_state(w, ids[1]), JOB_DONE);
    assert_int_equal(world_state(w, id), JOB_DONE);
}

JOBS_TEST(a_pause_holds_though_workers_come)
{
    world_offer(w, "resize", true, "");
    world_offer(w, "resize", false, left);
    ask_queue(w, &operation_queue_pause);
    uint64_t id = submit(w, DURABLE_NONE);
    world_offer(w, "resize", true, "");
    assert_int_equal(world_reason(w, id), JOB_WHY_PAUSED);
    ask_queue(w, &operation_queue_resume);
    assert_non_null(world_run_of(w, id));
}

/* --- What is said --- */

JOBS_TEST(it_is_said_who_left_last_and_why)
{
    world_offer(w, "resize", true, "");
    world_offer(w, "resize", false, left);
    uint64_t id = submit(w, DURABLE_NONE);
    jobs_world_pass(w, AO_S(3) - AO_MS(5));
    const char *wanted =
        "'reason': 'no_executor', 'text': 'no worker offers \"resize\" now; the last "
        "one left 3.0 s ago: worker w1 at 10.0.0.7: connection reset',";
    stage_holds(explain(w, id), wanted);
    stage_holds(explain(w, id), "'worker': 'worker w1 at 10.0.0.7: connection reset'");
    stage_holds(ask_queue(w, &operation_queue_explain),
                "'reason': 'no_executor', 'text': 'no worker offers \"resize\" now; ");
}

JOBS_TEST(a_queue_of_workers_says_so)
{
    world_offer(w, "resize", true, "");
    stage_holds(ask_queue(w, &operation_queue_list), "'method': 'resize', 'kind': 'worker'");
}

JOBS_TEST(one_behind_full_workers_says_so)
{
    char id[ID_TEXT_SIZE], wanted[200];
    world_offer(w, "resize", true, "");
    id_text(submit(w, DURABLE_NONE), id);
    uint64_t behind = submit(w, DURABLE_NONE);
    snprintf(
        wanted, sizeof wanted,
        "'executors': [{'name': 'worker 1', 'running': 'resize', 'outstanding': 1, 'bound': 1, "
        "'parked': 0, 'turning': 0, 'tasks': ['%s']}]",
        id);
    stage_holds(explain(w, behind), wanted);
    stage_holds(
        explain(w, behind),
        "'reason': 'executors', 'text': 'it is the next of its tenant, and every worker has "
        "as many tasks as it takes'");
    stage_holds(ask_queue(w, &operation_queue_explain), wanted);
}

/* --- After a restart --- */

STORED_TEST(names_are_remembered)
{
    world_offer(w, "resize", true, "");
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    const struct method *m = registry_find(w->registry, span_text("resize"));
    assert_non_null(m); /* so a call of it hears that no worker is there */
    assert_true(method_of_workers(m));
    uint64_t id = submit(w, DURABLE_FSYNC);
    stage_holds(
        explain(w, id),
        "'text': 'workers offered \"resize\" once, and none has since the server started',");
    stage_holds(explain(w, id), "'left': nil, 'worker': nil");
    world_offer(w, "resize", true, "");
    assert_non_null(world_run_of(w, id));
}

/* A worker that comes and goes each second is no work for the disk. */
STORED_TEST(who_comes_and_goes_is_written_once_an_hour)
{
    world_offer(w, "resize", true, "");
    jobs_world_pass(w, AO_MS(5));
    uint32_t commits = w->store->commits;
    for (unsigned i = 0; i < 100; i++) {
        world_offer(w, "resize", false, left);
        world_offer(w, "resize", true, "");
        jobs_world_pass(w, AO_S(1));
    }
    assert_int_equal(w->store->commits, commits);
    jobs_world_pass(w, AO_S(3600));
    world_offer(w, "resize", false, left);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(w->store->commits, commits + 1);
}

STORED_TEST(names_that_nobody_offered_for_a_month_are_forgotten)
{
    world_offer(w, "resize", true, "");
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(w->store->rows.queue_count, 1);
    w->leap += (int64_t)AO_S(31 * 86400);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(5));
    assert_null(registry_find(w->registry, span_text("resize")));
    assert_int_equal(refused(w, "resize"), ERGON_E_NO_METHOD);
    assert_int_equal(w->store->rows.queue_count, 0);
}

STORED_TEST(a_pause_is_not_forgotten_with_the_offer)
{
    world_offer(w, "resize", true, "");
    ask_queue(w, &operation_queue_pause);
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    world_offer(w, "resize", true, "");
    uint64_t id = submit(w, DURABLE_NONE);
    assert_int_equal(world_reason(w, id), JOB_WHY_PAUSED);
    ask_queue(w, &operation_queue_resume);
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, id));
    jobs_world_crash(w);
    assert_non_null(registry_find(w->registry, span_text("resize")));
}

/* The file tells of them, whoever was to run them. */
STORED_TEST(more_are_taken_of_what_was_read_back)
{
    expect(w, "resize");
    uint64_t id = submit(w, DURABLE_FSYNC);
    expect(w, NULL);
    jobs_world_crash(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_NO_EXECUTOR);
    uint64_t more = submit(w, DURABLE_FSYNC);
    world_offer(w, "resize", true, "");
    assert_non_null(world_run_of(w, id));
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, more));
}

/* It ran in another process, which may well be alive. */
STORED_TEST(a_crash_of_the_server_is_not_counted)
{
    world_offer(w, "resize", true, "");
    uint64_t id = submit(w, DURABLE_FSYNC);
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(world_run_of(w, id)->run.attempt, i);
        jobs_world_crash(w);
        assert_int_equal(world_job(w, id)->crashes, 0);
        world_offer(w, "resize", true, "");
        jobs_world_pass(w, AO_MS(5));
    }
    assert_non_null(world_run_of(w, id));
}

/* Which they are is not its tenant's to know. */
JOBS_TEST(what_workers_run_for_others_is_not_named)
{
    struct job_spec spec = resize();
    world_offer(w, "resize", true, "");
    spec.tenant = span_text("other");
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(w->out[POOL_OF_WORKERS], 1);
    stage_holds(explain(w, submit(w, DURABLE_NONE)), "'turning': 0, 'tasks': []}]");
}

/* --- Types of actors that hosts offer in parts --- */

static void offer_part(struct jobs_world *w, const char *name, unsigned is)
{
    struct method *methods[1];
    assert_int_equal(registry_intern(w->registry, span_text(name), &methods[0]), ERGON_OK);
    method_set_actor(methods[0], ACTOR_METHOD | is);
    const struct actor_offer offer = {.type = span_text("tick"),
                                      .policy = {ACTOR_POLICY_DEFAULTS},
                                      .methods = methods,
                                      .count = 1};
    assert_true(w->source.typed(w->source.arg, &offer));
    world_offer(w, name, true, "");
    w->room[POOL_OF_WORKERS] = 4;
}

static uint64_t out(struct jobs_world *w, const char *method)
{
    for (struct job *job = w->jobs->table.first; job; job = job->all_next)
        if (world_run_of(w, job->id) && span_is(job->queue->name, method))
            return job->id;
    return 0;
}

static void finish(struct jobs_world *w, const char *method)
{
    assert_true(out(w, method) > 0);
    world_finish(world_run_of(w, out(w, method)), "\xc0");
    jobs_world_pass(w, AO_MS(5));
}

STORED_TEST(a_step_of_one_host_waits_for_it_after_a_restart)
{
    struct job_spec add = world_spec("tick.add");
    add.actor = span_text("tick/1");
    offer_part(w, "tick.step", ACTOR_STEP);
    offer_part(w, "tick.add", 0);
    jobs_world_submit(w, &add);
    jobs_world_pass(w, AO_MS(5));
    finish(w, "tick.add");
    uint64_t step = out(w, "tick.step");
    assert_true(step > 0);
    jobs_world_restart(w);
    offer_part(w, "tick.add", 0);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_reason(w, step), JOB_WHY_NO_EXECUTOR);
    jobs_world_submit(w, &add);
    jobs_world_pass(w, AO_MS(5));
    finish(w, "tick.add");
    offer_part(w, "tick.step", ACTOR_STEP);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(out(w, "tick.step"), step);
    finish(w, "tick.step");
    assert_int_equal(out(w, "tick.step"), step);
}
