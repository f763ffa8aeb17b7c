/* Blocking handlers that acquire permits.  An executor that sleeps lets a millisecond of the world
 * pass: the other activators go on within that. */
#include <stdio.h>

#include "proto/encoder.h"
#include "server/runtime/sync/semaphore_remote.h"
#include "server/tasks/handlers/host.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/death.h"
#include "tests/support/heap.h"
#include "tests/support/tasks_world.h"

enum { POLLS_MAX = 100, EXECUTOR = 2 };

static struct ao_sem_remote *permits;
static struct poller slow_poller, *own_poller;
static int polls, woken; /* of those polls, how many a wake ended */
static void (*at_announcement)(void);
static char said[1000];
static size_t said_length;

#define say(...)                                                                                   \
    said_length += (size_t)snprintf(said + said_length, sizeof said - said_length, __VA_ARGS__)

#define expect_said(text)                                                                          \
    do {                                                                                           \
        assert_string_equal(said, text);                                                           \
        said_length = 0;                                                                           \
        said[0] = '\0';                                                                            \
    } while (0)

static unsigned ms(void)
{
    return (unsigned)(w.v.now / AO_MS(1));
}

static struct blocking *executor(int i)
{
    return blocking_of(w.tasks->executors[i]);
}

static void poll_slowly(struct poller *self, ao_time timeout)
{
    if (++polls > POLLS_MAX)
        fail_msg("it sleeps for ever; it was said: %s", said);
    virtual_run_until(&w.v, w.v.now + (timeout < AO_MS(1) ? timeout : AO_MS(1)));
    woken += !waker_announced(&executor(EXECUTOR)->waker);
}

void __real_waker_announce(struct waker *waker);
void __wrap_waker_announce(struct waker *waker);

void __wrap_waker_announce(struct waker *waker)
{
    __real_waker_announce(waker);
    if (at_announcement && waker == &executor(EXECUTOR)->waker)
        at_announcement();
}

/* [permits, ms]: acquires with this limit, 0 for none, and says how that went. */
static void acquire_run(struct ergon_task *task)
{
    const struct ergon_host *host = host_table();
    struct ergon_reader r;
    uint64_t n = 0, limit = 0;
    host->params_open(task, &r);
    assert_true(host->read_uint(&r, &n) && host->read_uint(&r, &limit));
    enum ao_wait_outcome outcome =
        host->sem_acquire(task, permits, (uint32_t)n, limit ? AO_MS(limit) : AO_NEVER);
    assert_false(lane_ready(&executor(EXECUTOR)->in)); /* nothing waits behind what goes on */
    say("[%u] %u: %s\n", ms(), (unsigned)n, ao_wait_outcome_text(outcome));
    if (outcome == AO_WAIT_READY)
        ao_sem_remote_release_n(permits, (uint32_t)n);
}

static const struct ergon_handler acquire = {
    .size = sizeof acquire, .kind = ERGON_BLOCKING, .name = "acquire", .run = acquire_run};

/* A nested call of acquire, for a permit and for 50 ms, or of look_up. */
static void lets_run(struct ergon_task *task)
{
    const struct ergon_host *host = host_table();
    struct ergon_reader r;
    struct ergon_outcome out;
    uint8_t raw[8];
    uint64_t looks = 0;
    uint8_t *at = enc_uint(enc_uint(enc_array(raw, 2), 1), 50);
    host->params_open(task, &r);
    assert_true(host->read_uint(&r, &looks));
    host->call(task, looks ? "look_up" : "acquire", (struct ergon_bytes){raw, (size_t)(at - raw)},
               &out);
}

/* Says whether it is cancelled, and what it sees 5 ms later. */
static void look_up_run(struct ergon_task *task)
{
    const struct ergon_host *host = host_table();
    bool before = host->cancelled(task);
    virtual_run_until(&w.v, w.v.now + AO_MS(5));
    say("%s, %s\n", before ? "cancelled" : "wanted",
        host->cancelled(task) ? "cancelled" : "wanted");
}

static const struct ergon_handler lets = {
    .size = sizeof lets, .kind = ERGON_BLOCKING, .name = "lets", .run = lets_run};
static const struct ergon_handler look_up = {
    .size = sizeof look_up, .kind = ERGON_BLOCKING, .name = "look_up", .run = look_up_run};

