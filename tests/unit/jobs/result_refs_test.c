/* Parameters that name results: what is refused, what the attempt gets, and how long what they name
 * is kept. */
#include <stdio.h>
#include <string.h>

#include "server/jobs/life/retention.h"
#include "server/jobs/sched/result_refs.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

/* Parameters in the notation of tests, in which $1, $2 are ids. */
struct params {
    uint8_t bytes[512];
    size_t len;
};

static struct span params_of(struct params *p, const char *text, const uint64_t *ids)
{
    char full[400] = "", id[ID_TEXT_SIZE];
    for (size_t at = 0; *text; text++) {
        bool is_id = text[0] == '$' && text[1] >= '1' && text[1] <= '9';
        at += (size_t)(is_id ? snprintf(full + at, sizeof full - at, "%s",
                                        id_text(ids[*++text - '1'], id))
                             : snprintf(full + at, sizeof full - at, "%c", *text));
    }
    p->len = notation_pack(full, p->bytes, sizeof p->bytes);
    return span_of(p->bytes, p->len);
}

/* A task whose parameters are these, and that comes after those ids. */
static struct job_spec naming(struct params *p, const char *text, const uint64_t *ids,
                              uint32_t count)
{
    struct job_spec spec = WORK(.after = ids, .after_count = count);
    spec.params = params_of(p, text, ids);
    return spec;
}

static enum ergon_error submit(struct jobs_world *w, const char *text, const uint64_t *ids,
                               uint32_t count, struct submitted *out, char *why)
{
    struct params p;
    struct job_spec spec = naming(&p, text, ids, count);
    return world_submit(w, &spec, out, why, JOB_TEXT_MAX);
}

static void expect_params(const struct world_run *r, const char *text)
{
    struct params wanted;
    assert_non_null(r);
    params_of(&wanted, text, NULL);
    assert_int_equal(r->run.params.len, wanted.len);
    assert_memory_equal(r->run.params.at, wanted.bytes, wanted.len);
}

static uint64_t submit_well(struct jobs_world *w, const char *text, const uint64_t *ids,
                            uint32_t count)
{
    struct submitted out;
    char why[JOB_TEXT_MAX] = "";
    if (submit(w, text, ids, count, &out, why) != ERGON_OK)
        fail_msg("%s", why);
    return out.job->id;
}

JOBS_TEST(a_reference_anywhere_is_replaced_by_the_result, .room = 4)
{
    uint64_t ids[2] = {stage_submit(w), stage_submit(w)};
    uint64_t id = submit_well(
        w, "[{'a': [{'$result': '$1'}, 7], '$result': 1}, {'$result': '$2'}, {'$result': '$1'}]",
        ids, 2);
    world_finish(world_run_of(w, ids[0]), "\x2a");
    world_finish(world_run_of(w, ids[1]), "\x91\xc3");
    jobs_world_settle(w);
    expect_params(world_run_of(w, id), "[{'a': [42, 7], '$result': 1}, [true], 42]");
    assert_true(memmem(world_job(w, id)->body, world_job(w, id)->params_len, "$result", 7) != NULL);
}

/* More than the first walk notes. */
JOBS_TEST(many_references_are_replaced, .room = 4)
{
    uint64_t ids[2] = {stage_submit(w), stage_submit(w)};
    uint64_t id = submit_well(w,
                              "[0, {'$result': '$1'}, {'$result': '$2'}, 1, {'$result': '$1'}, "
                              "{'$result': '$1'}, {'$result': '$2'}, {'$result': '$2'}, 2]",
                              ids, 2);
    world_finish(world_run_of(w, ids[0]), "\x2a");
    world_finish(world_run_of(w, ids[1]), "\x91\xc3");
    jobs_world_settle(w);
    expect_params(world_run_of(w, id), "[0, 42, [true], 1, 42, 42, [true], [true], 2]");
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    assert_int_equal(world_job(w, ids[0])->more->readers, 0);
}

