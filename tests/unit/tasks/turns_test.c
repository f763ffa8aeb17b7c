/* Each active object gets its step: tasks that go on and on take turns, and hold up nobody. */
#include "server/runtime/object/object.h"

#include <stdio.h>

#include "proto/encoder.h"
#include "server/tasks/executors/parking.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

static struct {
    const struct ergon_host *host;
    ao_time takes; /* each step, of the virtual clock */
    bool may_end;
    bool child_ran;
    char said[4000]; /* a letter a step */
    size_t len;
} play;

static void say(char c)
{
    if (play.len == sizeof play.said - 1)
        return; /* enough to compare */
    play.said[play.len++] = c;
    play.said[play.len] = '\0';
}

#define expect_said(text)                                                                          \
    (assert_string_equal(play.said, (text)), play.len = 0, play.said[0] = '\0')

static char letter_of(struct ergon_task *task)
{
    struct ergon_reader r;
    int64_t n = 0;
    play.host->params_open(task, &r);
    play.host->read_int(&r, &n);
    return (char)('a' + n);
}

/* [n]: goes on until the test has enough. */
static enum ao_verdict on_and_on_step(struct ao *self, struct ergon_task *task, void *state)
{
    say(letter_of(task));
    w.v.now += play.takes;
    return play.may_end || play.host->cancelled(task) ? AO_DONE : AO_AGAIN;
}

/* [n]: parks until it is woken, then goes on. */
static enum ao_verdict later_step(struct ao *self, struct ergon_task *task, void *state)
{
    bool *slept = state;
    if (!*slept) {
        *slept = true;
        ao_sleep_for(self, AO_MS(50));
        return AO_PARK;
    }
    return on_and_on_step(self, task, state);
}

/* Asks for `child`, and goes on until that has run. */
static enum ao_verdict parent_step(struct ao *self, struct ergon_task *task, void *state)
{
    bool *asked = state;
    w.v.now += play.takes;
    if (!*asked)
        assert_non_null(play.host->call_start(task, "child", (struct ergon_bytes){0}));
    *asked = true;
    return play.child_ran ? AO_DONE : AO_AGAIN;
}

static enum ao_verdict child_step(struct ao *self, struct ergon_task *task, void *state)
{
    play.child_ran = true;
    return AO_DONE;
}

#define STEPPED(n, room)                                                                           \
    {                                                                                              \
        .size = sizeof(struct ergon_handler), .kind = ERGON_STEPPED, .name = #n, .step = n##_step, \
        .state_size = (room)                                                                       \
    }

static const struct ergon_handler handlers[] = {STEPPED(on_and_on, 0), STEPPED(later, sizeof(bool)),
                                                STEPPED(parent, sizeof(bool)), STEPPED(child, 0)};

/* `takes`: so long takes each step. */
static void open_world(uint32_t loops, ao_time takes)
{
    char error[100];
    memset(&play, 0, sizeof play);
    play.host = host_table();
    play.takes = takes;
    tasks_world_init(loops, 0);
    w.plan.queue_max = 20000;
    for (uint32_t i = 0; i < loops; i++)
        w.executors[i].parked = 40;
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        assert_int_equal(registry_add(w.registry, "test", &handlers[i], error, sizeof error), 0);
    tasks_world_open();
}

static void call_at(uint32_t loop, const char *method, int64_t n)
{
    uint8_t buf[16];
    assert_int_equal(tasks_world_call(loop, method, params_int(buf, n), AO_NEVER), ERGON_OK);
}

static void call(const char *method, int64_t n)
{
    call_at(0, method, n);
}

static void rounds(int n)
{
    for (; n > 0; n--)
        for (uint32_t i = 0; i < w.plan.loop_count; i++)
            virtual_round(&w.v, w.loops[i]);
}

static struct executor *first(void)
{
    return w.tasks->executors[0];
}

static uint64_t turning(uint32_t i)
{
    return counter_read(&w.tasks->executors[i]->turning);
}

/* All that goes on may end; then nothing counts any more. */
static void end_all(void)
{
    play.may_end = true;
    tasks_world_run();
    assert_int_equal(w.begun, w.ended);
    for (uint32_t i = 0; i < w.plan.loop_count; i++) {
        assert_int_equal(turning(i), 0);
        assert_int_equal(counter_read(&w.tasks->executors[i]->parked), 0);
        assert_int_equal(executor_outstanding(w.tasks->executors[i]), 0);
    }
}