/* Two loops and one blocking executor; the semaphore is at home on the second. */
static void open_world(uint32_t free_permits)
{
    char error[200];
    said_length = 0;
    said[0] = '\0';
    polls = woken = 0;
    at_announcement = NULL;
    tasks_world_init(2, 1);
    w.quiet = true;
    assert_int_equal(registry_add(w.registry, "test", &acquire, error, sizeof error), 0);
    assert_int_equal(registry_add(w.registry, "test", &lets, error, sizeof error), 0);
    assert_int_equal(registry_add(w.registry, "test", &look_up, error, sizeof error), 0);
    tasks_world_open();
    slow_poller.poll = poll_slowly;
    own_poller = executor(EXECUTOR)->poller;
    executor(EXECUTOR)->poller = &slow_poller;
    permits = ao_sem_remote_new(tasks_home(w.tasks, 1)->port, free_permits);
    assert_non_null(permits);
}

static void close_world(void)
{
    virtual_run(&w.v);
    ao_sem_remote_unref(permits);
    executor(EXECUTOR)->poller = own_poller;
    tasks_world_end(NULL);
}

static uint32_t free_permits(void)
{
    virtual_run(&w.v);
    return permits->own.permits;
}

static void call(const char *method, uint32_t n, uint32_t limit_ms, ao_time deadline)
{
    uint8_t raw[32];
    uint8_t *at = enc_uint(enc_uint(enc_array(raw, 2), n), limit_ms);
    struct span params = span_of(raw, (size_t)(at - raw));
    assert_int_equal(tasks_world_call(0, method, params, deadline), ERGON_OK);
}

static void release(void *n)
{
    ao_sem_remote_release_n(permits, (uint32_t)(uintptr_t)n);
}

static void release_at(unsigned at, uint32_t n)
{
    virtual_at(&w.v, AO_MS(at), NULL, release, (void *)(uintptr_t)n);
}

TEST(permits_that_are_free_are_had)
{
    open_world(3);
    call("acquire", 2, 0, AO_NEVER);
    tasks_world_run();
    assert_int_equal(w.ended, 1);
    assert_int_equal(free_permits(), 3);
    close_world();
}

TEST(it_waits_until_all_are_there)
{
    open_world(0);
    call("acquire", 3, 0, AO_NEVER);
    release_at(2, 2);
    release_at(5, 1);
    tasks_world_run_ms(1);
    expect_said("[5] 3: ready\n");
    assert_int_equal(woken, 1);
    assert_int_equal(free_permits(), 3);
    close_world();
}

static void let_home_answer(void)
{
    virtual_run(&w.v);
}

/* Between the last look and the announcement that it sleeps: it must not sleep. */
TEST(the_answer_comes_as_it_falls_asleep)
{
    open_world(1);
    at_announcement = let_home_answer;
    call("acquire", 1, 0, AO_NEVER);
    tasks_world_run();
    expect_said("[0] 1: ready\n");
    assert_int_equal(polls, 0);
    close_world();
}

TEST(its_limit_passes)
{
    open_world(1);
    call("acquire", 2, 4, AO_NEVER);
    release_at(8, 1);
    tasks_world_run_ms(1);
    expect_said("[5] 2: deadline passed\n");
    assert_int_equal(free_permits(), 2);
    close_world();
}

TEST(the_deadline_of_its_task_ends_it)
{
    open_world(0);
    call("acquire", 1, 50, AO_MS(6));
    tasks_world_run_ms(1);
    expect_said("[6] 1: deadline passed\n");
    release((void *)1);
    assert_int_equal(free_permits(), 1);
    close_world();
}

/* Only the clock goes on. */
static void poll_alone(struct poller *self, ao_time timeout)
{
    (void)self;
    if (++polls > POLLS_MAX)
        fail_msg("it sleeps for ever");
    w.v.now += timeout < AO_MS(1) ? timeout : AO_MS(1);
}

TEST(the_deadline_ends_it_though_its_home_stands_still)
{
    open_world(0);
    call("acquire", 1, 0, AO_MS(6));
    virtual_run_until(&w.v, AO_MS(1));
    slow_poller.poll = poll_alone;
    assert_true(blocking_round(executor(EXECUTOR)));
    expect_said("[6] 1: deadline passed\n");
    tasks_world_run();
    close_world();
}

static void cancel(void *arg)
{
    (void)arg;
    home_cancel(tasks_home(w.tasks, 0), w.list);
}

