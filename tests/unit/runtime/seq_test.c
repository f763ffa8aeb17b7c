/* Sequences: where they go on, what they return, sub-sequences, faults. */
#include "tests/unit/runtime/stage.h"

#include <string.h>

static enum ao_verdict three_rounds(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (a->i = 0; a->i < 3; a->i++) {
        actor_say(a, "goes on");
        AO_YIELD(&a->seq);
    }
    actor_say(a, "ends");
    AO_END(&a->seq);
}

STAGE_TEST(yield_interleaves)
{
    struct actor *a = actor_enter('a', three_rounds);
    actor_enter('b', three_rounds);
    virtual_run(&stage.v);
    stage_expect("[0] a goes on\n[0] b goes on\n[0] a goes on\n[0] b goes on\n"
                 "[0] a goes on\n[0] b goes on\n[0] a ends\n[0] b ends\n");
    assert_int_equal(ao_state(&a->ao), AO_STATE_INACTIVE);
}

STAGE_TEST(begins_anew_after_its_end)
{
    struct actor *a = actor_enter('a', three_rounds);
    virtual_run(&stage.v);
    assert_int_equal(a->seq.at, 0);
    stage.length = 0;
    ao_activate(&a->ao);
    virtual_run(&stage.v);
    stage_expect("[0] a goes on\n[0] a goes on\n[0] a goes on\n[0] a ends\n");
}

static enum ao_verdict sleeper(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_SLEEP(self, &a->seq, AO_MS(10));
    actor_say(a, ao_why(self) & AO_WHY_DUE ? "slept" : "was woken");
    AO_SLEEP(self, &a->seq, AO_MS(10));
    actor_say(a, ao_why(self) & AO_WHY_DUE ? "slept" : "was woken");
    AO_SLEEP(self, &a->seq, AO_NEVER);
    actor_say(a, "was woken");
    AO_END(&a->seq);
}

static void wake(void *arg)
{
    ao_wake(arg);
}

STAGE_TEST(sleep_and_wake)
{
    struct actor *a = actor_enter('a', sleeper);
    virtual_at(&stage.v, AO_MS(13), stage.home, wake, &a->ao);
    virtual_at(&stage.v, AO_MS(100), stage.home, wake, &a->ao);
    virtual_run(&stage.v);
    stage_expect("[10] a slept\n[13] a was woken\n[100] a was woken\n");
}

/* --- Sub-sequences --- */

struct sub {
    struct ao_seq seq;
    int left;
    int fault_at; /* -1: never */
};

static struct sub called;

static enum ao_verdict count_down(struct ao *self, struct sub *sub)
{
    AO_BEGIN(&sub->seq);
    for (; sub->left > 0; sub->left--) {
        if (sub->left == sub->fault_at)
            return ao_fault(self, 7, "at %d", sub->left);
        stage_say("%d", sub->left);
        AO_SLEEP(self, &sub->seq, AO_MS(1));
    }
    AO_END(&sub->seq);
}

static enum ao_verdict calls_twice(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    for (a->i = 0; a->i < 2; a->i++) {
        called.left = 2;
        AO_CALL(self, &a->seq, count_down(self, &called));
        actor_say(a, "called");
    }
    AO_END(&a->seq);
}

STAGE_TEST(call_runs_to_its_end)
{
    called = (struct sub){.fault_at = -1};
    struct actor *a = actor_enter('a', calls_twice);
    virtual_run(&stage.v);
    stage_expect("[0] 2\n[1] 1\n[2] a called\n[2] 2\n[3] 1\n[4] a called\n");
    assert_int_equal(ao_state(&a->ao), AO_STATE_INACTIVE);
}

STAGE_TEST(fault_in_a_call_ends_the_whole)
{
    called = (struct sub){.fault_at = 1};
    struct actor *a = actor_enter('a', calls_twice);
    virtual_run(&stage.v);
    stage_expect("[0] 2\n[1] a faulted: 7 at 1\n");
    assert_int_equal(ao_state(&a->ao), AO_STATE_FAULTED);
}

static enum ao_verdict sleeps_twice_in_a_step(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_sleep_for(self, AO_MS(5));
    AO_SLEEP(self, &a->seq, AO_MS(1));
    AO_END(&a->seq);
}

STAGE_TEST(second_deadline_of_a_step_faults)
{
    struct actor *a = actor_enter('a', sleeps_twice_in_a_step);
    virtual_run(&stage.v);
    assert_int_equal(ao_state(&a->ao), AO_STATE_FAULTED);
    assert_non_null(strstr(stage.text, "a sequence could not sleep"));
}

STAGE_TEST(sizes)
{
    assert_true(sizeof(struct ao_seq) <= 8);
    assert_true(sizeof(struct ao_wait) <= 64);
}
