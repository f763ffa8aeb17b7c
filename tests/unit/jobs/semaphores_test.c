/* Semaphores that clients hold: what is free and what is held are all that there is, whatever
 * happens to connections, tasks and the server; permits are granted in the order of arrival, and
 * fences only grow. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/jobs/semaphores/holds.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/jobs_world_lives.h"
#include "tests/support/notation.h"
#include "tests/support/random.h"

static uint64_t connections, secrets;

/* A connection, as the jobs know it. */
static struct operation *connection(struct jobs_world *w)
{
    struct operation *op = world_operation(w, &operation_sem_holder);
    op->holder.by_conn.hash = ++connections;
    world_give(w, op);
    return op;
}

static void lose(struct jobs_world *w, struct operation *conn)
{
    channel_drop(w->channel, conn);
    jobs_world_settle(w);
}

static struct operation *about(struct jobs_world *w, const struct operation_class *cls)
{
    struct operation *op = world_operation(w, cls);
    op->semaphore.name = span_text("gpu");
    return op;
}

static struct operation *wish(struct jobs_world *w, const struct operation *conn, uint32_t permits)
{
    struct operation *op = about(w, &operation_sem_acquire);
    struct semaphore_arguments *a = &op->semaphore;
    a->conn = conn->holder.by_conn.hash;
    a->permits = permits;
    a->of = 2;
    a->wait = AO_S(8);
    a->grace = AO_S(10);
    secrets++;
    memcpy(a->secret, &secrets, sizeof secrets);
    return op;
}

static struct operation *acquire(struct jobs_world *w, const struct operation *conn,
                                 uint32_t permits)
{
    struct operation *op = wish(w, conn, permits);
    world_give(w, op);
    jobs_world_settle(w);
    return op;
}

static struct operation *on(struct jobs_world *w, const struct operation_class *cls,
                            const struct operation *acquired, const struct operation *conn)
{
    struct operation *op = about(w, cls);
    memcpy(op->semaphore.secret, acquired->semaphore.secret, HOLD_SECRET);
    op->semaphore.conn = conn ? conn->holder.by_conn.hash : 0;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    return op;
}

static void is(const struct jobs_world *w, const struct operation *op, enum ergon_error error)
{
    assert_true(world_answered(w, op));
    assert_int_equal(op->reply.error, error);
}

static const struct limit *gpu(const struct jobs_world *w)
{
    const struct tenant *t = table_tenant_find(&w->jobs->table, span_text(""));
    return t ? limit_find(w->jobs->sched.limits, t, span_text("gpu")) : NULL;
}

static uint32_t taken(const struct jobs_world *w)
{
    const struct limit *limit = gpu(w);
    return limit ? limit->taken : 0;
}

/* --- One by one --- */

JOBS_TEST(who_waits_goes_on_in_order)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1), *b = acquire(w, conn, 1);
    struct operation *both = acquire(w, conn, 2), *last = acquire(w, conn, 1);
    is(w, a, ERGON_OK);
    is(w, b, ERGON_OK);
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_OK);
    assert_false(world_answered(w, both)); /* it waits for all it wants, and is not passed */
    assert_false(world_answered(w, last));
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_E_FENCED);
    is(w, on(w, &operation_sem_release, b, NULL), ERGON_OK);
    is(w, both, ERGON_OK);
    assert_false(world_answered(w, last));
    is(w, on(w, &operation_sem_release, both, NULL), ERGON_OK);
    is(w, last, ERGON_OK);
    is(w, on(w, &operation_sem_release, last, NULL), ERGON_OK);
    assert_null(gpu(w)); /* made by `of`, and nobody needs it */
    lose(w, conn);
}

JOBS_TEST(what_is_too_much_or_too_late)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 2), *late = acquire(w, conn, 1);
    is(w, acquire(w, conn, 3), ERGON_E_BAD_PARAMS);
    jobs_world_pass(w, AO_S(7));
    assert_false(world_answered(w, late));
    jobs_world_pass(w, AO_S(2));
    is(w, late, ERGON_E_DEADLINE);
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_OK);
    struct operation *none = wish(w, conn, 1);
    none->semaphore.of = 0;
    world_give(w, none);
    jobs_world_settle(w);
    is(w, none, ERGON_E_NOT_FOUND);
    lose(w, conn);
}

