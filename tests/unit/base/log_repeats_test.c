#include "base/log_repeats.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

static struct log_repeats table;
static struct log_sum sum;
static uint64_t now; /* ns, virtual */

static void begin(uint32_t most)
{
    log_repeats_init(&table, most, SECOND);
    now = 5 * SECOND;
}

static bool admit(const char *event, const char *source)
{
    return log_repeats_admit(&table, now, LOG_WARN, event, source, &sum);
}

static uint32_t admitted(uint32_t count, const char *event, const char *source)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++)
        n += admit(event, source);
    return n;
}

static bool due(void)
{
    return log_repeats_due(&table, now, false, &sum);
}

TEST(so_many_are_written_and_the_rest_is_one_sum)
{
    begin(20);
    assert_int_equal(admitted(283000, "authentication failed", "127.0.0.1"), 20);
    assert_int_equal(log_repeats_next(&table), now + SECOND);
    assert_false(due());
    now += SECOND;
    assert_true(due());
    assert_string_equal(sum.event, "authentication failed");
    assert_string_equal(sum.source, "127.0.0.1");
    assert_int_equal(sum.level, LOG_WARN);
    assert_int_equal(sum.times, 282980);
    assert_int_equal(sum.within, SECOND);
    assert_false(due());
    assert_true(log_repeats_next(&table) == UINT64_MAX);
}

TEST(the_next_window_begins_with_the_sum_of_the_last)
{
    begin(2);
    assert_int_equal(admitted(5, "event", "a"), 2);
    now += 1500 * MS;
    assert_true(admit("event", "a"));
    assert_int_equal(sum.times, 3);
    assert_int_equal(sum.within, 1500 * MS);
    assert_true(admit("event", "a"));
    assert_int_equal(sum.times, 0);
    assert_false(admit("event", "a"));
    assert_int_equal(log_repeats_next(&table), now + SECOND);
}

TEST(a_slow_source_is_never_summed_up)
{
    begin(2);
    for (int i = 0; i < 100; i++, now += 500 * MS)
        assert_true(admit("event", "a"));
    assert_false(due());
}

TEST(kinds_and_sources_do_not_hide_each_other)
{
    begin(1);
    assert_true(admit("one", "a"));
    assert_true(admit("one", "b"));
    assert_true(admit("two", "a"));
    assert_true(log_repeats_admit(&table, now, LOG_ERROR, "one", "a", &sum));
    assert_int_equal(admitted(10, "one", "a"), 0);
    assert_true(admit("three", ""));
}

TEST(without_a_limit_all_are_written)
{
    begin(0);
    assert_int_equal(admitted(1000, "event", "a"), 1000);
    assert_false(due());
}

/* More sources than places: those without one share theirs, and each record is counted. */
TEST(the_table_is_bounded)
{
    enum { SOURCES = 5000 };
    uint64_t written = 0, summed = 0;
    bool shared = false;

    begin(1);
    for (int i = 0; i < 2 * SOURCES; i++) {
        char source[LOG_SOURCE_MAX];
        snprintf(source, sizeof source, "10.0.%d.%d", i % SOURCES / 250, i % SOURCES % 250);
        written += admit("event", source);
    }
    assert_in_range(written, LOG_REPEATS_PLACES / 2, LOG_REPEATS_ALL);
    assert_true(log_repeats_admit(&table, now, LOG_ERROR, "dying", "itself", &sum));
    now += SECOND;
    while (due()) {
        summed += sum.times;
        shared |= sum.times > SOURCES && strcmp(sum.event, "event") == 0 && !*sum.source;
    }
    assert_int_equal(written + summed, 2 * SOURCES);
    assert_true(shared);
}

/* Kinds that meet in a shared place are several; but few meet. */
TEST(a_crowd_of_sources_leaves_other_kinds_alone)
{
    static const char *const kinds[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    enum { KINDS = sizeof kinds / sizeof kinds[0], SOURCES = 5000 };
    unsigned alone = 0;

    begin(1);
    for (int i = 0; i < SOURCES; i++) {
        char source[LOG_SOURCE_MAX];
        snprintf(source, sizeof source, "10.0.%d.%d", i / 250, i % 250);
        admit("event", source);
    }
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < 2; i++)
            alone += admit(kinds[k], "somebody");
    assert_in_range(alone, KINDS / 2, KINDS);
    for (now += SECOND; due();)
        assert_true(sum.times > 0 && (sum.event == NULL || sum.level == LOG_WARN));
}

TEST(places_come_free)
{
    begin(1);
    for (int i = 0; i < 20 * LOG_REPEATS_PLACES; i++, now += SECOND) {
        char source[LOG_SOURCE_MAX];
        snprintf(source, sizeof source, "%d", i);
        assert_true(admit("event", source));
    }
}

TEST(at_the_end_every_sum_is_due)
{
    begin(1);
    admitted(4, "event", "a");
    now += MS;
    assert_true(log_repeats_due(&table, now, true, &sum));
    assert_int_equal(sum.times, 3);
    assert_int_equal(sum.within, MS);
}

static const char *source_of(struct log_field first, struct log_field second)
{
    static char source[LOG_SOURCE_MAX];
    const struct log_field fields[] = {LOG_UINT("conn", 1), first, second, {0}};

    log_source(fields, source);
    return source;
}

TEST(the_source_is_the_first_text)
{
    struct log_field other = LOG_STR("reason", "r");

    assert_string_equal(source_of(LOG_PEER("peer", "192.0.2.1:4711"), other), "192.0.2.1");
    assert_string_equal(source_of(LOG_PEER("peer", "[2001:db8::1]:47"), other), "[2001:db8::1]");
    assert_string_equal(source_of(LOG_PEER("peer", "unix:1000"), other), "unix:1000");
    assert_string_equal(source_of(LOG_STR("object", "a:b"), other), "a:b");
    assert_string_equal(source_of(LOG_STR("object", NULL), other), "r");
    assert_string_equal(source_of(LOG_INT("n", 1), LOG_INT("m", 1)), "");
}

TEST(a_long_source_is_cut)
{
    char text[200];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(strlen(source_of(LOG_STR("s", text), LOG_INT("n", 1))), LOG_SOURCE_MAX - 1);
    text[150] = ':';
    assert_int_equal(strlen(source_of(LOG_PEER("s", text), LOG_INT("n", 1))), LOG_SOURCE_MAX - 1);
}
