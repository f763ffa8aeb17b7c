/* Submissions of an attempt belong to its end: all of them, or none, whatever fails. */
#include "server/jobs/sched/queueing.h"
#include "server/tasks/turn.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/jobs_stage.h"
#include "tests/support/notation.h"

/* Options of one that is submitted, in the notation of tests; NULL: none. */
static void adds(struct attempt_turn *turn, const char *method, const char *options)
{
    uint8_t raw[200];
    struct turn_message_parts parts = {.method = span_text(method)};
    if (options)
        parts.options = span_of(raw, notation_pack(options, raw, sizeof raw));
    assert_null(turn_send(turn, &parts));
}

static void ends_with(struct world_run *r, struct attempt_turn *turn)
{
    struct outcome outcome = {.error = ERGON_OK, .result = span_text("\x2a")};
    struct attempt_end end = {.turn = turn, .outcome = &outcome};
    assert_non_null(r);
    world_return(r, &end);
    turn_free(turn);
}

static struct attempt_turn *sender(void)
{
    struct attempt_turn *turn = turn_new((struct span){0}, (struct span){0}, NULL);
    assert_non_null(turn);
    return turn;
}

/* The attempt of the task that is out ends well, and submits so many tasks like this. */
static void submits(struct jobs_world *w, uint64_t id, unsigned count, const char *options)
{
    struct attempt_turn *turn = sender();
    for (unsigned i = 0; i < count; i++)
        adds(turn, "work", options);
    ends_with(world_run_of(w, id), turn);
    jobs_world_settle(w);
}

static uint64_t begin(struct jobs_world *w, uint8_t durable)
{
    uint64_t id = jobs_world_submit(w, &WORK(.durable = durable, .retries = 2));
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    return id;
}

static uint64_t held(const struct jobs_world *w)
{
    return w->jobs->table.count;
}

JOBS_TEST(all_in_memory_comes_at_once, .room = 4)
{
    uint64_t id = begin(w, DURABLE_NONE);
    submits(w, id, 3, NULL);
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(held(w), 4);
    for (unsigned i = 1; i <= 3; i++)
        assert_non_null(world_run_of(w, id + i));
}

JOBS_TEST(one_that_is_refused_takes_back_all, .room = 4)
{
    uint64_t id = begin(w, DURABLE_NONE), count = held(w);
    struct attempt_turn *turn = sender();
    adds(turn, "work", NULL);
    adds(turn, "nobody_has_it", NULL);
    ends_with(world_run_of(w, id), turn);
    jobs_world_settle(w);
    assert_int_equal(held(w), count);
    assert_int_equal(world_state(w, id), JOB_FAILED);
    stage_holds(world_job(w, id)->end->text,
                "nobody_has_it for a task, which the attempt sends, is refused");
    id = begin(w, DURABLE_NONE);
    turn = sender();
    adds(turn, "work", "{'tenant': 'another'}");
    ends_with(world_run_of(w, id), turn);
    assert_string_equal(world_job(w, id)->end->code, "DENIED");
}

JOBS_TEST(only_an_end_that_counts_submits, .room = 4)
{
    uint64_t id = begin(w, DURABLE_NONE);
    struct attempt_turn *turn = sender();
    struct outcome failed = {.error = ERGON_E_FAILED, .code = "ODD", .text = span_text("x")};
    struct attempt_end end = {.turn = turn, .outcome = &failed};
    adds(turn, "work", NULL);
    world_return(world_run_of(w, id), &end);
    turn_free(turn);
    assert_int_equal(held(w), 1);
    jobs_world_pass(w, AO_S(2));
    w->stubborn = true;
    struct world_run *late = world_run_of(w, id);
    assert_true(world_cancel(w, world_job(w, id)));
    turn = sender();
    adds(turn, "work", NULL);
    ends_with(late, turn);
    jobs_world_settle(w);
    assert_int_equal(held(w), 1);
    assert_int_equal(world_state(w, id), JOB_CANCELLED);
}

STORED_TEST(it_is_on_disk_with_the_end_of_the_task)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    w->room[1] = 4;
    submits(w, id, 3, NULL);
    assert_true(job_is(world_job(w, id), JOB_ENDING));
    assert_null(world_run_of(w, id + 1));
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_state(w, id), JOB_DONE);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(world_job(w, id + i)->durable, DURABLE_FSYNC);
        assert_non_null(world_run_of(w, id + i));
        world_finish(world_run_of(w, id + i), "\xc0");
    }
    jobs_world_pass(w, AO_MS(10));
    stage_balances(w);
}

STORED_TEST(before_that_a_crash_leaves_neither)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    w->room[1] = 4;
    submits(w, id, 3, NULL);
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(held(w), 1);
    assert_int_equal(world_state(w, id), JOB_RUNNING);
    submits(w, id, 3, NULL);
    jobs_world_pass(w, AO_MS(10));
    jobs_world_crash(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(held(w), 4);
    assert_int_equal(world_state(w, id), JOB_DONE);
    stage_balances(w);
}

/* It does not run again: its end waits, and what it submitted with it. */
STORED_TEST(a_store_that_fails_delays_all_of_it)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    w->room[1] = 4;
    w->store->error = STORE_FULL;
    submits(w, id, 2, NULL);
    jobs_world_pass(w, AO_S(5));
    assert_true(job_is(world_job(w, id), JOB_ENDING));
    assert_null(world_run_of(w, id + 1));
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(world_job(w, id)->attempt, 1);
    assert_non_null(world_run_of(w, id + 1));
    assert_non_null(world_run_of(w, id + 2));
    stage_balances(w);
}

