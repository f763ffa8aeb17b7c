/* Workers: they register, are given tasks, answer, are quiet, and are lost; whatever happens, each
 * call is answered once. */
#include <stdio.h>

#include "server/workers/worker_group.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"
#include "tests/support/played_worker.h"
#include "tests/support/tasks_world.h"

enum { MANY = 900 };

static struct played_worker a, b, c;
static unsigned looks; /* for a worker that has room */

struct worker_executor *__real_worker_groups_choose(const struct pool *p, uint32_t schema);
struct worker_executor *__wrap_worker_groups_choose(const struct pool *p, uint32_t schema);

struct worker_executor *__wrap_worker_groups_choose(const struct pool *p, uint32_t schema)
{
    looks++;
    return __real_worker_groups_choose(p, schema);
}

static void open_world(uint32_t loops)
{
    tasks_world_init(loops, 0);
    w.quiet = true;
    tasks_world_open();
    played_workers_open();
}

static enum ergon_error call_on(uint32_t loop, const char *method)
{
    return tasks_world_call(loop, method, params_none(), AO_NEVER);
}

static enum ergon_error call(const char *method)
{
    enum ergon_error error = call_on(0, method);
    tasks_world_run();
    return error;
}

static void join(struct played_worker *p, const char *methods, uint32_t slots)
{
    played_join(p, 0, methods, slots);
    tasks_world_run();
    assert_int_equal(p->joined, 1);
    assert_int_equal(p->error, ERGON_OK);
}

static void answer(struct played_worker *p)
{
    played_answer(p, 0);
    tasks_world_run();
}

static void lose(struct played_worker *p)
{
    played_lose(p, "it is gone");
    tasks_world_run();
}

static enum ergon_error outside_error;

static void ended_outside(void *arg, const struct outcome *outcome)
{
    outside_error = outcome->error;
}

static uint32_t executors_at(uint32_t loop)
{
    const struct worker_executor *r;
    uint32_t count = 0;
    LIST_FOREACH(r, &worker_loop_at(w.tasks, loop)->executors, link)
    count++;
    return count;
}

TASKS_TEST(a_call_goes_through_a_worker_and_back)
{
    open_world(1);
    join(&a, "thumb", 1);
    assert_int_equal(call("thumb"), ERGON_OK);
    assert_int_equal(a.count, 1);
    assert_int_equal(w.ended, 0);
    answer(&a);
    assert_int_equal(w.ended, 1);
    assert_int_equal(w.errors[1], ERGON_OK);
    assert_int_equal(call("thumb"), ERGON_OK);
    played_fail(&a, 0, "no picture");
    tasks_world_run();
    assert_int_equal(w.errors[2], ERGON_E_FAILED);
    struct worker_executor_info info;
    worker_executor_info(a.executor, &info);
    assert_int_equal(info.number, 1);
    assert_int_equal(info.state, WORKER_OPEN);
    assert_int_equal(info.done, 1);
    assert_int_equal(info.failed, 1);
    assert_int_equal(info.out, 0);
    struct method_info of_method;
    uint32_t index = registry_find(w.registry, span_text("thumb"))->index;
    tasks_method_info(w.tasks, index, &of_method);
    assert_int_equal(of_method.done, 1);
    assert_int_equal(of_method.failed, 1);
    assert_int_equal(of_method.running, 0);
    assert_false(of_method.no_worker);
    lose(&a);
    tasks_method_info(w.tasks, index, &of_method);
    assert_true(of_method.no_worker);
}

/* The time that a worker takes counts while it takes it, and not all at once when it answers. */
TASKS_TEST(what_runs_at_workers_is_busy_meanwhile)
{
    struct method_info info;
    open_world(1);
    join(&a, "thumb", 2);
    uint32_t index = registry_find(w.registry, span_text("thumb"))->index;
    uint64_t began = w.v.now / AO_MS(1);
    call("thumb");
    tasks_world_run_ms(began + 60000);
    tasks_method_info(w.tasks, index, &info);
    assert_int_equal(info.running, 1);
    assert_in_range(info.busy_ns, AO_S(60) - AO_MS(2), AO_S(60) + AO_MS(2));
    call("thumb");
    tasks_world_run_ms(began + 90000);
    tasks_method_info(w.tasks, index, &info);
    assert_int_equal(info.running, 2);
    assert_in_range(info.busy_ns, AO_S(120) - AO_MS(4), AO_S(120) + AO_MS(4));
    virtual_round(&w.v, w.loops[0]); /* it knows what time it is */
    played_answer_all(&a);
    tasks_world_run();
    tasks_method_info(w.tasks, index, &info);
    assert_int_equal(info.running, 0);
    assert_in_range(info.busy_ns, AO_S(120) - AO_MS(4), AO_S(120) + AO_MS(4));
}

