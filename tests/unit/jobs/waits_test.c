/* Asks that wait, where they meet: ids given twice, tasks tried again, calls that share a task. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static int open_world(void **state)
{
    static struct jobs_world w;
    jobs_world_init(&w);
    w.room[1] = 4;
    jobs_world_open(&w);
    *state = &w;
    return 0;
}

static int open_durable(void **state)
{
    static struct jobs_world w;
    jobs_world_init(&w);
    jobs_world_keep_store(&w);
    jobs_world_open(&w);
    *state = &w;
    return 0;
}

static uint64_t submit(struct jobs_world *w)
{
    struct job_spec o = world_order("work");
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_settle(w);
    return id;
}

static struct operation *wait_for(struct jobs_world *w, uint64_t *ids, uint32_t count)
{
    struct operation *a = world_ask(w, &operation_wait);
    a->wait = (struct wait_arguments){
        .ids = ids, .count = count, .timeout = AO_S(60), .with_result = true};
    world_give(w, a);
    return a;
}

static void says(const struct operation *a, const char *wanted)
{
    char text[4096];
    if (!strstr(notation_show(operation_result(a), text, sizeof text), wanted))
        fail_msg("%s\ndoes not hold: %s", text, wanted);
}

/* --- task.wait --- */

static void an_id_that_is_given_twice_ends_once(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[3] = {submit(w), submit(w)};
    ids[2] = ids[0];
    struct operation *a = wait_for(w, ids, 3);
    world_finish(world_run_of(w, ids[0]), "\xc0");
    jobs_world_settle(w);
    assert_false(world_answered(w, a));
    world_finish(world_run_of(w, ids[1]), "\xc0");
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
    says(a, "'open': []");
}

static void any_of_the_same_is_no_end(void **state)
{
    struct jobs_world *w = *state;
    uint64_t id = submit(w), ids[2] = {id, id};
    struct operation *a = world_ask(w, &operation_wait);
    a->wait = (struct wait_arguments){.ids = ids, .count = 2, .timeout = AO_S(60), .any = true};
    world_give(w, a);
    assert_false(world_answered(w, a));
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
}

static void one_that_is_tried_again_is_waited_for_again(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[2] = {submit(w), submit(w)};
    struct operation *a = wait_for(w, ids, 2);
    world_fail(world_run_of(w, ids[0]), "ODD", "not today");
    jobs_world_settle(w);
    struct operation *again = world_about(w, &operation_retry, ids[0]);
    world_give(w, again);
    assert_int_equal(again->reply.error, ERGON_OK);
    world_finish(world_run_of(w, ids[1]), "\xc0");
    jobs_world_settle(w);
    assert_false(world_answered(w, a));
    world_finish(world_run_of(w, ids[0]), "\x2a");
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
    says(a, "'result': 42");
    says(a, "'open': []");
}

static void results_beyond_the_most_are_left_out(void **state)
{
    enum { EACH = 4 << 20 };
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    uint8_t *big = calloc(1, EACH);
    uint64_t ids[3];
    o.keep_size = EACH;
    big[0] = 0xc6; /* bin 32 */
    big[2] = (EACH - 5) >> 16, big[3] = (EACH - 5) >> 8 & 0xff, big[4] = (EACH - 5) & 0xff;
    for (unsigned i = 0; i < 3; i++) {
        struct outcome outcome = {.result = span_of(big, EACH)};
        struct attempt_end end = {.started = true, .outcome = &outcome};
        ids[i] = jobs_world_submit(w, &o);
        jobs_world_settle(w);
        world_return(world_run_of(w, ids[i]), &end);
        jobs_world_settle(w);
    }
    struct operation *a = wait_for(w, ids, 3);
    assert_true(world_answered(w, a));
    assert_true(operation_result(a).len > 2 * EACH);
    assert_true(operation_result(a).len < 3 * EACH);
    free(big);
}

static void those_who_wait_are_answered_when_the_server_stops(void **state)
{
    struct jobs_world *w = *state;
    uint64_t ids[2] = {submit(w), submit(w)};
    struct operation *a = wait_for(w, ids, 2), *b = world_about(w, &operation_watch, ids[0]);
    b->watch.from = 3;
    b->watch.timeout = AO_NEVER;
    world_give(w, b);
    assert_false(world_answered(w, b));
    w->source.stop(w->source.arg, false);
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
    assert_true(world_answered(w, b));
    says(a, "'ended': []");
    says(b, "'events': [], 'next': 3, 'ended': false");
    assert_true(world_answered(w, wait_for(w, ids, 2)));
}

/* --- task.call --- */

static struct operation *call(struct jobs_world *w, struct job_spec *o)
{
    struct operation *a = world_ask(w, &operation_call);
    a->submission.specs = o;
    a->submission.count = 1;
    world_give(w, a);
    assert_false(world_answered(w, a));
    return a;
}

static void drop(struct jobs_world *w, struct operation *a)
{
    channel_drop(w->channel, a);
    jobs_world_settle(w);
    assert_true(world_answered(w, a));
}

static void a_dropped_call_leaves_a_task_that_was_submitted(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    o.key = span_text("k");
    uint64_t id = jobs_world_submit(w, &o);
    jobs_world_settle(w);
    drop(w, call(w, &o));
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
}

static void the_last_of_the_calls_takes_their_task_along(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    o.key = span_text("k");
    struct operation *first = call(w, &o), *second = call(w, &o);
    uint64_t id = w->runs->run.id;
    drop(w, first);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    assert_false(world_answered(w, second));
    drop(w, second);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

static void a_coalesced_run_goes_with_the_last_who_wants_it(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec o = world_order("work");
    o.coalesce = span_text("k");
    struct operation *first = call(w, &o), *second = call(w, &o);
    uint64_t id = w->runs->run.id;
    drop(w, first);
    assert_int_equal(world_state(w, id), JOB_ASSIGNED);
    drop(w, second);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

/* --- task.submit_many --- */

static void each_that_could_not_be_written_says_so(void **state)
{
    struct jobs_world *w = *state;
    struct job_spec orders[4];
    struct operation *a = world_ask(w, &operation_submit_many);
    for (unsigned i = 0; i < 4; i++) {
        orders[i] = world_order("work");
        orders[i].durable = DURABLE_FSYNC;
    }
    orders[1].key = orders[3].key = span_text("k");
    w->store->error = STORE_FULL;
    a->submission.specs = orders;
    a->submission.count = 4;
    world_give(w, a);
    jobs_world_pass(w, AO_S(1));
    assert_true(world_answered(w, a));
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(a->submission.outcomes[i].error, ERGON_E_STORE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, jobs_stage_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_id_that_is_given_twice_ends_once),
        TEST(any_of_the_same_is_no_end),
        TEST(one_that_is_tried_again_is_waited_for_again),
        TEST(results_beyond_the_most_are_left_out),
        TEST(those_who_wait_are_answered_when_the_server_stops),
        TEST(a_dropped_call_leaves_a_task_that_was_submitted),
        TEST(the_last_of_the_calls_takes_their_task_along),
        TEST(a_coalesced_run_goes_with_the_last_who_wants_it),
        cmocka_unit_test_setup_teardown(each_that_could_not_be_written_says_so, open_durable,
                                        jobs_stage_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
