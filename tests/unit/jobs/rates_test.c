/* A rate holds across restarts and crashes, whatever became of its tasks. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/random.h"

enum { STARTS = 4000 };

struct starts {
    ao_time at[STARTS];
    uint32_t count;
    struct jobs_world *w;
};

static struct starts starts;

static void note_start(void *arg, struct world_run *r, ao_time *lasts)
{
    assert_in_range(starts.count, 0, STARTS - 1);
    starts.at[starts.count++] = starts.w->v.now;
    *lasts = AO_MS(2);
}

static void follow(struct jobs_world *w)
{
    starts = (struct starts){.w = w};
    w->begun = note_start;
}

static void never_too_many(uint32_t max, ao_time per)
{
    for (uint32_t i = max; i < starts.count; i++)
        if (starts.at[i] - starts.at[i - max] < per)
            fail_msg("start %u is %llu ms behind the one that is %u before", i,
                     (unsigned long long)((starts.at[i] - starts.at[i - max]) / AO_MS(1)), max);
}

#define RATE_TEST(name) JOBS_TEST(name, .stored = true, .quiet = true, .room = 50)
#define RATED(...)      WORK(.rate_key = span_text("k"), .keep = 0, __VA_ARGS__)

static void submit_many(struct jobs_world *w, const struct job_spec *spec, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        jobs_world_submit(w, spec);
}

/* The times of the starts are known: what follows comes to the very moment. */
RATE_TEST(a_stop_in_order_forgets_nothing)
{
    struct job_spec spec = RATED(.rate = 3, .rate_per = AO_S(10));
    follow(w);
    submit_many(w, &spec, 2);
    jobs_world_pass(w, AO_S(4));
    submit_many(w, &spec, 1);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(starts.count, 3);
    ao_time first = starts.at[0];
    for (unsigned i = 0; i < 3; i++) {
        jobs_world_restart(w);
        if (i == 1)
            submit_many(w, &spec, 3);
        jobs_world_pass(w, AO_MS(500));
    }
    assert_int_equal(starts.count, 3); /* in memory, they were lost with the restart */
    submit_many(w, &spec, 5);
    jobs_world_pass(w, AO_S(20));
    assert_int_equal(starts.count, 8);
    assert_in_range(starts.at[3] - first, AO_S(10), AO_S(10) + AO_MS(5));
    never_too_many(3, AO_S(10));
}

/* The process dies at once after the start, whose time the file never heard of. */
RATE_TEST(a_start_of_the_last_moment_counts)
{
    struct job_spec spec = RATED(.rate = 2, .rate_per = AO_S(10));
    follow(w);
    submit_many(w, &spec, 2);
    for (unsigned ms = 0; starts.count == 0 && ms < 10; ms++)
        jobs_world_pass(w, AO_MS(1));
    assert_int_equal(starts.count, 2);
    jobs_world_crash(w);
    submit_many(w, &spec, 4);
    jobs_world_pass(w, AO_S(10) - AO_MS(1));
    assert_int_equal(starts.count, 2);
    jobs_world_pass(w, AO_MS(20));
    assert_int_equal(starts.count, 4);
    never_too_many(2, AO_S(10));
}

/* A second later the file knows their times: a crash costs nothing. */
RATE_TEST(after_a_crash_the_starts_count_as_of_their_time)
{
    struct job_spec spec = RATED(.rate = 2, .rate_per = AO_S(10));
    follow(w);
    submit_many(w, &spec, 2);
    jobs_world_pass(w, AO_S(8));
    jobs_world_crash(w);
    submit_many(w, &spec, 2);
    jobs_world_pass(w, AO_S(2) + AO_MS(20));
    assert_int_equal(starts.count, 4);
    never_too_many(2, AO_S(10));
}

static void crashes_by_chance(struct jobs_world *w, uint32_t max, ao_time per, uint8_t durable)
{
    struct job_spec spec = RATED(.rate = max, .rate_per = per, .durable = durable);
    uint64_t seed = max;
    follow(w);
    for (unsigned i = 0; i < (durable == DURABLE_NONE ? 300 : 60); i++) {
        submit_many(w, &spec, (uint32_t)chance(&seed, 4) * max / 8 + 1);
        jobs_world_pass(w, chance(&seed, 3) ? chance(&seed, AO_MS(20)) : chance(&seed, per / 2));
        if (chance(&seed, 4) == 0)
            jobs_world_crash(w);
        else if (chance(&seed, 8) == 0)
            jobs_world_restart(w);
    }
    assert_true(starts.count > 2 * max);
    never_too_many(max, per);
}

RATE_TEST(crashes_by_chance_one_in_memory)
{
    crashes_by_chance(w, 1, AO_S(1), DURABLE_NONE);
}

RATE_TEST(crashes_by_chance_few_async)
{
    crashes_by_chance(w, 7, AO_S(2), DURABLE_ASYNC);
}

