/* Groups: all are awaited, faults are counted, a cancel stops the rest. */
#include <ergon/group.h>

#include "tests/unit/runtime/stage.h"

enum { CELLS = 3 };

struct cell {
    struct ao_child child;
    struct ao_seq seq;
    struct stage *stage;
    int i;
    ao_time work; /* 0: faults at once */
    struct ao_permit permit;
};

struct props {
    struct ao_group group;
    struct ao_sem sem;
    struct cell cells[CELLS];
};

static enum ao_verdict work(struct ao *self)
{
    struct cell *c = ao_of(self, struct cell, child.ao);
    struct props *p = c->stage->props;

    AO_BEGIN(&c->seq);
    AO_SCOPED_ACQUIRE(self, &c->seq, &p->sem, &c->permit);
    if (c->work == 0)
        return ao_fault(self, 40 + c->i, "cell %d", c->i);
    AO_SLEEP(self, &c->seq, c->work);
    stage_say(c->stage, "cell %d ends", c->i);
    AO_END(&c->seq);
}

static enum ao_verdict parent(struct ao *self)
{
    struct actor *a = actor_of(self);
    struct props *p = a->stage->props;

    AO_BEGIN(&a->seq);
    ao_group_init(&p->group, self->home);
    for (a->i = 0; a->i < CELLS; a->i++)
        assert_int_equal(ao_group_start(&p->group, &p->cells[a->i].child, work), 0);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_group_await(&p->group, &a->wait));
    stage_say(a->stage, "%c is %s: %u ended, %u faults", a->name,
              ao_wait_outcome_text(a->wait.outcome), p->group.ended, p->group.faults);
    AO_END(&a->seq);
}

static void set_up(struct stage *s, struct props *p, struct actor *a)
{
    stage_open(s, p);
    ao_sem_init(&p->sem, CELLS);
    for (int i = 0; i < CELLS; i++)
        p->cells[i] = (struct cell){.stage = s, .i = i, .work = AO_MS(10 * (i + 1))};
    actor_enter(a, s, s->home, 'p', parent);
}

static void tear_down(struct stage *s, struct props *p)
{
    assert_int_equal(p->sem.permits, CELLS); /* all scoped permits are back */
    stage_close(s);
}

TEST(awaits_all)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a);
    virtual_run(&s.v);
    stage_expect(&s, "[10] cell 0 ends\n[20] cell 1 ends\n[30] cell 2 ends\n"
                     "[30] p is ready: 3 ended, 0 faults\n");
    tear_down(&s, &p);
}

TEST(collects_faults)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a);
    p.cells[1].work = p.cells[2].work = 0;
    virtual_run(&s.v);
    stage_expect(&s, "[10] cell 0 ends\n[10] p is ready: 3 ended, 2 faults\n");
    assert_ptr_equal(p.group.first_faulted, &p.cells[1].child);
    assert_int_equal(p.group.fault_code, 41);
    tear_down(&s, &p);
}

TEST(cancel_stops_the_rest)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a);
    virtual_run_until(&s.v, AO_MS(15));
    ao_group_cancel(&p.group);
    virtual_run(&s.v);
    stage_expect(&s, "[10] cell 0 ends\n[15] p is ready: 3 ended, 0 faults\n");
    assert_int_equal(ao_state(&p.cells[2].child.ao), AO_STATE_INACTIVE);
    tear_down(&s, &p);
}

TEST(children_go_on_after_the_parents_wait)
{
    struct stage s;
    struct props p;
    struct actor a;
    set_up(&s, &p, &a);
    a.patience = AO_MS(15);
    virtual_run(&s.v);
    stage_expect(&s, "[10] cell 0 ends\n[15] p is deadline passed: 1 ended, 0 faults\n"
                     "[20] cell 1 ends\n[30] cell 2 ends\n");
    assert_null(p.group.running);
    tear_down(&s, &p);
}

TEST(empty_group_is_ready)
{
    struct ao_group g;
    struct ao_wait w = {0};
    struct ao waiter = {0};
    ao_group_init(&g, NULL);
    ao_wait_prepare(&waiter, &w);
    ao_group_await(&g, &w);
    assert_int_equal(w.outcome, AO_WAIT_READY);
}