static void join_as_process(const char *method, const char *module)
{
    played_join_as(&a, 0, method, &(struct worker_executor_spec){.slots = 1, .module = module});
    tasks_world_run();
}

TASKS_TEST(a_process_offers_the_methods_of_its_own_module_alone)
{
    static const char ours[] = "ours", others[] = "others";
    struct method *m;

    open_world(1);
    assert_int_equal(registry_intern(w.registry, span_text("ours.do"), &m), ERGON_OK);
    m->of_processes = true;
    m->module = ours;
    join_as_process("ours.do", others);
    assert_int_equal(a.error, ERGON_E_DENIED);
    join_as_process("others.do", others);
    assert_int_equal(a.error, ERGON_E_DENIED);
    join_as_process("ours.do", NULL);
    assert_int_equal(a.error, ERGON_E_DENIED);
    join_as_process("ours.do", ours);
    assert_int_equal(a.error, ERGON_OK);
}

TASKS_TEST(what_the_server_runs_itself_no_worker_can_offer)
{
    open_world(1);
    played_join(&a, 0, "thumb echo", 1);
    tasks_world_run();
    assert_int_equal(a.error, ERGON_E_DENIED);
    assert_non_null(strstr(a.text, "\"echo\""));
    played_join(&a, 0, "server.info", 1);
    tasks_world_run();
    assert_int_equal(a.error, ERGON_E_BAD_PARAMS);
    played_join(&a, 0, "Thumb", 1);
    tasks_world_run();
    assert_int_equal(a.error, ERGON_E_BAD_PARAMS);
    assert_int_equal(executors_at(0), 0);
    assert_int_equal(call("thumb"), ERGON_E_NO_WORKER); /* its name is known by now */
}

/* Its workers would be given turns, and answer as for a plain call. */
TASKS_TEST(what_workers_offer_for_plain_calls_becomes_no_method_of_actors)
{
    static const uint8_t of_actors[] = {ACTOR_METHOD, ACTOR_METHOD};
    const struct worker_executor_spec host = {.of_actors = of_actors};
    open_world(1);
    join(&a, "cart.add", 1);
    played_join_as(&b, 0, "cart.total cart.add", &host);
    tasks_world_run();
    assert_int_equal(b.error, ERGON_E_BUSY);
    assert_non_null(strstr(b.text, "\"cart.add\" without `actors`"));
    worker_executor_quiet(a.executor, true); /* it may want tasks again */
    tasks_world_run();
    played_join_as(&b, 0, "cart.total cart.add", &host);
    tasks_world_run();
    assert_int_equal(b.error, ERGON_E_BUSY);
    lose(&a);
    played_join_as(&b, 0, "cart.total cart.add", &host);
    tasks_world_run();
    assert_int_equal(b.error, ERGON_OK);
    lose(&b);
}

TASKS_TEST(no_more_workers_than_there_may_be)
{
    tasks_world_init(1, 0);
    w.quiet = true;
    w.plan.workers_max = 1;
    tasks_world_open();
    played_workers_open();
    join(&a, "thumb", 1);
    played_join(&b, 0, "thumb", 1);
    tasks_world_run();
    assert_int_equal(b.error, ERGON_E_BUSY);
    lose(&a);
    join(&b, "thumb", 1);
}

/* One has as many tasks as it has slots, the rest waits, and goes on as it answers. */
TASKS_TEST(a_worker_has_no_more_tasks_than_slots)
{
    open_world(1);
    join(&a, "thumb", 3);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(call("thumb"), ERGON_OK);
    assert_int_equal(a.count, 3);
    for (unsigned n = 1; n <= 10; n++) {
        answer(&a);
        assert_int_equal(w.ended, n);
        assert_int_equal(a.count, n <= 7 ? 3 : 10 - n);
    }
}

TASKS_TEST(whoever_has_least_for_its_slots_is_next)
{
    open_world(1);
    join(&a, "thumb", 1);
    join(&b, "thumb", 3);
    for (unsigned i = 0; i < 4; i++)
        call("thumb");
    assert_int_equal(a.count, 1);
    assert_int_equal(b.count, 3);
    answer(&b);
    call("thumb");
    assert_int_equal(b.count, 3);
    played_answer_all(&a);
    played_answer_all(&b);
    tasks_world_run();
}