JOBS_TEST(each_attempt_gets_the_same, .room = 4)
{
    uint64_t first = stage_submit(w), id;
    struct params p;
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.retries = 1;
    id = jobs_world_submit(w, &spec);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    jobs_world_pass(w, AO_S(10));
    expect_params(world_run_of(w, id), "[42]");
}

static void expect_refusal(struct jobs_world *w, const char *text, const uint64_t *ids,
                           uint32_t count, enum ergon_error error, const char *wanted)
{
    struct submitted out;
    char why[JOB_TEXT_MAX] = "";
    assert_int_equal(submit(w, text, ids, count, &out, why), error);
    stage_holds(why, wanted);
}

JOBS_TEST(a_reference_that_cannot_be_followed_is_refused)
{
    uint64_t ids[2] = {stage_submit(w), stage_submit(w)};
    expect_refusal(w, "[{'$result': '$1'}]", ids, 0, ERGON_E_BAD_PARAMS, "`after` has to name");
    expect_refusal(w, "[[{'$result': '$2'}]]", ids, 1, ERGON_E_BAD_PARAMS, "`after` has to name");
    expect_refusal(w, "[{'$result': 7}]", ids, 1, ERGON_E_BAD_PARAMS, "expects the id of a task");
    expect_refusal(w, "{'$result': 'rubbish'}", ids, 1, ERGON_E_BAD_PARAMS, "expects the id");
    submit_well(w, "['$result', {'$result': 1, 'b': 2}]", ids, 0);
}

JOBS_TEST(it_may_have_many_values_but_not_any_number)
{
    static uint8_t bytes[REFS_LOOK + 100];
    uint64_t first = stage_submit(w);
    struct params p;
    struct span ref = params_of(&p, "{'$result': '$1'}", &first);
    uint32_t count = REFS_LOOK - 1;
    uint8_t head[] = {0xdd, (uint8_t)(count >> 24), (uint8_t)(count >> 16), (uint8_t)(count >> 8),
                      (uint8_t)count};
    for (unsigned more = 0; more < 2; more++) {
        struct submitted out;
        char why[JOB_TEXT_MAX] = "";
        head[4] = (uint8_t)(count + more);
        memcpy(bytes, head, sizeof head);
        memset(bytes + sizeof head, 1, count - 1 + more);
        memcpy(bytes + sizeof head + count - 1 + more, ref.at, ref.len);
        struct job_spec spec = WORK(.after = &first, .after_count = 1);
        spec.params = span_of(bytes, sizeof head + count - 1 + more + ref.len);
        enum ergon_error error = world_submit(w, &spec, &out, why, sizeof why);
        assert_int_equal(error, more ? ERGON_E_TOO_LARGE : ERGON_OK);
    }
}

STORED_TEST(a_durable_task_reads_no_result_in_memory)
{
    struct params p;
    struct submitted out;
    char why[JOB_TEXT_MAX] = "";
    uint64_t first = stage_submit(w);
    jobs_world_settle(w);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_settle(w);
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.durable = DURABLE_FSYNC;
    assert_int_equal(world_submit(w, &spec, &out, why, sizeof why), ERGON_E_BAD_PARAMS);
    stage_holds(why, "kept in memory only");
    spec.durable = DURABLE_NONE;
    spec.key = span_text("k");
    w->room[1] = 0;
    assert_int_equal(world_submit(w, &spec, &out, why, sizeof why), ERGON_OK);
    spec.durable = DURABLE_FSYNC;
    assert_int_equal(world_submit(w, &spec, &out, why, sizeof why), ERGON_E_BAD_PARAMS);
}

JOBS_TEST(what_gets_too_deep_fails, .room = 2)
{
    static char deep[200];
    uint64_t first = stage_submit(w), id;
    id = submit_well(w, "[{'$result': '$1'}]", &first, 1);
    jobs_world_settle(w);
    memset(deep, '\x91', REFS_DEPTH);
    deep[REFS_DEPTH] = '\x01';
    world_finish(world_run_of(w, first), deep);
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_FAILED);
    assert_string_equal(world_job(w, id)->end->code, "TOO_DEEP");
}

