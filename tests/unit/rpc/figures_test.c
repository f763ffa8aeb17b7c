/* The figures that the server keeps: samples by hand, at times of the virtual clock. */
#include <stdio.h>

#include "server/rpc/figures.h"
#include "tests/support/rpc_stage.h"

enum { UNIX_MS = 1600000000 };

static ao_time at; /* ns */

static void look(void)
{
    figures_look(stage.shared.figures, at, UNIX_MS * UINT64_C(1000000) + at);
}

/* A sample a second. */
static void pass(unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        at += AO_S(1);
        look();
    }
}

static const char *figures(const char *params)
{
    return stage_answer("server.figures", params);
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("\"%s\" in %s", part, text);
}

static int begin(void **state)
{
    at = AO_S(100);
    return stage_open(state);
}
#define FIGURES_TEST(name) TEST_WITH(begin, stage_close, name)

FIGURES_TEST(there_are_none_before_the_first_sample)
{
    assert_holds(figures("[]"), "1: {'at': 0, 'step_ms': 1000, 'values': {'done': [], ");
    look();
    assert_holds(figures("[]"),
                 "1: {'at': 1600100000, 'step_ms': 1000, 'values': {'done': [nil], ");
}

FIGURES_TEST(counters_are_rates_and_others_as_they_are)
{
    look();
    stage_answer("echo", "[1]");
    stage_answer("echo", "[1]");
    pass(1);
    stage_answer("fail", "[]");
    pass(1);
    const char *said = figures("[]");
    assert_holds(said, "'done': [nil, 2, 0], 'failed': [nil, 0, 1], ");
    assert_holds(said, "'connections': [1, 1, 1], 'messages': [nil, 2, 1], ");
    assert_holds(said, "'commits': [nil, nil, nil], 'commit_ms': [nil, nil, nil], ");
    assert_holds(figures("[{'seconds': 1}]"), "'values': {'done': [0], 'failed': [1], ");
}

FIGURES_TEST(a_sample_is_due_each_second)
{
    struct figures *f = stage.shared.figures;
    assert_int_equal(figures_look(f, at, 1), AO_S(1));
    assert_int_equal(figures_look(f, at + AO_MS(400), 1), AO_MS(600));
    assert_int_equal(figures_look(f, at + AO_MS(1300), 1), AO_MS(700)); /* late; the next is not */
    assert_holds(figures("[]"), "'connections': [1, 1], ");
}

FIGURES_TEST(seconds_that_were_missed_have_no_values)
{
    look();
    for (int i = 0; i < 6; i++)
        stage_answer("echo", "[1]");
    at += AO_S(2);
    pass(1);
    const char *said = figures("[]");
    assert_holds(said, "'done': [nil, nil, nil, 2], ");
    assert_holds(said, "'connections': [1, nil, nil, 1], ");
    at += AO_S(86400);
    pass(1);
    assert_holds(figures("[{'seconds': 3}]"), "'connections': [nil, nil, 1], ");
}

FIGURES_TEST(ten_minutes_are_kept)
{
    look();
    stage_answer("echo", "[1]");
    pass(1);
    pass(FIGURES_KEPT - 2);
    assert_holds(figures("[]"), "'done': [nil, 1, 0, ");
    pass(1);
    assert_holds(figures("[]"), "'done': [1, 0, ");
    pass(1);
    assert_lacks(strstr(figures("[]"), "'done': [0, 0, "), "1, 0, 0, 0], 'failed'");
    pass(100); /* the ring goes round */
    stage_answer("fail", "[]");
    pass(1);
    assert_holds(figures("[{'seconds': 2}]"), "'failed': [0, 1], ");
}

FIGURES_TEST(a_queue_has_series_once_it_had_a_task)
{
    look();
    assert_holds(figures("[]"), "'queues': {}, 'handlers': {}, ");
    stage_answer("task.submit", "['echo', [1]]");
    pass(1);
    assert_holds(figures("[]"), "'queues': {'echo': {'submitted': [nil, 1], 'done': [nil, 1], "
                                "'failed': [nil, 0], 'queued': [nil, 0], 'waiting': [nil, 0], "
                                "'running': [nil, 0]}}, 'handlers': {'echo': [nil, ");
}

FIGURES_TEST(an_executor_tells_how_busy_it_is)
{
    look();
    pass(1);
    assert_holds(figures("[]"), "'executors': {'stepped 0': [nil, 0], 'blocking 1': [nil, 0]}}");
}

/* Queues of methods that workers offer: as many as there are places, and one more. */
static void submit(unsigned i)
{
    char params[64];
    snprintf(params, sizeof params, "['m%02u', []]", i);
    assert_holds(stage_answer("task.submit", params), "'state': 'queued'");
}

/* The worker takes none. */
static void offer(unsigned from, unsigned to)
{
    char methods[1024] = "[[";
    size_t end = 2;
    for (unsigned i = from; i < to; i++)
        end += (size_t)snprintf(methods + end, sizeof methods - end, "%s'm%02u'",
                                i > from ? ", " : "", i);
    snprintf(methods + end, sizeof methods - end, "]]");
    assert_holds(stage_answer("worker.register", methods), "'worker': ");
    assert_holds(stage_answer("worker.quiet", "[]"), "'worker': ");
}

FIGURES_TEST(what_waits_in_a_queue_is_counted)
{
    offer(0, 1);
    look();
    submit(0);
    submit(0);
    pass(2);
    assert_holds(figures("[]"), "'queues': {'m00': {'submitted': [nil, 2, 0], 'done': [nil, 0, 0], "
                                "'failed': [nil, 0, 0], 'queued': [nil, 2, 2], ");
    assert_holds(figures("[]"), "'queued': [0, 2, 2], ");
}

FIGURES_TEST(the_first_queues_have_series_and_idle_ones_give_them_up)
{
    offer(0, 11);
    offer(11, 22);
    offer(22, FIGURES_QUEUES + 1);
    look();
    for (unsigned i = 0; i < FIGURES_QUEUES; i++)
        submit(i);
    pass(1);
    submit(FIGURES_QUEUES);
    pass(1);
    assert_holds(figures("[{'seconds': 1}]"), "'queues': {'m31': ");
    assert_lacks(figures("[{'seconds': 1}]"), "'m32': ");
    pass(FIGURES_KEPT); /* they have work all the time */
    assert_lacks(figures("[{'seconds': 1}]"), "'m32': ");
    stage_answer("task.cancel", "[{'method': 'm31'}]");
    pass(FIGURES_KEPT - 1);
    assert_lacks(figures("[{'seconds': 1}]"), "'m32': ");
    pass(6);
    const char *said = figures("[{'seconds': 4}]");
    assert_lacks(said, "'m31': ");
    assert_holds(said, "'m32': {'submitted': [nil, nil, nil, 0], ");
    assert_holds(said, "'queued': [nil, nil, 1, 1], ");
}

FIGURES_TEST(wrong_options_are_refused)
{
    assert_holds(figures("[{'seconds': 0}]"), "BAD_PARAMS: option \"seconds\"");
    assert_holds(figures("[{'seconds': 601}]"), "a number from 1 to 600");
    assert_holds(figures("[{}, 1]"), "BAD_PARAMS: server.figures takes [{seconds: int}]");
}
