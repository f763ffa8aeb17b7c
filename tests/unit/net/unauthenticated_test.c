/* Who has not said who it is gets little: time, bytes, places. */
#include "server/net/connection/unauthenticated.h"

#include <sys/mman.h>

#include "server/net/auth/principal.h"
#include "tests/support/heap.h"
#include "tests/support/net_world.h"

static void asks_for_tokens(void)
{
    net.rules.auth = LISTENER_AUTH_TOKEN;
}

static void says_who(struct connection *c)
{
    const struct principal *alice = principal_new(
        &(struct principal_options){PRINCIPAL_TOKEN, "alice", .tenant = NULL, .methods = "*"});
    conn_set_principal(c, alice);
    principal_unref(alice);
}

static bool is_open(const struct script *k)
{
    return !k->shut && !k->closed;
}

/* A request whose argument has so many bytes, sent as far as `sent`. */
static void send_long(struct script *k, uint32_t bytes, uint32_t sent)
{
    static uint8_t request[1 << 17];
    uint8_t *at = request + net_request(request, 1, "echo", "") - 1;
    *at++ = 0xc6;
    for (int shift = 24; shift >= 0; shift -= 8)
        *at++ = (uint8_t)(bytes >> shift);
    script_send(k, span_of(request, (size_t)(at - request) + sent));
}

/* Its first message says who it is. */
static void says_who_first(void *arg, struct connection *c, const struct envelope *e)
{
    struct conn_port echo = echo_port(&net.echo);
    (void)arg;
    if (!conn_principal(c))
        says_who(c);
    echo.message(echo.arg, c, e);
}

NET_TEST(who_does_not_say_who_it_is_in_time_is_closed)
{
    static struct script silent, chatty, good;
    asks_for_tokens();
    net.limits.auth_timeout = AO_MS(50);
    net_connect(&silent);
    net_connect(&chatty);
    struct connection *c = net_connect(&good);
    for (uint64_t ms = 10; ms < 50; ms += 10) {
        net_run_ms(ms);
        net_send(&chatty, 1, "echo", ""); /* bytes give no time */
    }
    says_who(c);
    net_run_ms(49);
    assert_true(is_open(&silent) && is_open(&chatty));
    net_run_ms(60);
    assert_true(silent.closed && chatty.closed);
    net_run_ms(10000);
    assert_true(is_open(&good));
}

NET_TEST(who_need_not_say_who_it_is_has_no_time_to_keep)
{
    net.limits.auth_timeout = AO_MS(50);
    net_connect(&peer);
    net_run_ms(10000);
    assert_true(is_open(&peer));
}

NET_TEST(the_time_counts_from_the_end_of_the_handshake)
{
    asks_for_tokens();
    net.limits.handshake_timeout = AO_MS(100);
    net.limits.auth_timeout = AO_MS(50);
    peer.handshakes = 1;
    net_connect(&peer);
    peer.handshakes = 1;
    net_run_ms(80);
    net_send(&peer, 1, "echo", "");
    net_run_ms(120);
    assert_true(is_open(&peer));
    net_run_ms(140);
    assert_true(peer.closed);
}

NET_TEST(before_that_its_messages_are_small)
{
    static struct script known;
    asks_for_tokens();
    net_connect(&peer);
    says_who(net_connect(&known));
    send_long(&peer, 5000, 100);
    send_long(&known, 5000, 5000);
    net_run_ms(1);
    assert_true(peer.shut);
    assert_non_null(memmem(peer.out, peer.out_len, "before server.auth none may be", 30));
    assert_int_equal(net.loop->partials.total, 0);
    assert_string_equal(net_answered(&known), "1");
}

/* In one write: the second is large. */
NET_TEST(behind_that_they_may_be_large_at_once)
{
    asks_for_tokens();
    net.port.message = says_who_first;
    net_connect(&peer);
    net_send(&peer, 2, "echo", "");
    send_long(&peer, 100000, 100000);
    net_run_ms(1);
    assert_string_equal(net_answered(&peer), "2 1");
}

