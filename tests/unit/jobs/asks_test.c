/* Asks that wait, follow, list and check. */
#include <stdio.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static int open_world(void **state)
{
    static struct jobs_world w;
    jobs_world_init(&w);
    w.room[1] = 4;
    jobs_world_open(&w);
    *state = &w;
    return 0;
}

static uint64_t submit(struct jobs_world *w, const char *tenant)
{
    struct job_spec o = world_order("work");
    o.tenant = span_text(tenant);
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_settle(w);
    return id;
}

static struct operation *wait_for(struct jobs_world *w, uint64_t *ids, uint32_t count,
                                  ao_time timeout)
{
    struct operation *a = world_ask(w, &operation_wait);
    a->wait = (struct wait_arguments){.ids = ids, .count = count, .timeout = timeout};
    return a;
}

static struct operation *watch(struct jobs_world *w, uint64_t id, uint32_t from, ao_time timeout)
{
    struct operation *a = world_about(w, &operation_watch, id);
    a->watch.from = from;
    a->watch.timeout = timeout;
    return a;
}

static const char *answer(const struct jobs_world *w, const struct operation *a)
{
    static char text[8192];
    assert_true(world_answered(w, a));
    assert_int_equal(a->reply.error, ERGON_OK);
    return notation_show(operation_result(a), text, sizeof text);
}

static void is_silent_about(const char *told, const char *unwanted)
{
    if (strstr(told, unwanted))
        fail_msg("%s\nholds: %s", told, unwanted);
}

/* --- task.wait --- */

static void waits_until_all_have_ended(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[2] = {submit(w, ""), submit(w, "")};
    struct operation *a = wait_for(w, ids, 2, AO_S(60));
    a->wait.with_result = true;
    world_give(w, a);
    assert_false(world_answered(w, a));
    world_finish(world_run_of(w, ids[1]), "\x2a");
    jobs_world_settle(w);
    assert_false(world_answered(w, a));
    world_fail(world_run_of(w, ids[0]), "ODD", "not today");
    jobs_world_settle(w);
    stage_holds(answer(w, a), "'result': 42");
    stage_holds(answer(w, a), "'error': 'ODD: not today'");
    stage_holds(answer(w, a), "'open': []");
}

static void waits_for_the_first(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[2] = {submit(w, ""), submit(w, "")};
    struct operation *a = wait_for(w, ids, 2, AO_S(60));
    a->wait.any = true;
    world_give(w, a);
    world_finish(world_run_of(w, ids[1]), "\xc0");
    jobs_world_settle(w);
    stage_holds(answer(w, a), "'state': 'done'");
    is_silent_about(answer(w, a), "'open': []");
}

static void answers_when_its_time_is_over(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[1] = {submit(w, "")};
    struct operation *a = wait_for(w, ids, 1, AO_S(5));
    world_give(w, a);
    jobs_world_pass(w, AO_S(4));
    assert_false(world_answered(w, a));
    jobs_world_pass(w, AO_S(2));
    stage_holds(answer(w, a), "'ended': [], 'open': ['t");
}

static void names_the_task_that_it_does_not_know(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[2] = {submit(w, ""), 7};
    struct operation *a = wait_for(w, ids, 2, AO_S(5));
    world_give(w, a);
    assert_int_equal(a->reply.error, ERGON_E_NOT_FOUND);
    stage_holds(a->reply.text, "t0000000000007");
}

static void one_that_is_dropped_comes_back(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[1] = {submit(w, "")};
    struct operation *a = wait_for(w, ids, 1, AO_NEVER);
    world_give(w, a);
    channel_drop(w->channel, a);
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
    assert_int_equal(a->reply.error, ERGON_E_CANCELLED);
    world_finish(world_run_of(w, ids[0]), "\xc0");
    assert_int_equal(world_state(w, ids[0]), JOB_DONE);
}

/* --- task.call --- */

static void a_dropped_call_cancels_its_task(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    struct operation *a = world_ask(w, &operation_call);
    a->submission.specs = &o;
    a->submission.count = 1;
    world_give(w, a);
    assert_false(world_answered(w, a));
    assert_non_null(w->runs);
    uint64_t id = w->runs->run.id;
    channel_drop(w->channel, a);
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    a->submission.specs = NULL;
}

