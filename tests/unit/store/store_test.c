/* What is put into the store is what comes out of it; verbs, accounts, order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/store_client.h"
#include "tests/support/store_folder.h"

enum { TEXT = 512 };

struct world {
    char folder[STORE_FOLDER], path[STORE_PATH];
    struct store_client client;
    char seen[8192]; /* what store_load() told, as text */
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    store_folder_make(w->folder, w->path);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    store_folder_remove(w->folder);
    free(w);
    return 0;
}

static void open_client(struct world *w)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    bool opened = client_open(&w->client, &options, error, sizeof error);
    assert_string_equal(error, "");
    assert_true(opened);
}

/* --- Reading back --- */

static void __attribute__((format(printf, 2, 3))) say(struct world *w, const char *format, ...)
{
    size_t len = strlen(w->seen);
    va_list args;
    va_start(args, format);
    vsnprintf(w->seen + len, sizeof w->seen - len, format, args);
    va_end(args);
}

static void see_span(struct world *w, const char *name, struct span s)
{
    if (s.len)
        say(w, " %s=%.*s", name, (int)s.len, (const char *)s.at);
}

static void see_number(struct world *w, const char *name, uint64_t n)
{
    if (n)
        say(w, " %s=%llu", name, (unsigned long long)n);
}

static void see_counts(void *arg, const struct store_counts *c)
{
    say(arg, "counts %lld %lld %lld %lld %lld %lld\n", (long long)c->submitted, (long long)c->done,
        (long long)c->failed, (long long)c->cancelled, (long long)c->expired, (long long)c->dead);
}

static bool see_queue(void *arg, struct span method)
{
    see_span(arg, "paused", method);
    say(arg, "\n");
    return true;
}

static bool see_cron(void *arg, const struct store_cron *c)
{
    see_span(arg, "cron", c->name);
    see_span(arg, "schedule", c->schedule);
    see_span(arg, "zone", c->zone);
    see_span(arg, "method", c->method);
    see_span(arg, "tenant", c->tenant);
    see_span(arg, "params", c->params);
    see_span(arg, "options", c->options);
    see_number(arg, "next_at", c->next_at);
    see_number(arg, "last_at", c->last_at);
    see_number(arg, "last_task", c->last_task);
    say(arg, "\n");
    return true;
}

static void see_life(struct world *w, const struct store_task *t)
{
    see_number(w, "attempt", t->attempt);
    see_number(w, "failures", t->failures);
    see_number(w, "crashes", t->crashes);
    see_number(w, "cancel_asked", t->cancel_asked);
    see_number(w, "due_at", t->due_at);
    see_number(w, "started_at", t->started_at);
    see_number(w, "ended_at", t->ended_at);
    see_span(w, "error_code", t->error_code);
    see_span(w, "error_text", t->error_text);
    see_span(w, "result", t->result);
}

static bool see_task(void *arg, const struct store_task *t)
{
    say(arg, "task %llu %s", (unsigned long long)t->id, client_states[t->state]);
    see_span(arg, "method", t->method);
    see_span(arg, "tenant", t->tenant);
    see_span(arg, "key", t->key);
    see_span(arg, "coalesce", t->coalesce);
    see_span(arg, "limit_key", t->limit_key);
    see_span(arg, "rate_key", t->rate_key);
    see_span(arg, "params", t->params);
    see_span(arg, "after", t->after);
    see_number(arg, "created", t->created);
    see_number(arg, "deadline_at", t->deadline_at);
    see_number(arg, "timeout", t->timeout);
    see_number(arg, "backoff", t->backoff);
    see_number(arg, "backoff_max", t->backoff_max);
    see_number(arg, "keep", t->keep);
    see_number(arg, "rate_per", t->rate_per);
    see_number(arg, "keep_size", t->keep_size);
    see_number(arg, "retries", t->retries);
    see_number(arg, "limit", t->limit);
    see_number(arg, "rate", t->rate);
    see_number(arg, "priority", t->priority);
    see_number(arg, "durable", t->durable);
    see_number(arg, "jitter", t->jitter);
    see_life(arg, t);
    say(arg, "\n");
    return true;
}

