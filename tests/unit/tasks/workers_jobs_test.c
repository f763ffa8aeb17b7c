/* Attempts of jobs through workers: claimed as they are sent, lost alone or in company, handed back
 * unsent; and what the source of jobs is told of workers that come and go. */
#include <stdio.h>

#include "server/tasks/manager/job_source_parts.h"
#include "server/workers/worker_update.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/played_worker.h"
#include "tests/support/tasks_world.h"

enum { ALL = 64 };

/* One attempt of the source, all of the same method. */
struct item {
    struct task *task; /* while it is out */
    unsigned returned;
    enum attempt_loss loss;
    enum ergon_error error;
    char why[100];
    struct attempt_mark mark;
};

static struct source {
    struct item items[ALL];
    unsigned count, given, asked;
    const char *method;           /* that workers offer */
    unsigned offers, withdrawals; /* edges of it */
    bool takes_types;
    char who[160]; /* went last */
    bool full;
} s;

static struct played_worker a, b;

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    const struct method *m = registry_find(w.registry, span_text("thumb"));
    assert_true(room > 0);
    if (!m || m->pool->index != pool)
        return false;
    s.asked++;
    return s.given < s.count;
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    struct item *it = &s.items[s.given];
    if (s.given == s.count)
        return false;
    *run = (struct attempt_spec){.method = registry_find(w.registry, span_text("thumb")),
                                 .params = params_none(),
                                 .deadline = AO_NEVER,
                                 .timeout = AO_NEVER,
                                 .id = s.given + 1,
                                 .attempt = 1,
                                 .mark = &it->mark,
                                 .owner = it};
    return true;
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    struct item *it = run->owner;
    assert_non_null(t);
    it->task = t;
    s.given++;
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct item *it = r->owner;
    it->task = NULL;
    it->returned++;
    it->loss = r->loss;
    it->error = r->outcome->error;
    snprintf(it->why, sizeof it->why, "%.*s", (int)r->why.len, (const char *)r->why.at);
}

static void noted(void *arg, const struct attempt_note *note)
{
}

static void full(void *arg, uint32_t pool, bool is_full)
{
    s.full = is_full;
}

static void offered(void *arg, struct method *method, bool workers, struct span who)
{
    assert_non_null(method->pool);
    assert_string_equal(method_name(method), s.method);
    *(workers ? &s.offers : &s.withdrawals) += 1;
    snprintf(s.who, sizeof s.who, "%.*s", (int)who.len, (const char *)who.at);
    if (workers)
        job_source_wake(w.tasks, method->pool->index);
}

static bool typed(void *arg, const struct actor_offer *offer)
{
    return s.takes_types;
}

static void stop(void *arg, bool cancel)
{
}

static void open_world(uint32_t loops)
{
    static const struct job_source source = {.ready = ready,
                                             .take = take,
                                             .given = given,
                                             .returned = returned,
                                             .noted = noted,
                                             .full = full,
                                             .offered = offered,
                                             .typed = typed,
                                             .stop = stop};
    s = (struct source){.method = "thumb"};
    tasks_world_init(loops, 0);
    w.quiet = true;
    tasks_world_open();
    tasks_set_job_source(w.tasks, &source);
    played_workers_open();
}

static void join(struct played_worker *p, uint32_t loop, uint32_t slots)
{
    played_join(p, loop, "thumb", slots);
    tasks_world_run();
    assert_int_equal(p->error, ERGON_OK);
}

static void keep(unsigned count)
{
    s.count += count;
    tasks_world_wake_source();
    tasks_world_run();
}

static void lose(struct played_worker *p)
{
    played_lose(p, "worker w1: gone");
    tasks_world_run();
}

TASKS_TEST(an_attempt_runs_at_a_worker)
{
    open_world(2);
    join(&a, 1, 1);
    keep(2);
    assert_int_equal(s.given, 1);
    assert_true(s.full);
    assert_int_equal(attempt_stage(s.items[0].task), ATTEMPT_RUNNING);
    char name[24];
    attempt_executor(w.tasks, s.items[0].task, name, sizeof name);
    assert_string_equal(name, "worker 1");
    played_answer(&a, 0);
    tasks_world_run();
    assert_int_equal(s.items[0].returned, 1);
    assert_int_equal(s.items[0].error, ERGON_OK);
    assert_int_equal(s.items[0].loss, LOSS_NONE);
    assert_int_equal(s.given, 2);
    played_fail(&a, 0, "no picture");
    tasks_world_run();
    assert_int_equal(s.items[1].error, ERGON_E_FAILED);
    assert_false(s.full);
}