/* Whose rest of a message is far larger stays. */
NET_TEST(its_bytes_are_the_first_to_go)
{
    static struct script known, newcomers[4];
    asks_for_tokens();
    net.limits.partial = (struct input_limits){.shared = 140000, .own = 10000};
    struct connection *c = net_connect(&known);
    says_who(c);
    send_long(&known, 100000, 95000);
    net_run_ms(1);
    for (int i = 0; i < 4; i++) {
        net_connect(&newcomers[i]);
        send_long(&newcomers[i], 3500, 3000 + 100 * (uint32_t)i);
        net_run_ms(2 + (uint64_t)i);
    }
    assert_true(is_open(&known));
    assert_false(is_open(&newcomers[0]) && is_open(&newcomers[1]) && is_open(&newcomers[2]) &&
                 is_open(&newcomers[3]));
    assert_true(net.loop->partials.total <= 150000);
}

static void two_may_be_there(void)
{
    asks_for_tokens();
    net.limits.newcomers = 2;
}

/* Returns the first. */
static struct connection *two_come(struct script *first, struct script *second)
{
    struct connection *c = net_connect(first);
    net_run_ms(500);
    net_connect(second);
    return c;
}

NET_TEST(of_too_many_the_first_makes_room_and_pays_for_its_silence)
{
    static struct script first, second, third;
    two_may_be_there();
    const struct connection *c = two_come(&first, &second);
    net_run_ms(1000);
    net_connect(&third);
    assert_int_equal(c->slot->offences, OFFENCE_SILENT);
    net_run_ms(1001);
    assert_true(first.closed);
    assert_true(is_open(&second) && is_open(&third));
}

/* It was refused, and its peer does not close: it keeps its place no longer than others. */
NET_TEST(one_that_was_refused_makes_room_too)
{
    static const uint8_t noise[] = {0xc1};
    static struct script first, second, third;
    two_may_be_there();
    const struct connection *c = two_come(&first, &second);
    script_send(&first, span_of(noise, sizeof noise));
    net_run_ms(1000);
    assert_int_equal(c->state, CONN_LINGERING);
    assert_int_equal(c->slot->offences, OFFENCE_NOISE);
    net_connect(&third);
    net_run_ms(1001);
    assert_true(first.closed);
    assert_true(is_open(&second) && is_open(&third));
}

/* The server is late, not the peer: what has come by then is looked at. */
NET_TEST(what_came_before_its_time_was_over_is_heard)
{
    static struct script slow;
    asks_for_tokens();
    net.limits.auth_timeout = AO_MS(50);
    net.port.message = says_who_first;
    net_connect(&slow);
    net_run_ms(1);
    net_send(&slow, 2, "echo", "");
    virtual_round(&net.v, net.activator); /* it is told of */
    net.v.now += AO_MS(100);              /* and then the loop stands still */
    net_run_ms(102);
    assert_string_equal(net_answered(&slow), "2");
    assert_true(is_open(&slow));
}

/* It had no second to speak: many come at once. */
NET_TEST(of_too_many_at_once_the_last_comes_again)
{
    static struct script first, second, third;
    two_may_be_there();
    two_come(&first, &second);
    net_run_ms(999);
    const struct connection *c = net_connect(&third);
    assert_int_equal(c->slot->offences, 0);
    net_run_ms(1000);
    assert_true(is_open(&first) && is_open(&second));
    assert_true(third.closed);
}

/* Neither waits for a second: the origin's last has to come again. */
NET_TEST(of_too_many_the_address_with_the_most_makes_room)
{
    static struct script origin[3], other, more;
    asks_for_tokens();
    net.limits.newcomers = 3;
    for (int i = 0; i < 3; i++)
        net_connect_from(&origin[i], 7);
    net_connect_from(&other, 8);
    net_run_ms(1);
    assert_true(is_open(&other) && is_open(&origin[0]) && is_open(&origin[1]));
    assert_true(origin[2].closed);
    net_run_ms(1500);
    net_connect_from(&more, 8); /* as many as the origin's by now, which is older: its first goes */
    assert_true(origin[0].closed && is_open(&origin[1]) && is_open(&other) && is_open(&more));
}

