/* An object's life, its refusals, its faults. */
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/unit/runtime/actor.h"

/* --- The life of an object, as its trace --- */

ACTORS_TEST(life)
{
    w->x.script[0] = actor_sleep_5;
    w->x.script[1] = actor_park;
    w->x.script[2] = actor_again;
    w->x.script[3] = actor_fault;
    ao_activate(&w->x.ao);
    virtual_run(&w->v);
    ao_wake(&w->x.ao);
    virtual_run(&w->v);
    ao_reset(&w->x.ao);
    ao_retire(&w->x.ao);
    virtual_run(&w->v);
    trace_expect(&w->v, "[   0] actor 1    INACTIVE -> ACTIVE (activated)\n"
                        "[   0] actor 1    ACTIVE -> SLEEPING (due in 5 ms)\n"
                        "[   5] actor 1    SLEEPING -> ACTIVE (due)\n"
                        "[   5] actor 1    ACTIVE -> SLEEPING (until woken)\n"
                        "[   5] actor 1    SLEEPING -> ACTIVE (woken)\n"
                        "[   5] actor 1    ACTIVE -> FAULTED (disk 3 on fire)\n"
                        "[   5] actor 1    FAULTED -> INACTIVE (reset)\n"
                        "[   5] actor 1    retired\n");
    assert_int_equal(w->x.retired, 1);
}

ACTORS_TEST(why)
{
    w->x.script[0] = actor_sleep_5;
    w->x.script[1] = actor_park;
    w->x.script[2] = actor_done;
    ao_activate(&w->x.ao);
    actors_round(w);
    assert_int_equal(w->x.why, AO_WHY_ACTIVATED);
    virtual_run(&w->v);
    assert_int_equal(w->x.why, AO_WHY_DUE);
    ao_wake(&w->x.ao);
    virtual_run(&w->v);
    assert_int_equal(w->x.why, AO_WHY_WOKEN);
    assert_int_equal(ao_why(&w->x.ao), 0);
    assert_null(ao_current());
}

/* --- Refusals --- */

ACTORS_TEST(refused_when_faulted)
{
    actors_begin(w, actor_fault);
    assert_int_equal(actors_round(w), AO_STATE_FAULTED);
    assert_int_equal(ao_activate(&w->x.ao), AO_E_FAULTED);
    assert_int_equal(ao_deactivate(&w->x.ao), AO_E_FAULTED);
    assert_int_equal(ao_sleep_for(&w->x.ao, 1), AO_E_FAULTED);
    ao_wake(&w->x.ao);
    ao_unblock(&w->x.ao);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_FAULTED);
    assert_int_equal(ao_reset(&w->x.ao), 0);
    assert_int_equal(ao_state(&w->x.ao), AO_STATE_INACTIVE);
}

ACTORS_TEST(refused_when_asleep)
{
    actors_begin(w, actor_sleep_5);
    assert_int_equal(actors_round(w), AO_STATE_SLEEPING);
    assert_int_equal(ao_activate(&w->x.ao), AO_E_SLEEPING);
    assert_int_equal(ao_sleep_for(&w->x.ao, 1), AO_E_SLEEPING);
    assert_int_equal(ao_reset(&w->x.ao), AO_E_STATE);
    assert_int_equal(w->x.steps, 1);
}

static enum ao_verdict sleep_twice(struct actor *self)
{
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(5)), 0);
    assert_int_equal(ao_sleep_for(&self->ao, AO_MS(1)), AO_E_TIMED);
    return AO_PARK;
}

ACTORS_TEST(second_deadline_refused)
{
    actors_begin(w, sleep_twice);
    virtual_run(&w->v);
    assert_int_equal(w->v.now, AO_MS(5));
    assert_int_equal(w->x.steps, 2);
}

ACTORS_TEST(no_ops)
{
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    ao_wake(&w->x.ao);
    assert_int_equal(ao_reset(&w->x.ao), AO_E_STATE);
    assert_int_equal(ao_activate(&w->x.ao), 0);
    assert_int_equal(ao_activate(&w->x.ao), 0);
    ao_wake(&w->x.ao);
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    trace_expect(&w->v, "[   0] actor 1    INACTIVE -> ACTIVE (activated)\n"
                        "[   0] actor 1    ACTIVE -> INACTIVE (deactivated)\n");
}

ACTORS_TEST(refused_after_retirement)
{
    ao_retire(&w->x.ao);
    ao_retire(&w->x.ao);
    assert_int_equal(ao_activate(&w->x.ao), AO_E_CLOSED);
    assert_int_equal(ao_sleep_for(&w->x.ao, 1), AO_E_CLOSED);
    assert_int_equal(ao_deactivate(&w->x.ao), 0);
    assert_null(ao_handle_new(&w->x.ao));
    actors_round(w);
    assert_int_equal(w->x.retired, 1);
}

/* --- Faults --- */

ACTORS_TEST(fault_text)
{
    actors_begin(w, actor_fault);
    actors_round(w);
    assert_int_equal(w->x.faults, 1);
    assert_int_equal(w->x.code, 42);
    assert_string_equal(w->x.text, "disk 3 on fire");
}

ACTORS_TEST(fault_without_reason)
{
    actors_begin(w, actor_fault_silently);
    actors_round(w);
    assert_int_equal(w->x.code, 0);
    assert_string_equal(w->x.text, "no reason given");
}

static enum ao_verdict fault_at_length(struct actor *self)
{
    return ao_fault(&self->ao, 1, "%0300d", 7);
}

ACTORS_TEST(fault_text_is_cut)
{
    actors_begin(w, fault_at_length);
    actors_round(w);
    assert_int_equal(strlen(w->x.text), 200);
}

/* --- Others --- */

ACTORS_TEST(error_texts)
{
    for (int error = AO_E_STATE; error <= 0; error++)
        assert_string_not_equal(ao_error_text(error), "unknown error");
    assert_string_equal(ao_error_text(1), "unknown error");
    assert_string_equal(ao_error_text(AO_E_STATE - 1), "unknown error");
}

ACTORS_TEST(fini_takes_it_out)
{
    struct ao_handle *handle = ao_handle_new(&w->x.ao);
    ao_fini(&w->x.ao);
    assert_int_equal(ao_post(handle, AO_POST_ACTIVATE), AO_E_CLOSED);
    ao_handle_unref(handle);
}