JOBS_TEST(a_lost_connection_has_its_grace)
{
    struct operation *conn = connection(w), *other = connection(w), *a = acquire(w, conn, 2);
    struct operation *waits = acquire(w, conn, 1);
    channel_drop(w->channel, waits);
    lose(w, conn);
    assert_int_equal(gpu(w)->semaphore->waiting_count, 0);
    jobs_world_pass(w, AO_S(9));
    assert_int_equal(taken(w), 2);
    is(w, on(w, &operation_sem_resume, a, other), ERGON_OK);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(taken(w), 2);
    lose(w, other);
    w->leap += (int64_t)AO_S(3600); /* the clock was set forward */
    jobs_world_pass(w, AO_S(9));
    assert_int_equal(taken(w), 2);
    jobs_world_pass(w, AO_S(2));
    assert_null(gpu(w));
}

JOBS_TEST(who_renews_what_is_lost_holds_it)
{
    struct operation *conn = connection(w), *other = connection(w), *a = acquire(w, conn, 2);
    lose(w, conn);
    jobs_world_pass(w, AO_S(9));
    is(w, on(w, &operation_sem_renew, a, NULL), ERGON_E_CANCELLED); /* its connection is gone */
    is(w, on(w, &operation_sem_renew, a, other), ERGON_OK);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(taken(w), 2);
    lose(w, other);
    jobs_world_pass(w, AO_S(11));
    assert_null(gpu(w));
}

JOBS_TEST(a_time_to_live_ends_in_any_case)
{
    struct operation *conn = connection(w), *a = wish(w, conn, 1);
    a->semaphore.ttl = AO_S(5);
    world_give(w, a);
    jobs_world_pass(w, AO_S(4));
    is(w, on(w, &operation_sem_renew, a, NULL), ERGON_OK);
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(taken(w), 1);
    w->leap += (int64_t)AO_S(3600); /* the clock was set forward: who holds counts on its time */
    jobs_world_pass(w, AO_MS(1500));
    assert_int_equal(taken(w), 1);
    w->leap += (int64_t)AO_S(3600); /* the machine slept */
    w->slept += AO_S(3600);
    jobs_world_pass(w, AO_S(1));
    is(w, on(w, &operation_sem_renew, a, NULL), ERGON_E_FENCED);
    lose(w, conn);
}

/* Nobody knows the secret of a hold whose answer was dropped on its way. */
JOBS_TEST(an_answer_that_nobody_reads_holds_nothing)
{
    struct operation *conn = connection(w), *a = wish(w, conn, 1);
    channel_give(w->channel, a);
    channel_drop(w->channel, a);
    jobs_world_settle(w);
    assert_null(gpu(w));
    lose(w, conn);
}

/* Its row is on its way, and goes behind that. */
STORED_TEST(who_is_gone_before_its_row_is_written_holds_nothing)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    assert_int_equal(taken(w), 1);
    channel_drop(w->channel, a);
    jobs_world_settle(w);
    assert_null(gpu(w));
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    assert_null(gpu(w));
}

/* Its time is over before its row is on disk: who waits for it is answered, and then it goes. */
STORED_TEST(a_time_to_live_does_not_end_before_the_answer)
{
    struct operation *conn = connection(w), *a = wish(w, conn, 1);
    a->semaphore.ttl = 1;
    world_give(w, a);
    jobs_world_settle(w);
    assert_false(world_answered(w, a));
    assert_int_equal(taken(w), 1);
    jobs_world_pass(w, AO_MS(2));
    is(w, a, ERGON_OK);
    jobs_world_pass(w, AO_MS(2));
    assert_null(gpu(w));
    lose(w, conn);
}