/* The next begins when the quantum is used up, and not before. */
TASKS_TEST(a_task_waits_for_a_quantum_of_the_one_before_it)
{
    open_world(1, AO_US(60));
    call("on_and_on", 0);
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    rounds(2);
    assert_int_equal(w.ended, 0);
    rounds(2);
    assert_int_equal(w.ended, 1);
    trace_expect(&w.v, "[   0] executor 1 run task 1\n"
                       "[   0] manager    task 2 -> executor 1 (loads 1)\n"
                       "[   0] executor 1 takes turns: task 1\n"
                       "[   0] executor 1 run task 2\n"
                       "[   0] executor 1 done task 2 -> home: loop 0\n"
                       "[   0] call 2     ended: 1 bytes\n");
    end_all();
}

/* Steps that take no time to speak of are no way to hold the others up: the loop's time counts. */
TASKS_TEST(a_quantum_of_the_loops_time_is_enough)
{
    open_world(1, 0);
    call("on_and_on", 0);
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    rounds(10);
    assert_int_equal(w.ended, 0);
    w.v.now += BEHIND_QUANTUM;
    rounds(2);
    assert_int_equal(w.ended, 1);
    end_all();
}

TASKS_TEST(each_gets_its_step_in_turn)
{
    open_world(1, AO_US(100));
    w.plan.short_cut = false;
    for (int i = 0; i < 4; i++)
        call("on_and_on", i);
    while (turning(0) < 4)
        rounds(1);
    play.len = 0;
    play.said[0] = '\0';
    rounds(6);
    assert_int_equal(play.len, 12);
    for (size_t i = 4; i < play.len; i++)
        assert_int_equal(play.said[i], play.said[i - 4]);
    end_all();
}

/* They begin in the order in which they came, each a quantum after the one before. */
TASKS_TEST(they_begin_in_order)
{
    open_world(1, AO_US(200));
    for (int i = 0; i < 4; i++)
        call("on_and_on", i);
    rounds(4);
    expect_said("aabacbda"); /* a in place, then rounds: a ba cb da */
    end_all();
}

/* Beside any number of them a brief call is taken at once, where it came in. */
TASKS_TEST(a_brief_call_does_not_wait_for_a_hundred)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    w.tasks->executors[0]->plan.parked = 1000;
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    counter_set(&registry_find(w.registry, span_text("echo"))->service_ns, 500);
    for (int i = 0; i < 100; i++)
        call("on_and_on", 0);
    while (turning(0) < 100)
        rounds(1);
    for (unsigned i = 0; i < 10; i++) {
        unsigned ended = w.ended;
        tasks_world_call(0, "echo", params_none(), AO_NEVER);
        assert_int_equal(w.ended, ended + 1);
        rounds(1);
    }
    /* By way of the manager it waits for a round, which is one quantum longer. */
    for (unsigned i = 0; i < 10; i++) {
        unsigned ended = w.ended;
        tasks_world_call(0, "managed", params_none(), AO_NEVER);
        ao_time from = w.v.now;
        while (w.ended == ended)
            rounds(1);
        assert_true(w.v.now - from <= BEHIND_QUANTUM);
    }
    end_all();
}

/* What is not known to be brief goes where fewer take turns. */
TASKS_TEST(long_tasks_are_spread)
{
    open_world(2, AO_US(200));
    for (int i = 0; i < 10; i++) {
        call("on_and_on", i);
        rounds(4);
    }
    assert_int_equal(turning(0), 5);
    assert_int_equal(turning(1), 5);
    end_all();
}

/* However many one has there, another's has every second turn. */
TASKS_TEST(principals_take_turns_behind)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    first()->plan.parked = 1000;
    tasks_world_be("alice");
    for (int i = 0; i < 100; i++)
        call("on_and_on", 0);
    tasks_world_be("bob");
    call("on_and_on", 1);
    while (turning(0) < 101)
        rounds(1);
    play.len = 0;
    play.said[0] = '\0';
    rounds(100);
    size_t bobs = 0;
    for (size_t i = 0; i < play.len; i++)
        bobs += play.said[i] == 'b';
    assert_true(bobs * 2 >= play.len - 1 && bobs * 2 <= play.len + 1);
    end_all();
}