static bool see_event(void *arg, const struct store_event *e)
{
    say(arg, "event %llu.%u", (unsigned long long)e->id, e->seq);
    see_number(arg, "at", e->at);
    see_number(arg, "attempt", e->attempt);
    see_span(arg, "what", e->what);
    see_span(arg, "text", e->text);
    see_span(arg, "data", e->data);
    say(arg, "\n");
    return true;
}

/* Opens the file anew, and compares all that is in it. */
static void expect(struct world *w, const char *expected)
{
    char error[TEXT] = "";
    const struct store_options options = client_options(w->path);
    const struct store_reader reader = {.arg = w,
                                        .counts = see_counts,
                                        .queue = see_queue,
                                        .cron = see_cron,
                                        .task = see_task,
                                        .event = see_event};
    struct store *s = store_open(&options, error, sizeof error);
    assert_string_equal(error, "");
    w->seen[0] = '\0';
    assert_int_equal(store_load(s, &reader, error, sizeof error), 0);
    store_close(s);
    assert_string_equal(w->seen, expected);
}

/* --- */

static struct store_op *full_task(void)
{
    struct store_op *op = client_op(STORE_PUT);
    op->add.submitted = 1;
    op->task = (struct store_task){.id = 1ull << 62,
                                   .method = span_text("resize"),
                                   .tenant = span_text("acme"),
                                   .key = span_text("k1"),
                                   .coalesce = span_text("c1"),
                                   .limit_key = span_text("l1"),
                                   .rate_key = span_text("r1"),
                                   .params = span_text("PARAMS"),
                                   .after = span_text("12345678"),
                                   .created = 11,
                                   .deadline_at = 12,
                                   .timeout = 13,
                                   .backoff = 14,
                                   .backoff_max = 15,
                                   .keep = 16,
                                   .rate_per = 17,
                                   .keep_size = 18,
                                   .retries = 19,
                                   .limit = 20,
                                   .rate = 21,
                                   .priority = 9,
                                   .durable = 1,
                                   .jitter = 100,
                                   .state = CLIENT_FAILED,
                                   .attempt = 22,
                                   .failures = 23,
                                   .crashes = 24,
                                   .cancel_asked = 1,
                                   .due_at = 25,
                                   .started_at = 26,
                                   .ended_at = UINT64_MAX,
                                   .error_code = span_text("E"),
                                   .error_text = span_text("text"),
                                   .result = span_text("RESULT")};
    return op;
}

#define FULL_TASK(state)                                                                           \
    "task 4611686018427387904 " state                                                              \
    " method=resize tenant=acme key=k1 coalesce=c1 limit_key=l1 "                                  \
    "rate_key=r1 params=PARAMS after=12345678 created=11 deadline_at=12 timeout=13 backoff=14 "    \
    "backoff_max=15 keep=16 rate_per=17 keep_size=18 retries=19 limit=20 rate=21 priority=9 "      \
    "durable=1 jitter=100"

static void every_field_of_a_task_comes_back(void **state)
{
    struct world *w = *state;
    open_client(w);
    assert_int_equal(client_do(&w->client, full_task()), STORE_OK);
    client_close(&w->client);
    expect(
        w,
        "counts 1 0 0 0 0 0\n" FULL_TASK(
            "failed") " attempt=22 failures=23 crashes=24 cancel_asked=1 due_at=25 started_at=26 "
                      "ended_at=18446744073709551615 error_code=E error_text=text result=RESULT\n");
}

static void a_task_of_few_words_is_no_more(void **state)
{
    struct world *w = *state;
    open_client(w);
    assert_int_equal(client_do(&w->client, client_put(7, "m")), STORE_OK);
    client_close(&w->client);
    expect(w, "counts 1 0 0 0 0 0\ntask 7 queued method=m created=1000000007 durable=2\n");
}

