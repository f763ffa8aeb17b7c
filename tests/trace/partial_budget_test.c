/* Partial messages are bounded over all connections: the largest holder goes. */
#include "tests/support/net_world.h"

enum { PEERS = 4 };

static const uint8_t head[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x08, 0, 0};

NET_TEST(the_largest_holder_is_closed)
{
    static uint8_t zeros[40000];
    static struct script peers[PEERS];
    static struct script good;

    net.limits.partial_total = 100000;
    for (int i = 0; i < PEERS; i++) {
        net_connect(&peers[i]);
        script_send(&peers[i], span_of(head, sizeof head)); /* half a megabyte is announced */
    }
    net_connect(&good);
    net_run_ms(1);
    assert_true(net.loop->partials.total < PEERS * 1024); /* and nothing of it allocated */
    for (int i = 0; i < PEERS; i++) {
        script_send(&peers[i], span_of(zeros, (size_t)(10000 * (i + 1))));
        net_run_ms((uint64_t)(2 + i));
    }
    assert_true(net.loop->partials.total <= net.limits.partial_total);
    net_send(&good, 1, "echo", "");
    net_run_ms(10);
    assert_string_equal(net_answered(&good), "1");
    net_expect("[   0] conn 1     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 2     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 3     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 4     HANDSHAKE -> OPEN (scripted)\n"
               "[   0] conn 5     HANDSHAKE -> OPEN (scripted)\n"
               "[   4] conn 4     OPEN -> FLUSHING (the budget for partial messages is used "
               "up, and this peer holds most)\n"
               "[   4] conn 4     FLUSHING -> LINGERING (all written)\n"
               "[   5] conn 5     wrote 6 bytes, 0 left\n");
    struct net_loop_stats stats = {0};
    net_loop_add_stats(net.loop, &stats);
    assert_int_equal(stats.protocol_errors, 1);
}

/* A loop gives way where it has more than its part: another, which is the test, finds little left,
 * and asks.  One that has no more than its part keeps it. */
NET_TEST(what_is_more_than_a_loops_part_is_given_back)
{
    static uint8_t zeros[40000];
    static struct script peers[PEERS];
    struct input_budget *budget = accounts_input(net.accounts);

    net.limits.partial_total = 200000;
    net.limits.partial_part = 100000;
    for (int i = 0; i < PEERS; i++) {
        net_connect(&peers[i]);
        script_send(&peers[i], span_of(head, sizeof head));
        script_send(&peers[i], span_of(zeros, sizeof zeros));
    }
    net_run_ms(1);
    assert_in_range(net.loop->partials.total, 160000, 175000);
    input_budget_ask(budget, NULL, true);
    net_run_ms(2);
    assert_in_range(net.loop->partials.total, 160000, 175000); /* there is enough for all */
    assert_true(input_budget_take(budget, 25000, net.limits.partial_total));
    input_budget_ask(budget, NULL, true);
    net_run_ms(3);
    assert_in_range(net.loop->partials.total, 120000, 140000); /* there is enough again */
    assert_true(input_budget_take(budget, 60000, net.limits.partial_total) ||
                input_budget_take(budget, 30000, net.limits.partial_total));
    input_budget_ask(budget, NULL, true);
    net_run_ms(4);
    assert_in_range(net.loop->partials.total, 80000, 100000);
    while (input_budget_take(budget, 1000, net.limits.partial_total)) {
    }
    input_budget_ask(budget, NULL, true);
    net_run_ms(5);
    assert_in_range(net.loop->partials.total, 80000, 100000);
    input_budget_give(budget, input_budget_bytes(budget) - net.loop->partials.total);
}

/* Others hold so much that what the peer goes on with does not fit, though it is within the part of
 * its loop. */
static struct connection *wants_what_others_hold(void)
{
    static uint8_t zeros[40000];

    net.limits.partial_total = net.limits.partial_part = 100000;
    struct connection *c = net_connect(&peer);
    script_send(&peer, span_of(head, sizeof head));
    script_send(&peer, span_of(zeros, 20000));
    net_run_ms(1);
    assert_true(input_budget_take(accounts_input(net.accounts), 70000, net.limits.partial_total));
    script_send(&peer, span_of(zeros, sizeof zeros));
    net_run_ms(2);
    assert_true(conn_open(c) && c->stopped);
    assert_in_range(input_budget_bytes(accounts_input(net.accounts)), 90000, 100000);
    return c;
}

