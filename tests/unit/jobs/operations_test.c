/* Operations that wait, follow, list and check. */
#include <stdio.h>

#include "proto/reader.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/effects.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static uint64_t submit(struct jobs_world *w, const char *tenant)
{
    uint64_t id = jobs_world_submit(w, &WORK(.tenant = span_text(tenant)));
    jobs_world_settle(w);
    return id;
}

static struct operation *wait_for(struct jobs_world *w, uint64_t *ids, uint32_t count,
                                  ao_time timeout)
{
    struct operation *op = world_operation(w, &operation_task_wait);
    op->wait = (struct wait_arguments){.ids = ids, .count = count, .timeout = timeout};
    return op;
}

static struct operation *watch(struct jobs_world *w, uint64_t id, uint32_t from, ao_time timeout)
{
    struct operation *op = world_about(w, &operation_task_watch, id);
    op->watch.from = from;
    op->watch.timeout = timeout;
    return op;
}

static const char *answer(const struct jobs_world *w, const struct operation *op)
{
    static char text[8192];
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

static void is_silent_about(const char *text, const char *unwanted)
{
    if (strstr(text, unwanted))
        fail_msg("%s\nholds: %s", text, unwanted);
}

#define OPERATIONS_TEST(name) JOBS_TEST(name, .room = 4)

/* --- task.wait --- */

OPERATIONS_TEST(waits_until_all_have_ended)
{
    uint64_t ids[2] = {submit(w, ""), submit(w, "")};
    struct operation *op = wait_for(w, ids, 2, AO_S(60));
    op->wait.with_result = true;
    world_give(w, op);
    assert_false(world_answered(w, op));
    world_finish(world_run_of(w, ids[1]), "\x2a");
    jobs_world_settle(w);
    assert_false(world_answered(w, op));
    world_fail(world_run_of(w, ids[0]), "ODD", "not today");
    jobs_world_settle(w);
    stage_holds(answer(w, op), "'result': 42");
    stage_holds(answer(w, op), "'error': 'ODD: not today'");
    stage_holds(answer(w, op), "'open': []");
}

OPERATIONS_TEST(waits_for_the_first)
{
    uint64_t ids[2] = {submit(w, ""), submit(w, "")};
    struct operation *op = wait_for(w, ids, 2, AO_S(60));
    op->wait.any = true;
    world_give(w, op);
    world_finish(world_run_of(w, ids[1]), "\xc0");
    jobs_world_settle(w);
    stage_holds(answer(w, op), "'state': 'done'");
    is_silent_about(answer(w, op), "'open': []");
}

OPERATIONS_TEST(answers_when_its_time_is_over)
{
    uint64_t ids[1] = {submit(w, "")};
    struct operation *op = wait_for(w, ids, 1, AO_S(5));
    world_give(w, op);
    jobs_world_pass(w, AO_S(4));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_S(2));
    stage_holds(answer(w, op), "'ended': [], 'open': ['t");
}

OPERATIONS_TEST(names_the_task_that_it_does_not_know)
{
    uint64_t ids[2] = {submit(w, ""), 7};
    struct operation *op = wait_for(w, ids, 2, AO_S(5));
    world_give(w, op);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
    stage_holds(op->reply.text, "t0000000000007");
}

OPERATIONS_TEST(one_that_is_dropped_comes_back)
{
    uint64_t ids[1] = {submit(w, "")};
    struct operation *op = wait_for(w, ids, 1, AO_NEVER);
    world_give(w, op);
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_E_CANCELLED);
    world_finish(world_run_of(w, ids[0]), "\xc0");
    assert_int_equal(world_state(w, ids[0]), JOB_DONE);
}

/* --- task.call --- */

OPERATIONS_TEST(a_dropped_call_cancels_its_task)
{
    struct operation *op = stage_call(w, &WORK());
    assert_false(world_answered(w, op));
    assert_non_null(w->runs);
    uint64_t id = w->runs->run.id;
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    op->submission.specs = NULL;
}

