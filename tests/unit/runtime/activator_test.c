#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/virtual.h"

/* Says so when it is stepped and when it is told that it ends. */
struct speaker {
    struct ao ao;
    struct virtual *v;
    int number;
    enum ao_verdict verdict;
};

static enum ao_verdict speaker_step(struct ao *self)
{
    struct speaker *s = ao_of(self, struct speaker, ao);
    virtual_say(s->v, "speaker", (unsigned)s->number, "step");
    return s->verdict;
}

static void speaker_refused(struct ao *self, enum ao_post ask, int error)
{
    struct speaker *s = ao_of(self, struct speaker, ao);
    virtual_say(s->v, "speaker", (unsigned)s->number, "refused %d (%d)", (int)ask, error);
    assert_int_equal(ao_activate(self), AO_E_CLOSED);
}

static void speaker_retired(struct ao *self)
{
    struct speaker *s = ao_of(self, struct speaker, ao);
    virtual_say(s->v, "speaker", (unsigned)s->number, "gone");
}

static const struct ao_class speaker_class = {
    .name = "ao", .step = speaker_step, .refused = speaker_refused, .retired = speaker_retired};

struct world {
    struct virtual v;
    struct activator *loop;
    struct speaker s[6];
};

static int set_up(void **state)
{
    static struct world w;
    virtual_silence();
    virtual_init(&w.v);
    w.loop = virtual_open(&w.v, "loop");
    for (int i = 0; i < 6; i++) {
        w.s[i] = (struct speaker){.v = &w.v, .number = i + 1, .verdict = AO_DONE};
        ao_init(&w.s[i].ao, &speaker_class, w.loop);
    }
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    virtual_fini(&w->v);
    return 0;
}

#define ACTIVATOR_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)

/* Who waits without a deadline is known too, and what it holds goes back. */
ACTIVATOR_TEST(close_finishes_who_sleeps_without_a_deadline)
{
    ao_sleep_until(&w->s[0].ao, AO_NEVER);
    ao_sleep_until(&w->s[1].ao, AO_NEVER);
    ao_sleep_until(&w->s[2].ao, AO_NEVER);
    ao_sleep_until(&w->s[3].ao, AO_S(1));
    ao_sleep_until(&w->s[4].ao, AO_NEVER);
    ao_wake(&w->s[1].ao); /* it leaves from the middle, and comes back at the end */
    activator_round(w->loop, false);
    ao_deactivate(&w->s[1].ao);
    ao_sleep_until(&w->s[1].ao, AO_NEVER);
    ao_deactivate(&w->s[4].ao);
    trace_forget(&w->v);
    virtual_close(&w->v, w->loop);
    trace_expect(&w->v, "[   0] ao 4       SLEEPING -> INACTIVE (activator closed)\n"
                        "[   0] ao 1       SLEEPING -> INACTIVE (activator closed)\n"
                        "[   0] ao 3       SLEEPING -> INACTIVE (activator closed)\n"
                        "[   0] ao 2       SLEEPING -> INACTIVE (activator closed)\n");
    for (int i = 0; i < 5; i++)
        assert_int_equal(ao_state(&w->s[i].ao), AO_STATE_INACTIVE);
}

ACTIVATOR_TEST(close_finishes_in_order)
{
    struct ao_handle *handle = ao_handle_new(&w->s[0].ao);
    ao_sleep_until(&w->s[4].ao, AO_S(9));
    ao_sleep_until(&w->s[3].ao, AO_S(1));
    ao_activate(&w->s[2].ao);
    ao_activate(&w->s[1].ao);
    ao_retire(&w->s[5].ao);
    ao_post(handle, AO_POST_WAKE);
    trace_forget(&w->v);
    virtual_close(&w->v, w->loop);
    trace_expect(&w->v, "[   0] speaker 1  refused 4 (-4)\n"
                        "[   0] ao 3       ACTIVE -> INACTIVE (activator closed)\n"
                        "[   0] ao 2       ACTIVE -> INACTIVE (activator closed)\n"
                        "[   0] ao 4       SLEEPING -> INACTIVE (activator closed)\n"
                        "[   0] ao 5       SLEEPING -> INACTIVE (activator closed)\n"
                        "[   0] ao 6       retired\n"
                        "[   0] speaker 6  gone\n");
    assert_int_equal(ao_post(handle, AO_POST_WAKE), AO_E_CLOSED);
    ao_handle_unref(handle);
    ao_fini(&w->s[0].ao); /* the object's own count of the handle */
}