NET_TEST(who_is_within_its_loops_part_waits_until_others_give_way)
{
    const struct connection *c = wants_what_others_hold();

    input_budget_give(accounts_input(net.accounts), 70000);
    net_run_ms(30);
    assert_true(conn_open(c) && !c->stopped);
    assert_in_range(input_budget_bytes(accounts_input(net.accounts)), 60000, 100000);
}

/* There is never more than the limit: what nobody gives is not there, and who asks for it goes. */
NET_TEST(it_does_not_wait_for_ever)
{
    wants_what_others_hold();
    net_run_ms(900);
    assert_false(peer.shut);
    net_run_ms(1100);
    assert_true(peer.shut);
    assert_int_equal(input_budget_bytes(accounts_input(net.accounts)), 70000);
    input_budget_give(accounts_input(net.accounts), 70000);
}

/* What goes on otherwise, calls and answers, does not make the wait anew. */
NET_TEST(calls_and_answers_do_not_renew_the_wait)
{
    struct connection *c = wants_what_others_hold();

    for (uint64_t ms = 100; ms <= 2000 && !peer.shut; ms += 100) {
        net_run_ms(ms);
        c->since = activator_now(c->loop->activator); /* as at the end of a call */
    }
    assert_true(peer.shut);
    input_budget_give(accounts_input(net.accounts), 70000);
}

/* A part may be less than one message: one alone stays beyond it as long as only such as have more
 * than their part ask, and goes when one asks that has not. */
NET_TEST(a_message_that_is_alone_gives_way_to_who_has_less_than_its_part)
{
    static uint8_t zeros[40000];
    struct input_budget *budget = accounts_input(net.accounts);

    net.limits.partial_total = 100000;
    net.limits.partial_part = 20000;
    const struct connection *c = net_connect(&peer);
    script_send(&peer, span_of(head, sizeof head));
    script_send(&peer, span_of(zeros, sizeof zeros));
    net_run_ms(1);
    assert_true(net.loop->partials.total > net.limits.partial_part);
    input_budget_ask(budget, NULL, true); /* there is enough for all */
    net_run_ms(2);
    assert_true(conn_open(c));
    assert_true(input_budget_take(budget, 55000, net.limits.partial_total));
    input_budget_ask(budget, NULL, false);
    net_run_ms(3);
    assert_true(conn_open(c));
    input_budget_ask(budget, NULL, true);
    net_run_ms(4);
    assert_true(peer.shut);
    assert_int_equal(input_budget_bytes(budget), 55000);
    input_budget_give(budget, 55000);
}

/* Another loop, whose connections wait too: whenever it is asked, it asks back. */
static struct other_loop {
    struct ao ao;
    struct input_keeper keeper;
    unsigned asked;
} other;

static enum ao_verdict ask_back(struct ao *self)
{
    (void)self;
    if (++other.asked < 1000) /* it ends, so that a fault is told */
        input_budget_ask(accounts_input(net.accounts), &other.keeper, true);
    return AO_DONE;
}

NET_TEST(loops_that_wait_do_not_keep_each_other_awake)
{
    static const struct ao_class other_class = {.name = "other loop", .step = ask_back};
    struct input_budget *budget = accounts_input(net.accounts);

    const struct connection *c = wants_what_others_hold();
    other.asked = 0;
    ao_init(&other.ao, &other_class, net.loop->activator);
    other.keeper.handle = ao_handle_new(&other.ao);
    assert_non_null(other.keeper.handle);
    input_budget_add(budget, &other.keeper);
    net_run_ms(202);
    assert_true(conn_open(c) && c->stopped);
    assert_in_range(other.asked, 5, 11); /* every 20 ms */
    input_budget_remove(budget, &other.keeper);
    ao_deactivate(&other.ao);
    ao_fini(&other.ao);
    ao_handle_unref(other.keeper.handle);
    input_budget_give(budget, 70000);
}

NET_TEST(a_message_too_large_is_answered_and_ends_it)
{
    static const uint8_t large[] = {0x94, 0, 9, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x10, 0, 0};

    net_connect(&peer);
    script_send(&peer, span_of(large, sizeof large));
    net_run_ms(1);
    assert_string_equal(net_answered(&peer), "9");
    assert_non_null(memmem(peer.out, peer.out_len, "TOO_LARGE: ", 11));
    assert_true(peer.shut);
}
