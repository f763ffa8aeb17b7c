/* What collectors answer: what of it is understood, and that rubbish is not. */
#include "server/tracing/otlp_answer.h"

#include "tests/support/cmocka_env.h"

#define BYTES(text) span_of(text, sizeof text - 1)

static void is(struct span body, uint64_t rejected, const char *text)
{
    struct otlp_answer answer;
    assert_true(otlp_answer_read(body, &answer));
    assert_int_equal(answer.rejected, rejected);
    if (!span_is(answer.text, text))
        fail_msg("\"%.*s\", not \"%s\"", (int)answer.text.len, (const char *)answer.text.at, text);
}

TEST(an_empty_answer_is_content)
{
    is(BYTES(""), 0, "");
    is(BYTES("\x0a\x00"), 0, "");
}

TEST(spans_that_are_rejected_have_a_number_and_a_text)
{
    is(BYTES("\x0a\x05\x08\x07\x12\x01x"), 7, "x");
    is(BYTES("\x0a\x03\x08\xac\x02"), 300, "");
    is(BYTES("\x0a\x04\x12\x02no"), 0, "no");
    /* -1: a number below zero rejects nothing */
    is(BYTES("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, "");
}

TEST(fields_that_are_not_known_are_passed_over)
{
    is(BYTES("\x10\x05"
             "\x19"
             "12345678"
             "\x25"
             "1234"
             "\x2a\x03"
             "abc"
             "\x0a\x0d\x20\x01\x08\x02\x35"
             "1234"
             "\x12\x02"
             "no"),
       2, "no");
    /* the same numbers, of another kind */
    is(BYTES("\x08\x05\x0a\x04\x0a\x00\x10\x01"), 0, "");
    is(BYTES("\x0a\x04\x08\x02\x0a\x00"), 2, "");
}

TEST(what_is_cut_off_or_rubbish_is_no_answer)
{
    static const char whole[] = "\x0a\x05\x08\x07\x12\x01x";
    struct otlp_answer answer = {.rejected = 1};
    for (size_t len = 1; len < sizeof whole - 1; len++) {
        assert_false(otlp_answer_read(span_of(whole, len), &answer));
        assert_int_equal(answer.rejected, 0);
        assert_int_equal(answer.text.len, 0);
    }
    assert_false(otlp_answer_read(BYTES("{\"partialSuccess\":{}}"), &answer));
    assert_false(otlp_answer_read(BYTES("\x0b\x00"), &answer)); /* a group */
    assert_false(otlp_answer_read(BYTES("\x00\x00"), &answer)); /* field 0 */
    assert_false(otlp_answer_read(BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &answer));
    assert_false(
        otlp_answer_read(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &answer));
}

TEST(a_refusal_has_a_text)
{
    struct otlp_answer answer;
    assert_true(otlp_refusal_read(BYTES("\x08\x03\x12\x05quota"), &answer));
    assert_true(span_is(answer.text, "quota"));
    assert_int_equal(answer.rejected, 0);
    assert_true(otlp_refusal_read(BYTES(""), &answer));
    assert_int_equal(answer.text.len, 0);
    assert_false(otlp_refusal_read(BYTES("Bad Request"), &answer));
    assert_int_equal(answer.text.len, 0);
    assert_false(otlp_refusal_read(BYTES("\x12\x02no\xff"), &answer));
    assert_int_equal(answer.text.len, 0);
}
