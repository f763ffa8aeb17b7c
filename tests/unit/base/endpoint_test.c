/* Where spans go. */
#include "base/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

static void is(const char *text, const char *host, unsigned port, const char *path,
               const char *authority)
{
    struct endpoint e;
    const char *wrong = endpoint_parse(text, &e);
    if (wrong)
        fail_msg("%s: %s", text, wrong);
    assert_string_equal(e.host, host);
    assert_int_equal(e.port, port);
    assert_string_equal(e.path, path);
    assert_string_equal(e.authority, authority);
}

TEST(what_is_left_out_is_as_otlp_has_it)
{
    is("http://localhost", "localhost", 4318, "/v1/traces", "localhost:4318");
    is("http://localhost/", "localhost", 4318, "/v1/traces", "localhost:4318");
    is("http://10.0.0.7:80", "10.0.0.7", 80, "/v1/traces", "10.0.0.7:80");
    is("http://[::1]", "::1", 4318, "/v1/traces", "[::1]:4318");
    is("http://[fe80::1]:9/x", "fe80::1", 9, "/x", "[fe80::1]:9");
    is("http://a-b.example/otlp/v1/traces?x=1", "a-b.example", 4318, "/otlp/v1/traces?x=1",
       "a-b.example:4318");
}

TEST(https_has_the_port_of_the_web)
{
    struct endpoint e;
    is("https://otlp.example", "otlp.example", 443, "/v1/traces", "otlp.example:443");
    is("https://otlp.example:4318/x", "otlp.example", 4318, "/x", "otlp.example:4318");
    is("https://[::1]/x", "::1", 443, "/x", "[::1]:443");
    assert_null(endpoint_parse("https://a", &e));
    assert_true(e.tls);
    assert_null(endpoint_parse("http://a:443", &e));
    assert_false(e.tls);
}

TEST(all_else_is_refused_and_says_what_is_wanted)
{
    static const char *const wrong[] = {
        "",
        "localhost",
        "http://",
        "http:///v1",
        "http://:80",
        "http://a:",
        "http://a:0",
        "http://a:65536",
        "http://a:123456",
        "http://a:8x",
        "http://a b",
        "http://user@a",
        "http://[::1",
        "http://[x]",
        "http://a/b c",
        "http://a/\r\nX: y",
        "ftp://a",
        "https://",
        "https:/a",
        "httpss://a",
    };
    struct endpoint e;
    char text[ENDPOINT_HOST_MAX + ENDPOINT_PATH_MAX + 32];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!endpoint_parse(wrong[i], &e))
            fail_msg("taken: \"%s\"", wrong[i]);
    snprintf(text, sizeof text, "http://%0*d", ENDPOINT_HOST_MAX, 0);
    assert_null(endpoint_parse(text, &e));
    snprintf(text, sizeof text, "http://%0*d", ENDPOINT_HOST_MAX + 1, 0);
    assert_non_null(endpoint_parse(text, &e));
    snprintf(text, sizeof text, "http://a/%0*d", ENDPOINT_PATH_MAX - 1, 0);
    assert_null(endpoint_parse(text, &e));
    snprintf(text, sizeof text, "http://a/%0*d", ENDPOINT_PATH_MAX, 0);
    assert_non_null(endpoint_parse(text, &e));
}
