/* Partial messages are bounded over all connections: the largest holder goes. */
#include "tests/support/net_world.h"

enum { PEERS = 4 };

static const uint8_t head[] = {0x94, 0, 1, 0xa4, 'e', 'c', 'h', 'o', 0xc6, 0, 0x08, 0, 0};

static uint8_t zeros[1 << 20];

static void set_limits(uint64_t shared, uint64_t own)
{
    net.limits.partial = (struct input_limits){.shared = shared, .own = own};
}

/* Half a megabyte is announced, and so much of it comes. */
static struct connection *begin(struct script *k, size_t bytes)
{
    struct connection *c = net_connect(k);

    script_send(k, span_of(head, sizeof head));
    script_send(k, span_of(zeros, bytes));
    return c;
}

NET_TEST(the_largest_holder_is_closed)
{
    static struct script peers[PEERS];
    static struct script good;

    set_limits(100000, 16384);
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
    assert_true(net.loop->partials.total <= 100000 + 16384);
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

/* Another loop, played by the test: it keeps what it is told to, and counts how often it is asked.
 */
static struct other_loop {
    struct ao ao;
    struct input_keeper keeper;
    unsigned asked;
    size_t keeps;
} other;

static enum ao_verdict other_is_asked(struct ao *self)
{
    (void)self;
    other.asked++;
    return AO_DONE;
}

static struct input_budget *budget(void)
{
    return accounts_input(net.accounts);
}

static void other_opens(size_t keeps)
{
    static const struct ao_class other_class = {.name = "other loop", .step = other_is_asked};

    net_start();
    other = (struct other_loop){.keeps = keeps};
    ao_init(&other.ao, &other_class, net.loop->activator);
    other.keeper.handle = ao_handle_new(&other.ao);
    assert_non_null(other.keeper.handle);
    input_budget_add(budget(), &other.keeper);
    assert_true(input_budget_take(budget(), &other.keeper, keeps, net.limits.partial.shared));
}

static void other_gives(size_t bytes)
{
    input_budget_give(budget(), &other.keeper, bytes);
    other.keeps -= bytes;
    input_budget_answer(budget(), &other.keeper);
}

static void other_closes(void)
{
    other_gives(other.keeps);
    input_budget_remove(budget(), &other.keeper);
    ao_deactivate(&other.ao);
    ao_fini(&other.ao);
    ao_handle_unref(other.keeper.handle);
}

/* The other has so much that what the peer goes on with does not fit. */
static struct connection *wants_what_another_has(void)
{
    set_limits(400000, 100000);
    other_opens(300000);
    struct connection *c = begin(&peer, 60000);
    net_run_ms(1);
    script_send(&peer, span_of(zeros, 40000));
    net_run_ms(2);
    assert_true(conn_open(c) && c->stopped && c->awaits_input);
    assert_int_equal(other.asked, 1);
    return c;
}

NET_TEST(who_wants_what_a_larger_one_has_waits_until_that_gives_way)
{
    const struct connection *c = wants_what_another_has();

    other_gives(300000);
    net_run_ms(30);
    assert_true(conn_open(c) && !c->stopped);
    assert_in_range(input_budget_bytes(budget()), 100000, 200000);
    other_closes();
}

/* One is asked at a time, and once for what it is asked for. */
NET_TEST(who_is_asked_is_not_asked_again_before_it_answers)
{
    const struct connection *c = wants_what_another_has();

    net_run_ms(202);
    assert_true(conn_open(c) && c->stopped);
    assert_int_equal(other.asked, 1);
    other_gives(10); /* too little */
    net_run_ms(402);
    assert_true(conn_open(c) && c->stopped);
    assert_int_equal(other.asked, 2);
    other_closes();
}

/* There is never more than the limit: what nobody gives is not there, and who asks for it goes. */
NET_TEST(it_does_not_wait_for_ever)
{
    wants_what_another_has();
    net_run_ms(4900);
    assert_false(peer.shut);
    net_run_ms(5100);
    assert_true(peer.shut);
    assert_int_equal(input_budget_in_all(budget()), 300000);
    other_closes();
}

/* What goes on otherwise, calls and answers, does not make the wait anew. */
NET_TEST(calls_and_answers_do_not_renew_the_wait)
{
    struct connection *c = wants_what_another_has();

    for (uint64_t ms = 100; ms <= 6000 && !peer.shut; ms += 100) {
        net_run_ms(ms);
        c->since = activator_now(c->loop->activator); /* as at the end of a call */
    }
    assert_true(peer.shut);
    other_closes();
}

/* One that is alone in its loop gives way like others: it has most. */
NET_TEST(a_lone_large_message_gives_way_where_a_smaller_one_wants_room)
{
    set_limits(100000, 16384);
    other_opens(20000);
    const struct connection *c = begin(&peer, 60000);
    net_run_ms(1);
    assert_in_range(net.loop->partials.total, 60000, 65000);
    assert_true(input_budget_ask(budget(), &other.keeper, 100));
    net_run_ms(2);
    assert_true(conn_open(c)); /* there is room */
    assert_true(input_budget_ask(budget(), &other.keeper, 30000));
    net_run_ms(3);
    assert_true(peer.shut);
    assert_int_equal(input_budget_in_all(budget()), 20000);
    other_closes();
}

NET_TEST(one_need_closes_one_message)
{
    static struct script peers[PEERS];

    set_limits(300000, 16384);
    other_opens(70000);
    for (int i = 0; i < PEERS; i++)
        begin(&peers[i], 50000 + 1000 * (size_t)i);
    net_run_ms(1);
    assert_true(input_budget_ask(budget(), &other.keeper, 30000));
    assert_true(input_budget_ask(budget(), &other.keeper, 30000)); /* asked already */
    net_run_ms(20);
    for (int i = 0; i < PEERS; i++)
        assert_int_equal(peers[i].shut, i == PEERS - 1);
    other_closes();
}

/* All is taken, to the last byte: a short message finds room in what is the loop's own; where that
 * is taken too, it is not read before another has given way; nobody is closed for it. */
NET_TEST(a_short_message_meets_a_budget_that_is_full)
{
    static struct script fills, good;
    uint8_t bytes[64];
    size_t len = net_request(bytes, 1, "echo", "short");

    set_limits(100000, 16384);
    other_opens(100000);
    net_connect(&good);
    script_send(&good, span_of(bytes, 5));
    net_run_ms(1);
    assert_true(net.loop->partials.own > 0);
    script_send(&good, span_of(bytes + 5, len - 5));
    net_run_ms(2);
    assert_string_equal(net_answered(&good), "1");
    assert_int_equal(other.asked, 0);

    begin(&fills, 8000);
    net_run_ms(30);
    script_send(&good, span_of(bytes, 5));
    net_run_ms(60);
    assert_int_equal(other.asked, 1);
    assert_int_equal(good.in_len, 5); /* not read */
    other_gives(50000);
    net_run_ms(90);
    assert_int_equal(good.in_len, 0);
    script_send(&good, span_of(bytes + 5, len - 5));
    net_run_ms(120);
    assert_string_equal(net_answered(&good), "1 1");
    assert_false(fills.shut);
    other_closes();
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