TEST(a_cancel_of_its_task_ends_it)
{
    open_world(0);
    call("acquire", 1, 50, AO_NEVER);
    virtual_at(&w.v, AO_MS(3), w.loops[0], cancel, NULL);
    tasks_world_run_ms(1);
    expect_said("[3] 1: cancelled\n");
    release((void *)1);
    assert_int_equal(free_permits(), 1);
    close_world();
}

static void stop(void *arg)
{
    (void)arg;
    blocking_stop(executor(EXECUTOR));
}

TEST(a_server_that_stops_ends_it)
{
    open_world(0);
    call("acquire", 1, 0, AO_NEVER);
    virtual_at(&w.v, AO_MS(3), NULL, stop, NULL);
    tasks_world_run_ms(1);
    expect_said("[3] 1: cancelled\n");
    close_world();
}

static void close_semaphore(void *arg)
{
    (void)arg;
    ao_sem_close(permits->sem);
}

TEST(a_semaphore_that_is_closed_ends_it)
{
    open_world(0);
    call("acquire", 1, 0, AO_NEVER);
    virtual_at(&w.v, AO_MS(3), w.loops[1], close_semaphore, NULL);
    tasks_world_run_ms(1);
    expect_said("[3] 1: closed\n");
    close_world();
}

TEST(no_memory_is_refused)
{
    open_world(1);
    call("acquire", 1, 0, AO_NEVER);
    virtual_run(&w.v); /* it is in the executor's lane */
    heap_fail_at(1);
    assert_true(blocking_round(executor(EXECUTOR)));
    assert_true(heap_failed());
    expect_said("[0] 1: out of memory\n");
    tasks_world_run();
    close_world();
}

/* --- Nested calls of others run on the stack of the last executor that waits --- */

static void call_outer(void *arg)
{
    uint8_t inner[32], raw[64];
    uint8_t *at = enc_uint(enc_uint(enc_array(inner, 2), 2), 0);
    struct span params = span_of(inner, (size_t)(at - inner));
    (void)arg;
    assert_int_equal(tasks_world_call(0, "outer", params_call(raw, "acquire", params), AO_NEVER),
                     ERGON_OK);
}

/* The one below wants one permit, the one above two.  If the one below kept its place, it would get
 * the first permit, and never go on, since the one above waits for that. */
TEST(who_runs_anothers_call_meanwhile_holds_nothing)
{
    open_world(0);
    call("acquire", 1, 0, AO_NEVER);
    virtual_at(&w.v, AO_MS(2), w.loops[0], call_outer, NULL);
    release_at(4, 1);
    release_at(6, 1);
    tasks_world_run_ms(1);
    tasks_world_run();
    expect_said("[6] 2: ready\n[7] 1: ready\n");
    assert_int_equal(w.ended, 2);
    assert_int_equal(free_permits(), 2);
    close_world();
}

/* The handler is granted its permits, and finds the call in its lane: it goes on itself. */
TEST(who_has_its_answer_runs_no_other_first)
{
    open_world(0);
    call("acquire", 1, 0, AO_NEVER);
    virtual_at(&w.v, AO_MS(2), w.loops[0], call_outer, NULL);
    release_at(2, 2);
    tasks_world_run_ms(1);
    tasks_world_run();
    assert_int_equal(w.ended, 2);
    assert_int_equal(free_permits(), 2);
    close_world();
}

/* --- Nested calls of one's own run there, too --- */

/* The caller, which was cancelled, waits below them and cannot give them up. */
TEST(a_cancel_of_the_caller_ends_what_waits_above_it)
{
    open_world(0);
    call("lets", 0, 0, AO_NEVER);
    virtual_at(&w.v, AO_MS(3), w.loops[0], cancel, NULL);
    tasks_world_run_ms(1);
    expect_said("[3] 1: cancelled\n");
    release((void *)1);
    assert_int_equal(free_permits(), 1);
    close_world();
}

TEST(the_deadline_of_the_caller_ends_what_waits_above_it)
{
    open_world(0);
    call("lets", 0, 0, AO_MS(6));
    tasks_world_run_ms(1);
    expect_said("[6] 1: deadline passed\n");
    release((void *)1);
    assert_int_equal(free_permits(), 1);
    close_world();
}

