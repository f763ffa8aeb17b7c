/* The door of jobs: an attempt is given once and returns once, in turn with plain calls. */
#include "proto/encoder.h"
#include "server/runtime/object/object.h"
#include "server/tasks/manager/job_source_parts.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

enum { ALL = 64 };

/* One job of the source. */
struct item {
    const char *method;
    struct span params;
    ao_time deadline;
    struct task *task; /* while it is out */
    unsigned given, returned, notes;
    bool taken, again;
    ao_time timeout, began;
    struct attempt_mark mark;
    enum ergon_error error;
    size_t result_len;
};

static struct source {
    struct item items[ALL];
    unsigned count, asked, told_full, told_room, stops, cancels;
    bool shy;         /* says no although it has something */
    unsigned log_len; /* the order in which things ended: 'k' and 'p' */
    char log[ALL];
} s;
static unsigned mark_of(const struct item *it)
{
    return atomic_load_explicit(&it->mark.stage, memory_order_relaxed);
}

/* The first of this pool that was not taken. */
static struct item *first_of(uint32_t pool)
{
    for (unsigned i = 0; i < s.count && !s.shy; i++) {
        const struct method *m = registry_find(w.registry, span_text(s.items[i].method));
        if (!s.items[i].taken && m->pool->index == pool)
            return &s.items[i];
    }
    return NULL;
}

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    assert_ptr_equal(arg, &s);
    assert_true(room > 0);
    s.asked++;
    return first_of(pool) != NULL;
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    struct item *it = first_of(pool);
    if (!it)
        return false;
    it->taken = true;
    *run = (struct attempt_spec){.method = registry_find(w.registry, span_text(it->method)),
                                 .params = it->params,
                                 .deadline = it->deadline,
                                 .timeout = it->timeout,
                                 .mark = &it->mark,
                                 .id = (uint64_t)(it - s.items) + 1,
                                 .attempt = 7,
                                 .owner = it};
    return true;
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    struct item *it = run->owner;
    it->given++;
    it->task = t;
    assert_ptr_equal(t->params.at, it->params.at); /* in place */
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct item *it = r->owner;
    assert_int_equal(r->attempt, 7);
    it->returned++;
    it->task = NULL;
    it->began = r->began;
    it->again = r->again;
    it->error = r->outcome->error;
    it->result_len = r->outcome->result.len;
    s.log[s.log_len++ % ALL] = 'k';
}

static void noted(void *arg, const struct attempt_note *note)
{
    struct item *it = note->owner;
    assert_int_equal(it->returned, 0);
    it->notes++;
}

static void full(void *arg, uint32_t pool, bool is_full)
{
    *(is_full ? &s.told_full : &s.told_room) += 1;
}

static void stop(void *arg, bool cancel)
{
    s.stops++;
    s.cancels += cancel;
    for (unsigned i = 0; cancel && i < s.count; i++)
        if (s.items[i].task)
            attempt_flag(w.tasks, s.items[i].task, ATTEMPT_CANCEL);
}

static const struct job_source source = {.arg = &s,
                                         .ready = ready,
                                         .take = take,
                                         .given = given,
                                         .returned = returned,
                                         .noted = noted,
                                         .full = full,
                                         .stop = stop};

static void plain_ended(void *arg, struct call *call, struct outcome *outcome)
{
    s.log[s.log_len++ % ALL] = 'p';
}

static enum ao_verdict tires_step(struct ao *self, struct ergon_task *task, void *state)
{
    int *steps = state;
    return ++*steps < 10 ? AO_AGAIN : AO_PARK;
}

static const struct ergon_handler tires = {.size = sizeof tires,
                                           .kind = ERGON_STEPPED,
                                           .name = "tires",
                                           .step = tires_step,
                                           .state_size = sizeof(int)};

/* One loop and `blocking` executors, each of which takes `queue` tasks. */
static void open_world(uint32_t blocking, uint32_t queue)
{
    char error[100];
    s = (struct source){0};
    tasks_world_init(1, blocking);
    w.quiet = true;
    w.plan.short_cut = false;
    for (uint32_t i = 0; i <= blocking; i++)
        w.executors[i].queue = queue;
    assert_int_equal(registry_add(w.registry, "test", &tires, error, sizeof error), 0);
    tasks_world_open();
    tasks_set_job_source(w.tasks, &source);
}

