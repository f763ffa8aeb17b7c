/* Waiting for room: it is told on whatever loop it is made, in turn, and nobody waits in vain. */
#include "server/accounts/room.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/unit/accounts/two_loops.h"

enum { WAITERS = 40 };

static struct room_waiter waiters[WAITERS];
static char order[256];        /* in which they went on */
static struct tally *taken_by; /* whoever goes on takes what it needs, of this; NULL: nothing */

static void go_on(struct room_waiter *w)
{
    size_t at = strlen(order);
    snprintf(order + at, sizeof order - at, "%s%d", at ? " " : "", (int)(w - waiters));
    if (taken_by)
        tally_charge(taken_by, (int64_t)w->need);
}

static int set_up(void **state)
{
    (void)state;
    order[0] = '\0';
    taken_by = NULL;
    open_loops((struct account_limits){.bytes_in_all = 1000, .bytes = 100, .calls = 3});
    for (int i = 0; i < 2; i++)
        assert_true(room_open(&books[i], go_on));
    return 0;
}

#define ROOM_TEST(name) TEST_WITH(set_up, close_loops, name)

ROOM_TEST(what_another_loop_gives_back_is_told)
{
    struct tally *here = tally_open(&books[0], "a"), *there = tally_open(&books[1], "a");
    tally_charge(there, 100);
    virtual_run(&v);
    room_wait(here, &waiters[0], 0);
    virtual_run(&v);
    assert_string_equal(order, "");
    tally_charge(there, -1);
    virtual_run(&v);
    assert_string_equal(order, "0");
    tally_charge(there, -99);
    virtual_run(&v);
    tally_close(here);
    tally_close(there);
}

ROOM_TEST(what_this_loop_took_and_gave_back_in_one_round_is_told)
{
    struct tally *t = tally_open(&books[0], "a");
    tally_charge(t, 100);
    assert_true(tally_lacks(t, 0));
    room_wait(t, &waiters[0], 0);
    tally_charge(t, -100);
    virtual_run(&v);
    assert_string_equal(order, "0");
    tally_close(t);
}

ROOM_TEST(they_go_on_in_turn_as_far_as_there_is_room)
{
    struct tally *t = tally_open(&books[0], "a"), *there = tally_open(&books[1], "a");
    taken_by = t;
    tally_charge(there, 100);
    virtual_run(&v);
    for (int i = 0; i < 5; i++)
        room_wait(t, &waiters[i], 30);
    virtual_run(&v);
    assert_string_equal(order, "");
    tally_charge(there, -70);
    virtual_run(&v);
    assert_string_equal(order, "0 1");
    room_forget(t, &waiters[3]);
    tally_charge(there, -30);
    virtual_run(&v);
    assert_string_equal(order, "0 1 2");
    tally_charge(t, -60);
    virtual_run(&v);
    assert_string_equal(order, "0 1 2 4");
    tally_charge(t, -60);
    virtual_run(&v);
    tally_close(t);
    tally_close(there);
}

/* By the linker, in place of what announces that a loop waits. */
void __real_accounts_wait(struct accounts *accounts, struct account_room *room);
void __wrap_accounts_wait(struct accounts *accounts, struct account_room *room);

static struct account *at_the_last_moment; /* another thread gives back 100 bytes of it */

void __wrap_accounts_wait(struct accounts *accounts, struct account_room *room)
{
    if (at_the_last_moment)
        account_settle(at_the_last_moment, &(struct account_change){.bytes = -100});
    at_the_last_moment = NULL;
    __real_accounts_wait(accounts, room);
}

/* Which tells nobody, since nobody has announced that it waits. */
ROOM_TEST(room_that_is_made_between_look_and_announcement_is_seen)
{
    struct tally *t = tally_open(&books[0], "a");
    account_settle(t->account, &(struct account_change){.bytes = 100});
    room_wait(t, &waiters[0], 0);
    at_the_last_moment = t->account;
    virtual_run(&v);
    assert_null(at_the_last_moment);
    assert_string_equal(order, "0");
    tally_close(t);
}

static int looks;

static enum ao_verdict count_look(struct ao *self)
{
    (void)self;
    looks++;
    return AO_DONE;
}

/* Who is told once waits no more, however often it has said that it waits, and nobody waits in the
 * end (accounts_free() asserts it). */
ROOM_TEST(who_waits_is_told_once)
{
    static const struct ao_class looks_at = {.name = "looks", .step = count_look};
    struct account_room told = {0}, gone = {0};
    struct tally *t = tally_open(&books[0], "a");
    struct ao own;
    looks = 0;
    ao_init(&own, &looks_at, loops[0]);
    told.handle = gone.handle = ao_handle_new(&own);
    accounts_add_room(all, &told);
    accounts_add_room(all, &gone);
    account_settle(t->account, &(struct account_change){.bytes = 100});
    accounts_wait(all, &told);
    accounts_wait(all, &told);
    accounts_wait(all, &gone);
    accounts_remove_room(all, &gone);
    for (int i = 0; i < 10; i++) {
        account_settle(t->account, &(struct account_change){.bytes = -10});
        virtual_run(&v);
        assert_int_equal(looks, 1);
    }
    accounts_remove_room(all, &told);
    ao_fini(&own);
    ao_handle_unref(told.handle);
    tally_close(t);
}

