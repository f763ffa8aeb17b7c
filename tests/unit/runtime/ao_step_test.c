/* What an object does to itself within its own step, and what is done to it from outside: every
 * order of sleep, wake, block, activation and verdict. */
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/unit/runtime/actor.h"

/* --- Wakes within the own step --- */

static enum ao_verdict sleep_wake_park(struct actor *self)
{
    ao_sleep_for(&self->ao, AO_MS(5));
    ao_wake(&self->ao);
    return AO_PARK;
}

ACTORS_TEST(wake_cancels_the_park)
{
    actors_begin(w, sleep_wake_park);
    assert_int_equal(actors_round(w), AO_STATE_ACTIVE);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, 0);
    assert_int_equal(w->x.steps, 2);
    assert_int_equal(w->x.why, AO_WHY_WOKEN);
}

static enum ao_verdict wake_sleep_park(struct actor *self)
{
    ao_wake(&self->ao);
    ao_sleep_for(&self->ao, AO_MS(5));
    return AO_PARK;
}

ACTORS_TEST(wake_before_the_sleep_is_a_no_op)
{
    actors_begin(w, wake_sleep_park);
    assert_int_equal(actors_round(w), AO_STATE_SLEEPING);
}

static enum ao_verdict wake_park(struct actor *self)
{
    ao_wake(&self->ao);
    return AO_PARK;
}

ACTORS_TEST(wake_before_a_plain_park_is_not_lost)
{
    actors_begin(w, wake_park);
    assert_int_equal(actors_round(w), AO_STATE_ACTIVE);
}

static enum ao_verdict sleep_wake_sleep_park(struct actor *self)
{
    ao_sleep_for(&self->ao, AO_MS(5));
    ao_wake(&self->ao);
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(9)), 0);
    return AO_PARK;
}

ACTORS_TEST(new_sleep_after_the_wake)
{
    actors_begin(w, sleep_wake_sleep_park);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, AO_MS(9));
}

static enum ao_verdict sleep_again(struct actor *self)
{
    ao_sleep_for(&self->ao, AO_MS(5));
    return AO_AGAIN;
}

ACTORS_TEST(deadline_without_park_is_forgotten)
{
    w->x.script[0] = sleep_again;
    w->x.script[1] = actor_park;
    ao_activate(&w->x.ao);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, 0);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_SLEEPING);
    ao_deactivate(&w->x.ao);
}

/* --- Activation, deactivation, retirement within the own step --- */

static enum ao_verdict activate_done(struct actor *self)
{
    assert_int_equal(ao_activate(&self->ao), 0);
    return AO_DONE;
}

ACTORS_TEST(activation_is_not_lost)
{
    actors_begin(w, activate_done);
    assert_int_equal(actors_round(w), AO_STATE_ACTIVE);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.steps, 2);
    assert_int_equal(w->x.why, AO_WHY_ACTIVATED);
}

static enum ao_verdict deactivate_again(struct actor *self)
{
    ao_deactivate(&self->ao);
    return AO_AGAIN;
}

static enum ao_verdict deactivate_fault(struct actor *self)
{
    ao_deactivate(&self->ao);
    return AO_FAULT;
}

ACTORS_TEST(verdict_ignored_after_deactivation)
{
    actors_begin(w, deactivate_again);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
    w->x.at = 0;
    actors_begin(w, deactivate_fault);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.faults, 0);
}

static enum ao_verdict deactivate_activate_park(struct actor *self)
{
    ao_deactivate(&self->ao);
    ao_activate(&self->ao);
    return AO_PARK;
}

ACTORS_TEST(reactivation_in_the_own_step)
{
    actors_begin(w, deactivate_activate_park);
    assert_int_equal(actors_round(w), AO_STATE_ACTIVE);
    assert_int_equal(w->x.steps, 1);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
}

static enum ao_verdict retire_again(struct actor *self)
{
    ao_retire(&self->ao);
    assert_int_equal(self->retired, 0);
    return AO_AGAIN;
}

ACTORS_TEST(retirement_in_the_own_step)
{
    actors_begin(w, retire_again);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.retired, 1);
    assert_int_equal(w->x.steps, 1);
}

/* --- From outside a step --- */

