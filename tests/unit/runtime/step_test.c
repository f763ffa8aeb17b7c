/* Steps within steps, and steps that take too long. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/runtime/activator.h"
#include "server/runtime/state.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/virtual.h"

struct worker {
    struct ao ao;
    struct virtual *v;
    ao_time takes;
    enum ao_verdict verdict;
    struct worker *inner; /* stepped within the step */
    bool deactivates, activates, wakes_outer;
    struct worker *outer;
    int steps;
};

static enum ao_verdict worker_step(struct ao *self)
{
    struct worker *w = ao_of(self, struct worker, ao);
    w->steps++;
    if (w->inner) {
        activator_step_now(self->home, &w->inner->ao);
        assert_ptr_equal(ao_current(), self);
    }
    if (w->deactivates)
        ao_deactivate(self);
    if (w->activates)
        ao_activate(self);
    if (w->wakes_outer)
        ao_wake(&w->outer->ao);
    assert_ptr_equal(ao_current(), self);
    w->v->now += w->takes;
    if (w->verdict == AO_FAULT)
        return ao_fault(self, 1, "worker failed");
    return w->verdict;
}

static const struct ao_class outer_class = {.name = "outer", .step = worker_step};
static const struct ao_class inner_class = {.name = "inner", .step = worker_step};

struct world {
    struct virtual v;
    struct activator *loop;
    struct worker outer, inner;
    char logged[256];
};

static void keep(void *arg, enum log_level level, const char *event, const struct log_field *f)
{
    struct world *w = arg;
    log_format_logfmt(w->logged, sizeof w->logged, 0, level, event, f);
}

static int set_up_with(void **state, ao_time limit)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    log_set_sink(&(struct log_sink){.threshold = LOG_WARN, .write = keep, .arg = &w});
    virtual_init(&w.v);
    w.loop =
        virtual_open_with(&w.v, (struct activator_options){.name = "loop", .step_limit = limit});
    w.outer = (struct worker){.v = &w.v, .inner = &w.inner, .verdict = AO_DONE};
    w.inner = (struct worker){.v = &w.v, .outer = &w.outer, .verdict = AO_DONE};
    ao_init(&w.outer.ao, &outer_class, w.loop);
    ao_init(&w.inner.ao, &inner_class, w.loop);
    *state = &w;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, 0);
}

static int set_up_limit(void **state)
{
    return set_up_with(state, AO_MS(50));
}

static int tear_down(void **state)
{
    struct world *w = *state;
    virtual_fini(&w->v);
    return 0;
}

#define STEP_TEST(name)  TEST_OF(struct world *w, NULL, set_up, tear_down, name)
#define LIMIT_TEST(name) TEST_OF(struct world *w, NULL, set_up_limit, tear_down, name)

static enum ao_state inner_after(struct world *w, enum ao_verdict verdict)
{
    w->inner.verdict = verdict;
    ao_activate(&w->outer.ao);
    virtual_round(&w->v, w->loop);
    return ao_state(&w->inner.ao);
}

static void verdicts(struct world *w)
{
    assert_int_equal(inner_after(w, AO_DONE), AO_STATE_INACTIVE);
    assert_int_equal(inner_after(w, AO_PARK), AO_STATE_SLEEPING);
    ao_deactivate(&w->inner.ao);
    assert_int_equal(inner_after(w, AO_FAULT), AO_STATE_FAULTED);
    ao_reset(&w->inner.ao);
    assert_int_equal(inner_after(w, AO_AGAIN), AO_STATE_ACTIVE);
    assert_int_equal(w->inner.steps, 4);
    ao_deactivate(&w->inner.ao);
}

STEP_TEST(verdicts_of_an_inner_step)
{
    verdicts(w);
}

LIMIT_TEST(verdicts_of_an_inner_step_within_a_limit)
{
    verdicts(w);
}

STEP_TEST(inactive_object_leaves_no_trace_when_done)
{
    trace_forget(&w->v);
    assert_int_equal(inner_after(w, AO_DONE), AO_STATE_INACTIVE);
    trace_expect(&w->v, "[   0] outer 1    INACTIVE -> ACTIVE (activated)\n"
                        "[   0] outer 1    ACTIVE -> INACTIVE (done)\n");
    assert_int_equal(w->inner.steps, 1);
}

