/* Rows that are written come back as they were: tasks, events, crons, queues. */
#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "server/store/rows.h"
#include "tests/support/store_world.h"
#include "tests/support/store_expect.h"

enum { TEXT = 512 };

static struct store_op *full_task(void)
{
    struct store_op *op = client_op(STORE_PUT);
    op->add.submitted = 1;
    op->task = (struct store_task){.id = 1ull << 62,
                                   .method = span_text("resize"),
                                   .tenant = span_text("acme"),
                                   .has_options = true,
                                   .key = span_text("k1"),
                                   .coalesce = span_text("c1"),
                                   .limit_key = span_text("l1"),
                                   .rate_key = span_text("r1"),
                                   .traceparent = span_text("TRACE"),
                                   .tracestate = span_text("STATE"),
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
                                   .backoff_jitter = 100,
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
                                   .result = span_text("RESULT"),
                                   .losses = 27,
                                   .lost = 28,
                                   .ran_by = span_text("w1"),
                                   .checkpoint = span_text("C")};
    return op;
}

#define FULL_TASK(state)                                                                           \
    "task 4611686018427387904 " state                                                              \
    " method=resize tenant=acme key=k1 coalesce=c1 limit_key=l1 "                                  \
    "rate_key=r1 traceparent=TRACE tracestate=STATE params=PARAMS after=12345678 created=11 "      \
    "deadline_at=12 timeout=13 backoff=14 "                                                        \
    "backoff_max=15 keep=16 rate_per=17 keep_size=18 retries=19 limit=20 rate=21 priority=9 "      \
    "durable=1 jitter=100"

STORE_TEST(every_field_of_a_task_comes_back)
{
    store_world_open(w);
    assert_int_equal(client_do(&w->client, full_task()), STORE_OK);
    client_close(&w->client);
    store_expect(
        w->path,
        "counts 1 0 0 0 0 0\n" FULL_TASK(
            "failed") " attempt=22 failures=23 crashes=24 losses=27 lost=28 cancel_asked=1 "
                      "due_at=25 started_at=26 "
                      "ended_at=18446744073709551615 error_code=E error_text=text ran_by=w1 "
                      "checkpoint=C result=RESULT\n");
}

STORE_TEST(a_task_of_few_words_is_no_more)
{
    store_world_open(w);
    assert_int_equal(client_do(&w->client, client_put(7, "m")), STORE_OK);
    client_close(&w->client);
    store_expect(w->path,
                 "counts 1 0 0 0 0 0\ntask 7 queued method=m created=1000000007 durable=2\n");
}

STORE_TEST(a_change_is_of_what_changes_and_keeps_the_result)
{
    store_world_open(w);
    assert_int_equal(client_do(&w->client, full_task()), STORE_OK);
    struct store_op *op = client_op(STORE_CHANGE);
    op->task = (struct store_task){
        .id = 1ull << 62, .state = CLIENT_DONE, .attempt = 30, .method = span_text("other")};
    op->add.done = 1;
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    store_expect(w->path, "counts 1 1 0 0 0 0\n" FULL_TASK(
                              "done") " attempt=30 checkpoint=C result=RESULT\n");
}

STORE_TEST(what_a_task_came_after_can_be_settled)
{
    store_world_open(w);
    struct store_op *op = client_put(7, "m");
    op->task.has_options = true;
    op->task.after = span_text("12345678");
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    op = client_op(STORE_CHANGE);
    op->task = (struct store_task){.id = 7, .attempt = 1, .settled = true};
    assert_int_equal(client_do(&w->client, op), STORE_OK);
    client_close(&w->client);
    store_expect(
        w->path,
        "counts 1 0 0 0 0 0\ntask 7 queued method=m created=1000000007 durable=2 attempt=1\n");
}

STORE_TEST(a_removed_task_takes_its_events_with_it)
{
    store_world_open(w);
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
    store_expect(w->path,
                 "counts 2 0 0 0 0 0\ntask 2 queued method=m created=1000000002 durable=2\n"
                 "event 2.2 at=5 attempt=1 what=started text=t data=d\n");
}

STORE_TEST(older_events_go_with_a_newer_one)
{
    store_world_open(w);
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
    store_expect(w->path,
                 "counts 2 0 0 0 0 0\ntask 1 queued method=m created=1000000001 durable=2\n"
                 "task 2 queued method=m created=1000000002 durable=2\n"
                 "event 1.6 at=6 attempt=1 what=queued\nevent 1.7 at=7 attempt=1 what=queued\n"
                 "event 2.2 at=2 attempt=1 what=queued\n");
}

static struct store_cron *row_of(struct store_op *op)
{
    return (struct store_cron *)op->row;
}

