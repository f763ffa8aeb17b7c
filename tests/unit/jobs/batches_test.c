/* Batches: what is counted, when one ends, and what it submits then; with a store, through crashes
 * and failures at any moment. */
#include <stdio.h>
#include <string.h>

#include "server/jobs/batches/batch.h"
#include "server/jobs/core/member.h"
#include "server/jobs/life/retention.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

/* Of the tasks that batches submit; room for them is always there, and they end at once. */
static const char *const call_methods[] = {"on.success", "on.failure", "on.end"};

static void offer_calls(struct jobs_world *w)
{
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++)
        world_offer(w, call_methods[n], true, "");
}

static struct operation *create(struct jobs_world *w, uint64_t parent, enum job_durable durable)
{
    static uint8_t raw[BATCH_CALL_COUNT][64];
    struct operation *op = world_operation(w, &operation_batch_create);
    op->batch.parent = parent;
    op->batch.durable = (uint8_t)durable;
    op->batch.keep = AO_S(60);
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++) {
        char text[64];
        snprintf(text, sizeof text, "['%s', [%u]]", call_methods[n], n);
        op->batch.calls[n] = span_of(raw[n], notation_pack(text, raw[n], sizeof raw[n]));
    }
    world_give(w, op);
    return op;
}

static uint64_t newest(const struct jobs_world *w)
{
    return w->jobs->batches->last->by_id.hash;
}

static uint64_t batch_with(struct jobs_world *w, uint64_t parent, enum job_durable durable)
{
    struct operation *op = create(w, parent, durable);
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    stage_says(op, "'state': 'open'");
    return newest(w);
}

static uint64_t batch(struct jobs_world *w)
{
    offer_calls(w);
    return batch_with(w, 0, DURABLE_NONE);
}

static struct operation *about(struct jobs_world *w, const struct operation_class *cls, uint64_t id)
{
    struct operation *op = world_operation(w, cls);
    op->batch.id = id;
    world_give(w, op);
    return op;
}

static void does(struct jobs_world *w, const struct operation_class *cls, uint64_t id)
{
    struct operation *op = about(w, cls, id);
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, ERGON_OK);
}

static void ends_adding(struct jobs_world *w, uint64_t id)
{
    does(w, &operation_batch_close, id);
}

static void shows(struct jobs_world *w, uint64_t id, const char *wanted)
{
    stage_says(about(w, &operation_batch_get, id), wanted);
}

static uint64_t member(struct jobs_world *w, uint64_t id)
{
    return jobs_world_submit(w, &WORK(.batch = id));
}

static uint64_t count_of(const struct jobs_world *w, enum batch_call which)
{
    const struct job_queue *q = table_queue_find(&w->jobs->table, span_text(call_methods[which]));
    return q ? counter_read(&q->submitted) : 0;
}

static void submitted(const struct jobs_world *w, uint64_t success, uint64_t failure, uint64_t end)
{
    assert_int_equal(count_of(w, BATCH_ON_SUCCESS), success);
    assert_int_equal(count_of(w, BATCH_ON_FAILURE), failure);
    assert_int_equal(count_of(w, BATCH_ON_END), end);
}

static void finish_all(struct jobs_world *w)
{
    while (w->runs) {
        world_finish(w->runs, "\x01");
        jobs_world_settle(w);
    }
}

/* --- In memory --- */

JOBS_TEST(one_without_members_ends_well_as_it_is_closed, .room = 4)
{
    uint64_t id = batch(w);
    submitted(w, 0, 0, 0);
    ends_adding(w, id);
    submitted(w, 1, 0, 1);
    shows(w, id, "'state': 'ended', 'outcome': 'done'");
    shows(w, id, "'on_success': {'method': 'on.success', 'task': 't");
    shows(w, id, "'on_failure': {'method': 'on.failure', 'task': nil}");
}

