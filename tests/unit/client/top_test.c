/* What `ergon top` makes of two samples, and how that is laid out; without a terminal. */
#include "client/cli/top/rates.h"
#include "client/cli/top/views.h"

#include "client/cli/json.h"
#include "tests/support/cmocka_env.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Quotes are ' here, for legibility. */
static json_t *json_of(const char *text)
{
    json_error_t error;
    char *json = strdup(text);
    assert_non_null(json);
    for (char *at = json; *at != 0; at++)
        if (*at == '\'')
            *at = '"';
    json_t *value = json_loads(json, 0, &error);
    if (value == NULL)
        fail_msg("%s: %s", text, error.text);
    free(json);
    return value;
}

/* `before` NULL: none. */
static json_t *model(const char *before, const char *now)
{
    json_t *b = before != NULL ? json_of(before) : NULL, *n = json_of(now);
    json_t *m = model_of(b, n);
    json_decref(b);
    json_decref(n);
    return m;
}

static double of_server(const json_t *m, const char *key)
{
    return json_number_value(json_object_get(json_object_get(m, "server"), key));
}

static const json_t *row(const json_t *m, const char *list, size_t i)
{
    return json_array_get(json_object_get(m, list), i);
}

static void is(double value, double expected)
{
    if (fabs(value - expected) > 1e-9)
        fail_msg("%f is not %f", value, expected);
}

#define IS(object, key, expected) is(json_number_value(json_object_get(object, key)), expected)

/* ---- rates ---- */

TEST(a_rate_is_the_difference_over_the_servers_own_time)
{
    json_t *m = model("{'info': {'pid': 1, 'uptime_ms': 10000, 'tasks': {'calls': 100}}}",
                      "{'info': {'pid': 1, 'uptime_ms': 12500, 'tasks': {'calls': 600}}}");
    IS(m, "seconds", 2.5);
    is(of_server(m, "calls"), 200);
    assert_true(json_is_false(json_object_get(m, "restarted")));
    json_decref(m);
}

TEST(the_first_rates_are_those_since_the_start)
{
    json_t *m = model(NULL, "{'info': {'uptime_ms': 2000, 'tasks': {'calls': 100}}}");
    is(of_server(m, "calls"), 50);
    json_decref(m);
}

/* By its uptime, or, if it was away for longer than it was up before, by its pid. */
TEST(after_a_restart_rates_are_those_since_it)
{
    static const char *const befores[] = {
        "{'info': {'pid': 1, 'uptime_ms': 10000, 'tasks': {'calls': 1000}}}",
        "{'info': {'pid': 2, 'uptime_ms': 3000, 'tasks': {'calls': 1000}}}",
    };
    for (size_t i = 0; i < 2; i++) {
        json_t *m =
            model(befores[i], "{'info': {'pid': 2, 'uptime_ms': 2000, 'tasks': {'calls': 30}}}");
        is(of_server(m, "calls"), 15);
        assert_true(json_is_true(json_object_get(m, "restarted")));
        json_decref(m);
    }
}

TEST(a_counter_that_fell_was_counted_anew)
{
    json_t *m = model("{'info': {'uptime_ms': 1000}, 'queues': [{'method': 'm', 'done': 100}]}",
                      "{'info': {'uptime_ms': 2000}, 'queues': [{'method': 'm', 'done': 7}]}");
    IS(row(m, "queues", 0), "done", 7);
    json_decref(m);
}

TEST(two_samples_of_one_moment_have_no_rates)
{
    json_t *m = model("{'info': {'uptime_ms': 1000, 'tasks': {'calls': 5}}}",
                      "{'info': {'uptime_ms': 1000, 'tasks': {'calls': 5}}}");
    is(of_server(m, "calls"), 0);
    json_decref(m);
}