static struct store_op *cron(enum store_kind kind, const struct store_table *table,
                             const char *name, uint64_t next)
{
    struct store_op *op = client_row(kind, table);
    *(struct store_cron *)op->row = (struct store_cron){.name = span_text(name),
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

STORE_TEST(crons_are_put_replaced_and_removed)
{
    store_world_open(w);
    client_push(&w->client, cron(STORE_ROW_PUT, &store_crons, "a", 1));
    client_push(&w->client, cron(STORE_ROW_PUT, &store_crons, "b", 1));
    client_push(&w->client, cron(STORE_ROW_REMOVE, &store_crons, "a", 0));
    assert_int_equal(client_do(&w->client, cron(STORE_ROW_PUT, &store_crons, "b", 9)), STORE_OK);
    client_close(&w->client);
    store_expect(
        w->path,
        "counts 0 0 0 0 0 0\n cron=b schedule=* * * * * zone=UTC method=m tenant=t params=p "
        "options=o next_at=9 last_at=2 last_task=3\n");
}

/* What a put alone changes.  Each other column of a cron is its state. */
static bool is_of_the_definition(const char *column)
{
    static const char *const definition[] = {"id",     "tenant",  "name",   "schedule", "zone",
                                             "method", "made_by", "params", "options"};
    for (unsigned i = 0; i < sizeof definition / sizeof *definition; i++)
        if (strcmp(definition[i], column) == 0)
            return true;
    return false;
}

STORE_TEST(the_state_of_a_cron_changes_alone)
{
    struct store_op *later = cron(STORE_ROW_PUT, &store_cron_states, "a", 5),
                    *gone = cron(STORE_ROW_PUT, &store_cron_states, "c", 6);
    for (uint32_t n = 0; n < store_crons.count; n++) {
        bool state = false;
        for (uint32_t i = 0; i < store_cron_states.count; i++)
            state |= store_crons.columns[n].at == store_cron_states.columns[i].at;
        assert_true(state || is_of_the_definition(store_crons.columns[n].name));
    }
    store_world_open(w);
    client_push(&w->client, cron(STORE_ROW_PUT, &store_crons, "a", 1));
    client_push(&w->client, cron(STORE_ROW_PUT, &store_crons, "b", 1));
    row_of(later)->schedule = row_of(later)->zone = row_of(later)->method = span_text("x");
    row_of(later)->params = row_of(later)->options = row_of(later)->made_by = span_text("x");
    row_of(later)->last_at = 8;
    row_of(later)->last_task = 9;
    row_of(later)->paused = 1;
    client_push(&w->client, later);
    assert_int_equal(client_do(&w->client, gone), STORE_OK);
    client_close(&w->client);
    store_expect(
        w->path,
        "counts 0 0 0 0 0 0\n cron=a schedule=* * * * * zone=UTC method=m tenant=t params=p "
        "options=o next_at=5 last_at=8 last_task=9 paused=1\n"
        " cron=b schedule=* * * * * zone=UTC method=m tenant=t params=p options=o next_at=1 "
        "last_at=2 last_task=3\n");
}

STORE_TEST(each_tenant_has_crons_of_any_name)
{
    struct store_op *other = cron(STORE_ROW_PUT, &store_crons, "a", 2),
                    *nobody = cron(STORE_ROW_PUT, &store_crons, "a", 3),
                    *again = cron(STORE_ROW_PUT, &store_crons, "a", 4),
                    *gone = cron(STORE_ROW_REMOVE, &store_crons, "a", 0);
    store_world_open(w);
    row_of(other)->tenant = row_of(gone)->tenant = span_text("u");
    row_of(nobody)->tenant = row_of(again)->tenant = (struct span){0};
    row_of(again)->made_by = span_text("token:x");
    client_push(&w->client, cron(STORE_ROW_PUT, &store_crons, "a", 1));
    client_push(&w->client, other);
    client_push(&w->client, nobody);
    client_push(&w->client, gone);
    assert_int_equal(client_do(&w->client, again), STORE_OK);
    client_close(&w->client);
    store_expect(w->path,
                 "counts 0 0 0 0 0 0\n"
                 " cron=a schedule=* * * * * zone=UTC method=m tenant=t params=p options=o "
                 "next_at=1 last_at=2 last_task=3\n"
                 " cron=a schedule=* * * * * zone=UTC method=m made_by=token:x params=p options=o "
                 "next_at=4 last_at=2 last_task=3\n");
}

static struct store_op *queue(const char *method, bool paused, bool draining)
{
    struct store_op *op =
        client_row(paused || draining ? STORE_ROW_PUT : STORE_ROW_REMOVE, &store_queues);
    *(struct store_queue *)op->row =
        (struct store_queue){.method = span_text(method), .paused = paused, .draining = draining};
    return op;
}

STORE_TEST(queues_are_remembered_until_they_are_open)
{
    store_world_open(w);
    client_push(&w->client, queue("a", true, false));
    client_push(&w->client, queue("b", true, false));
    client_push(&w->client, queue("b", true, true));
    client_push(&w->client, queue("c", false, true));
    assert_int_equal(client_do(&w->client, queue("a", false, false)), STORE_OK);
    client_close(&w->client);
    store_expect(w->path, "counts 0 0 0 0 0 0\n queue=b paused=1 draining=1\n"
                          " queue=c draining=1\n");
}
