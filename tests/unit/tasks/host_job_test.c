/* What a handler may ask and say of a task that lasts, and of a plain call. */
#include <stdio.h>

#include <ergon/sem_remote.h>

#include "proto/encoder.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/job_source.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/tasks_world.h"

enum { ID = 42, ATTEMPT = 3 };

static void (*body)(const struct ergon_host *h, struct ergon_task *task);

static enum ao_verdict probe_step(struct ao *self, struct ergon_task *task, void *state)
{
    body(host_table(), task);
    return AO_DONE;
}

static const struct ergon_handler probe = {
    .size = sizeof probe, .kind = ERGON_STEPPED, .name = "probe", .step = probe_step};
static struct method method = {.handler = &probe, .module = "test"};

/* What was told. */
static struct {
    bool taken, again, told;
    struct task *task;
    unsigned notes, parts;
    uint64_t done, total;
    char text[500];
    size_t text_len;
    ao_time after;
    enum ergon_error error;
    char failure[200];
    struct attempt_batches batches; /* of the one that is taken */
} got;

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    return !got.taken && pool == method.pool->index;
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    if (!ready(arg, pool, 1))
        return false;
    got.taken = true;
    *run = (struct attempt_spec){.method = &method,
                                 .params = params_none(),
                                 .deadline = AO_MS(5),
                                 .id = ID,
                                 .batches = got.batches,
                                 .attempt = ATTEMPT,
                                 .timeout = AO_NEVER,
                                 .owner = &got};
    return true;
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    assert_ptr_equal(run->owner, &got);
    assert_non_null(t);
    got.task = t;
}

static void returned(void *arg, const struct attempt_end *r)
{
    got.again = r->again;
    got.told = r->cancel_seen;
    got.after = r->after;
    got.error = r->outcome->error;
}

static void noted(void *arg, const struct attempt_note *note)
{
    assert_int_equal(note->attempt, ATTEMPT);
    got.notes += note->kind == NOTE_PROGRESS;
    got.parts += note->kind == NOTE_PARTIAL;
    if (note->kind == NOTE_PARTIAL)
        return;
    got.done = note->done;
    got.total = note->total;
    got.text_len = note->text.len;
    if (note->text.len > 0)
        memcpy(got.text, note->text.at, note->text.len);
}

static void full(void *arg, uint32_t pool, bool is_full)
{
}

static void stop(void *arg, bool cancel)
{
}

static const char *name(uint64_t id, char *buf)
{
    snprintf(buf, ERGON_TASK_ID_SIZE, "t%llu", (unsigned long long)id);
    return buf;
}

static const char *batch_name(uint64_t id, char *buf)
{
    snprintf(buf, ERGON_TASK_ID_SIZE, "b%llu", (unsigned long long)id);
    return buf;
}

static const struct job_source source = {.ready = ready,
                                         .take = take,
                                         .given = given,
                                         .returned = returned,
                                         .noted = noted,
                                         .full = full,
                                         .stop = stop,
                                         .name = name,
                                         .batch_name = batch_name};

static void on_ended(void *arg, struct call *call, struct outcome *o)
{
    got.error = o->error;
    snprintf(got.failure, sizeof got.failure, "%.*s", (int)o->text.len, (const char *)o->text.at);
}

static void open_world(void (*run)(const struct ergon_host *, struct ergon_task *))
{
    memset(&got, 0, sizeof got);
    body = run;
    stepped_make_class(&method);
    tasks_world_init(1, 1);
    w.quiet = true;
    w.plan.ended = on_ended;
    tasks_world_open();
    tasks_world_adopt(&method);
    tasks_set_job_source(w.tasks, &source);
}

static void run_kept(void (*run)(const struct ergon_host *, struct ergon_task *))
{
    open_world(run);
    tasks_world_wake_source();
    tasks_world_run();
    tasks_world_fini();
}

static void run_plain(void (*run)(const struct ergon_host *, struct ergon_task *))
{
    const struct call_request request = {.params = params_none(), .deadline = AO_NEVER};
    open_world(run);
    assert_int_equal(home_call(tasks_home(w.tasks, 0), &method, &request), ERGON_OK);
    tasks_world_fini();
}

static void look(const struct ergon_host *h, struct ergon_task *task)
{
    char id[ERGON_TASK_ID_SIZE];
    assert_true(h->task_id(task, id));
    assert_string_equal(id, "t42");
    assert_int_equal(h->attempt(task), ATTEMPT);
    assert_int_equal(h->time_left(task), AO_MS(5));
}

static struct {
    bool has_batch, is_callback;
    char batch[ERGON_TASK_ID_SIZE], callback_of[ERGON_TASK_ID_SIZE];
} belongs;

static void look_for_batches(const struct ergon_host *h, struct ergon_task *task)
{
    belongs.has_batch = h->batch(task, belongs.batch);
    belongs.is_callback = h->callback_of(task, belongs.callback_of);
}

