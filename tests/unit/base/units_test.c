#include "base/instant.h"
#include "base/units.h"
#include "tests/support/cmocka_env.h"

static void duration_is(const char *text, uint64_t expected)
{
    uint64_t ns = 1;

    assert_true(units_duration(span_text(text), &ns));
    assert_int_equal(ns, expected);
}

static void size_is(const char *text, uint64_t expected)
{
    uint64_t bytes = 1;

    assert_true(units_size(span_text(text), &bytes));
    assert_int_equal(bytes, expected);
}

TEST(durations_are_read)
{
    duration_is("0", 0);
    duration_is("0s", 0);
    duration_is("7ns", 7);
    duration_is("50us", 50000);
    duration_is("250ms", 250000000);
    duration_is("5s", 5000000000);
    duration_is("2m", 120000000000);
    duration_is("1h", 3600000000000);
    duration_is("1d", 86400000000000);
    duration_is("18446744073709551615ns", UINT64_MAX);
}

TEST(durations_are_refused)
{
    static const char *const bad[] = {"",     "5",       "s",
                                      "-5s",  "+5s",     "5 s",
                                      " 5s",  "5s ",     "5S",
                                      "5.5s", "1h30m",   "5secs",
                                      "0x5s", "213504d", "18446744073709551616ns",
                                      "5m\n", "٥s",      "000000000000000000005s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ns;
        if (units_duration(span_text(bad[i]), &ns))
            fail_msg("\"%s\" was taken for a duration", bad[i]);
    }
}

TEST(what_is_too_long_is_told_from_what_is_none)
{
    static const char *const none[] = {"", "5", "d", "-5d", "99999999", "5 d", "99999999x"};
    assert_true(units_duration_too_long(span_text("99999999d")));
    assert_true(units_duration_too_long(span_text("18446744073709551616ns")));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(units_duration_too_long(span_text(none[i])));
    assert_string_equal(units_duration_expected(span_text("99999999d")),
                        "a duration of at most 213503d");
    assert_string_equal(units_duration_expected(span_text("5")),
                        "a duration with a unit, as 250ms or 5s");
}

TEST(sizes_are_read)
{
    size_is("0", 0);
    size_is("5b", 5);
    size_is("64k", 65536);
    size_is("64K", 65536);
    size_is("64kb", 65536);
    size_is("64KiB", 65536);
    size_is("16m", 16777216);
    size_is("16MB", 16777216);
    size_is("1g", 1073741824);
    size_is("1GiB", 1073741824);
}

TEST(sizes_are_refused)
{
    static const char *const bad[] = {"",   "64",   "k",    "-1k", "1 k",  "1ki",         "1kbb",
                                      "1t", "1bib", "1.5m", "5bb", "1kb ", "17179869184g"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t bytes;
        if (units_size(span_text(bad[i]), &bytes))
            fail_msg("\"%s\" was taken for a size", bad[i]);
    }
}

TEST(texts_are_the_shortest_exact_ones)
{
    char buf[32];

    assert_string_equal(units_duration_text(0, buf, sizeof buf), "0");
    assert_string_equal(units_duration_text(250000000, buf, sizeof buf), "250ms");
    assert_string_equal(units_duration_text(60000000000, buf, sizeof buf), "1m");
    assert_string_equal(units_duration_text(90000000000, buf, sizeof buf), "90s");
    assert_string_equal(units_duration_text(UINT64_MAX, buf, sizeof buf), "18446744073709551615ns");
    assert_string_equal(units_size_text(0, buf, sizeof buf), "0");
    assert_string_equal(units_size_text(1000, buf, sizeof buf), "1000b");
    assert_string_equal(units_size_text(16777216, buf, sizeof buf), "16m");
}

TEST(texts_read_back)
{
    char buf[32];

    for (uint64_t n = 1; n < UINT64_MAX / 7; n = n * 7 + 3) {
        duration_is(units_duration_text(n, buf, sizeof buf), n);
        size_is(units_size_text(n, buf, sizeof buf), n);
    }
}

TEST(instants_are_read)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-22T09:30:00Z", 1795339800000000000},
        {"2026-11-22t09:30:00.25z", 1795339800250000000},
        {"2026-11-22 10:30:00+01:00", 1795339800000000000},
        {"2026-11-22T04:00:00.000000001-05:30", 1795339800000000001},
        {"2028-02-29T00:00:00Z", 1835395200000000000},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t ns;
        if (!instant_parse(span_text(good[i].text), &ns) || ns != good[i].ns)
            fail_msg("\"%s\" was not read, or wrongly", good[i].text);
    }
}

TEST(instants_are_refused)
{
    static const char *const bad[] = {"",
                                      "2026-11-22",
                                      "2026-11-22T09:30:00",
                                      "2026-11-22T09:30Z",
                                      "2026-02-29T00:00:00Z",
                                      "2026-13-01T00:00:00Z",
                                      "2026-11-22T24:30:00Z",
                                      "2026-11-22T09:30:00.Z",
                                      "2026-11-22T09:30:00+1:00",
                                      "2026-11-22T09:30:00+24:00",
                                      "2026-11-22T09:30:00Zx",
                                      "1969-12-31T23:59:59Z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t ns;
        if (instant_parse(span_text(bad[i]), &ns))
            fail_msg("\"%s\" was taken for a moment", bad[i]);
    }
}