/* Those behind the first few look again by themselves: nobody settles anything. */
ROOM_TEST(who_goes_on_and_takes_nothing_keeps_nobody_back)
{
    struct tally *t = tally_open(&books[0], "a"), *there = tally_open(&books[1], "a");
    tally_charge(there, 100);
    virtual_run(&v);
    for (int i = 0; i < WAITERS; i++)
        room_wait(t, &waiters[i], 60);
    virtual_run(&v);
    tally_charge(there, -99);
    virtual_run(&v);
    assert_non_null(strstr(order, " 39"));
    tally_charge(there, -1);
    virtual_run(&v);
    tally_close(t);
    tally_close(there);
}

/* Room in all that another principal gives back. */
ROOM_TEST(what_another_principal_gives_back_is_told)
{
    struct tally *a = tally_open(&books[0], "a"), *b = tally_open(&books[1], "b");
    tally_charge(b, 990);
    virtual_run(&v);
    assert_true(tally_lacks(a, 20));
    room_wait(a, &waiters[0], 20);
    virtual_run(&v);
    assert_string_equal(order, "");
    tally_charge(b, -20);
    virtual_run(&v);
    assert_string_equal(order, "0");
    tally_charge(b, -970);
    virtual_run(&v);
    tally_close(a);
    tally_close(b);
}

/* Those that a call waits for to begin have no place among those that are at work. */
ROOM_TEST(bytes_that_become_input_are_room)
{
    struct tally *here = tally_open(&books[0], "a"), *there = tally_open(&books[1], "a");
    tally_charge(there, 100);
    virtual_run(&v);
    room_wait(here, &waiters[0], 0);
    assert_int_equal(accounts_figures(all).stopped, 1);
    virtual_run(&v);
    assert_string_equal(order, "");
    tally_input(there, 100);
    virtual_run(&v);
    assert_string_equal(order, "0");
    tally_input(there, -100);
    tally_charge(there, -100);
    virtual_run(&v);
    tally_close(here);
    tally_close(there);
}

ROOM_TEST(a_call_that_ends_is_room)
{
    struct tally *here = tally_open(&books[0], "a"), *there = tally_open(&books[1], "a");
    tally_calls(there, 3);
    virtual_run(&v);
    room_wait(here, &waiters[0], 0);
    virtual_run(&v);
    assert_string_equal(order, "");
    tally_calls(there, -1);
    virtual_run(&v);
    assert_string_equal(order, "0");
    tally_calls(there, -2);
    virtual_run(&v);
    tally_close(here);
    tally_close(there);
}

ROOM_TEST(when_the_first_gives_up_those_behind_it_look)
{
    struct tally *t = tally_open(&books[0], "a");
    tally_charge(t, 60);
    virtual_run(&v);
    room_wait(t, &waiters[0], 80);
    room_wait(t, &waiters[1], 30);
    virtual_run(&v);
    assert_string_equal(order, "");
    room_forget(t, &waiters[0]);
    virtual_run(&v);
    assert_string_equal(order, "1");
    tally_charge(t, -60);
    virtual_run(&v);
    tally_close(t);
}

/* The first who go on, of `count` that want so much, once no more than `left` is held. */
static void first_of(int count, uint64_t need, int64_t left)
{
    struct tally *t = tally_open(&books[0], "a"), *there = tally_open(&books[1], "a");
    tally_charge(there, 100);
    virtual_run(&v);
    for (int i = 0; i < count; i++)
        room_wait(t, &waiters[i], need);
    virtual_run(&v);
    assert_string_equal(order, "");
    tally_charge(there, left - 100);
    virtual_round(&v, books[1].activator);
    while (!*order)
        virtual_round(&v, books[0].activator);
    char first[sizeof order];
    snprintf(first, sizeof first, "%s", order);
    tally_charge(there, -left);
    virtual_run(&v);
    tally_close(t);
    tally_close(there);
    snprintf(order, sizeof order, "%s", first);
}

ROOM_TEST(what_the_first_will_take_is_not_there_for_the_next)
{
    first_of(3, 40, 60);
    assert_string_equal(order, "0");
}

ROOM_TEST(so_many_of_one_go_on_in_a_step)
{
    first_of(WAITERS, 0, 0);
    assert_non_null(strstr(order, " 15"));
    assert_null(strstr(order, " 16"));
}

static struct tally *giver;

static enum ao_verdict give_back(struct ao *self)
{
    (void)self;
    tally_charge(giver, -100);
    return AO_DONE;
}

/* What settles to nothing makes no room for others, but for those who saw it taken. */
ROOM_TEST(who_looked_within_the_round_looks_again)
{
    static const struct ao_class gives = {.name = "gives", .step = give_back};
    struct ao later;
    giver = tally_open(&books[0], "a");
    ao_init(&later, &gives, books[0].activator);
    tally_charge(giver, 100);
    room_wait(giver, &waiters[0], 0);
    ao_activate(&later);
    virtual_run(&v);
    assert_string_equal(order, "0");
    ao_fini(&later);
    tally_close(giver);
}
