/* What becomes of a job spec: keys, shared runs, bounds, refusals. */
#include "server/jobs/effects.h"
#include "server/jobs/life/retention.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"

static enum ergon_error refused(struct jobs_world *w, const struct job_spec *spec, const char *text)
{
    struct submitted done;
    char said[JOB_TEXT_MAX] = "";
    enum ergon_error error = world_submit(w, spec, &done, said, sizeof said);
    if (error != ERGON_OK && !strstr(said, text))
        fail_msg("\"%s\" is not in \"%s\"", text, said);
    return error;
}

JOBS_TEST(unknown_methods_are_refused)
{
    struct job_spec spec = world_spec("unheard_of");
    assert_int_equal(refused(w, &spec, "\"unheard_of\""), ERGON_E_NO_METHOD);
}

JOBS_TEST(a_durable_one_is_refused_without_a_store)
{
    assert_int_equal(refused(w, &WORK(.durable = DURABLE_ASYNC), "no store"), ERGON_E_STORE);
}

JOBS_TEST(a_drained_queue_takes_no_more)
{
    struct job_spec spec = WORK();
    jobs_world_submit(w, &spec);
    w->jobs->table.queues->draining = true;
    assert_int_equal(refused(w, &spec, "queue.resume"), ERGON_E_DRAINING);
}

JOBS_TEST(a_server_that_stops_takes_no_more)
{
    w->source.stop(w->source.arg, false);
    assert_int_equal(refused(w, &WORK(), ""), ERGON_E_DRAINING);
}

JOBS_TEST(beyond_the_bound_it_is_busy)
{
    struct job_spec spec = WORK();
    w->jobs->options.settings.limits.max = 2;
    jobs_world_submit(w, &spec);
    jobs_world_submit(w, &spec);
    assert_int_equal(refused(w, &spec, "2 tasks, and may not hold more (tasks.max)"), ERGON_E_BUSY);
    w->jobs->options.settings.limits.max = 10;
    w->jobs->options.settings.limits.bytes = w->jobs->table.bytes + 100;
    assert_int_equal(refused(w, &spec, "tasks.bytes"), ERGON_E_BUSY);
    w->jobs->options.settings.limits.bytes = 100;
    assert_int_equal(refused(w, &spec, "tasks.bytes"), ERGON_E_TOO_LARGE);
}

JOBS_TEST(what_has_ended_makes_room)
{
    struct job_spec spec = WORK();
    w->jobs->options.settings.limits.max = 2;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x01");
    jobs_world_submit(w, &spec);
    jobs_world_submit(w, &spec);
    assert_null(world_job(w, id));
}

JOBS_TEST(the_same_key_is_the_same_task)
{
    struct job_spec spec = WORK(.key = span_text("order 7"));
    uint64_t id = jobs_world_submit(w, &spec);
    assert_int_equal(jobs_world_submit(w, &spec), id);
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x01");
    struct submitted again;
    char text[JOB_TEXT_MAX];
    assert_int_equal(world_submit(w, &spec, &again, text, sizeof text), ERGON_OK);
    assert_true(again.duplicate);
    assert_int_equal(again.job->id, id);
    spec.tenant = span_text("other");
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
    jobs_world_pass(w, AO_S(3600));
    spec.tenant = span_text("");
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
}

JOBS_TEST(a_shared_run_is_cancelled_by_the_last)
{
    struct job_spec spec = WORK(.coalesce = span_text("report"));
    uint64_t id = jobs_world_submit(w, &spec);
    assert_int_equal(jobs_world_submit(w, &spec), id);
    assert_false(world_cancel(w, world_job(w, id)));
    assert_true(job_state_open(world_state(w, id)));
    assert_true(world_cancel(w, world_job(w, id)));
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
}

JOBS_TEST(nobody_joins_a_run_that_is_being_cancelled)
{
    struct job_spec spec = WORK(.coalesce = span_text("report"));
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    assert_true(world_cancel(w, world_job(w, id)));
    assert_true(job_state_open(world_state(w, id)));
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
}

JOBS_TEST(another_method_shares_no_run)
{
    struct job_spec spec = WORK(.coalesce = span_text("report"));
    uint64_t id = jobs_world_submit(w, &spec);
    spec.method = span_text("step");
    assert_int_not_equal(jobs_world_submit(w, &spec), id);
}

JOBS_TEST(callers_of_a_shared_run_get_one_result)
{
    struct job_spec spec = WORK(.coalesce = span_text("report"));
    struct operation *op = stage_call(w, &spec), *b = stage_call(w, &spec),
                     *c = stage_call(w, &spec);
    channel_drop(w->channel, b);
    jobs_world_settle(w);
    assert_int_equal(b->reply.error, ERGON_E_CANCELLED);
    assert_int_equal(w->jobs->table.count, 1);
    world_finish(w->runs, "\x2a");
    jobs_world_settle(w);
    assert_int_equal(op->reply.error, ERGON_OK);
    assert_memory_equal(operation_result(op).at, "\x2a", 1);
    assert_memory_equal(operation_result(c).at, "\x2a", 1);
}

