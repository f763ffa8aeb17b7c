#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

static const uint64_t MOMENT = UINT64_C(1795300245123456789); /* 2026-11-21T22:30:45.123Z */

static char record[4096];

static const char *logfmt(uint64_t now, enum log_level level, const char *event,
                          const struct log_field *fields)
{
    int n = log_format_logfmt(record, sizeof record, now, level, event, fields);

    record[n] = '\0';
    return record;
}

static const char *json(uint64_t now, enum log_level level, const char *event,
                        const struct log_field *fields)
{
    int n = log_format_json(record, sizeof record, now, level, event, fields);

    record[n] = '\0';
    return record;
}

#define FIELDS(...) ((const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}})
#define NOTHING     ((const struct log_field[]){{0}})

TEST(writes_all_kinds)
{
    const struct log_field *fields =
        FIELDS(LOG_STR("who", "loop-1"), LOG_INT("delta", -3), LOG_UINT("count", UINT64_MAX),
               LOG_NS("took", 1500000), LOG_STR("left_out", NULL), LOG_NS("zero", 0));

    assert_string_equal(logfmt(MOMENT, LOG_WARN, "step too long", fields),
                        "time=2026-11-21T22:30:45.123Z level=warn msg=\"step too long\" who=loop-1 "
                        "delta=-3 count=18446744073709551615 took=1.5ms zero=0ms");
    assert_string_equal(json(MOMENT, LOG_WARN, "step too long", fields),
                        "{\"time\":\"2026-11-21T22:30:45.123Z\",\"level\":\"warn\",\"msg\":\"step "
                        "too long\",\"who\":\"loop-1\",\"delta\":-3,\"count\":"
                        "18446744073709551615,\"took_ms\":1.5,\"zero_ms\":0}");
}

TEST(leaves_the_time_out)
{
    assert_string_equal(logfmt(0, LOG_DEBUG, "hi", NOTHING), "level=debug msg=hi");
    assert_string_equal(json(0, LOG_ERROR, "hi", NOTHING), "{\"level\":\"error\",\"msg\":\"hi\"}");
}

/* Every day for four hundred years, so every rule of leap years. */
TEST(the_calendar_is_the_c_librarys)
{
    for (time_t at = 86399; at < (time_t)400 * 366 * 86400; at += 86400) {
        char expected[32];
        struct tm tm;
        gmtime_r(&at, &tm);
        strftime(expected, sizeof expected, "time=%Y-%m-%dT%H:%M:%S.000Z ", &tm);
        logfmt((uint64_t)at * 1000000000, LOG_INFO, "e", (struct log_field[]){{0}});
        assert_memory_equal(record, expected, strlen(expected));
    }
}

TEST(numbers_to_their_ends)
{
    assert_string_equal(logfmt(0, LOG_INFO, "e",
                               (struct log_field[]){LOG_INT("least", INT64_MIN),
                                                    LOG_INT("most", INT64_MAX),
                                                    LOG_UINT("all", UINT64_MAX),
                                                    LOG_NS("ns", UINT64_MAX),
                                                    LOG_NS("none", 0),
                                                    LOG_NS("ten", 10000000),
                                                    {0}}),
                        "level=info msg=e least=-9223372036854775808 most=9223372036854775807 "
                        "all=18446744073709551615 ns=18446744073709.551615ms none=0ms ten=10ms");
}

TEST(quotes_where_needed)
{
    static const char *const pairs[][2] = {
        {"", "\"\""},
        {"a=b", "\"a=b\""},
        {"a b", "\"a b\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"a\\b", "\"a\\\\b\""},
        {"line\nnext\t", "\"line\\nnext\\t\""},
        {"\x01\x7f", "\"\\u0001\\u007f\""},
        {"\xc2\x9b\xe2\x80\xae\xe2\x81\xa6", "\"\\u009b\\u202e\\u2066\""},
        {"/a/b-c_d.e:1", "/a/b-c_d.e:1"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const char *line = logfmt(0, LOG_INFO, "e", FIELDS(LOG_STR("k", pairs[i][0])));
        assert_string_equal(line + strlen("level=info msg=e k="), pairs[i][1]);
    }
}

TEST(any_bytes_become_text)
{
    static const char *const pairs[][2] = {
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff", "\\ufffd"},
        {"a\xc3", "a\\ufffd"},
        {"\xc0\x80", "\\ufffd\\ufffd"},
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},
        {"\xe2\x82", "\\ufffd\\ufffd"},
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "{\"level\":\"info\",\"msg\":\"e\",\"k\":\"%s\"}",
                 pairs[i][1]);
        assert_string_equal(json(0, LOG_INFO, "e", FIELDS(LOG_STR("k", pairs[i][0]))), expected);
    }
}