TEST(handlers_share_the_time)
{
    json_t *m = model(
        "{'info': {'uptime_ms': 1000, 'handlers': [{'name': 'a', 'busy_ms': 100, 'steps': 0},"
        " {'name': 'b', 'busy_ms': 0, 'steps': 10}]}}",
        "{'info': {'uptime_ms': 3000, 'handlers': [{'name': 'b', 'busy_ms': 300, 'steps': 40},"
        " {'name': 'a', 'busy_ms': 200, 'steps': 0}, {'name': 'new', 'steps': 2}]}}");
    const json_t *b = row(m, "handlers", 0), *a = row(m, "handlers", 1);
    IS(b, "busy", 15); /* 300 ms of 2 s */
    IS(b, "share", 75);
    IS(b, "runs", 15);
    IS(b, "mean_ms", 10);
    IS(a, "share", 25);
    IS(a, "mean_ms", 0);
    IS(row(m, "handlers", 2), "runs", 1);
    json_decref(m);
}

TEST(percentiles_are_shown_in_milliseconds)
{
    json_t *m = model(NULL, "{'info': {'handlers': [{'name': 'a', 'wait_us': {'p50': 500, 'p95': 7,"
                            " 'p99': 2000}, 'run_us': {'p50': 1, 'p95': 3000, 'p99': 4000}},"
                            " {'name': 'b', 'wait_us': null, 'run_us': 7}]},"
                            " 'topology': {'loops': [{'name': 'l', 'longest_step_us': 3000,"
                            " 'longest_step_minute_us': 1500}, {'name': 'old'}]}}");
    const json_t *a = row(m, "handlers", 0), *b = row(m, "handlers", 1);
    IS(a, "wait_p50_ms", 0.5);
    IS(a, "wait_p99_ms", 2);
    IS(a, "run_p95_ms", 3);
    IS(a, "run_p99_ms", 4);
    assert_null(json_object_get(b, "wait_p99_ms"));
    assert_null(json_object_get(b, "run_p99_ms"));
    IS(row(m, "loops", 0), "longest_step_ms", 3);
    IS(row(m, "loops", 0), "longest_step_minute_ms", 1.5);
    assert_null(json_object_get(row(m, "loops", 1), "longest_step_ms"));
    json_decref(m);
}

/* Connections are asked for by their view alone: the first time there is nothing to compare. */
TEST(a_list_that_was_not_asked_for_has_no_rates_yet)
{
    json_t *m = model("{'info': {'uptime_ms': 1000}}",
                      "{'info': {'uptime_ms': 2000}, 'connections': [{'id': 1, 'messages': 900}]}");
    IS(row(m, "connections", 0), "messages", 0);
    assert_null(json_object_get(m, "workers"));
    json_decref(m);
}

TEST(what_is_stuck_is_marked)
{
    json_t *m = model(NULL, "{'topology': {'loops': [{'name': 'loop 0'}, {'name': 'loop 1'}],"
                            " 'executors': [{'name': 's0', 'loop': 0, 'state': 'ready'},"
                            " {'name': 's1', 'loop': 1, 'state': 'away'},"
                            " {'name': 'b2', 'loop': -1, 'state': 'outlived'}]}}");
    static const bool loops[] = {false, true}, executors[] = {false, true, true};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(json_is_true(json_object_get(row(m, "loops", i), "stuck")), loops[i]);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(json_is_true(json_object_get(row(m, "executors", i), "stuck")),
                         executors[i]);
    json_decref(m);
}

TEST(answers_of_another_kind_do_no_harm)
{
    json_t *m = model("{'info': 7, 'queues': {}, 'topology': []}",
                      "{'info': {'handlers': [7, null], 'uptime_ms': 'x', 'tasks': [], 'pid': {}},"
                      " 'queues': [[], {'method': 9, 'queued': 'x'}], 'topology': {'loops': 'l',"
                      " 'executors': [{'loop': 'x', 'state': 4}]}, 'workers': {'a': 1}}");
    struct frame f;
    struct view_state s;
    view_state_init(&s);
    for (int view = 0; view < VIEW_COUNT; view++) {
        s.view = (enum view_id)view;
        frame_init(&f, 80, 24);
        view_header(&f, m, "ergon://h:1");
        view_rows(&f, m, &s);
        assert_true(f.count > 0);
        frame_fini(&f);
    }
    json_decref(m);
}