STORED_TEST(a_leap_takes_nothing_back_whose_row_is_on_its_way)
{
    struct operation *conn = connection(w), *a = wish(w, conn, 1), *b = wish(w, conn, 1);
    a->semaphore.ttl = b->semaphore.ttl = AO_S(5);
    world_give(w, a);
    world_give(w, b);
    jobs_world_settle(w);
    w->leap += (int64_t)AO_S(3600);
    w->slept += AO_S(3600);
    holds_look(w->jobs);
    jobs_world_settle(w);
    assert_false(world_answered(w, a));
    channel_drop(w->channel, b);
    jobs_world_pass(w, AO_MS(2));
    is(w, a, ERGON_OK);
    is(w, b, ERGON_E_CANCELLED);
    lose(w, conn);
    jobs_world_pass(w, AO_S(20));
    assert_null(gpu(w));
}

JOBS_TEST(tasks_and_clients_share_permits, .room = 4)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 2, .take = 2);
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_LIMIT);
    struct operation *behind = acquire(w, conn, 1);
    assert_false(world_answered(w, behind)); /* one is free, and the task was there before */
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_OK);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(taken(w), 2);
    assert_true(world_cancel(w, world_job(w, id)));
    jobs_world_settle(w);
    is(w, behind, ERGON_OK);
    lose(w, conn);
}

/* A pool whose workers die begins nothing for a while: what one of its tasks was called for is free
 * meanwhile, and kept for it again when the next is tried. */
JOBS_TEST(a_pool_that_rests_keeps_no_permits, .room = 5)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 2);
    struct job_spec spec =
        WORK(.limit_key = span_text("gpu"), .limit = 2, .take = 2, .priority = 9);
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    w->jobs->options.settings.losses = 1;
    for (int i = 0; i < 5; i++)
        jobs_world_submit(w, &WORK());
    jobs_world_settle(w);
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_OK);
    assert_int_equal(world_state(w, id), JOB_QUEUED); /* it was called, and there is no room */
    struct operation *waits = acquire(w, conn, 2);
    assert_false(world_answered(w, waits));
    while (w->out[POOL_BLOCKING] > 0)
        world_lose(w->runs, LOSS_ALONE, "");
    jobs_world_settle(w);
    is(w, waits, ERGON_OK);
    struct operation *later = acquire(w, conn, 1);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_reason(w, id), JOB_WHY_LIMIT);
    is(w, on(w, &operation_sem_release, waits, NULL), ERGON_OK);
    jobs_world_settle(w);
    assert_false(world_answered(w, later));
    lose(w, conn);
}

/* --- Taken back --- */

static struct operation *revoke(struct jobs_world *w, uint64_t fence)
{
    struct operation *op = about(w, &operation_sem_revoke);
    op->semaphore.fence = fence;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(2));
    assert_true(world_answered(w, op));
    return op;
}

JOBS_TEST(what_is_taken_back_goes_to_who_waits)
{
    char text[200];
    struct operation *conn = connection(w), *a = acquire(w, conn, 2), *b = acquire(w, conn, 1);
    uint64_t fence = gpu(w)->semaphore->first->fence;
    is(w, revoke(w, fence + 1), ERGON_E_FENCED);
    assert_false(world_answered(w, b));
    struct operation *op = revoke(w, fence);
    is(w, op, ERGON_OK);
    stage_holds(notation_show(operation_result(op), text, sizeof text), "'permits': 2, ");
    stage_holds(notation_show(operation_result(op), text, sizeof text), "'connected': true");
    is(w, b, ERGON_OK);
    assert_int_equal(taken(w), 1);
    is(w, revoke(w, fence), ERGON_E_FENCED);
    is(w, on(w, &operation_sem_renew, a, conn), ERGON_E_FENCED);
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_E_FENCED);
    is(w, on(w, &operation_sem_release, b, NULL), ERGON_OK);
    assert_null(gpu(w));
    is(w, revoke(w, fence), ERGON_E_FENCED);
    lose(w, conn);
}

/* A fence names one hold, of one semaphore. */
JOBS_TEST(a_fence_of_another_semaphore_takes_nothing_back)
{
    struct operation *conn = connection(w), *other = wish(w, conn, 1);
    other->semaphore.name = span_text("other");
    world_give(w, other);
    jobs_world_settle(w);
    acquire(w, conn, 1);
    const struct tenant *t = table_tenant_find(&w->jobs->table, span_text(""));
    uint64_t fence =
        limit_find(w->jobs->sched.limits, t, span_text("other"))->semaphore->first->fence;
    is(w, revoke(w, fence), ERGON_E_FENCED);
    assert_int_equal(taken(w), 1);
    lose(w, conn);
}

