/* Events: auto and manual reset. */
#include <ergon/event.h>

#include "tests/unit/runtime/stage.h"

static enum ao_verdict awaits(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_event_await(a->stage->props, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(auto_lets_one_through)
{
    struct stage s;
    struct ao_event e;
    struct actor a, b;
    stage_open(&s, &e);
    ao_event_init(&e, AO_EVENT_AUTO);
    actor_enter(&a, &s, s.home, 'a', awaits);
    actor_enter(&b, &s, s.home, 'b', awaits);
    virtual_run(&s.v);
    ao_event_set(&e);
    assert_false(ao_event_is_set(&e));
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n");
    ao_event_set(&e);
    virtual_run(&s.v);
    stage_expect(&s, "[0] b is ready\n");
    stage_close(&s);
}

TEST(auto_stays_set_for_the_next)
{
    struct stage s;
    struct ao_event e;
    struct actor a, b;
    stage_open(&s, &e);
    ao_event_init(&e, AO_EVENT_AUTO);
    ao_event_set(&e);
    ao_event_set(&e);
    assert_true(ao_event_is_set(&e));
    actor_enter(&a, &s, s.home, 'a', awaits);
    actor_enter(&b, &s, s.home, 'b', awaits);
    b.patience = AO_MS(1);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[1] b is deadline passed\n");
    ao_event_set(&e);
    ao_event_reset(&e);
    assert_false(ao_event_is_set(&e));
    stage_close(&s);
}

TEST(auto_pass_of_one_that_ends)
{
    struct stage s;
    struct ao_event e;
    struct actor a;
    stage_open(&s, &e);
    ao_event_init(&e, AO_EVENT_AUTO);
    actor_enter(&a, &s, s.home, 'a', awaits);
    virtual_run(&s.v);
    ao_event_set(&e);
    assert_false(ao_event_is_set(&e));
    ao_deactivate(&a.ao);
    assert_true(ao_event_is_set(&e));
    stage_close(&s);
}

TEST(manual_lets_all_through_until_reset)
{
    struct stage s;
    struct ao_event e;
    struct actor a, b, c, d;
    stage_open(&s, &e);
    ao_event_init(&e, AO_EVENT_MANUAL);
    actor_enter(&a, &s, s.home, 'a', awaits);
    actor_enter(&b, &s, s.home, 'b', awaits);
    virtual_run(&s.v);
    ao_event_set(&e);
    actor_enter(&c, &s, s.home, 'c', awaits);
    virtual_run(&s.v);
    ao_event_reset(&e);
    actor_enter(&d, &s, s.home, 'd', awaits);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[0] b is ready\n[0] c is ready\n");
    ao_event_close(&e);
    virtual_run(&s.v);
    actor_enter(&a, &s, s.home, 'a', awaits);
    virtual_run(&s.v);
    stage_expect(&s, "[0] d is closed\n[0] a is closed\n");
    stage_close(&s);
}
