/* Select: exactly one wins, nothing is taken from the losers. */
#include <ergon/event.h>
#include <ergon/mailbox.h>
#include <ergon/select.h>

#include "tests/unit/runtime/stage.h"

static struct ao_mailbox box;
static struct ao_event event;
static struct ao_sem sem;
static struct ao_select selection;
static struct ao_wait records[3];
static struct ao_mail mail;
static struct actor *actor;

static enum ao_verdict selects(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct ao_wait *w = records;

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 (ao_select_begin(&selection, w, 3),
                  AO_SELECT(&selection, 0, ao_mailbox_receive(&box, &w[0])),
                  AO_SELECT(&selection, 1, ao_event_await(&event, &w[1])),
                  AO_SELECT(&selection, 2, ao_sem_acquire(&sem, &w[2])),
                  ao_select_await(&selection, &a->wait)));
    stage_say("%c is %s: %d", a->name, ao_wait_outcome_text(a->wait.outcome), selection.winner);
    AO_END(&a->seq);
}

static int set_up(void **state)
{
    stage_set_up(state);
    ao_mailbox_init(&box, 4);
    ao_event_init(&event, AO_EVENT_AUTO);
    ao_sem_init(&sem, 0);
    actor = actor_enter('a', selects);
    return 0;
}

#define SELECT_TEST(name) TEST_WITH(set_up, stage_tear_down, name)

static void nobody_waits(void)
{
    assert_null(box.waiters.first);
    assert_null(event.waiters.first);
    assert_null(sem.waiters.first);
}

SELECT_TEST(first_wins_and_losers_are_withdrawn)
{
    virtual_run(&stage.v);
    ao_event_set(&event);
    nobody_waits();
    ao_sem_release(&sem);
    ao_mailbox_try_send(&box, &mail);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready: 1\n");
    assert_int_equal(sem.permits, 1);
    assert_ptr_equal(ao_mailbox_take(&box), &mail);
}

SELECT_TEST(of_several_that_are_ready_the_first_listed)
{
    ao_event_set(&event);
    ao_sem_release(&sem);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready: 1\n");
    assert_int_equal(sem.permits, 1);
    nobody_waits();
}

SELECT_TEST(value_is_the_winners)
{
    virtual_run(&stage.v);
    ao_mailbox_try_send(&box, &mail);
    virtual_run(&stage.v);
    stage_expect("[0] a is ready: 0\n");
    assert_ptr_equal(actor->wait.value, &mail);
}

SELECT_TEST(deadline)
{
    actor->patience = AO_MS(5);
    virtual_run(&stage.v);
    stage_expect("[5] a is deadline passed: -1\n");
    nobody_waits();
}

SELECT_TEST(closed_one_wins_as_closed)
{
    virtual_run(&stage.v);
    ao_mailbox_close(&box);
    virtual_run(&stage.v);
    stage_expect("[0] a is closed: 0\n");
    nobody_waits();
}

SELECT_TEST(winner_is_given_back_when_the_object_ends)
{
    virtual_run(&stage.v);
    ao_sem_release(&sem);
    assert_int_equal(sem.permits, 0);
    ao_deactivate(&actor->ao);
    assert_int_equal(sem.permits, 1);
    nobody_waits();
}

SELECT_TEST(object_that_ends_leaves_all)
{
    virtual_run(&stage.v);
    assert_non_null(sem.waiters.first);
    ao_retire(&actor->ao);
    nobody_waits();
    virtual_run(&stage.v);
}

/* --- Two records in the queue of one semaphore: when the first of them leaves, the second could
 * be granted, and must not win any more --- */

static enum ao_verdict selects_many_or_one(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct ao_wait *w = records;

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 (ao_select_begin(&selection, w, 3),
                  AO_SELECT(&selection, 0, ao_sem_acquire_n(&sem, 3, &w[0])),
                  AO_SELECT(&selection, 1, ao_sem_acquire(&sem, &w[1])),
                  AO_SELECT(&selection, 2, ao_event_await(&event, &w[2])),
                  ao_select_await(&selection, &a->wait)));
    stage_say("%c is %s: %d", a->name, ao_wait_outcome_text(a->wait.outcome), selection.winner);
    AO_END(&a->seq);
}

static struct actor *enter_with_one_permit(void)
{
    ao_deactivate(&actor->ao);
    ao_sem_release(&sem);
    return actor_enter('b', selects_many_or_one);
}

SELECT_TEST(what_a_loser_sets_free_goes_to_no_other_loser)
{
    enter_with_one_permit();
    virtual_run(&stage.v);
    assert_int_equal(ao_sem_waiting(&sem), 2);
    ao_event_set(&event);
    virtual_run(&stage.v);
    stage_expect("[0] b is ready: 2\n");
    nobody_waits();
    assert_int_equal(sem.permits, 1);
}

SELECT_TEST(nor_when_its_deadline_passes)
{
    enter_with_one_permit()->patience = AO_MS(4);
    virtual_run(&stage.v);
    stage_expect("[4] b is deadline passed: -1\n");
    nobody_waits();
    assert_int_equal(sem.permits, 1);
}

static enum ao_verdict acquires(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT(self, &a->seq, &a->wait, ao_sem_acquire(&sem, &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

/* Nor does it go to who waits behind both. */
SELECT_TEST(nor_when_it_is_closed)
{
    enter_with_one_permit();
    actor_enter('c', acquires);
    virtual_run(&stage.v);
    ao_sem_close(&sem);
    virtual_run(&stage.v);
    stage_expect("[0] b is closed: 0\n[0] c is closed\n");
    nobody_waits();
    assert_int_equal(sem.permits, 1);
}
