#include "server/admin/accept.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <sys/queue.h>

#include "tests/support/cmocka_env.h"

static const struct accept_media plain = {"text/plain", "0.0.4"};
static const struct accept_media metrics = {"application/openmetrics-text", "1.0.0"};

static struct evkeyvalq headers;

static void request(const char *name, const char *first, const char *second)
{
    evhttp_clear_headers(&headers);
    TAILQ_INIT(&headers);
    evhttp_add_header(&headers, "Host", "a");
    if (first)
        evhttp_add_header(&headers, name, first);
    if (second)
        evhttp_add_header(&headers, name, second);
}

static unsigned weight(const struct accept_media *media, const char *accept)
{
    request("Accept", accept, NULL);
    unsigned w = accept_media(&headers, media).weight;
    evhttp_clear_headers(&headers);
    return w;
}

static bool is_named(const struct accept_media *media, const char *accept)
{
    request("Accept", accept, NULL);
    bool named = accept_media(&headers, media).named;
    evhttp_clear_headers(&headers);
    return named;
}

static bool takes_gzip(const char *coding)
{
    request("accept-encoding", coding, NULL);
    bool takes = accept_gzip(&headers);
    evhttp_clear_headers(&headers);
    return takes;
}

static int set_up(void **state)
{
    (void)state;
    TAILQ_INIT(&headers);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    evhttp_clear_headers(&headers);
    return 0;
}

#define ACCEPT_TEST(name) TEST_WITH(set_up, tear_down, name)

ACCEPT_TEST(who_says_nothing_takes_everything_and_names_nothing)
{
    assert_int_equal(weight(&plain, NULL), 1000);
    assert_int_equal(weight(&metrics, NULL), 1000);
    assert_false(is_named(&plain, NULL));
}

ACCEPT_TEST(a_weight_is_read_and_is_1_where_there_is_none)
{
    assert_int_equal(weight(&plain, "text/plain"), 1000);
    assert_int_equal(weight(&plain, "text/plain;q=1.000"), 1000);
    assert_int_equal(weight(&plain, "text/plain ; q=0.5"), 500);
    assert_int_equal(weight(&plain, "text/plain;Q=0.125"), 125);
    assert_int_equal(weight(&plain, "text/plain;q=0.05"), 50);
    assert_int_equal(weight(&plain, "text/plain;q=0"), 0);
    assert_int_equal(weight(&plain, "text/plain;q=1."), 1000);
}

ACCEPT_TEST(what_breaks_the_grammar_is_passed_over_and_the_rest_counts)
{
    static const char *const broken[] = {"1.001", "2",  "0.1234", "",    "-1",
                                         ".5",    "0x", "00",     "1 0", "0.x"};
    char text[80];

    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        snprintf(text, sizeof text, "text/plain;q=%s, */*;q=0.3", broken[i]);
        assert_int_equal(weight(&plain, text), 300);
    }
    assert_int_equal(weight(&plain, ",,;q=1, ,text/plain;q=0.4,"), 400);
    assert_int_equal(weight(&plain, ""), 0);
    assert_int_equal(weight(&plain, "text"), 0);
    assert_int_equal(weight(&plain, "text/"), 0);
    assert_int_equal(weight(&plain, "text/plain2"), 0);
}

ACCEPT_TEST(the_most_exact_range_counts_wherever_it_stands)
{
    assert_int_equal(weight(&plain, "text/plain;q=0.2, */*"), 200);
    assert_int_equal(weight(&plain, "*/*, text/*;q=0.3"), 300);
    assert_int_equal(weight(&plain, "text/plain;version=0.0.4;q=0.1, text/plain;q=0.9"), 100);
    assert_int_equal(weight(&plain, "text/*;q=0, */*"), 0);
    assert_int_equal(weight(&metrics, "text/*;q=0, */*;q=0.7"), 700);
    assert_int_equal(weight(&plain, "text/plain;q=0.4, text/plain;q=0.6"), 600);
    assert_int_equal(weight(&plain, "text/plain;q=0.6, text/plain;q=0.4"), 600);
}

ACCEPT_TEST(another_version_or_character_set_is_something_else)
{
    assert_int_equal(weight(&plain, "text/plain;version=1.0.0"), 0);
    assert_int_equal(weight(&plain, "text/plain;version=\"0.0.4\""), 1000);
    assert_int_equal(weight(&plain, "text/plain; charset=UTF-8"), 1000);
    assert_int_equal(weight(&plain, "text/plain; charset=iso-8859-1"), 0);
    assert_int_equal(weight(&metrics, "application/openmetrics-text;version=0.0.1"), 0);
    assert_int_equal(weight(&metrics, "APPLICATION/OpenMetrics-Text"), 1000);
}

ACCEPT_TEST(parameters_that_nobody_knows_change_nothing)
{
    assert_int_equal(weight(&plain, "text/plain;version=0.0.4;escaping=allow-utf-8;q=0.6"), 600);
    assert_int_equal(weight(&plain, "text/plain;note=\"a,b;q=0\\\";q=0\";q=0.6"), 600);
}

ACCEPT_TEST(what_is_named_is_told_from_what_an_asterisk_takes)
{
    assert_true(is_named(&plain, "text/plain"));
    assert_true(is_named(&plain, "*/*, text/plain;version=0.0.4;q=0.1"));
    assert_false(is_named(&plain, "text/*"));
    assert_false(is_named(&plain, "*/*"));
    assert_false(is_named(&plain, "image/png"));
}

ACCEPT_TEST(a_header_that_comes_twice_is_one_list)
{
    request("Accept", "image/png", "text/plain;q=0.5");
    assert_int_equal(accept_media(&headers, &plain).weight, 500);
}

ACCEPT_TEST(gzip_is_for_who_takes_it_and_likes_nothing_better)
{
    assert_false(takes_gzip(NULL));
    assert_false(takes_gzip(""));
    assert_true(takes_gzip("gzip"));
    assert_true(takes_gzip("br, GZIP;q=0.5"));
    assert_true(takes_gzip("x-gzip"));
    assert_true(takes_gzip("*"));
    assert_false(takes_gzip("gzip;q=0"));
    assert_false(takes_gzip("*, gzip;q=0"));
    assert_false(takes_gzip("identity, gzip;q=0.5"));
    assert_true(takes_gzip("identity;q=0.5, gzip;q=0.5"));
    assert_false(takes_gzip("deflate, br"));
    assert_false(takes_gzip("gzip2"));
}
