/* An object's life: every refusal, every order of wake, block, sleep and verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/virtual.h"

/* An object whose step is a list of things to do, one a step; the last goes on for ever. */
struct actor {
    struct ao ao;
    enum ao_verdict (*script[8])(struct actor *self);
    int at;
    unsigned why; /* of the last step */
    int steps, retired, faults, code;
    char text[256];
    struct actor *other;
};

static struct actor *actor_of(struct ao *ao)
{
    return ao_of(ao, struct actor, ao);
}

static enum ao_verdict actor_step(struct ao *self)
{
    struct actor *a = actor_of(self);
    assert_ptr_equal(ao_current(), self);
    a->why = ao_why(self);
    a->steps++;
    enum ao_verdict (*act)(struct actor *) = a->script[a->at];
    if (a->script[a->at + 1])
        a->at++;
    return act(a);
}

static void actor_faulted(struct ao *self, int code, const char *text)
{
    struct actor *a = actor_of(self);
    assert_int_equal(ao_state(self), AO_STATE_FAULTED);
    a->faults++;
    a->code = code;
    memcpy(a->text, text, strlen(text) + 1);
}

static void actor_retired(struct ao *self)
{
    assert_null(ao_current());
    actor_of(self)->retired++;
}

static const struct ao_class actor_class = {
    .name = "actor", .step = actor_step, .faulted = actor_faulted, .retired = actor_retired};

static enum ao_verdict again(struct actor *self)
{
    (void)self;
    return AO_AGAIN;
}

static enum ao_verdict done(struct actor *self)
{
    (void)self;
    return AO_DONE;
}

static enum ao_verdict park(struct actor *self)
{
    (void)self;
    return AO_PARK;
}

static enum ao_verdict fault(struct actor *self)
{
    return ao_fault(&self->ao, 42, "disk %d on fire", 3);
}

static enum ao_verdict fault_silently(struct actor *self)
{
    (void)self;
    return AO_FAULT;
}

static enum ao_verdict sleep_5(struct actor *self)
{
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(5)), 0);
    return AO_PARK;
}

struct world {
    struct virtual v;
    struct activator *loop;
    struct actor x, y;
};

static int set_up(void **state)
{
    static struct world world;
    virtual_silence();
    virtual_init(&world.v);
    world.loop = virtual_open(&world.v, "loop");
    world.x = world.y = (struct actor){.script = {done}};
    ao_init(&world.x.ao, &actor_class, world.loop);
    ao_init(&world.y.ao, &actor_class, world.loop);
    world.x.other = &world.y;
    world.y.other = &world.x;
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    virtual_fini(&w->v);
    return 0;
}

static void begin(struct world *w, enum ao_verdict (*first)(struct actor *))
{
    w->x.script[0] = first;
    w->x.script[1] = done;
    assert_int_equal(ao_activate(&w->x.ao), 0);
}

static enum ao_state round_of(struct world *w)
{
    virtual_round(&w->v, w->loop);
    return ao_state(&w->x.ao);
}

/* --- The life of an object, as its trace --- */

static void test_life(void **state)
{
    struct world *w = *state;
    w->x.script[0] = sleep_5;
    w->x.script[1] = park;
    w->x.script[2] = again;
    w->x.script[3] = fault;
    ao_activate(&w->x.ao);
    virtual_run(&w->v);
    ao_wake(&w->x.ao);
    virtual_run(&w->v);
    ao_reset(&w->x.ao);
    ao_retire(&w->x.ao);
    virtual_run(&w->v);
    trace_expect(&w->v, "[   0] actor 1    INACTIVE -> ACTIVE (activated)\n"
                        "[   0] actor 1    ACTIVE -> SLEEPING (due in 5 ms)\n"
                        "[   5] actor 1    SLEEPING -> ACTIVE (due)\n"
                        "[   5] actor 1    ACTIVE -> SLEEPING (until woken)\n"
                        "[   5] actor 1    SLEEPING -> ACTIVE (woken)\n"
                        "[   5] actor 1    ACTIVE -> FAULTED (disk 3 on fire)\n"
                        "[   5] actor 1    FAULTED -> INACTIVE (reset)\n"
                        "[   5] actor 1    retired\n");
    assert_int_equal(w->x.retired, 1);
}