static struct item *keep(const char *method, struct span params)
{
    struct item *it = &s.items[s.count++];
    *it = (struct item){
        .method = method, .params = params, .deadline = AO_NEVER, .timeout = AO_NEVER};
    return it;
}

static void run_ms(uint64_t ms)
{
    tasks_world_run_ms(ms);
}

static void run(void)
{
    tasks_world_wake_source();
    tasks_world_run();
}

TASKS_TEST(an_attempt_is_given_once_and_returns_once)
{
    static const char *const methods[] = {"echo", "block", "managed"};
    open_world(1, 64);
    for (unsigned i = 0; i < 30; i++)
        keep(methods[i % 3], params_none());
    run();
    for (unsigned i = 0; i < 30; i++) {
        assert_int_equal(s.items[i].given, 1);
        assert_int_equal(s.items[i].returned, 1);
        assert_int_equal(mark_of(&s.items[i]), MARK_OVER);
        assert_int_equal(s.items[i].error, ERGON_OK);
        assert_int_equal(s.items[i].result_len, params_none().len);
    }
    assert_int_equal(w.tasks->manager.attempts_out, 0);
}

TASKS_TEST(a_failure_returns_as_one)
{
    open_world(0, 64);
    const struct item *fail = keep("fail", params_none()),
                      *fault = keep("late_fault", params_none());
    run();
    assert_int_equal(fail->error, ERGON_E_FAILED);
    assert_int_equal(mark_of(fail), MARK_OVER);
    assert_int_equal(fault->error, ERGON_E_FAILED);
}

TASKS_TEST(who_has_nothing_is_not_asked_again)
{
    open_world(0, 64);
    run();
    unsigned asked = s.asked;
    for (int i = 0; i < 10; i++) {
        tasks_world_call(0, "echo", params_none(), AO_NEVER);
        tasks_world_run();
    }
    assert_int_equal(s.asked, asked);
    keep("echo", params_none());
    run();
    assert_int_equal(s.items[0].returned, 1);
}

TASKS_TEST(who_said_no_is_asked_when_an_attempt_returns)
{
    uint8_t ms[16];
    open_world(0, 64);
    const struct item *sleeps = keep("sleep", params_int(ms, 5));
    tasks_world_wake_source();
    run_ms(1);
    const struct item *it = keep("echo", params_none());
    run_ms(2);
    assert_int_equal(it->given, 0);
    run_ms(10);
    assert_int_equal(sleeps->returned, 1);
    assert_int_equal(it->returned, 1);
}

static void call(const char *method, struct span params)
{
    const struct call_request request = {
        .list = &w.list, .owner = &w, .params = params, .deadline = AO_NEVER};
    assert_int_equal(
        home_call(tasks_home(w.tasks, 0), registry_find(w.registry, span_text(method)), &request),
        ERGON_OK);
}

static void open_turns(void)
{
    open_world(1, 1);
    tasks_home(w.tasks, 0)->ended = plain_ended;
}

TASKS_TEST(plain_calls_and_kept_tasks_take_turns)
{
    open_turns();
    for (int i = 0; i < 4; i++)
        call("block", params_none());
    for (int i = 0; i < 6; i++)
        keep("block", params_none());
    run();
    assert_int_equal(s.log_len, 10);
    assert_string_equal(s.log, "kpkpkpkpkk");
}

TASKS_TEST(who_alone_has_tasks_gets_everything)
{
    open_turns();
    for (int i = 0; i < 4; i++)
        call("block", params_none());
    tasks_world_run();
    for (int i = 0; i < 3; i++)
        keep("block", params_none());
    run();
    assert_string_equal(s.log, "ppppkkk");
}

TASKS_TEST(nested_calls_go_first)
{
    uint8_t params[64];
    open_turns();
    call("outer", params_call(params, "block", params_none()));
    virtual_run(&w.v); /* its nested call is with the blocking executor */
    call("outer", params_call(params, "block", params_none()));
    for (int i = 0; i < 2; i++)
        keep("block", params_none());
    run();
    assert_string_equal(s.log, "ppkk");
}

