/* A store's audits and refusals, its highest id, the order of what comes back, and its ends. */
#include <stdlib.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/store/store_parts.h"
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

STORE_TEST(the_highest_fence_outlives_its_row)
{
    char error[TEXT];
    store_world_open(w);
    for (uint64_t fence = 42; fence >= 41; fence--) {
        struct store_op *op = client_row(STORE_ROW_PUT, &store_holds);
        *(struct store_hold *)op->row =
            (struct store_hold){.id = fence, .name = span_text("gpu"), .permits = 1, .of = 1};
        client_do(&w->client, op);
        op = client_row(STORE_ROW_REMOVE, &store_holds);
        ((struct store_hold *)op->row)->id = fence;
        client_do(&w->client, op);
    }
    client_do(&w->client, client_put(3, "m"));
    client_close(&w->client);
    const struct store_options options = client_options(w->path);
    struct store *s = store_open(&options, error, sizeof error);
    assert_int_equal(store_last_fence(s), 42);
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

/* --- Rates, and the clock --- */

static struct store_op *rate_op(enum store_kind kind, uint64_t id, const char *key)
{
    struct store_op *op = client_row(kind, &store_rates);
    *(struct store_rate *)op->row = (struct store_rate){.id = id,
                                                        .tenant = span_text("t"),
                                                        .key = span_text(key),
                                                        .max = 2,
                                                        .per = 5,
                                                        .noted_at = 100,
                                                        .promised = 1,
                                                        .starts = span_text("age+many")};
    return op;
}

STORE_TEST(a_rate_has_one_row)
{
    store_world_open(w);
    assert_int_equal(client_do(&w->client, rate_op(STORE_ROW_PUT, 1, "gone")), STORE_OK);
    assert_int_equal(client_do(&w->client, rate_op(STORE_ROW_PUT, 2, "old")), STORE_OK);
    assert_int_equal(client_do(&w->client, rate_op(STORE_ROW_PUT, 2, "mail")), STORE_OK);
    assert_int_equal(client_do(&w->client, rate_op(STORE_ROW_REMOVE, 1, "")), STORE_OK);
    client_close(&w->client);
    store_expect(w->path, "counts 0 0 0 0 0 0\n rate=2 tenant=t key=mail max=2 per=5 "
                          "noted_at=100 promised=1 starts=age+many\n");
}

static void put_due(struct store_world *w, uint64_t id, uint64_t due_at, uint64_t deadline_at)
{
    struct store_op *op = client_put(id, "m");
    op->task.has_options = true;
    op->task.due_at = due_at;
    op->task.deadline_at = deadline_at;
    client_do(&w->client, op);
}

static const char *due(const struct store_world *w)
{
    static char out[200];
    return store_sql(w->path, "SELECT id, due_at, deadline_at FROM tasks ORDER BY id", out,
                     sizeof out);
}

/* By an operation while the server runs, and before its start. */
STORE_TEST(due_times_are_set_back)
{
    char error[TEXT] = "";
    store_world_open(w);
    put_due(w, 1, 1000, 2000);
    put_due(w, 2, 50, 0);
    struct store_op *back = client_op(STORE_SET_BACK);
    back->back = 100;
    assert_int_equal(client_do(&w->client, back), STORE_OK);
    put_due(w, 3, 1000, 0);
    client_close(&w->client);
    assert_string_equal(due(w), "1|900|1900\n2|1|-\n3|1000|-\n");
    const struct store_options options = client_options(w->path);
    struct store *s = store_open(&options, error, sizeof error);
    uint64_t last = store_committed_at(s);
    assert_in_range(last, clock_wall() - AO_S(3600), clock_wall());
    assert_int_equal(store_set_back(s, 10), STORE_OK);
    assert_true(store_committed_at(s) >= last);
    store_close(s);
    assert_string_equal(due(w), "1|890|1890\n2|1|-\n3|990|-\n");
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

/* --- The lane to the client --- */

static void wait_for_operations(struct store *s, uint64_t count)
{
    struct store_info info = {0};
    while (info.operations < count) {
        lane_flush(&s->in); /* the client's loop, which would do so, does not run */
        usleep(100);
        store_info(s, &info);
    }
}

/* By SQLite's index of the log: how many pages it has, and how many of them are in the file. */
static uint32_t pages_to_move(const char *path)
{
    enum { PAGES_AT = 16, MOVED_AT = 96, NAME = STORE_PATH + 8 };
    char name[NAME];
    uint32_t pages = 0, moved = 0;
    snprintf(name, sizeof name, "%s-shm", path);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &pages, sizeof pages, PAGES_AT), sizeof pages);
    assert_int_equal(pread(fd, &moved, sizeof moved, MOVED_AT), sizeof moved);
    close(fd);
    return pages - moved;
}

static void push_up_to(struct store_world *w, uint64_t *pushed, uint64_t count)
{
    while (*pushed < count)
        client_push(&w->client, client_put(++*pushed, "m"));
    wait_for_operations(w->client.store, count);
}

/* The client takes nothing until there is more than there is room for, and by then the writer has
 * nothing else to do. */
STORE_TEST(what_found_no_room_on_its_way_back_follows_when_there_is_some)
{
    enum { GATHERED = 128, CHUNK = 7 * GATHERED, IDLE_PAGES = 64 };
    uint64_t next = 1, pushed = 0;
    store_world_open(w);
    w->client.returned = note_order;
    w->client.arg = &next;
    while (pushed + CHUNK < STORE_LANE)
        push_up_to(w, &pushed, pushed + CHUNK);
    while (pages_to_move(w->path) >= IDLE_PAGES)
        usleep(1000); /* it tidies up when nothing comes */
    push_up_to(w, &pushed, STORE_LANE + GATHERED);
    client_wait(&w->client);
    assert_int_equal(next, STORE_LANE + GATHERED + 1);
    client_close(&w->client);
}

/* --- The log --- */

/* Commits follow one another, so that the writer never rests. */
STORE_TEST(the_log_stays_small_under_load)
{
    enum { COMMITS = 400, PAGES_MOST = 600, FRAME = 4096 + 24 };
    char log[STORE_PATH + 8];
    struct stat file;
    static char params[16384];
    snprintf(log, sizeof log, "%s-wal", w->path);
    store_world_open(w);
    for (uint64_t id = 1; id <= COMMITS; id++) {
        struct store_op *op = client_put(id, "m");
        op->task.params = span_of(params, sizeof params);
        assert_int_equal(client_do(&w->client, op), STORE_OK);
    }
    assert_int_equal(stat(log, &file), 0);
    assert_in_range(file.st_size, 1, PAGES_MOST * FRAME);
    client_close(&w->client);
}