TASKS_TEST(without_a_worker_a_call_is_refused_at_once)
{
    open_world(1);
    join(&a, "thumb", 1);
    call("thumb");
    call("thumb"); /* it waits */
    lose(&a);
    assert_int_equal(w.ended, 2);
    assert_int_equal(w.errors[1], ERGON_E_WORKER_LOST);
    assert_int_equal(w.errors[2], ERGON_E_NO_WORKER);
    assert_int_equal(call("thumb"), ERGON_E_NO_WORKER);
    assert_int_equal(executors_at(0), 0);
    join(&b, "thumb", 1);
    assert_int_equal(call("thumb"), ERGON_OK);
    answer(&b);
}

/* The loop does not know yet that the worker is quiet. */
TASKS_TEST(a_call_that_races_with_the_last_worker_is_told)
{
    open_world(1);
    join(&a, "thumb", 1);
    worker_executor_quiet(a.executor, true);
    assert_int_equal(call_on(0, "thumb"), ERGON_OK);
    tasks_world_run();
    assert_int_equal(a.count, 0);
    assert_int_equal(w.errors[1], ERGON_E_NO_WORKER);
}

TASKS_TEST(what_had_not_begun_goes_to_another_worker)
{
    open_world(1);
    join(&a, "thumb", 2);
    a.slow = true;
    call("thumb");
    call("thumb");
    played_begin(&a, 1);
    join(&b, "thumb", 1);
    lose(&a);
    assert_int_equal(w.errors[2], ERGON_E_WORKER_LOST);
    assert_int_equal(w.ended, 1);
    assert_int_equal(b.count, 1);
    answer(&b);
    assert_int_equal(w.errors[1], ERGON_OK);
}

/* Its output is full: others have its tasks, and it is given none before there is room. */
TASKS_TEST(a_worker_that_does_not_read_is_passed_over)
{
    open_world(1);
    join(&a, "thumb", 4);
    a.full = true;
    call("thumb");
    assert_int_equal(a.count + w.ended, 0); /* it waits */
    join(&b, "thumb", 1);
    assert_int_equal(b.count, 1);
    call("thumb");
    answer(&b);
    answer(&b);
    assert_int_equal(a.sent, 0);
    a.full = false;
    call("thumb");
    call("thumb");
    worker_executor_flushed(a.executor);
    tasks_world_run();
    assert_int_equal(a.count, 1);
    answer(&a);
    answer(&b);
    assert_int_equal(w.ended, 4);
}

TASKS_TEST(a_quiet_worker_is_given_nothing_more)
{
    open_world(1);
    join(&a, "thumb", 2);
    join(&b, "thumb", 1);
    call("thumb");
    assert_int_equal(a.count, 1);
    worker_executor_quiet(a.executor, true);
    tasks_world_run();
    assert_int_equal(a.quieted, 1);
    for (unsigned i = 0; i < 3; i++)
        call("thumb");
    assert_int_equal(a.count, 1);
    assert_int_equal(b.count, 1);
    answer(&a);
    assert_int_equal(a.count, 0);
    worker_executor_quiet(a.executor, false);
    tasks_world_run();
    assert_int_equal(a.opened, 1);
    assert_int_equal(a.count, 2);
    played_answer_all(&a);
    played_answer_all(&b);
    tasks_world_run();
}

/* The manager has answered the first wish, and the worker loop has not heard it yet. */
TASKS_TEST(only_the_last_wish_is_answered)
{
    open_world(2);
    played_join(&a, 1, "thumb", 1);
    tasks_world_run();
    worker_executor_quiet(a.executor, true);
    virtual_round(&w.v, w.loops[0]);
    worker_executor_quiet(a.executor, false);
    virtual_round(&w.v, w.loops[1]);
    tasks_world_run();
    assert_int_equal(a.quieted, 0);
    assert_int_equal(a.opened, 1);
    struct worker_executor_info info;
    worker_executor_info(a.executor, &info);
    assert_int_equal(info.state, WORKER_OPEN);
}

/* The worker loop hears the manager's answer before it takes what the manager gave it earlier. */
TASKS_TEST(what_was_given_before_a_worker_is_quiet_is_not_sent_after)
{
    open_world(2);
    played_join(&a, 1, "thumb", 1);
    tasks_world_run();
    assert_int_equal(call_on(0, "thumb"), ERGON_OK);
    for (int rounds = 0; rounds < 3; rounds++)
        virtual_round(&w.v, w.loops[0]);
    worker_executor_quiet(a.executor, true);
    virtual_round(&w.v, w.loops[0]);
    tasks_world_run();
    assert_int_equal(a.quieted, 1);
    assert_int_equal(a.sent, 0);
    assert_int_equal(w.errors[1], ERGON_E_NO_WORKER);
}