/* Whatever the size, a JSON record ends as an object, and no byte is written beyond the size. */
TEST(a_cut_record_is_well_formed)
{
    const struct log_field *fields =
        FIELDS(LOG_STR("first", "\"\"\"\"\"\"\"\""), LOG_UINT("n", 1234567890),
               LOG_STR("second", "\n\n\n\n\n\n\n"), LOG_INT("last", 1));

    for (int size = 64; size < 200; size++) {
        memset(record, '#', sizeof record);
        int n = log_format_json(record, size, 0, LOG_INFO, "event", fields);
        assert_in_range(n, 1, size);
        assert_int_equal(record[size], '#');
        assert_int_equal(record[n - 1], '}');
        int quotes = 0;
        for (int i = 0; i < n; i++)
            if (record[i] == '\\')
                i++;
            else
                quotes += record[i] == '"';
        assert_int_equal(quotes % 2, 0);
    }
}

TEST(a_long_text_is_cut_and_said_to_be)
{
    char text[300];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    int n = log_format_logfmt(record, 128, 0, LOG_INFO, "e",
                              FIELDS(LOG_STR("k", text), LOG_INT("after", 1)));
    record[n] = '\0';
    assert_non_null(strstr(record, "k=\"xxxx"));
    assert_non_null(strstr(record, "x\" truncated=true"));
    assert_null(strstr(record, "after"));
}

static enum log_level seen;
static int calls;

static void remember(void *arg, enum log_level level, const char *event,
                     const struct log_field *fields)
{
    assert_ptr_equal(arg, &calls);
    assert_string_equal(event, "event");
    assert_int_equal(fields[0].u, 7);
    seen = level;
    calls++;
}

TEST(below_the_threshold_nothing_is_called)
{
    struct log_sink sink = {.threshold = LOG_WARN, .write = remember, .arg = &calls};

    log_set_sink(&sink);
    log_info("event", LOG_UINT("n", 7));
    assert_int_equal(calls, 0);
    log_error("event", LOG_UINT("n", 7));
    assert_int_equal(calls, 1);
    assert_int_equal(seen, LOG_ERROR);
    log_set_threshold(LOG_DEBUG);
    log_debug("event", LOG_UINT("n", 7));
    assert_int_equal(calls, 2);
}

/* What `format` puts on stderr for one record. */
static void capture(struct log_form form, char *buf, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO);
    struct log_sink sink = log_stderr_sink(form, LOG_INFO);

    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    sink.write(sink.arg, LOG_INFO, "served", FIELDS(LOG_INT("n", 1)));
    dup2(saved, STDERR_FILENO);
    ssize_t n = read(ends[0], buf, size - 1);
    close(ends[0]);
    close(ends[1]);
    close(saved);
    assert_true(n > 0);
    buf[n] = '\0';
}

TEST(the_sink_writes_lines)
{
    char line[512];

    capture((struct log_form){.json = false}, line, sizeof line);
    assert_memory_equal(line, "time=20", 7);
    assert_non_null(strstr(line, "Z level=info msg=served n=1\n"));
    capture((struct log_form){.json = true}, line, sizeof line);
    assert_memory_equal(line, "{\"time\":\"20", 11);
    assert_non_null(strstr(line, "\"msg\":\"served\",\"n\":1}\n"));
    capture((struct log_form){.levels = true}, line, sizeof line);
    assert_memory_equal(line, "<6>time=20", 10);
    capture((struct log_form){.json = true, .levels = true}, line, sizeof line);
    assert_memory_equal(line, "<6>{\"time\":\"20", 14);
}

/* A record with its level, of either form. */
static const char *levelled(bool json, int size, enum log_level level, const char *event)
{
    const struct log_form form = {.json = json, .levels = true};
    int n = log_format(record, size, 0, form, level, event, NOTHING);

    assert_in_range(n, 0, size);
    record[n] = '\0';
    return record;
}

TEST(levels_are_those_of_syslog)
{
    assert_string_equal(levelled(false, 128, LOG_DEBUG, "e"), "<7>level=debug msg=e");
    assert_string_equal(levelled(false, 128, LOG_INFO, "e"), "<6>level=info msg=e");
    assert_string_equal(levelled(false, 128, LOG_AUDIT, "e"), "<5>level=audit msg=e");
    assert_string_equal(levelled(false, 128, LOG_WARN, "e"), "<4>level=warn msg=e");
    assert_string_equal(levelled(true, 128, LOG_ERROR, "e"),
                        "<3>{\"level\":\"error\",\"msg\":\"e\"}");
}

/* journald reads a level at the begin of each line. */
TEST(a_record_with_newlines_in_it_is_one_line)
{
    assert_string_equal(levelled(false, 128, LOG_WARN, "a\n<0>b\r\nc"),
                        "<4>level=warn msg=\"a\\n<0>b\\u000d\\nc\"");
}

TEST(a_level_counts_for_the_room_of_a_record)
{
    assert_int_equal(strlen(levelled(false, 2, LOG_WARN, "event")), 0);
    static const char event[] = "an event that is far too long for so few bytes";
    assert_memory_equal(levelled(true, 64, LOG_WARN, event), "<4>{", 4);
    assert_non_null(strstr(record, ",\"truncated\":true}"));
}
