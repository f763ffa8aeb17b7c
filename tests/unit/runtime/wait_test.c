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

static struct ao_completion completion;

static int set_up(void **state)
{
    completion = (struct ao_completion){0};
    return stage_set_up(state);
}

#define COMPLETION_TEST(name) TEST_WITH(set_up, stage_tear_down, name)

static enum ao_verdict awaits(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_completion_await(&completion, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

COMPLETION_TEST(completion_tells_all)
{
    int value;
    ao_completion_init(&completion);
    struct actor *a = actor_enter('a', awaits);
    actor_enter('b', awaits);
    virtual_run(&stage.v);
    assert_int_equal(ao_completion_complete(&completion, &value), 0);
    assert_int_equal(ao_completion_complete(&completion, NULL), AO_E_STATE);
    assert_int_equal(ao_completion_close(&completion), AO_E_STATE);
    virtual_run(&stage.v);
    struct actor *d = actor_enter('d', awaits);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[0] b is ready\n[0] d is ready\n");
    assert_ptr_equal(a->wait.value, &value);
    assert_ptr_equal(d->wait.value, &value);
}

COMPLETION_TEST(closed_completion)
{
    actor_enter('a', awaits);
    virtual_run(&stage.v);
    assert_int_equal(ao_completion_close(&completion), 0);
    virtual_run(&stage.v);
    actor_enter('b', awaits);
    virtual_run(&stage.v);
    stage_expect("[0] a is closed\n[0] b is closed\n");
}

COMPLETION_TEST(after_the_deadline_nobody_is_told)
{
    actor_enter('a', awaits)->patience = AO_MS(5);
    virtual_run(&stage.v);
    stage_expect("[5] a is deadline passed\n");
    ao_completion_complete(&completion, NULL); /* it has left: nobody is told */
    virtual_run(&stage.v);
    stage_expect("");
}

/* In the step that began the wait, and not in the next round. */
COMPLETION_TEST(a_deadline_that_is_now_has_passed)
{
    actor_enter('a', awaits)->patience = 0;
    virtual_round(&stage.v, stage.home);
    stage_expect("[0] a is deadline passed\n");
}

COMPLETION_TEST(cancel_by_another)
{
    struct actor *a = actor_enter('a', awaits);
    virtual_run(&stage.v);
    ao_wait_cancel(&a->wait);
    ao_wait_cancel(&a->wait);
    assert_null(completion.waiters.first);
    virtual_run(&stage.v);
    stage_expect("[0] a is cancelled\n");
}

COMPLETION_TEST(reactivated_waiter_sees_cancelled)
{
    struct actor *a = actor_enter('a', awaits);
    virtual_run(&stage.v);
    ao_deactivate(&a->ao);
    assert_null(completion.waiters.first);
    ao_activate(&a->ao);
    virtual_run(&stage.v);
    stage_expect("[0] a is cancelled\n");
}

static enum ao_verdict wakes_itself_then_awaits(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_wake(self); /* of no sleep: the wait that follows does not end by it */
    AO_AWAIT(self, &a->seq, &a->wait, ao_completion_await(&completion, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

COMPLETION_TEST(earlier_wake_does_not_end_a_wait)
{
    actor_enter('a', wakes_itself_then_awaits);
    virtual_run(&stage.v);
    stage_expect("");
    ao_completion_complete(&completion, NULL);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n");
}

static enum ao_verdict deadline_by_hand(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_sleep_for(self, AO_MS(1));
    AO_AWAIT(self, &a->seq, &a->wait, ao_completion_await(&completion, &a->wait));
    assert_int_equal(a->wait.outcome, AO_WAIT_REFUSED);
    AO_YIELD(&a->seq);
    ao_retire(self);
    AO_AWAIT(self, &a->seq, &a->wait, ao_completion_await(&completion, &a->wait));
    actor_say(a, "is not stepped again");
    AO_END(&a->seq);
}

COMPLETION_TEST(refused_and_retired)
{
    struct actor *a = actor_enter('a', deadline_by_hand);
    virtual_run(&stage.v);
    assert_true(a->retired);
    assert_null(completion.waiters.first);
    assert_null(a->ao.waits);
    stage_expect("");
}

COMPLETION_TEST(closing_the_activator_empties_the_queues)
{
    struct actor *a = actor_enter('a', awaits);
    a->patience = AO_S(1);
    virtual_run_until(&stage.v, AO_MS(1));
    assert_ptr_equal(completion.waiters.first, &a->wait);
    virtual_close(&stage.v, stage.home);
    assert_null(completion.waiters.first);
    assert_int_equal(a->wait.outcome, AO_WAIT_CANCELLED);
}