static void test_why(void **state)
{
    struct world *w = *state;
    w->x.script[0] = sleep_5;
    w->x.script[1] = park;
    w->x.script[2] = done;
    ao_activate(&w->x.ao);
    round_of(w);
    assert_int_equal(w->x.why, AO_WHY_ACTIVATED);
    virtual_run(&w->v);
    assert_int_equal(w->x.why, AO_WHY_DUE);
    ao_wake(&w->x.ao);
    virtual_run(&w->v);
    assert_int_equal(w->x.why, AO_WHY_WOKEN);
    assert_int_equal(ao_why(&w->x.ao), 0);
    assert_null(ao_current());
}

/* --- Refusals --- */

static void test_refused_when_faulted(void **state)
{
    struct world *w = *state;
    begin(w, fault);
    assert_int_equal(round_of(w), AO_STATE_FAULTED);
    assert_int_equal(ao_activate(&w->x.ao), AO_E_FAULTED);
    assert_int_equal(ao_deactivate(&w->x.ao), AO_E_FAULTED);
    assert_int_equal(ao_sleep_for(&w->x.ao, 1), AO_E_FAULTED);
    ao_wake(&w->x.ao);
    ao_unblock(&w->x.ao);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_FAULTED);
    assert_int_equal(ao_reset(&w->x.ao), 0);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_INACTIVE);
}

static void test_refused_when_asleep(void **state)
{
    struct world *w = *state;
    begin(w, sleep_5);
    assert_int_equal(round_of(w), AO_STATE_SLEEPING);
    assert_int_equal(ao_activate(&w->x.ao), AO_E_SLEEPING);
    assert_int_equal(ao_sleep_for(&w->x.ao, 1), AO_E_SLEEPING);
    assert_int_equal(ao_reset(&w->x.ao), AO_E_STATE);
    assert_int_equal(w->x.steps, 1);
}

static enum ao_verdict sleep_twice(struct actor *self)
{
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(5)), 0);
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(1)), AO_E_TIMED);
    return AO_PARK;
}

static void test_second_deadline_refused(void **state)
{
    struct world *w = *state;
    begin(w, sleep_twice);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, AO_MS(5));
    assert_int_equal(w->x.steps, 2);
}

static void test_no_ops(void **state)
{
    struct world *w = *state;
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    ao_wake(&w->x.ao);
    assert_int_equal(ao_reset(&w->x.ao), AO_E_STATE);
    assert_int_equal(ao_activate(&w->x.ao), 0);
    assert_int_equal(ao_activate(&w->x.ao), 0);
    ao_wake(&w->x.ao);
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    trace_expect(&w->v, "[   0] actor 1    INACTIVE -> ACTIVE (activated)\n"
                        "[   0] actor 1    ACTIVE -> INACTIVE (deactivated)\n");
}

static void test_refused_after_retirement(void **state)
{
    struct world *w = *state;
    ao_retire(&w->x.ao);
    ao_retire(&w->x.ao);
    assert_int_equal(ao_activate(&w->x.ao), AO_E_CLOSED);
    assert_int_equal(ao_sleep_for(&w->x.ao, 1), AO_E_CLOSED);
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    assert_null(ao_handle_new(&w->x.ao));
    round_of(w);
    assert_int_equal(w->x.retired, 1);
}

/* --- Faults --- */

static void test_fault_text(void **state)
{
    struct world *w = *state;
    begin(w, fault);
    round_of(w);
    assert_int_equal(w->x.faults, 1);
    assert_int_equal(w->x.code, 42);
    assert_string_equal(w->x.text, "disk 3 on fire");
}

