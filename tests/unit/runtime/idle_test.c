/* What a round ends with: however an activator is kept at work, it looks at its poller. */
#include "server/runtime/threads/lane.h"
#include "server/runtime/threads/waker.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

enum {
    ROUNDS = 1000,
    LOOKS_AT_LEAST = 10,
    STEPS_A_ROUND = 257 /* one in turn, and those out of turn */
};

/* Gives itself an item in each step, so that the end of each round finds new input. */
struct juggler {
    struct ao ao;
    struct lane lane;
    struct lane_item ball;
};

static enum ao_verdict juggle(struct ao *self)
{
    struct juggler *j = ao_of(self, struct juggler, ao);
    struct lane_item *ball = lane_take(&j->lane);
    if (ball)
        lane_push(&j->lane, ball);
    lane_release(&j->lane);
    return AO_DONE;
}

static const struct ao_class juggler_class = {.name = "juggler", .step = juggle};

static void juggler_keeps_polls_going(enum idle_mode idle)
{
    struct virtual v;
    struct juggler j = {0};
    struct activator_stats stats;
    virtual_init(&v);
    struct activator *a = virtual_open_with(
        &v, (struct activator_options){.name = "loop", .idle = idle, .spin = AO_US(50)});
    ao_init(&j.ao, &juggler_class, a);
    assert_int_equal(lane_init(&j.lane, 4, a, &j.ao), 0);
    lane_push(&j.lane, &j.ball);
    for (int i = 0; i < ROUNDS; i++)
        activator_round(a, true);
    activator_stats(a, &stats);
    assert_in_range(stats.steps, ROUNDS - 1, ROUNDS * STEPS_A_ROUND);
    assert_in_range(stats.polls, LOOKS_AT_LEAST, ROUNDS);
    lane_fini(&j.lane);
    ao_fini(&j.ao);
    virtual_fini(&v);
}

TEST(input_without_end_does_not_starve_the_poller)
{
    juggler_keeps_polls_going(IDLE_SLEEP);
}

TEST(nor_does_it_while_spinning)
{
    juggler_keeps_polls_going(IDLE_SPIN);
}

TEST(nor_while_learning)
{
    juggler_keeps_polls_going(IDLE_AUTO);
}

static void count(void *arg)
{
    ++*(int *)arg;
}

struct watched {
    struct virtual v;
    struct activator *loop;
    struct waker watcher;
    int calls;
    bool blocked;
};

/* In the poller of the loop, as what ends its block. */
static void look(void *arg)
{
    struct watched *w = arg;
    w->blocked = activator_blocked(w->loop);
    waker_announce(&w->watcher);
}

/* Who watches sleeps while the loop is blocked, and hears when it goes on. */
TEST(a_watcher_is_told_when_a_block_is_over)
{
    struct watched w = {0};
    virtual_init(&w.v);
    w.loop = virtual_open(&w.v, "loop");
    waker_init(&w.watcher, count, &w.calls);
    activator_watch(w.loop, &w.watcher);
    virtual_at(&w.v, AO_MS(5), w.loop, look, &w);
    virtual_run(&w.v);
    assert_true(w.blocked);
    assert_false(activator_blocked(w.loop));
    assert_int_equal(w.calls, 1);
    virtual_fini(&w.v);
}
