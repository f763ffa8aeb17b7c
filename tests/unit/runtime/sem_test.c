/* The semaphore at home: order, deadlines, waiters that go, the scoped form. */
#include "tests/unit/runtime/stage.h"

static struct ao_sem sem;

static int tear_down(void **state)
{
    ao_sem_fini(&sem);
    return stage_tear_down(state);
}

#define SEM_TEST(name) TEST_WITH(stage_set_up, tear_down, name)

/* Acquires, works for 10 ms, releases. */
static enum ao_verdict worker(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_sem_acquire(&sem, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_release(&sem);
    }
    AO_END(&a->seq);
}

SEM_TEST(grants_in_order_of_arrival)
{
    ao_sem_init(&sem, 1);
    actor_enter('a', worker);
    actor_enter('b', worker);
    actor_enter('c', worker);
    virtual_run_until(&stage.v, AO_MS(5));
    assert_int_equal(ao_sem_waiting(&sem), 2);
    assert_false(ao_sem_try_acquire(&sem));
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[10] b is ready\n[20] c is ready\n");
    assert_int_equal(sem.permits, 1);
    assert_true(ao_sem_try_acquire(&sem));
}

SEM_TEST(release_before_acquire)
{
    ao_sem_init(&sem, 0);
    ao_sem_release(&sem);
    actor_enter('a', worker);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n");
}

SEM_TEST(expired_waiter_is_passed_over)
{
    ao_sem_init(&sem, 1);
    actor_enter('a', worker);
    actor_enter('b', worker)->patience = AO_MS(3);
    actor_enter('c', worker);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[3] b is deadline passed\n[10] c is ready\n");
    assert_int_equal(sem.permits, 1);
}

SEM_TEST(deadline_now_only_tries)
{
    ao_sem_init(&sem, 1);
    actor_enter('a', worker)->patience = 0;
    actor_enter('b', worker)->patience = 0;
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[0] b is deadline passed\n");
    assert_int_equal(sem.permits, 1);
}

static void wake(void *arg)
{
    ao_wake(arg);
}

SEM_TEST(foreign_wake_cancels)
{
    ao_sem_init(&sem, 1);
    actor_enter('a', worker);
    struct actor *b = actor_enter('b', worker);
    virtual_at(&stage.v, AO_MS(4), stage.home, wake, &b->ao);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[4] b is cancelled\n");
    assert_int_equal(sem.permits, 1);
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
    stage_open();
    ao_sem_init(&sem, 0);
    struct actor *a = actor_enter('a', worker);
    actor_enter('b', worker);
    virtual_run(&stage.v);
    assert_int_equal(ao_sem_waiting(&sem), 2);
    if (granted)
        ao_sem_release(&sem);
    end(a);
    if (!granted)
        ao_sem_release(&sem);
    virtual_run(&stage.v);
    stage_expect("[0] b is ready\n");
    assert_int_equal(sem.permits, 1);
    assert_int_equal(a->wait.outcome, AO_WAIT_CANCELLED);
    assert_null(a->ao.waits);
    ao_sem_fini(&sem);
    stage_close();
}

TEST(waiter_that_ends_is_passed_over)
{
    the_waiter_ends(by_deactivate, false);
    the_waiter_ends(by_deactivate, true);
    the_waiter_ends(by_retire, false);
    the_waiter_ends(by_retire, true);
}

SEM_TEST(close_ends_the_waits)
{
    ao_sem_init(&sem, 0);
    actor_enter('a', worker);
    actor_enter('b', worker);
    virtual_run(&stage.v);
    ao_sem_close(&sem);
    virtual_run(&stage.v);
    actor_enter('c', worker);
    virtual_run(&stage.v);
    stage_expect("[0] a is closed\n[0] b is closed\n[0] c is closed\n");
    ao_sem_release(&sem);
    assert_false(ao_sem_try_acquire(&sem));
    actor_enter('d', worker);
    virtual_run(&stage.v);
    stage_expect("[0] d is closed\n");
}

/* --- Several permits at once: an actor wants `i` of them --- */

