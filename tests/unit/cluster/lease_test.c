/* Deaths and the choice of the next owner, by rows and a clock that the test makes. */
#include "server/cluster/lease.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

enum { LEASE = 5, ME = 77 };

static struct lease lease;
static struct engine_view view;
static struct engine_take_over taken;
static ao_time now, at;

static struct engine_node *node(const char *name)
{
    for (uint32_t i = 0; i < view.count; i++)
        if (strcmp(view.nodes[i].node, name) == 0)
            return &view.nodes[i];
    struct engine_node *made = &view.nodes[view.count++];
    snprintf(made->node, sizeof made->node, "%s", name);
    snprintf(made->state, sizeof made->state, "front");
    made->incarnation = strcmp(name, "me") == 0 ? ME : (uint64_t)name[0];
    made->weight = 100;
    return made;
}

static void owned_by(const char *name)
{
    snprintf(view.owner.node, sizeof view.owner.node, "%s", name);
    view.owner.incarnation = *name ? node(name)->incarnation : 0;
    view.owner.epoch++;
}

static void begin(void)
{
    memset(&view, 0, sizeof view);
    now = AO_S(1000);
    node("me");
    lease_join(&lease, "me", ME, AO_S(LEASE), now);
}

static enum lease_choice look(void)
{
    return lease_look(&lease, &view, now, &taken, &at);
}

/* A second passes, in which this node renews, and so do the nodes of the list (one letter each). */
static enum lease_choice second(const char *alive)
{
    now += AO_S(1);
    node("me")->renewals++;
    lease_renewed(&lease, now);
    for (; *alive; alive++) {
        const char name[] = {*alive, '\0'};
        node(name)->renewals++;
    }
    return look();
}

static unsigned seconds_until_take(const char *alive)
{
    unsigned n = 0;

    if (lease.count == 0)
        assert_int_equal(look(), LEASE_STAY);
    for (; n < 60 && second(alive) != LEASE_TAKE; n++)
        ;
    return n + 1;
}

TEST(an_owner_is_dead_after_a_lease_of_silence)
{
    begin();
    node("a");
    owned_by("a");
    node("a")->renewals = 9;
    assert_int_equal(look(), LEASE_STAY);
    assert_int_equal(at, now + AO_S(LEASE));
    assert_int_equal(seconds_until_take(""), LEASE);
    assert_string_equal(taken.dead.node, "a");
    assert_int_equal(taken.dead.renewals, 9);
    assert_int_equal(taken.dead.incarnation, 'a');
    assert_int_equal(taken.epoch, 1);
}

TEST(each_renewal_begins_the_count_anew)
{
    begin();
    owned_by("a");
    for (int i = 0; i < 30; i++)
        assert_int_equal(second("a"), LEASE_STAY);
    for (int i = 0; i < LEASE - 1; i++)
        assert_int_equal(second(""), LEASE_STAY);
    assert_int_equal(second("a"), LEASE_STAY);
    assert_int_equal(seconds_until_take(""), LEASE);
}

/* As after a SIGSTOP of the observer, or while its own renewals fail. */
TEST(a_pause_of_the_own_renewals_begins_all_counts_anew)
{
    begin();
    owned_by("a");
    for (int i = 0; i < LEASE - 1; i++)
        assert_int_equal(second(""), LEASE_STAY);
    now += AO_S(20);
    assert_int_equal(look(), LEASE_STAY);
    assert_int_equal(seconds_until_take(""), LEASE + 1);
}

TEST(nothing_is_counted_for_a_while_after_a_reconnect)
{
    begin();
    owned_by("a");
    assert_int_equal(second(""), LEASE_STAY);
    lease_reconnect(&lease, now);
    assert_int_equal(seconds_until_take(""), LEASE_BLIND / AO_S(1) + LEASE);
}

TEST(a_free_place_is_taken_at_once_by_a_node_that_is_alone)
{
    begin();
    assert_int_equal(look(), LEASE_TAKE);
    assert_string_equal(taken.dead.node, "");
    assert_int_equal(taken.epoch, 0);
}

/* Else a node that has drained, and comes back, would be the owner again. */
TEST(a_newcomer_leaves_a_free_place_to_others_for_two_seconds)
{
    begin();
    node("z")->weight = 1;
    assert_int_equal(look(), LEASE_STAY);
    assert_int_equal(at, now + LEASE_SETTLE);
    assert_int_equal(second("z"), LEASE_STAY);
    assert_int_equal(second("z"), LEASE_TAKE);
}

