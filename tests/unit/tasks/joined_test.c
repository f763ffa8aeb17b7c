/* A handler of the server that workers may offer, too: its tasks go to whoever is least occupied,
 * wait for both, and need no worker. */
#include "server/workers/worker_group.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/played_worker.h"
#include "tests/support/tasks_world.h"

static struct played_worker a;

/* One loop and two blocking executors with room for one task each, which run nothing before
 * tasks_world_run(); "block" is joined, and so is the stepped "again". */
static void open_world(bool own_manager)
{
    tasks_world_init(1, 2);
    w.joined[0] = "block";
    w.joined[1] = "again";
    for (uint32_t i = 1; i <= 2; i++) {
        w.executors[i].queue = 1;
        w.executors[i].fixed = true;
    }
    if (own_manager)
        tasks_world_own_manager();
    w.quiet = true;
    tasks_world_open();
    played_workers_open();
}

static void join(struct played_worker *p, const char *methods, uint32_t slots)
{
    played_join(p, 0, methods, slots);
    tasks_world_run();
    assert_int_equal(p->error, ERGON_OK);
}

/* What there is to do now; nothing blocking runs meanwhile. */
static void settle(void)
{
    virtual_run_until(&w.v, w.v.now);
}

static void call(const char *method)
{
    assert_int_equal(tasks_world_call(0, method, params_none(), AO_NEVER), ERGON_OK);
    settle();
}

static uint32_t local(uint32_t i)
{
    return executor_outstanding(w.tasks->executors[1 + i]);
}

static void run_one(uint32_t i)
{
    blocking_round(ao_of(w.tasks->executors[1 + i], struct blocking, base));
    settle();
}

/* What is done at the next announcement. */
static void (*meanwhile)(void);

void __real_waker_announce(struct waker *w);
void __wrap_waker_announce(struct waker *w);

void __wrap_waker_announce(struct waker *waker)
{
    void (*act)(void) = meanwhile;
    meanwhile = NULL;
    if (act)
        act();
    __real_waker_announce(waker);
}

TASKS_TEST(without_workers_all_is_as_it_was)
{
    open_world(false);
    for (unsigned i = 0; i < 5; i++)
        call("block");
    call("again");
    tasks_world_run();
    assert_int_equal(w.ended, 6);
    for (unsigned i = 1; i <= 6; i++)
        assert_int_equal(w.errors[i], ERGON_OK);
}

TASKS_TEST(whoever_is_least_occupied_is_next)
{
    open_world(false);
    join(&a, "block", 3);
    call("block");
    assert_int_equal(local(0) + local(1), 1); /* of equals who is nearer */
    call("block");
    assert_int_equal(local(0) + local(1), 2);
    for (unsigned i = 1; i <= 3; i++) {
        call("block");
        assert_int_equal(a.count, i);
    }
    call("block"); /* waits for either */
    assert_int_equal(a.count + local(0) + local(1), 5);
    played_answer_all(&a);
    tasks_world_run();
    assert_int_equal(a.sent, 4);
    played_answer_all(&a);
    tasks_world_run();
    assert_int_equal(w.ended, 6);
}

/* Also while all have room. */
TASKS_TEST(occupancy_counts_whoever_has_room)
{
    open_world(false);
    for (uint32_t i = 1; i <= 2; i++)
        w.tasks->executors[i]->plan.queue = 4;
    join(&a, "block", 4);
    for (unsigned n = 1; n <= 4; n++) {
        for (unsigned i = 0; i < 3; i++)
            call("block");
        assert_int_equal(a.count, n);
        assert_int_equal(local(0), n);
        assert_int_equal(local(1), n);
    }
    while (a.count > 0)
        played_answer_all(&a);
    tasks_world_run();
}

/* However the manager is woken. */
static void wait_for_the_local(bool own_manager)
{
    open_world(own_manager);
    join(&a, "block", 1);
    for (unsigned i = 0; i < 5; i++)
        call("block");
    assert_int_equal(a.count, 1);
    assert_int_equal(w.ended, 0);
    run_one(1);
    assert_int_equal(w.ended, 1);
    assert_int_equal(local(1), 1); /* it has the next */
    run_one(0);
    assert_int_equal(w.ended, 2);
    assert_int_equal(local(0), 1);
    tasks_world_run();
    assert_int_equal(w.ended, 4);
    played_answer(&a, 0);
    tasks_world_run();
}

TASKS_TEST(who_waits_hears_of_a_place_on_the_managers_loop)
{
    wait_for_the_local(false);
}

TASKS_TEST(who_waits_hears_of_a_place_on_another_thread)
{
    wait_for_the_local(true);
}

TASKS_TEST(with_the_last_worker_nothing_is_refused)
{
    open_world(false);
    join(&a, "block", 1);
    for (unsigned i = 0; i < 4; i++)
        call("block");
    assert_int_equal(a.count, 1);
    played_lose(&a, "it is gone");
    settle();
    assert_int_equal(w.ended, 1);
    call("block");
    tasks_world_run();
    assert_int_equal(w.ended, 5);
    unsigned lost = 0;
    for (unsigned i = 1; i <= 5; i++)
        lost += w.errors[i] == ERGON_E_WORKER_LOST;
    assert_int_equal(lost, 1);
}

