/* A task that crashes the server dies alone: what ran beside it is run to its end. */
#include "tests/support/cmocka_env.h"
#include "tests/support/jobs_stage.h"

enum { NEIGHBOURS = 20, CRASHES_MOST = 20 };

static uint64_t submit(struct jobs_world *w)
{
    return jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC));
}

/* As often as all are out, until each of them is a suspect. */
static void crash_twice(struct jobs_world *w)
{
    for (unsigned i = 0; i < 2; i++) {
        jobs_world_pass(w, AO_MS(5));
        jobs_world_crash(w);
    }
}

/* The poison brings the server down 2 ms after each of its starts; the others take 10 ms. */
static unsigned live_with(struct jobs_world *w, uint64_t poison)
{
    unsigned crashes = 0;
    for (unsigned ms = 0; ms < 2000 && crashes < CRASHES_MOST; ms++) {
        jobs_world_pass(w, AO_MS(1));
        if (!world_run_of(w, poison))
            continue;
        jobs_world_pass(w, AO_MS(2));
        jobs_world_crash(w);
        crashes++;
    }
    return crashes;
}

static void poison_among_neighbours(struct jobs_world *w, uint32_t room, unsigned place)
{
    uint64_t ids[NEIGHBOURS + 1];
    w->quiet = true;
    w->room[1] = room;
    w->lasts = AO_MS(10);
    for (unsigned i = 0; i <= NEIGHBOURS; i++)
        ids[i] = submit(w);
    assert_int_equal(live_with(w, ids[place]), 3);
    for (unsigned i = 0; i <= NEIGHBOURS; i++)
        assert_int_equal(world_state(w, ids[i]), i == place ? JOB_DEAD : JOB_DONE);
}

STORED_TEST(only_the_poison_dies)
{
    poison_among_neighbours(w, 64, NEIGHBOURS / 2);
}

STORED_TEST(only_the_poison_dies_where_others_wait)
{
    poison_among_neighbours(w, 4, 2);
}

STORED_TEST(what_is_no_suspect_runs_beside_one)
{
    w->room[1] = 4;
    uint64_t one = submit(w), two = submit(w);
    crash_twice(w);
    uint64_t other = submit(w);
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, one));
    assert_non_null(world_run_of(w, other));
    assert_int_equal(world_reason(w, two), JOB_WHY_SUSPECT);
    world_finish(world_run_of(w, one), "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, two));
}

/* Its handler may still do what made the server crash. */
STORED_TEST(one_that_outlived_its_timeout_is_still_out)
{
    w->room[1] = 2;
    w->stubborn = true;
    uint64_t one = jobs_world_submit(w, &WORK(.durable = DURABLE_FSYNC, .timeout = AO_MS(100))),
             two = submit(w);
    crash_twice(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, one), JOB_FAILED);
    assert_int_equal(world_reason(w, two), JOB_WHY_SUSPECT);
    world_finish(world_run_of(w, one), "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, two));
}

STORED_TEST(the_place_goes_on_when_its_owner_is_gone_or_held_back)
{
    struct job_spec spec = WORK(.durable = DURABLE_FSYNC), limited = spec;
    w->room[1] = 8;
    limited.limit_key = span_text("k");
    limited.limit = 8;
    uint64_t ids[4];
    for (unsigned i = 0; i < 4; i++)
        ids[i] = jobs_world_submit(w, i == 1 ? &limited : &spec);
    crash_twice(w);
    spec.limit_key = span_text("k");
    spec.limit = 1;
    uint64_t holder = jobs_world_submit(w, &spec);
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, holder));
    world_cancel(w, world_job(w, ids[2]));
    world_finish(world_run_of(w, ids[0]), "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_reason(w, ids[1]), JOB_WHY_LIMIT);
    assert_non_null(world_run_of(w, ids[3]));
    world_finish(world_run_of(w, holder), "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_int_equal(world_reason(w, ids[1]), JOB_WHY_SUSPECT);
    world_finish(world_run_of(w, ids[3]), "\x01");
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, ids[1]));
}

STORED_TEST(one_that_is_tried_again_is_none)
{
    w->room[1] = 2;
    uint64_t one = submit(w), two = submit(w);
    crash_twice(w);
    jobs_world_pass(w, AO_MS(5));
    world_cancel(w, world_job(w, two));
    jobs_world_pass(w, AO_MS(5));
    assert_true(world_retry(w, world_job(w, two)));
    jobs_world_pass(w, AO_MS(5));
    assert_non_null(world_run_of(w, one));
    assert_non_null(world_run_of(w, two));
}