TEST(the_heaviest_tries_first_then_by_name_a_second_apart)
{
    begin();
    node("a");
    node("z")->weight = 101;
    node("n")->weight = 0;
    owned_by("b");
    assert_int_equal(seconds_until_take("azn"), LEASE + 2);
    begin();
    node("z");
    owned_by("b");
    assert_int_equal(seconds_until_take("z"), LEASE);
}

/* They come before this node by name, but leave the place to others. */
TEST(nobody_waits_for_the_turn_of_a_node_that_has_just_joined)
{
    begin();
    node("a");
    owned_by("b");
    look();
    second("ab");
    node("a")->incarnation++;
    second("ab");
    owned_by("");
    node("b")->incarnation++;
    assert_int_equal(second("ab"), LEASE_TAKE);
}

TEST(a_node_that_joined_a_while_ago_comes_first)
{
    begin();
    node("a");
    owned_by("b");
    look();
    second("ab");
    node("a")->incarnation++;
    for (int n = 0; n <= 2; n++)
        second("ab");
    owned_by("");
    node("b")->incarnation++;
    assert_int_equal(second("ab"), LEASE_STAY);
    assert_int_equal(second("ab"), LEASE_TAKE);
}

TEST(nodes_that_are_gone_are_no_candidates)
{
    static const char *const states[] = {"dead", "left", "draining"};

    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        begin();
        snprintf(node("a")->state, sizeof node("a")->state, "%s", states[i]);
        owned_by("b");
        assert_int_equal(seconds_until_take("a"), LEASE);
    }
    begin();
    node("a"); /* it is as silent as the owner */
    owned_by("b");
    assert_int_equal(seconds_until_take(""), LEASE);
}

TEST(a_node_that_may_not_own_never_takes_over)
{
    begin();
    lease.may_own = false;
    assert_int_equal(look(), LEASE_STAY);
    owned_by("b");
    assert_int_equal(seconds_until_take(""), 61);
}

TEST(after_two_tries_nobody_takes_over_until_retry)
{
    begin();
    view.owner.tries = 2;
    assert_int_equal(look(), LEASE_TRIED);
    view.owner.tries = 1;
    assert_int_equal(look(), LEASE_TAKE);
    view.owner.tries = 2;
    owned_by("me");
    view.owner.incarnation = 3;
    assert_int_equal(look(), LEASE_TRIED);
}

TEST(a_node_with_its_board_takes_its_own_place_back_at_once)
{
    begin();
    node("a")->weight = 1000;
    owned_by("me");
    view.owner.incarnation = 3;
    lease.board = 1;
    assert_int_equal(look(), LEASE_TAKE);
    assert_string_equal(taken.dead.node, "me");
    owned_by("me");
    assert_int_equal(look(), LEASE_OWNED);
    node("me")->incarnation++; /* another process has the name since */
    assert_int_equal(look(), LEASE_STAY);
}

/* The process that owned under this name may live on another machine. */
TEST(without_a_proof_a_node_takes_its_own_place_back_after_a_lease)
{
    begin();
    owned_by("a");
    owned_by("me");
    view.owner.incarnation = 3;
    lease.board = 1;
    assert_int_equal(look(), LEASE_STAY);
    assert_int_equal(at, now + AO_S(LEASE));
    assert_int_equal(seconds_until_take(""), LEASE);
}

/* It has the owner's name, and may not own (its clock is wrong, say). */
TEST(a_place_that_its_node_does_not_take_back_is_free_in_the_end)
{
    begin();
    owned_by("a");
    assert_int_equal(second("a"), LEASE_STAY);
    node("a")->incarnation = 5;
    assert_int_equal(seconds_until_take("a"), LEASE + LEASE_SETTLE / AO_S(1) + 1);
    assert_string_equal(taken.dead.node, "a");
    assert_int_equal(taken.dead.incarnation, 5);
}

TEST(a_row_that_is_gone_leaves_room)
{
    begin();
    for (int round = 0; round < 3; round++) {
        view.count = 1;
        for (int i = 1; i < CLUSTER_NODES_MAX; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d-%d", round, i);
            node(name);
        }
        owned_by("me");
        assert_int_equal(look(), LEASE_OWNED);
        assert_int_equal(lease.count, CLUSTER_NODES_MAX);
        assert_int_equal(lease_heard(&lease, "0-1"), round == 0 ? now : 0);
    }
}