static void a_change_is_of_what_changes_and_keeps_the_result(void **state)
{
    struct world *w = *state;
    open_client(w);
    assert_int_equal(client_do(&w->client, full_task()), STORE_OK);
    struct store_op *op = client_op(STORE_CHANGE);
    op->task = (struct store_task){
        .id = 1ull << 62, .state = CLIENT_DONE, .attempt = 30, .method = span_text("other")};
    op->add.done = 1;
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    expect(w, "counts 1 1 0 0 0 0\n" FULL_TASK("done") " attempt=30 result=RESULT\n");
}

static void what_a_task_came_after_can_be_settled(void **state)
{
    struct world *w = *state;
    open_client(w);
    struct store_op *op = client_put(7, "m");
    op->task.after = span_text("12345678");
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    op = client_op(STORE_CHANGE);
    op->task = (struct store_task){.id = 7, .attempt = 1, .settled = true};
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    expect(w,
           "counts 1 0 0 0 0 0\ntask 7 queued method=m created=1000000007 durable=2 attempt=1\n");
}

static void a_removed_task_takes_its_events_with_it(void **state)
{
    struct world *w = *state;
    open_client(w);
    for (uint64_t id = 1; id <= 2; id++) {
        client_push(&w->client, client_put(id, "m"));
        struct store_op *op = client_op(STORE_EVENT);
        op->event = (struct store_event){.id = id,
                                         .at = 5,
                                         .seq = 2,
                                         .attempt = 1,
                                         .what = span_text("started"),
                                         .text = span_text("t"),
                                         .data = span_text("d")};
        client_push(&w->client, op);
    }
    struct store_op *op = client_op(STORE_REMOVE);
    op->task.id = 1;
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    expect(w, "counts 2 0 0 0 0 0\ntask 2 queued method=m created=1000000002 durable=2\n"
              "event 2.2 at=5 attempt=1 what=started text=t data=d\n");
}

static void older_events_go_with_a_newer_one(void **state)
{
    struct world *w = *state;
    open_client(w);
    client_push(&w->client, client_put(1, "m"));
    client_push(&w->client, client_put(2, "m"));
    for (uint32_t seq = 2; seq <= 7; seq++) {
        struct store_op *op = client_op(STORE_EVENT);
        op->event = (struct store_event){.id = seq == 2 ? 2 : 1,
                                         .at = seq,
                                         .seq = seq,
                                         .attempt = 1,
                                         .oldest = seq == 7 ? 6 : 0,
                                         .what = span_text("queued")};
        assert_int_equal(client_do(&w->client, op), STORE_OK);
    }
    client_close(&w->client);
    expect(w, "counts 2 0 0 0 0 0\ntask 1 queued method=m created=1000000001 durable=2\n"
              "task 2 queued method=m created=1000000002 durable=2\n"
              "event 1.6 at=6 attempt=1 what=queued\nevent 1.7 at=7 attempt=1 what=queued\n"
              "event 2.2 at=2 attempt=1 what=queued\n");
}

static struct store_op *cron(enum store_verb verb, const char *name, uint64_t next)
{
    struct store_op *op = client_op(verb);
    op->cron = (struct store_cron){.name = span_text(name),
                                   .method = span_text("m"),
                                   .schedule = span_text("* * * * *"),
                                   .zone = span_text("UTC"),
                                   .tenant = span_text("t"),
                                   .params = span_text("p"),
                                   .options = span_text("o"),
                                   .next_at = next,
                                   .last_at = 2,
                                   .last_task = 3};
    return op;
}

static void crons_are_put_replaced_and_removed(void **state)
{
    struct world *w = *state;
    open_client(w);
    client_push(&w->client, cron(STORE_CRON_PUT, "a", 1));
    client_push(&w->client, cron(STORE_CRON_PUT, "b", 1));
    client_push(&w->client, cron(STORE_CRON_REMOVE, "a", 0));
    assert_int_equal(client_do(&w->client, cron(STORE_CRON_PUT, "b", 9)), STORE_OK);
    client_close(&w->client);
    expect(w, "counts 0 0 0 0 0 0\n cron=b schedule=* * * * * zone=UTC method=m tenant=t params=p "
              "options=o next_at=9 last_at=2 last_task=3\n");
}

