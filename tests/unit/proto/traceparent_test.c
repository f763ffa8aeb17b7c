/* W3C Trace Context: what is a traceparent, and what is none. */
#include "proto/traceparent.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"
#define GOOD  "00-" TRACE "-" SPAN "-01"

static bool is_one(const char *text)
{
    struct trace_context out;
    return traceparent_parse(span_text(text), &out);
}

TEST(it_is_read_and_written)
{
    struct trace_context context = {0};
    char text[TRACEPARENT_SIZE];
    assert_false(trace_context_is(&context));
    assert_true(traceparent_parse(span_text(GOOD), &context));
    assert_true(trace_context_is(&context) && trace_context_sampled(&context));
    assert_memory_equal(context.trace,
                        "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c",
                        TRACE_ID_LEN);
    assert_memory_equal(context.span, "\xb7\xad\x6b\x71\x69\x20\x33\x31", SPAN_ID_LEN);
    assert_string_equal(traceparent_text(&context, text), GOOD);
}

TEST(flags_that_nobody_knows_are_passed_on)
{
    struct trace_context context;
    char text[TRACEPARENT_SIZE];
    assert_true(traceparent_parse(span_text("00-" TRACE "-" SPAN "-fe"), &context));
    assert_false(trace_context_sampled(&context));
    assert_string_equal(traceparent_text(&context, text), "00-" TRACE "-" SPAN "-fe");
}

TEST(a_later_version_may_say_more_which_is_left_out)
{
    struct trace_context context;
    char text[TRACEPARENT_SIZE], longest[TRACEPARENT_LONGEST + 2];
    assert_true(traceparent_parse(span_text("01-" TRACE "-" SPAN "-01-and-more"), &context));
    assert_string_equal(traceparent_text(&context, text), GOOD);
    assert_true(is_one("fe-" TRACE "-" SPAN "-00"));
    assert_false(is_one("01-" TRACE "-" SPAN "-01x"));
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "01-" TRACE "-" SPAN "-01-", TRACEPARENT_LEN + 1);
    assert_true(traceparent_parse(span_of(longest, TRACEPARENT_LONGEST), &context));
    assert_false(traceparent_parse(span_of(longest, TRACEPARENT_LONGEST + 1), &context));
}

TEST(all_else_is_none)
{
    static const char *const wrong[] = {
        "",
        "00",
        TRACE,
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-011",
        "00-" TRACE "-" SPAN "-01-",
        "00-" TRACE "-" SPAN "-01-more",
        "ff-" TRACE "-" SPAN "-01",
        "0g-" TRACE "-" SPAN "-01",
        "00-" TRACE "-" SPAN "-0g",
        "00-" TRACE "-" SPAN "-0A",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "00-0AF7651916cd43dd8448eb211c80319c-" SPAN "-01",
        "00-" TRACE "-B7ad6b7169203331-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        " " GOOD,
        GOOD " ",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (is_one(wrong[i]))
            fail_msg("taken: \"%s\"", wrong[i]);
}

TEST(one_that_is_refused_leaves_what_was_there)
{
    struct trace_context context;
    char text[TRACEPARENT_SIZE];
    assert_true(traceparent_parse(span_text(GOOD), &context));
    assert_false(traceparent_parse(span_text("00-" TRACE "-0000000000000000-01"), &context));
    assert_string_equal(traceparent_text(&context, text), GOOD);
}

TEST(a_tracestate_is_printable_and_bounded)
{
    char text[TRACESTATE_MAX + 1];
    memset(text, 'a', sizeof text);
    assert_true(tracestate_valid(span_text("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7")));
    assert_true(tracestate_valid(span_of(text, TRACESTATE_MAX)));
    assert_false(tracestate_valid(span_of(text, TRACESTATE_MAX + 1)));
    assert_false(tracestate_valid(span_text("")));
    assert_false(tracestate_valid(span_text("a=\n")));
    assert_false(tracestate_valid(span_text("a=\x7f")));
    assert_false(tracestate_valid(span_text("a=\xc3\xa9")));
}
