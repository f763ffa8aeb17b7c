/* task.cancel of tasks that outlive the process. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static struct job_spec durable(enum job_durable how)
{
    struct job_spec o = world_order("work");
    o.durable = (uint8_t)how;
    return o;
}

static struct operation *cancel(struct jobs_world *w, uint64_t id)
{
    struct operation *a = world_about(w, &operation_cancel, id);
    world_give(w, a);
    return a;
}

static void says(struct operation *a, const char *wanted)
{
    char text[400];
    assert_int_equal(a->reply.error, ERGON_OK);
    stage_holds(notation_show(operation_result(a), text, sizeof text), wanted);
}

/* Told to stop it does not, and the server dies. */
static void a_cancelled_one_does_not_run_again_after_a_crash(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = durable(DURABLE_FSYNC);
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_pass(w, AO_S(1));
    struct operation *a = cancel(w, id);
    assert_false(world_answered(w, a));
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, a));
    says(a, "'state': 'assigned', 'cancelled': true");
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    assert_int_equal(world_entry(w, id)->attempt, 1);
    assert_int_equal(memory_store_row(w->store, id)->task.cancel_asked, 0);
    stage_balances(w);
}

static void one_that_waits_is_told_cancelled_when_that_is_on_disk(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = durable(DURABLE_FSYNC);
    o.delay = AO_S(100);
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_pass(w, AO_S(1));
    struct operation *first = cancel(w, id), *second = cancel(w, id);
    assert_false(world_answered(w, first));
    jobs_world_pass(w, AO_MS(1));
    says(first, "'state': 'cancelled', 'cancelled': true");
    says(second, "'state': 'cancelled', 'cancelled': true");
    says(cancel(w, id), "'state': 'cancelled', 'cancelled': false");
}

static void a_cancel_that_cannot_be_written_says_so(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = durable(DURABLE_FSYNC);
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_pass(w, AO_S(1));
    w->store->error = STORE_FULL;
    struct operation *a = cancel(w, id);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(a->reply.error, ERGON_E_STORE);
    assert_true(world_run_of(w, id)->flagged);
    assert_int_equal(cancel(w, id)->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    stage_balances(w);
}

/* Who comes after the start wants a run of its own. */
static void nobody_joins_one_that_was_cancelled_before_a_crash(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = durable(DURABLE_FSYNC);
    w->stubborn = true;
    o.coalesce = span_text("warm");
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_pass(w, AO_S(1));
    cancel(w, id);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    assert_int_not_equal(jobs_world_submit(w, &o), id);
}

int main(void)
{
#define DURABLE(test) cmocka_unit_test_setup_teardown(test, jobs_stage_stored, jobs_stage_end)
    const struct CMUnitTest tests[] = {
        DURABLE(a_cancelled_one_does_not_run_again_after_a_crash),
        DURABLE(one_that_waits_is_told_cancelled_when_that_is_on_disk),
        DURABLE(a_cancel_that_cannot_be_written_says_so),
        DURABLE(nobody_joins_one_that_was_cancelled_before_a_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