/* What runs in place has no turn before others: so only so much of it does in a round, where there
 * are others. */
TASKS_TEST(in_place_there_is_so_much_a_round)
{
    open_world(1, AO_US(100));
    w.quiet = true;
    play.may_end = true;
    for (int with_bob = 0; with_bob < 2; with_bob++) {
        struct tally *bob = with_bob ? tally_open(&w.books[0], "bob") : NULL;
        struct tasks_info before, after;
        tasks_info(w.tasks, &before);
        tasks_world_be("alice");
        for (int i = 0; i < 20; i++)
            call("on_and_on", 0);
        tasks_info(w.tasks, &after);
        assert_int_equal(after.short_cut - before.short_cut, with_bob ? 6 : 20);
        tasks_world_run();
        tally_close(bob);
        tasks_world_run();
    }
    end_all();
}

/* One that was parked has its step in the next round, before all that take turns. */
TASKS_TEST(what_is_woken_is_not_starved)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    call("later", 25);
    for (int i = 0; i < 3; i++)
        call("on_and_on", i);
    rounds(10);
    assert_null(strchr(play.said, 'z'));
    w.v.now += AO_MS(50);
    play.len = 0;
    rounds(1);
    assert_int_equal(play.said[0], 'z');
    assert_int_equal(turning(0), 4); /* it goes on, and had its quantum */
    end_all();
}

static bool is_full(void)
{
    struct executor_info info;
    tasks_executor_info(w.tasks, 0, &info);
    return info.outstanding >= info.bound;
}

static void forget(const char *method)
{
    atomic_store(&registry_find(w.registry, span_text(method))->wants_place, false);
}

static uint64_t most_places(void)
{
    return parking_most(first());
}

/* Those beyond the reserve hold all the room, the last of them is the parent, and they all go on.
 */
TASKS_TEST(a_nested_call_begins_though_its_parents_go_on)
{
    open_world(1, AO_US(50));
    w.quiet = true;
    first()->plan.parked = 3;
    while (turning(0) < most_places()) {
        forget("on_and_on");
        call("on_and_on", 0);
        rounds(10);
    }
    while (!is_full()) {
        play.child_ran = false;
        forget("parent");
        call("parent", 0);
        rounds(400);
        assert_true(play.child_ran);
        forget("on_and_on");
        call("on_and_on", 0);
        rounds(50);
    }
    end_all();
}

/* What wants a place is not begun without one, and stands in nobody's way. */
TASKS_TEST(beyond_the_cap_they_wait_and_the_others_go_on)
{
    struct executor_info info;
    open_world(1, AO_US(200));
    w.quiet = true;
    for (int i = 0; i < 60; i++)
        call("on_and_on", 0);
    rounds(300);
    tasks_executor_info(w.tasks, 0, &info);
    assert_true(info.turning >= 40 && info.turning <= 40 + info.bound);
    assert_int_equal(info.outstanding, 0);
    tasks_world_be("bob");
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    rounds(5);
    assert_int_equal(w.ended, 1);
    for (unsigned i = 1; i <= 30; i++)
        home_cancel(tasks_home(w.tasks, 0), tasks_world_find(i));
    rounds(300);
    tasks_executor_info(w.tasks, 0, &info);
    assert_int_equal(info.turning, 30);
    end_all();
}

/* One has taken what it may: another finds half of what is left of the reserve. */
TASKS_TEST(there_are_places_for_another)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    first()->plan.parked = 150;
    tasks_world_be("alice");
    for (int i = 0; i < 200; i++)
        call("later", 0);
    rounds(300);
    uint64_t alice = counter_read(&first()->parked);
    assert_true(alice >= 150 && alice < 160);
    tasks_world_be("bob");
    for (int i = 0; i < 200; i++)
        call("later", 0);
    rounds(300);
    uint64_t bob = counter_read(&first()->parked) - alice;
    assert_true(bob >= (most_places() - alice) / 2 && bob < (most_places() - alice) / 2 + 10);
    tasks_world_be("carol");
    call("later", 0);
    rounds(10);
    assert_int_equal(counter_read(&first()->parked), alice + bob + 1);
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    rounds(10);
    assert_int_equal(w.ended, 1);
    w.v.now += AO_MS(60);
    end_all();
}