static struct store_op *queue(enum store_verb verb, const char *method)
{
    struct store_op *op = client_op(verb);
    op->queue = span_text(method);
    return op;
}

static void paused_queues_are_remembered_until_they_are_resumed(void **state)
{
    struct world *w = *state;
    open_client(w);
    client_push(&w->client, queue(STORE_PAUSE, "a"));
    client_push(&w->client, queue(STORE_PAUSE, "b"));
    client_push(&w->client, queue(STORE_PAUSE, "b"));
    assert_int_equal(client_do(&w->client, queue(STORE_RESUME, "a")), STORE_OK);
    client_close(&w->client);
    expect(w, "counts 0 0 0 0 0 0\n paused=b\n");
}

/* --- */

static void keep_audit(struct store_client *c, struct store_op *op)
{
    if (op->verb == STORE_COUNT)
        *(struct store_audit *)c->arg = op->audit;
}

static struct store_op *turn(uint64_t id, uint8_t to)
{
    struct store_op *op = client_op(STORE_CHANGE);
    op->task.id = id;
    op->task.state = to;
    return op;
}

static void an_audit_counts_what_was_pushed_before_it(void **state)
{
    struct world *w = *state;
    struct store_audit audit = {0};
    open_client(w);
    w->client.returned = keep_audit;
    w->client.arg = &audit;
    for (uint64_t id = 1; id <= 6; id++)
        client_push(&w->client, client_put(id, "m"));
    for (uint8_t to = CLIENT_DONE; to <= CLIENT_DEAD; to++)
        client_push(&w->client, turn(to, to));
    struct store_op *op = client_op(STORE_COUNT);
    op->add =
        (struct store_counts){.done = 1, .failed = 2, .cancelled = 3, .expired = 4, .dead = 5};
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    const struct store_audit expected = {
        .counters = {.submitted = 6}, .open = 2, .done = 1, .failed = 1, .cancelled = 1, .dead = 1};
    assert_memory_equal(&audit, &expected, sizeof audit);
}

/* Of more rows than are counted at once. */
static void an_audit_goes_on_where_it_was(void **state)
{
    enum { ROWS = STORE_COUNT_ROWS + 5 };
    struct world *w = *state;
    struct store_audit audit = {0};
    open_client(w);
    w->client.returned = keep_audit;
    w->client.arg = &audit;
    for (uint64_t id = 1; id <= ROWS; id++)
        client_push(&w->client, client_put(3 * id, "m"));
    assert_int_equal(client_do(&w->client, client_op(STORE_COUNT)), STORE_OK);
    assert_int_equal(audit.open, STORE_COUNT_ROWS);
    assert_int_equal(audit.next, 3 * STORE_COUNT_ROWS + 1);
    struct store_op *op = client_op(STORE_COUNT);
    op->audit.from = audit.next;
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    assert_int_equal(audit.open, 5);
    assert_int_equal(audit.next, 0);
    assert_int_equal(audit.counters.submitted, ROWS);
}

static void note_errors(struct store_client *c, struct store_op *op)
{
    char *errors = c->arg;
    errors[strlen(errors)] = (char)('0' + op->error);
}

static void an_operation_that_contradicts_the_file_is_refused_alone(void **state)
{
    struct world *w = *state;
    char errors[16] = "";
    open_client(w);
    w->client.returned = note_errors;
    w->client.arg = errors;
    client_push(&w->client, client_put(1, "m"));
    client_push(&w->client, client_put(1, "again"));
    client_push(&w->client, turn(9, CLIENT_DONE));
    client_push(&w->client, client_put(2, "m"));
    client_wait(&w->client);
    client_close(&w->client);
    const char expected[] = {'0' + STORE_OK, '0' + STORE_REFUSED, '0' + STORE_REFUSED,
                             '0' + STORE_OK, '\0'};
    assert_string_equal(errors, expected);
    expect(w, "counts 2 0 0 0 0 0\ntask 1 queued method=m created=1000000001 durable=2\n"
              "task 2 queued method=m created=1000000002 durable=2\n");
}

