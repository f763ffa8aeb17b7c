/* Calls begin as far as there is room for what they hold; the others wait, unread, and go on in
 * order; and all is given back, however a call ends. */
#include <stdio.h>

#include "server/net/connection/holdings.h"
#include "tests/support/rpc_stage.h"

enum { LARGE = 30000, EACH = 70000 /* bytes: room for two */ };

static int open_small_accounts(void **state)
{
    net_wish.accounts =
        (struct account_limits){.bytes_in_all = 1 << 20, .bytes = EACH, .calls = UINT32_MAX};
    return stage_open(state);
}

static int open_small_connections(void **state)
{
    net_wish.connection_bytes = EACH;
    return stage_open(state);
}

/* By the linker, in place of the scanner that all messages pass. */
enum scan_verdict __real_scanner_run(struct scanner *s, const struct scan_limits *limits,
                                     struct span bytes);
enum scan_verdict __wrap_scanner_run(struct scanner *s, const struct scan_limits *limits,
                                     struct span bytes);

static uint64_t scanned; /* bytes, by all */

enum scan_verdict __wrap_scanner_run(struct scanner *s, const struct scan_limits *limits,
                                     struct span bytes)
{
    uint32_t done = s->done;
    enum scan_verdict verdict = __real_scanner_run(s, limits, bytes);

    scanned += s->done - done;
    return verdict;
}

#define PRINCIPAL_TEST(name)  TEST_WITH(open_small_accounts, stage_close, name)
#define CONNECTION_TEST(name) TEST_WITH(open_small_connections, stage_close, name)

/* A call that ends by its deadline, and holds LARGE bytes until then. */
static void hang(struct script *k, uint8_t id, unsigned ms)
{
    static char params[LARGE + 100];
    int n = snprintf(params, sizeof params, "['hang', ['%0*d'], {'deadline': %u}]", LARGE, 0, ms);

    assert_true(n > LARGE && n < (int)sizeof params);
    stage_ask(k, id, "task.call", params);
}

static void expect_nothing_held(void)
{
    stage_run();
    assert_int_equal(accounts_bytes(net.accounts), 0);
    assert_int_equal(accounts_figures(net.accounts).input, 0);
}

/* Three at once, and one who says little behind them. */
static void expect_two_and_then_the_third(void)
{
    uint64_t asked = stage.rpc.stats.requests;

    hang(&peer, 1, 100);
    hang(&peer, 2, 200);
    hang(&peer, 3, 300);
    stage_ask(&peer, 4, "echo", "['last']");
    stage_run_ms(50);
    assert_int_equal(stage.conn->in_flight, 2);
    assert_true(stage.conn->stopped);
    assert_in_range(conn_bytes(stage.conn), 3 * LARGE, 5 * LARGE); /* and room for more input */
    assert_int_equal(accounts_figures(net.accounts).stopped, 1);
    assert_string_equal(stage_said_to(&peer), "");
    stage_run_ms(150);
    assert_int_equal(stage.conn->in_flight, 2);
    assert_string_equal(stage_said_to(&peer), "1 failed: 'DEADLINE: the deadline passed before "
                                              "the result was there'\n4: ['last']\n");
    assert_int_equal(stage.rpc.stats.requests - asked, 4);
    stage_run_ms(400);
    expect_nothing_held();
}

PRINCIPAL_TEST(what_finds_no_room_in_its_account_waits)
{
    expect_two_and_then_the_third();
}

CONNECTION_TEST(what_finds_no_room_on_its_connection_waits)
{
    expect_two_and_then_the_third();
}

/* It finds no room again and again; to look costs nothing that grows with it. */
PRINCIPAL_TEST(a_message_that_waits_is_scanned_once)
{
    enum { TRIES = 20 };
    static struct script other;
    uint64_t asked = stage.rpc.stats.requests;

    net_connect(&other);
    hang(&other, 1, 10000);
    stage_run_ms(5);
    hang(&peer, 1, 10000);
    hang(&peer, 2, 100);
    stage_run_ms(10);
    assert_true(stage.conn->waits);
    assert_in_range(stage.conn->cold->whole, LARGE, LARGE + 100);
    uint64_t before = scanned;
    for (int i = 0; i < TRIES; i++) {
        holdings_stop_waiting(stage.conn);
        holdings_go_on(&stage.conn->cold->room);
        stage_run_ms(10);
        assert_true(stage.conn->waits);
    }
    assert_int_equal(scanned, before);
    assert_int_equal(stage.rpc.stats.requests - asked, 2);
    script_reset(&other);
    stage_run_ms(200);
    assert_non_null(strstr(stage_said_to(&peer), "2 failed: 'DEADLINE"));
    assert_int_equal(scanned, before);
    stage_run_ms(10000);
    expect_nothing_held();
}

/* What one connection holds stops the other, which goes on when that one has gone. */
PRINCIPAL_TEST(connections_of_one_principal_share_its_room)
{
    static struct script other;

    net_connect(&other);
    hang(&peer, 1, 10000);
    hang(&peer, 2, 10000);
    stage_run_ms(10);
    hang(&other, 1, 100);
    stage_ask(&other, 2, "echo", "['other']");
    stage_run_ms(50);
    assert_string_equal(stage_said_to(&other), "");
    script_reset(&peer);
    stage_run_ms(60);
    assert_string_equal(stage_said_to(&other), "2: ['other']\n");
    stage_run_ms(200);
    assert_non_null(strstr(stage_said_to(&other), "1 failed: 'DEADLINE"));
    expect_nothing_held();
}

