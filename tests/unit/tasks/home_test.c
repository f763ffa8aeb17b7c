/* Calls at home: accepted, refused, found, told exactly once, by whatever ends them first. */
#include "proto/reader.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/tasks_world.h"

static void open_world(void)
{
    tasks_world_init(1, 1);
    w.quiet = true;
}

static enum ergon_error call(const char *method, ao_time deadline)
{
    return tasks_world_call(0, method, params_none(), deadline);
}

TASKS_TEST(a_brief_call_ends_within_home_call)
{
    open_world();
    tasks_world_open();
    assert_int_equal(call("echo", AO_NEVER), ERGON_OK);
    assert_int_equal(w.ended, 1);
    assert_null(w.list);
}

TEST(a_call_in_flight_is_found)
{
    open_world();
    tasks_world_open();
    for (int i = 0; i < 3; i++)
        assert_int_equal(call("hang", AO_NEVER), ERGON_OK);
    for (unsigned n = 1; n <= 3; n++)
        assert_non_null(tasks_world_find(n));
    assert_null(tasks_world_find(4));
    home_abandon(tasks_home(w.tasks, 0), tasks_world_find(2));
    assert_null(tasks_world_find(2));
    assert_non_null(tasks_world_find(1));
    assert_non_null(tasks_world_find(3));
    assert_int_equal(w.told[2], 1);
    assert_int_equal(w.errors[2], ERGON_E_CANCELLED);
    tasks_world_fini();
}

/* How many of one call the short cut takes. */
static unsigned in_place(const char *method)
{
    struct tasks_info before, after;
    tasks_info(w.tasks, &before);
    assert_int_equal(call(method, AO_NEVER), ERGON_OK);
    tasks_info(w.tasks, &after);
    tasks_world_run();
    return (unsigned)(after.short_cut - before.short_cut);
}

TEST(what_the_short_cut_takes)
{
    open_world();
    tasks_world_open();
    assert_int_equal(in_place("echo"), 1);
    assert_int_equal(in_place("managed"), 0);
    assert_int_equal(in_place("block"), 0);
    call("managed", AO_NEVER); /* something is queued: nobody overtakes it */
    assert_int_equal(in_place("echo"), 0);
    tasks_world_fini();
    open_world();
    w.plan.short_cut = false;
    tasks_world_open();
    assert_int_equal(in_place("echo"), 0);
    tasks_world_fini();
}

TASKS_TEST(a_full_queue_is_busy)
{
    open_world();
    w.plan.queue_max = 3;
    w.executors[1].queue = 1;
    tasks_world_open();
    for (int i = 0; i < 3; i++)
        assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    assert_int_equal(call("managed", AO_NEVER), ERGON_E_BUSY);
    virtual_run(&w.v); /* one is given */
    assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    tasks_world_run();
    assert_int_equal(w.ended, 4);
    assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    tasks_world_run();
}

/* Somebody else still finds room: half of what the reserve has left, and a third finds half of the
 * rest. */
TASKS_TEST(a_queue_that_one_has_filled_has_room_for_others)
{
    open_world();
    w.quiet = true;
    w.plan.queue_max = 100;
    tasks_world_open();
    tasks_world_be("alice");
    for (int i = 0; i < 100; i++)
        assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    tasks_world_be("bob");
    for (int i = 0; i < 32; i++)
        assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    tasks_world_be("carol");
    for (int i = 0; i < 16; i++)
        assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    tasks_world_be(NULL);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    tasks_world_run();
    assert_int_equal(w.ended, 148);
}