STORED_TEST(what_was_taken_back_is_free_after_a_crash)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 2);
    uint64_t fence = gpu(w)->semaphore->first->fence;
    struct operation *early = about(w, &operation_sem_revoke);
    early->semaphore.fence = fence; /* its row is on its way */
    world_give(w, early);
    is(w, early, ERGON_E_FENCED);
    jobs_world_pass(w, AO_MS(2));
    is(w, a, ERGON_OK);
    is(w, revoke(w, fence), ERGON_OK);
    jobs_world_crash(w);
    assert_null(gpu(w));
    conn = connection(w);
    acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    jobs_world_crash(w); /* and what nobody is connected for any more */
    is(w, revoke(w, gpu(w)->semaphore->first->fence), ERGON_OK);
    assert_null(gpu(w));
}

/* --- Durable --- */

STORED_TEST(a_hold_outlives_a_crash)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 2);
    assert_false(world_answered(w, a)); /* before its row is on disk */
    jobs_world_pass(w, AO_MS(2));
    is(w, a, ERGON_OK);
    uint64_t fence = gpu(w)->semaphore->first->fence;
    uint8_t secret[HOLD_SECRET];
    memcpy(secret, a->semaphore.secret, sizeof secret);
    jobs_world_crash(w);
    assert_int_equal(taken(w), 2);
    conn = connection(w);
    struct operation *waits = acquire(w, conn, 1), *again = about(w, &operation_sem_resume);
    memcpy(again->semaphore.secret, secret, sizeof secret);
    again->semaphore.conn = conn->holder.by_conn.hash;
    world_give(w, again);
    jobs_world_pass(w, AO_S(5));
    is(w, again, ERGON_OK);
    assert_int_equal(gpu(w)->semaphore->first->fence, fence);
    assert_false(world_answered(w, waits));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(9)); /* the grace begins with the server */
    assert_int_equal(taken(w), 2);
    jobs_world_pass(w, AO_S(2));
    assert_null(gpu(w));
    jobs_world_crash(w);
    assert_null(gpu(w));
    conn = connection(w);
    a = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    assert_true(gpu(w)->semaphore->first->fence > fence);
}

/* The clock is set back, and the next server knows no more of the holds before. */
STORED_TEST(fences_grow_whatever_the_clock_does)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    uint64_t fence = gpu(w)->semaphore->first->fence;
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_OK);
    w->leap -= (int64_t)AO_S(3600);
    jobs_world_pass(w, AO_S(1));
    jobs_world_crash(w);
    conn = connection(w);
    acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    assert_true(gpu(w)->semaphore->first->fence > fence);
}

/* One of the two is damaged, and fences would come again. */
STORED_TEST(a_hold_above_the_highest_fence_is_refused)
{
    char error[200] = "";
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    is(w, a, ERGON_OK);
    uint64_t fence = gpu(w)->semaphore->first->fence;
    jobs_world_die(w);
    w->store->rows.last_fence = fence - 1;
    assert_false(jobs_world_recover(w, error, sizeof error));
    stage_holds(error, "its fence is higher than any that was given out");
    w->store->rows.last_fence = fence;
    assert_true(jobs_world_live(w, error, sizeof error));
    assert_int_equal(taken(w), 1);
}

STORED_TEST(what_cannot_be_written_is_not_held)
{
    struct operation *conn = connection(w);
    w->store->error = STORE_FULL;
    struct operation *a = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    is(w, a, ERGON_E_STORE);
    assert_null(gpu(w));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    struct operation *fleeting = wish(w, conn, 1);
    fleeting->semaphore.durable = SEMAPHORE_FLEETING;
    world_give(w, fleeting);
    jobs_world_settle(w);
    is(w, fleeting, ERGON_OK);
    jobs_world_crash(w);
    assert_null(gpu(w));
}