static bool nobody_may(const void *arg, const struct job *job)
{
    (void)arg, (void)job;
    return false;
}

static bool everybody_may(const void *arg, const struct job *job)
{
    (void)arg, (void)job;
    return true;
}

JOBS_TEST(a_submitter_that_may_not_read_a_result_is_refused)
{
    const struct submitter rights = {.may_join = everybody_may, .waits = {.may_read = nobody_may}};
    uint64_t first = stage_submit(w);
    struct params p;
    struct submitted out;
    char why[JOB_TEXT_MAX] = "";
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    assert_int_equal(job_submit(w->jobs, &spec, &rights, &out, why, sizeof why), ERGON_E_DENIED);
    stage_holds(why, "may not read");
    assert_int_equal(world_job(w, first)->more->readers, 0);
}

/* --- Kept --- */

static uint64_t submit_kept(struct jobs_world *w, ao_time keep, uint8_t durable)
{
    struct job_spec spec = WORK(.durable = durable);
    spec.policy.keep = keep;
    return jobs_world_submit(w, &spec);
}

JOBS_TEST(what_it_names_is_kept_until_its_end, .room = 4)
{
    uint64_t first = submit_kept(w, 0, DURABLE_NONE);
    jobs_world_settle(w);
    uint64_t one = submit_well(w, "[{'$result': '$1'}]", &first, 1);
    uint64_t other = submit_well(w, "[{'$result': '$1'}, {'$result': '$1'}]", &first, 1);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_pass(w, AO_S(3600));
    world_finish(world_run_of(w, other), "\xc0");
    jobs_world_pass(w, AO_S(3600));
    assert_int_equal(world_job(w, first)->more->readers, 1);
    assert_false(retention_may_forget(world_job(w, first)));
    world_finish(world_run_of(w, one), "\xc0");
    jobs_world_pass(w, AO_S(5));
    assert_null(world_job(w, first));
}

STORED_TEST(a_restart_finds_it_again)
{
    uint64_t first = submit_kept(w, 0, DURABLE_FSYNC), second;
    struct params p;
    jobs_world_settle(w);
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.durable = DURABLE_FSYNC;
    second = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_S(1));
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_pass(w, AO_S(60));
    expect_params(world_run_of(w, second), "[42]");
    for (unsigned i = 0; i < 2; i++) {
        jobs_world_crash(w);
        jobs_world_pass(w, AO_S(60));
        expect_params(world_run_of(w, second), "[42]");
        assert_int_equal(w->jobs->table.read_bytes, job_bytes(world_job(w, first)));
    }
    world_finish(world_run_of(w, second), "\xc0");
    jobs_world_pass(w, AO_S(5));
    assert_null(world_job(w, first));
    assert_int_equal(w->jobs->table.read_bytes, 0);
    stage_balances(w);
}

/* The next owner may be of the version before, which would not know what it has to do with them. */
STORED_TEST(durable_tasks_name_no_results_before_an_upgrade_is_finished)
{
    uint64_t first = submit_kept(w, AO_S(60), DURABLE_FSYNC);
    char why[JOB_TEXT_MAX];
    struct submitted out;
    struct params p;
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.durable = DURABLE_FSYNC;
    w->store->lacks_actors = true;
    assert_int_equal(world_submit(w, &spec, &out, why, sizeof why), ERGON_E_STORE);
    stage_holds(why, "ergon cluster upgrade --finish");
    spec.durable = DURABLE_NONE;
    assert_int_equal(world_submit(w, &spec, &out, why, sizeof why), ERGON_OK);
    w->store->lacks_actors = false;
    spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.durable = DURABLE_FSYNC;
    assert_int_equal(world_submit(w, &spec, &out, why, sizeof why), ERGON_OK);
}