JOBS_TEST(it_ends_with_its_last_member_once_it_is_closed, .room = 1)
{
    uint64_t id = batch(w);
    uint64_t a = member(w, id), b = member(w, id);
    shows(w, id, "'total': 2, 'open': 2, 'done': 0");
    jobs_world_settle(w);
    world_finish(world_run_of(w, a), "\x01");
    jobs_world_settle(w);
    world_finish(world_run_of(w, b), "\x01");
    jobs_world_settle(w);
    shows(w, id, "'state': 'open', 'outcome': nil");
    shows(w, id, "'total': 2, 'open': 0, 'done': 2");
    submitted(w, 0, 0, 0);
    a = member(w, id);
    ends_adding(w, id);
    shows(w, id, "'state': 'closed'");
    b = member(w, id); /* by a handler, while another is open */
    jobs_world_settle(w);
    finish_all(w);
    shows(w, id, "'state': 'ended', 'outcome': 'done'");
    shows(w, id, "'total': 4, 'open': 0, 'done': 4");
    submitted(w, 1, 0, 1);
}

JOBS_TEST(the_first_failure_is_told_at_once_and_once, .room = 3)
{
    uint64_t id = batch(w);
    uint64_t a = member(w, id), b = member(w, id), c = member(w, id);
    jobs_world_settle(w);
    world_fail(world_run_of(w, a), "FAILED", "so");
    jobs_world_settle(w);
    submitted(w, 0, 1, 0);
    world_fail(world_run_of(w, b), "FAILED", "so");
    jobs_world_settle(w);
    submitted(w, 0, 1, 0);
    ends_adding(w, id);
    world_finish(world_run_of(w, c), "\x01");
    jobs_world_settle(w);
    submitted(w, 0, 1, 1);
    shows(w, id, "'outcome': 'failed'");
    shows(w, id, "'total': 3, 'open': 0, 'done': 1, 'failed': 2");
}

JOBS_TEST(a_retry_by_hand_counts_until_the_end, .room = 2)
{
    uint64_t id = batch(w);
    uint64_t a = member(w, id), b = member(w, id);
    jobs_world_settle(w);
    world_fail(world_run_of(w, a), "FAILED", "so");
    jobs_world_settle(w);
    shows(w, id, "'open': 1, 'done': 0, 'failed': 1");
    assert_true(world_retry(w, world_job(w, a)));
    shows(w, id, "'open': 2, 'done': 0, 'failed': 0");
    ends_adding(w, id);
    jobs_world_settle(w);
    finish_all(w);
    shows(w, id, "'outcome': 'done'");
    submitted(w, 1, 1, 1);
    (void)b;
}

JOBS_TEST(what_happens_behind_the_end_changes_nothing, .room = 2)
{
    uint64_t id = batch(w);
    uint64_t a = member(w, id);
    ends_adding(w, id);
    jobs_world_settle(w);
    world_fail(world_run_of(w, a), "FAILED", "so");
    jobs_world_settle(w);
    shows(w, id, "'outcome': 'failed'");
    assert_true(world_retry(w, world_job(w, a)));
    jobs_world_settle(w);
    finish_all(w);
    shows(w, id, "'outcome': 'failed'");
    shows(w, id, "'total': 1, 'open': 0, 'done': 0, 'failed': 1");
    submitted(w, 0, 1, 1);
}

static void is_refused(struct jobs_world *w, const struct job_spec *spec, enum ergon_error error,
                       const char *why)
{
    struct submitted out;
    char text[JOB_TEXT_MAX];
    assert_int_equal(world_submit(w, spec, &out, text, sizeof text), error);
    stage_holds(text, why);
}

JOBS_TEST(what_cannot_be_a_member_is_refused, .room = 1)
{
    uint64_t id = batch(w);
    is_refused(w, &WORK(.batch = id + 1000), ERGON_E_NOT_FOUND, "is not there for this tenant");
    is_refused(w, &WORK(.batch = id, .tenant = span_text("other")), ERGON_E_NOT_FOUND,
               "is not there for this tenant");
    ends_adding(w, id);
    is_refused(w, &WORK(.batch = id), ERGON_E_BAD_PARAMS, "has ended, and takes no more");
    id = batch(w);
    member(w, id);
    does(w, &operation_batch_cancel, id);
    jobs_world_settle(w);
    is_refused(w, &WORK(.batch = id), ERGON_E_BAD_PARAMS, "takes no more");
}

