/* The text of both formats, letter by letter. */
#include <string.h>

#include "server/metrics/text.h"
#include "tests/support/cmocka_env.h"

static struct metrics_text text;

static void text_is(const char *expected)
{
    assert_false(text.failed);
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.at, expected, text.length);
    metrics_text_free(&text);
}

TEST(a_counter_has_type_help_and_a_suffix)
{
    const struct metrics_family f = {"ergon_calls", METRICS_COUNTER, NULL, "Calls."};
    metrics_begin(&text, &f);
    metrics_count(&text, &f, "way=\"x\"", 5);
    metrics_end(&text);
    text_is("# TYPE ergon_calls counter\n# HELP ergon_calls Calls.\n"
            "ergon_calls_total{way=\"x\"} 5\n# EOF\n");
}

TEST(a_unit_stands_behind_the_type_and_ns_are_seconds)
{
    const struct metrics_family f = {"up_seconds", METRICS_GAUGE, "seconds", "Up."};
    metrics_begin(&text, &f);
    metrics_ns(&text, &f, "", 1500000007);
    text_is("# TYPE up_seconds gauge\n# UNIT up_seconds seconds\n# HELP up_seconds Up.\n"
            "up_seconds 1.500000007\n");
}

TEST(quotes_in_help_are_escaped_where_the_format_wants_it)
{
    const struct metrics_family f = {"x", METRICS_GAUGE, NULL, "Or \"_other\"."};
    metrics_begin(&text, &f);
    text_is("# TYPE x gauge\n# HELP x Or \\\"_other\\\".\n");
    text.format = METRICS_CLASSIC;
    metrics_begin(&text, &f);
    text_is("# TYPE x gauge\n# HELP x Or \"_other\".\n");
}

TEST(the_classic_format_has_the_names_of_samples_and_neither_info_nor_unit_nor_end)
{
    const struct metrics_family count = {"used_seconds", METRICS_COUNTER, "seconds", "Used."};
    const struct metrics_family build = {"build", METRICS_INFO, NULL, "Built."};
    text.format = METRICS_CLASSIC;
    metrics_begin(&text, &count);
    metrics_ns(&text, &count, "", 1000000000);
    metrics_begin(&text, &build);
    metrics_count(&text, &build, "version=\"1\"", 1);
    metrics_end(&text);
    text_is("# TYPE used_seconds_total counter\n# HELP used_seconds_total Used.\n"
            "used_seconds_total 1.000000000\n"
            "# TYPE build_info gauge\n# HELP build_info Built.\nbuild_info{version=\"1\"} 1\n");
}

TEST(a_histogram_shows_every_fourth_bound_exactly)
{
    const struct metrics_family f = {"t_seconds", METRICS_HISTOGRAM, "seconds", "T."};
    struct histogram_sum h = {.sum_ns = 9000};
    h.buckets[histogram_bucket(1024)] = 1;
    h.buckets[histogram_bucket(1025)] = 2;
    h.buckets[histogram_bucket(4096)] = 4;
    h.buckets[HISTOGRAM_LAST] = 8;
    metrics_histogram(&text, &f, "m=\"a\"", &h);
    text_is("t_seconds_bucket{m=\"a\",le=\"0.000001024\"} 1\n"
            "t_seconds_bucket{m=\"a\",le=\"0.000004096\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.000016384\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.000065536\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.000262144\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.001048576\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.004194304\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.016777216\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.067108864\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"0.268435456\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"1.073741824\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"4.294967296\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"17.179869184\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"68.719476736\"} 7\n"
            "t_seconds_bucket{m=\"a\",le=\"+Inf\"} 15\n"
            "t_seconds_count{m=\"a\"} 15\nt_seconds_sum{m=\"a\"} 0.000009000\n");
}

TEST(labels_are_escaped_and_what_is_no_utf8_is_marked)
{
    char labels[64] = "";
    assert_string_equal(metrics_label(labels, sizeof labels, "a", "x\"y\\z\n"),
                        "a=\"x\\\"y\\\\z\\n\"");
    assert_string_equal(metrics_label(labels, sizeof labels, "b", "\xc3\xa4"),
                        "a=\"x\\\"y\\\\z\\n\",b=\"\xc3\xa4\"");
    labels[0] = '\0';
    assert_string_equal(metrics_label(labels, sizeof labels, "c", "\xff"), "c=\"?\"");
}

TEST(a_label_that_does_not_fit_is_left_out_whole)
{
    char labels[12] = "";
    metrics_label(labels, sizeof labels, "a", "1234");
    assert_string_equal(metrics_label(labels, sizeof labels, "b", "5"), "a=\"1234\"");
}