TASKS_TEST(the_source_is_told_of_workers_on_each_edge)
{
    open_world(2);
    keep(1);
    assert_int_equal(s.asked, 0);
    join(&a, 0, 1);
    join(&b, 1, 1);
    assert_int_equal(s.offers, 1);
    assert_int_equal(s.given, 1);
    worker_executor_quiet(a.executor, true);
    tasks_world_run();
    assert_int_equal(s.withdrawals, 0);
    lose(&b);
    assert_int_equal(s.withdrawals, 1);
    assert_string_equal(s.who, "worker w1: gone");
    worker_executor_quiet(a.executor, false);
    tasks_world_run();
    assert_int_equal(s.offers, 2);
    worker_executor_quiet(a.executor, true);
    tasks_world_run();
    assert_string_equal(s.who, "worker w1 wants no more tasks");
    worker_executor_quiet(a.executor, false);
    tasks_world_run();
    played_answer_all(&a);
    lose(&a);
    assert_int_equal(s.withdrawals, 3);
}

TASKS_TEST(it_is_told_which_workers_there_are)
{
    struct source_worker is[2];
    open_world(2);
    join(&a, 0, 3);
    const struct method *thumb = registry_find(w.registry, span_text("thumb"));
    keep(2);
    assert_int_equal(job_source_workers(w.tasks, thumb, is, 2), 1);
    assert_string_equal(is[0].name, "worker 1");
    assert_int_equal(is[0].outstanding, 2);
    assert_int_equal(is[0].slots, 3);
    join(&b, 1, 1);
    assert_int_equal(job_source_workers(w.tasks, thumb, is, 1), 2);
    lose(&a);
    lose(&b);
    assert_int_equal(job_source_workers(w.tasks, thumb, is, 2), 0);
}

TASKS_TEST(an_attempt_is_lost_alone_or_in_company)
{
    open_world(1);
    join(&a, 0, 1);
    keep(1);
    lose(&a);
    assert_int_equal(s.items[0].loss, LOSS_ALONE);
    assert_int_equal(s.items[0].error, ERGON_E_WORKER_LOST);
    assert_string_equal(s.items[0].why, "worker w1: gone");
    join(&a, 0, 3);
    a.slow = true;
    keep(3);
    played_begin(&a, 0);
    played_begin(&a, 2);
    lose(&a);
    assert_int_equal(s.items[1].loss, LOSS_IN_COMPANY);
    assert_int_equal(s.items[2].loss, LOSS_UNSENT);
    assert_int_equal(s.items[3].loss, LOSS_IN_COMPANY);
}

/* It is one process. */
TASKS_TEST(what_its_other_registrations_have_is_company)
{
    open_world(1);
    join(&a, 0, 1);
    played_join_as(&b, 0, "thumb", &(struct worker_executor_spec){.beside = a.executor});
    tasks_world_run();
    keep(2);
    lose(&a);
    assert_int_equal(s.items[0].loss, LOSS_IN_COMPANY);
    assert_int_equal(s.items[1].loss, LOSS_IN_COMPANY);
}

TASKS_TEST(a_call_beside_it_is_company_too)
{
    open_world(1);
    join(&a, 0, 2);
    keep(1);
    tasks_world_call(0, "thumb", params_none(), AO_NEVER);
    tasks_world_run();
    lose(&a);
    assert_int_equal(s.items[0].loss, LOSS_IN_COMPANY);
    assert_int_equal(w.errors[1], ERGON_E_WORKER_LOST);
}

TASKS_TEST(an_attempt_that_could_not_be_sent_returns)
{
    open_world(1);
    join(&a, 0, 2);
    a.full = true;
    keep(1);
    assert_int_equal(s.items[0].returned, 1);
    assert_int_equal(s.items[0].loss, LOSS_UNSENT);
    assert_int_equal(a.sent, 0);
    keep(1);
    assert_int_equal(s.given, 1);
    a.full = false;
    worker_executor_flushed(a.executor);
    tasks_world_run();
    assert_int_equal(a.count, 1);
    played_answer_all(&a);
    tasks_world_run();
}

/* It has no answer: it must not come home as one that was done. */
TASKS_TEST(an_attempt_that_nobody_wants_and_that_was_not_sent_is_lost)
{
    open_world(1);
    join(&a, 0, 1);
    a.slow = true;
    keep(1);
    assert_int_equal(a.count, 1);
    attempt_flag(w.tasks, s.items[0].task, ATTEMPT_CANCEL);
    tasks_world_run();
    lose(&a);
    assert_int_equal(s.items[0].returned, 1);
    assert_int_equal(s.items[0].loss, LOSS_UNSENT);
    assert_int_equal(s.items[0].error, ERGON_E_WORKER_LOST);
}

