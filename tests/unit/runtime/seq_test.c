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

TEST(yield_interleaves)
{
    struct stage s;
    struct actor a, b;
    stage_open(&s, NULL);
    actor_enter(&a, &s, s.home, 'a', three_rounds);
    actor_enter(&b, &s, s.home, 'b', three_rounds);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a goes on\n[0] b goes on\n[0] a goes on\n[0] b goes on\n"
                     "[0] a goes on\n[0] b goes on\n[0] a ends\n[0] b ends\n");
    assert_int_equal(ao_state(&a.ao), AO_STATE_INACTIVE);
    stage_close(&s);
}

TEST(begins_anew_after_its_end)
{
    struct stage s;
    struct actor a;
    stage_open(&s, NULL);
    actor_enter(&a, &s, s.home, 'a', three_rounds);
    virtual_run(&s.v);
    assert_int_equal(a.seq.at, 0);
    s.length = 0;
    ao_activate(&a.ao);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a goes on\n[0] a goes on\n[0] a goes on\n[0] a ends\n");
    stage_close(&s);
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

TEST(sleep_and_wake)
{
    struct stage s;
    struct actor a;
    stage_open(&s, NULL);
    actor_enter(&a, &s, s.home, 'a', sleeper);
    virtual_at(&s.v, AO_MS(13), s.home, wake, &a.ao);
    virtual_at(&s.v, AO_MS(100), s.home, wake, &a.ao);
    virtual_run(&s.v);
    stage_expect(&s, "[10] a slept\n[13] a was woken\n[100] a was woken\n");
    stage_close(&s);
}

/* --- Sub-sequences --- */

struct sub {
    struct ao_seq seq;
    int left;
    int fault_at; /* -1: never */
};

struct caller {
    struct actor actor; /* first: its class is the stage's */
    struct sub sub;
};

static enum ao_verdict count_down(struct ao *self, struct sub *sub)
{
    AO_BEGIN(&sub->seq);
    for (; sub->left > 0; sub->left--) {
        if (sub->left == sub->fault_at)
            return ao_fault(self, 7, "at %d", sub->left);
        stage_say(actor_of(self)->stage, "%d", sub->left);
        AO_SLEEP(self, &sub->seq, AO_MS(1));
    }
    AO_END(&sub->seq);
}

static enum ao_verdict calls_twice(struct ao *self)
{
    struct caller *c = (struct caller *)actor_of(self);
    struct actor *a = &c->actor;

    AO_BEGIN(&a->seq);
    for (a->i = 0; a->i < 2; a->i++) {
        c->sub.left = 2;
        AO_CALL(self, &a->seq, count_down(self, &c->sub));
        actor_say(a, "called");
    }
    AO_END(&a->seq);
}

TEST(call_runs_to_its_end)
{
    struct stage s;
    struct caller c = {.sub.fault_at = -1};
    stage_open(&s, NULL);
    actor_enter(&c.actor, &s, s.home, 'a', calls_twice);
    virtual_run(&s.v);
    stage_expect(&s, "[0] 2\n[1] 1\n[2] a called\n[2] 2\n[3] 1\n[4] a called\n");
    assert_int_equal(ao_state(&c.actor.ao), AO_STATE_INACTIVE);
    stage_close(&s);
}

TEST(fault_in_a_call_ends_the_whole)
{
    struct stage s;
    struct caller c = {.sub.fault_at = 1};
    stage_open(&s, NULL);
    actor_enter(&c.actor, &s, s.home, 'a', calls_twice);
    virtual_run(&s.v);
    stage_expect(&s, "[0] 2\n[1] a faulted: 7 at 1\n");
    assert_int_equal(ao_state(&c.actor.ao), AO_STATE_FAULTED);
    stage_close(&s);
}

static enum ao_verdict sleeps_twice_in_a_step(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_sleep_for(self, AO_MS(5));
    AO_SLEEP(self, &a->seq, AO_MS(1));
    AO_END(&a->seq);
}

TEST(second_deadline_of_a_step_faults)
{
    struct stage s;
    struct actor a;
    stage_open(&s, NULL);
    actor_enter(&a, &s, s.home, 'a', sleeps_twice_in_a_step);
    virtual_run(&s.v);
    assert_int_equal(ao_state(&a.ao), AO_STATE_FAULTED);
    assert_non_null(strstr(s.text, "a sequence could not sleep"));
    stage_close(&s);
}

TEST(sizes)
{
    assert_true(sizeof(struct ao_seq) <= 8);
    assert_true(sizeof(struct ao_wait) <= 64);
}
