/* Who sees what is in a task: parameters, results, partial results. */
#include <stdio.h>
#include <stdlib.h>

#include "server/access/rights.h"
#include "server/jobs/verbs/view.h"
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
                                      .kind = NOTE_PARTIAL,
                                      .data = span_text("\x07")};
    w->source.noted(w->source.arg, &note);
    world_finish(run, "\x2a");
    jobs_world_settle(w);
    return id;
}

static const char *get(struct jobs_world *w, uint64_t id, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_get, methods);
    op->job = (struct job_arguments){.id = id, .parts = VIEW_RESULT | VIEW_HISTORY};
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
static const char looks[] = "task.get,task.wait,task.watch,task.list,task.explain,wor";

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
        op->job = (struct job_arguments){.id = id, .parts = VIEW_RESULT};
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
    struct blob *kept = jobs_event_batches(w->jobs)->batches[(id ^ 1) % EVENT_BATCHES].events;
    assert_ptr_equal(event_batches_get(w->jobs, job, 1, 0, &next), kept); /* what it was sent */
}

/* --- Parameters --- */

static uint64_t submit_with(struct jobs_world *w, struct span params)
{
    struct job_spec spec = world_spec("work");
    spec.tenant = span_text("ada");
    spec.params = params;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    return id;
}

static const char *get_parts(struct jobs_world *w, uint64_t id, unsigned parts, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_get, methods);
    op->job = (struct job_arguments){.id = id, .parts = parts};
    return shown(w, op);
}

static const char *explain(struct jobs_world *w, uint64_t id, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_explain, methods);
    op->job.id = id;
    return shown(w, op);
}

static const char *list(struct jobs_world *w, const char *contains, const char *methods)
{
    struct operation *op = operation_of(w, &operation_task_list, methods);
    op->list = (struct list_arguments){.filter.state = -1, .max = 100, .parts = VIEW_PARAMS_TEXT};
    op->list.contains.is.text = span_text(contains);
    return shown(w, op);
}

CONTENTS_TEST(parameters_are_shown_with_the_right_to_them)
{
    uint64_t id = submit(w);
    static const char text[] = "'params_size': 3, 'params_hidden': nil, 'params_text': '[\"p\"]'";
    static const char denied[] = "'params_size': 3, 'params_hidden': 'denied', 'params_text': nil";
    stage_holds(get_parts(w, id, VIEW_PARAMS_TEXT | VIEW_PARAMS, "*"), text);
    stage_holds(get_parts(w, id, VIEW_PARAMS, "task.*"), "'params_hidden': nil, 'params': ['p']}");
    stage_holds(explain(w, id, "*"), text);
    stage_holds(list(w, "", "*"), text);
    static const char *const methods[] = {looks, "task.get,task.list,task.explain,work"};
    for (unsigned i = 0; i < 2; i++) {
        stage_holds(get_parts(w, id, VIEW_PARAMS_TEXT | VIEW_PARAMS, methods[i]), denied);
        stage_holds(get_parts(w, id, VIEW_PARAMS, methods[i]), "'params': nil}");
        stage_holds(list(w, "", methods[i]), denied);
    }
    stage_holds(explain(w, id, methods[1]), denied);
    hides(get_parts(w, id, 0, "*"), "params");
}

CONTENTS_TEST(secret_parameters_are_shown_to_nobody)
{
    uint64_t id = submit(w);
    world_job(w, id)->queue->secret = true;
    static const char secret[] = "'params_size': 3, 'params_hidden': 'secret', 'params_text': nil";
    stage_holds(get_parts(w, id, VIEW_PARAMS_TEXT | VIEW_PARAMS, "*"), secret);
    stage_holds(get_parts(w, id, VIEW_PARAMS, "*"), "'params': nil}");
    stage_holds(explain(w, id, "*"), secret);
    stage_holds(list(w, "", "*"), secret);
    stage_holds(list(w, "p", "*"), "'tasks': []");
    stage_holds(get_parts(w, id, VIEW_RESULT, "*"), "'result': nil, 'cut': false}");
}