/* ---- views ---- */

static void says(const char *cluster, const char *expected)
{
    char info[300];
    struct frame f;
    bool found = false;
    snprintf(info, sizeof info, "{'info': {'uptime_ms': 1, 'cluster': %s}}", cluster);
    json_t *m = model(NULL, info);
    frame_init(&f, 100, 30);
    view_header(&f, m, "ergon://h:1");
    for (size_t i = 0; i < f.count; i++)
        found |= strstr(f.lines[i].text, expected) != NULL;
    assert_true(found);
    frame_fini(&f);
    json_decref(m);
}

TEST(the_header_says_who_owns_the_tasks_and_whether_they_move)
{
    says("{'node': 'b', 'role': 'front', 'owner': 'a', 'epoch': 4, 'moving_from': null}",
         "cluster b is front, a owns the tasks, epoch 4");
    says("{'node': 'b', 'role': 'front', 'owner': null, 'epoch': 4, 'moving_from': 'a'}",
         "cluster b is front, and no node owns the tasks: they move from a");
    says("{'node': 'b', 'role': 'loading', 'owner': 'b', 'epoch': 5, 'moving_from': 'a'}",
         "cluster b is loading, the tasks move from a to b");
}

static const char QUEUES[] = "{'server': {}, 'queues': ["
                             "{'method': 'beta', 'queued': 5, 'state': 'open', 'done': 1.25},"
                             "{'method': 'alpha', 'queued': 70, 'state': 'paused', 'done': 0},"
                             "{'method': 'gamma', 'queued': 5, 'state': 'open', 'done': 12345}]}";

/* The first words of the rows that a view shows, with blanks between. */
static void shows(const char *rows, const struct view_state *s, size_t width, size_t height,
                  const char *expected)
{
    struct frame f;
    char seen[400] = "";
    json_t *m = json_of(rows);
    frame_init(&f, width, height);
    view_rows(&f, m, s);
    assert_true(f.count <= height);
    for (size_t i = 0; i < f.count; i++) {
        size_t len = strlen(seen), word = strcspn(f.lines[i].text, " ");
        assert_true(text_width(f.lines[i].text) <= width);
        if (f.lines[i].tone != TONE_HEAD)
            snprintf(seen + len, sizeof seen - len, "%s%.*s", len > 0 ? " " : "", (int)word,
                     f.lines[i].text);
    }
    assert_string_equal(seen, expected);
    frame_fini(&f);
    json_decref(m);
}

TEST(rows_are_sorted_by_the_most_or_turned_round)
{
    struct view_state s;
    view_state_init(&s);
    s.view = VIEW_QUEUES;
    shows(QUEUES, &s, 80, 24, "alpha beta gamma");
    s.reversed[VIEW_QUEUES] = true;
    shows(QUEUES, &s, 80, 24, "beta gamma alpha");
    s.reversed[VIEW_QUEUES] = false;
    view_sort_by(&s, 3); /* done/s */
    shows(QUEUES, &s, 80, 24, "gamma beta alpha");
    view_sort_by(&s, -4); /* the name */
    shows(QUEUES, &s, 80, 24, "alpha beta gamma");
    view_sort_by(&s, -1); /* round the end: the last column */
    view_sort_by(&s, 1);
    shows(QUEUES, &s, 80, 24, "alpha beta gamma");
}

TEST(a_filter_is_looked_for_in_every_text)
{
    struct view_state s;
    view_state_init(&s);
    s.view = VIEW_QUEUES;
    strcpy(s.filter, "MM");
    shows(QUEUES, &s, 80, 24, "gamma");
    strcpy(s.filter, "paus");
    shows(QUEUES, &s, 80, 24, "alpha");
    strcpy(s.filter, "nothing");
    shows(QUEUES, &s, 80, 24, "(none)");
}

TEST(rows_beyond_the_height_are_scrolled_to)
{
    struct view_state s;
    view_state_init(&s);
    s.view = VIEW_QUEUES;
    shows(QUEUES, &s, 80, 3, "alpha beta");
    s.scroll = 1;
    shows(QUEUES, &s, 80, 3, "beta gamma");
    s.scroll = 1000; /* the last stays */
    shows(QUEUES, &s, 80, 3, "gamma");
    shows(QUEUES, &s, 80, 1, "");
}