TEST(a_cancel_of_the_caller_is_seen_by_what_runs_above_it)
{
    open_world(0);
    call("lets", 1, 0, AO_NEVER);
    virtual_at(&w.v, AO_MS(3), w.loops[0], cancel, NULL);
    tasks_world_run_ms(1);
    expect_said("wanted, cancelled\n");
    close_world();
}

/* --- Misuse --- */

static void acquire_of_none(void *arg)
{
    (void)arg;
    open_world(0);
    call("acquire", 0, 0, AO_NEVER);
    tasks_world_run();
}

static enum ao_verdict acquire_step(struct ao *self, struct ergon_task *task, void *state)
{
    host_table()->sem_acquire(task, permits, 1, AO_NEVER);
    return AO_DONE;
}

static const struct ergon_handler stepped = {
    .size = sizeof stepped, .kind = ERGON_STEPPED, .name = "stepped", .step = acquire_step};

static void acquire_in_a_step(void *arg)
{
    struct method m = {.handler = &stepped, .module = "test"};
    const struct call_request request = {.params = params_none(), .deadline = AO_NEVER};
    (void)arg;
    open_world(0);
    stepped_make_class(&m);
    home_call(tasks_home(w.tasks, 0), &m, &request);
}

static unsigned ended_then;

static void look(void *arg)
{
    (void)arg;
    ended_then = w.ended;
}

/* It found no room while the handler ran; when that begins to wait, the manager hears of it. */
TEST(a_nested_call_that_was_queued_is_run_meanwhile)
{
    uint8_t raw[32];
    open_world(0);
    call("acquire", 1, 0, AO_NEVER);
    virtual_run(&w.v); /* it is given, before the nested call comes */
    assert_int_equal(
        tasks_world_call(0, "outer", params_call(raw, "block", params_none()), AO_NEVER), ERGON_OK);
    virtual_run(&w.v);
    assert_true(waker_announced(&w.tasks->shared.local[POOL_BLOCKING]->waiting_for_room));
    virtual_at(&w.v, AO_MS(4), NULL, look, NULL);
    release_at(6, 1);
    tasks_world_run_ms(1);
    assert_int_equal(ended_then, 1);
    expect_said("[6] 1: ready\n");
    assert_int_equal(free_permits(), 1);
    close_world();
}

TEST(misuse_is_named)
{
    expect_misuse(acquire_of_none, NULL, "ergon_sem_acquire(): 0 permits are asked for");
    expect_misuse(acquire_in_a_step, NULL, "ergon_sem_acquire(): a stepped handler parks");
}

/* --- Who makes one --- */

static struct ao_sem_remote *made;

static void make_run(struct ergon_task *task)
{
    made = host_table()->sem_new(task, 2);
    assert_int_equal(host_table()->sem_acquire(task, made, 2, AO_NEVER), AO_WAIT_READY);
    ao_sem_remote_unref(made);
}

static enum ao_verdict make_step(struct ao *self, struct ergon_task *task, void *state)
{
    made = host_table()->sem_new(task, 1);
    assert_ptr_equal(made->home, host_table()->port(task));
    ao_sem_remote_unref(made);
    return AO_DONE;
}

TEST(handlers_of_both_kinds_make_semaphores)
{
    static const struct ergon_handler blocks = {
        .size = sizeof blocks, .kind = ERGON_BLOCKING, .name = "make", .run = make_run};
    static const struct ergon_handler steps = {
        .size = sizeof steps, .kind = ERGON_STEPPED, .name = "make_step", .step = make_step};
    char error[200];
    tasks_world_init(2, 1);
    w.quiet = true;
    assert_int_equal(registry_add(w.registry, "test", &blocks, error, sizeof error), 0);
    assert_int_equal(registry_add(w.registry, "test", &steps, error, sizeof error), 0);
    tasks_world_open();
    slow_poller.poll = poll_slowly;
    own_poller = executor(EXECUTOR)->poller;
    executor(EXECUTOR)->poller = &slow_poller;
    polls = 0;
    assert_int_equal(tasks_world_call(0, "make", params_none(), AO_NEVER), ERGON_OK);
    assert_int_equal(tasks_world_call(0, "make_step", params_none(), AO_NEVER), ERGON_OK);
    tasks_world_run();
    assert_non_null(made);
    executor(EXECUTOR)->poller = own_poller;
    tasks_world_end(NULL);
}
