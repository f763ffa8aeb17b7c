/* Connections are read in turns, by account: many of one hold up another's for no longer than two.
 */
#include "proto/encoder.h"
#include "server/net/auth/principal.h"
#include "tests/support/net_world.h"

enum { GREEDY = 10, EACH = 300, A_ROUND = 256 };

static struct script scripts[GREEDY], good;
static struct connection *conns[GREEDY];
static unsigned handed[GREEDY], goods;
static size_t cost; /* of each message, see conn_worked() */

static void count(void *arg, struct connection *c, const struct envelope *e)
{
    int i = 0;
    while (i < GREEDY && conns[i] != c)
        i++;
    if (i < GREEDY)
        handed[i]++;
    else
        goods++;
    if (cost > 0)
        conn_worked(c, cost);
}

static struct connection *connect_as(struct script *k, const char *name)
{
    const struct principal *p = principal_new(
        &(struct principal_options){PRINCIPAL_TOKEN, name, .tenant = NULL, .methods = "*"});
    struct connection *c = net_connect(k);
    net_run_ms(1);
    conn_set_principal(c, p);
    principal_unref(p);
    return c;
}

static unsigned handed_in_all(void)
{
    unsigned sum = 0;
    for (int i = 0; i < GREEDY; i++)
        sum += handed[i];
    return sum;
}

static void start(void)
{
    memset(handed, 0, sizeof handed);
    goods = 0;
    cost = 0;
    net.port = echo_port(&net.echo);
    net.port.message = count;
    for (int i = 0; i < GREEDY; i++)
        conns[i] = connect_as(&scripts[i], "greedy");
}

static void all_send(void)
{
    static uint8_t bytes[EACH * 32];
    size_t size = 0;
    for (int n = 0; n < EACH; n++)
        size += net_request(bytes + size, 1, "echo", "");
    for (int i = 0; i < GREEDY; i++)
        script_send(&scripts[i], span_of(bytes, size));
}

/* The end of a round tells them of it. */
static void hear(void)
{
    virtual_round(&net.v, net.activator);
    assert_int_equal(handed_in_all() + goods, 0);
}

/* Two steps at most, since a step is not cut short. */
NET_TEST(a_round_reads_so_much_of_one_account)
{
    start();
    connect_as(&good, "good");
    all_send();
    net_send(&good, 1, "echo", "");
    hear();
    for (unsigned n = 0, before = 0; before < GREEDY * EACH; before = handed_in_all(), n++) {
        virtual_round(&net.v, net.activator);
        assert_true(handed_in_all() - before < 2 * A_ROUND);
        assert_true(handed_in_all() > before); /* no round is idle */
        assert_true(goods == 1 || n == 0);
    }
}

NET_TEST(each_of_them_is_read_once_a_turn)
{
    start();
    connect_as(&good, "good");
    all_send();
    hear();
    for (int n = 0; n < GREEDY + 1; n++) /* one begins alone */
        virtual_round(&net.v, net.activator);
    for (int i = 0; i < GREEDY; i++)
        assert_true(handed[i] >= A_ROUND);
    net_run_ms(2);
    assert_int_equal(handed_in_all(), GREEDY * EACH);
}

NET_TEST(who_is_alone_is_read_as_much_as_there_is)
{
    start();
    all_send();
    hear();
    virtual_round(&net.v, net.activator);
    assert_int_equal(handed_in_all(), GREEDY * A_ROUND);
    net_run_ms(2);
    assert_int_equal(handed_in_all(), GREEDY * EACH);
}

/* So what a message costs beyond its bytes shortens the step, and the round. */
NET_TEST(of_costly_messages_a_step_hands_over_few)
{
    start();
    cost = A_ROUND / 4;
    all_send();
    hear();
    virtual_round(&net.v, net.activator);
    assert_int_equal(handed_in_all(), 4 * GREEDY); /* who is alone has no turns */
    connect_as(&good, "good");
    for (unsigned before; handed_in_all() < GREEDY * EACH;) {
        before = handed_in_all();
        virtual_round(&net.v, net.activator);
        assert_in_range(handed_in_all() - before, 1, 8);
    }
}

NET_TEST(a_message_that_costs_more_than_a_step_is_handed_over)
{
    start();
    cost = SIZE_MAX / 256;
    all_send();
    hear();
    for (unsigned n = 1; n <= 3; n++) {
        virtual_round(&net.v, net.activator);
        assert_int_equal(handed_in_all(), n * GREEDY);
    }
    cost = 0;
    net_run_ms(2);
    assert_int_equal(handed_in_all(), GREEDY * EACH);
}

static unsigned parts, parts_done;

static void begin(void *arg, struct connection *c, const struct envelope *e)
{
    conn_call_began(c, true);
    conn_begin_parts(c);
}

/* Each message has five. */
static void read_part(void *arg, struct connection *c)
{
    conn_worked(c, A_ROUND);
    if (++parts % 5 > 0)
        return;
    parts_done++;
    conn_end_parts(c);
    conn_call_ended(c, true);
}

/* A part costs as much as a round has. */
NET_TEST(parts_of_messages_are_read_in_turns)
{
    start();
    connect_as(&good, "good");
    net.loop->port.message = begin;
    net.loop->port.part = read_part;
    parts = parts_done = 0;
    for (int i = 0; i < GREEDY; i++)
        net_send(&scripts[i], 1, "echo", "");
    for (unsigned before = 0; parts_done < GREEDY; before = parts) {
        virtual_round(&net.v, net.activator);
        assert_in_range(parts - before, 0, 1);
    }
    for (int i = 0; i < GREEDY; i++)
        assert_int_equal(conns[i]->in_flight, 0);
}

static uint8_t large[600 << 10];

/* Each sends the same, one message, of `size` bytes of `large`. */
static void each_sends(size_t size)
{
    for (int i = 0; i < GREEDY; i++)
        script_send(&scripts[i], span_of(large, size));
}

/* A message of so many numbers costs as much as a round has, however few bytes it has. */
NET_TEST(elements_count)
{
    enum { NUMBERS = 40000 };
    start();
    connect_as(&good, "good");
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(large, 4), 0), 1), span_text("echo"));
    p = enc_array(p, NUMBERS);
    memset(p, 0, NUMBERS);
    each_sends((size_t)(p - large) + NUMBERS);
    hear();
    for (unsigned n = 0; n < GREEDY; n++) {
        virtual_round(&net.v, net.activator);
        assert_int_equal(handed_in_all(), n + 1);
    }
}

NET_TEST(bytes_of_long_messages_count)
{
    enum { KIB = 512, ONE_READ = 256, FIRST_READ = 64 };
    start();
    connect_as(&good, "good");
    uint8_t *p = enc_str(enc_uint(enc_uint(enc_array(large, 4), 0), 1), span_text("echo"));
    p = enc_bin_head(enc_array(p, 1), sizeof large - 100);
    each_sends((size_t)(p - large) + sizeof large - 100);
    hear();
    uint64_t before = 0;
    while (before < GREEDY * (FIRST_READ << 10)) { /* until it is seen how long each is */
        virtual_round(&net.v, net.activator);
        before = counter_read(&net.loop->counters.bytes_in);
    }
    while (handed_in_all() < GREEDY) {
        virtual_round(&net.v, net.activator);
        uint64_t now = counter_read(&net.loop->counters.bytes_in);
        assert_in_range(now - before, 1, (KIB + ONE_READ) << 10);
        before = now;
    }
}