/* --- Rounds --- */

enum { MANY = 3000, EXPIRED_A_ROUND = 256, MOVED_A_ROUND = 1024 };

ACTIVATOR_TEST(expirations_of_a_round_are_bounded)
{
    struct activator_stats stats;
    struct speaker *crowd = calloc(MANY, sizeof *crowd);
    for (int i = 0; i < MANY; i++) {
        crowd[i] = (struct speaker){.v = &w->v, .verdict = AO_DONE};
        ao_init(&crowd[i].ao, &speaker_class, w->loop);
        ao_sleep_until(&crowd[i].ao, AO_MS(i % 5 + 1));
    }
    w->v.now = AO_MS(6);
    assert_true(virtual_round(&w->v, w->loop)); /* the rest is ready */
    activator_stats(w->loop, &stats);
    assert_in_range(stats.steps, 1, EXPIRED_A_ROUND);
    assert_int_equal(stats.sleeping, MANY - stats.steps);
    virtual_run(&w->v);
    activator_stats(w->loop, &stats);
    assert_int_equal(stats.steps, MANY);
    assert_int_equal(stats.sleeping, 0);
    free(crowd);
}

static void sleep_all_until(struct speaker *crowd, struct world *w, ao_time due)
{
    for (int i = 0; i < MANY; i++) {
        crowd[i] = (struct speaker){.v = &w->v, .verdict = AO_DONE};
        ao_init(&crowd[i].ao, &speaker_class, w->loop);
        ao_sleep_until(&crowd[i].ao, due);
    }
}

/* All are due in one tick, and stand in a slot from which they have to be moved first.  Neither is
 * done at once, nor in more rounds than needed. */
ACTIVATOR_TEST(a_crowd_of_one_tick_is_drained_in_pieces)
{
    struct activator_stats stats;
    struct speaker *crowd = calloc(MANY, sizeof *crowd);
    int moving = 0, stepping = 0;
    uint64_t steps = 0;
    sleep_all_until(crowd, w, AO_MS(100));
    w->v.now = AO_MS(100);
    while (steps < MANY) {
        assert_true(moving + stepping < MANY);
        virtual_round(&w->v, w->loop);
        activator_stats(w->loop, &stats);
        assert_in_range(stats.steps - steps, 0, EXPIRED_A_ROUND);
        if (stats.steps == steps)
            moving++;
        else
            stepping++;
        steps = stats.steps;
    }
    assert_in_range(moving, MANY / MOVED_A_ROUND, MANY / MOVED_A_ROUND + 1);
    assert_in_range(stepping, MANY / EXPIRED_A_ROUND, MANY / EXPIRED_A_ROUND + 2);
    free(crowd);
}

static void count_poll(void *arg)
{
    ++*(int *)arg;
}

/* A loop that is never idle looks at its poller now and then. */
ACTIVATOR_TEST(busy_loop_polls)
{
    int polls = 0;
    w->s[0].verdict = AO_AGAIN;
    ao_activate(&w->s[0].ao);
    virtual_at(&w->v, 0, w->loop, count_poll, &polls);
    for (int i = 0; i < 64; i++)
        virtual_round(&w->v, w->loop);
    assert_int_equal(polls, 1);
    virtual_at(&w->v, 0, w->loop, count_poll, &polls);
    w->v.now += AO_US(20);
    virtual_round(&w->v, w->loop);
    assert_int_equal(polls, 2);
}

