/* The addresses that the URL of a database names.  No server is needed, and none is asked. */
#include "server/store/postgres/hosts.h"
#include "tests/support/cmocka_env.h"

static void expect_host(const struct host *host, const char *address, const char *port)
{
    assert_string_equal(host->address, address);
    assert_string_equal(host->port, port);
}

static void test_hosts_without_ports(void **state)
{
    struct hosts hosts;

    (void)state;
    hosts_of("postgresql://ergon@127.0.0.1,127.0.0.2/ergon", AO_S(3), &hosts);
    assert_int_equal(hosts.count, 2);
    expect_host(&hosts.list[0], "127.0.0.1", "5432");
    expect_host(&hosts.list[1], "127.0.0.2", "5432");
    assert_int_equal(hosts.timeout, AO_S(3));
}

static void test_hosts_with_some_ports(void **state)
{
    struct hosts hosts;

    (void)state;
    hosts_of("postgresql://ergon@127.0.0.1:5441,127.0.0.2/ergon?connect_timeout=2", AO_S(3),
             &hosts);
    assert_int_equal(hosts.count, 2);
    expect_host(&hosts.list[0], "127.0.0.1", "5441");
    expect_host(&hosts.list[1], "127.0.0.2", "5432");
    assert_int_equal(hosts.timeout, AO_S(2));
}

static void test_one_port_of_all(void **state)
{
    struct hosts hosts;

    (void)state;
    hosts_of("postgresql:///ergon?host=127.0.0.1,127.0.0.2&port=5440", AO_S(3), &hosts);
    assert_int_equal(hosts.count, 2);
    expect_host(&hosts.list[0], "127.0.0.1", "5440");
    expect_host(&hosts.list[1], "127.0.0.2", "5440");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hosts_without_ports),
                                       cmocka_unit_test(test_hosts_with_some_ports),
                                       cmocka_unit_test(test_one_port_of_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
