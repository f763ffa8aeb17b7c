/* The semaphore at home: order, deadlines, waiters that go, the scoped form. */
#include "tests/unit/runtime/stage.h"

static struct ao_sem *sem_of(struct actor *a)
{
    return a->stage->props;
}

/* Acquires, works for 10 ms, releases. */
static enum ao_verdict worker(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_sem_acquire(sem_of(a), &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_release(sem_of(a));
    }
    AO_END(&a->seq);
}

TEST(grants_in_order_of_arrival)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b, c;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', worker);
    actor_enter(&b, &s, s.home, 'b', worker);
    actor_enter(&c, &s, s.home, 'c', worker);
    virtual_run_until(&s.v, AO_MS(5));
    assert_int_equal(ao_sem_waiting(&sem), 2);
    assert_false(ao_sem_try_acquire(&sem));
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[10] b is ready\n[20] c is ready\n");
    assert_int_equal(sem.permits, 1);
    assert_true(ao_sem_try_acquire(&sem));
    ao_sem_fini(&sem);
    stage_close(&s);
}

TEST(release_before_acquire)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 0);
    ao_sem_release(&sem);
    actor_enter(&a, &s, s.home, 'a', worker);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n");
    ao_sem_fini(&sem);
    stage_close(&s);
}

TEST(expired_waiter_is_passed_over)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b, c;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', worker);
    actor_enter(&b, &s, s.home, 'b', worker);
    b.patience = AO_MS(3);
    actor_enter(&c, &s, s.home, 'c', worker);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[3] b is deadline passed\n[10] c is ready\n");
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

TEST(deadline_now_only_tries)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', worker);
    a.patience = 0;
    actor_enter(&b, &s, s.home, 'b', worker);
    b.patience = 0;
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[0] b is deadline passed\n");
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

static void wake(void *arg)
{
    ao_wake(arg);
}

TEST(foreign_wake_cancels)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', worker);
    actor_enter(&b, &s, s.home, 'b', worker);
    virtual_at(&s.v, AO_MS(4), s.home, wake, &b.ao);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready\n[4] b is cancelled\n");
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

/* What ends a waiter: before the grant, or between the grant and its next step. */
static void by_deactivate(struct actor *a)
{
    ao_deactivate(&a->ao);
}

static void by_retire(struct actor *a)
{
    ao_retire(&a->ao);
}

static void the_waiter_ends(void (*end)(struct actor *), bool granted)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 0);
    actor_enter(&a, &s, s.home, 'a', worker);
    actor_enter(&b, &s, s.home, 'b', worker);
    virtual_run(&s.v);
    assert_int_equal(ao_sem_waiting(&sem), 2);
    if (granted)
        ao_sem_release(&sem);
    end(&a);
    if (!granted)
        ao_sem_release(&sem);
    virtual_run(&s.v);
    stage_expect(&s, "[0] b is ready\n");
    assert_int_equal(sem.permits, 1);
    assert_int_equal(a.wait.outcome, AO_WAIT_CANCELLED);
    assert_null(a.ao.waits);
    ao_sem_fini(&sem);
    stage_close(&s);
}

TEST(waiter_that_ends_is_passed_over)
{
    the_waiter_ends(by_deactivate, false);
    the_waiter_ends(by_deactivate, true);
    the_waiter_ends(by_retire, false);
    the_waiter_ends(by_retire, true);
}

TEST(close_ends_the_waits)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b, c;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 0);
    actor_enter(&a, &s, s.home, 'a', worker);
    actor_enter(&b, &s, s.home, 'b', worker);
    virtual_run(&s.v);
    ao_sem_close(&sem);
    virtual_run(&s.v);
    actor_enter(&c, &s, s.home, 'c', worker);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is closed\n[0] b is closed\n[0] c is closed\n");
    assert_false(ao_sem_try_acquire(&sem));
    ao_sem_fini(&sem);
    stage_close(&s);
}

/* --- Scoped --- */

static enum ao_verdict holder(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_SCOPED_ACQUIRE(self, &a->seq, sem_of(a), &a->permit);
    actor_say(a, "begins");
    AO_SLEEP(self, &a->seq, AO_MS(10));
    AO_YIELD(&a->seq);
    if (a->name == 'f')
        return ao_fault(self, 1, "on purpose");
    if (a->name == 'e') {
        ao_permit_release(&a->permit);
        ao_permit_release(&a->permit);
        AO_SLEEP(self, &a->seq, AO_MS(10));
    }
    actor_say(a, "ends");
    AO_END(&a->seq);
}