static const struct task_queue *waiting(void)
{
    return &w.tasks->shared.local[POOL_STEPPED]->queue;
}

/* Each of thousands of principals has one that finds no place.  A step looks at some of them and no
 * more; the next goes on behind those; and a brief call behind them all is found. */
TASKS_TEST(many_who_find_no_place_are_looked_at_in_steps)
{
    enum { MANY = 10000, A_STEP = 64, A_ROUND = 2 * A_STEP /* what comes is taken at once */ };
    char name[16];
    uint32_t before = 0, steps = 0, rounds_waited = 0;

    open_world(1, AO_US(200));
    w.quiet = true;
    first()->plan.parked = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "principal %d", i);
        tasks_world_be(name);
        call("later", 0);
    }
    while (waiting()->length < MANY - 256) /* but for what found a place */
        rounds(1);
    rounds(10); /* and the last have come */
    tasks_world_be("bob");
    unsigned ended = w.ended;
    tasks_world_call(0, "echo", params_none(), AO_NEVER);
    before = waiting()->aside;
    for (; w.ended == ended; rounds_waited++, before = waiting()->aside) {
        assert_true(rounds_waited < 4 * MANY / A_STEP);
        rounds(1);
        uint32_t now = waiting()->aside;
        assert_true(now <= before + A_ROUND);
        steps += now > before;
    }
    assert_true(steps >= MANY / A_ROUND / 2);
    for (unsigned i = 1; i <= MANY; i++)
        home_cancel(tasks_home(w.tasks, 0), tasks_world_find(i));
    w.v.now += AO_MS(60);
    end_all();
}

/* Room that comes while a pass is under way is for those, too, that it has set aside: none of them
 * waits beside a free place. */
TASKS_TEST(each_of_many_finds_a_place_in_the_end)
{
    enum { MANY = 1000 };
    char name[16];

    open_world(1, AO_US(200));
    w.quiet = true;
    first()->plan.parked = 50;
    play.may_end = true;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "principal %d", i);
        tasks_world_be(name);
        call("later", 0);
    }
    tasks_world_run();
    end_all();
}

/* Whoever left thousands of them behind holds nobody up while they are dropped. */
TASKS_TEST(what_was_left_behind_is_dropped_a_little_at_a_time)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    first()->plan.parked = 2000;
    for (int i = 0; i < 1500; i++)
        call("later", 0);
    rounds(10);
    assert_int_equal(counter_read(&first()->parked), 1500);
    for (unsigned i = 1; i <= 1500; i++)
        home_abandon(tasks_home(w.tasks, 0), tasks_world_find(i));
    uint64_t before = counter_read(&first()->parked);
    for (int n = 0; n < 5; n++, before = counter_read(&first()->parked)) {
        rounds(1);
        assert_true(before - counter_read(&first()->parked) <= 256);
    }
    rounds(5);
    assert_int_equal(counter_read(&first()->parked), 0);
    end_all();
}

TASKS_TEST(one_that_takes_turns_sees_that_it_is_cancelled)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    for (int i = 0; i < 3; i++)
        call("on_and_on", i);
    rounds(10);
    assert_int_equal(turning(0), 3);
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(2));
    rounds(4);
    assert_int_equal(turning(0), 2);
    end_all();
}

/* A fault, and a sleep, leave their turn as an end does. */
TASKS_TEST(whoever_stops_taking_turns_leaves_the_count)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    call("late_fault", 0);
    call("later", 0);
    rounds(2);
    w.v.now += AO_MS(60);
    rounds(3);
    assert_int_equal(turning(0), 1);
    end_all();
}

/* A round in which a task took its quantum begins no other: connections have their turn. */
TASKS_TEST(a_round_begins_one_long_task)
{
    open_world(1, AO_US(200));
    w.quiet = true;
    w.plan.short_cut = false;
    counter_set(&first()->service_ns, 1000);
    counter_set(&first()->hand_over_ns, 20000);
    for (int i = 0; i < 8; i++)
        call("on_and_on", i);
    for (int i = 1; i < 8; i++) {
        ao_time from = w.v.now;
        rounds(1);
        assert_true(w.v.now - from <= 2 * BEHIND_QUANTUM);
    }
    end_all();
}