JOBS_TEST(a_cancel_reaches_all_members, .room = 2)
{
    uint64_t id = batch(w), other = batch(w);
    w->stubborn = true;
    uint64_t stays = member(w, other);
    uint64_t a = member(w, id);
    jobs_world_settle(w);
    for (unsigned n = 0; n < 5000; n++)
        member(w, id);
    struct operation *op = about(w, &operation_batch_cancel, id);
    jobs_world_settle(w);
    stage_says(op, "'state': 'cancelling'");
    shows(w, id, "'open': 1");
    world_finish(world_run_of(w, a), "\x01"); /* it was flagged, and counts as cancelled */
    jobs_world_settle(w);
    shows(w, id, "'state': 'ended', 'outcome': 'cancelled'");
    shows(w, id, "'total': 5001, 'open': 0, 'done': 0, 'failed': 0, 'cancelled': 5001");
    submitted(w, 0, 0, 1);
    assert_int_equal(world_state(w, stays), JOB_RUNNING);
    shows(w, other, "'open': 1");
}

JOBS_TEST(a_batch_within_another_is_a_member_of_that, .room = 2)
{
    uint64_t parent = batch(w), child = batch_with(w, parent, DURABLE_NONE);
    ends_adding(w, parent);
    shows(w, parent, "'total': 1, 'open': 1");
    uint64_t a = member(w, child);
    ends_adding(w, child);
    jobs_world_settle(w);
    world_fail(world_run_of(w, a), "FAILED", "so");
    jobs_world_settle(w);
    shows(w, child, "'outcome': 'failed'");
    shows(w, parent, "'outcome': 'failed'");
    shows(w, parent, "'total': 1, 'open': 0, 'done': 0, 'failed': 1");
    submitted(w, 0, 2, 2);
}

JOBS_TEST(a_cancel_reaches_batches_within, .room = 2)
{
    uint64_t parent = batch(w), child = batch_with(w, parent, DURABLE_NONE);
    uint64_t within = batch_with(w, child, DURABLE_NONE);
    member(w, within);
    member(w, child);
    does(w, &operation_batch_cancel, parent);
    jobs_world_settle(w);
    finish_all(w);
    shows(w, within, "'outcome': 'cancelled'");
    shows(w, child, "'outcome': 'cancelled'");
    shows(w, parent, "'outcome': 'cancelled'");
    submitted(w, 0, 0, 3);
}

/* By task.get, and by the attempt; not by one that is no callback, or once the batch is forgotten.
 */
static void knows(struct jobs_world *w, uint64_t task, uint64_t batch_id)
{
    char wanted[64], text[4096], id[ID_TEXT_SIZE];
    struct operation *op = world_about(w, &operation_task_get, task);
    world_give(w, op);
    notation_show(operation_result(op), text, sizeof text);
    snprintf(wanted, sizeof wanted, "'callback_of': '%s'", id_batch_text(batch_id, id));
    if (batch_id > 0)
        stage_holds(text, wanted);
    else
        assert_null(strstr(text, "callback_of"));
}

JOBS_TEST(a_callback_knows_its_batch, .room = 2)
{
    uint64_t id = batch(w), other = batch(w), a = member(w, id);
    jobs_world_settle(w);
    assert_int_equal(world_run_of(w, a)->run.batches.member_of, id);
    assert_int_equal(world_run_of(w, a)->run.batches.callback_of, 0);
    knows(w, a, 0);
    world_finish(world_run_of(w, a), "\x01");
    ends_adding(w, other);
    ends_adding(w, id);
    const struct batch *one = batch_find(w->jobs, id), *two = batch_find(w->jobs, other);
    knows(w, batch_sent(one, BATCH_ON_SUCCESS), id);
    knows(w, batch_sent(one, BATCH_ON_END), id);
    knows(w, batch_sent(two, BATCH_ON_END), other);
    uint64_t end = batch_sent(one, BATCH_ON_END);
    jobs_world_pass(w, AO_S(100));
    assert_null(batch_find(w->jobs, id));
    knows(w, end, 0);
}

STORED_TEST(a_callback_knows_its_batch_after_a_crash)
{
    uint8_t raw[16];
    struct operation *op = world_operation(w, &operation_batch_create);
    op->batch.durable = DURABLE_FSYNC;
    op->batch.keep = AO_S(60);
    op->batch.calls[BATCH_ON_END] = span_of(raw, notation_pack("['work']", raw, sizeof raw));
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    uint64_t id = newest(w);
    ends_adding(w, id);
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    uint64_t end = batch_sent(batch_find(w->jobs, id), BATCH_ON_END);
    knows(w, end, id);
    assert_int_equal(world_run_of(w, end)->run.batches.callback_of, id);
    assert_int_equal(world_run_of(w, end)->run.batches.member_of, 0);
}

