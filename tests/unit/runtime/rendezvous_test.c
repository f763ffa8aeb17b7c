/* Rendezvous: who comes first waits; values pass in order. */
#include <ergon/rendezvous.h>

#include "tests/unit/runtime/stage.h"

static struct ao_rendezvous rendezvous;
static int values[] = {0, 1, 2, 3};

static int set_up(void **state)
{
    rendezvous = (struct ao_rendezvous){0};
    return stage_set_up(state);
}

#define RENDEZVOUS_TEST(name) TEST_WITH(set_up, stage_tear_down, name)

static enum ao_verdict gives(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_rendezvous_give(&rendezvous, &values[a->name - '0'], &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

static enum ao_verdict takes(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience, ao_rendezvous_take(&rendezvous, &a->wait));
    if (a->wait.outcome == AO_WAIT_READY)
        stage_say("%c took %d", a->name, *(int *)a->wait.value);
    else
        actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

RENDEZVOUS_TEST(giver_first)
{
    ao_rendezvous_init(&rendezvous);
    actor_enter('1', gives);
    actor_enter('2', gives);
    virtual_run(&stage.v);
    actor_enter('a', takes);
    actor_enter('b', takes);
    virtual_run(&stage.v);
    stage_expect("[0] a took 1\n[0] b took 2\n[0] 1 is ready\n[0] 2 is ready\n");
}

RENDEZVOUS_TEST(taker_first)
{
    actor_enter('a', takes);
    actor_enter('b', takes)->patience = AO_MS(2);
    virtual_run_until(&stage.v, AO_MS(1));
    actor_enter('3', gives);
    virtual_run(&stage.v);
    stage_expect("[1] 3 is ready\n[1] a took 3\n[2] b is deadline passed\n");
}

RENDEZVOUS_TEST(giver_that_goes_keeps_its_value)
{
    struct actor *g1 = actor_enter('1', gives);
    actor_enter('2', gives);
    virtual_run(&stage.v);
    ao_deactivate(&g1->ao);
    actor_enter('a', takes);
    virtual_run(&stage.v);
    stage_expect("[0] a took 2\n[0] 2 is ready\n");
}

RENDEZVOUS_TEST(passing_is_final)
{
    struct actor *a = actor_enter('a', takes);
    virtual_run(&stage.v);
    actor_enter('1', gives);
    virtual_round(&stage.v, stage.home);
    ao_deactivate(&a->ao);
    assert_int_equal(a->wait.outcome, AO_WAIT_READY);
    assert_ptr_equal(a->wait.value, &values[1]);
}

RENDEZVOUS_TEST(closed)
{
    actor_enter('1', gives);
    virtual_run(&stage.v);
    ao_rendezvous_close(&rendezvous);
    actor_enter('a', takes);
    virtual_run(&stage.v);
    actor_enter('2', gives);
    virtual_run(&stage.v);
    stage_expect("[0] 1 is closed\n[0] a is closed\n[0] 2 is closed\n");
}