static void run_with(struct attempt_batches batches)
{
    open_world(look_for_batches);
    got.batches = batches;
    tasks_world_wake_source();
    tasks_world_run();
    tasks_world_fini();
}

TEST(it_knows_its_batches)
{
    run_with((struct attempt_batches){.member_of = 7});
    assert_true(belongs.has_batch && !belongs.is_callback);
    assert_string_equal(belongs.batch, "b7");
    assert_string_equal(belongs.callback_of, "");
    run_with((struct attempt_batches){.member_of = 7, .callback_of = 8});
    assert_true(belongs.has_batch && belongs.is_callback);
    assert_string_equal(belongs.callback_of, "b8");
    run_plain(look_for_batches);
    assert_false(belongs.has_batch || belongs.is_callback);
}

TEST(a_kept_task_knows_its_name_and_attempt)
{
    run_kept(look);
    assert_int_equal(got.error, ERGON_OK);
    assert_false(got.again);
}

static void tell(const struct ergon_host *h, struct ergon_task *task)
{
    char text[450];
    memset(text, 'x', sizeof text);
    text[0] = '\xe9'; /* no UTF-8 */
    text[sizeof text - 1] = '\0';
    assert_true(h->progress(task, 1, 4, NULL));
    assert_true(h->partial(task, "\x07", 1));
    assert_false(h->partial(task, "\x92\x07", 2)); /* half an array */
    assert_false(h->partial(task, "\x07\x08", 2)); /* two values */
    assert_true(h->progress(task, 2, 4, text));
}

TEST(what_it_says_is_heard)
{
    run_kept(tell);
    assert_int_equal(got.notes, 2);
    assert_int_equal(got.parts, 1);
    assert_int_equal(got.done, 2);
    assert_int_equal(got.total, 4);
    assert_int_equal(got.text_len, TASK_TEXT_MAX);
    assert_memory_equal(got.text, "\xef\xbf\xbdx", 4);
}

static void ask_again(const struct ergon_host *h, struct ergon_task *task)
{
    h->again(task, AO_S(5));
}

TEST(again_is_no_failure)
{
    run_kept(ask_again);
    assert_true(got.again);
    assert_int_equal(got.after, AO_S(5));
    assert_int_equal(got.error, ERGON_OK);
}

static void look_away(const struct ergon_host *h, struct ergon_task *task)
{
    assert_false(h->cancelled(task));
    attempt_flag(w.tasks, got.task, ATTEMPT_CANCEL);
}

static void look_up(const struct ergon_host *h, struct ergon_task *task)
{
    look_away(h, task);
    assert_true(h->cancelled(task));
}

TEST(it_is_known_who_was_told_to_stop)
{
    run_kept(look_away);
    assert_false(got.told);
    run_kept(look_up);
    assert_true(got.told);
}

static void fail_and_ask_again(const struct ergon_host *h, struct ergon_task *task)
{
    h->again(task, AO_S(5));
    (h->fail)(task, NULL, "no");
}

TEST(a_failure_counts_more)
{
    run_kept(fail_and_ask_again);
    assert_false(got.again);
    assert_int_equal(got.error, ERGON_E_FAILED);
}

static void look_plain(const struct ergon_host *h, struct ergon_task *task)
{
    char id[ERGON_TASK_ID_SIZE] = "x";
    assert_false(h->task_id(task, id));
    assert_string_equal(id, "");
    assert_int_equal(h->attempt(task), 1);
    assert_true(h->progress(task, 1, 2, "half"));
    assert_true(h->partial(task, "\x07", 1));
}

TEST(a_plain_call_has_no_name_and_is_not_heard)
{
    run_plain(look_plain);
    assert_int_equal(got.error, ERGON_OK);
    assert_int_equal(got.notes + got.parts, 0);
}

TEST(a_plain_call_cannot_come_again)
{
    run_plain(ask_again);
    assert_int_equal(got.error, ERGON_E_BUSY);
    assert_non_null(strstr(got.failure, "again in 5s"));
}

/* The server stops: it goes on in the next one, and has not failed. */
static void wait_for_permits(struct ergon_task *task)
{
    const struct ergon_host *h = host_table();
    struct ao_sem_remote *sem = h->sem_new(task, 0);
    blocking_stop(blocking_of(task_of(task)->executor));
    assert_int_equal(h->sem_acquire(task, sem, 1, AO_NEVER), AO_WAIT_CANCELLED);
    ao_sem_remote_unref(sem);
    (h->fail)(task, NULL, "got no permits");
}

TEST(who_waits_for_permits_is_told_to_stop)
{
    static const struct ergon_handler waits = {
        .size = sizeof waits, .kind = ERGON_BLOCKING, .name = "waits", .run = wait_for_permits};
    method.handler = &waits;
    run_kept(NULL);
    method.handler = &probe;
    assert_int_equal(got.error, ERGON_E_FAILED);
    assert_true(got.told);
}