static void a_call_is_answered_with_the_result(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    struct operation *a = world_ask(w, &operation_call);
    a->submission.specs = &o;
    a->submission.count = 1;
    world_give(w, a);
    world_finish(w->runs, "\x2a");
    jobs_world_settle(w);
    assert_string_equal(answer(w, a), "42");
    a->submission.specs = NULL;
}

/* --- task.watch --- */

static void follows_a_history_from_where_it_was(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[1] = {submit(w, "")};
    struct operation *a = watch(w, ids[0], 1, AO_S(60));
    world_give(w, a);
    stage_holds(answer(w, a), "'event': 'submitted'");
    stage_holds(answer(w, a), "'event': 'started'");
    stage_holds(answer(w, a), "'next': 3, 'ended': false");
    a = watch(w, ids[0], 3, AO_S(60));
    world_give(w, a);
    assert_false(world_answered(w, a));
    world_finish(world_run_of(w, ids[0]), "\xc0");
    jobs_world_settle(w);
    stage_holds(answer(w, a), "'missed': 0, 'events': [{'seq': 3");
    stage_holds(answer(w, a), "'event': 'done'");
    stage_holds(answer(w, a), "'next': 4, 'ended': true");
}

static void waits_for_an_event_that_is_still_to_come(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    o.retries = 1;
    uint64_t ids[1] = {jobs_world_submit(w, &o)};
    jobs_world_settle(w);
    struct operation *a = watch(
        w, ids[0], 5, AO_S(60)); /* submitted, started, attempt_failed and delayed come before it */
    world_give(w, a);
    world_fail(world_run_of(w, ids[0]), "ODD", "not today");
    jobs_world_settle(w);
    assert_false(world_answered(w, a));
    jobs_world_pass(w, AO_S(2));
    stage_holds(answer(w, a), "'missed': 0, 'events': [{'seq': 5");
}