NET_TEST(who_has_said_who_it_is_takes_no_place_and_keeps_its_own)
{
    static struct script known[3], first, second, third;
    two_may_be_there();
    for (int i = 0; i < 3; i++) {
        says_who(net_connect(&known[i]));
        net_run_ms(1 + (uint64_t)i);
    }
    two_come(&first, &second);
    assert_int_equal(net.loop->unauthenticated.places.count, 2);
    net_run_ms(2000);
    net_connect(&third);
    net_run_ms(2001);
    for (int i = 0; i < 3; i++)
        assert_true(is_open(&known[i]));
    assert_true(first.closed);
}

NET_TEST(handshakes_take_places_too_and_give_them_back)
{
    static struct tls_context *tls[1];
    static struct script first, second;
    net.rules.contexts = tls;
    net.limits.newcomers = 1;
    struct connection *c = net_connect(&first);
    first.handshakes = -1;
    net_run_ms(1);
    assert_int_equal(net.loop->unauthenticated.places.count, 1);
    assert_true(c->unauthenticated);
    net_run_ms(1500);
    net_connect(&second); /* its handshake ends at once, and nobody asks who it is */
    net_run_ms(1501);
    assert_true(first.closed);
    assert_true(is_open(&second));
    assert_int_equal(net.loop->unauthenticated.places.count, 0);
}

/* --- Places --- */

enum { ORIGIN = 100, OTHERS = 1000 };

/* The choice touches none of the others, however many there are. */
TEST(of_an_origin_the_first_and_the_last_are_found_at_once)
{
    const size_t size = OTHERS * sizeof(struct place);
    struct place *others = heap_pages(size), origin[ORIGIN];
    struct places p = {.count = 0};

    TAILQ_INIT(&p.all);
    origins_init(&p.origins, (const uint64_t[2]){1, 2});
    for (uint64_t i = 0; i < OTHERS; i++)
        places_join(&p, &others[i], 1000 + i);
    for (int i = 0; i < ORIGIN; i++)
        places_join(&p, &origin[i], 7);
    assert_ptr_equal(places_first(&p, NULL), &others[0]);
    assert_ptr_equal(places_last(&p, NULL), &origin[ORIGIN - 1]);
    assert_int_equal(mprotect(others, size, PROT_NONE), 0);
    for (int i = 0; i < ORIGIN / 2; i++) {
        const struct origin *largest = origins_largest(&p.origins);
        assert_int_equal(largest->key, 7);
        assert_ptr_equal(places_first(&p, largest), &origin[0]);
        assert_ptr_equal(places_last(&p, largest), &origin[ORIGIN - 1 - i]);
        places_leave(&p, &origin[ORIGIN - 1 - i]);
    }
    assert_int_equal(mprotect(others, size, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(p.count, OTHERS + ORIGIN / 2);
    origins_fini(&p.origins);
    munmap(others, size);
}

/* One that came while there was no memory is in no origin, and leaves none. */
TEST(who_could_not_be_counted_is_not_counted_down)
{
    struct places p = {.count = 0};
    struct place uncounted, counted;

    TAILQ_INIT(&p.all);
    origins_init(&p.origins, (const uint64_t[2]){1, 2});
    heap_fail_at(1);
    places_join(&p, &uncounted, 7);
    places_join(&p, &counted, 7);
    places_leave(&p, &uncounted);
    assert_int_equal(origins_find(&p.origins, 7)->count, 1);
    assert_ptr_equal(places_first(&p, origins_find(&p.origins, 7)), &counted);
    places_leave(&p, &counted);
    assert_null(origins_find(&p.origins, 7));
    origins_fini(&p.origins);
}