static void the_highest_id_outlives_its_row(void **state)
{
    struct world *w = *state;
    char error[TEXT];
    open_client(w);
    client_push(&w->client, client_put(41, "m"));
    struct store_op *op = client_op(STORE_REMOVE);
    op->task.id = 41;
    client_do(&w->client, op);
    client_do(&w->client, client_put(3, "m"));
    client_close(&w->client);
    const struct store_options options = client_options(w->path);
    struct store *s = store_open(&options, error, sizeof error);
    assert_int_equal(store_last_id(s), 41);
    store_close(s);
}

/* --- */

static void note_order(struct store_client *c, struct store_op *op)
{
    uint64_t *next = c->arg;
    if (op->task.id == *next && op->error == STORE_OK)
        ++*next;
}

/* More than the lane has slots and than a batch takes. */
static void operations_come_back_in_their_order(void **state)
{
    enum { MANY = 150000 };
    struct world *w = *state;
    uint64_t next = 1;
    open_client(w);
    w->client.returned = note_order;
    w->client.arg = &next;
    for (uint64_t id = 1; id <= MANY; id++)
        client_push(&w->client, client_put(id, "m"));
    client_wait(&w->client);
    assert_int_equal(next, MANY + 1);
    struct store_info info;
    store_info(w->client.store, &info);
    assert_int_equal(info.operations, MANY);
    assert_in_range(info.commits, MANY / 4096, MANY);
    assert_int_equal(info.error, STORE_OK);
    client_close(&w->client);
}

static void what_was_pushed_before_the_stop_is_committed(void **state)
{
    enum { MANY = 100000 };
    struct world *w = *state;
    uint64_t next = 1;
    open_client(w);
    w->client.returned = note_order;
    w->client.arg = &next;
    for (uint64_t id = 1; id <= MANY; id++)
        client_push(&w->client, client_put(id, "m"));
    client_close(&w->client);
    assert_int_equal(next, MANY + 1);
}

static void what_is_pushed_after_the_stop_comes_back_closed(void **state)
{
    struct world *w = *state;
    char errors[16] = "";
    open_client(w);
    w->client.returned = note_errors;
    w->client.arg = errors;
    store_stop(w->client.store);
    client_push(&w->client, client_put(1, "m"));
    client_close(&w->client);
    assert_int_equal(errors[0], '0' + STORE_CLOSED);
    expect(w, "counts 0 0 0 0 0 0\n");
}

static bool refuse_task(void *arg, const struct store_task *t)
{
    (void)arg;
    (void)t;
    return false;
}

static void a_reader_that_wants_no_more_ends_the_reading(void **state)
{
    struct world *w = *state;
    char error[TEXT] = "";
    open_client(w);
    client_do(&w->client, client_put(1, "m"));
    client_close(&w->client);
    const struct store_options options = client_options(w->path);
    const struct store_reader reader = {.arg = w, .counts = see_counts, .task = refuse_task};
    struct store *s = store_open(&options, error, sizeof error);
    assert_int_equal(store_load(s, &reader, error, sizeof error), -1);
    assert_string_equal(error, "the reading of the store was stopped");
    store_close(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_field_of_a_task_comes_back),
        TEST(a_task_of_few_words_is_no_more),
        TEST(a_change_is_of_what_changes_and_keeps_the_result),
        TEST(what_a_task_came_after_can_be_settled),
        TEST(a_removed_task_takes_its_events_with_it),
        TEST(older_events_go_with_a_newer_one),
        TEST(crons_are_put_replaced_and_removed),
        TEST(paused_queues_are_remembered_until_they_are_resumed),
        TEST(an_audit_counts_what_was_pushed_before_it),
        TEST(an_audit_goes_on_where_it_was),
        TEST(an_operation_that_contradicts_the_file_is_refused_alone),
        TEST(the_highest_id_outlives_its_row),
        TEST(operations_come_back_in_their_order),
        TEST(what_was_pushed_before_the_stop_is_committed),
        TEST(what_is_pushed_after_the_stop_comes_back_closed),
        TEST(a_reader_that_wants_no_more_ends_the_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
