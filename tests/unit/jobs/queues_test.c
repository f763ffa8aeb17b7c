/* queue.pause, queue.drain and queue.resume, with a store: what was answered holds after a restart.
 */
#include <inttypes.h>
#include <stdio.h>

#include "proto/reader.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

static struct operation *change(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->named.name = span_text("work");
    world_give(w, op);
    return op;
}

static bool is_paused(struct jobs_world *w)
{
    return table_queue(&w->jobs->table, span_text("work"))->paused;
}

STORED_TEST(a_pause_is_answered_when_it_is_on_disk)
{
    struct operation *op = change(w, &operation_queue_pause);
    assert_true(is_paused(w));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(1));
    assert_true(world_answered(w, op));
    stage_says(op, "'paused': true");
    assert_true(world_answered(w, change(w, &operation_queue_pause)));
    jobs_world_crash(w);
    assert_true(is_paused(w));
    op = change(w, &operation_queue_resume);
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'paused': false");
    jobs_world_crash(w);
    assert_false(is_paused(w));
}

static bool is_draining(struct jobs_world *w)
{
    return table_queue(&w->jobs->table, span_text("work"))->draining;
}

STORED_TEST(a_drain_outlives_a_restart)
{
    struct operation *op = change(w, &operation_queue_drain);
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'draining': true");
    jobs_world_crash(w);
    assert_true(is_draining(w));
    assert_false(is_paused(w));
    struct submitted done;
    char text[JOB_TEXT_MAX];
    assert_int_equal(world_submit(w, &WORK(), &done, text, sizeof text), ERGON_E_DRAINING);
    change(w, &operation_queue_pause);
    jobs_world_pass(w, AO_MS(1));
    jobs_world_restart(w);
    assert_true(is_draining(w) && is_paused(w));
    op = change(w, &operation_queue_resume);
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'draining': false");
    jobs_world_crash(w);
    assert_false(is_draining(w) || is_paused(w));
}

STORED_TEST(a_drain_that_may_be_written_is_unsure)
{
    w->store->error = STORE_UNSURE;
    struct operation *op = change(w, &operation_queue_drain);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_UNSURE);
}

STORED_TEST(a_drain_that_cannot_be_written_is_said_and_written_later)
{
    w->store->error = STORE_FULL;
    struct operation *op = change(w, &operation_queue_drain);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    stage_holds(op->reply.text, "the queue is draining now");
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_true(is_draining(w));
}

/* The first write is on its way when the second is wished. */
STORED_TEST(a_drain_that_follows_a_pause_is_written_too)
{
    change(w, &operation_queue_pause);
    struct operation *op = change(w, &operation_queue_drain);
    jobs_world_pass(w, AO_MS(1));
    assert_false(world_answered(w, op));
    jobs_world_pass(w, AO_MS(1));
    stage_says(op, "'draining': true");
    jobs_world_crash(w);
    assert_true(is_draining(w) && is_paused(w));
}

STORED_TEST(who_changes_a_mind_is_answered_with_the_last_word)
{
    struct operation *first = change(w, &operation_queue_pause),
                     *second = change(w, &operation_queue_resume);
    jobs_world_pass(w, AO_MS(1));
    assert_false(world_answered(w, first));
    jobs_world_pass(w, AO_MS(1));
    stage_says(first, "'paused': false");
    stage_says(second, "'paused': false");
    jobs_world_crash(w);
    assert_false(is_paused(w));
}

STORED_TEST(a_pause_that_cannot_be_written_is_said_and_written_later)
{
    w->store->error = STORE_FULL;
    struct operation *op = change(w, &operation_queue_pause);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_true(is_paused(w));
    op = change(w, &operation_queue_pause);
    jobs_world_pass(w, AO_MS(1));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_true(is_paused(w));
    w->store->error = STORE_IO;
    op = change(w, &operation_queue_resume);
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_false(is_paused(w));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_false(is_paused(w));
}

