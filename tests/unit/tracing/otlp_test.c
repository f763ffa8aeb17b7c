/* The encoding of spans, byte by byte as protobuf has it. */
#include "server/tracing/otlp.h"

#include <stdlib.h>

#include "tests/support/cmocka_env.h"

#define BYTES(text) (text), sizeof(text) - 1

static void is_span(const struct otlp_span *span, const char *bytes, size_t len)
{
    size_t size = otlp_span_size(span);
    uint8_t *out = malloc(size);
    assert_non_null(out);
    otlp_span_write(span, out);
    assert_int_equal(size, len);
    assert_memory_equal(out, bytes, len);
    free(out);
}

static const struct trace_context context = {
    .trace = "0123456789abcdef", .span = "SPANSPAN", .flags = TRACE_SAMPLED};

TEST(a_span_of_few_words)
{
    const struct otlp_span span = {.context = context,
                                   .name = span_text("echo"),
                                   .kind = OTLP_SERVER,
                                   .start = 1,
                                   .end = 0x0203};
    is_span(&span, BYTES("\x12\x3c"
                         "\x0a\x10"
                         "0123456789abcdef"
                         "\x12\x08SPANSPAN"
                         "\x2a\x04"
                         "echo"
                         "\x30\x02"
                         "\x39\x01\0\0\0\0\0\0\0"
                         "\x41\x03\x02\0\0\0\0\0\0"
                         "\x85\x01\x01\x01\0\0"));
}

TEST(a_span_that_says_all)
{
    const struct otlp_attribute attributes[] = {{.key = "k", .text = span_text("v")},
                                                {.key = "n", .number = 300},
                                                {.key = "e", .text = span_text("")}};
    const struct otlp_span span = {.context = context,
                                   .parent = "PARENTPA",
                                   .parent_remote = true,
                                   .state = span_text("a=b"),
                                   .verb = "task",
                                   .name = span_text("echo"),
                                   .kind = OTLP_CONSUMER,
                                   .start = 1,
                                   .end = 2,
                                   .attributes = attributes,
                                   .attribute_count = 3,
                                   .failed = true,
                                   .error = span_text("no")};
    is_span(&span, BYTES("\x12\x75"
                         "\x0a\x10"
                         "0123456789abcdef"
                         "\x12\x08SPANSPAN"
                         "\x1a\x03"
                         "a=b"
                         "\x22\x08PARENTPA"
                         "\x2a\x09task echo"
                         "\x30\x05"
                         "\x39\x01\0\0\0\0\0\0\0"
                         "\x41\x02\0\0\0\0\0\0\0"
                         "\x4a\x08\x0a\x01k\x12\x03\x0a\x01v"
                         "\x4a\x08\x0a\x01n\x12\x03\x18\xac\x02"
                         "\x4a\x07\x0a\x01"
                         "e\x12\x02\x0a\x00"
                         "\x7a\x06\x12\x02no\x18\x02"
                         "\x85\x01\x01\x03\0\0"));
}

TEST(the_head_counts_the_spans_behind_it)
{
    const struct otlp_attribute resource[] = {{.key = "r", .text = span_text("x")}};
    const struct otlp_head head = {
        .resource = resource, .resource_count = 1, .scope = "s", .version = "v"};
    const char expected[] = "\x0a\xe0\x04"
                            "\x0a\x0a\x0a\x08\x0a\x01r\x12\x03\x0a\x01x"
                            "\x12\xd1\x04"
                            "\x0a\x06\x0a\x01s\x12\x01v";
    uint8_t out[sizeof expected - 1];
    assert_int_equal(otlp_head_size(&head, 585), sizeof out);
    otlp_head_write(&head, 585, out);
    assert_memory_equal(out, expected, sizeof out);
}