STORED_TEST(what_the_store_refuses_fails_the_task_without_it)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    w->store->refuses_one = true;
    submits(w, id, 2, NULL);
    jobs_world_pass(w, AO_S(5));
    assert_int_equal(world_state(w, id), JOB_FAILED);
    assert_string_equal(world_job(w, id)->end->code, "STORE");
    assert_int_equal(held(w), 1);
    jobs_world_crash(w);
    assert_int_equal(world_state(w, id), JOB_FAILED);
    stage_balances(w);
}

STORED_TEST(a_task_in_memory_ends_when_what_it_submits_is_on_disk)
{
    uint64_t id = begin(w, DURABLE_NONE);
    submits(w, id, 1, NULL);
    assert_true(job_is(world_job(w, id), JOB_ENDING));
    jobs_world_pass(w, AO_MS(10));
    assert_int_equal(world_state(w, id), JOB_DONE);
    world_finish(world_run_of(w, id + 1), "\xc0");
    jobs_world_pass(w, AO_MS(10));
    id = begin(w, DURABLE_NONE);
    uint64_t count = held(w);
    w->store->error = STORE_FULL;
    submits(w, id, 1, NULL);
    jobs_world_pass(w, AO_S(2));
    assert_int_equal(world_state(w, id), JOB_FAILED);
    assert_string_equal(world_job(w, id)->end->code, "STORE");
    assert_int_equal(held(w), count);
    w->store->error = STORE_OK;
    jobs_world_pass(w, AO_S(5));
    stage_balances(w);
}

STORED_TEST(what_is_there_by_its_key_is_awaited)
{
    uint64_t one, other;
    w->room[1] = 2;
    one = begin(w, DURABLE_FSYNC);
    other = begin(w, DURABLE_FSYNC);
    submits(w, one, 1, "{'key': 'k', 'delay': '1h'}");
    submits(w, other, 1, "{'key': 'k', 'delay': '1h'}");
    assert_true(job_is(world_job(w, other), JOB_ENDING));
    jobs_world_pass(w, AO_MS(20));
    assert_int_equal(world_state(w, one), JOB_DONE);
    assert_int_equal(world_state(w, other), JOB_DONE);
    assert_int_equal(held(w), 3);
    stage_balances(w);
}

/* The one that made it fails with its group; the other runs again, and makes it. */
STORED_TEST(one_that_joined_what_is_refused_runs_again)
{
    uint64_t one, other;
    w->room[1] = 2;
    one = begin(w, DURABLE_FSYNC);
    other = begin(w, DURABLE_FSYNC);
    w->store->refuses_one = true;
    submits(w, one, 1, "{'key': 'k', 'delay': '1h'}");
    submits(w, other, 1, "{'key': 'k', 'delay': '1h'}");
    jobs_world_pass(w, AO_S(3));
    assert_int_equal(world_state(w, one), JOB_FAILED);
    assert_int_equal(world_state(w, other), JOB_RUNNING);
    assert_int_equal(world_job(w, other)->attempt, 2);
    submits(w, other, 1, "{'key': 'k', 'delay': '1h'}");
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, other), JOB_DONE);
    assert_int_equal(held(w), 3);
    stage_balances(w);
}

/* Its own group has the first row of what it joins. */
STORED_TEST(the_same_key_twice_is_one_task)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    submits(w, id, 2, "{'key': 'k', 'delay': '1h'}");
    jobs_world_pass(w, AO_MS(20));
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(held(w), 2);
    stage_balances(w);
}

STORED_TEST(while_the_server_stops_it_counts_whole)
{
    uint64_t id = begin(w, DURABLE_FSYNC);
    w->source.stop(w->source.arg, false);
    jobs_world_settle(w);
    submits(w, id, 2, NULL);
    jobs_world_restart(w);
    jobs_world_pass(w, AO_S(1));
    assert_int_equal(world_state(w, id), JOB_DONE);
    assert_int_equal(held(w), 3);
    stage_balances(w);
}

/* Whichever allocation fails: done with both, or not done and with none. */
STORED_TEST(any_allocation_may_fail)
{
    static const uint8_t levels[] = {DURABLE_FSYNC, DURABLE_NONE, DURABLE_ASYNC};
    w->quiet = true;
    w->room[1] = 10;
    for (unsigned l = 0; l < sizeof levels; l++) {
        bool met = true;
        for (int64_t n = 1; met; n++) {
            uint64_t id = jobs_world_submit(w, &WORK(.durable = levels[l]));
            jobs_world_pass(w, AO_S(1));
            struct attempt_turn *turn = sender();
            uint64_t before = w->jobs->table.submitted;
            adds(turn, "work", "{'delay': '1h'}");
            adds(turn, "work", "{'delay': '1h'}");
            heap_fail_at(n);
            ends_with(world_run_of(w, id), turn);
            for (unsigned i = 0; i < 30; i++)
                jobs_world_pass(w, AO_MS(100));
            met = heap_failed();
            heap_fail_at(0);
            jobs_world_pass(w, AO_S(3));
            enum job_state state = world_state(w, id);
            assert_true(state == JOB_DONE || state == JOB_FAILED);
            assert_int_equal(w->jobs->table.submitted - before, state == JOB_DONE ? 2 : 0);
        }
    }
    stage_balances(w);
}
