#include "server/admin/host_check.h"

#include "tests/support/cmocka_env.h"

static struct url listener;
static const char *const hosts[] = {"ergon.example.org"};

static void listen_at(const char *url)
{
    assert_null(url_parse(url, URL_ADMIN, &listener));
}

static bool ours(const char *host, const char *local)
{
    return host_is_ours(host, &listener, local, hosts, 1);
}

TEST(loopback_is_ours_by_each_of_its_names)
{
    listen_at("http://127.0.0.1:7468");
    assert_true(ours("localhost", NULL));
    assert_true(ours("LocalHost:7468", NULL));
    assert_true(ours("127.0.0.1:80", NULL));
    assert_true(ours("127.1.2.3", NULL));
    assert_true(ours("[::1]:7468", NULL));
}

TEST(a_name_that_somebody_points_to_us_is_not_ours)
{
    listen_at("http://127.0.0.1:7468");
    assert_false(ours("evil.example", "127.0.0.1"));
    assert_false(ours("localhost.evil.example", "127.0.0.1"));
    assert_false(ours("127.0.0.1.evil.example", "127.0.0.1"));
    assert_false(ours("evil.example:7468", "127.0.0.1"));
}

TEST(what_is_no_name_is_not_ours)
{
    listen_at("http://127.0.0.1:7468");
    assert_false(ours(NULL, NULL));
    assert_false(ours("", NULL));
    assert_false(ours(":7468", NULL));
    assert_false(ours("[::1", NULL));
    assert_false(ours("[::1]x", NULL));
    assert_false(ours("localhost:x", NULL));
    assert_false(ours("localhost@evil.example", NULL));
}

TEST(an_address_is_ours_when_the_connection_came_to_it)
{
    listen_at("https://0.0.0.0:7468");
    assert_true(ours("192.0.2.7:7468", "192.0.2.7"));
    assert_false(ours("192.0.2.8", "192.0.2.7"));
    listen_at("https://[::]:7468");
    assert_true(ours("[2001:DB8:0::7]", "2001:db8::7"));
    assert_false(ours("[2001:db8::8]", "2001:db8::7"));
}

TEST(the_host_of_the_url_and_those_of_the_configuration_are_ours)
{
    listen_at("https://jobs.example.org:7468");
    assert_true(ours("jobs.example.org:7468", "192.0.2.7"));
    assert_true(ours("Ergon.Example.Org", "192.0.2.7"));
    assert_false(ours("example.org", "192.0.2.7"));
}

TEST(a_unix_socket_is_called_localhost)
{
    listen_at("unix:///run/ergon/admin.sock");
    assert_true(ours("localhost", NULL));
    assert_false(ours("evil.example", NULL));
}

TEST(an_origin_is_ours_when_it_is_the_host)
{
    assert_true(origin_is_ours(NULL, "localhost:7468"));
    assert_true(origin_is_ours("http://localhost:7468", "localhost:7468"));
    assert_true(origin_is_ours("https://localhost:7468", "localhost:7468"));
    assert_false(origin_is_ours("http://localhost:7469", "localhost:7468"));
    assert_false(origin_is_ours("http://evil.example", "localhost:7468"));
    assert_false(origin_is_ours("http://localhost:7468.evil.example", "localhost:7468"));
    assert_false(origin_is_ours("http://localhost:7468@evil.example", "localhost:7468"));
    assert_false(origin_is_ours("ftp://localhost:7468", "localhost:7468"));
    assert_false(origin_is_ours("null", "localhost:7468"));
    assert_false(origin_is_ours("http://localhost:7468", NULL));
}