JOBS_TEST(a_call_that_is_dropped_is_cancelled)
{
    struct operation *op = stage_call(w, &WORK());
    uint64_t id = op->submission.outcomes[0].id;
    channel_drop(w->channel, op);
    jobs_world_settle(w);
    assert_true(world_answered(w, op));
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

JOBS_TEST(each_of_many_has_its_own_outcome)
{
    struct job_spec spec[3] = {world_spec("work"), world_spec("unheard_of"), world_spec("step")};
    struct operation *op = world_operation(w, &operation_task_submit_many);
    op->submission.specs = spec;
    op->submission.count = 3;
    world_give(w, op);
    assert_true(world_answered(w, op));
    assert_int_equal(op->submission.outcomes[0].error, ERGON_OK);
    assert_int_equal(op->submission.outcomes[1].error, ERGON_E_NO_METHOD);
    assert_int_equal(op->submission.outcomes[2].id, op->submission.outcomes[0].id + 1);
    assert_int_equal(operation_result(op).at[0], 0x93);
}

JOBS_TEST(what_is_refused_weighs_nothing)
{
    struct job_spec spec = WORK();
    w->room[1] = 0;
    uint64_t ids[2] = {jobs_world_submit(w, &spec), 12345};
    spec.after = ids;
    spec.after_count = 2;
    assert_int_equal(refused(w, &spec, "no task"), ERGON_E_NOT_FOUND);
    uint64_t bytes = w->jobs->table.bytes; /* the first is known now to be waited for at times */
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(refused(w, &spec, "no task"), ERGON_E_NOT_FOUND);
    assert_int_equal(w->jobs->table.bytes, bytes);
}

/* A run that a call began, and would be forgotten with its answer. */
JOBS_TEST(who_joins_finds_the_result)
{
    struct job_spec spec = WORK(.coalesce = span_text("report"), .keep = 0);
    uint64_t id = jobs_world_submit(w, &spec);
    spec.keep = AO_S(60);
    assert_true(jobs_world_submit(w, &spec) == id);
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\x2a");
    jobs_world_pass(w, AO_S(59));
    assert_int_equal(world_state(w, id), JOB_DONE);
    jobs_world_pass(w, AO_S(2));
    assert_null(world_job(w, id));
}

/* The bytes that are shown are those that there are, after all that changes them. */
JOBS_TEST(bytes_are_what_they_are)
{
    struct job_spec spec = WORK();
    uint64_t sum = 0;
    w->room[1] = 2;
    uint64_t first = jobs_world_submit(w, &spec);
    spec.after = &first;
    spec.after_count = 1;
    spec.key = span_text("k");
    jobs_world_submit(w, &spec);
    spec = world_spec("work");
    spec.retries = 1;
    uint64_t third = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    world_fail(world_run_of(w, third), "ODD", "not today");
    world_finish(world_run_of(w, first), "\xa4"
                                         "done");
    jobs_world_pass(w, AO_S(10));
    for (const struct job *e = w->jobs->table.first; e; e = e->all_next)
        sum += job_bytes(e);
    assert_int_equal(w->jobs->table.bytes, sum);
    sum = 0;
    const struct kept *kept = kept_most(&w->jobs->table.kept); /* there is one tenant */
    for (const struct job *e = kept->jobs[KEPT_WELL].first; e; e = e->next)
        sum += job_bytes(e);
    assert_int_equal(w->jobs->table.kept.bytes[KEPT_WELL], sum);
    assert_true(sum > 0);
}

static int submit_all_kinds(void *arg)
{
    struct jobs_world *w = arg;
    struct job_spec spec = world_spec("work");
    struct submitted done;
    char text[JOB_TEXT_MAX];
    uint64_t first = w->first_id;
    spec.coalesce = span_text("c");
    spec.limit_key = span_text("l");
    spec.limit = 1;
    spec.rate_key = span_text("r");
    spec.rate = 1;
    spec.rate_per = AO_S(1);
    spec.after = &first;
    spec.after_count = 1;
    spec.delay = AO_S(1);
    int64_t live = heap_live();
    if (world_submit(w, &spec, &done, text, sizeof text) != ERGON_OK) {
        assert_int_equal(heap_live(), live);
        return -1;
    }
    world_cancel(w, done.job);
    retention_forget(&w->jobs->table, done.job);
    effects_apply(w->jobs);
    return 0;
}

/* What stays for good (a queue, a tenant, rooms in tables) is made by the first. */
JOBS_TEST(without_memory_nothing_stays)
{
    w->room[1] = 0;
    w->quiet = true;
    jobs_world_submit(w, &WORK());
    assert_int_equal(submit_all_kinds(w), 0);
    for (int64_t n = 1;; n++) {
        heap_fail_at(n);
        int result = submit_all_kinds(w);
        bool met = heap_failed();
        heap_fail_at(0);
        if (!met) {
            assert_int_equal(result, 0);
            break;
        }
    }
}

/* Behind the job up to some size, beyond it by themselves. */
JOBS_TEST(parameters_are_of_any_size)
{
    static const size_t sizes[] = {
        0, 1, JOB_BODY_STEP, JOB_BODY_STEP + 1, JOB_BODY_IN_PLACE, JOB_BODY_IN_PLACE + 1, 100000};
    static uint8_t bytes[100000];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct job_spec spec = WORK(.delay = AO_S(60));
        memset(bytes, (int)i + 1, sizes[i]);
        spec.params = span_of(bytes, sizes[i]);
        const struct job *e = world_job(w, jobs_world_submit(w, &spec));
        assert_true(span_equal(job_params(e), spec.params));
        assert_true(job_bytes(e) >= sizeof *e + sizes[i]);
    }
}

