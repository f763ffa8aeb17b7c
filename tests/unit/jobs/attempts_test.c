/* The attempts of a task: who ran them, how long they waited and ran, how they ended. */
#include <stdio.h>
#include <stdlib.h>

#include "server/access/rights.h"
#include "server/jobs/core/history.h"
#include "server/jobs/core/worker_labels.h"
#include "server/jobs/verbs/view.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"
#include "tests/support/played_manager.h"

#define ATTEMPTS_TEST(name) JOBS_TEST(name, .room = 4)

static const char *shown(struct jobs_world *w, uint64_t id, const char *methods)
{
    static char text[65536];
    struct operation *op = world_operation(w, &operation_task_get);
    if (methods) {
        op->rights = rights_new(
            &(struct rights_options){.name = "token:ada", .tenant = "", .methods = methods});
        op->tenant = span_text("");
    }
    op->job = (struct job_arguments){.id = id, .parts = VIEW_ATTEMPTS | VIEW_HISTORY};
    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
    return notation_show(operation_result(op), text, sizeof text);
}

static const char *attempts(struct jobs_world *w, uint64_t id)
{
    const char *at = strstr(shown(w, id, NULL), "'attempts': ");
    assert_non_null(at);
    return at;
}

static void joins(struct jobs_world *w, const char *worker, const char *name, const char *version)
{
    w->worker = (struct source_label){.worker = span_text(worker),
                                      .name = span_text(name),
                                      .host = span_text("10.0.0.7"),
                                      .version = span_text(version)};
}

static uint32_t labels(const struct jobs_world *w)
{
    const struct worker_labels *all = &w->jobs->table.labels;
    return all->of ? all->by_text.count : 0;
}

ATTEMPTS_TEST(each_attempt_says_who_ran_it_for_how_long_and_how_it_ended)
{
    joins(w, "w1", "ann", "v1");
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 2));
    jobs_world_settle(w);
    jobs_world_pass(w, AO_MS(3));
    world_fail_traced(world_run_of(w, id), "BAD", "it broke", span_text("line 1\nline 2"));
    world_worker_leaves(w);
    joins(w, "w2", "", "");
    jobs_world_pass(w, AO_S(2));
    const char *said = attempts(w, id);
    stage_holds(said, "[{'attempt': 1, 'worker': 'w1', 'name': 'ann', 'host': '10.0.0.7', "
                      "'version': 'v1', 'queued_us': ");
    stage_holds(said, "'run_us': 3000, 'outcome': 'failed', 'error': 'BAD: it broke', "
                      "'traceback': 'line 1\nline 2', 'traceback_size': 13}, "
                      "{'attempt': 2, 'worker': 'w2', 'name': nil, 'host': '10.0.0.7', "
                      "'version': nil, ");
    stage_holds(said, "'ended': nil, 'run_us': nil, 'outcome': nil, 'error': nil, "
                      "'traceback': nil, 'traceback_size': 0}]");
    assert_int_equal(labels(w), 2);
    world_finish(world_run_of(w, id), "\x2a");
    world_worker_leaves(w);
    jobs_world_settle(w);
    stage_holds(attempts(w, id), "'outcome': 'done', 'error': nil");
    stage_holds(shown(w, id, NULL), "'event': 'attempt_failed', 'attempt': 1, 'reason': nil, "
                                    "'text': 'BAD: it broke', 'traceback': 'line 1\nline 2'}");
    jobs_world_pass(w, AO_S(7200)); /* it is forgotten */
    assert_int_equal(labels(w), 0);
}

ATTEMPTS_TEST(the_wait_counts_from_when_it_could_run)
{
    joins(w, "w1", "ann", "");
    uint64_t id = jobs_world_submit(w, &WORK(.delay = AO_MS(500)));
    memset(w->room, 0, sizeof w->room);
    jobs_world_pass(w, AO_MS(520)); /* due at 500 */
    w->room[0] = w->room[1] = 4;
    ao_activate(&w->pump);
    jobs_world_settle(w);
    const char *said = attempts(w, id), *at = strstr(said, "'queued_us': ");
    assert_non_null(at);
    assert_in_range(strtoul(at + strlen("'queued_us': "), NULL, 10), 15000, 25000);
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_settle(w);
}

ATTEMPTS_TEST(without_the_right_a_traceback_is_hidden_and_its_size_is_shown)
{
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    world_fail_traced(world_run_of(w, id), "BAD", "it broke", span_text("secret line"));
    jobs_world_settle(w);
    stage_holds(shown(w, id, "task.get,task.params"), "'traceback': 'secret line'");
    const char *said = shown(w, id, "task.get");
    stage_holds(said, "'worker': nil");
    stage_holds(said, "'traceback': nil, 'traceback_size': 11}]");
    assert_null(strstr(said, "secret line"));
}