static void activate(void *arg)
{
    assert_int_equal(ao_activate(arg), 0);
}

ACTIVATOR_TEST(spins_before_it_blocks)
{
    struct activator_stats stats;
    struct activator *spinner = virtual_open_with(
        &w->v, (struct activator_options){.name = "spin", .idle = IDLE_SPIN, .spin = AO_US(50)});
    struct speaker s = {.v = &w->v, .verdict = AO_DONE};
    ao_init(&s.ao, &speaker_class, spinner);
    activator_round(spinner, true);
    activator_stats(spinner, &stats);
    assert_int_equal(stats.spins_lost, 1);
    assert_int_equal(stats.blocks, 1);
    virtual_at(&w->v, 0, spinner, activate, &s.ao); /* ready while it spins */
    activator_round(spinner, true);
    activator_stats(spinner, &stats);
    assert_int_equal(stats.spins_won, 1);
    assert_int_equal(stats.blocks, 1);
    ao_deactivate(&s.ao);
}

ACTIVATOR_TEST(learns_to_spin)
{
    struct activator_stats stats;
    struct activator *learner = virtual_open_with(
        &w->v, (struct activator_options){.name = "auto", .idle = IDLE_AUTO, .spin = AO_US(50)});
    activator_round(learner, true); /* on this clock, a brief wait */
    activator_stats(learner, &stats);
    assert_int_equal(stats.blocks, 1);
    assert_int_equal(stats.spins_lost, 0);
    activator_round(learner, true);
    activator_stats(learner, &stats);
    assert_int_equal(stats.blocks, 2);
    assert_int_equal(stats.spins_lost, 1);
}

ACTIVATOR_TEST(idle_never_does_not_block)
{
    struct activator_stats stats;
    struct activator *eager =
        virtual_open_with(&w->v, (struct activator_options){.name = "x", .idle = IDLE_NEVER});
    activator_round(eager, true);
    activator_stats(eager, &stats);
    assert_int_equal(stats.polls, 1);
    assert_int_equal(stats.blocks, 0);
}

static void stop(void *arg)
{
    activator_stop(arg);
}

ACTIVATOR_TEST(run_ends_after_the_round)
{
    struct activator_stats before, after;
    activator_stop(w->loop);
    activator_run(w->loop); /* stopped before it began: no round */
    w->s[0].verdict = AO_AGAIN;
    ao_activate(&w->s[0].ao);
    activator_stats(w->loop, &before);
    virtual_at(&w->v, 0, w->loop, stop, w->loop);
    activator_run(w->loop);
    activator_stats(w->loop, &after);
    assert_int_equal(after.rounds - before.rounds, 64);
}

ACTIVATOR_TEST(random_depends_on_the_seed_alone)
{
    struct activator *same = virtual_open(&w->v, "same");
    struct activator *other =
        virtual_open_with(&w->v, (struct activator_options){.name = "other", .seed = 1});
    uint64_t first = activator_random(w->loop);
    assert_int_equal(activator_random(same), first);
    assert_int_not_equal(activator_random(other), first);
    assert_int_not_equal(activator_random(w->loop), first);
}

ACTIVATOR_TEST(current)
{
    assert_null(activator_current());
    virtual_round(&w->v, w->loop);
    assert_null(activator_current());
    assert_string_equal(activator_name(w->loop), "loop");
    assert_ptr_equal(activator_trace(w->loop), &w->v.trace);
}

static int open_one(void *arg)
{
    struct world *w = arg;
    struct activator *a =
        activator_open(&(struct activator_options){.name = "x", .poller = &w->v.pollers[0].table});
    if (!a)
        return -1;
    activator_close(a);
    return 0;
}

ACTIVATOR_TEST(without_memory)
{
    heap_fail_each(open_one, w);
}

ACTIVATOR_TEST(without_poller)
{
    assert_null(activator_open(&(struct activator_options){.name = "x"}));
}