STORED_TEST(one_that_is_not_durable_needs_no_store)
{
    struct operation *conn = connection(w), *a = wish(w, conn, 1);
    a->semaphore.durable = SEMAPHORE_FLEETING;
    world_give(w, a);
    jobs_world_settle(w);
    is(w, a, ERGON_OK);
    struct operation *other = about(w, &operation_sem_create);
    other->semaphore.name = span_text("other");
    other->semaphore.of = 1;
    w->store->error = STORE_FULL;
    world_give(w, other);
    jobs_world_pass(w, AO_MS(5));
    is(w, other, ERGON_E_STORE);
    is(w, acquire(w, conn, 1), ERGON_OK);
    w->store->error = STORE_OK;
    lose(w, conn);
    jobs_world_pass(w, AO_S(12));
}

STORED_TEST(one_that_was_made_stays)
{
    struct operation *op = about(w, &operation_sem_create);
    op->semaphore.of = 3;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    is(w, op, ERGON_OK);
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 3);
    op = about(w, &operation_sem_delete);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    is(w, op, ERGON_OK);
    jobs_world_crash(w);
    assert_null(gpu(w));
}

/* The row says how many permits there are, and no task does, be it one that was there before. */
STORED_TEST(a_restart_changes_no_number_of_permits)
{
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 7, .keep = AO_S(3600));
    spec.durable = DURABLE_FSYNC;
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    struct operation *op = about(w, &operation_sem_create);
    op->semaphore.of = 3;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    is(w, op, ERGON_OK);
    assert_int_equal(gpu(w)->max, 3);
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 3);
    spec.limit = 5;
    struct submitted done;
    char text[JOB_TEXT_MAX];
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_E_BAD_PARAMS);
    assert_non_null(strstr(text, "3 permits"));
    assert_int_equal(gpu(w)->max, 3);
    spec.limit = 3;
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 3);
}

/* --- What the store does not take is written once it does --- */

static struct operation *semaphore(struct jobs_world *w, const struct operation_class *cls,
                                   uint8_t durable)
{
    struct operation *op = about(w, cls);
    op->semaphore.of = 3;
    op->semaphore.durable = durable;
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    return op;
}

STORED_TEST(a_delete_that_fails_is_written_later)
{
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_OK);
    w->store->error = STORE_FULL;
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_E_STORE);
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    assert_null(gpu(w));
    jobs_world_crash(w);
    assert_null(gpu(w));
}

STORED_TEST(a_delete_that_failed_is_answered_truly_when_it_is_repeated)
{
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_OK);
    w->store->error = STORE_FULL;
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_E_STORE);
    w->store->error = STORE_OK;
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_OK);
    jobs_world_crash(w);
    assert_null(gpu(w));
}

STORED_TEST(one_that_was_made_again_is_not_deleted_later)
{
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_OK);
    w->store->error = STORE_FULL;
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_MS(1));
    struct operation *op = about(w, &operation_sem_create);
    op->semaphore.of = 4;
    op->semaphore.durable = SEMAPHORE_FLEETING;
    world_give(w, op); /* its removal, another, is on its way */
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_OK);
    jobs_world_pass(w, AO_S(2));
    assert_null(gpu(w));
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_UNSAID), ERGON_OK);
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 3);
}

STORED_TEST(one_that_is_durable_no_more_is_written_so_later)
{
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_OK);
    w->store->error = STORE_FULL;
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_FLEETING), ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(gpu(w)->max, 3);
    jobs_world_crash(w);
    assert_null(gpu(w));
}

STORED_TEST(one_whose_row_fails_is_written_later)
{
    w->store->error = STORE_FULL;
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 3);
}

STORED_TEST(a_stop_writes_what_is_left)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_OK);
    w->store->error = STORE_FULL;
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_E_STORE);
    is(w, semaphore(w, &operation_sem_delete, SEMAPHORE_UNSAID), ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_restart(w);
    assert_null(gpu(w));
}

STORED_TEST(a_release_that_fails_is_written_later)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1), *b = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    w->store->error = STORE_FULL;
    is(w, on(w, &operation_sem_release, a, NULL), ERGON_E_STORE);
    is(w, on(w, &operation_sem_release, b, NULL), ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(3));
    jobs_world_crash(w);
    assert_null(gpu(w));
}