/* Its end waits for that. */
JOBS_TEST(what_is_refused_is_submitted_later, .room = 1)
{
    uint64_t id = batch(w);
    struct job_queue *q = table_queue(&w->jobs->table, span_text("on.end"));
    q->draining = true;
    ends_adding(w, id);
    shows(w, id, "'state': 'ending'");
    shows(w, id, "is being drained");
    submitted(w, 1, 0, 0);
    q->draining = false;
    jobs_world_pass(w, AO_S(2));
    shows(w, id, "'state': 'ended'");
    shows(w, id, "'error': nil");
    submitted(w, 1, 0, 1);
}

JOBS_TEST(one_waits_for_its_end, .room = 1)
{
    uint64_t id = batch(w);
    struct operation *ops[2];
    for (unsigned n = 0; n < 2; n++) {
        ops[n] = world_operation(w, &operation_batch_get);
        ops[n]->batch.id = id;
        ops[n]->batch.wait = n == 0 ? AO_S(3) : AO_S(30);
        world_give(w, ops[n]);
    }
    jobs_world_pass(w, AO_S(4));
    stage_says(ops[0], "'state': 'open'");
    assert_false(world_answered(w, ops[1]));
    ends_adding(w, id);
    assert_true(world_answered(w, ops[1]));
    stage_says(ops[1], "'state': 'ended'");
}

/* It is kept for its time, and a child as long as its parent is open. */
JOBS_TEST(they_are_forgotten_in_time, .room = 1)
{
    uint64_t parent = batch(w), child = batch_with(w, parent, DURABLE_NONE);
    ends_adding(w, child);
    jobs_world_pass(w, AO_S(200));
    assert_non_null(batch_find(w->jobs, child));
    shows(w, parent, "'total': 1, 'open': 0, 'done': 1");
    ends_adding(w, parent);
    jobs_world_pass(w, AO_S(100));
    assert_null(batch_find(w->jobs, child));
    assert_null(batch_find(w->jobs, parent));
    finish_all(w);
    assert_int_equal(w->jobs->table.open_bytes, 0);
    struct operation *op = about(w, &operation_batch_get, parent);
    assert_int_equal(op->reply.error, ERGON_E_NOT_FOUND);
}

JOBS_TEST(a_page_begins_behind_the_one_before, .room = 1)
{
    char text[4096], wanted[64], id[ID_TEXT_SIZE];
    uint64_t ids[3];
    for (unsigned n = 0; n < 3; n++)
        ids[n] = batch(w);
    ends_adding(w, ids[1]);
    struct operation *op = world_operation(w, &operation_batch_list);
    op->batch.state = -1;
    op->batch.max = 2;
    world_give(w, op);
    notation_show(operation_result(op), text, sizeof text);
    snprintf(wanted, sizeof wanted, "'next': '%s'", id_batch_text(ids[1], id));
    stage_holds(text, wanted);
    op = world_operation(w, &operation_batch_list);
    op->batch.state = BATCH_OPEN;
    op->batch.max = 2;
    op->batch.cursor = ids[1];
    world_give(w, op);
    snprintf(wanted, sizeof wanted, "'id': '%s'", id_batch_text(ids[0], id));
    stage_says(op, wanted);
    stage_says(op, "'next': nil");
}

JOBS_TEST(a_page_has_the_batches_within_one)
{
    char text[4096], wanted[64], id[ID_TEXT_SIZE];
    uint64_t parent = batch(w), child = batch_with(w, parent, DURABLE_NONE);
    batch_with(w, child, DURABLE_NONE);
    struct operation *op = world_operation(w, &operation_batch_list);
    op->batch.state = -1;
    op->batch.max = 1;
    op->batch.parent = parent;
    world_give(w, op);
    snprintf(wanted, sizeof wanted, "{'batches': [{'id': '%s'", id_batch_text(child, id));
    stage_holds(notation_show(operation_result(op), text, sizeof text), wanted);
    stage_says(op, "'next': nil");
}