OPERATIONS_TEST(a_call_is_answered_with_the_result)
{
    struct operation *op = stage_call(w, &WORK());
    world_finish(w->runs, "\x2a");
    jobs_world_settle(w);
    assert_string_equal(answer(w, op), "42");
    op->submission.specs = NULL;
}

/* --- task.watch --- */

OPERATIONS_TEST(follows_a_history_from_where_it_was)
{
    uint64_t ids[1] = {submit(w, "")};
    struct operation *op = watch(w, ids[0], 1, AO_S(60));
    world_give(w, op);
    stage_holds(answer(w, op), "'event': 'submitted'");
    stage_holds(answer(w, op), "'event': 'started'");
    stage_holds(answer(w, op), "'next': 3, 'ended': false");
    op = watch(w, ids[0], 3, AO_S(60));
    world_give(w, op);
    assert_false(world_answered(w, op));
    world_finish(world_run_of(w, ids[0]), "\xc0");
    jobs_world_settle(w);
    stage_holds(answer(w, op), "'missed': 0, 'events': [{'seq': 3");
    stage_holds(answer(w, op), "'event': 'done'");
    stage_holds(answer(w, op), "'next': 4, 'ended': true");
}

OPERATIONS_TEST(waits_for_an_event_that_is_still_to_come)
{
    uint64_t ids[1] = {jobs_world_submit(w, &WORK(.retries = 1))};
    jobs_world_settle(w);
    struct operation *op = watch(
        w, ids[0], 5, AO_S(60)); /* submitted, started, attempt_failed and delayed come before it */
    world_give(w, op);
    world_fail(world_run_of(w, ids[0]), "ODD", "not today");
    jobs_world_settle(w);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_S(2));
    stage_holds(answer(w, op), "'missed': 0, 'events': [{'seq': 5");
}