static void test_fault_without_reason(void **state)
{
    struct world *w = *state;
    begin(w, fault_silently);
    round_of(w);
    assert_int_equal(w->x.code, 0);
    assert_string_equal(w->x.text, "no reason given");
}

static enum ao_verdict fault_at_length(struct actor *self)
{
    return ao_fault(&self->ao, 1, "%0300d", 7);
}

static void test_fault_text_is_cut(void **state)
{
    struct world *w = *state;
    begin(w, fault_at_length);
    round_of(w);
    assert_int_equal(strlen(w->x.text), 200);
}

/* --- Wakes within the own step --- */

static enum ao_verdict sleep_wake_park(struct actor *self)
{
    ao_sleep_for(&self->ao, AO_MS(5));
    ao_wake(&self->ao);
    return AO_PARK;
}

static void test_wake_cancels_the_park(void **state)
{
    struct world *w = *state;
    begin(w, sleep_wake_park);
    assert_int_equal(round_of(w), AO_STATE_ACTIVE);
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

static void test_wake_before_the_sleep_is_a_no_op(void **state)
{
    struct world *w = *state;
    begin(w, wake_sleep_park);
    assert_int_equal(round_of(w), AO_STATE_SLEEPING);
}

static enum ao_verdict wake_park(struct actor *self)
{
    ao_wake(&self->ao);
    return AO_PARK;
}

static void test_wake_before_a_plain_park_is_not_lost(void **state)
{
    struct world *w = *state;
    begin(w, wake_park);
    assert_int_equal(round_of(w), AO_STATE_ACTIVE);
}

static enum ao_verdict sleep_wake_sleep_park(struct actor *self)
{
    ao_sleep_for(&self->ao, AO_MS(5));
    ao_wake(&self->ao);
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(9)), 0);
    return AO_PARK;
}

static void test_new_sleep_after_the_wake(void **state)
{
    struct world *w = *state;
    begin(w, sleep_wake_sleep_park);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, AO_MS(9));
}

static enum ao_verdict sleep_again(struct actor *self)
{
    ao_sleep_for(&self->ao, AO_MS(5));
    return AO_AGAIN;
}

static void test_deadline_without_park_is_forgotten(void **state)
{
    struct world *w = *state;
    w->x.script[0] = sleep_again;
    w->x.script[1] = park;
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

static void test_activation_is_not_lost(void **state)
{
    struct world *w = *state;
    begin(w, activate_done);
    assert_int_equal(round_of(w), AO_STATE_ACTIVE);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
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

static void test_verdict_ignored_after_deactivation(void **state)
{
    struct world *w = *state;
    begin(w, deactivate_again);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
    w->x.at = 0;
    begin(w, deactivate_fault);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.faults, 0);
}

static enum ao_verdict deactivate_activate_park(struct actor *self)
{
    ao_deactivate(&self->ao);
    ao_activate(&self->ao);
    return AO_PARK;
}

static void test_reactivation_in_the_own_step(void **state)
{
    struct world *w = *state;
    begin(w, deactivate_activate_park);
    assert_int_equal(round_of(w), AO_STATE_ACTIVE);
    assert_int_equal(w->x.steps, 1);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
}

static enum ao_verdict retire_again(struct actor *self)
{
    ao_retire(&self->ao);
    assert_int_equal(self->retired, 0);
    return AO_AGAIN;
}

static void test_retirement_in_the_own_step(void **state)
{
    struct world *w = *state;
    begin(w, retire_again);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.retired, 1);
    assert_int_equal(w->x.steps, 1);
}

/* --- From outside a step --- */

static void test_put_to_sleep_from_outside(void **state)
{
    struct world *w = *state;
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

static void test_deactivation_cancels_the_sleep(void **state)
{
    struct world *w = *state;
    ao_sleep_for(&w->x.ao, AO_MS(3));
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, 0);
    assert_int_equal(w->x.steps, 0);
}

