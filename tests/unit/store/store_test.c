/* A store's audits and refusals, its highest id, the order of what comes back, and its ends. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/store_world.h"
#include "tests/support/store_expect.h"

enum { TEXT = 512 };

static void keep_audit(struct store_client *c, struct store_op *op)
{
    if (op->kind == STORE_COUNT)
        *(struct store_audit *)c->arg = op->audit;
}

static struct store_op *turn(uint64_t id, uint8_t to)
{
    struct store_op *op = client_op(STORE_CHANGE);
    op->task.id = id;
    op->task.state = to;
    return op;
}

STORE_TEST(an_audit_counts_what_was_pushed_before_it)
{
    struct store_audit audit = {0};
    store_world_open(w);
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
STORE_TEST(an_audit_goes_on_where_it_was)
{
    enum { ROWS = STORE_COUNT_ROWS + 5 };
    struct store_audit audit = {0};
    store_world_open(w);
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

STORE_TEST(an_operation_that_contradicts_the_file_is_refused_alone)
{
    char errors[16] = "";
    store_world_open(w);
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
    store_expect(w->path,
                 "counts 2 0 0 0 0 0\ntask 1 queued method=m created=1000000001 durable=2\n"
                 "task 2 queued method=m created=1000000002 durable=2\n");
}

STORE_TEST(the_highest_id_outlives_its_row)
{
    char error[TEXT];
    store_world_open(w);
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

static void push_submission(struct store_client *c, enum store_kind kind, uint8_t durable,
                            uint8_t priority)
{
    struct store_op *op = client_put(1, "m");
    op->kind = kind;
    op->task.durable = durable;
    op->task.has_options = priority > 0;
    op->task.priority = priority;
    op->task.anew = kind == STORE_CHANGE;
    op->add.submitted = kind == STORE_PUT;
    client_push(c, op);
}

STORE_TEST(durability_and_options_may_be_written_again)
{
    store_world_open(w);
    push_submission(&w->client, STORE_PUT, 1, 0);
    push_submission(&w->client, STORE_CHANGE, 2, 7);
    client_wait(&w->client);
    client_close(&w->client);
    store_expect(w->path, "counts 1 0 0 0 0 0\n"
                          "task 1 queued method=m created=1000000001 priority=7 durable=2\n");
}

/* --- */

static void note_order(struct store_client *c, struct store_op *op)
{
    uint64_t *next = c->arg;
    if (op->task.id == *next && op->error == STORE_OK)
        ++*next;
}

/* More than the lane has slots and than a batch takes. */
STORE_TEST(operations_come_back_in_their_order)
{
    enum { MANY = 150000 };
    uint64_t next = 1;
    store_world_open(w);
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

STORE_TEST(what_was_pushed_before_the_stop_is_committed)
{
    enum { MANY = 100000 };
    uint64_t next = 1;
    store_world_open(w);
    w->client.returned = note_order;
    w->client.arg = &next;
    for (uint64_t id = 1; id <= MANY; id++)
        client_push(&w->client, client_put(id, "m"));
    client_close(&w->client);
    assert_int_equal(next, MANY + 1);
}

STORE_TEST(what_is_pushed_after_the_stop_comes_back_closed)
{
    char errors[16] = "";
    store_world_open(w);
    w->client.returned = note_errors;
    w->client.arg = errors;
    store_stop(w->client.store);
    client_push(&w->client, client_put(1, "m"));
    client_close(&w->client);
    assert_int_equal(errors[0], '0' + STORE_CLOSED);
    store_expect(w->path, "counts 0 0 0 0 0 0\n");
}

static void ignore_counts(void *arg, const struct store_counts *c)
{
}

static bool refuse_task(void *arg, const struct store_task *t)
{
    return false;
}

STORE_TEST(a_reader_that_wants_no_more_ends_the_reading)
{
    char error[TEXT] = "";
    store_world_open(w);
    client_do(&w->client, client_put(1, "m"));
    client_close(&w->client);
    const struct store_options options = client_options(w->path);
    const struct store_reader reader = {.counts = ignore_counts, .task = refuse_task};
    struct store *s = store_open(&options, error, sizeof error);
    assert_int_equal(store_load(s, &reader, error, sizeof error), -1);
    assert_string_equal(error, "the reading of the store was stopped");
    store_close(s);
}