/* It opens again as a task is on its way to it: the task is sent. */
TASKS_TEST(what_was_given_after_a_worker_opened_is_sent)
{
    open_world(2);
    played_join(&a, 1, "thumb", 1);
    tasks_world_run();
    worker_executor_quiet(a.executor, true);
    tasks_world_run();
    worker_executor_quiet(a.executor, false);
    virtual_round(&w.v, w.loops[0]);
    assert_int_equal(call_on(0, "thumb"), ERGON_OK);
    virtual_round(&w.v, w.loops[0]);
    tasks_world_run();
    assert_int_equal(a.opened, 1);
    assert_int_equal(a.count, 1);
    answer(&a);
    assert_int_equal(w.errors[1], ERGON_OK);
}

/* The call is answered at once; the slot is taken until the worker answers. */
TASKS_TEST(a_call_that_is_cancelled_keeps_its_slot)
{
    open_world(1);
    join(&a, "thumb", 1);
    call("thumb");
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(1));
    assert_int_equal(w.errors[1], ERGON_E_CANCELLED);
    call("thumb");
    assert_int_equal(a.count, 1);
    assert_int_equal(a.unwanted, 1);
    assert_int_equal(a.why, TASK_CANCELLED);
    struct worker_executor_info info;
    worker_executor_info(a.executor, &info);
    assert_int_equal(info.unwanted, 1);
    call("thumb");
    home_cancel(tasks_home(w.tasks, 0), tasks_world_find(3)); /* of another, which waits */
    tasks_world_run();
    assert_int_equal(a.unwanted, 1);
    answer(&a);
    assert_int_equal(a.count, 1);
    answer(&a);
    assert_int_equal(w.errors[2], ERGON_OK);
}

TASKS_TEST(a_deadline_is_told_to_the_worker)
{
    open_world(1);
    join(&a, "thumb", 1);
    tasks_world_call(0, "thumb", params_none(), AO_MS(5));
    tasks_world_run();
    assert_int_equal(w.errors[1], ERGON_E_DEADLINE);
    assert_int_equal(a.why, TASK_LATE);
    lose(&a);
    assert_int_equal(w.ended, 1);
}

/* Both have endless work, and one slot to share. */
TASKS_TEST(methods_that_share_a_worker_take_turns)
{
    open_world(1);
    join(&a, "one two", 1);
    for (unsigned i = 0; i < 6; i++)
        call("one");
    for (unsigned i = 0; i < 6; i++)
        call("two");
    unsigned ones = 0;
    for (unsigned i = 0; i < 6; i++) {
        ones += a.has[0]->method->name.at[0] == 'o';
        answer(&a);
    }
    assert_in_range(ones, 3, 4);
    while (a.count > 0)
        answer(&a);
    assert_int_equal(w.ended, 12);
}

/* Many slots become free at once. */
TASKS_TEST(methods_share_the_slots_of_who_comes)
{
    open_world(1);
    join(&a, "one two", 1);
    for (unsigned i = 0; i < 10; i++)
        call_on(0, "one");
    for (unsigned i = 0; i < 10; i++)
        call_on(0, "two");
    tasks_world_run();
    join(&b, "one two", 8);
    unsigned ones = 0;
    for (unsigned i = 0; i < b.count; i++)
        ones += b.has[i]->method->name.at[0] == 'o';
    assert_int_equal(b.count, 8);
    assert_in_range(ones, 3, 5);
    while (a.count + b.count > 0) {
        played_answer_all(&a);
        played_answer_all(&b);
        tasks_world_run();
    }
    assert_int_equal(w.ended, 20);
}

/* A thousand wait for one slot: as it becomes free the manager looks at the first of them, and at
 * no other. */
TASKS_TEST(methods_that_wait_cost_nothing)
{
    char methods[MANY * 8] = "";
    open_world(1);
    for (unsigned i = 0; i < MANY; i++)
        snprintf(methods + strlen(methods), 8, "m%u ", i);
    join(&a, methods, 1);
    for (unsigned i = 0; i < MANY; i++) {
        char name[8];
        snprintf(name, sizeof name, "m%u", i);
        call_on(0, name);
        if (i % 100 == 0)
            tasks_world_run();
    }
    tasks_world_run();
    looks = 0;
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(w.ended, i);
        answer(&a);
    }
    assert_int_equal(w.ended, MANY);
    assert_in_range(looks, MANY - 1, 2 * MANY);
}

