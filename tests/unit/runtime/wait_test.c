/* The protocol itself: the queue, completions, outcomes, cancels. */
#include "tests/unit/runtime/stage.h"

TEST(queue_keeps_its_order)
{
    struct ao_wait_queue q = {0};
    struct ao_wait w[4] = {0};
    assert_null(ao_wait_pop(&q));
    for (int i = 0; i < 4; i++)
        ao_wait_push(&q, &w[i]);
    ao_wait_remove(&q, &w[2]);
    assert_ptr_equal(ao_wait_pop(&q), &w[0]);
    ao_wait_remove(&q, &w[1]);
    ao_wait_push(&q, &w[0]);
    assert_ptr_equal(ao_wait_pop(&q), &w[3]);
    assert_ptr_equal(ao_wait_pop(&q), &w[0]);
    assert_null(ao_wait_pop(&q));
}

static enum ao_verdict awaits(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_completion_await(a->stage->props, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(completion_tells_all)
{
    struct stage s;
    struct ao_completion c;
    struct actor a, b, d;
    int value;
    stage_open(&s, &c);
    ao_completion_init(&c);
    actor_enter(&a, &s, s.home, 'a', awaits);
    actor_enter(&b, &s, s.home, 'b', awaits);
    virtual_run(&s.v);
    assert_int_equal(ao_completion_complete(&c, &value), 0);
    assert_int_equal(ao_completion_complete(&c, NULL), AO_E_STATE);
    assert_int_equal(ao_completion_close(&c), AO_E_STATE);
    virtual_run(&s.v);
    actor_enter(&d, &s, s.home, 'd', awaits);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[0] b is ready\n[0] d is ready\n");
    assert_ptr_equal(a.wait.value, &value);
    assert_ptr_equal(d.wait.value, &value);
    stage_close(&s);
}

TEST(closed_completion)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a, b;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', awaits);
    virtual_run(&s.v);
    assert_int_equal(ao_completion_close(&c), 0);
    virtual_run(&s.v);
    actor_enter(&b, &s, s.home, 'b', awaits);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is closed\n[0] b is closed\n");
    stage_close(&s);
}

TEST(after_the_deadline_nobody_is_told)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', awaits);
    a.patience = AO_MS(5);
    virtual_run(&s.v);
    stage_expect(&s, "[5] a is deadline passed\n");
    ao_completion_complete(&c, NULL); /* it has left: nobody is told */
    virtual_run(&s.v);
    stage_expect(&s, "");
    stage_close(&s);
}

TEST(cancel_by_another)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', awaits);
    virtual_run(&s.v);
    ao_wait_cancel(&a.wait);
    ao_wait_cancel(&a.wait);
    assert_null(c.waiters.first);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is cancelled\n");
    stage_close(&s);
}

TEST(reactivated_waiter_sees_cancelled)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', awaits);
    virtual_run(&s.v);
    ao_deactivate(&a.ao);
    assert_null(c.waiters.first);
    ao_activate(&a.ao);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is cancelled\n");
    stage_close(&s);
}

static enum ao_verdict wakes_itself_then_awaits(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_wake(self); /* of no sleep: the wait that follows does not end by it */
    AO_AWAIT(self, &a->seq, &a->wait, ao_completion_await(a->stage->props, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(earlier_wake_does_not_end_a_wait)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', wakes_itself_then_awaits);
    virtual_run(&s.v);
    stage_expect(&s, "");
    ao_completion_complete(&c, NULL);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n");
    stage_close(&s);
}

static enum ao_verdict deadline_by_hand(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_sleep_for(self, AO_MS(1));
    AO_AWAIT(self, &a->seq, &a->wait, ao_completion_await(a->stage->props, &a->wait));
    assert_int_equal(a->wait.outcome, AO_WAIT_REFUSED);
    AO_YIELD(&a->seq);
    ao_retire(self);
    AO_AWAIT(self, &a->seq, &a->wait, ao_completion_await(a->stage->props, &a->wait));
    actor_say(a, "is not stepped again");
    AO_END(&a->seq);
}

TEST(refused_and_retired)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', deadline_by_hand);
    virtual_run(&s.v);
    assert_true(a.retired);
    assert_null(c.waiters.first);
    assert_null(a.ao.waits);
    stage_expect(&s, "");
    stage_close(&s);
}

TEST(closing_the_activator_empties_the_queues)
{
    struct stage s;
    struct ao_completion c = {0};
    struct actor a;
    stage_open(&s, &c);
    actor_enter(&a, &s, s.home, 'a', awaits);
    a.patience = AO_S(1);
    virtual_run_until(&s.v, AO_MS(1));
    assert_ptr_equal(c.waiters.first, &a.wait);
    virtual_close(&s.v, s.home);
    assert_null(c.waiters.first);
    assert_int_equal(a.wait.outcome, AO_WAIT_CANCELLED);
    stage_close(&s);
}