/* A task that has ended, with parameters of 100,000 bytes, and an open one that is to read its
 * result. */
static enum ergon_error hold_one(struct jobs_world *w, const char *tenant)
{
    static uint8_t large[100000];
    struct submitted out;
    struct params p;
    char why[JOB_TEXT_MAX];
    struct job_spec spec = WORK(.tenant = span_text(tenant));
    spec.params = span_of(large, sizeof large);
    enum ergon_error error = world_submit(w, &spec, &out, why, sizeof why);
    if (error != ERGON_OK) {
        stage_holds(why, "results that these read");
        return error;
    }
    uint64_t id = out.job->id;
    spec = naming(&p, "[{'$result': '$1'}]", &id, 1);
    spec.tenant = span_text(tenant);
    spec.delay = AO_S(30 * 86400);
    jobs_world_submit(w, &spec);
    jobs_world_settle(w);
    world_finish(world_run_of(w, id), "\xc0");
    jobs_world_settle(w);
    return ERGON_OK;
}

static uint32_t hold_until_busy(struct jobs_world *w, const char *tenant)
{
    uint32_t count = 0;
    while (hold_one(w, tenant) == ERGON_OK)
        count++;
    return count;
}

JOBS_TEST(what_is_to_be_read_counts_to_the_share_of_its_tenant, .room = 1, .quiet = true)
{
    w->jobs->options.settings.limits.tenant_share = 80;
    w->jobs->options.settings.limits.bytes = w->jobs->table.bytes + 100 * 100000;
    w->jobs->options.settings.limits.kept_bytes = 0; /* nothing is reserved */
    assert_in_range(hold_until_busy(w, "greedy"), 75, 80);
    assert_in_range(hold_until_busy(w, "second"), 12, 18);
    assert_int_equal(hold_one(w, "third"), ERGON_OK);
    const struct tenant *t = table_tenant_find(&w->jobs->table, span_text("greedy"));
    assert_true(t->read_bytes > 75 * 100000 && t->read_bytes < w->jobs->table.read_bytes);
}

static void expect_end(struct jobs_world *w, uint64_t id, const char *wanted)
{
    char text[JOB_LINE_MAX];
    assert_int_equal(world_state(w, id), JOB_FAILED);
    job_end_text(world_job(w, id), text);
    stage_holds(text, wanted);
}

JOBS_TEST(a_result_that_was_cut_fails_it_with_the_reason, .room = 4)
{
    struct job_spec spec = WORK();
    spec.policy.keep_size = 1;
    uint64_t first = jobs_world_submit(w, &spec);
    uint64_t id = submit_well(w, "[{'$result': '$1'}]", &first, 1);
    jobs_world_settle(w);
    world_finish(world_run_of(w, first), "\xa3\x61\x62\x63");
    jobs_world_settle(w);
    expect_end(w, id, "TOO_LARGE: a result that its parameters name was larger");
}

JOBS_TEST(together_they_may_be_as_large_as_a_message, .room = 4)
{
    uint64_t first = stage_submit(w), fits, not ;
    w->params_max = 9;
    fits = submit_well(w, "[{'$result': '$1'}, {'$result': '$1'}]", &first, 1);
    not = submit_well(w, "[{'$result': '$1'}, {'$result': '$1'}, 7]", &first, 1);
    world_finish(world_run_of(w, first), "\xa3\x61\x62\x63");
    jobs_world_settle(w);
    expect_params(world_run_of(w, fits), "['abc', 'abc']");
    expect_end(w, not, "TOO_LARGE: with the results that they name its parameters take 10 bytes");
}

