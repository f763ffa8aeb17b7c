/* Events: auto and manual reset. */
#include <ergon/event.h>

#include "tests/unit/runtime/stage.h"

static struct ao_event event;

static enum ao_verdict awaits(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_event_await(&event, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

STAGE_TEST(auto_lets_one_through)
{
    ao_event_init(&event, AO_EVENT_AUTO);
    actor_enter('a', awaits);
    actor_enter('b', awaits);
    virtual_run(&stage.v);
    ao_event_set(&event);
    assert_false(ao_event_is_set(&event));
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n");
    ao_event_set(&event);
    virtual_run(&stage.v);
    stage_expect("[0] b is ready\n");
}

STAGE_TEST(auto_stays_set_for_the_next)
{
    ao_event_init(&event, AO_EVENT_AUTO);
    ao_event_set(&event);
    ao_event_set(&event);
    assert_true(ao_event_is_set(&event));
    actor_enter('a', awaits);
    actor_enter('b', awaits)->patience = AO_MS(1);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[1] b is deadline passed\n");
    ao_event_set(&event);
    ao_event_reset(&event);
    assert_false(ao_event_is_set(&event));
}

STAGE_TEST(auto_pass_of_one_that_ends)
{
    ao_event_init(&event, AO_EVENT_AUTO);
    struct actor *a = actor_enter('a', awaits);
    virtual_run(&stage.v);
    ao_event_set(&event);
    assert_false(ao_event_is_set(&event));
    ao_deactivate(&a->ao);
    assert_true(ao_event_is_set(&event));
}

STAGE_TEST(manual_lets_all_through_until_reset)
{
    ao_event_init(&event, AO_EVENT_MANUAL);
    actor_enter('a', awaits);
    actor_enter('b', awaits);
    virtual_run(&stage.v);
    ao_event_set(&event);
    actor_enter('c', awaits);
    virtual_run(&stage.v);
    ao_event_reset(&event);
    actor_enter('d', awaits);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[0] b is ready\n[0] c is ready\n");
    ao_event_close(&event);
    virtual_run(&stage.v);
    actor_enter('a', awaits);
    virtual_run(&stage.v);
    stage_expect("[0] d is closed\n[0] a is closed\n");
}