/* A member costs its batch's number, and nothing else. */
JOBS_TEST(a_member_takes_eight_bytes, .room = 1)
{
    uint64_t id = batch(w);
    const struct job *plain = world_job(w, jobs_world_submit(w, &WORK(0)));
    const struct job *in = world_job(w, member(w, id));
    assert_int_equal(in->body_len, plain->body_len + sizeof(uint64_t));
    assert_null(in->more);
    assert_int_equal(job_bytes(in), job_bytes(plain));
    assert_int_equal(job_batch(in), id);
    assert_int_equal(job_batch(plain), 0);
}

/* --- With a store --- */

static uint64_t stored_member(struct jobs_world *w, uint64_t id)
{
    return jobs_world_submit(w, &WORK(.batch = id, .durable = DURABLE_FSYNC, .keep = AO_S(3600)));
}

static uint64_t stored_batch(struct jobs_world *w)
{
    offer_calls(w);
    return batch_with(w, 0, DURABLE_FSYNC);
}

/* So many tasks of this method are in the store, done or not. */
static uint64_t rows_of(const struct jobs_world *w, enum batch_call which)
{
    uint64_t count = 0;
    const struct memory_rows *m = &w->store->rows;
    for (uint32_t i = 0; i < m->row_count; i++)
        count += m->rows[i].there && span_is(m->rows[i].task.method, call_methods[which]);
    return count;
}

static void stored(const struct jobs_world *w, uint64_t success, uint64_t failure, uint64_t end)
{
    assert_int_equal(rows_of(w, BATCH_ON_SUCCESS), success);
    assert_int_equal(rows_of(w, BATCH_ON_FAILURE), failure);
    assert_int_equal(rows_of(w, BATCH_ON_END), end);
}

STORED_TEST(a_batch_outlives_a_crash)
{
    uint64_t id = stored_batch(w);
    uint64_t a = stored_member(w, id), b = stored_member(w, id);
    jobs_world_pass(w, AO_MS(5));
    world_finish(world_run_of(w, a), "\x01");
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    offer_calls(w);
    shows(w, id, "'state': 'open'");
    shows(w, id, "'total': 2, 'open': 1, 'done': 1");
    stage_balances(w);
    ends_adding(w, id);
    jobs_world_crash(w);
    offer_calls(w);
    shows(w, id, "'state': 'closed'");
    jobs_world_pass(w, AO_MS(5));
    world_finish(world_run_of(w, b), "\x01");
    jobs_world_pass(w, AO_MS(10));
    shows(w, id, "'state': 'ended', 'outcome': 'done'");
    stored(w, 1, 0, 1);
    jobs_world_crash(w);
    offer_calls(w);
    shows(w, id, "'state': 'ended', 'outcome': 'done'");
    shows(w, id, "'total': 2, 'open': 0, 'done': 2");
    stored(w, 1, 0, 1);
}

/* The audit counts the members of each. */
STORED_TEST(an_audit_finds_a_wrong_count)
{
    uint64_t id = stored_batch(w);
    stored_member(w, id);
    jobs_world_pass(w, AO_MS(5));
    stage_balances(w);
    w->jobs->batches->first->open++;
    struct operation *op = world_operation(w, &operation_server_audit);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(10));
    stage_says(op, "counts 2 open and 0 ended members that are kept, but there are 1 and 0");
    w->jobs->batches->first->open--;
    world_finish(w->runs, "\x01");
    jobs_world_pass(w, AO_MS(5));
    stage_balances(w);
}

/* The process dies so long after the last member returned; the last commit may be under way. */
static void dies_at(struct jobs_world *w, ao_time after, bool fails)
{
    uint64_t id = stored_batch(w), a = stored_member(w, id);
    ends_adding(w, id);
    jobs_world_pass(w, AO_MS(5));
    if (fails)
        world_fail(world_run_of(w, a), "FAILED", "so");
    else
        world_finish(world_run_of(w, a), "\x01");
    jobs_world_pass(w, after);
    jobs_world_crash(w);
    offer_calls(w);
    jobs_world_pass(w, AO_MS(10));
    while (w->runs) {
        struct world_run *r = w->runs;
        if (fails && world_run_of(w, a) == r)
            world_fail(r, "FAILED", "so");
        else
            world_finish(r, "\x01");
        jobs_world_pass(w, AO_MS(10));
    }
    shows(w, id, fails ? "'outcome': 'failed'" : "'outcome': 'done'");
}