/* Workers of one program are one group, and a worker with more methods is in another. */
TASKS_TEST(workers_with_different_methods_serve_what_they_offer)
{
    open_world(2);
    join(&a, "one two", 1);
    played_join(&b, 1, "two three", 1);
    tasks_world_run();
    call("three");
    call("two");
    assert_int_equal(b.count, 1);
    assert_int_equal(a.count, 1);
    call("one");
    call("two");
    answer(&b);
    assert_int_equal(b.count, 1); /* two */
    answer(&a);
    assert_int_equal(a.count, 1); /* one */
    answer(&a);
    answer(&b);
    assert_int_equal(w.ended, 4);
}

/* Tasks for it stand in the lane as it is lost. */
TASKS_TEST(what_is_on_its_way_to_a_lost_worker_comes_back)
{
    open_world(2);
    w.unfinished = false;
    played_join(&a, 1, "thumb", 4);
    played_join(&b, 0, "thumb", 4);
    tasks_world_run();
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(call_on(0, "thumb"), ERGON_OK);
    virtual_round(&w.v, w.loops[0]);
    virtual_round(&w.v, w.loops[0]); /* the manager has given */
    played_lose(&a, "gone");
    tasks_world_run();
    assert_int_equal(b.count, 4);
    played_answer_all(&b);
    tasks_world_run();
    played_answer_all(&b);
    tasks_world_run();
    for (unsigned i = 1; i <= 6; i++)
        assert_int_equal(w.errors[i], ERGON_OK);
    assert_int_equal(executors_at(1), 0);
}

TASKS_TEST(who_is_lost_before_it_has_joined_was_never_there)
{
    open_world(1);
    played_join(&a, 0, "thumb", 1);
    played_lose(&a, "gone");
    tasks_world_run();
    assert_int_equal(a.joined, 0);
    assert_int_equal(executors_at(0), 0);
    assert_int_equal(w.tasks->manager.roster->member_count, 0);
}

TASKS_TEST(registrations_of_one_peer_are_lost_together)
{
    open_world(1);
    join(&a, "one", 1);
    played_join_as(&b, 0, "two", &(struct worker_executor_spec){.beside = a.executor});
    tasks_world_run();
    call("one");
    call("two");
    struct worker_executor *other = a.executor;
    lose(&b);
    assert_int_equal(w.errors[1], ERGON_E_WORKER_LOST);
    assert_int_equal(w.errors[2], ERGON_E_WORKER_LOST);
    assert_int_equal(executors_at(0), 0);
    (void)other;
}

/* A loop that does not finish its round is given nothing. */
TASKS_TEST(a_loop_that_is_away_is_given_nothing)
{
    open_world(2);
    played_join(&a, 1, "thumb", 4);
    played_join(&b, 0, "thumb", 1);
    tasks_world_run();
    tasks_set_away(w.tasks, 1, true);
    call("thumb");
    call("thumb");
    assert_int_equal(a.count, 0);
    assert_int_equal(b.count, 1);
    tasks_set_away(w.tasks, 1, false);
    tasks_world_run();
    assert_int_equal(a.count, 1);
    played_answer(&a, 0);
    answer(&b);
    assert_int_equal(w.ended, 2);
}

/* A new version has at most its share, however idle its workers are. */
TASKS_TEST(a_version_gets_its_share)
{
    open_world(1);
    played_join_as(&a, 0, "thumb",
                   &(struct worker_executor_spec){.slots = 8, .version = span_text("1")});
    played_join_as(
        &b, 0, "thumb",
        &(struct worker_executor_spec){.slots = 8, .version = span_text("2"), .share = 10});
    tasks_world_run();
    for (unsigned i = 0; i < 200; i++) {
        call("thumb");
        played_answer_all(&a);
        played_answer_all(&b);
        tasks_world_run();
    }
    assert_in_range(b.sent, 18, 21);
    lose(&a); /* and all of it where there is no other */
    for (unsigned i = 0; i < 8; i++)
        call("thumb");
    assert_int_equal(b.count, 8);
    played_answer_all(&b);
    tasks_world_run();
}

