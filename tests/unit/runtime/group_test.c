/* Groups: all are awaited, faults are counted, a cancel stops the rest. */
#include <ergon/group.h>

#include "tests/unit/runtime/stage.h"

enum { CELLS = 3 };

struct cell {
    struct ao_child child;
    struct ao_seq seq;
    int i;
    ao_time work; /* 0: faults at once */
    struct ao_permit permit;
};

static struct ao_group group;
static struct ao_sem sem;
static struct cell cells[CELLS];
static struct actor *actor;

static enum ao_verdict work(struct ao *self)
{
    struct cell *c = ao_of(self, struct cell, child.ao);

    AO_BEGIN(&c->seq);
    AO_SCOPED_ACQUIRE(self, &c->seq, &sem, &c->permit);
    if (c->work == 0)
        return ao_fault(self, 40 + c->i, "cell %d", c->i);
    AO_SLEEP(self, &c->seq, c->work);
    stage_say("cell %d ends", c->i);
    AO_END(&c->seq);
}

static enum ao_verdict parent(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    ao_group_init(&group, self->home);
    for (a->i = 0; a->i < CELLS; a->i++)
        assert_int_equal(ao_group_start(&group, &cells[a->i].child, work), 0);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_group_await(&group, &a->wait));
    stage_say("%c is %s: %u ended, %u faults", a->name, ao_wait_outcome_text(a->wait.outcome),
              group.ended, group.faults);
    AO_END(&a->seq);
}

static int set_up(void **state)
{
    stage_set_up(state);
    ao_sem_init(&sem, CELLS);
    for (int i = 0; i < CELLS; i++)
        cells[i] = (struct cell){.i = i, .work = AO_MS(10 * (i + 1))};
    actor = actor_enter('p', parent);
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(sem.permits, CELLS); /* all scoped permits are back */
    return stage_tear_down(state);
}

#define GROUP_TEST(name) TEST_WITH(set_up, tear_down, name)

GROUP_TEST(awaits_all)
{
    virtual_run(&stage.v);
    stage_expect("[10] cell 0 ends\n[20] cell 1 ends\n[30] cell 2 ends\n"
                 "[30] p is ready: 3 ended, 0 faults\n");
}

GROUP_TEST(collects_faults)
{
    cells[1].work = cells[2].work = 0;
    virtual_run(&stage.v);
    stage_expect("[10] cell 0 ends\n[10] p is ready: 3 ended, 2 faults\n");
    assert_ptr_equal(group.first_faulted, &cells[1].child);
    assert_int_equal(group.fault_code, 41);
}

GROUP_TEST(a_fault_that_is_the_last_end_tells_the_parent)
{
    for (int i = 0; i < CELLS; i++)
        cells[i].work = 0;
    virtual_run(&stage.v);
    stage_expect("[0] p is ready: 3 ended, 3 faults\n");
}

GROUP_TEST(cancel_stops_the_rest)
{
    virtual_run_until(&stage.v, AO_MS(15));
    ao_group_cancel(&group);
    virtual_run(&stage.v);
    stage_expect("[10] cell 0 ends\n[15] p is ready: 3 ended, 0 faults\n");
    assert_int_equal(ao_state(&cells[2].child.ao), AO_STATE_INACTIVE);
}

GROUP_TEST(children_go_on_after_the_parents_wait)
{
    actor->patience = AO_MS(15);
    virtual_run(&stage.v);
    stage_expect("[10] cell 0 ends\n[15] p is deadline passed: 1 ended, 0 faults\n"
                 "[20] cell 1 ends\n[30] cell 2 ends\n");
    assert_null(group.running);
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