/* --- What one tenant may hold --- */

static enum ergon_error submit_for(struct jobs_world *w, const char *tenant, size_t bytes)
{
    static uint8_t params[100000];
    struct submitted done;
    char text[JOB_TEXT_MAX];
    struct job_spec spec = WORK(.tenant = span_text(tenant), .delay = AO_S(30 * 86400));
    spec.params = span_of(params, bytes);
    enum ergon_error error = world_submit(w, &spec, &done, text, sizeof text);
    assert_true(error == ERGON_OK || error == ERGON_E_BUSY);
    if (error == ERGON_E_BUSY)
        assert_non_null(strstr(text, "tasks.tenant_share"));
    return error;
}

static uint32_t submit_until_busy(struct jobs_world *w, const char *tenant, size_t bytes)
{
    uint32_t count = 0;
    while (submit_for(w, tenant, bytes) == ERGON_OK)
        count++;
    return count;
}

JOBS_TEST(who_takes_all_tasks_he_can_get_leaves_some, .quiet = true)
{
    w->jobs->options.settings.limits.tenant_share = 80;
    w->jobs->options.settings.limits.max = 100;
    w->jobs->options.settings.limits.kept_bytes = 0; /* nothing is reserved */
    assert_int_equal(submit_until_busy(w, "greedy", 10), 80);
    assert_int_equal(submit_until_busy(w, "second", 10), 16);
    assert_int_equal(submit_for(w, "third", 10), ERGON_OK);
    assert_int_equal(submit_for(w, "greedy", 10), ERGON_E_BUSY);
}

/* A share of 80 % of one task is none. */
JOBS_TEST(of_one_task_a_tenant_may_have_it, .quiet = true)
{
    struct job_spec spec = WORK(.tenant = span_text("first"), .delay = AO_S(60));
    w->jobs->options.settings.limits.tenant_share = 80;
    w->jobs->options.settings.limits.max = 1;
    w->jobs->options.settings.limits.kept_bytes = 0;
    assert_int_equal(submit_for(w, "first", 10), ERGON_OK);
    assert_int_equal(submit_for(w, "first", 10), ERGON_E_BUSY);
    spec.tenant = span_text("second");
    assert_int_equal(refused(w, &spec, "1 tasks, and may not hold more (tasks.max)"), ERGON_E_BUSY);
}

JOBS_TEST(who_takes_all_bytes_he_can_get_leaves_some, .quiet = true)
{
    w->jobs->options.settings.limits.tenant_share = 80;
    w->jobs->options.settings.limits.bytes = w->jobs->table.bytes + 100 * 100000;
    w->jobs->options.settings.limits.kept_bytes = 0;
    assert_in_range(submit_until_busy(w, "greedy", 100000), 75, 80);
    assert_in_range(submit_until_busy(w, "second", 100000), 12, 18);
    assert_int_equal(submit_for(w, "third", 1000), ERGON_OK);
    const struct tenant *t = table_tenant_find(&w->jobs->table, span_text("greedy"));
    assert_true(t->open_bytes > 75 * 100000 && t->open >= 75);
    w->jobs->options.settings.limits.tenant_share = 100;
    assert_int_equal(submit_for(w, "greedy", 1000), ERGON_OK);
}

