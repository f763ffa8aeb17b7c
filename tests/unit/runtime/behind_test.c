/* Objects that stand behind: after all others, in turn, for a quantum a round. */
#include "server/runtime/object/object.h"

#include <string.h>

#include "server/runtime/object/dispatcher.h"
#include "server/runtime/state.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

enum { PLAYERS = 5 };

struct player {
    struct ao ao;
    char name;
    bool goes_behind; /* in each of its steps */
    enum ao_verdict verdict;
    struct player *victim; /* deactivated by its next step */
};

static struct {
    struct virtual v;
    struct activator *loop;
    struct player players[PLAYERS];
    ao_time takes; /* each step */
    char said[200];
    size_t len;
} world;

static void say(char c)
{
    assert_true(world.len < sizeof world.said - 1);
    world.said[world.len++] = c;
    world.said[world.len] = '\0';
}

static enum ao_verdict player_step(struct ao *self)
{
    struct player *p = ao_of(self, struct player, ao);
    say(p->name);
    assert_ptr_equal(ao_current(), self);
    if (p->victim)
        ao_deactivate(&p->victim->ao);
    p->victim = NULL;
    if (p->goes_behind)
        ao_stand_behind(self, NULL);
    world.v.now += world.takes;
    return p->verdict == AO_FAULT ? ao_fault(self, 1, "over") : p->verdict;
}

static const struct ao_class player_class = {.name = "player", .step = player_step};

/* All are active and go on; those whose name stands in `behind` go behind in their first step. */
static void open_world(const char *behind, ao_time takes)
{
    memset(&world, 0, sizeof world);
    virtual_init(&world.v);
    world.loop = virtual_open(&world.v, "loop");
    for (int i = 0; i < PLAYERS; i++) {
        struct player *p = &world.players[i];
        *p = (struct player){.name = (char)('a' + i), .verdict = AO_AGAIN};
        p->goes_behind = strchr(behind, p->name) != NULL;
        ao_init(&p->ao, &player_class, world.loop);
        ao_activate(&p->ao);
    }
    virtual_round(&world.v, world.loop);
    for (int i = 0; i < PLAYERS; i++)
        world.players[i].goes_behind = false;
    world.takes = takes;
    world.len = 0;
}

/* What is said in so many rounds, with a space behind each. */
static void expect(int rounds, const char *said)
{
    for (; rounds > 0; rounds--) {
        virtual_round(&world.v, world.loop);
        assert_true(dispatcher_validate(&world.loop->dispatcher));
        say(' ');
    }
    assert_string_equal(world.said, said);
    world.len = 0;
}

static void close_world(void)
{
    virtual_fini(&world.v);
}

TEST(they_come_after_all_others)
{
    open_world("ac", 0);
    expect(2, "bdeac bdeac ");
    close_world();
}

TEST(they_take_turns_within_a_quantum)
{
    open_world("abcde", AO_US(150));
    expect(4, "ab cd ea bc ");
    close_world();
}

TEST(one_at_least_has_its_step_and_none_has_two)
{
    open_world("abc", AO_MS(1));
    expect(4, "dea deb dec dea ");
    close_world();
    open_world("abc", 0);
    expect(2, "deabc deabc ");
    close_world();
}

/* What its step took in front is not the time of those behind. */
TEST(who_is_in_front_takes_nothing_from_them)
{
    open_world("ab", AO_US(100));
    expect(2, "cdeab cdeab ");
    close_world();
}

TEST(whoever_comes_to_rest_is_in_front_when_it_is_active_again)
{
    open_world("abc", 0);
    world.players[1].verdict = AO_PARK;
    expect(2, "deabc deac ");
    world.players[1].verdict = AO_AGAIN;
    ao_wake(&world.players[1].ao);
    expect(2, "debac debac ");
    ao_deactivate(&world.players[0].ao);
    expect(1, "debc ");
    ao_activate(&world.players[0].ao);
    expect(1, "debac ");
    close_world();
}

TEST(they_end_each_other_in_the_middle_of_their_turns)
{
    open_world("abcd", 0);
    world.players[0].victim = &world.players[1];
    world.players[3].victim = &world.players[3];
    expect(2, "eacd eac ");
    world.players[4].victim = &world.players[0];
    expect(1, "ec ");
    world.players[2].verdict = AO_FAULT;
    virtual_silence();
    expect(2, "ec e ");
    assert_int_equal(ao_state(&world.players[2].ao), AO_STATE_FAULTED);
    close_world();
}

/* The loop does not rest while only those behind are active, and rests when they have ended. */
TEST(a_loop_with_nobody_in_front_goes_on)
{
    open_world("abcde", AO_US(200));
    expect(3, "a b c ");
    for (int i = 0; i < PLAYERS; i++)
        world.players[i].verdict = AO_DONE;
    virtual_run(&world.v);
    assert_string_equal(world.said, "deabc");
    close_world();
}

/* A step that takes too long is counted here, too. */
TEST(their_steps_are_measured)
{
    struct activator_options limited = {.name = "limited", .step_limit = AO_MS(1)};
    open_world("a", 0);
    virtual_silence();
    struct activator *loop = virtual_open_with(&world.v, limited);
    struct player p = {.name = 'p', .verdict = AO_AGAIN, .goes_behind = true};
    ao_init(&p.ao, &player_class, loop);
    ao_activate(&p.ao);
    virtual_round(&world.v, loop);
    assert_int_equal(counter_read(&loop->counters.long_steps), 0);
    world.takes = AO_MS(2);
    p.verdict = AO_DONE;
    virtual_round(&world.v, loop);
    assert_int_equal(counter_read(&loop->counters.long_steps), 1);
    close_world();
}