STORED_TEST(what_follows_the_end_is_submitted_once_wherever_it_dies)
{
    enum { STEPS = 12, US = 400 };
    for (unsigned n = 0; n <= STEPS; n++) {
        dies_at(w, n * (ao_time)(US * 1000), false);
        stored(w, n + 1, 0, n + 1);
    }
    for (unsigned n = 0; n <= STEPS; n++) {
        dies_at(w, n * (ao_time)(US * 1000), true);
        stored(w, STEPS + 1, n + 1, STEPS + n + 2);
    }
    stage_balances(w);
}

STORED_TEST(members_that_are_forgotten_stay_counted)
{
    uint64_t id = stored_batch(w), ids[4];
    for (unsigned n = 0; n < 4; n++)
        ids[n] = stored_member(w, id);
    for (unsigned n = 0; n < 3; n++) {
        jobs_world_pass(w, AO_MS(5));
        if (n < 2)
            world_finish(world_run_of(w, ids[n]), "\x01");
        else
            world_fail(world_run_of(w, ids[n]), "FAILED", "so");
    }
    jobs_world_pass(w, AO_MS(10));
    for (unsigned n = 0; n < 3; n++) {
        world_give(w, world_about(w, &operation_task_forget, ids[n]));
        if (n == 1)
            jobs_world_pass(w, AO_MS(3));
    }
    shows(w, id, "'total': 4, 'open': 1, 'done': 2, 'failed': 1");
    for (unsigned crash = 0; crash < 2; crash++) {
        jobs_world_crash(w);
        offer_calls(w);
        shows(w, id, "'total': 4, 'open': 1, 'done': 2, 'failed': 1");
        stage_balances(w);
        jobs_world_pass(w, AO_MS(crash));
    }
    jobs_world_pass(w, AO_MS(10));
    assert_null(memory_rows_find(&w->store->rows, ids[0]));
    ends_adding(w, id);
    jobs_world_pass(w, AO_MS(10));
    while (w->runs) {
        world_finish(w->runs, "\x01");
        jobs_world_pass(w, AO_MS(10));
    }
    shows(w, id, "'outcome': 'failed'");
    shows(w, id, "'total': 4, 'open': 0, 'done': 3, 'failed': 1");
    stored(w, 0, 1, 1);
    stage_balances(w);
}

STORED_TEST(an_end_that_cannot_be_written_comes_when_it_can)
{
    uint64_t id = stored_batch(w), a = stored_member(w, id);
    ends_adding(w, id);
    jobs_world_pass(w, AO_MS(5));
    world_finish(world_run_of(w, a), "\x01");
    jobs_world_pass(w, AO_MS(1));
    w->store->refuses_groups = true;
    jobs_world_pass(w, AO_MS(10));
    shows(w, id, "'state': 'ending'");
    stored(w, 0, 0, 0);
    w->store->refuses_groups = false;
    jobs_world_pass(w, AO_S(3));
    shows(w, id, "'state': 'ended'");
    stored(w, 1, 0, 1);
    jobs_world_crash(w);
    stored(w, 1, 0, 1);
}

/* A second at first, a minute at last, of which half is random; the store takes all others. */
STORED_TEST(what_the_store_refuses_is_tried_ever_more_seldom)
{
    uint64_t id = stored_batch(w);
    jobs_world_pass(w, AO_MS(5));
    w->store->refuses_groups = true;
    uint64_t before = w->store->given;
    struct operation *op = about(w, &operation_batch_close, id);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    shows(w, id, "'state': 'ending'");
    shows(w, id, "'error': 'the store has this already");
    uint64_t soon = w->store->given - before;
    assert_in_range(soon, 4, 7);
    jobs_world_pass(w, AO_S(3600));
    assert_in_range(w->store->given - before - soon, 55, 130);
    w->store->refuses_groups = false;
    jobs_world_pass(w, AO_S(61));
    shows(w, id, "'state': 'ended'");
    shows(w, id, "'error': nil");
    stored(w, 1, 0, 1);
    jobs_world_crash(w);
    stored(w, 1, 0, 1);
}

/* A client that waits for its change asks the store at once, whatever was refused before. */
STORED_TEST(a_change_by_a_client_waits_for_no_back_off)
{
    uint64_t id = stored_batch(w), a = stored_member(w, id);
    jobs_world_pass(w, AO_MS(5));
    w->store->refuses_groups = true;
    world_fail(world_run_of(w, a), "ODD", "so"); /* on_failure is to be written */
    jobs_world_pass(w, AO_S(100));
    w->store->refuses_groups = false;
    ends_adding(w, id);
    jobs_world_pass(w, AO_MS(10));
    shows(w, id, "'state': 'ended'");
    stored(w, 0, 1, 1);
    jobs_world_pass(w, AO_S(100));
    stage_balances(w);
}