RATE_TEST(crashes_by_chance_many_fsync)
{
    crashes_by_chance(w, 40, AO_MS(700), DURABLE_FSYNC);
}

RATE_TEST(crashes_by_chance_very_many)
{
    crashes_by_chance(w, 100, AO_S(1), DURABLE_NONE);
}

/* As many start as may, though each is written before. */
RATE_TEST(the_file_costs_no_start)
{
    struct job_spec spec = RATED(.rate = 100, .rate_per = AO_S(1));
    follow(w);
    submit_many(w, &spec, 1000);
    jobs_world_pass(w, AO_S(5) - AO_MS(1));
    assert_in_range(starts.count, 495, 500);
    never_too_many(100, AO_S(1));
    assert_true(w->store->operations < 200);
}

RATE_TEST(the_row_goes_when_the_last_start_is_past)
{
    struct job_spec spec = RATED(.rate = 2, .rate_per = AO_S(10));
    follow(w);
    submit_many(w, &spec, 1);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(w->store->rows.rate_count, 1);
    assert_int_equal(w->store->rows.rates[0].promised, 0);
    jobs_world_pass(w, AO_S(9));
    assert_int_equal(w->store->rows.rate_count, 0);
    assert_null(limit_table_rate(w->jobs->sched.limits, NULL));
    submit_many(w, &spec, 1);
    jobs_world_pass(w, AO_S(2));
    jobs_world_crash(w);
    w->v.now += AO_S(100); /* the machine was off meanwhile */
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(w->store->rows.rate_count, 0);
    assert_null(limit_table_rate(w->jobs->sched.limits, NULL));
}

RATE_TEST(a_store_that_fails_holds_nobody_back)
{
    struct job_spec spec = RATED(.rate = 2, .rate_per = AO_S(10));
    follow(w);
    w->store->error = STORE_FULL;
    submit_many(w, &spec, 4);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(starts.count, 2);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(1) + AO_MS(10));
    jobs_world_crash(w);
    submit_many(w, &spec, 4);
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(starts.count, 2);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(starts.count, 4);
    never_too_many(2, AO_S(10));
}

/* The line of a limit goes on to that of a rate of which the file has heard nothing yet. */
RATE_TEST(who_has_waited_for_a_limit_is_told_of_at_its_rate)
{
    jobs_world_submit(w, &WORK(.limit_key = span_text("l"), .limit = 1));
    jobs_world_settle(w);
    uint64_t id = jobs_world_submit(
        w, &RATED(.rate = 2, .rate_per = AO_S(10), .limit_key = span_text("l"), .limit = 1));
    jobs_world_settle(w);
    assert_int_equal(world_reason(w, id), JOB_WHY_LIMIT);
    world_finish(w->runs, "\xc0");
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    assert_int_equal(w->store->rows.rate_count, 1);
    assert_true(w->store->rows.rates[0].promised > 0);
}

/* Whoever makes rates, and lets their tasks be forgotten, takes no more than a tenant may, also
 * when they are read back. */
RATE_TEST(rates_without_tasks_leave_room_to_others)
{
    enum { ROOM = 10000 };
    char key[16], text[JOB_TEXT_MAX];
    struct submitted done;
    struct job_spec spec =
        WORK(.tenant = span_text("greedy"), .keep = 0, .rate = 1, .rate_per = AO_S(86400));
    struct job_spec other = WORK(.tenant = span_text("other"), .keep = 0);
    enum ergon_error error = ERGON_OK;
    follow(w);
    w->jobs->options.settings.limits.tenant_share = 50;
    w->jobs->options.settings.limits.bytes = w->jobs->table.bytes + ROOM;
    for (unsigned i = 0; i < 2000 && error == ERGON_OK; i++) {
        snprintf(key, sizeof key, "k%u", i);
        spec.rate_key = span_text(key);
        error = world_submit(w, &spec, &done, text, sizeof text);
        jobs_world_pass(w, AO_MS(10));
    }
    assert_int_equal(error, ERGON_E_BUSY);
    stage_holds(text, "its share of tasks.bytes");
    for (unsigned restarts = 0; restarts < 2; restarts++) {
        const struct tenant *greedy = table_tenant_find(&w->jobs->table, span_text("greedy"));
        assert_int_equal(greedy->open, 0);
        assert_in_range(greedy->open_bytes, ROOM / 4, ROOM / 2);
        assert_int_equal(w->jobs->table.open_bytes, greedy->open_bytes);
        assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_E_BUSY);
        assert_int_equal(world_submit(w, &other, &done, text, sizeof text), ERGON_OK);
        jobs_world_pass(w, AO_S(1));
        jobs_world_restart(w);
        w->jobs->options.settings.limits.tenant_share = 50;
        w->jobs->options.settings.limits.bytes = ROOM;
    }
    jobs_world_pass(w, AO_S(2 * 86400));
    assert_int_equal(w->jobs->table.open_bytes, 0);
    assert_int_equal(world_submit(w, &spec, &done, text, sizeof text), ERGON_OK);
}