CONTENTS_TEST(a_worker_does_not_take_back_what_a_handler_of_the_server_says)
{
    static const struct ergon_handler hides = {
        .size = sizeof hides, .name = "work", .kind = ERGON_BLOCKING, .flags = ERGON_SECRET_PARAMS};
    struct method method = {.name = span_text("work"), .handler = &hides, .joined = true};
    const struct job_queue *q = world_job(w, submit(w))->queue;
    w->source.secret(w->source.arg, &method, true);
    w->source.secret(w->source.arg, &method, false);
    assert_true(q->secret);
    w->source.secret(w->source.arg, registry_find(w->registry, span_text("work")), false);
    assert_false(q->secret);
}

CONTENTS_TEST(long_parameters_come_whole_and_in_steps)
{
    enum { LENGTH = 3 << 20 };
    uint8_t *params = malloc(6 + LENGTH);
    assert_non_null(params);
    const uint8_t head[] = {0x91, 0xc6, 0x00, 0x30, 0x00, 0x00};
    memset(memcpy(params, head, sizeof head) + sizeof head, 'x', LENGTH);
    params[6 + LENGTH - 1] = 'y';
    uint64_t id = submit_with(w, span_of(params, 6 + LENGTH));
    struct operation *op = operation_of(w, &operation_task_get, "*");
    op->job = (struct job_arguments){.id = id, .parts = VIEW_PARAMS};
    w->jobs->work = 0;
    world_give(w, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    const struct pack *p = &op->reply.result;
    assert_int_equal(p->share_count, 1);
    assert_memory_equal(p->shares[0].blob->at, params, 6 + LENGTH);
    assert_int_equal(pack_part(p, 1).len, 0);
    stage_holds(get_parts(w, id, VIEW_PARAMS_TEXT, "*"), "\u2026' (3145728 bytes)]");
    free(params);
}

CONTENTS_TEST(one_who_gives_up_gets_no_long_parameters)
{
    enum { LENGTH = 3 << 20 };
    uint8_t *params = calloc(1, 6 + LENGTH);
    assert_non_null(params);
    memcpy(params, "\x91\xc6\x00\x30\x00\x00", 6);
    uint64_t id = submit_with(w, span_of(params, 6 + LENGTH));
    free(params);
    struct operation *op = operation_of(w, &operation_task_get, "*");
    op->job = (struct job_arguments){.id = id, .parts = VIEW_PARAMS};
    channel_give(w->channel, op);
    virtual_round(&w->v, w->loop);
    for (int i = 0; !op->begun; i++) {
        assert_true(i < 10);
        w->jobs->work = 0;
        virtual_round(&w->v, w->manager);
    }
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_null(world_job(w, id)->waits);
}

/* --- Options --- */

CONTENTS_TEST(options_are_those_that_differ_from_the_defaults)
{
    struct job_spec spec = world_spec("work");
    spec.tenant = span_text("ada");
    uint64_t plain = jobs_world_submit(w, &spec);
    stage_holds(get_parts(w, plain, VIEW_OPTIONS, "*"), "'options': {'durable': 'none'}}");
    spec.priority = 7;
    spec.timeout = AO_MS(1500);
    spec.deadline = AO_S(60);
    spec.retries = 3;
    spec.backoff = AO_MS(20);
    spec.backoff_jitter = 0;
    spec.keep_size = 5;
    spec.key = span_text("k");
    spec.limit_key = span_text("l");
    spec.limit = 4;
    spec.take = 2;
    spec.rate_key = span_text("r");
    spec.rate = 9;
    spec.rate_per = AO_S(1);
    spec.after_any = &plain;
    spec.after_any_count = 1;
    w->takes = AO_MS(2); /* a deadline is as it was given, however slow the clock */
    uint64_t id = jobs_world_submit(w, &spec);
    w->takes = 0;
    jobs_world_settle(w);
    const char *text = get_parts(w, id, VIEW_OPTIONS, "*");
    stage_holds(text, "'options': {'durable': 'none', 'priority': 7, 'timeout': 1500, "
                      "'deadline': 60000, 'retries': 3, 'backoff': 20, 'backoff_jitter': 0, "
                      "'keep_size': 5, 'key': 'k', "
                      "'limit': {'key': 'l', 'max': 4, 'take': 2}, "
                      "'rate': {'key': 'r', 'max': 9, 'per': 1000}, 'after_any': ['");
    hides(strstr(text, "options"), "tenant");
}

CONTENTS_TEST(a_tenant_is_an_option_unless_it_is_the_callers_own)
{
    uint64_t id = submit(w);
    struct operation *op = world_operation(w, &operation_task_get); /* the server's own */
    op->job = (struct job_arguments){.id = id, .parts = VIEW_OPTIONS};
    stage_holds(shown(w, op), "'options': {'durable': 'none', 'tenant': 'ada'}}");
}

/* --- Crons --- */

static const char *crons(struct jobs_world *w, const char *methods)
{
    struct operation *op = operation_of(w, &operation_cron_list, methods);
    return shown(w, op);
}

CONTENTS_TEST(parameters_of_a_cron_are_hidden_as_those_of_its_tasks)
{
    submit(w);
    struct operation *op = operation_of(w, &operation_cron_put, "*");
    op->cron = (struct cron_spec){.name = span_text("tick"),
                                  .schedule = span_text("every 1h"),
                                  .catch_up = CRON_CATCH_NONE,
                                  .task = world_spec("work")};
    op->cron.task.tenant = span_text("ada");
    op->cron.task.params = span_text("\x91\xa1p");
    shown(w, op);
    stage_holds(crons(w, "*"), "'params': ['p'], 'options'");
    stage_holds(crons(w, "cron.list"), "'params': nil, 'params_hidden': 'denied'");
    w->jobs->table.queues->secret = true;
    stage_holds(crons(w, "*"), "'params': nil, 'params_hidden': 'secret'");
}

/* --- Search --- */

CONTENTS_TEST(tasks_are_found_by_a_text_in_their_parameters)
{
    submit_with(w, span_text("\x92\xa8order-17\x0c"));
    submit_with(w, span_text("\x91\x81\xa5order\xa2no"));
    stage_holds(list(w, "order", "*"), "\"no\"");
    stage_holds(list(w, "order", "*"), "order-17");
    hides(list(w, "order-1", "*"), "\"no\"");
    stage_holds(list(w, "12", "*"), "order-17");
    stage_holds(list(w, "Order", "*"), "'tasks': [], 'next': nil");
    stage_holds(list(w, "order", looks), "'tasks': [], 'next': nil");
}

CONTENTS_TEST(a_search_goes_on_where_it_was_in_the_next_step)
{
    enum { ELEMENTS = 1 << 20 };
    uint8_t *params = malloc(5 + ELEMENTS + 2);
    assert_non_null(params);
    memcpy(params, "\xdd\x00\x10\x00\x01", 5);
    memset(params + 5, 0x01, ELEMENTS);
    memcpy(params + 5 + ELEMENTS, "\xa1z", 2);
    submit_with(w, span_text("\x91\xa1z"));
    submit_with(w, span_of(params, 5 + ELEMENTS + 2));
    free(params);
    struct operation *op = operation_of(w, &operation_task_list, "*");
    op->list = (struct list_arguments){.filter.state = -1, .max = 100};
    op->list.contains.is.text = span_text("z");
    channel_give(w->channel, op);
    virtual_round(&w->v, w->loop);
    unsigned steps = 0;
    for (; !world_answered(w, op); steps++) {
        uint32_t before = w->jobs->work;
        virtual_round(&w->v, w->manager);
        virtual_round(&w->v, w->loop);
        assert_true(w->jobs->work <= 2 * STEP_WORK || w->jobs->work < before);
        assert_true(steps < 1000);
    }
    assert_true(steps > 5);
    assert_int_equal(op->list.found, 2);
}

/* A page ends after so many visits that it looks at 40 MiB. */
CONTENTS_TEST(a_page_is_done_with_a_task_however_large_its_parameters)
{
    enum { LENGTH = 42 << 20 };
    uint8_t *params = malloc(6 + LENGTH);
    assert_non_null(params);
    const uint8_t head[] = {0x91, 0xc6, 0x02, 0xa0, 0x00, 0x00};
    memset(memcpy(params, head, sizeof head) + sizeof head, 'x', LENGTH);
    params[6 + LENGTH - 1] = 'z';
    submit_with(w, span_of(params, 6 + LENGTH));
    submit_with(w, span_text("\x90"));
    free(params);
    struct operation *op = operation_of(w, &operation_task_list, "*");
    op->list = (struct list_arguments){.filter.state = -1, .max = 100};
    op->list.contains.is.text = span_text("z");
    world_give(w, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->list.found, 1);
}