STORED_TEST(a_time_to_live_that_fails_is_written_later)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    w->store->error = STORE_FULL;
    struct operation *op = about(w, &operation_sem_renew);
    memcpy(op->semaphore.secret, a->semaphore.secret, HOLD_SECRET);
    op->semaphore.ttl = AO_S(5);
    world_give(w, op);
    jobs_world_pass(w, AO_MS(5));
    is(w, op, ERGON_E_STORE);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    assert_int_equal(taken(w), 1);
    jobs_world_pass(w, AO_S(4)); /* of its grace 10 s would be left */
    assert_null(gpu(w));
}

/* Each is answered MEMORY, holds, and is written later. */
static void without_memory(struct jobs_world *w, struct operation *op)
{
    struct store_op *hoard = stage_hoard_writes(w);
    heap_fail_at(1);
    world_give(w, op);
    assert_true(heap_failed());
    heap_fail_at(0);
    stage_give_writes(w, hoard);
    is(w, op, ERGON_E_MEMORY);
    jobs_world_pass(w, AO_S(2));
}

STORED_TEST(a_release_without_memory_is_written_later)
{
    struct operation *conn = connection(w), *a = acquire(w, conn, 1);
    jobs_world_pass(w, AO_MS(2));
    struct operation *op = about(w, &operation_sem_release);
    memcpy(op->semaphore.secret, a->semaphore.secret, HOLD_SECRET);
    without_memory(w, op);
    jobs_world_crash(w);
    assert_null(gpu(w));
}

STORED_TEST(a_delete_without_memory_is_written_later)
{
    is(w, semaphore(w, &operation_sem_create, SEMAPHORE_DURABLE), ERGON_OK);
    without_memory(w, about(w, &operation_sem_delete));
    jobs_world_crash(w);
    assert_null(gpu(w));
}

/* --- Numbers of permits --- */

JOBS_TEST(what_was_made_in_memory_keeps_its_number_until_it_is_deleted)
{
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 5);
    struct submitted done;
    char text[JOB_TEXT_MAX];
    struct operation *op = about(w, &operation_sem_create);
    op->semaphore.of = 3;
    world_give(w, op);
    jobs_world_settle(w);
    is(w, op, ERGON_OK);
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_E_BAD_PARAMS);
    assert_int_equal(gpu(w)->max, 3);
    op = about(w, &operation_sem_delete);
    world_give(w, op);
    jobs_world_settle(w);
    is(w, op, ERGON_OK);
    jobs_world_submit(w, &spec);
    assert_int_equal(gpu(w)->max, 5);
}

/* Of one without a row that of its last hold says it: the task that had said it is forgotten. */
STORED_TEST(nor_does_it_where_only_holds_have_rows)
{
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 7, .keep = AO_S(3600));
    spec.durable = DURABLE_FSYNC;
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    spec.limit = 5;
    spec.keep = 0;
    uint64_t newer = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    struct operation *a = acquire(w, connection(w), 1);
    jobs_world_pass(w, AO_MS(5));
    is(w, a, ERGON_OK);
    world_cancel(w, world_job(w, newer));
    jobs_world_pass(w, AO_S(1));
    assert_null(world_job(w, newer));
    assert_int_equal(gpu(w)->max, 5);
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 5);
    spec.limit = 6;
    jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(gpu(w)->max, 6);
    jobs_world_crash(w);
    assert_int_equal(gpu(w)->max, 6);
    jobs_world_pass(w, AO_S(20)); /* nobody holds anything */
    assert_null(gpu(w)->semaphore);
}

/* --- By chance --- */

enum { CONNECTIONS = 4, WISHES = 12, WISHES_MAX = 4096, HELD_MAX = 16 };

/* All wishes have one priority, so they are granted in the order of their serial numbers, which
 * is that of their arrival: one that waited before a restart waits no more, and those that come
 * behind it have higher numbers.  Fences grow in the same order. */