/* From the next tasks on, whatever was given before: to the others, or to it while it was alone. */
TASKS_TEST(a_share_counts_from_when_versions_meet)
{
    open_world(1);
    played_join_as(
        &b, 0, "thumb",
        &(struct worker_executor_spec){.slots = 8, .version = span_text("2"), .share = 10});
    tasks_world_run();
    for (unsigned i = 0; i < 100; i++) {
        call("thumb");
        played_answer_all(&b);
        tasks_world_run();
    }
    assert_int_equal(b.sent, 100);
    played_join_as(&a, 0, "thumb",
                   &(struct worker_executor_spec){.slots = 8, .version = span_text("1")});
    tasks_world_run();
    for (unsigned i = 0; i < 300; i++) {
        call("thumb");
        played_answer_all(&a);
        played_answer_all(&b);
        tasks_world_run();
        if (i % 50 == 49)
            assert_in_range(b.sent, 100 + i / 10 - 1, 100 + i / 10 + 2);
    }
    played_join_as(
        &c, 0, "thumb",
        &(struct worker_executor_spec){.slots = 8, .version = span_text("3"), .share = 10});
    tasks_world_run();
    for (unsigned i = 0; i < 50; i++) {
        call("thumb");
        played_answer_all(&a);
        played_answer_all(&b);
        played_answer_all(&c);
        tasks_world_run();
    }
    assert_in_range(c.sent, 4, 6);
}

/* Its workers stay idle though all others are full and tasks wait. */
TASKS_TEST(a_share_is_strict)
{
    open_world(1);
    played_join_as(&a, 0, "thumb",
                   &(struct worker_executor_spec){.slots = 1, .version = span_text("1")});
    played_join_as(
        &b, 0, "thumb",
        &(struct worker_executor_spec){.slots = 8, .version = span_text("2"), .share = 10});
    tasks_world_run();
    for (unsigned i = 0; i < 20; i++)
        call("thumb");
    assert_int_equal(a.count, 1);
    assert_int_equal(b.count, 1); /* one of two is more than a tenth: none before ten are given */
    while (a.sent + b.sent < 9) {
        answer(&a);
        assert_int_equal(b.sent, 1);
    }
    answer(&a);
    assert_int_equal(b.sent, 2);
    while (a.count + b.count > 0) {
        played_answer_all(&a);
        played_answer_all(&b);
        tasks_world_run();
    }
    assert_int_equal(w.ended, 20);
    assert_int_equal(b.sent, 2);
}

/* Whatever they call themselves: what the manager looks at is one group. */
TASKS_TEST(workers_without_a_share_are_one_crew)
{
    static struct played_worker all[8];
    open_world(1);
    for (unsigned i = 0; i < 8; i++) {
        char version[4];
        snprintf(version, sizeof version, "%u", i);
        played_join_as(&all[i], 0, "thumb",
                       &(struct worker_executor_spec){.version = span_text(version)});
        tasks_world_run();
        assert_ptr_equal(worker_executor_of(&all[i].executor->base)->member.group,
                         all[0].executor->member.group);
    }
    played_join_as(&a, 0, "thumb",
                   &(struct worker_executor_spec){.version = span_text("0"), .share = 50});
    tasks_world_run();
    assert_ptr_not_equal(a.executor->member.group, all[0].executor->member.group);
}

/* A nested call of a handler, and a task of an outside thread. */
TASKS_TEST(whoever_calls_a_worker_is_answered)
{
    uint8_t buf[64];
    tasks_world_init(2, 1);
    w.quiet = true;
    tasks_world_open();
    played_workers_open();
    played_join(&a, 1, "thumb", 4);
    tasks_world_run();
    struct span nested = params_call(buf, "thumb", params_none());
    tasks_world_call(0, "outer", nested, AO_NEVER);
    tasks_world_run();
    tasks_world_call(0, "outer", nested, AO_NEVER);
    tasks_world_run();
    assert_int_equal(a.count, 2);
    played_answer(&a, 0);
    played_fail(&a, 0, "no picture");
    tasks_world_run();
    assert_int_equal(w.errors[1], ERGON_OK);
    assert_int_equal(w.errors[2], ERGON_E_FAILED);
    outside_error = ERGON_E_INTERNAL;
    assert_int_equal(
        tasks_add(w.tasks, span_text("thumb"), params_none(), AO_NEVER, ended_outside, NULL),
        ERGON_OK);
    tasks_world_run();
    answer(&a);
    assert_int_equal(outside_error, ERGON_OK);
}