/* The n-th allocation fails. */
static struct operation *pause_failing_at(struct jobs_world *w, int64_t n)
{
    struct operation *op = world_operation(w, &operation_queue_pause);
    op->named.name = span_text("work");
    heap_fail_at(n);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(1));
    heap_fail_at(0);
    return op;
}

STORED_TEST(without_memory_it_is_said_too)
{
    struct operation *op = NULL;
    change(w, &operation_queue_list);
    table_queue(&w->jobs->table, span_text("work"));
    for (int64_t n = 1; !op || op->reply.error != ERGON_OK; n++) {
        op = pause_failing_at(w, n);
        assert_true(world_answered(w, op));
    }
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_true(is_paused(w));
}

/* Nothing else is written that would bring the retry. */
STORED_TEST(a_pause_without_memory_is_written_later)
{
    struct operation *op = NULL;
    change(w, &operation_queue_list);
    table_queue(&w->jobs->table, span_text("work"));
    for (int64_t n = 1; !op || op->reply.error != ERGON_E_STORE; n++) {
        assert_true(n < 100);
        op = pause_failing_at(w, n);
    }
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_true(is_paused(w));
}

/* --- The oldest --- */

static const char *list(struct jobs_world *w)
{
    static char text[4096];
    struct operation *op = world_operation(w, &operation_queue_list);
    world_give(w, op);
    assert_true(world_answered(w, op));
    return notation_show(operation_result(op), text, sizeof text);
}

static void oldest_is(struct jobs_world *w, uint64_t id)
{
    char text[64];
    uint64_t created = world_job(w, id)->created;
    snprintf(text, sizeof text, "'oldest': %" PRIu64 "}", created / AO_MS(1));
    stage_holds(list(w), text);
}

static uint64_t submit(struct jobs_world *w, const char *method)
{
    struct job_spec spec = world_spec(method);
    spec.durable = DURABLE_FSYNC;
    spec.delay = AO_S(3600);
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(10)); /* each at a time of its own */
    return id;
}

/* Also when the oldest ends, is tried again, and is read back. */
STORED_TEST(the_oldest_of_each_queue_is_told)
{
    submit(w, "work");
    uint64_t first = submit(w, "step"), second = submit(w, "step");
    oldest_is(w, first);
    world_cancel(w, world_job(w, first));
    jobs_world_pass(w, AO_MS(1));
    oldest_is(w, second);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_MS(1));
    oldest_is(w, second);
    world_retry(w, world_job(w, first)); /* its time has come, so it runs */
    jobs_world_pass(w, AO_MS(1));
    oldest_is(w, first);
    world_finish(world_run_of(w, first), "\xc0");
    world_cancel(w, world_job(w, second));
    jobs_world_pass(w, AO_S(1));
    stage_holds(list(w), "'method': 'step', ");
    stage_holds(list(w), "'oldest': nil}");
}

/* So a list of many queues holds nobody up, and has all of them. */
STORED_TEST(a_list_is_answered_in_parts)
{
    char name[16];
    uint32_t count = 0;
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "q%03u", i);
        assert_non_null(table_queue(&w->jobs->table, span_text(name)));
    }
    for (const struct job_queue *q = w->jobs->table.queues; q; q = q->next)
        count++;
    uint32_t before = w->answered;
    struct operation *all = world_operation(w, &operation_queue_list);
    struct operation *one = world_operation(w, &operation_queue_explain);
    one->named.name = span_text("q199");
    all->turn_queue = 1;
    one->turn_queue = 2;
    channel_give(w->channel, all);
    channel_give(w->channel, one);
    jobs_world_settle(w);
    assert_int_equal(w->answered - before, 2);
    assert_ptr_equal(w->operations[before], one);
    struct reader r = reader_of(operation_result(all));
    uint32_t listed = 0;
    assert_true(read_array(&r, &listed));
    assert_int_equal(listed, count);
    for (uint32_t i = 0; i < listed; i++)
        assert_true(read_any(&r, &(struct span){0}));
    assert_true(reader_at_end(&r));
}