STEP_TEST(activated_within_the_inner_step)
{
    w->inner.activates = true;
    assert_int_equal(inner_after(w, AO_DONE), AO_STATE_ACTIVE);
    ao_deactivate(&w->inner.ao);
}

STEP_TEST(deactivated_within_the_inner_step)
{
    w->inner.deactivates = true;
    assert_int_equal(inner_after(w, AO_AGAIN), AO_STATE_INACTIVE);
    assert_int_equal(inner_after(w, AO_FAULT), AO_STATE_INACTIVE);
}

STEP_TEST(inner_step_wakes_the_outer)
{
    w->inner.wakes_outer = true;
    w->outer.verdict = AO_PARK;
    inner_after(w, AO_DONE);
    assert_int_equal(ao_state(&w->outer.ao), AO_STATE_ACTIVE);
}

/* --- The limit --- */

static uint64_t long_steps(const struct world *w)
{
    struct activator_stats stats;
    activator_stats(w->loop, &stats);
    return stats.long_steps;
}

LIMIT_TEST(long_step_is_counted_and_named)
{
    w->outer.inner = NULL;
    w->outer.takes = AO_MS(50);
    inner_after(w, AO_DONE);
    assert_int_equal(long_steps(w), 0);
    w->outer.takes = AO_MS(51);
    inner_after(w, AO_DONE);
    assert_int_equal(long_steps(w), 1);
    assert_non_null(strstr(w->logged, "object=outer"));
}

LIMIT_TEST(long_inner_step_is_not_the_outers)
{
    w->inner.takes = AO_MS(60);
    w->outer.takes = AO_MS(40);
    inner_after(w, AO_DONE);
    assert_int_equal(long_steps(w), 1);
    assert_non_null(strstr(w->logged, "object=inner"));
}

struct watch {
    struct ao ao;
    struct world *world;
    bool steps_inner; /* first */
    const struct ao_class *before, *after;
    ao_time since;
};

static enum ao_verdict watch_step(struct ao *self)
{
    struct watch *watch = ao_of(self, struct watch, ao);
    struct world *w = watch->world;
    if (watch->steps_inner)
        activator_step_now(w->loop, &w->inner.ao);
    watch->before = activator_stuck(w->loop, &watch->since);
    w->v.now += AO_MS(51);
    watch->after = activator_stuck(w->loop, &watch->since);
    return AO_DONE;
}

static const struct ao_class watch_class = {
    .name = "watched", .detail = "for long", .step = watch_step};

LIMIT_TEST(watchdog_names_the_step_that_does_not_return)
{
    struct watch watch = {.world = w};
    w->v.now = AO_MS(7);
    ao_init(&watch.ao, &watch_class, w->loop);
    ao_activate(&watch.ao);
    virtual_round(&w->v, w->loop);
    assert_null(watch.before);
    assert_ptr_equal(watch.after, &watch_class);
    assert_int_equal(watch.since, AO_MS(7));
    assert_null(activator_stuck(w->loop, &watch.since));
    assert_non_null(strstr(w->logged, "object=watched detail=\"for long\""));
}

/* What the inner step took is not the outer one's, and then the outer one runs on. */
LIMIT_TEST(watchdog_names_the_outer_step_again)
{
    struct watch watch = {.world = w, .steps_inner = true};
    w->inner.takes = AO_MS(40);
    ao_init(&watch.ao, &watch_class, w->loop);
    ao_activate(&watch.ao);
    virtual_round(&w->v, w->loop);
    assert_null(watch.before);
    assert_ptr_equal(watch.after, &watch_class);
    assert_int_equal(watch.since, AO_MS(40));
}

/* --- The longest step --- */