TASKS_TEST(the_full_are_told_on_the_edge)
{
    open_world(1, 1);
    for (int i = 0; i < 5; i++)
        keep("block", params_none());
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_int_equal(s.told_full, 1);
    assert_int_equal(s.told_room, 0);
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_int_equal(s.told_full, 1);
    tasks_world_run();
    assert_int_equal(s.items[4].returned, 1);
    assert_int_equal(s.told_room, s.told_full);
}

TASKS_TEST(its_stage_and_executor_are_seen)
{
    char name[32];
    open_world(1, 64);
    const struct item *hangs = keep("hang", params_none()), *waits = keep("block", params_none());
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_int_equal(attempt_stage(hangs->task), ATTEMPT_PARKED);
    attempt_executor(w.tasks, hangs->task, name, sizeof name);
    assert_string_equal(name, "stepped 0");
    assert_int_equal(attempt_stage(waits->task), ATTEMPT_ASSIGNED);
    attempt_executor(w.tasks, waits->task, name, sizeof name);
    assert_string_equal(name, "blocking 1");
    attempt_flag(w.tasks, hangs->task, ATTEMPT_CANCEL);
    tasks_world_run();
    assert_int_equal(hangs->returned, 1);
}

static bool withdraw(const struct item *it)
{
    const struct attempt_mark *mark = NULL;
    bool withdrawn = attempt_withdraw(w.tasks, it->task, &mark);
    assert_ptr_equal(mark, withdrawn ? &it->mark : NULL);
    return withdrawn;
}

TASKS_TEST(one_that_waits_can_be_withdrawn_and_never_runs)
{
    open_world(1, 64);
    struct item *it = keep("block", params_none());
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_true(withdraw(it));
    assert_false(withdraw(it));
    atomic_store_explicit(&it->mark.stage, MARK_FREE, memory_order_relaxed);
    tasks_world_run();
    assert_int_equal(it->returned, 0);
    assert_int_equal(mark_of(it), MARK_FREE);
    assert_int_equal(executor_outstanding(w.tasks->executors[1]), 0);
    assert_int_equal(w.tasks->manager.attempts_out, 0);
}

/* One for the blocking executor, which has given it back, as when its handler waits for a call. */
static const struct item *given_back(void)
{
    const struct item *it = keep("block", params_none());
    struct executor *e = w.tasks->executors[1];

    tasks_world_wake_source();
    virtual_run(&w.v);
    executor_publish(e, 1);
    executor_give_back(e, ao_of(lane_take(e->in), struct task, item));
    lane_release(e->in);
    return it;
}

TASKS_TEST(so_can_one_that_was_given_back)
{
    open_world(1, 2);
    const struct item *it = given_back();
    assert_true(withdraw(it));
    tasks_world_run();
    assert_int_equal(it->returned, 0);
    assert_int_equal(w.tasks->manager.attempts_out, 0);
}

TASKS_TEST(one_that_has_begun_cannot_be_withdrawn)
{
    open_world(1, 64);
    run_ms(5);
    const struct item *it = keep("hang", params_none());
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_false(withdraw(it));
    assert_int_equal(attempt_began(it->task), AO_MS(5));
    assert_int_equal(mark_of(it), MARK_BEGUN);
    assert_int_equal(it->mark.began, AO_MS(5));
    attempt_flag(w.tasks, it->task, ATTEMPT_CANCEL);
    tasks_world_run();
    assert_int_equal(it->returned, 1);
    assert_int_equal(it->began, AO_MS(5));
}

/* Not from the time when it was given. */
TASKS_TEST(a_timeout_counts_from_the_begin)
{
    open_world(1, 64);
    struct item *it = keep("hang", params_none());
    it->timeout = AO_MS(3);
    run_ms(5);
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_int_equal(it->task->deadline, AO_MS(8));
    attempt_flag(w.tasks, it->task, ATTEMPT_LATE);
    tasks_world_run();
    struct item *waits = keep("block", params_none());
    waits->timeout = AO_MS(3);
    waits->deadline = AO_S(1);
    tasks_world_wake_source();
    virtual_run(&w.v);
    assert_int_equal(waits->task->deadline, AO_S(1));
    withdraw(waits);
    tasks_world_run();
}