STORED_TEST(one_that_cannot_be_written_is_none)
{
    w->store->error = STORE_FULL;
    struct operation *op = create(w, 0, DURABLE_FSYNC);
    jobs_world_pass(w, AO_MS(3));
    assert_int_equal(op->reply.error, ERGON_E_STORE);
    assert_null(w->jobs->batches->first);
    w->store->error = STORE_OK;
}

STORED_TEST(a_cancel_goes_on_after_a_crash)
{
    uint64_t id = stored_batch(w);
    for (unsigned n = 0; n < 300; n++)
        stored_member(w, id);
    jobs_world_pass(w, AO_MS(5));
    w->store->most = 1; /* so what the answer did not wait for is lost */
    struct operation *op = about(w, &operation_batch_cancel, id);
    while (!world_answered(w, op))
        jobs_world_pass(w, AO_US(100));
    jobs_world_crash(w);
    w->store->most = 0;
    offer_calls(w);
    jobs_world_pass(w, AO_S(3));
    finish_all(w);
    jobs_world_pass(w, AO_MS(10));
    shows(w, id, "'state': 'ended', 'outcome': 'cancelled'");
    shows(w, id, "'total': 300, 'open': 0, 'done': 0, 'failed': 0, 'cancelled': 300");
    stored(w, 0, 0, 1);
}

/* Asked again, it is not answered because of what is in memory. */
STORED_TEST(a_change_that_failed_is_answered_when_it_is_on_disk)
{
    static const struct operation_class *const changes[] = {&operation_batch_close,
                                                            &operation_batch_cancel};
    for (unsigned n = 0; n < 2; n++) {
        uint64_t id = stored_batch(w);
        stored_member(w, id);
        jobs_world_pass(w, AO_MS(5));
        w->store->error = STORE_FULL;
        struct operation *op = about(w, changes[n], id);
        jobs_world_pass(w, AO_MS(2));
        assert_int_equal(op->reply.error, ERGON_E_STORE);
        w->store->error = STORE_OK;
        while (op->reply.error != ERGON_OK) {
            jobs_world_pass(w, AO_MS(1));
            op = about(w, changes[n], id);
            while (!world_answered(w, op))
                jobs_world_pass(w, AO_US(100));
        }
        jobs_world_crash(w);
        offer_calls(w);
        const struct batch *b = batch_find(w->jobs, id);
        assert_true(n == 0 ? b->state == BATCH_CLOSED : b->cancelled);
    }
}

STORED_TEST(a_member_is_as_durable_as_its_batch)
{
    uint64_t id = stored_batch(w);
    is_refused(w, &WORK(.batch = id), ERGON_E_BAD_PARAMS, "say durable: \"fsync\"");
    struct operation *op = create(w, id, DURABLE_NONE);
    assert_int_equal(op->reply.error, ERGON_E_BAD_PARAMS);
}

STORED_TEST(a_batch_within_another_outlives_a_crash)
{
    uint64_t parent = stored_batch(w), child = batch_with(w, parent, DURABLE_FSYNC);
    ends_adding(w, parent);
    jobs_world_crash(w);
    offer_calls(w);
    shows(w, parent, "'total': 1, 'open': 1");
    ends_adding(w, child);
    jobs_world_pass(w, AO_MS(20));
    shows(w, parent, "'outcome': 'done'");
    jobs_world_crash(w);
    offer_calls(w);
    shows(w, parent, "'total': 1, 'open': 0, 'done': 1");
    stored(w, 2, 0, 2);
}

STORED_TEST(the_row_of_one_that_is_forgotten_goes)
{
    uint64_t id = stored_batch(w);
    ends_adding(w, id);
    jobs_world_pass(w, AO_MS(20));
    jobs_world_restart(w);
    assert_non_null(batch_find(w->jobs, id));
    jobs_world_pass(w, AO_S(100));
    assert_null(batch_find(w->jobs, id));
    assert_int_equal(w->store->rows.batch_count, 0);
}