/* What was cancelled in a full queue is swept out, and makes room. */
TASKS_TEST(the_cancelled_make_room)
{
    open_world();
    w.plan.queue_max = 8;
    w.executors[1].queue = 1;
    tasks_world_open();
    call("block", AO_NEVER);
    virtual_run(&w.v);
    for (int i = 0; i < 8; i++)
        assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    assert_int_equal(call("block", AO_NEVER), ERGON_E_BUSY);
    virtual_run(&w.v); /* they stand in the queue, behind some that are wanted */
    for (unsigned n = 5; n <= 9; n++)
        home_cancel(tasks_home(w.tasks, 0), tasks_world_find(n));
    virtual_run(&w.v);
    for (int i = 0; i < 5; i++)
        assert_int_equal(call("block", AO_NEVER), ERGON_OK);
    tasks_world_run();
    assert_int_equal(w.begun, w.ended);
}

TASKS_TEST(parked_ones_have_a_cap)
{
    struct executor_info info;
    open_world();
    w.executors[0].parked = 3;
    w.executors[0].queue = 2;
    tasks_world_open();
    for (int i = 0; i < 9; i++)
        assert_int_equal(call("hang", AO_MS(10)), ERGON_OK);
    tasks_world_run_ms(5);
    tasks_executor_info(w.tasks, 0, &info);
    assert_int_equal(info.parked, 3); /* the others wait in the queue */
    assert_int_equal(info.outstanding, 0);
    tasks_world_run();
    assert_int_equal(w.ended, 9);
    tasks_executor_info(w.tasks, 0, &info);
    assert_int_equal(info.parked, 0);
    assert_int_equal(info.outstanding, 0);
}

/* A notification is told too; it has no message id. */
TASKS_TEST(a_result_may_be_kept)
{
    uint8_t params[1000] = {0xc5, 0x03, 0xe5};
    open_world();
    tasks_world_open();
    int64_t live = heap_live();
    for (int i = 0; i < 4; i++)
        tasks_world_call(0, i % 2 ? "echo" : "block", span_of(params, sizeof params), AO_NEVER);
    tasks_world_run();
    assert_int_equal(w.ended, 4);
    assert_true(heap_live() - live <= 4); /* the records, and the times of both methods */
}

static int open_and_call(void *arg)
{
    int failed = 0;
    /* Those that live on first: once one is queued nothing is begun in place. */
    static const char *const methods[] = {"hang",  "sleep",   "echo", "fail",
                                          "outer", "managed", "block"};
    uint8_t params[600], buf[700];
    memset(params, 0xc0, sizeof params);
    params[0] = 0xc5;
    params[1] = 2;
    params[2] = 0x55;
    struct span nested = params_call(buf, "echo", span_of(params, sizeof params));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        failed |= tasks_world_call(0, methods[i], i == 4 ? nested : span_of(params, sizeof params),
                                   i == 0 ? w.v.now + AO_MS(10) : AO_NEVER) != ERGON_OK;
    tasks_world_run();
    return failed;
}

/* Some that wait, one that was due in the same round, one that goes on by itself. */
TEST(unwanted_ones_among_many)
{
    uint8_t buf[16];
    open_world();
    tasks_world_open();
    for (int i = 0; i < 100; i++)
        call("hang", AO_NEVER);
    tasks_world_call(0, "sleep", params_int(buf, 10), AO_NEVER); /* 101 */
    tasks_world_call(0, "sleep", params_int(buf, 10), AO_MS(10));
    unsigned cleanups = test_cleanups;
    for (unsigned n = 2; n <= 100; n += 2)
        home_cancel(tasks_home(w.tasks, 0), tasks_world_find(n));
    assert_int_equal(w.ended, 50);
    tasks_world_run_ms(20);
    assert_int_equal(test_cleanups - cleanups, 50);
    assert_int_equal(w.ended, 52);
    for (unsigned n = 1; n <= 102; n++)
        assert_int_equal(w.told[n], n % 2 == 0 || n > 100 ? 1 : 0);
    assert_int_equal(counter_read(&w.tasks->executors[0]->parked), 50);
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(1));
    tasks_world_fini(); /* with one that was not looked at yet */
    assert_int_equal(test_cleanups - cleanups, 100);
}