JOBS_TEST(one_that_is_tried_again_holds_it_again, .room = 4)
{
    uint64_t first = submit_kept(w, AO_S(10), DURABLE_NONE);
    jobs_world_settle(w);
    uint64_t id = submit_well(w, "[{'$result': '$1'}]", &first, 1);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_settle(w);
    world_fail(world_run_of(w, id), "ODD", "not today");
    assert_int_equal(world_job(w, first)->more->readers, 0);
    assert_int_equal(w->jobs->table.read_bytes, 0);
    w->room[1] = 0;
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_pass(w, AO_S(20));
    assert_int_equal(w->jobs->table.read_bytes, job_bytes(world_job(w, first)));
    w->room[1] = 4;
    ao_activate(&w->pump);
    jobs_world_settle(w);
    expect_params(world_run_of(w, id), "[42]");
    world_fail(world_run_of(w, id), "ODD", "nor today");
    jobs_world_pass(w, AO_S(20));
    assert_null(world_job(w, first));
    assert_true(world_retry(w, world_job(w, id)));
    jobs_world_settle(w);
    expect_end(w, id, "NOT_FOUND: a result that its parameters name is not known any more");
}

JOBS_TEST(what_an_attempt_reads_outlives_its_timeout, .room = 4)
{
    uint64_t first = stage_submit(w);
    struct params p;
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.timeout = AO_S(1);
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &spec);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_settle(w);
    struct world_run *late = world_run_of(w, id);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_state(w, id), JOB_FAILED);
    expect_params(late, "[42]");
    world_finish(late, "\xc0");
    jobs_world_settle(w);
    assert_null(world_job(w, id)->more->filled);
}

JOBS_TEST(what_an_attempt_reads_outlives_the_next_attempt, .room = 4)
{
    uint64_t first = stage_submit(w);
    struct params p;
    struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
    spec.timeout = AO_S(1);
    spec.retries = 1;
    w->stubborn = true;
    uint64_t id = jobs_world_submit(w, &spec);
    world_finish(world_run_of(w, first), "\x2a");
    jobs_world_settle(w);
    struct world_run *late = world_run_of(w, id);
    jobs_world_pass(w, AO_MS(1500));
    for (int i = 0; i < 100 && world_run_of(w, id) == late; i++)
        jobs_world_pass(w, AO_MS(100));
    struct world_run *next = world_run_of(w, id);
    assert_ptr_not_equal(next, late);
    world_finish(next, "\x01");
    jobs_world_settle(w);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_non_null(world_job(w, id)->more->filled); /* what was freed may look the same */
    expect_params(late, "[42]");
    world_finish(late, "\xc0");
    jobs_world_settle(w);
    assert_null(world_job(w, id)->more->filled);
}

/* Whichever allocation fails, it begins with the result, or was refused. */
STORED_TEST(any_allocation_may_fail)
{
    bool met = true;
    w->quiet = true;
    w->room[1] = 4;
    for (int64_t n = 1; met; n++) {
        struct params p;
        struct submitted out;
        char why[JOB_TEXT_MAX];
        uint64_t first = submit_kept(w, 0, DURABLE_FSYNC), id = 0;
        struct job_spec spec = naming(&p, "[{'$result': '$1'}]", &first, 1);
        spec.durable = DURABLE_FSYNC;
        jobs_world_settle(w);
        heap_fail_at(n);
        if (world_submit(w, &spec, &out, why, sizeof why) == ERGON_OK)
            id = out.job->id;
        jobs_world_pass(w, AO_S(2));
        if (world_run_of(w, first))
            world_finish(world_run_of(w, first), "\x2a");
        jobs_world_pass(w, AO_S(2));
        met = heap_failed();
        heap_fail_at(0);
        jobs_world_pass(w, AO_S(2));
        if (id != 0 && world_job(w, id) && world_state(w, id) == JOB_RUNNING) {
            expect_params(world_run_of(w, id), "[42]");
            world_finish(world_run_of(w, id), "\xc0");
        }
        jobs_world_pass(w, AO_S(5));
        assert_null(world_job(w, first));
    }
    stage_balances(w);
}