LIMIT_TEST(the_longest_step_is_that_of_one_object)
{
    w->inner.takes = AO_MS(3);
    w->outer.takes = AO_MS(4);
    inner_after(w, AO_DONE);
    assert_int_equal(activator_longest_step(w->loop), AO_MS(4));
    w->outer.takes = AO_MS(2);
    inner_after(w, AO_DONE);
    assert_int_equal(activator_longest_step(w->loop), AO_MS(4));
    assert_int_equal(activator_longest_step_lately(w->loop), AO_MS(4));
    w->v.now += AO_S(71);
    assert_int_equal(activator_longest_step(w->loop), AO_MS(4));
    assert_int_equal(activator_longest_step_lately(w->loop), 0);
}

STEP_TEST(without_a_limit_it_is_the_longest_round)
{
    w->inner.takes = AO_MS(3);
    w->outer.takes = AO_MS(4);
    inner_after(w, AO_DONE);
    assert_int_equal(activator_longest_step(w->loop), AO_MS(7));
}

/* A clock that ticks seldom: between two ticks it sees nothing. */
static const ao_time tick = AO_MS(20);

static ao_time exact(void *arg)
{
    const struct world *w = arg;
    return w->v.now;
}

static ao_time ticks(void *arg)
{
    const struct world *w = arg;
    return w->v.now / tick * tick;
}

static int set_up_coarse(void **state)
{
    int failed = set_up_with(state, AO_MS(50));
    struct world *w = *state;
    w->loop->clock.coarse = ticks;
    w->loop->clock.arg = w;
    w->loop->clock.now = exact;
    w->loop->tick = tick;
    w->outer.inner = NULL;
    return failed;
}

#define COARSE_TEST(name) TEST_OF(struct world *w, NULL, set_up_coarse, tear_down, name)

COARSE_TEST(a_step_between_two_ticks_is_as_long_as_its_round)
{
    w->v.now = AO_MS(1);
    w->outer.takes = AO_MS(7);
    inner_after(w, AO_DONE);
    assert_int_equal(activator_longest_step(w->loop), AO_MS(7));
}

COARSE_TEST(a_brief_step_in_which_the_clock_ticks_is_not_a_tick_long)
{
    w->v.now = tick - 5;
    w->outer.takes = 10;
    inner_after(w, AO_DONE);
    assert_int_equal(activator_longest_step(w->loop), 10);
}

static void round_of_two(struct world *w, ao_time takes)
{
    struct worker other = {.v = &w->v, .verdict = AO_DONE, .takes = takes};
    ao_init(&other.ao, &inner_class, w->loop);
    ao_activate(&other.ao);
    w->outer.takes = takes;
    inner_after(w, AO_DONE);
}

COARSE_TEST(of_two_steps_none_is_longer_than_both)
{
    round_of_two(w, AO_MS(15));
    assert_int_equal(activator_longest_step(w->loop), AO_MS(30));
}

COARSE_TEST(of_many_brief_steps_none_is_as_long_as_the_round)
{
    struct worker more[9];
    w->outer.takes = AO_MS(10);
    for (unsigned i = 0; i < 9; i++) {
        more[i] = (struct worker){.v = &w->v, .verdict = AO_DONE, .takes = AO_MS(10)};
        ao_init(&more[i].ao, &inner_class, w->loop);
        ao_activate(&more[i].ao);
    }
    inner_after(w, AO_DONE); /* a round of 100 ms */
    assert_int_equal(activator_longest_step(w->loop), 2 * tick);
}

struct looker {
    struct ao ao;
    struct world *world;
    ao_time ever, lately;
};

static enum ao_verdict looker_step(struct ao *self)
{
    struct looker *l = ao_of(self, struct looker, ao);
    l->world->v.now += AO_MS(70);
    l->ever = activator_longest_step(self->home);
    l->lately = activator_longest_step_lately(self->home);
    return AO_DONE;
}

static const struct ao_class looker_class = {.name = "looker", .step = looker_step};

LIMIT_TEST(a_step_that_has_not_returned_counts_once_it_is_too_long)
{
    struct looker looker = {.world = w};
    ao_init(&looker.ao, &looker_class, w->loop);
    ao_activate(&looker.ao);
    virtual_round(&w->v, w->loop);
    assert_int_equal(looker.ever, AO_MS(70));
    assert_int_equal(looker.lately, AO_MS(70));
}
