/* Select: exactly one wins, nothing is taken from the losers. */
#include <ergon/event.h>
#include <ergon/mailbox.h>
#include <ergon/select.h>

#include "tests/unit/runtime/stage.h"

struct props {
    struct ao_mailbox box;
    struct ao_event event;
    struct ao_sem sem;
    struct ao_select select;
    struct ao_wait records[3];
    struct ao_mail mail;
};

static enum ao_verdict selects(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = a->stage->props;
    struct ao_wait *w = p->records;

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 (ao_select_begin(&p->select, w, 3),
                  AO_SELECT(&p->select, 0, ao_mailbox_receive(&p->box, &w[0])),
                  AO_SELECT(&p->select, 1, ao_event_await(&p->event, &w[1])),
                  AO_SELECT(&p->select, 2, ao_sem_acquire(&p->sem, &w[2])),
                  ao_select_await(&p->select, &a->wait)));
    stage_say(a->stage, "%c is %s: %d", a->name, ao_wait_outcome_text(a->wait.outcome),
              p->select.winner);
    AO_END(&a->seq);
}

static void set_up(struct stage *s, struct props *p, struct actor *a, ao_time patience)
{
    stage_open(s, p);
    ao_mailbox_init(&p->box, 4);
    ao_event_init(&p->event, AO_EVENT_AUTO);
    ao_sem_init(&p->sem, 0);
    actor_enter(a, s, s->home, 'a', selects);
    a->patience = patience;
}

static void nobody_waits(struct props *p)
{
    assert_null(p->box.waiters.first);
    assert_null(p->event.waiters.first);
    assert_null(p->sem.waiters.first);
}

TEST(first_wins_and_losers_are_withdrawn)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_NEVER);
    virtual_run(&s.v);
    ao_event_set(&p.event);
    nobody_waits(&p);
    ao_sem_release(&p.sem);
    ao_mailbox_try_send(&p.box, &p.mail);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready: 1\n");
    assert_int_equal(p.sem.permits, 1);
    assert_ptr_equal(ao_mailbox_take(&p.box), &p.mail);
    stage_close(&s);
}

TEST(of_several_that_are_ready_the_first_listed)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_NEVER);
    ao_event_set(&p.event);
    ao_sem_release(&p.sem);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready: 1\n");
    assert_int_equal(p.sem.permits, 1);
    nobody_waits(&p);
    stage_close(&s);
}

TEST(value_is_the_winners)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_NEVER);
    virtual_run(&s.v);
    ao_mailbox_try_send(&p.box, &p.mail);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is ready: 0\n");
    assert_ptr_equal(a.wait.value, &p.mail);
    stage_close(&s);
}

TEST(deadline)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_MS(5));
    virtual_run(&s.v);
    stage_expect(&s, "[5] a is deadline passed: -1\n");
    nobody_waits(&p);
    stage_close(&s);
}

TEST(closed_one_wins_as_closed)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_NEVER);
    virtual_run(&s.v);
    ao_mailbox_close(&p.box);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a is closed: 0\n");
    nobody_waits(&p);
    stage_close(&s);
}

TEST(winner_is_given_back_when_the_object_ends)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_NEVER);
    virtual_run(&s.v);
    ao_sem_release(&p.sem);
    assert_int_equal(p.sem.permits, 0);
    ao_deactivate(&a.ao);
    assert_int_equal(p.sem.permits, 1);
    nobody_waits(&p);
    stage_close(&s);
}

TEST(object_that_ends_leaves_all)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a, AO_NEVER);
    virtual_run(&s.v);
    assert_non_null(p.sem.waiters.first);
    ao_retire(&a.ao);
    nobody_waits(&p);
    virtual_run(&s.v);
    stage_close(&s);
}
