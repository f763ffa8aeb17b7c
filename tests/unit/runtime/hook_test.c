/* Hooks: at the end of a round, and before a rest. */
#include <stdlib.h>

#include "server/runtime/activator.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

struct world {
    struct virtual v;
    struct activator *loop;
    struct ao speaker;
};

static enum ao_verdict speak(struct ao *self)
{
    virtual_say(&ao_of(self, struct world, speaker)->v, "speaker", 1, "step");
    return AO_DONE;
}

static const struct ao_class speaker_class = {.name = "ao", .step = speak};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    virtual_init(&w->v);
    w->loop = virtual_open(&w->v, "loop");
    ao_init(&w->speaker, &speaker_class, w->loop);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    virtual_fini(&w->v);
    free(w);
    return 0;
}

#define HOOK_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)

struct hook {
    struct round_hook hook;
    struct world *world;
    int number, again;
    struct hook *arms, *forgets;
};

static void hook_run(struct round_hook *self)
{
    struct hook *h = ao_of(self, struct hook, hook);
    virtual_say(&h->world->v, "hook", (unsigned)h->number, "runs");
    if (h->again-- > 0)
        activator_at_round_end(h->world->loop, self);
    if (h->arms)
        activator_at_round_end(h->world->loop, &h->arms->hook);
    if (h->forgets)
        activator_forget_hook(h->world->loop, &h->forgets->hook);
}

HOOK_TEST(hooks_run_once_in_order_of_arming)
{
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1};
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    activator_at_round_end(w->loop, &y.hook);
    activator_at_round_end(w->loop, &x.hook);
    activator_at_round_end(w->loop, &y.hook);
    ao_activate(&w->speaker);
    trace_forget(&w->v);
    assert_false(virtual_round(&w->v, w->loop));
    trace_expect(&w->v, "[   0] speaker 1  step\n"
                        "[   0] ao 1       ACTIVE -> INACTIVE (done)\n"
                        "[   0] hook 2     runs\n"
                        "[   0] hook 1     runs\n");
    virtual_run(&w->v);
    trace_expect(&w->v, "");
}

HOOK_TEST(hook_armed_by_a_hook_is_for_the_next_round)
{
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1, .again = 1, .arms = &y};
    activator_at_round_end(w->loop, &x.hook);
    assert_true(virtual_round(&w->v, w->loop)); /* it must not block now */
    trace_expect(&w->v, "[   0] hook 1     runs\n");
    assert_false(virtual_round(&w->v, w->loop));
    trace_expect(&w->v, "[   0] hook 1     runs\n"
                        "[   0] hook 2     runs\n");
}

HOOK_TEST(hook_before_rest_waits_until_there_is_nothing_to_do)
{
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1, .again = 1};
    activator_when_idle(w->loop, &y.hook, AO_S(1));
    activator_at_round_end(w->loop, &x.hook);
    assert_true(virtual_round(&w->v, w->loop));
    trace_expect(&w->v, "[   0] hook 1     runs\n");
    assert_false(virtual_round(&w->v, w->loop));
    trace_expect(&w->v, "[   0] hook 1     runs\n"
                        "[   0] hook 2     runs\n");
    virtual_run(&w->v);
    trace_expect(&w->v, "");
}

HOOK_TEST(hook_before_rest_waits_no_longer_than_it_may)
{
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1, .again = 5};
    activator_when_idle(w->loop, &y.hook, AO_MS(2));
    activator_at_round_end(w->loop, &x.hook);
    for (int round = 0; round < 3; round++) {
        assert_true(virtual_round(&w->v, w->loop));
        w->v.now += AO_MS(1);
    }
    trace_expect(&w->v, "[   0] hook 1     runs\n"
                        "[   1] hook 1     runs\n"
                        "[   2] hook 1     runs\n"
                        "[   2] hook 2     runs\n");
    activator_forget_hook(w->loop, &x.hook);
}

HOOK_TEST(hook_before_rest_waits_as_long_as_it_may)
{
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1, .again = 3};
    activator_when_idle(w->loop, &y.hook, AO_MS(2));
    activator_at_round_end(w->loop, &x.hook);
    w->v.now = AO_MS(2) - 1;
    assert_true(virtual_round(&w->v, w->loop));
    trace_expect(&w->v, "[   1] hook 1     runs\n");
    w->v.now = AO_MS(2);
    assert_true(virtual_round(&w->v, w->loop));
    trace_expect(&w->v, "[   2] hook 1     runs\n"
                        "[   2] hook 2     runs\n");
    activator_forget_hook(w->loop, &x.hook);
}

/* The activator may block meanwhile, less than a tick of its timer, too. */
HOOK_TEST(hook_after_a_delay_lets_the_activator_rest)
{
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1};
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    activator_after(w->loop, &y.hook, AO_US(900));
    activator_after(w->loop, &x.hook, AO_US(300));
    assert_false(virtual_round(&w->v, w->loop));
    virtual_run_until(&w->v, AO_US(299));
    assert_true(w->v.pollers[0].until == AO_US(300));
    trace_expect(&w->v, "");
    virtual_run_until(&w->v, AO_US(300));
    trace_expect(&w->v, "[   0] hook 1     runs\n");
    virtual_run(&w->v);
    assert_true(w->v.now == AO_US(900));
    trace_expect(&w->v, "[   0] hook 2     runs\n");
}

HOOK_TEST(forgotten_hook_does_not_run)
{
    struct hook z = {.hook.run = hook_run, .world = w, .number = 3};
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1, .forgets = &z};
    activator_at_round_end(w->loop, &x.hook);
    activator_at_round_end(w->loop, &y.hook);
    activator_at_round_end(w->loop, &z.hook);
    activator_forget_hook(w->loop, &y.hook);
    activator_forget_hook(w->loop, &y.hook);
    virtual_round(&w->v, w->loop);
    trace_expect(&w->v, "[   0] hook 1     runs\n");
    activator_at_round_end(w->loop, &z.hook); /* the list is whole */
    virtual_round(&w->v, w->loop);
    trace_expect(&w->v, "[   0] hook 3     runs\n");
}

HOOK_TEST(close_disarms_hooks)
{
    struct hook x = {.hook.run = hook_run, .world = w, .number = 1};
    struct hook y = {.hook.run = hook_run, .world = w, .number = 2};
    struct hook z = {.hook.run = hook_run, .world = w, .number = 3};
    activator_at_round_end(w->loop, &x.hook);
    activator_when_idle(w->loop, &y.hook, 0);
    activator_after(w->loop, &z.hook, 0);
    virtual_close(&w->v, w->loop);
    trace_expect(&w->v, "");
    assert_false(x.hook.armed || y.hook.armed || z.hook.armed);
}
