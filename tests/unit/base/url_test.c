#include "base/url.h"

#include <string.h>

#include "tests/support/cmocka_env.h"

static struct url good(const char *text)
{
    struct url url;

    assert_null(url_parse(text, URL_LISTEN, &url));
    return url;
}

static void bad(const char *text, const char *part)
{
    struct url url;
    const char *why = url_parse(text, URL_LISTEN, &url);

    if (!why || !strstr(why, part))
        fail_msg("%s: \"%s\" does not speak of \"%s\"", text, why ? why : "accepted", part);
}

TEST(takes_addresses_apart)
{
    struct url v4 = good("ergon://127.0.0.1:0");
    assert_int_equal(v4.scheme, URL_TCP);
    assert_int_equal(v4.kind, URL_HOST_V4);
    assert_string_equal(v4.host, "127.0.0.1");
    assert_int_equal(v4.port, 0);

    struct url v6 = good("ergons://[fe80::1]:65535");
    assert_int_equal(v6.scheme, URL_TLS);
    assert_int_equal(v6.kind, URL_HOST_V6);
    assert_string_equal(v6.host, "fe80::1");
    assert_int_equal(v6.port, 65535);

    struct url name = good("ergon://jobs-1.example.org/");
    assert_int_equal(name.kind, URL_HOST_NAME);
    assert_string_equal(name.host, "jobs-1.example.org");
}

TEST(knows_the_default_ports)
{
    assert_int_equal(good("ergon://localhost").port, 7466);
    assert_int_equal(good("ergons://localhost").port, 7467);
    assert_int_equal(good("ergons://[::]").port, 7467);
}

TEST(takes_unix_paths)
{
    char longest[256] = "unix:///";

    assert_string_equal(good("unix:///run/ergon.sock").path, "/run/ergon.sock");
    memset(longest + 8, 'a', URL_PATH_MAX - 1);
    assert_int_equal(strlen(good(longest).path), URL_PATH_MAX);
    longest[8 + URL_PATH_MAX - 1] = 'a';
    bad(longest, "107 bytes");
    bad("unix://run/ergon.sock", "absolute");
    bad("unix:///", "absolute");
}

TEST(refuses_the_rest)
{
    char host[400] = "ergon://";

    memset(host + 8, 'a', 254);
    bad(host, "253 bytes");
    bad("", "a server URL is");
    bad("http://a", "a server URL is");
    bad("127.0.0.1:7466", "a server URL is");
    bad("ergon://", "host is missing");
    bad("ergon://:7466", "host is missing");
    bad("ergon://[]:1", "host is missing");
    bad("ergon://a:", "port");
    bad("ergon://a:x", "port");
    bad("ergon://a:-1", "port");
    bad("ergon://a:65536", "port");
    bad("ergon://a:0000001", "port");
    bad("ergon://a/b", "nothing may follow");
    bad("ergon://a?b", "nothing may follow");
    bad("ergon://user@a", "nothing may follow");
    bad("ergon://::1:7466", "brackets");
    bad("ergon://[::1", "]");
    bad("ergon://[::g]:1", "no IPv6 address");
    bad("ergon://[::1]x", "nothing may follow");
    bad("ergon://300.0.0.1", "not an IPv4 address");
    bad("ergon://1.2.3:4", "not an IPv4 address");
    bad("ergon://a b:1", "the host is a name");
    bad("ergon://-a:1", "the host is a name");
}

TEST(who_connects_needs_a_port_and_leaves_names_to_the_resolver)
{
    static const char *const taken[] = {"ergon://127.0.0.1:1234", "ergons://[fe80::1]:9/",
                                        "ergons://[fe80::1%eth0]", "ergon://127.1", "ergon://-a"};
    static const char *const refused[] = {"",
                                          "localhost:7466",
                                          "http://localhost",
                                          "ergon://",
                                          "ergon://:7466",
                                          "ergon://h:0",
                                          "ergon://h:65536",
                                          "ergon://h:",
                                          "ergon://h:12x",
                                          "ergon://a b",
                                          "ergon://[::1",
                                          "ergon://[::1]x",
                                          "ergon://::1:7466",
                                          "ergon://user@h",
                                          "ergon://h/path",
                                          "unix://relative",
                                          "unix:///"};
    struct url url;

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_null(url_parse(taken[i], URL_CONNECT, &url));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (url_parse(refused[i], URL_CONNECT, &url) == NULL)
            fail_msg("%s was taken", refused[i]);
}

TEST(writes_what_it_reads)
{
    static const char *const texts[] = {"ergon://127.0.0.1:7466", "ergons://[::]:0",
                                        "ergon://a.example:1", "unix:///run/ergon.sock"};
    char buf[280];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct url url = good(texts[i]);
        assert_true(url_text(&url, buf, sizeof buf));
        assert_string_equal(buf, texts[i]);
        assert_false(url_text(&url, buf, strlen(texts[i])));
    }
}

TEST(knows_what_is_local)
{
    static const char *const local[] = {
        "ergon://127.0.0.1", "ergon://127.8.9.1",          "ergon://[::1]",
        "ergon://localhost", "ergon://[::ffff:127.0.0.1]", "unix:///a"};
    static const char *const open[] = {"ergon://0.0.0.0", "ergon://[::]", "ergon://10.0.0.1",
                                       "ergon://127.example.org", "ergon://[::ffff:10.0.0.1]"};

    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        struct url url = good(local[i]);
        assert_true(url_is_local(&url));
    }
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        struct url url = good(open[i]);
        assert_false(url_is_local(&url));
    }
}

TEST(an_admin_listener_speaks_http)
{
    struct url url;
    char text[280];

    assert_null(url_parse("https://[::1]", URL_ADMIN, &url));
    assert_int_equal(url.scheme, URL_TLS);
    assert_int_equal(url.port, 7468);
    assert_true(url_is_local(&url));
    assert_true(url_text(&url, text, sizeof text));
    assert_string_equal(text, "https://[::1]:7468");
    assert_null(url_parse("http://0.0.0.0:0", URL_ADMIN, &url));
    assert_int_equal(url.scheme, URL_TCP);
    assert_int_equal(url.port, 0);
    assert_null(url_parse("unix:///run/admin.sock", URL_ADMIN, &url));
    assert_true(url.http);
    assert_non_null(url_parse("ergon://127.0.0.1:7466", URL_ADMIN, &url));
    assert_non_null(url_parse("http://127.0.0.1:7468", URL_LISTEN, &url));
    assert_non_null(url_parse("http://300.0.0.1", URL_ADMIN, &url));
}

TEST(a_database_elsewhere_is_proven_by_its_certificate)
{
    static const char *const local[] = {"postgresql:///tasks",
                                        "postgresql://localhost/tasks",
                                        "service=tasks",
                                        "postgres://me@127.0.0.1:5433",
                                        "postgresql://[::1]:5432/tasks",
                                        "postgresql://%2Frun/tasks",
                                        "postgresql:///t?host=/run/pg",
                                        "postgresql://db/t?sslmode=verify-full"};
    static const char *const open[] = {"postgresql://db/tasks", "postgresql://me@10.0.0.1:5432",
                                       "postgresql://localhost,db/t?sslmode=require",
                                       "postgresql:///tasks?host=db"};

    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        assert_false(url_is_unproven(local[i]));
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        assert_true(url_is_unproven(open[i]));
}