struct chaos {
    struct jobs_world *w;
    struct operation *conns[CONNECTIONS];
    struct operation *wishes[WISHES]; /* NULL: none */
    uint64_t seed;
    uint64_t first;                        /* serial number before the first */
    uint64_t fences[WISHES_MAX];           /* by number from `first` on; 0: none was seen */
    uint64_t begun_serial, begun_fence;    /* that was granted last */
    uint64_t told_serial, told_fence;      /* that was answered last */
    uint64_t told, passed_over, recovered; /* how often something was there to look at */
    uint32_t heard;                        /* answers that were looked at */
    uint32_t open;                         /* wishes of this life that are not answered */
};

static uint32_t held_by_tasks(const struct jobs_world *w, const struct limit *limit)
{
    uint32_t held = 0;
    for (const struct job *job = w->jobs->table.first; job; job = job->all_next)
        if (job_is(job, JOB_HAS_PERMIT) && job->more->claim.line->limit == limit)
            held += job->more->claim.want;
    return held;
}

static uint64_t serial_of(const uint8_t *secret)
{
    uint64_t serial;
    memcpy(&serial, secret, sizeof serial);
    return serial;
}

static uint64_t fence_told(const struct operation *op)
{
    char text[256];
    uint64_t fence = 0;
    const char *at = strstr(notation_show(operation_result(op), text, sizeof text), "'fence': ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "'fence': %" SCNu64, &fence), 1);
    return fence;
}

/* A wish has one fence, whoever tells of it. */
static void note(struct chaos *c, uint64_t serial, uint64_t fence)
{
    uint64_t *known = &c->fences[serial - c->first];
    assert_true(serial > c->first && serial - c->first < WISHES_MAX && fence > 0);
    assert_true(*known == 0 || *known == fence);
    *known = fence;
}

/* Answers come in the order in which permits were granted, over all lives. */
static void hear(struct chaos *c)
{
    for (; c->heard < c->w->answered; c->heard++) {
        const struct operation *op = c->w->operations[c->heard];
        if (op->cls != &operation_sem_acquire)
            continue;
        c->open--;
        if (op->reply.error != ERGON_OK)
            continue;
        uint64_t serial = serial_of(op->semaphore.secret), fence = fence_told(op);
        note(c, serial, fence);
        assert_true(serial > c->told_serial && fence > c->told_fence);
        c->told_serial = serial;
        c->told_fence = fence;
        c->told++;
    }
}

/* What has been granted since the last look, in order; nobody who waits was passed, or lost. */
static void look_at_order(struct chaos *c, const struct semaphore *s)
{
    uint32_t asked_for = 0;
    uint64_t fence = 0;
    for (const struct hold *h = s ? s->first : NULL; h; h = h->next) {
        uint64_t serial = serial_of(h->secret);
        asked_for += h->op != NULL;
        assert_true(h->fence > fence);
        fence = h->fence;
        note(c, serial, fence);
        if (fence <= c->begun_fence)
            continue;
        assert_true(serial > c->begun_serial);
        c->begun_serial = serial;
        c->begun_fence = fence;
    }
    for (const struct hold *h = s ? s->waiting : NULL; h; h = h->next) {
        asked_for += h->op != NULL;
        assert_true(serial_of(h->secret) > c->begun_serial);
        assert_true(serial_of(h->secret) > c->told_serial);
        c->passed_over++;
    }
    assert_int_equal(asked_for, c->open);
}

static void audit(struct chaos *c)
{
    const struct limit *limit = gpu(c->w);
    const struct semaphore *s = limit ? limit->semaphore : NULL;
    hear(c);
    look_at_order(c, s);
    if (!limit)
        return;
    uint32_t held = held_by_tasks(c->w, limit);
    for (const struct hold *h = s ? s->first : NULL; h; h = h->next)
        held += h->claim.want;
    assert_int_equal(limit->taken, held);
    assert_true(limit->taken <= limit->max);
}

static const struct hold *held_under(const struct jobs_world *w, uint64_t fence)
{
    const struct hold *h = gpu(w) && gpu(w)->semaphore ? gpu(w)->semaphore->first : NULL;
    while (h && h->fence != fence)
        h = h->next;
    return h;
}

/* What was told, or could have been, is on disk: it is held again for its grace, under the same
 * fence, and all that comes has a higher one.  Who waited has lost its place.  A fence that was on
 * its way to the disk nobody has been told of. */
static void crash(struct chaos *c)
{
    uint64_t fences[HELD_MAX];
    uint32_t count = 0;
    const struct limit *limit = gpu(c->w);
    for (const struct hold *h = limit && limit->semaphore ? limit->semaphore->first : NULL; h;
         h = h->next)
        if (h->state == HOLD_HELD && h->grace > 0 && count < HELD_MAX)
            fences[count++] = h->fence;
    jobs_world_crash(c->w);
    c->w->leap -= (int64_t)AO_MS(chance(&c->seed, 2000)); /* the clock is set back */
    hear(c);
    assert_int_equal(c->open, 0);
    c->begun_fence = c->told_fence;
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(held_under(c->w, fences[i]));
        c->begun_fence = fences[i] > c->begun_fence ? fences[i] : c->begun_fence;
    }
    c->recovered += count;
    assert_true(c->w->jobs->table.last_stamp >= c->begun_fence);
    assert_null(gpu(c->w) && gpu(c->w)->semaphore ? gpu(c->w)->semaphore->waiting : NULL);
    for (int i = 0; i < CONNECTIONS; i++)
        c->conns[i] = connection(c->w);
    memset(c->wishes, 0, sizeof c->wishes);
}