/* The account of the worker has room for two such results at a time. */
TASKS_TEST(large_results_take_slots_away)
{
    static const struct account_limits limits = {
        .bytes_in_all = UINT64_MAX, .bytes = 700000, .calls = UINT32_MAX};
    tasks_world_init(1, 0);
    w.quiet = true;
    w.limits = &limits;
    tasks_world_open();
    played_workers_open();
    struct tally *tally = tally_open(&w.books[0], "worker");
    played_join_as(&a, 0, "thumb", &(struct worker_executor_spec){.slots = 8, .tally = tally});
    tally_close(tally);
    tasks_world_run();
    for (unsigned i = 0; i < 20; i++)
        call("thumb");
    assert_int_equal(a.count, 8);
    played_answer_with(&a, 0, 300000);
    tasks_world_run();
    assert_int_equal(a.count, 7); /* and no more, until it has one */
    for (unsigned i = 0; i < 6; i++)
        answer(&a);
    assert_int_equal(a.count, 2);
    while (w.ended < 17)
        answer(&a);
    assert_in_range(a.count, 2, 3);
    while (a.count > 0)
        answer(&a);
    for (unsigned i = 0; i < 100; i++) { /* small ones again */
        call("thumb");
        answer(&a);
    }
    for (unsigned i = 0; i < 8; i++)
        call("thumb");
    assert_int_equal(a.count, 8);
    lose(&a);
}

/* --- What one step of the manager takes --- */

enum { CROWD = 20, CROWD_METHODS = 200, NAMES_A_STEP = 500 };

static struct played_worker crowd[CROWD];

static void open_beside_a_manager(void)
{
    tasks_world_init(1, 0);
    w.quiet = true;
    tasks_world_own_manager();
    tasks_world_open();
    played_workers_open();
}

/* "m<n>.0" and so on. */
static void join_with_many(struct played_worker *p, unsigned n, unsigned count)
{
    static char text[WORKER_METHODS_MAX * 16];
    size_t len = 0;
    for (unsigned i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "m%u.%u ", n, i);
    played_join(p, 0, text, 1);
}

/* So many of the crowd, which come before all others, have joined. */
static unsigned crowd_there(void)
{
    unsigned there = 0;
    for (unsigned i = 0; i < CROWD; i++)
        if (crowd[i].executor->member.group) {
            assert_int_equal(there, i);
            there++;
        }
    return there;
}

static bool step_manager(void)
{
    return virtual_round(&w.v, w.manager);
}

TASKS_TEST(many_that_join_at_once_join_in_turn)
{
    open_beside_a_manager();
    for (unsigned i = 0; i < CROWD; i++)
        join_with_many(&crowd[i], i, CROWD_METHODS);
    unsigned before = 0, steps = 0;
    while (step_manager()) {
        unsigned there = crowd_there();
        assert_in_range((there - before) * CROWD_METHODS, 1, NAMES_A_STEP);
        before = there;
        steps++;
    }
    assert_true(steps >= CROWD * CROWD_METHODS / NAMES_A_STEP - 1);
    tasks_world_run();
    assert_int_equal(crowd_there(), CROWD);
    for (unsigned i = 0; i < CROWD; i++)
        assert_int_equal(crowd[i].joined, 1);
}

TASKS_TEST(one_that_has_more_methods_than_a_step_takes_joins_in_one)
{
    open_beside_a_manager();
    join_with_many(&a, 0, WORKER_METHODS_MAX);
    join_with_many(&b, 1, 1);
    assert_true(step_manager());
    assert_non_null(a.executor->member.group);
    assert_null(b.executor->member.group);
    tasks_world_run();
    assert_int_equal(b.joined, 1);
}

/* Whoever waits for a slot does not wait for those who come. */
TASKS_TEST(room_at_a_worker_counts_before_those_that_join)
{
    open_beside_a_manager();
    join(&a, "thumb", 1);
    call("thumb");
    call("thumb");
    assert_int_equal(a.count, 1);
    for (unsigned i = 0; i < CROWD; i++)
        join_with_many(&crowd[i], i, CROWD_METHODS);
    played_answer(&a, 0);
    step_manager();
    assert_in_range(crowd_there(), 1, CROWD - 1);
    virtual_round(&w.v, w.loops[0]);
    assert_int_equal(a.count, 1);
    answer(&a);
    assert_int_equal(w.ended, 2);
}

