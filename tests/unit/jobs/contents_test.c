/* Who sees what is in a task: parameters, results, partial results. */
#include <stdio.h>

#include "server/access/rights.h"
#include "server/jobs/verbs/watch.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

#define CONTENTS_TEST(name) JOBS_TEST(name, .room = 4)

/* Of a principal that may do this, in the tenant of all these tasks. */
static struct operation *operation_of(struct jobs_world *w, const struct operation_class *cls,
                                      const char *methods)
{
    struct operation *op = world_operation(w, cls);
    op->rights = rights_new(
        &(struct rights_options){.name = "token:ada", .tenant = "ada", .methods = methods});
    op->tenant = span_text("ada");
    return op;
}

static const char *shown(struct jobs_world *w, struct operation *op)
{
    static char text[16384];
    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

static uint64_t submit(struct jobs_world *w)
{
    struct job_spec spec = world_spec("work");
    spec.tenant = span_text("ada");
    spec.params = span_text("\x91\xa1p");
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    return id;
}

/* A task that has said 7, and has ended with 42. */
static uint64_t ended(struct jobs_world *w)
{
    uint64_t id = submit(w);
    struct world_run *run = world_run_of(w, id);
    const struct attempt_note note = {.owner = run->run.owner,
                                      .attempt = run->run.attempt,
                                      .partial = true,
                                      .data = span_text("\x07")};
    w->source.noted(w->source.arg, &note);
    world_finish(run, "\x2a");
    jobs_world_settle(w);
    return id;
}

static const char *get(struct jobs_world *w, uint64_t id, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_get, methods);
    op->job = (struct job_arguments){.id = id, .with_result = true, .with_history = true};
    return shown(w, op);
}

static const char *wait(struct jobs_world *w, uint64_t id, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_wait, methods);
    op->wait = (struct wait_arguments){.ids = &id, .count = 1, .with_result = true};
    return shown(w, op);
}

static const char *watch(struct jobs_world *w, uint64_t id, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_watch, methods);
    op->watch = (struct watch_arguments){.id = id, .max = 100};
    return shown(w, op);
}

static const char *const sees_results[] = {"*", "task.*", "task.get,task.wait,task.watch,work"};
enum { KINDS = sizeof sees_results / sizeof sees_results[0] };
static const char looks[] = "task.get,task.wait,task.watch,task.list,wor";

static void hides(const char *text, const char *kept)
{
    if (strstr(text, kept))
        fail_msg("%s\nholds: %s", text, kept);
}

CONTENTS_TEST(a_result_is_shown_to_those_who_may_see_it_or_could_have_submitted_it)
{
    uint64_t id = ended(w);
    for (unsigned i = 0; i < KINDS; i++) {
        stage_holds(get(w, id, sees_results[i]), "'result': 42, 'cut': false, 'history': ");
        stage_holds(get(w, id, sees_results[i]), "'data': 7}");
        stage_holds(wait(w, id, sees_results[i]), "'result': 42, 'cut': false}]");
        stage_holds(watch(w, id, sees_results[i]), "'data': 7}");
    }
    static const char hidden[] = "'result': nil, 'cut': false, 'result_hidden': true";
    stage_holds(get(w, id, looks), hidden);
    hides(get(w, id, looks), "'data': 7");
    stage_holds(wait(w, id, looks), hidden);
    stage_holds(watch(w, id, looks), "'event': 'partial'");
    hides(watch(w, id, looks), "'data': 7");
}

CONTENTS_TEST(a_listener_that_does_not_allow_it_hides_it)
{
    uint64_t id = ended(w);
    static const char *const allow[] = {"task.get", "task.get,task.params", "task.get,work"};
    for (unsigned i = 0; i < 3; i++) {
        struct operation *op = operation_of(w, &operation_task_get, "*");
        op->allow = allow[i];
        op->job = (struct job_arguments){.id = id, .with_result = true};
        stage_holds(shown(w, op), i == 0 ? "'result': nil" : "'result': 42");
    }
}

/* Batches are shared by those who see the same. */
CONTENTS_TEST(what_is_pushed_hides_it_as_well)
{
    uint64_t id = ended(w);
    struct job *job = world_job(w, id);
    static const uint8_t said[] = "\xa4"
                                  "data"
                                  "\x07";
    for (unsigned i = 0; i < 6; i++) {
        uint32_t next;
        bool sees = i % 2 == 0;
        struct blob *b = event_batches_get(w->jobs, job, 1, sees ? SEES_RESULTS : 0, &next);
        assert_int_equal(next, 5);
        bool found = memmem(b->at, b->len, said, sizeof said - 1) != NULL;
        assert_int_equal(found, sees);
    }
    struct operation *op = operation_of(w, &operation_task_watch, looks);
    op->watch = (struct watch_arguments){.id = id, .max = 100, .push = true, .timeout = AO_S(1)};
    world_give(w, op);
    assert_int_equal(w->pushed, 4);
    uint32_t next;
    struct blob *kept = jobs_batches(w->jobs)->batches[(id ^ 1) % EVENT_BATCHES].events;
    assert_ptr_equal(event_batches_get(w->jobs, job, 1, 0, &next), kept); /* what it was sent */
}