static enum ao_verdict wants_many(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_sem_acquire_n(&sem, (uint32_t)a->i, &a->wait));
    actor_say_outcome(a, "is");
    if (a->wait.outcome == AO_WAIT_READY) {
        AO_SLEEP(self, &a->seq, AO_MS(10));
        ao_sem_release_n(&sem, (uint32_t)a->i);
    }
    AO_END(&a->seq);
}

static struct actor *enter_wanting(char name, int n)
{
    struct actor *a = actor_enter(name, wants_many);
    a->i = n;
    return a;
}

SEM_TEST(who_wants_many_is_not_overtaken)
{
    ao_sem_init(&sem, 4);
    enter_wanting('a', 3);
    enter_wanting('b', 4);
    enter_wanting('c', 1);
    virtual_run_until(&stage.v, AO_MS(5));
    assert_int_equal(sem.permits, 1);
    assert_false(ao_sem_try_acquire(&sem)); /* it is kept for b */
    assert_int_equal(ao_sem_waiting(&sem), 2);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready\n[10] b is ready\n[20] c is ready\n");
    assert_int_equal(sem.permits, 4);
    assert_false(ao_sem_try_acquire_n(&sem, 5));
    assert_true(ao_sem_try_acquire_n(&sem, 4));
}

SEM_TEST(one_release_serves_several)
{
    ao_sem_init(&sem, 0);
    enter_wanting('a', 2);
    enter_wanting('b', 1);
    enter_wanting('c', 3);
    virtual_run(&stage.v);
    ao_sem_release(&sem);
    virtual_run(&stage.v);
    stage_expect("");
    ao_sem_release_n(&sem, 4);
    virtual_run_until(&stage.v, AO_MS(5));
    stage_expect("[0] a is ready\n[0] b is ready\n");
    assert_int_equal(sem.permits, 2);
    virtual_run(&stage.v);
    assert_int_equal(sem.permits, 5);
}

SEM_TEST(when_the_first_expires_those_behind_get_what_is_free)
{
    ao_sem_init(&sem, 2);
    enter_wanting('a', 3)->patience = AO_MS(4);
    enter_wanting('b', 1);
    enter_wanting('c', 1);
    virtual_run(&stage.v);
    stage_expect("[4] a is deadline passed\n[4] b is ready\n[4] c is ready\n");
    assert_int_equal(sem.permits, 2);
}

static void the_one_with_many_ends(void (*end)(struct actor *), bool granted)
{
    stage_open();
    ao_sem_init(&sem, 1);
    struct actor *a = enter_wanting('a', 3);
    enter_wanting('b', 1);
    enter_wanting('c', 2);
    virtual_run(&stage.v);
    if (granted)
        ao_sem_release_n(&sem, 2);
    end(a);
    if (!granted)
        ao_sem_release_n(&sem, 2);
    virtual_run(&stage.v);
    stage_expect("[0] b is ready\n[0] c is ready\n");
    assert_int_equal(sem.permits, 3);
    ao_sem_fini(&sem);
    stage_close();
}

TEST(what_was_granted_to_one_that_ends_goes_to_the_next)
{
    the_one_with_many_ends(by_deactivate, false);
    the_one_with_many_ends(by_deactivate, true);
    the_one_with_many_ends(by_retire, false);
    the_one_with_many_ends(by_retire, true);
}

SEM_TEST(what_is_left_at_the_close_is_not_granted)
{
    ao_sem_init(&sem, 2);
    ao_sem_close(&sem);
    assert_false(ao_sem_try_acquire(&sem));
    actor_enter('a', worker);
    virtual_run(&stage.v);
    stage_expect("[0] a is closed\n");
    assert_int_equal(sem.permits, 2);
}

/* --- Scoped --- */