/* The manager has given it, and the worker loop has not come to it. */
TASKS_TEST(an_attempt_that_is_withdrawn_is_not_sent)
{
    const struct attempt_mark *mark;
    open_world(2);
    join(&a, 1, 1);
    s.count = 1;
    tasks_world_wake_source();
    virtual_round(&w.v, w.loops[0]);
    assert_int_equal(s.given, 1);
    assert_true(attempt_withdraw(w.tasks, s.items[0].task, &mark));
    tasks_world_run();
    assert_int_equal(a.sent, 0);
    assert_int_equal(s.items[0].returned, 0);
    keep(1);
    assert_int_equal(a.sent, 1);
    assert_false(attempt_withdraw(w.tasks, s.items[1].task, &mark));
    played_answer_all(&a);
    tasks_world_run();
}

/* It stays out until it is answered. */
TASKS_TEST(an_attempt_that_nobody_wants_is_told_and_keeps_its_slot)
{
    open_world(2);
    join(&a, 1, 1);
    keep(2);
    assert_int_equal(atomic_load(&s.items[0].mark.place), MARK_AT_WORKER);
    attempt_flag(w.tasks, s.items[0].task, ATTEMPT_LATE);
    tasks_world_run();
    assert_int_equal(a.unwanted, 1);
    assert_int_equal(a.why, TASK_LATE);
    assert_int_equal(s.given, 1);
    played_answer(&a, 0);
    tasks_world_run();
    assert_int_equal(s.items[0].returned, 1);
    assert_int_equal(s.given, 2);
    played_answer(&a, 0);
    tasks_world_run();
}

/* The attempt that names it is still on its way to the manager. */
TASKS_TEST(a_lost_worker_lives_until_its_attempts_have_returned)
{
    char name[24];
    open_world(2);
    join(&a, 1, 1);
    keep(1);
    played_lose(&a, "gone");
    virtual_round(&w.v, w.loops[1]);
    worker_updates_take(&w.tasks->manager); /* the manager hears of the loss first */
    virtual_round(&w.v, w.loops[1]);
    assert_false(LIST_EMPTY(&worker_loop_at(w.tasks, 1)->executors));
    attempt_executor(w.tasks, s.items[0].task, name, sizeof name);
    assert_string_equal(name, "worker 1");
    tasks_world_run();
    assert_int_equal(s.items[0].returned, 1);
    assert_true(LIST_EMPTY(&worker_loop_at(w.tasks, 1)->executors));
}

TASKS_TEST(calls_and_attempts_take_turns_at_a_worker)
{
    open_world(1);
    join(&a, 0, 1);
    keep(8);
    for (unsigned i = 0; i < 8; i++)
        tasks_world_call(0, "thumb", params_none(), AO_NEVER);
    tasks_world_run();
    for (unsigned i = 0; i < 8; i++) {
        played_answer(&a, 0);
        tasks_world_run();
    }
    assert_in_range(w.ended, 3, 5);
    while (a.count > 0) {
        played_answer(&a, 0);
        tasks_world_run();
    }
    assert_int_equal(w.ended, 8);
    assert_int_equal(s.given, 8);
}

/* The jobs had no memory for the type. */
TASKS_TEST(a_type_that_is_not_taken_leaves_its_methods_as_they_were)
{
    static const uint8_t of_actors[] = {ACTOR_METHOD};
    const struct worker_type type = {.type = span_text("cart")};
    const struct worker_executor_spec host = {
        .of_actors = of_actors, .types = &type, .type_count = 1};
    open_world(1);
    s.method = "cart.add";
    played_join_as(&a, 0, "cart.add", &host);
    tasks_world_run();
    assert_int_equal(a.error, ERGON_E_MEMORY);
    const struct method *m = registry_find(w.registry, span_text("cart.add"));
    assert_int_equal(method_actor(m), 0);
    assert_int_equal(method_refuses(m), ERGON_E_NO_WORKER);
    played_join(&a, 0, "cart.add", 1);
    tasks_world_run();
    assert_int_equal(a.error, ERGON_OK);
    assert_int_equal(method_refuses(m), ERGON_OK);
    lose(&a);
    s.takes_types = true;
    played_join_as(&a, 0, "cart.add", &host);
    tasks_world_run();
    assert_int_equal(a.error, ERGON_OK);
    assert_int_equal(method_refuses(m), ERGON_E_BAD_PARAMS);
    lose(&a);
}