TASKS_TEST(one_that_is_parked_is_cancelled)
{
    open_world(0, 64);
    const struct item *it = keep("hang", params_none());
    run();
    unsigned cleanups = test_cleanups;
    attempt_flag(w.tasks, it->task, ATTEMPT_CANCEL);
    tasks_world_run();
    assert_int_equal(test_cleanups, cleanups + 1);
    assert_int_equal(it->returned, 1);
    assert_int_equal(mark_of(it), MARK_OVER);
    assert_int_equal(it->error, ERGON_E_CANCELLED);
}

TASKS_TEST(one_that_is_given_back_is_given_again)
{
    char name[32];
    open_world(1, 2);
    const struct item *it = given_back();
    atomic_store_explicit(&w.tasks->executors[1]->accepting, ACCEPTS_NONE, memory_order_relaxed);
    virtual_run(&w.v);
    attempt_executor(w.tasks, it->task, name, sizeof name);
    assert_string_equal(name, "");
    atomic_store_explicit(&w.tasks->executors[1]->accepting, ACCEPTS_ALL, memory_order_relaxed);
    run();
    assert_int_equal(it->given, 1);
    assert_int_equal(it->returned, 1);
    assert_int_equal(mark_of(it), MARK_OVER);
}

static void drained(void *arg)
{
    *(bool *)arg = true;
}

TASKS_TEST(a_drain_waits_for_what_is_out_and_takes_nothing)
{
    bool done = false;
    uint8_t ms[16];
    open_world(0, 64);
    const struct item *sleeps = keep("sleep", params_int(ms, 20));
    tasks_world_wake_source();
    run_ms(1);
    tasks_drain_jobs(w.tasks, drained, &done);
    const struct item *late = keep("echo", params_none());
    tasks_world_wake_source();
    run_ms(10);
    assert_int_equal(s.stops, 1);
    assert_int_equal(s.cancels, 0);
    assert_false(done);
    assert_int_equal(tasks_world_call(0, "echo", params_none(), AO_NEVER), ERGON_OK);
    run_ms(30);
    assert_int_equal(w.errors[1], ERGON_OK); /* calls go on */
    assert_int_equal(sleeps->error, ERGON_OK);
    assert_int_equal(sleeps->returned, 1);
    assert_int_equal(late->given, 0);
    assert_true(done);
}

TASKS_TEST(a_cancel_of_all_reaches_the_source)
{
    bool done = false;
    open_world(0, 64);
    const struct item *it = keep("hang", params_none());
    run();
    tasks_drain_jobs(w.tasks, drained, &done);
    tasks_world_run();
    assert_false(done);
    tasks_cancel_all(w.tasks);
    tasks_world_run();
    assert_int_equal(s.cancels, 1);
    assert_int_equal(it->returned, 1);
    assert_true(done);
}

/* What is out when everything stops is cleaned up, and nobody is told. */
TEST(what_is_out_at_the_end_is_freed)
{
    open_world(1, 64);
    const struct item *hangs = keep("hang", params_none()), *waits = keep("block", params_none());
    tasks_world_wake_source();
    virtual_run(&w.v);
    unsigned cleanups = test_cleanups;
    assert_int_equal(tasks_stop(w.tasks, 0), 0);
    tasks_clear(w.tasks);
    assert_int_equal(test_cleanups, cleanups + 1);
    tasks_world_fini();
    assert_int_equal(hangs->returned + waits->returned, 0);
}

TASKS_TEST(notes_come_before_the_return)
{
    static const uint8_t text[] = "half";
    open_world(0, 64);
    const struct item *it = keep("hang", params_none());
    run();
    const struct attempt_note note = {.done = 1, .total = 2, .text = span_of(text, 4)};
    assert_true(attempt_post(it->task, &note));
    assert_true(attempt_post(it->task, &note));
    attempt_flag(w.tasks, it->task, ATTEMPT_CANCEL);
    tasks_world_run();
    assert_int_equal(it->notes, 2);
    assert_int_equal(it->returned, 1);
}

TASKS_TEST(notes_that_nobody_takes_are_bounded)
{
    static const uint8_t data[50000];
    open_world(0, 64);
    const struct item *it = keep("hang", params_none());
    run();
    const struct attempt_note part = {.kind = NOTE_PARTIAL, .data = span_of(data, sizeof data)};
    unsigned taken = 0;
    while (taken < 100 && attempt_post(it->task, &part))
        taken++;
    assert_int_equal(taken, 20);
    tasks_world_run();
    assert_int_equal(it->notes, taken);
    assert_true(attempt_post(it->task, &part)); /* and is freed with the world */
    w.unfinished = true;
}