TEST(a_narrow_screen_has_fewer_columns_and_cuts_names)
{
    struct frame f;
    struct view_state s;
    json_t *m = json_of("{'queues': [{'method': 'a.very.long.name.that.takes.all.columns',"
                        " 'queued': 123456789}]}");
    view_state_init(&s);
    s.view = VIEW_QUEUES;
    for (size_t width = 1; width <= 200; width++) {
        frame_init(&f, width, 10);
        view_rows(&f, m, &s);
        for (size_t i = 0; i < f.count; i++)
            assert_true(text_width(f.lines[i].text) <= width);
        if (width == 20)
            assert_string_equal(f.lines[1].text, "a.very.lon+     123M");
        frame_fini(&f);
    }
    json_decref(m);
}

TEST(the_overview_gives_each_part_some_room)
{
    char rows[4000] = "{'server': {}, 'handlers': [";
    struct view_state s;
    struct frame f;
    for (int i = 0; i < 40; i++)
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s{'name': 'h%d', 'busy': 1}",
                 i > 0 ? "," : "", i);
    strcat(rows, "], 'queues': [{'method': 'q'}], 'executors': [{'name': 'e1'}, {'name': 'e2'}]}");
    view_state_init(&s);
    json_t *m = json_of(rows);
    for (size_t height = 6; height < 40; height++) {
        size_t heads = 0;
        frame_init(&f, 80, height);
        view_rows(&f, m, &s);
        assert_true(f.count <= height);
        for (size_t i = 0; i < f.count; i++)
            heads += f.lines[i].tone == TONE_HEAD;
        if (height >= 12)
            assert_int_equal(heads, 3);
        if (height == 20)
            assert_memory_equal(f.lines[f.count - 1].text, "e2 ", 3);
        frame_fini(&f);
    }
    json_decref(m);
}

TEST(a_missing_answer_is_said)
{
    struct frame f;
    struct view_state s;
    json_t *m = json_of("{'server': {}}");
    view_state_init(&s);
    s.view = VIEW_CONNECTIONS;
    frame_init(&f, 80, 24);
    view_rows(&f, m, &s);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.lines[0].text, "connections: the server does not say");
    frame_fini(&f);
    json_decref(m);
}

/* ---- lines ---- */

TEST(names_cannot_steer_the_terminal)
{
    struct frame f;
    struct view_state s;
    json_t *m =
        json_pack("{s:{s:s}, s:[{s:s}]}", "server", "version", "\033]0;x\007", "queues", "method",
                  "\033[2Jq\r\n\xc2\x9b"
                  "31m");
    view_state_init(&s);
    s.view = VIEW_QUEUES;
    frame_init(&f, 200, 24);
    view_header(&f, m, "ergon://h");
    view_rows(&f, m, &s);
    for (size_t i = 0; i < f.count; i++)
        for (const unsigned char *at = (const unsigned char *)f.lines[i].text; *at != 0; at++)
            assert_true(*at >= ' ' && *at != 127 && !(at[0] == 0xc2 && at[1] < 0xa0));
    frame_fini(&f);
    json_decref(m);
}

static void fits(const char *text, size_t width, bool right, const char *expected)
{
    char *fit = text_fit(text, width, right);
    assert_string_equal(fit, expected);
    free(fit);
}

TEST(texts_are_cut_and_filled_by_columns)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    fits("abc", 5, false, "abc  ");
    fits("abc", 5, true, "  abc");
    fits("abcdef", 5, false, "abcd+");
    fits("abc", 0, false, "");
    fits("\u00e4\u00f6\u00fc", 3, false, "\u00e4\u00f6\u00fc");
    fits("\u6f22\u5b57\u6f22", 4, false, "\u6f22+ "); /* two columns each */
    assert_int_equal(text_width("\u6f22\u5b57"), 4);
}