static void test_sleep_for_ever(void **state)
{
    struct world *w = *state;
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

static void test_unblock_after_block(void **state)
{
    struct world *w = *state;
    begin(w, block);
    assert_int_equal(round_of(w), AO_STATE_SLEEPING);
    ao_unblock(&w->x.ao);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
    assert_int_equal(w->x.steps, 2);
}

static void test_unblock_before_block(void **state)
{
    struct world *w = *state;
    ao_unblock(&w->x.ao);
    ao_unblock(&w->x.ao); /* one token, not two */
    begin(w, block);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
    w->x.at = 0;
    ao_activate(&w->x.ao);
    assert_int_equal(round_of(w), AO_STATE_SLEEPING);
    ao_deactivate(&w->x.ao);
}

static enum ao_verdict block_unblock_sleep(struct actor *self)
{
    assert_true(ao_block(&self->ao));
    ao_unblock(&self->ao);
    ao_sleep_for(&self->ao, AO_MS(5));
    return AO_PARK;
}

static void test_unblock_in_the_step_of_the_block(void **state)
{
    struct world *w = *state;
    begin(w, block_unblock_sleep);
    assert_int_equal(round_of(w), AO_STATE_ACTIVE);
}

static void test_unblock_does_not_end_a_plain_sleep(void **state)
{
    struct world *w = *state;
    begin(w, park);
    round_of(w);
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

static void test_unblock_after_the_deadline_leaves_a_token(void **state)
{
    struct world *w = *state;
    w->x.script[0] = block_for_5;
    w->x.script[1] = done;
    ao_activate(&w->x.ao);
    virtual_run(&w->v);
    assert_int_equal(w->x.why, AO_WHY_DUE);
    ao_unblock(&w->x.ao);
    w->x.at = 0;
    ao_activate(&w->x.ao);
    assert_int_equal(round_of(w), AO_STATE_INACTIVE);
}

/* --- Others --- */

static void test_error_texts(void **state)
{
    (void)state;
    for (int error = AO_E_STATE; error <= 0; error++)
        assert_string_not_equal(ao_error_text(error), "unknown error");
    assert_string_equal(ao_error_text(1), "unknown error");
    assert_string_equal(ao_error_text(AO_E_STATE - 1), "unknown error");
}

static void test_fini_takes_it_out(void **state)
{
    struct world *w = *state;
    struct ao_handle *handle = ao_handle_new(&w->x.ao);
    ao_fini(&w->x.ao);
    assert_int_equal(ao_ask(handle, AO_ASK_ACTIVATE), AO_E_CLOSED);
    ao_handle_drop(handle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(life),
        TEST(why),
        TEST(refused_when_faulted),
        TEST(refused_when_asleep),
        TEST(second_deadline_refused),
        TEST(no_ops),
        TEST(refused_after_retirement),
        TEST(fault_text),
        TEST(fault_without_reason),
        TEST(fault_text_is_cut),
        TEST(wake_cancels_the_park),
        TEST(wake_before_the_sleep_is_a_no_op),
        TEST(wake_before_a_plain_park_is_not_lost),
        TEST(new_sleep_after_the_wake),
        TEST(deadline_without_park_is_forgotten),
        TEST(activation_is_not_lost),
        TEST(verdict_ignored_after_deactivation),
        TEST(reactivation_in_the_own_step),
        TEST(retirement_in_the_own_step),
        TEST(put_to_sleep_from_outside),
        TEST(deactivation_cancels_the_sleep),
        TEST(sleep_for_ever),
        TEST(unblock_after_block),
        TEST(unblock_before_block),
        TEST(unblock_in_the_step_of_the_block),
        TEST(unblock_does_not_end_a_plain_sleep),
        TEST(unblock_after_the_deadline_leaves_a_token),
        TEST(error_texts),
        TEST(fini_takes_it_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