TASKS_TEST(what_was_not_sent_the_handler_runs)
{
    open_world(false);
    join(&a, "block", 1);
    a.slow = true;
    for (unsigned i = 0; i < 3; i++)
        call("block");
    assert_int_equal(a.count, 1);
    played_lose(&a, "it is gone");
    tasks_world_run();
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(w.errors[i], ERGON_OK);
}

/* Both fill the executors in turn, whoever has waited for longer; the worker is another's. */
TASKS_TEST(who_shares_executors_takes_turns)
{
    open_world(false);
    uint8_t buf[32];
    const struct method *other = registry_find(w.registry, span_text("ask"));
    struct span nobody = params_call(buf, "no.such", params_none()); /* it fails at once */
    for (unsigned i = 0; i < 12; i++) {
        assert_int_equal(tasks_world_call(0, "block", params_none(), AO_NEVER), ERGON_OK);
        assert_int_equal(tasks_world_call(0, "ask", nobody, AO_NEVER), ERGON_OK);
    }
    settle();
    const struct pool *local_pool = w.tasks->shared.local[POOL_BLOCKING];
    const struct pool *joined = registry_find(w.registry, span_text("block"))->pool;
    assert_ptr_equal(other->pool, local_pool);
    for (unsigned i = 0; i < 20; i++) {
        run_one(i % 2);
        assert_in_range(joined->queue.length + 3 - local_pool->queue.length, 0, 6);
    }
    tasks_world_run();
}

static void make_room(void)
{
    w.tasks->executors[1]->plan.queue = 2;
}

/* The pool that has the executors waits as well, finds room in its second look, and waits no more:
 * who shares them still does. */
TASKS_TEST(who_shares_executors_stays_announced)
{
    uint8_t buf[32];
    struct waker *waiting;
    open_world(false);
    waiting = &w.tasks->shared.local[POOL_BLOCKING]->waiting_for_room;
    for (unsigned i = 0; i < 3; i++)
        call("block");
    assert_true(waker_announced(waiting));
    struct span nobody = params_call(buf, "no.such", params_none());
    assert_int_equal(tasks_world_call(0, "ask", nobody, AO_NEVER), ERGON_OK);
    meanwhile = make_room;
    settle();
    assert_null(meanwhile);
    assert_int_equal(local(0), 2);
    assert_true(waker_announced(waiting));
    tasks_world_run();
    assert_int_equal(w.ended, 4);
}

/* A worker has room again, and another has waited for it: who has just come does not take it. */
TASKS_TEST(who_has_waited_for_a_worker_gets_it)
{
    open_world(false);
    join(&a, "block thumb", 1);
    call("thumb");
    call("thumb");
    call("block");
    call("block"); /* both executors are busy */
    played_answer(&a, 0);
    call("block");
    assert_int_equal(a.count, 1);
    assert_string_equal(method_name(a.has[0]->method), "thumb");
    played_answer(&a, 0);
    settle();
    assert_string_equal(method_name(a.has[0]->method), "block");
    played_answer(&a, 0);
    tasks_world_run();
}

/* One worker that both offer: who is called is given a task, whoever else has some. */
TASKS_TEST(who_shares_workers_takes_turns)
{
    open_world(false);
    join(&a, "block thumb", 1);
    call("thumb");
    for (unsigned i = 0; i < 5; i++) {
        call("block");
        call("thumb");
    }
    unsigned joined = 0;
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(a.count, 1);
        joined += a.has[0]->method->pool->workers->local != NULL;
        played_answer(&a, 0);
        settle();
    }
    assert_in_range(joined, 2, 3);
    while (a.count > 0) {
        played_answer(&a, 0);
        settle();
    }
    tasks_world_run();
    assert_int_equal(w.ended, 11);
}

/* What the loop does itself the manager does not see. */
TASKS_TEST(a_stepped_one_goes_by_the_manager)
{
    open_world(false);
    join(&a, "again", 2);
    struct tasks_info before, after;
    tasks_info(w.tasks, &before);
    call("again");
    tasks_info(w.tasks, &after);
    assert_int_equal(after.short_cut, before.short_cut);
    atomic_store(&w.tasks->executors[0]->away, true);
    call("again");
    assert_int_equal(a.count, 1);
    atomic_store(&w.tasks->executors[0]->away, false);
    played_answer_all(&a);
    tasks_world_run();
}

/* A task of a principal that both ran is charged to it once, and its result as any. */
TASKS_TEST(a_large_result_of_a_worker_is_charged_as_any)
{
    open_world(false);
    tasks_world_be("ann");
    join(&a, "block", 8);
    for (unsigned i = 0; i < 4; i++)
        call("block");
    assert_int_equal(a.count, 2);
    played_answer_with(&a, 0, 100000);
    played_answer_with(&a, 0, 100000);
    tasks_world_run();
    for (unsigned i = 1; i <= 4; i++)
        assert_int_equal(w.errors[i], ERGON_OK);
}

TASKS_TEST(a_call_that_is_cancelled_is_told_wherever_it_is)
{
    open_world(false);
    join(&a, "block", 1);
    for (unsigned i = 0; i < 4; i++)
        call("block");
    struct call *c = tasks_world_find(3);
    assert_int_equal(a.count, 1);
    home_cancel(tasks_home(w.tasks, 0), c);
    settle();
    assert_int_equal(a.unwanted, 1);
    assert_int_equal(a.why, TASK_CANCELLED);
    played_answer(&a, 0);
    settle();
    played_answer(&a, 0); /* the fourth */
    tasks_world_run();
    assert_int_equal(w.ended, 4);
}