/* Whoever waited is killed. */
static void drop(struct chaos *c, uint32_t i)
{
    if (!c->wishes[i] || world_answered(c->w, c->wishes[i]))
        return;
    channel_drop(c->w->channel, c->wishes[i]);
    c->wishes[i] = NULL;
    jobs_world_settle(c->w);
}

static void step(struct chaos *c)
{
    struct jobs_world *w = c->w;
    uint32_t i = chance(&c->seed, WISHES), at = chance(&c->seed, CONNECTIONS);
    struct job_spec spec = WORK(.limit_key = span_text("gpu"), .limit = 5);
    switch (chance(&c->seed, 9)) {
    case 0:
    case 1:
        if (w->answered > 4000)
            return;
        c->wishes[i] = wish(w, c->conns[at], 1 + chance(&c->seed, 3));
        c->wishes[i]->semaphore.of = 5;
        c->wishes[i]->semaphore.ttl = chance(&c->seed, 2) ? AO_S(3) : 0;
        c->wishes[i]->semaphore.grace = AO_S(chance(&c->seed, 4));
        c->open++;
        world_give(w, c->wishes[i]);
        return;
    case 2:
    case 3:
        if (c->wishes[i] && world_answered(w, c->wishes[i]))
            on(w, chance(&c->seed, 4) ? &operation_sem_release : &operation_sem_resume,
               c->wishes[i], c->conns[at]);
        return;
    case 4:
        spec.take = 1 + chance(&c->seed, 2);
        spec.priority = (uint8_t)chance(&c->seed, 10);
        jobs_world_submit(w, &spec);
        return;
    case 5:
        lose(w, c->conns[at]);
        c->conns[at] = connection(w);
        return;
    case 6:
        jobs_world_pass(w, AO_MS(chance(&c->seed, 3000)));
        return;
    case 7:
        drop(c, i);
        return;
    default:
        jobs_world_settle(w);
        return;
    }
}

JOBS_TEST(free_and_held_are_all_and_all_goes_in_order, .stored = true, .room = 3, .quiet = true)
{
    struct chaos c = {.w = w, .seed = 4711, .first = secrets};
    w->lasts = AO_MS(700);
    for (int i = 0; i < CONNECTIONS; i++)
        c.conns[i] = connection(w);
    for (int n = 0; n < 3000; n++) {
        step(&c);
        audit(&c);
        if (n % 150 == 149)
            crash(&c);
        audit(&c);
    }
    assert_true(c.told > 200);
    assert_true(c.passed_over > 1000);
    assert_true(c.recovered > 10);
    jobs_world_pass(w, AO_S(60)); /* all graces are over, and all tasks done */
    for (int i = 0; i < CONNECTIONS; i++)
        lose(w, c.conns[i]);
    jobs_world_pass(w, AO_S(60));
    assert_int_equal(taken(w), 0);
    assert_int_equal(w->jobs->semaphores->hold_count, 0);
}
