/* Headers that an operator adds: what is taken, and what is refused without being said. */
#include "server/tracing/collector_headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

static struct collector_headers *parse(const char *text, char why[static 160])
{
    return collector_headers_parse(span_text(text), why, 160);
}

static void is_refused(struct span text, const char *expected)
{
    char why[160] = "";
    struct collector_headers *h = collector_headers_parse(text, why, sizeof why);
    collector_headers_free(h);
    if (h || !strstr(why, expected))
        fail_msg("expected \"%s\", is \"%s\"", expected, why);
    assert_null(strstr(why, "secret"));
}

TEST(a_header_is_a_line)
{
    char why[160];
    struct collector_headers *h = parse("# of the collector\n"
                                        "Authorization: Basic c2VjcmV0Og==\n"
                                        "\n"
                                        "  x-scope-orgid:\t7 \n"
                                        "X-Note: a: b",
                                        why);
    assert_non_null(h);
    assert_int_equal(h->count, 3);
    assert_string_equal(h->names[0], "Authorization");
    assert_string_equal(h->values[0], "Basic c2VjcmV0Og==");
    assert_string_equal(h->names[1], "x-scope-orgid");
    assert_string_equal(h->values[1], "7");
    assert_string_equal(h->values[2], "a: b");
    collector_headers_free(h);
}

TEST(nothing_is_no_header)
{
    char why[160];
    static const char *const texts[] = {"", "\n", "# x", "\n\n  \n#: y\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct collector_headers *h = parse(texts[i], why);
        assert_non_null(h);
        assert_int_equal(h->count, 0);
        collector_headers_free(h);
    }
    collector_headers_free(NULL);
}

TEST(what_is_no_header_is_refused_and_not_quoted)
{
    is_refused(span_text("A: b\nsecret\n"), "line 2: write");
    is_refused(span_text(": secret"), "line 1: there is no valid header name");
    is_refused(span_text("A B: secret"), "no valid header name");
    is_refused(span_text("A : secret"), "no valid header name");
    is_refused(span_text("A:\n"), "no value");
    is_refused(span_text("A: secret\r\nB: c"), "line 1: a control character");
    is_refused(span_of("A: secret\0B: c", 14), "a control character");
    is_refused(span_text("A: secret\x7f"), "a control character");
    is_refused(span_text("A: b\na: secret"), "line 2: this header is given twice");
}

TEST(what_the_server_says_itself_is_refused)
{
    static const char *const names[] = {"Host",   "content-type", "CONTENT-LENGTH",    "Connection",
                                        "Te",     "Upgrade",      "Transfer-Encoding", "Expect",
                                        "Trailer"};
    char line[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(line, sizeof line, "%s: secret", names[i]);
        is_refused(span_text(line), "the server's own to say");
    }
}

TEST(their_number_is_bounded)
{
    char text[40 * (COLLECTOR_HEADERS_MAX + 1)], why[160];
    size_t len = 0;
    for (int i = 0; i < COLLECTOR_HEADERS_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "h%d: x\n", i);
    struct collector_headers *h = parse(text, why);
    assert_non_null(h);
    assert_int_equal(h->count, COLLECTOR_HEADERS_MAX);
    collector_headers_free(h);
    snprintf(text + len, sizeof text - len, "more: secret\n");
    is_refused(span_text(text), "more than 32 headers");
}

TEST(a_file_is_named_that_cannot_be_taken)
{
    char path[] = "/tmp/collector_headers_XXXXXX", why[512],
         *large = calloc(1, COLLECTOR_HEADERS_BYTES + 1);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && large);
    assert_int_equal(write(fd, "A: b\n", 5), 5);
    struct collector_headers *h = collector_headers_load(path, why, sizeof why);
    assert_non_null(h);
    assert_string_equal(h->names[0], "A");
    collector_headers_free(h);
    memset(large, '#', COLLECTOR_HEADERS_BYTES + 1);
    assert_int_equal(pwrite(fd, large, COLLECTOR_HEADERS_BYTES, 0), COLLECTOR_HEADERS_BYTES);
    collector_headers_free(collector_headers_load(path, why, sizeof why));
    assert_int_equal(pwrite(fd, large, COLLECTOR_HEADERS_BYTES + 1, 0),
                     COLLECTOR_HEADERS_BYTES + 1);
    assert_null(collector_headers_load(path, why, sizeof why));
    assert_non_null(strstr(why, "larger than 16 KiB"));
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
    assert_null(collector_headers_load(path, why, sizeof why));
    assert_non_null(strstr(why, path));
    assert_non_null(strstr(why, "line 1"));
    close(fd);
    unlink(path);
    free(large);
    assert_null(collector_headers_load("/nowhere/at/all", why, sizeof why));
    assert_non_null(strstr(why, "/nowhere/at/all: No such file"));
}