OPERATIONS_TEST(pushes_each_event_and_answers_at_the_end)
{
    uint64_t ids[1] = {submit(w, "")};
    struct operation *op = watch(w, ids[0], 0, AO_NEVER);
    op->watch.push = true;
    world_give(w, op);
    assert_false(world_answered(w, op));
    assert_int_equal(w->pushed, 2);
    world_finish(world_run_of(w, ids[0]), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(w->pushed, 3);
    stage_holds(answer(w, op), "'events': [], 'next': 4, 'ended': true");
}

OPERATIONS_TEST(who_is_due_when_a_step_has_done_enough_is_answered_in_the_next)
{
    enum { WAITERS = 20 };
    struct operation *ops[2 * WAITERS];
    uint64_t ids[1] = {submit(w, "")};
    for (unsigned i = 0; i < WAITERS; i++) {
        ops[i] = watch(w, ids[0], 3, AO_S(60));
        world_give(w, ops[i]);
        ops[WAITERS + i] = world_operation(w, &operation_task_wait);
        ops[WAITERS + i]->wait =
            (struct wait_arguments){.ids = ids, .count = 1, .timeout = AO_S(60)};
        world_give(w, ops[WAITERS + i]);
    }
    w->jobs->work = STEP_WORK;
    world_finish(world_run_of(w, ids[0]), "\xc0");
    assert_ptr_not_equal(w->jobs->due.next, &w->jobs->due);
    assert_false(world_answered(w, ops[0]));
    jobs_world_settle(w);
    for (unsigned i = 0; i < 2 * WAITERS; i++)
        assert_true(world_answered(w, ops[i]));
    assert_ptr_equal(w->jobs->due.next, &w->jobs->due);
}

/* What a handler says when the step has done enough is told in the next, all at once. */
OPERATIONS_TEST(notes_beyond_a_step_are_told_together)
{
    uint64_t id = submit(w, "");
    const struct world_run *run = world_run_of(w, id);
    const struct attempt_note note = {.owner = run->run.owner,
                                      .attempt = run->run.attempt,
                                      .kind = NOTE_PARTIAL,
                                      .data = span_text("\x01")};
    struct operation *op = watch(w, id, 3, AO_S(60));
    world_give(w, op);
    w->jobs->work = STEP_WORK;
    w->source.noted(w->source.arg, &note);
    w->source.noted(w->source.arg, &note);
    assert_ptr_equal(w->jobs->due.next, &w->jobs->due); /* nobody was looked at */
    jobs_world_settle(w);
    stage_holds(answer(w, op), "'events': [{'seq': 3");
    stage_holds(answer(w, op), "'next': 5");
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
}

OPERATIONS_TEST(who_is_due_may_still_be_dropped)
{
    uint64_t ids[1] = {submit(w, "")};
    struct operation *op = watch(w, ids[0], 3, AO_S(60));
    world_give(w, op);
    w->jobs->work = STEP_WORK;
    world_finish(world_run_of(w, ids[0]), "\xc0");
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
}

/* The first push is on its way as it gives up. */
OPERATIONS_TEST(who_gave_up_is_pushed_nothing)
{
    struct operation *op = watch(w, submit(w, ""), 0, AO_NEVER);
    op->watch.push = true;
    channel_give(w->channel, op);
    virtual_round(&w->v, w->loop); /* it leaves */
    for (int i = 0; !op->push.events; i++) {
        assert_true(i < 10);
        virtual_round(&w->v, w->manager);
    }
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_int_equal(w->pushed, 0);
    assert_null(op->push.events);
    assert_true(world_answered(w, op));
}

/* The next batch comes when the last was taken, and no watcher gets two at a time. */
OPERATIONS_TEST(pushes_come_in_batches)
{
    enum { EVENTS = 60 };
    uint64_t id = submit(w, "");
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (unsigned i = 0; i < EVENTS; i++)
        job_note(&w->jobs->table, world_job(w, id), JOB_EVENT_PROGRESS, text);
    effects_apply(w->jobs);
    struct operation *op = watch(w, id, 0, AO_NEVER);
    op->watch.push = true;
    world_give(w, op);
    assert_int_equal(w->pushed, 2 + EVENTS);
    assert_in_range(w->pushes, 4, 8);
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(w->pushed, 3 + EVENTS);
    assert_true(world_answered(w, op));
}

/* --- task.list --- */

OPERATIONS_TEST(a_page_ends_at_its_bytes_too)
{
    enum { TASKS = 1500 };
    uint64_t cursor = 0;
    uint32_t found = 0, pages = 0;
    for (unsigned i = 0; i < TASKS; i++)
        submit(w, "somebody");
    for (; pages < 10; pages++) {
        struct operation *op = world_operation(w, &operation_task_list);
        op->list = (struct list_arguments){.filter.state = -1, .max = TASKS, .cursor = cursor};
        world_give(w, op);
        struct span result = operation_result(op);
        assert_true(result.len < LIST_BYTES_MAX + 1024);
        struct reader r = reader_of(span_behind(result, 1 + 6)); /* {"tasks": */
        uint32_t count;
        assert_true(read_array(&r, &count));
        found += count;
        struct span next = span_of(result.at + result.len - ID_TEXT_LEN, ID_TEXT_LEN);
        if (!id_parse(next, &cursor))
            break;
    }
    assert_int_equal(found, TASKS);
    assert_in_range(pages, 1, 4);
}

OPERATIONS_TEST(lists_the_newest_first_and_in_pages)
{
    char id[ID_TEXT_SIZE], wanted[64];
    uint64_t ids[5];
    for (unsigned i = 0; i < 5; i++)
        ids[i] = submit(w, i % 2 ? "odd" : "even");
    struct operation *op = world_operation(w, &operation_task_list);
    op->list = (struct list_arguments){.filter.state = -1, .max = 2};
    world_give(w, op);
    snprintf(wanted, sizeof wanted, "{'tasks': [{'id': '%s'", id_text(ids[4], id));
    stage_holds(answer(w, op), wanted);
    snprintf(wanted, sizeof wanted, "'next': '%s'", id_text(ids[3], id));
    stage_holds(answer(w, op), wanted);
    op = world_operation(w, &operation_task_list);
    op->list = (struct list_arguments){
        .filter = {.state = -1, .tenant = span_text("even")}, .max = 10, .cursor = ids[3]};
    world_give(w, op);
    snprintf(wanted, sizeof wanted, "{'tasks': [{'id': '%s'", id_text(ids[2], id));
    stage_holds(answer(w, op), wanted);
    is_silent_about(answer(w, op), "'odd'");
    stage_holds(answer(w, op), "'next': nil");
}

OPERATIONS_TEST(goes_on_behind_a_task_that_was_forgotten)
{
    char id[ID_TEXT_SIZE], wanted[64];
    uint64_t before = submit(w, ""), gone = jobs_world_submit(w, &WORK(.keep = 0));
    submit(w, "");
    world_finish(world_run_of(w, gone), "\xc0");
    jobs_world_pass(w, AO_S(1));
    assert_null(world_job(w, gone));
    for (unsigned newer = 0; newer < 3; newer++) {
        struct operation *op = world_operation(w, &operation_task_list);
        op->list = (struct list_arguments){.filter.state = -1, .max = 10, .cursor = gone};
        world_give(w, op);
        snprintf(wanted, sizeof wanted, "{'tasks': [{'id': '%s'", id_text(before, id));
        stage_holds(answer(w, op), wanted);
        stage_holds(answer(w, op), "'next': nil");
        submit(w, "");
    }
    struct operation *op = world_operation(w, &operation_task_list);
    op->list = (struct list_arguments){.filter.state = -1, .max = 10, .cursor = 1};
    world_give(w, op);
    assert_string_equal(answer(w, op), "{'tasks': [], 'next': nil}");
}

OPERATIONS_TEST(lists_by_state)
{
    for (unsigned i = 0; i < 5; i++)
        submit(w, "");
    struct operation *op = world_operation(w, &operation_task_list);
    op->list = (struct list_arguments){.filter.state = JOB_QUEUED, .max = 10};
    world_give(w, op);
    stage_holds(answer(w, op), "'state': 'queued'");
    is_silent_about(answer(w, op), "'state': 'running'");
}

/* --- queues, accounts --- */

OPERATIONS_TEST(a_queue_that_drains_takes_no_new_tasks)
{
    struct submitted out;
    char text[JOB_TEXT_MAX];
    struct operation *op = world_operation(w, &operation_queue_drain);
    op->named.name = span_text("work");
    world_give(w, op);
    stage_holds(answer(w, op), "'draining': true");
    assert_int_equal(world_submit(w, &WORK(), &out, text, sizeof text), ERGON_E_DRAINING);
    op = world_operation(w, &operation_queue_resume);
    op->named.name = span_text("work");
    world_give(w, op);
    submit(w, "");
}

OPERATIONS_TEST(a_resumed_queue_goes_on_in_order)
{
    struct operation *op = world_operation(w, &operation_queue_pause);
    w->room[1] = 1;
    op->named.name = span_text("work");
    world_give(w, op);
    uint64_t ids[3] = {submit(w, ""), submit(w, ""), submit(w, "")};
    op = world_operation(w, &operation_queue_resume);
    op->named.name = span_text("work");
    world_give(w, op);
    for (unsigned i = 0; i < 3; i++) {
        assert_non_null(w->runs);
        assert_true(w->runs->run.id == ids[i]);
        world_finish(w->runs, "\xc0");
        jobs_world_settle(w);
    }
}

OPERATIONS_TEST(accounts_balance)
{
    uint64_t ids[3] = {submit(w, ""), submit(w, ""), submit(w, "")};
    world_finish(world_run_of(w, ids[0]), "\xc0");
    world_fail(world_run_of(w, ids[1]), "ODD", "not today");
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    stage_holds(answer(w, op), "'balanced': true");
    stage_holds(answer(w, op),
                "'fleeting': {'submitted': 3, 'done': 1, 'failed': 1, 'cancelled': 0, "
                "'expired': 0, 'dead': 0, 'open': 1}");
    w->jobs->table.in_memory.submitted++;
    op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    stage_holds(answer(w, op), "'balanced': false");
    stage_holds(answer(w, op), "tasks in memory: 4 submitted, but 2 ended and 1 open");
}