static enum ao_verdict holder(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_SCOPED_ACQUIRE(self, &a->seq, &sem, &a->permit);
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

SEM_TEST(scoped_permit_goes_back_at_the_end)
{
    ao_sem_init(&sem, 1);
    actor_enter('f', holder);
    actor_enter('e', holder);
    actor_enter('a', holder);
    actor_enter('b', holder);
    virtual_run(&stage.v);
    stage_expect("[0] f begins\n[10] f faulted: 1 on purpose\n[10] e begins\n"
                 "[20] a begins\n[30] e ends\n[30] a ends\n[30] b begins\n[40] b ends\n");
    assert_int_equal(sem.permits, 1);
}

static void the_holder_ends(void (*end)(struct actor *))
{
    stage_open();
    ao_sem_init(&sem, 1);
    struct actor *a = actor_enter('a', holder);
    actor_enter('b', holder);
    virtual_run_until(&stage.v, AO_MS(3));
    end(a);
    virtual_run(&stage.v);
    stage_expect("[0] a begins\n[3] b begins\n[13] b ends\n");
    assert_int_equal(sem.permits, 1);
    ao_sem_fini(&sem);
    stage_close();
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
    AO_SCOPED_ACQUIRE(self, &a->seq, &sem, &a->permit);
    actor_say_outcome(a, "goes round,");
    assert_int_equal(sem.permits, 0);
    if (a->i++ < 1)
        ao_activate(self);
    AO_END(&a->seq);
}

SEM_TEST(scoped_permit_of_one_that_begins_again)
{
    ao_sem_init(&sem, 1);
    struct actor *a = actor_enter('a', goes_round);
    virtual_run(&stage.v);
    assert_int_equal(a->i, 2);
    assert_int_equal(sem.permits, 1);
}

static enum ao_verdict leaves_then_acquires(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_deactivate(self);
    AO_SCOPED_ACQUIRE(self, &a->seq, &sem, &a->permit);
    if (a->i > 0)
        AO_YIELD(&a->seq); /* for ever, since nobody steps it again */
    AO_END(&a->seq);
}

SEM_TEST(permit_acquired_after_the_end)
{
    ao_sem_init(&sem, 1);
    for (int yields = 0; yields < 2; yields++) {
        struct actor *a = actor_enter('a', leaves_then_acquires);
        a->i = yields;
        virtual_run(&stage.v);
        assert_int_equal(ao_state(&a->ao), AO_STATE_INACTIVE);
        assert_int_equal(sem.permits, 1);
    }
}

/* A permit that goes back while the activator closes is granted to one that waits, whose turn to be
 * finished comes then. */
SEM_TEST(closing_with_holders_and_waiters)
{
    ao_sem_init(&sem, 1);
    struct actor *a = actor_enter('a', holder);
    struct actor *b = actor_enter('b', worker);
    b->patience = AO_S(1);
    virtual_run_until(&stage.v, AO_MS(1));
    virtual_close(&stage.v, stage.home);
    assert_int_equal(ao_state(&a->ao), AO_STATE_INACTIVE);
    assert_int_equal(ao_state(&b->ao), AO_STATE_INACTIVE);
    assert_int_equal(sem.permits, 1);
}

/* Two permits, given back in the order in which they were taken. */
static enum ao_verdict holds_two(struct ao *self)
{
    struct actor *a = actor_of(self);
    static struct ao_permit second; /* of one actor */

    AO_BEGIN(&a->seq);
    AO_SCOPED_ACQUIRE(self, &a->seq, &sem, &a->permit);
    AO_SCOPED_ACQUIRE(self, &a->seq, &sem, &second);
    assert_int_equal(sem.permits, 0);
    ao_permit_release(&a->permit);
    assert_int_equal(sem.permits, 1);
    AO_END(&a->seq);
}

SEM_TEST(permits_go_back_in_any_order)
{
    ao_sem_init(&sem, 2);
    actor_enter('a', holds_two);
    virtual_run(&stage.v);
    assert_int_equal(sem.permits, 2);
}

static enum ao_verdict holds_three(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->permit.wait, ao_sem_acquire_n_scoped(&sem, 3, &a->permit));
    actor_say(a, "begins");
    AO_SLEEP(self, &a->seq, AO_MS(10));
    if (a->name == 'f')
        return ao_fault(self, 1, "on purpose");
    AO_END(&a->seq);
}

SEM_TEST(scoped_permits_go_back_together)
{
    ao_sem_init(&sem, 4);
    actor_enter('f', holds_three);
    actor_enter('a', holds_three);
    virtual_run_until(&stage.v, AO_MS(1));
    assert_int_equal(sem.permits, 1);
    virtual_run(&stage.v);
    stage_expect("[0] f begins\n[10] f faulted: 1 on purpose\n[10] a begins\n");
    assert_int_equal(sem.permits, 4);
}