ACTORS_TEST(put_to_sleep_from_outside)
{
    assert_int_equal(ao_sleep_for(&w->x.ao, AO_MS(3)), 0);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_SLEEPING);
    ao_activate(&w->y.ao);
    assert_int_equal(ao_sleep_until(&w->y.ao, AO_MS(2)), 0);
    virtual_run(&w->v);
    trace_expect(&w->v, "[   0] actor 1    INACTIVE -> SLEEPING (due in 3 ms)\n"
                        "[   0] actor 2    INACTIVE -> ACTIVE (activated)\n"
                        "[   0] actor 2    ACTIVE -> SLEEPING (due in 2 ms)\n"
                        "[   2] actor 2    SLEEPING -> ACTIVE (due)\n"
                        "[   2] actor 2    ACTIVE -> INACTIVE (done)\n"
                        "[   3] actor 1    SLEEPING -> ACTIVE (due)\n"
                        "[   3] actor 1    ACTIVE -> INACTIVE (done)\n");
}

/* The round is 2 ms old when the object goes to sleep. */
static enum ao_verdict sleep_late(struct actor *self)
{
    struct virtual *v = &ao_of(self, struct world, x)->v;
    if (self->steps > 1)
        return AO_DONE;
    v->now += AO_MS(2);
    ao_sleep_for(&self->ao, AO_MS(3));
    return AO_PARK;
}

ACTORS_TEST(a_sleep_counts_from_its_call_and_not_from_the_round)
{
    actors_begin(w, sleep_late);
    virtual_run(&w->v);
    assert_int_equal(w->x.steps, 2);
    assert_int_equal(w->v.now, AO_MS(5));
}

ACTORS_TEST(deactivation_cancels_the_sleep)
{
    ao_sleep_for(&w->x.ao, AO_MS(3));
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, 0);
    assert_int_equal(w->x.steps, 0);
}

ACTORS_TEST(sleep_for_ever)
{
    assert_int_equal(ao_sleep_for(&w->x.ao, AO_NEVER), 0);
    assert_int_equal(ao_sleep_until(&w->y.ao, AO_NEVER - 1), 0);
    virtual_run(&w->v);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_SLEEPING);
    assert_int_equal(ao_state(&w->y.ao), AO_STATE_SLEEPING);
    ao_deactivate(&w->x.ao);
    ao_deactivate(&w->y.ao);
}

/* --- Block and unblock --- */

static enum ao_verdict block(struct actor *self)
{
    return ao_block(&self->ao) ? AO_PARK : AO_DONE;
}

ACTORS_TEST(unblock_after_block)
{
    actors_begin(w, block);
    assert_int_equal(actors_round(w), AO_STATE_SLEEPING);
    ao_unblock(&w->x.ao);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.steps, 2);
}

ACTORS_TEST(unblock_before_block)
{
    ao_unblock(&w->x.ao);
    ao_unblock(&w->x.ao); /* one token, not two */
    actors_begin(w, block);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
    w->x.at = 0;
    ao_activate(&w->x.ao);
    assert_int_equal(actors_round(w), AO_STATE_SLEEPING);
    ao_deactivate(&w->x.ao);
}

static enum ao_verdict block_unblock_sleep(struct actor *self)
{
    assert_true(ao_block(&self->ao));
    ao_unblock(&self->ao);
    ao_sleep_for(&self->ao, AO_MS(5));
    return AO_PARK;
}

ACTORS_TEST(unblock_in_the_step_of_the_block)
{
    actors_begin(w, block_unblock_sleep);
    assert_int_equal(actors_round(w), AO_STATE_ACTIVE);
}

ACTORS_TEST(unblock_does_not_end_a_plain_sleep)
{
    actors_begin(w, actor_park);
    actors_round(w);
    ao_unblock(&w->x.ao);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_SLEEPING);
    ao_deactivate(&w->x.ao);
}

static enum ao_verdict block_for_5(struct actor *self)
{
    if (!ao_block(&self->ao))
        return AO_DONE;
    ao_sleep_for(&self->ao, AO_MS(5));
    return AO_PARK;
}

ACTORS_TEST(unblock_after_the_deadline_leaves_a_token)
{
    w->x.script[0] = block_for_5;
    w->x.script[1] = actor_done;
    ao_activate(&w->x.ao);
    virtual_run(&w->v);
    assert_int_equal(w->x.why, AO_WHY_DUE);
    ao_unblock(&w->x.ao);
    w->x.at = 0;
    ao_activate(&w->x.ao);
    assert_int_equal(actors_round(w), AO_STATE_INACTIVE);
}

ACTORS_TEST(a_reset_object_has_no_token)
{
    ao_unblock(&w->x.ao);
    actors_begin(w, actor_fault);
    assert_int_equal(actors_round(w), AO_STATE_FAULTED);
    assert_int_equal(ao_reset(&w->x.ao), 0);
    w->x.at = 0;
    actors_begin(w, block);
    assert_int_equal(actors_round(w), AO_STATE_SLEEPING);
    ao_deactivate(&w->x.ao);
}