/* A reload finds out anew whose connection it is, and so whose room it waits for: it goes on by
 * itself. */
PRINCIPAL_TEST(who_waits_is_not_forgotten_when_its_account_is_found_again)
{
    static struct script other;
    struct connection *c = net_connect(&other);

    hang(&peer, 1, 200);
    hang(&peer, 2, 200);
    stage_run_ms(10);
    hang(&other, 1, 100);
    stage_ask(&other, 2, "echo", "['other']");
    stage_run_ms(50);
    assert_true(c->stopped && c->waits);
    assert_true(conn_open_tally(c)); /* as a reload does */
    stage_run_ms(60);
    assert_true(c->stopped && c->waits);
    assert_string_equal(stage_said_to(&other), "");
    stage_run_ms(500);
    assert_non_null(strstr(stage_said_to(&other), "2: ['other']"));
    expect_nothing_held();
}

/* Who has nothing at work may begin, however large it is. */
PRINCIPAL_TEST(one_larger_than_the_limit_goes_alone)
{
    static char params[2 * EACH + 100];

    snprintf(params, sizeof params, "['hang', ['%0*d'], {'deadline': 100}]", 2 * EACH, 0);
    stage_ask(&peer, 1, "task.call", params);
    stage_ask(&peer, 2, "echo", "['behind']");
    stage_run_ms(50);
    assert_int_equal(stage.conn->in_flight, 1);
    stage_run_ms(200);
    assert_non_null(strstr(stage_said_to(&peer), "2: ['behind']"));
    expect_nothing_held();
}

/* A brief call is counted nowhere. */
PRINCIPAL_TEST(what_comes_and_goes_in_a_round_is_not_charged)
{
    assert_string_equal(stage_answer("echo", "['x']"), "1: ['x']\n");
    assert_false(stage.conn->tally->unsettled);
    assert_int_equal(stage.conn->charged, 0);
}

PRINCIPAL_TEST(operations_count_too)
{
    static char params[LARGE + 100];

    snprintf(params, sizeof params, "['echo', ['%0*d'], {'delay': 1000}]", LARGE, 0);
    stage_ask(&peer, 1, "task.submit", params);
    stage_run_ms(10);
    expect_nothing_held();
}

static int open_medium_accounts(void **state)
{
    net_wish.accounts =
        (struct account_limits){.bytes_in_all = 1 << 22, .bytes = 300000, .calls = UINT32_MAX};
    return stage_open(state);
}

#define NESTED_TEST(name) TEST_WITH(open_medium_accounts, stage_close, name)

/* Begun in place, and by way of the manager; its parameters are those of both. */
NESTED_TEST(nested_calls_are_charged_to_who_called)
{
    static const char *const ways[] = {"echo", "managed"};
    static char params[2 * LARGE];

    for (int i = 0; i < 2; i++) {
        snprintf(params, sizeof params, "['outer', ['hang', ['%0*d']]]", LARGE, 0);
        if (i == 1)
            snprintf(params, sizeof params, "['outer', ['outer', ['hang', ['%0*d']]]]", LARGE, 0);
        assert_non_null(strstr(stage_answer(ways[i], "[1]"), "1: "));
        stage_ask(&peer, 9, "task.call", params);
        stage_run_ms(net.v.now / AO_MS(1) + 10);
        assert_in_range(accounts_bytes(net.accounts), (uint64_t)(i + 2) * LARGE,
                        (uint64_t)(i + 3) * LARGE);
        stage_ask(&peer, 10, "server.cancel", "[9]");
        expect_nothing_held();
        assert_non_null(strstr(stage_said_to(&peer), "9 failed: 'CANCELLED"));
    }
}

NESTED_TEST(their_results_are_held_until_they_are_taken)
{
    stage_answer("large", "[100000]"); /* so many are expected of the next */
    assert_non_null(strstr(stage_answer("outer", "['large', [100000]]"), "1: "));
    expect_nothing_held();
}

NESTED_TEST(a_nested_call_finds_no_room_and_is_busy)
{
    static char params[200100];

    stage_answer("large", "[260000]");
    snprintf(params, sizeof params, "['%0*d']", 200000, 0);
    stage_ask(&peer, 1, "hang", params);
    stage_run_ms(net.v.now / AO_MS(1) + 10);
    stage_ask(&peer, 2, "outer", "['large', [260000]]");
    stage_run_ms(net.v.now / AO_MS(1) + 10);
    assert_non_null(strstr(stage_said_to(&peer), "2 failed: 'BUSY"));
    stage_ask(&peer, 3, "server.cancel", "[1]");
    expect_nothing_held();
}

static int open_one_at_a_time(void **state)
{
    net_wish.accounts =
        (struct account_limits){.bytes_in_all = 1 << 22, .bytes = 1 << 20, .calls = 1};
    return stage_open(state);
}

/* Its parent is the one call that its principal may have in flight. */
TEST_WITH(open_one_at_a_time, stage_close, a_nested_call_is_not_refused_because_of_its_parent)
{
    static char params[LARGE + 100];

    stage_answer("large", "[100000]"); /* so many bytes the next takes room for */
    assert_non_null(strstr(stage_answer("outer", "['large', [100000]]"), "1: "));
    snprintf(params, sizeof params, "['outer', ['large', [100000]]]");
    assert_non_null(strstr(stage_answer("outer", params), "1: "));
    stage_answer("managed", "[1]");
    assert_non_null(strstr(stage_answer("outer", "['large', [100000]]"), "1: "));
    expect_nothing_held();
}
