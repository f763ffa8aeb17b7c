/* Addresses as text and as keys to count by. */
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "server/net/auth/peer.h"
#include "tests/support/cmocka_env.h"

static struct sockaddr_storage address(const char *host, uint16_t port)
{
    struct sockaddr_storage s = {.ss_family = AF_UNIX};
    struct sockaddr_in *in = (struct sockaddr_in *)&s;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&s;

    if (strchr(host, ':') != NULL) {
        s.ss_family = AF_INET6;
        in6->sin6_port = htons(port);
        assert_int_equal(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
    } else if (host[0] != '\0') {
        s.ss_family = AF_INET;
        in->sin_port = htons(port);
        assert_int_equal(inet_pton(AF_INET, host, &in->sin_addr), 1);
    }
    return s;
}

TEST(an_address_is_text)
{
    static const struct {
        const char *host, *text;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1:4711"},
        {"::1", "[::1]:4711"},
        {"::ffff:10.1.2.3", "10.1.2.3:4711"},
        {"", "unix"},
    };
    char buf[PEER_TEXT_MAX];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sockaddr_storage s = address(cases[i].host, 4711);
        peer_text(&s, buf, sizeof buf);
        assert_string_equal(buf, cases[i].text);
    }
}

static bool same(const char *a, const char *b)
{
    struct sockaddr_storage x = address(a, 1);
    struct sockaddr_storage y = address(b, 2);

    return peer_key(&x) == peer_key(&y);
}

TEST(a_key_is_who_can_have_the_address)
{
    assert_true(same("10.0.0.1", "10.0.0.1"));
    assert_true(same("10.0.0.1", "::ffff:10.0.0.1"));
    assert_false(same("10.0.0.1", "10.0.0.2"));
    assert_true(same("2001:db8:0:1::1", "2001:db8:0:1:ffff::2"));
    assert_false(same("2001:db8:0:1::1", "2001:db8:0:2::1"));
    assert_true(same("", ""));                        /* of whom the system names no user */
    assert_false(same("32.1.13.184", "2001:db8::1")); /* whose bytes begin alike */
}

TEST(a_user_is_no_address)
{
    struct sockaddr_storage unnamed = address("", 0), v4 = address("0.0.3.232", 0);

    assert_true(peer_key_of_user(1000) != peer_key_of_user(1001));
    assert_true(peer_key_of_user(1000) != peer_key(&v4));
    assert_false(peer_key_is_address(peer_key_of_user(1000)));
    assert_false(peer_key_is_address(peer_key(&unnamed)));
    assert_true(peer_key_is_address(peer_key(&v4)));
}

TEST(root_and_the_servers_user_are_its_own)
{
    struct sockaddr_storage unnamed = address("", 0), v4 = address("0.0.0.0", 0);

    assert_true(peer_key_is_own(peer_key_of_user(0)));
    assert_int_equal(peer_key_is_own(peer_key_of_user(geteuid())), geteuid() != 65534);
    assert_false(peer_key_is_own(peer_key_of_user(geteuid() + 1)));
    assert_false(peer_key_is_own(peer_key_of_user(65534))); /* anybody of another namespace */
    assert_false(peer_key_is_own(peer_key(&unnamed)) || peer_key_is_own(peer_key(&v4)));
    if (geteuid() != 0)
        return;
    assert_int_equal(seteuid(65534), 0);
    assert_false(peer_key_is_own(peer_key_of_user(65534)));
    assert_int_equal(seteuid(0), 0);
}

static bool is_remote(const char *text)
{
    struct sockaddr_storage at = address(text, 4711);

    return peer_key_is_remote(peer_key(&at));
}

TEST(what_is_of_this_machine_is_not_remote)
{
    assert_false(is_remote("127.0.0.1"));
    assert_false(is_remote("127.255.255.254"));
    assert_false(is_remote("::ffff:127.0.0.1"));
    assert_false(is_remote("::1"));
    assert_false(is_remote(""));
    assert_false(peer_key_is_remote(peer_key_of_user(0)));
    assert_true(is_remote("126.255.255.255"));
    assert_true(is_remote("128.0.0.1"));
    assert_true(is_remote("2001:db8::1"));
    assert_true(is_remote("fe80::1"));
}

TEST(who_comes_from_an_address_is_its_host_or_its_network)
{
    static const char *const cases[][2] = {
        {"192.0.2.7:4711", "192.0.2.7"},
        {"[2001:db8:0:1:2::3]:80", "2001:db8:0:1::/64"},
        {"[::1]:7466", "::/64"},
    };
    char name[64];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        peer_network(cases[i][0], name, sizeof name);
        assert_string_equal(name, cases[i][1]);
    }
}