static void pushes_each_event_and_answers_at_the_end(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[1] = {submit(w, "")};
    struct operation *a = watch(w, ids[0], 0, AO_NEVER);
    a->watch.push = true;
    world_give(w, a);
    assert_false(world_answered(w, a));
    assert_int_equal(w->pushed, 2);
    world_finish(world_run_of(w, ids[0]), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(w->pushed, 3);
    stage_holds(answer(w, a), "'events': [], 'next': 4, 'ended': true");
}

/* --- task.list --- */

static void lists_the_newest_first_and_in_pages(void **state)
{
    struct jobs_world *w = *state;
    char id[ID_TEXT_SIZE], wanted[64];
    uint64_t ids[5];
    for (unsigned i = 0; i < 5; i++)
        ids[i] = submit(w, i % 2 ? "odd" : "even");
    struct operation *a = world_ask(w, &operation_list);
    a->list = (struct list_arguments){.state = -1, .max = 2};
    world_give(w, a);
    snprintf(wanted, sizeof wanted, "{'tasks': [{'id': '%s'", id_text(ids[4], id));
    stage_holds(answer(w, a), wanted);
    snprintf(wanted, sizeof wanted, "'next': '%s'", id_text(ids[3], id));
    stage_holds(answer(w, a), wanted);
    a = world_ask(w, &operation_list);
    a->list = (struct list_arguments){
        .state = -1, .max = 10, .cursor = ids[3], .tenant = span_text("even"), .has_tenant = true};
    world_give(w, a);
    snprintf(wanted, sizeof wanted, "{'tasks': [{'id': '%s'", id_text(ids[2], id));
    stage_holds(answer(w, a), wanted);
    is_silent_about(answer(w, a), "'odd'");
    stage_holds(answer(w, a), "'next': nil");
}

static void goes_on_behind_a_task_that_was_forgotten(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    char id[ID_TEXT_SIZE], wanted[64];
    o.keep = 0;
    uint64_t before = submit(w, ""), gone = jobs_world_submit(w, &o);
    submit(w, "");
    world_finish(world_run_of(w, gone), "\xc0");
    jobs_world_pass(w, AO_S(1));
    assert_null(world_entry(w, gone));
    for (unsigned newer = 0; newer < 3; newer++) {
        struct operation *a = world_ask(w, &operation_list);
        a->list = (struct list_arguments){.state = -1, .max = 10, .cursor = gone};
        world_give(w, a);
        snprintf(wanted, sizeof wanted, "{'tasks': [{'id': '%s'", id_text(before, id));
        stage_holds(answer(w, a), wanted);
        stage_holds(answer(w, a), "'next': nil");
        submit(w, "");
    }
    struct operation *a = world_ask(w, &operation_list);
    a->list = (struct list_arguments){.state = -1, .max = 10, .cursor = 1};
    world_give(w, a);
    assert_string_equal(answer(w, a), "{'tasks': [], 'next': nil}");
}

static void lists_by_state(void **state)
{
    struct jobs_world *w = *state;
    for (unsigned i = 0; i < 5; i++)
        submit(w, "");
    struct operation *a = world_ask(w, &operation_list);
    a->list = (struct list_arguments){.state = JOB_QUEUED, .max = 10};
    world_give(w, a);
    stage_holds(answer(w, a), "'state': 'queued'");
    is_silent_about(answer(w, a), "'state': 'assigned'");
}

/* --- queues, accounts --- */

static void a_queue_that_drains_takes_no_new_tasks(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    struct submitted out;
    char text[OPERATION_TEXT_MAX];
    struct operation *a = world_ask(w, &operation_queue_drain);
    a->named.name = span_text("work");
    world_give(w, a);
    stage_holds(answer(w, a), "'draining': true");
    assert_int_equal(world_submit(w, &o, &out, text, sizeof text), ERGON_E_DRAINING);
    a = world_ask(w, &operation_queue_resume);
    a->named.name = span_text("work");
    world_give(w, a);
    submit(w, "");
}

static void a_resumed_queue_goes_on_in_order(void **state)
{
    struct jobs_world *w = *state;
    struct operation *a = world_ask(w, &operation_queue_pause);
    w->room[1] = 1;
    a->named.name = span_text("work");
    world_give(w, a);
    uint64_t ids[3] = {submit(w, ""), submit(w, ""), submit(w, "")};
    a = world_ask(w, &operation_queue_resume);
    a->named.name = span_text("work");
    world_give(w, a);
    for (unsigned i = 0; i < 3; i++) {
        assert_non_null(w->runs);
        assert_true(w->runs->run.id == ids[i]);
        world_finish(w->runs, "\xc0");
        jobs_world_settle(w);
    }
}

static void accounts_balance(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[3] = {submit(w, ""), submit(w, ""), submit(w, "")};
    world_finish(world_run_of(w, ids[0]), "\xc0");
    world_fail(world_run_of(w, ids[1]), "ODD", "not today");
    struct operation *a = world_ask(w, &operation_audit);
    world_give(w, a);
    stage_holds(answer(w, a), "'balanced': true");
    stage_holds(answer(w, a),
                "'fleeting': {'submitted': 3, 'done': 1, 'failed': 1, 'cancelled': 0, "
                "'expired': 0, 'dead': 0, 'open': 1}");
    w->jobs->table.in_memory.submitted++;
    a = world_ask(w, &operation_audit);
    world_give(w, a);
    stage_holds(answer(w, a), "'balanced': false");
    stage_holds(answer(w, a), "tasks in memory: 4 submitted, but 2 ended and 1 open");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, jobs_stage_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(waits_until_all_have_ended),
        TEST(waits_for_the_first),
        TEST(answers_when_its_time_is_over),
        TEST(names_the_task_that_it_does_not_know),
        TEST(one_that_is_dropped_comes_back),
        TEST(a_dropped_call_cancels_its_task),
        TEST(a_call_is_answered_with_the_result),
        TEST(follows_a_history_from_where_it_was),
        TEST(waits_for_an_event_that_is_still_to_come),
        TEST(pushes_each_event_and_answers_at_the_end),
        TEST(lists_the_newest_first_and_in_pages),
        TEST(goes_on_behind_a_task_that_was_forgotten),
        TEST(lists_by_state),
        TEST(a_queue_that_drains_takes_no_new_tasks),
        TEST(a_resumed_queue_goes_on_in_order),
        TEST(accounts_balance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