TEST(scoped_permit_goes_back_at_the_end)
{
    struct stage s;
    struct ao_sem sem;
    struct actor f, e, a, b;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&f, &s, s.home, 'f', holder);
    actor_enter(&e, &s, s.home, 'e', holder);
    actor_enter(&a, &s, s.home, 'a', holder);
    actor_enter(&b, &s, s.home, 'b', holder);
    virtual_run(&s.v);
    stage_expect(&s, "[0] f begins\n[10] f faulted: 1 on purpose\n[10] e begins\n"
                     "[20] a begins\n[30] e ends\n[30] a ends\n[30] b begins\n[40] b ends\n");
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

static void the_holder_ends(void (*end)(struct actor *))
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', holder);
    actor_enter(&b, &s, s.home, 'b', holder);
    virtual_run_until(&s.v, AO_MS(3));
    end(&a);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a begins\n[3] b begins\n[13] b ends\n");
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

TEST(scoped_permit_of_a_holder_that_is_ended)
{
    the_holder_ends(by_deactivate);
    the_holder_ends(by_retire);
}

/* Ends active: its own activation comes while its last step runs. */
static enum ao_verdict goes_round(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_SCOPED_ACQUIRE(self, &a->seq, sem_of(a), &a->permit);
    actor_say_outcome(a, "goes round,");
    assert_int_equal(sem_of(a)->permits, 0);
    if (a->i++ < 1)
        ao_activate(self);
    AO_END(&a->seq);
}

TEST(scoped_permit_of_one_that_begins_again)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', goes_round);
    virtual_run(&s.v);
    assert_int_equal(a.i, 2);
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

static enum ao_verdict leaves_then_acquires(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_deactivate(self);
    AO_SCOPED_ACQUIRE(self, &a->seq, sem_of(a), &a->permit);
    if (a->i > 0)
        AO_YIELD(&a->seq); /* for ever, since nobody steps it again */
    AO_END(&a->seq);
}

TEST(permit_acquired_after_the_end)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    for (int yields = 0; yields < 2; yields++) {
        actor_enter(&a, &s, s.home, 'a', leaves_then_acquires);
        a.i = yields;
        virtual_run(&s.v);
        assert_int_equal(ao_state(&a.ao), AO_STATE_INACTIVE);
        assert_int_equal(sem.permits, 1);
    }
    ao_sem_fini(&sem);
    stage_close(&s);
}

/* A permit that goes back while the activator closes is granted to one that waits, whose turn to be
 * finished comes then. */
TEST(closing_with_holders_and_waiters)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a, b;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 1);
    actor_enter(&a, &s, s.home, 'a', holder);
    actor_enter(&b, &s, s.home, 'b', worker);
    b.patience = AO_S(1);
    virtual_run_until(&s.v, AO_MS(1));
    virtual_close(&s.v, s.home);
    assert_int_equal(ao_state(&a.ao), AO_STATE_INACTIVE);
    assert_int_equal(ao_state(&b.ao), AO_STATE_INACTIVE);
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close(&s);
}

/* Two permits, given back in the order in which they were taken. */
static enum ao_verdict holds_two(struct ao *self)
{
    struct actor *a = actor_of(self);
    static struct ao_permit second; /* of one actor */

    AO_BEGIN(&a->seq);
    AO_SCOPED_ACQUIRE(self, &a->seq, sem_of(a), &a->permit);
    AO_SCOPED_ACQUIRE(self, &a->seq, sem_of(a), &second);
    assert_int_equal(sem_of(a)->permits, 0);
    ao_permit_release(&a->permit);
    assert_int_equal(sem_of(a)->permits, 1);
    AO_END(&a->seq);
}

TEST(permits_go_back_in_any_order)
{
    struct stage s;
    struct ao_sem sem;
    struct actor a;
    stage_open(&s, &sem);
    ao_sem_init(&sem, 2);
    actor_enter(&a, &s, s.home, 'a', holds_two);
    virtual_run(&s.v);
    assert_int_equal(sem.permits, 2);
    ao_sem_fini(&sem);
    stage_close(&s);
}