/* Stepped: the ns that it has left. */
static enum ao_verdict left_step(struct ao *self, struct ergon_task *task, void *state)
{
    const struct ergon_host *host = host_table();
    host->result_int(task, (int64_t)host->time_left(task));
    return AO_DONE;
}

static const struct ergon_handler left = {
    .size = sizeof left, .kind = ERGON_STEPPED, .name = "left", .step = left_step};

static uint64_t said; /* the result of the last call */

static void on_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct reader r = reader_of(outcome->result);
    if (outcome->error != ERGON_OK)
        fail_msg("%s: %.*s", outcome->code, (int)outcome->text.len, (const char *)outcome->text.at);
    assert_true(read_uint(&r, &said));
}

/* However deep: no nested call has longer than the first of its chain. */
TEST(a_nested_call_has_the_time_of_its_caller)
{
    char error[256];
    uint8_t inner[64], middle[64], outer[64];
    struct span params[3] = {params_call(inner, "left", params_none())};
    params[1] = params_call(middle, "outer", params[0]);
    params[2] = params_call(outer, "outer", params[1]);
    open_world();
    assert_int_equal(registry_add(w.registry, "test", &left, error, sizeof error), 0);
    w.plan.ended = on_ended;
    tasks_world_open();
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        said = 0;
        tasks_world_call(0, "outer", params[i], w.v.now + AO_MS(7));
        tasks_world_run();
        assert_int_equal(said, AO_MS(7));
    }
    tasks_expect_at_rest(w.tasks);
    tasks_world_fini();
}

static struct ao rival;

/* Due at the same time as call 1, and before it in the round. */
static enum ao_verdict rival_step(struct ao *self)
{
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(1));
    call("hang", AO_NEVER);
    return AO_DONE;
}

/* The record of a call whose deadline has come in this round is given back, and taken anew. */
TEST(a_deadline_is_not_the_next_calls)
{
    static const struct ao_class rival_class = {.name = "rival", .step = rival_step};
    open_world();
    tasks_world_open();
    ao_init(&rival, &rival_class, w.loops[0]);
    ao_sleep_until(&rival, AO_MS(10));
    call("hang", AO_MS(10));
    tasks_world_run_ms(20);
    assert_int_equal(w.begun, 2);
    assert_int_equal(w.told[1], 1);
    assert_int_equal(w.errors[1], ERGON_E_CANCELLED);
    assert_int_equal(w.told[2], 0);
    ao_fini(&rival);
    tasks_world_fini();
}

/* Whatever allocation fails: each call is refused, or told exactly once, and nothing of it stays:
 * neither in the queue nor parked for ever. */
TEST(memory_fails)
{
    for (int64_t n = 1;; n++) {
        open_world();
        tasks_world_open();
        heap_fail_at(n);
        open_and_call(NULL);
        bool met = heap_failed();
        heap_fail_at(0);
        for (unsigned i = 1; i <= w.begun; i++)
            assert_int_equal(w.told[i], 1);
        assert_int_equal(w.begun, w.ended);
        tasks_expect_at_rest(w.tasks);
        tasks_world_fini();
        if (!met)
            break;
    }
}

/* The home goes on by itself until it is done. */
TASKS_TEST(memory_of_a_burst_goes_back)
{
    enum { BURST = (CALLS_KEPT + 2 * CALLS_GIVEN_BACK) * CALLS_CHUNK };
    tasks_world_init(1, 1);
    w.quiet = true;
    w.plan.queue_max = BURST;
    tasks_world_open();
    for (int i = 0; i < BURST; i++)
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
    assert_int_equal(tasks_home(w.tasks, 0)->calls.chunk_count, CALLS_KEPT + 2 * CALLS_GIVEN_BACK);
    tasks_world_run();
    assert_int_equal(tasks_home(w.tasks, 0)->calls.chunk_count, CALLS_KEPT);
}
