/* A history is bounded, forgets its oldest first, and its numbers never go back. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/history.h"
#include "server/jobs/core/table.h"
#include "tests/support/cmocka_env.h"

static struct job_table *table_of(uint32_t history_max)
{
    static struct job_table l;
    l.history_max = history_max;
    return &l;
}

static uint32_t add(struct job_table *l, struct job *e, const char *text, size_t data)
{
    static uint8_t bytes[2 * HISTORY_BYTES_MAX];
    struct history_event event = {.what = JOB_EVENT_PROGRESS,
                                  .reason = JOB_WHY_RETRY,
                                  .attempt = 3,
                                  .at = 1000,
                                  .text = span_text(text),
                                  .data = span_of(bytes, data)};
    return history_add(e, &event, l->history_max);
}

TEST(the_submission_needs_no_memory)
{
    struct job e = {.created = 77};
    struct history_event event;
    assert_int_equal(history_next(&e), 2);
    assert_int_equal(history_bytes(&e), 0);
    assert_true(history_get(&e, 1, &event));
    assert_int_equal(event.seq, 1);
    assert_int_equal(event.what, JOB_EVENT_SUBMITTED);
    assert_int_equal(event.at, 77);
    assert_true(history_get(&e, 0, &event));
    assert_int_equal(event.seq, 1);
    assert_false(history_get(&e, 2, &event));
}

TEST(an_event_is_read_as_it_was_added)
{
    struct job_table *l = table_of(10);
    struct job e = {0};
    struct history_event event;
    assert_int_equal(add(l, &e, "half", 5), 2);
    assert_int_equal(add(l, &e, "", 0), 3);
    assert_true(history_get(&e, 2, &event));
    assert_int_equal(event.seq, 2);
    assert_int_equal(event.attempt, 3);
    assert_int_equal(event.what, JOB_EVENT_PROGRESS);
    assert_int_equal(event.reason, JOB_WHY_RETRY);
    assert_int_equal(event.at, 1000);
    assert_true(span_is(event.text, "half"));
    assert_int_equal(event.data.len, 5);
    assert_true(history_get(&e, 3, &event));
    assert_int_equal(event.text.len, 0);
    assert_false(history_get(&e, 4, &event));
    assert_int_equal(history_next(&e), 4);
    history_free(&e);
    assert_null(e.history);
}

/* Reads all, forwards and then at random. */
static void reads_from(const struct job *e, uint32_t first, uint32_t next)
{
    struct history_event event;
    char text[16];
    for (uint32_t seq = first; seq < next; seq++) {
        assert_true(history_get(e, seq, &event));
        assert_int_equal(event.seq, seq);
        snprintf(text, sizeof text, "%u", (unsigned)seq);
        assert_true(span_is(event.text, text));
    }
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t seq = first + i * 7919 % (next - first);
        assert_true(history_get(e, seq, &event));
        assert_int_equal(event.seq, seq);
    }
    assert_true(history_get(e, 2, &event));
    assert_int_equal(event.seq, first);
    assert_false(history_get(e, next, &event));
}

TEST(the_oldest_are_dropped_first)
{
    struct job_table *l = table_of(100);
    struct job e = {0};
    char text[16];
    for (uint32_t seq = 2; seq < 1000; seq++) {
        snprintf(text, sizeof text, "%u", (unsigned)seq);
        assert_int_equal(add(l, &e, text, seq % 50), seq);
        if (seq % 37 == 0)
            reads_from(&e, seq < 101 ? 2 : seq - 99, seq + 1);
    }
    history_free(&e);
}

TEST(its_bytes_are_bounded)
{
    struct job_table *l = table_of(10000);
    struct job e = {0};
    struct history_event event;
    for (uint32_t i = 0; i < 20000; i++) {
        add(l, &e, "some text", i % 997 * (i % 40 == 0));
        assert_true(history_bytes(&e) <= HISTORY_BYTES_MAX + 64);
    }
    assert_int_equal(history_next(&e), 20002);
    assert_true(history_get(&e, 2, &event));
    assert_in_range(event.seq, 20001 - HISTORY_BYTES_MAX / 24, 20001 - HISTORY_BYTES_MAX / 128);
    history_free(&e);
}

TEST(what_is_too_long_is_cut)
{
    struct job_table *l = table_of(10);
    struct job e = {0};
    struct history_event event;
    char text[HISTORY_TEXT_MAX + 10];
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = i % 2 == 0 ? 'x' : 'y';
    text[sizeof text - 1] = '\0';
    memcpy(text + HISTORY_TEXT_MAX - 1, "\xc3\xa4", 2); /* one character */
    add(l, &e, text, HISTORY_DATA_MAX);
    assert_true(history_get(&e, 2, &event));
    assert_int_equal(event.text.len, HISTORY_TEXT_MAX - 1);
    assert_int_equal(event.data.len, HISTORY_DATA_MAX);
    add(l, &e, "more", HISTORY_DATA_MAX + 1); /* half a value is none */
    assert_true(history_get(&e, 3, &event));
    assert_true(span_is(event.text, "more"));
    assert_int_equal(event.data.len, 0);
    history_free(&e);
}

TEST(with_a_bound_of_none_the_numbers_go_on)
{
    struct job_table *l = table_of(0);
    struct job e = {0};
    struct history_event event;
    assert_int_equal(add(l, &e, "a", 3), 2);
    assert_int_equal(add(l, &e, "b", 3), 3);
    assert_false(history_get(&e, 2, &event));
    assert_int_equal(history_next(&e), 4);
    history_free(&e);
}

TEST(behind_the_last_number_there_is_none)
{
    struct job_table *l = table_of(10);
    struct job e = {0};
    struct history_event event;
    history_skip(&e, JOB_COUNT_MAX);
    assert_int_equal(add(l, &e, "last", 0), JOB_COUNT_MAX);
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(l, &e, "more", 0), (uint32_t)JOB_COUNT_MAX + 1);
    assert_true(history_get(&e, 2, &event));
    assert_int_equal(event.seq, JOB_COUNT_MAX);
    assert_false(history_get(&e, event.seq + 1, &event));
    history_free(&e);
}

static uint32_t add_failure(struct job_table *l, struct job *e, size_t traceback)
{
    static uint8_t bytes[16 * 1024];
    struct history_event event = {.what = JOB_EVENT_ATTEMPT_FAILED,
                                  .attempt = history_next(e),
                                  .text = span_text("BAD: it broke"),
                                  .data = span_of(bytes, traceback)};
    return history_add(e, &event, l->history_max);
}

TEST(old_tracebacks_go_before_events_do)
{
    enum { ONE = 16 * 1024, COUNT = 10 };
    struct job_table *l = table_of(100);
    struct job e = {0};
    struct history_event event;
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(add_failure(l, &e, ONE), i + 2);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(history_get(&e, i + 2, &event));
        assert_int_equal(event.seq, i + 2);
        assert_true(span_is(event.text, "BAD: it broke"));
        assert_int_equal(event.data.len, i < COUNT - 3 ? 0 : ONE);
    }
    for (uint32_t i = COUNT; i > 0; i--) {
        assert_true(history_find(&e, JOB_EVENT_ATTEMPT_FAILED, i + 1, &event));
        assert_int_equal(event.seq, i + 1);
    }
    assert_false(history_find(&e, JOB_EVENT_TIMED_OUT, 2, &event));
    assert_false(history_find(&e, JOB_EVENT_ATTEMPT_FAILED, COUNT + 2, &event));
    history_free(&e);
}