/* They leave in turn, too, and none is given a task meanwhile. */
TASKS_TEST(what_waits_to_leave_is_given_nothing)
{
    open_beside_a_manager();
    for (unsigned i = 0; i < CROWD; i++)
        join_with_many(&crowd[i], i, CROWD_METHODS);
    tasks_world_run();
    const struct worker_executor *last = crowd[CROWD - 1].executor;
    for (unsigned i = 0; i < CROWD; i++)
        played_lose(&crowd[i], "it is gone");
    assert_int_equal(call_on(0, "m19.0"), ERGON_OK); /* the loop does not know yet */
    virtual_round(&w.v, w.loops[0]);
    assert_true(step_manager());
    assert_non_null(last->member.group);
    assert_int_equal(atomic_load(&last->base.given), 0);
    tasks_world_run();
    assert_int_equal(w.errors[1], ERGON_E_NO_WORKER);
    assert_int_equal(executors_at(0), 0);
}

static void join_version(struct played_worker *p, unsigned n)
{
    char version[16];
    snprintf(version, sizeof version, "v%u", n);
    played_join_as(p, 0, "thumb",
                   &(struct worker_executor_spec){.version = span_text(version), .share = 10});
    tasks_world_run();
}

/* Each choice for a method looks at all versions of it. */
TASKS_TEST(a_method_has_only_so_many_versions_with_a_share)
{
    open_world(1);
    for (unsigned i = 0; i < VERSIONS_MAX; i++) {
        join_version(&crowd[i], i);
        assert_int_equal(crowd[i].error, ERGON_OK);
    }
    join_version(&a, VERSIONS_MAX);
    assert_int_equal(a.error, ERGON_E_BUSY);
    assert_non_null(strstr(a.text, "\"thumb\""));
    join_version(&a, 0); /* one that is there */
    assert_int_equal(a.error, ERGON_OK);
    join(&b, "thumb", 1); /* without a share */
    lose(&crowd[1]);
    join_version(&c, VERSIONS_MAX);
    assert_int_equal(c.error, ERGON_OK);
}

enum { CREWS = 640, CALLS_BEHIND = 100 };

/* To choose costs more, the more groups there are: so a step gives fewer tasks. */
TASKS_TEST(a_method_of_many_crews_is_given_few_tasks_a_step)
{
    static struct played_worker each[CREWS];
    open_beside_a_manager();
    for (unsigned i = 0; i < CREWS; i++) {
        char methods[32];
        snprintf(methods, sizeof methods, "thumb m%u", i);
        played_join(&each[i], 0, methods, 1);
    }
    tasks_world_run();
    for (unsigned i = 0; i < CALLS_BEHIND; i++)
        assert_int_equal(call_on(0, "thumb"), ERGON_OK);
    virtual_round(&w.v, w.loops[0]);
    assert_true(step_manager());
    unsigned given = 0;
    for (unsigned i = 0; i < CREWS; i++)
        given += atomic_load(&each[i].executor->base.given);
    assert_in_range(given, 1, CALLS_BEHIND / 2);
    tasks_world_run();
    for (unsigned i = 0; i < CREWS; i++)
        played_answer_all(&each[i]);
    tasks_world_run();
    assert_int_equal(w.ended, CALLS_BEHIND);
}

/* It comes and goes before its turn. */
TASKS_TEST(what_is_lost_before_its_turn_never_joins)
{
    open_beside_a_manager();
    for (unsigned i = 0; i < CROWD; i++)
        join_with_many(&crowd[i], i, CROWD_METHODS);
    assert_true(step_manager());
    played_lose(&crowd[CROWD - 1], "it is gone");
    tasks_world_run();
    assert_int_equal(crowd[CROWD - 1].joined, 0);
    assert_int_equal(executors_at(0), CROWD - 1);
    assert_null(registry_find(w.registry, span_text("m19.0")));
}

static int register_one(void *arg)
{
    struct worker_executor_spec spec = {
        .methods = (struct span[]){span_text("one"), span_text("two")}, .count = 2};
    spec.slots = spec.share = 1;
    a = (struct played_worker){0};
    a.executor = worker_executor_register(worker_loop_at(w.tasks, 0), &spec, &a);
    if (!a.executor)
        return -1;
    tasks_world_run();
    bool joined = a.error == ERGON_OK;
    assert_int_equal(a.joined, 1);
    if (joined)
        lose(&a);
    else
        assert_int_equal(a.error, ERGON_E_MEMORY);
    return joined ? 0 : -1;
}

TASKS_TEST(without_memory_a_worker_is_refused)
{
    open_world(1);
    for (int64_t n = 1;; n++) {
        heap_fail_at(n);
        int joined = register_one(NULL);
        bool failed = heap_failed();
        heap_fail_at(0);
        assert_int_equal(executors_at(0), 0);
        if (!failed) {
            assert_int_equal(joined, 0);
            break;
        }
    }
}
