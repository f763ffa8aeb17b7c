/* Rendezvous: who comes first waits; values pass in order. */
#include <ergon/rendezvous.h>

#include "tests/unit/runtime/stage.h"

static int values[] = {0, 1, 2, 3};

static enum ao_verdict gives(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_rendezvous_give(a->stage->props, &values[a->name - '0'], &a->wait));
    actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

static enum ao_verdict takes(struct ao *self)
{
    struct actor *a = actor_of(self);

    AO_BEGIN(&a->seq);
    AO_AWAIT_FOR(self, &a->seq, &a->wait, a->patience,
                 ao_rendezvous_take(a->stage->props, &a->wait));
    if (a->wait.outcome == AO_WAIT_READY)
        stage_say(a->stage, "%c took %d", a->name, *(int *)a->wait.value);
    else
        actor_say_outcome(a, "is");
    AO_END(&a->seq);
}

TEST(giver_first)
{
    struct stage s;
    struct ao_rendezvous r;
    struct actor g1, g2, a, b;
    stage_open(&s, &r);
    ao_rendezvous_init(&r);
    actor_enter(&g1, &s, s.home, '1', gives);
    actor_enter(&g2, &s, s.home, '2', gives);
    virtual_run(&s.v);
    actor_enter(&a, &s, s.home, 'a', takes);
    actor_enter(&b, &s, s.home, 'b', takes);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a took 1\n[0] b took 2\n[0] 1 is ready\n[0] 2 is ready\n");
    stage_close(&s);
}

TEST(taker_first)
{
    struct stage s;
    struct ao_rendezvous r = {0};
    struct actor g, a, b;
    stage_open(&s, &r);
    actor_enter(&a, &s, s.home, 'a', takes);
    actor_enter(&b, &s, s.home, 'b', takes);
    b.patience = AO_MS(2);
    virtual_run_until(&s.v, AO_MS(1));
    actor_enter(&g, &s, s.home, '3', gives);
    virtual_run(&s.v);
    stage_expect(&s, "[1] 3 is ready\n[1] a took 3\n[2] b is deadline passed\n");
    stage_close(&s);
}

TEST(giver_that_goes_keeps_its_value)
{
    struct stage s;
    struct ao_rendezvous r = {0};
    struct actor g1, g2, a;
    stage_open(&s, &r);
    actor_enter(&g1, &s, s.home, '1', gives);
    actor_enter(&g2, &s, s.home, '2', gives);
    virtual_run(&s.v);
    ao_deactivate(&g1.ao);
    actor_enter(&a, &s, s.home, 'a', takes);
    virtual_run(&s.v);
    stage_expect(&s, "[0] a took 2\n[0] 2 is ready\n");
    stage_close(&s);
}

TEST(passing_is_final)
{
    struct stage s;
    struct ao_rendezvous r = {0};
    struct actor g, a;
    stage_open(&s, &r);
    actor_enter(&a, &s, s.home, 'a', takes);
    virtual_run(&s.v);
    actor_enter(&g, &s, s.home, '1', gives);
    virtual_round(&s.v, s.home);
    ao_deactivate(&a.ao);
    assert_int_equal(a.wait.outcome, AO_WAIT_READY);
    assert_ptr_equal(a.wait.value, &values[1]);
    stage_close(&s);
}

TEST(closed)
{
    struct stage s;
    struct ao_rendezvous r = {0};
    struct actor g, a;
    stage_open(&s, &r);
    actor_enter(&g, &s, s.home, '1', gives);
    virtual_run(&s.v);
    ao_rendezvous_close(&r);
    actor_enter(&a, &s, s.home, 'a', takes);
    virtual_run(&s.v);
    actor_enter(&g, &s, s.home, '2', gives);
    virtual_run(&s.v);
    stage_expect(&s, "[0] 1 is closed\n[0] a is closed\n[0] 2 is closed\n");
    stage_close(&s);
}
