/* What the command line makes of task options, and of points in time. */
#include <stdlib.h>

#include "client/cli/humanize.h"
#include "client/cli/task.h"
#include "client/cli/task_options.h"
#include "tests/support/cmocka_env.h"

static void expect_map(const struct task_options *o, const char *expected)
{
    json_t *map = task_options_map(o);
    assert_non_null(map);
    char *text = json_dumps(map, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(map);
}

TEST(options_go_out_under_their_names_of_the_wire)
{
    expect_map(&(struct task_options){0}, "{}");
    expect_map(&(struct task_options){.priority = "0", .timeout = "5s", .retries = "3"},
               "{\"priority\":0,\"timeout\":\"5s\",\"retries\":3}");
    expect_map(&(struct task_options){.limit = "a=b=3", .rate = "mail=10/1m"},
               "{\"limit\":{\"key\":\"a=b\",\"max\":3},"
               "\"rate\":{\"key\":\"mail\",\"max\":10,\"per\":\"1m\"}}");
    expect_map(&(struct task_options){.after = "t1,t2", .keep_size = "64k", .at = "1700000000000"},
               "{\"after\":[\"t1\",\"t2\"],\"keep_size\":\"64k\",\"at\":1700000000000}");
    expect_map(&(struct task_options){.at = "2026-11-22T09:30:00Z", .durable = "replicated"},
               "{\"durable\":\"replicated\",\"at\":\"2026-11-22T09:30:00Z\"}");
}

TEST(wrong_values_are_refused)
{
    const struct task_options wrong[] = {
        {.priority = "high"}, {.priority = "-1"},     {.delay = "5"},       {.at = "tomorrow"},
        {.limit = "smtp"},    {.limit = "=3"},        {.limit = "smtp=x"},  {.rate = "mail=10"},
        {.rate = "mail/1m"},  {.rate = "mail=10/1"},  {.keep_size = "big"}, {.durable = "very"},
        {.retries = ""},      {.backoff = "quickly"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(task_options_map(&wrong[i]));
}

static void expect_age(int64_t then, int64_t now, const char *expected)
{
    char text[32];
    assert_string_equal(humanize_age(then, now, text, sizeof text), expected);
}

TEST(ages_have_one_unit)
{
    const int64_t now = 1700000000000;
    const int64_t s = 1000, m = 60 * s, h = 60 * m, d = 24 * h;
    expect_age(now, now, "now");
    expect_age(now - 999, now, "now");
    expect_age(now - s, now, "1 s ago");
    expect_age(now - 119 * s, now, "119 s ago");
    expect_age(now - 2 * m, now, "2 m ago");
    expect_age(now - 119 * m, now, "119 m ago");
    expect_age(now - 2 * h, now, "2 h ago");
    expect_age(now - 47 * h, now, "47 h ago");
    expect_age(now - 2 * d, now, "2 d ago");
    expect_age(now + 1, now, "in 1 s");
    expect_age(now + 5 * s, now, "in 5 s");
    expect_age(now + 3 * m - 1, now, "in 3 m");
    expect_age(INT64_MIN, INT64_MAX, "213503982334 d ago");
    expect_age(INT64_MAX, INT64_MIN, "in 213503982335 d");
}

static void expect_span(uint64_t us, const char *expected)
{
    char text[32];
    assert_string_equal(humanize_us(us, text, sizeof text), expected);
}

TEST(spans_have_one_unit)
{
    const uint64_t s = 1000 * 1000, m = 60 * s;
    expect_span(0, "0 us");
    expect_span(999, "999 us");
    expect_span(1500, "1.5 ms");
    expect_span(2 * s + s / 2, "2.5 s");
    expect_span(119 * s, "119.0 s");
    expect_span(2 * m, "2.0 m");
    expect_span(180 * m, "3.0 h");
}

static void expect_people(const char *json, const char *expected)
{
    json_error_t error;
    json_t *value = json_loads(json, 0, &error);
    assert_non_null(value);
    humanize(value, 1700000000000);
    char *text = json_dumps(value, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

TEST(answers_become_readable)
{
    expect_people("{\"created\":1699999998000,\"due\":null,\"attempt\":2}",
                  "{\"created\":\"2 s ago\",\"attempt\":2}");
    expect_people("[{\"next\":1700000005000,\"per\":60000}]",
                  "[{\"next\":\"in 5 s\",\"per\":\"1m\"}]");
    expect_people("{\"result\":{\"created\":5,\"x\":null}}",
                  "{\"result\":{\"created\":5,\"x\":null}}");
    expect_people("{\"next\":1700000005000,\"state\":{\"left\":12,\"note\":null}}",
                  "{\"next\":\"in 5 s\",\"state\":{\"left\":12,\"note\":null}}");
    expect_people("[{\"last\":null,\"params\":[{\"at\":5,\"x\":null}]}]",
                  "[{\"params\":[{\"at\":5,\"x\":null}]}]");
    expect_people("{\"refill\":1700000001000,\"progress\":{\"text\":null}}",
                  "{\"refill\":\"in 1 s\",\"progress\":{}}");
}

TEST(an_end_has_a_status)
{
    assert_int_equal(task_status("done", ""), STATUS_OK);
    assert_int_equal(task_status("expired", "DEADLINE: late"), STATUS_TIMEOUT);
    assert_int_equal(task_status("failed", "NOT_FOUND: no"), STATUS_NOT_FOUND);
    assert_int_equal(task_status("dead", "NO_SPACE: full"), STATUS_REMOTE);
    assert_int_equal(task_status("cancelled", ""), STATUS_REMOTE);
}