/* Longer data no history keeps. */
TASKS_TEST(of_a_long_note_nothing_is_copied)
{
    static const uint8_t data[100000];
    open_world(0, 64);
    const struct item *it = keep("hang", params_none());
    run();
    const struct attempt_note part = {.kind = NOTE_PARTIAL, .data = span_of(data, sizeof data)};
    for (unsigned i = 0; i < 100; i++)
        assert_true(attempt_post(it->task, &part));
    tasks_world_run();
    assert_int_equal(it->notes, 100);
    w.unfinished = true;
}

static void rounds_of_a_quantum(int n)
{
    for (; n > 0; n--) {
        w.v.now += BEHIND_QUANTUM;
        virtual_round(&w.v, w.loops[0]);
    }
}

/* Beyond so many that take turns jobs wait in their queue; calls do not wait for that. */
TASKS_TEST(only_so_many_take_turns)
{
    uint8_t few[16], many[16], one[16];
    open_world(0, 1);
    w.tasks->executors[0]->plan.turns = 2;
    const struct item *ends = keep("again", params_int(few, 50));
    const struct item *goes_on = keep("again", params_int(many, 100000));
    const struct item *waits = keep("again", params_int(many, 100000));
    tasks_world_wake_source();
    rounds_of_a_quantum(20);
    assert_int_equal(counter_read(&w.tasks->executors[0]->turning_jobs), 2);
    assert_int_equal(ends->given + goes_on->given, 2);
    assert_int_equal(waits->given, 0);
    assert_true(s.told_full > s.told_room);
    for (unsigned i = 1; i <= 4; i++) {
        tasks_world_call(0, "again", params_int(one, 1), AO_NEVER);
        rounds_of_a_quantum(4);
        assert_int_equal(w.ended, i);
    }
    assert_int_equal(waits->given, 0);
    rounds_of_a_quantum(50);
    assert_int_equal(ends->returned, 1);
    assert_int_equal(waits->given, 1);
    assert_int_equal(counter_read(&w.tasks->executors[0]->turning_jobs), 2);
    w.unfinished = true;
}

/* Goes on for a while, and then waits for ever. */
/* One that parks takes no turn, and the manager hears of it. */
TASKS_TEST(one_that_parks_leaves_its_turn)
{
    uint8_t few[16];
    open_world(0, 1);
    w.tasks->executors[0]->plan.turns = 1;
    const struct item *parks = keep("tires", params_none());
    const struct item *next = keep("again", params_int(few, 10));
    tasks_world_wake_source();
    rounds_of_a_quantum(5);
    assert_int_equal(parks->given, 1);
    assert_int_equal(next->given, 0);
    rounds_of_a_quantum(30);
    assert_int_equal(next->returned, 1);
    assert_int_equal(counter_read(&w.tasks->executors[0]->turning_jobs), 0);
    w.unfinished = true; /* it is parked */
}

/* Room of every sort is heard of: the executor that gives it asks the manager, who waits. */
TASKS_TEST(a_manager_that_waits_hears_of_room)
{
    open_world(1, 1);
    for (int i = 0; i < 3; i++)
        tasks_world_call(0, "block", params_none(), AO_NEVER);
    virtual_run(&w.v);
    for (unsigned i = 1; i <= 3; i++) {
        assert_true(waker_announced(&w.tasks->shared.local[POOL_BLOCKING]->waiting_for_room) ==
                    (i < 3));
        assert_true(blocking_round(blocking_of(w.tasks->executors[1])));
        virtual_run(&w.v); /* by itself: nobody else asks */
        assert_int_equal(w.ended, i);
    }
}

/* What was given back stands in the manager's inbox when the drain comes: it is out, and runs. */
TASKS_TEST(a_drain_waits_for_what_stands_in_the_inbox)
{
    bool done = false;
    open_world(1, 1);
    const struct item *it = given_back();
    tasks_drain_jobs(w.tasks, drained, &done);
    virtual_run(&w.v);
    assert_false(done);
    assert_int_equal(it->returned, 0);
    tasks_world_run();
    assert_int_equal(it->returned, 1);
    assert_true(done);
}
