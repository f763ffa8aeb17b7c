/* Handles and the control inbox: what other threads ask, served or refused. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/virtual.h"

struct target {
    struct ao ao;
    enum ao_verdict verdict;
    unsigned why;
    int steps, refusals;
    enum ao_post refused;
    int error;
};

static enum ao_verdict target_step(struct ao *self)
{
    struct target *t = ao_of(self, struct target, ao);
    t->steps++;
    t->why = ao_why(self);
    return t->verdict;
}

static void target_refused(struct ao *self, enum ao_post ask, int error)
{
    struct target *t = ao_of(self, struct target, ao);
    t->refusals++;
    t->refused = ask;
    t->error = error;
}

static const struct ao_class target_class = {
    .name = "target", .step = target_step, .refused = target_refused};

struct world {
    struct virtual v;
    struct activator *loop;
    struct target t;
    struct ao_handle *handle;
};

static int set_up(void **state)
{
    static struct world w;
    virtual_silence();
    virtual_init(&w.v);
    w.loop = virtual_open(&w.v, "loop");
    w.t = (struct target){.verdict = AO_DONE};
    ao_init(&w.t.ao, &target_class, w.loop);
    w.handle = ao_handle_new(&w.t.ao);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    ao_handle_unref(w->handle);
    virtual_fini(&w->v);
    ao_fini(&w->t.ao);
    return 0;
}

#define HANDLE_TEST(name) TEST_OF(struct world *w, NULL, set_up, tear_down, name)

HANDLE_TEST(activate)
{
    assert_int_equal(ao_post(w->handle, AO_POST_ACTIVATE), 0);
    assert_int_equal(ao_state(&w->t.ao), AO_STATE_INACTIVE); /* asked, not done */
    virtual_run(&w->v);
    trace_expect(&w->v, "[   0] target 1   INACTIVE -> ACTIVE (activated)\n"
                        "[   0] target 1   ACTIVE -> INACTIVE (done)\n");
}

HANDLE_TEST(several_count_as_one_of_each_in_order)
{
    ao_post(w->handle, AO_POST_MESSAGE);
    ao_post(w->handle, AO_POST_DEACTIVATE);
    ao_post(w->handle, AO_POST_ACTIVATE);
    ao_post(w->handle, AO_POST_ACTIVATE);
    virtual_run(&w->v);
    trace_expect(&w->v, "[   0] target 1   INACTIVE -> ACTIVE (activated)\n"
                        "[   0] target 1   ACTIVE -> INACTIVE (deactivated)\n"
                        "[   0] target 1   INACTIVE -> ACTIVE (message)\n"
                        "[   0] target 1   ACTIVE -> INACTIVE (done)\n");
    assert_int_equal(w->t.why, AO_WHY_MESSAGE);
    assert_int_equal(w->t.steps, 1);
}

HANDLE_TEST(wake_unblock_and_message_end_a_sleep)
{
    ao_sleep_for(&w->t.ao, AO_S(1));
    ao_post(w->handle, AO_POST_WAKE);
    virtual_run(&w->v);
    assert_int_equal(w->t.why, AO_WHY_WOKEN);
    ao_sleep_for(&w->t.ao, AO_S(1));
    ao_post(w->handle, AO_POST_MESSAGE);
    virtual_run(&w->v);
    assert_int_equal(w->t.why, AO_WHY_MESSAGE);
    assert_int_equal(w->v.now, 0);
    assert_int_equal(w->t.refusals, 0);
}

HANDLE_TEST(refusals_reach_the_owner)
{
    w->t.verdict = AO_FAULT;
    ao_sleep_for(&w->t.ao, AO_S(1));
    ao_post(w->handle, AO_POST_ACTIVATE);
    virtual_round(&w->v, w->loop);
    assert_int_equal(w->t.refused, AO_POST_ACTIVATE);
    assert_int_equal(w->t.error, AO_E_SLEEPING);
    virtual_run(&w->v);
    ao_post(w->handle, AO_POST_MESSAGE);
    virtual_run(&w->v);
    assert_int_equal(w->t.refused, AO_POST_MESSAGE);
    assert_int_equal(w->t.error, AO_E_FAULTED);
    ao_post(w->handle, AO_POST_DEACTIVATE);
    ao_post(w->handle, AO_POST_WAKE); /* a no-op, not a refusal */
    virtual_run(&w->v);
    assert_int_equal(w->t.refused, AO_POST_DEACTIVATE);
    assert_int_equal(w->t.refusals, 3);
}

HANDLE_TEST(one_handle_an_object)
{
    struct ao_handle *second = ao_handle_new(&w->t.ao);
    assert_ptr_equal(second, w->handle);
    ao_handle_unref(second);
    assert_int_equal(ao_post(w->handle, AO_POST_ACTIVATE), 0);
}

HANDLE_TEST(asked_before_retirement_served_after)
{
    ao_post(w->handle, AO_POST_ACTIVATE);
    ao_retire(&w->t.ao);
    virtual_round(&w->v, w->loop); /* refused: it is about to go */
    assert_int_equal(w->t.error, AO_E_CLOSED);
    assert_int_equal(ao_post(w->handle, AO_POST_ACTIVATE), AO_E_CLOSED);
    virtual_round(&w->v, w->loop);
    assert_int_equal(w->t.refusals, 1);
    assert_int_equal(w->t.steps, 0);
}

/* The entry is in the inbox, the object's memory is gone: nobody looks at it. */
HANDLE_TEST(entry_outlives_the_object)
{
    struct target *t = calloc(1, sizeof *t);
    ao_init(&t->ao, &target_class, w->loop);
    struct ao_handle *handle = ao_handle_new(&t->ao);
    assert_int_equal(ao_post(handle, AO_POST_ACTIVATE), 0);
    ao_fini(&t->ao);
    free(t);
    ao_handle_unref(handle);
    virtual_run(&w->v);
    trace_expect(&w->v, "");
}

HANDLE_TEST(closed_activator)
{
    ao_post(w->handle, AO_POST_ACTIVATE);
    virtual_close(&w->v, w->loop);
    assert_int_equal(w->t.refused, AO_POST_ACTIVATE);
    assert_int_equal(w->t.error, AO_E_CLOSED);
    assert_int_equal(ao_post(w->handle, AO_POST_WAKE), AO_E_CLOSED);
}

static int new_handle(void *arg)
{
    struct world *w = arg;
    struct target t = {0};
    ao_init(&t.ao, &target_class, w->loop);
    struct ao_handle *handle = ao_handle_new(&t.ao);
    if (!handle)
        return -1;
    ao_handle_unref(handle);
    ao_fini(&t.ao);
    return 0;
}

HANDLE_TEST(without_memory)
{
    heap_fail_each(new_handle, w);
}
