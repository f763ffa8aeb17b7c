#include "tests/unit/runtime/actor.h"

#include <string.h>

#include "tests/support/cmocka_env.h"

static struct actor *actor_of(struct ao *ao)
{
    return ao_of(ao, struct actor, ao);
}

static enum ao_verdict actor_step(struct ao *self)
{
    struct actor *a = actor_of(self);
    assert_ptr_equal(ao_current(), self);
    a->why = ao_why(self);
    a->steps++;
    enum ao_verdict (*act)(struct actor *) = a->script[a->at];
    if (a->script[a->at + 1])
        a->at++;
    return act(a);
}

static void actor_faulted(struct ao *self, int code, const char *text)
{
    struct actor *a = actor_of(self);
    assert_int_equal(ao_state(self), AO_STATE_FAULTED);
    a->faults++;
    a->code = code;
    memcpy(a->text, text, strlen(text) + 1);
}

static void actor_retired(struct ao *self)
{
    assert_null(ao_current());
    actor_of(self)->retired++;
}

static const struct ao_class actor_class = {
    .name = "actor", .step = actor_step, .faulted = actor_faulted, .retired = actor_retired};

enum ao_verdict actor_again(struct actor *self)
{
    return AO_AGAIN;
}

enum ao_verdict actor_done(struct actor *self)
{
    return AO_DONE;
}

enum ao_verdict actor_park(struct actor *self)
{
    return AO_PARK;
}

enum ao_verdict actor_fault(struct actor *self)
{
    return ao_fault(&self->ao, 42, "disk %d on fire", 3);
}

enum ao_verdict actor_fault_silently(struct actor *self)
{
    return AO_FAULT;
}

enum ao_verdict actor_sleep_5(struct actor *self)
{
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(5)), 0);
    return AO_PARK;
}

int actors_set_up(void **state)
{
    static struct world world;
    virtual_silence();
    virtual_init(&world.v);
    world.loop = virtual_open(&world.v, "loop");
    world.x = world.y = (struct actor){.script = {actor_done}};
    ao_init(&world.x.ao, &actor_class, world.loop);
    ao_init(&world.y.ao, &actor_class, world.loop);
    world.x.other = &world.y;
    world.y.other = &world.x;
    *state = &world;
    return 0;
}

int actors_tear_down(void **state)
{
    struct world *w = *state;
    virtual_fini(&w->v);
    return 0;
}

void actors_begin(struct world *w, enum ao_verdict (*first)(struct actor *))
{
    w->x.script[0] = first;
    w->x.script[1] = actor_done;
    assert_int_equal(ao_activate(&w->x.ao), 0);
}

enum ao_state actors_round(struct world *w)
{
    virtual_round(&w->v, w->loop);
    return ao_state(&w->x.ao);
}