/* However many tenants submit, and whatever each may: what is kept keeps a part of the room. */
JOBS_TEST(what_is_open_leaves_room_to_what_is_kept, .quiet = true)
{
    enum { MOST = 100 * 100000, KEPT = MOST / 5 };
    struct job_spec spec = WORK(.tenant = span_text("first"));
    static uint8_t params[MOST / 20];
    struct submitted done;
    char text[JOB_TEXT_MAX], name[8];
    spec.params = span_of(params, sizeof params);
    w->jobs->options.settings.limits.bytes = w->jobs->table.bytes + MOST;
    w->jobs->options.settings.limits.kept_bytes = KEPT;
    w->lasts = 0;
    uint64_t kept = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    for (unsigned share = 80; share <= 100; share += 20) {
        w->jobs->options.settings.limits.tenant_share = share;
        for (unsigned i = 0; i < 30; i++) {
            snprintf(name, sizeof name, "t%u", i);
            spec = WORK(.tenant = span_text(name), .delay = AO_S(60));
            spec.params = span_of(params, 100000);
            while (world_submit(w, &spec, &done, text, sizeof text) == ERGON_OK)
                assert_true(w->jobs->table.open <= 90);
            stage_holds(text, "tasks.bytes");
        }
        assert_non_null(world_job(w, kept));
        assert_true(w->jobs->table.bytes <= w->jobs->options.settings.limits.bytes - KEPT / 4);
    }
    assert_in_range(w->jobs->table.open, 85, 90);
    spec.params = span_of(params, sizeof params);
    w->jobs->options.settings.limits.bytes = sizeof params;
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_E_TOO_LARGE);
}

/* What has ended makes room, and is no tenant's any more. */
JOBS_TEST(what_has_ended_does_not_count_for_its_tenant, .quiet = true)
{
    struct job_spec spec = WORK(.tenant = span_text("one"));
    uint64_t id = jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    const struct tenant *t = table_tenant_find(&w->jobs->table, span_text("one"));
    assert_int_equal(t->open, 1);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_settle(w);
    assert_int_equal(t->open, 0);
    assert_int_equal(t->open_bytes, 0);
    assert_true(world_retry(w, world_job(w, id)));
    assert_int_equal(t->open, 1);
    assert_true(t->open_bytes > 0);
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(t->open, 0);
    assert_int_equal(t->open_bytes, 0);
    assert_null(table_tenant_find(&w->jobs->table, span_text("nobody")));
}

static enum ergon_error submit_large(struct jobs_world *w, size_t bytes)
{
    static uint8_t params[5 << 20];
    struct submitted done;
    char text[JOB_TEXT_MAX];
    struct job_spec spec = WORK(.delay = AO_S(30 * 86400));
    assert_true(bytes <= sizeof params);
    spec.params = span_of(params, bytes);
    return world_submit(w, &spec, &done, text, sizeof text);
}

/* However much would have to go for a new one, or for a limit that was lowered: it goes in small
 * steps, and until then what is new is refused. */
JOBS_TEST(what_is_beyond_goes_in_small_steps, .quiet = true)
{
    enum { KEPT = 6000, LEFT = 100 };
    w->jobs->options.settings.limits.tenant_share = 100;
    w->lasts = 0;
    w->room[1] = 100;
    for (unsigned i = 0; i < KEPT; i++)
        jobs_world_submit(w, &WORK(.keep = AO_S(3600)));
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(w->jobs->table.count, KEPT);
    w->jobs->options.settings.limits.max = LEFT;
    uint64_t before = w->jobs->table.count;
    assert_int_equal(submit_large(w, 10), ERGON_E_BUSY);
    assert_in_range(before - w->jobs->table.count, 1000, 3000);
    ao_activate(&w->jobs->ao);
    before = w->jobs->table.count;
    virtual_round(&w->v, w->manager);
    assert_in_range(before - w->jobs->table.count, 1, 100);
    jobs_world_pass(w, AO_S(10));
    assert_int_equal(w->jobs->table.count, LEFT);
    assert_int_equal(submit_large(w, 10), ERGON_OK);
}

/* A large one finds room, though many small ones have to go for it. */
JOBS_TEST(room_is_made_for_what_was_refused, .quiet = true)
{
    enum { KEPT = 6000 };
    w->jobs->options.settings.limits.tenant_share = 100;
    w->jobs->options.settings.limits.kept_bytes = UINT64_MAX / 4;
    w->lasts = 0;
    w->room[1] = 100;
    for (unsigned i = 0; i < KEPT; i++)
        jobs_world_submit(w, &WORK(.keep = AO_S(3600)));
    jobs_world_pass(w, AO_S(10));
    size_t bytes = w->jobs->table.bytes;
    w->jobs->options.settings.limits.bytes = bytes;
    assert_int_equal(submit_large(w, bytes * 7 / 10), ERGON_E_BUSY);
    ao_activate(&w->jobs->ao);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(submit_large(w, bytes * 7 / 10), ERGON_OK);
}