ATTEMPTS_TEST(other_ends_are_named)
{
    uint64_t id = jobs_world_submit(w, &WORK(.retries = 5, .timeout = AO_MS(20)));
    jobs_world_settle(w);
    world_again(world_run_of(w, id), AO_MS(1));
    jobs_world_pass(w, AO_MS(5));
    world_lose(world_run_of(w, id), LOSS_ALONE, "worker w1: gone");
    jobs_world_pass(w, AO_MS(40)); /* the third is late */
    const char *said = attempts(w, id);
    stage_holds(said, "'outcome': 'again', 'error': nil");
    stage_holds(said, "'outcome': 'interrupted', 'error': 'worker w1: gone'");
    stage_holds(said, "'run_us': 20000, 'outcome': 'timed_out', 'error': 'DEADLINE: ");
    world_cancel(w, world_job(w, id));
    jobs_world_settle(w);
}

ATTEMPTS_TEST(the_last_attempt_is_there_without_a_history)
{
    w->jobs->table.history_max = 0;
    joins(w, "w1", "ann", "");
    uint64_t id = jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    stage_holds(attempts(w, id), "[{'attempt': 1, 'worker': 'w1', ");
    world_fail_traced(world_run_of(w, id), "BAD", "it broke", span_text("lost"));
    jobs_world_settle(w);
    stage_holds(attempts(w, id), "'outcome': 'failed', 'error': 'BAD: it broke', "
                                 "'traceback': nil, 'traceback_size': 0}]");
}

static struct job_table *last_table(struct jobs_world *w)
{
    return &w->jobs->table;
}

ATTEMPTS_TEST(a_name_of_a_worker_is_one_line_of_text)
{
    struct worker_labels *all = &last_table(w)->labels;
    const struct worker_label_parts parts = {span_text("w1"), span_text("a\tb\x1b[2J\n"),
                                             span_text("\xff"), span_text("\xe2\x80\xaev")};
    uint16_t slot = worker_label_make(all, &parts);
    struct worker_label_parts is = worker_label_parts(worker_label_text(all, slot));
    assert_true(span_is(is.worker, "w1"));
    assert_true(span_is(is.name, "a b [2J "));
    assert_true(span_is(is.host, "\xef\xbf\xbd"));
    assert_true(span_is(is.version, " v"));
    assert_int_equal(worker_label_make(all, &parts), slot);
    worker_label_unref(all, slot);
    worker_label_unref(all, slot);
    assert_int_equal(labels(w), 0);
}

/* Those that have no slot have no label. */
ATTEMPTS_TEST(there_are_as_many_labels_as_numbers)
{
    enum { MORE = 3 };
    struct worker_labels *all = &last_table(w)->labels;
    char text[16];
    for (uint32_t i = 1; i <= WORKER_LABELS_MAX + MORE; i++) {
        snprintf(text, sizeof text, "w%u", (unsigned)i);
        uint16_t slot = worker_label_take(all, span_text(text));
        assert_int_equal(slot, i <= WORKER_LABELS_MAX ? i : WORKER_LABEL_NONE);
    }
    worker_label_unref(all, 77);
    assert_int_equal(worker_label_take(all, span_text("one more")), 77);
    for (uint32_t slot = 1; slot <= WORKER_LABELS_MAX; slot++)
        worker_label_unref(all, (uint16_t)slot);
    assert_int_equal(labels(w), 0);
}

static uint32_t submit_of(struct jobs_world *w, uint8_t priority, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        jobs_world_submit(w, &WORK(.priority = priority));
    jobs_world_settle(w);
    return w->out[0] + w->out[1];
}

/* Steps of actors have that priority, and all that is out goes before what comes then. */
JOBS_TEST(few_of_the_lowest_priority_are_out_before_they_begin, .room = 100)
{
    w->holds = true;
    uint32_t lowest = submit_of(w, 0, 50);
    assert_in_range(lowest, 1, 16);
    assert_int_equal(submit_of(w, 1, 50), lowest + 50);
    world_begin(w->runs);
    job_source_wake(w->jobs->sched.tasks, 0);
    jobs_world_settle(w);
    assert_int_equal(w->out[0] + w->out[1], lowest + 51);
    world_finish(w->runs, "\xc0");
    jobs_world_settle(w);
    assert_int_equal(w->out[0] + w->out[1], lowest + 50);
}
