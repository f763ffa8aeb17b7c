/* What each driver of the store does, by store.h: the same tests on SQLite and on PostgreSQL, and
 * those about what PostgreSQL alone can meet. */
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "tests/support/contract_world.h"

enum { MANY = 2500 };

/* --- Operations --- */

static struct store_op *change(uint64_t id, uint8_t state)
{
    struct store_op *op = client_op(STORE_CHANGE);
    op->task.id = id;
    op->task.state = state;
    op->task.attempt = 1;
    op->add.done = state == CLIENT_DONE;
    return op;
}

static struct store_op *removal(uint64_t id)
{
    struct store_op *op = client_op(STORE_REMOVE);
    op->task.id = id;
    return op;
}

static struct store_op *event(uint64_t id, uint32_t seq, const char *what)
{
    struct store_op *op = client_op(STORE_EVENT);
    op->event = (struct store_event){.id = id, .seq = seq, .at = 7, .what = span_text(what)};
    return op;
}

static struct store_op *queue(enum store_kind kind, const char *method, uint8_t paused)
{
    struct store_op *op = client_row(kind, &store_queues);
    struct store_queue q = {.method = span_text(method), .paused = paused};
    memcpy(op->row, &q, sizeof q);
    return op;
}

static struct store_op *cron(const struct store_table *table, const struct store_cron *c)
{
    struct store_op *op = client_row(STORE_ROW_PUT, table);
    memcpy(op->row, c, sizeof *c);
    return op;
}

static void put_many(struct contract_world *w, uint64_t from, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        contract_push(w, client_put(from + n, "echo"));
}

/* --- Rows --- */

static struct store_op *full_put(uint64_t id)
{
    struct store_op *op = client_put(id, "mail.send");
    struct store_task *t = &op->task;
    t->tenant = span_text("acme");
    t->params = span_of("\x91\x00\xff", 3);
    t->has_options = true;
    t->key = span_text("k\xc3\xa4");
    t->coalesce = span_text("c");
    t->limit_key = span_text("l");
    t->limit = UINT32_MAX;
    t->rate_key = span_text("r");
    t->rate_per = UINT64_MAX;
    t->priority = 255;
    t->deadline_at = INT64_MAX;
    t->retries = 3;
    t->keep = UINT64_MAX;
    t->attempt = 4;
    t->due_at = 99;
    return op;
}

CONTRACT_TEST(all_columns_come_back)
{
    contract_push(w, full_put(5));
    contract_push(w, client_put(4, "echo"));
    contract_wait(w);
    contract_expect(w, "counts 2 0 0 0 0 0\n"
                       "task 4 queued method=echo created=1000000004 durable=2\n"
                       "task 5 queued method=mail.send tenant=acme key=k\xc3\xa4 coalesce=c "
                       "limit_key=l rate_key=r params=\x91 created=1000000005 "
                       "deadline_at=9223372036854775807 keep=18446744073709551615 "
                       "rate_per=18446744073709551615 retries=3 limit=4294967295 priority=255 "
                       "durable=2 attempt=4 due_at=99\n");
}

/* A change without a result leaves the one that is there; a settled one loses what it came after.
 */
CONTRACT_TEST(a_change_changes_what_it_says)
{
    struct store_op *put = client_put(1, "echo"), *end = change(1, CLIENT_DONE),
                    *anew = change(1, CLIENT_DONE);
    put->task.has_options = true;
    put->task.after = span_of("\0\0\0\0\0\0\0\1", 8);
    put->task.key = span_text("k");
    end->task.result = span_text("R");
    end->task.settled = true;
    anew->add.done = 0;
    anew->task.anew = anew->task.has_options = true;
    anew->task.durable = 1;
    anew->task.priority = 9;
    contract_push(w, put);
    contract_push(w, end);
    contract_push(w, anew);
    contract_wait(w);
    assert_int_equal(w->good, 3);
    contract_expect(w, "counts 1 1 0 0 0 0\n"
                       "task 1 done method=echo created=1000000001 priority=9 durable=1 attempt=1 "
                       "result=R\n");
}

CONTRACT_TEST(an_event_replaces_its_number_and_cuts_the_history)
{
    struct store_op *joined = event(1, 1, "joined"), *cut = event(1, 4, "d");
    cut->event.oldest = 3;
    contract_push(w, client_put(1, "echo"));
    contract_push(w, event(1, 1, "submitted"));
    contract_push(w, event(1, 2, "b"));
    contract_push(w, event(1, 3, "c"));
    contract_push(w, joined);
    contract_push(w, cut);
    contract_wait(w);
    contract_expect(w, "counts 1 0 0 0 0 0\n"
                       "task 1 queued method=echo created=1000000001 durable=2\n"
                       "event 1.1 at=7 what=joined\n"
                       "event 1.3 at=7 what=c\n"
                       "event 1.4 at=7 what=d\n");
}

static uint32_t boards_seen;
static bool see_boards(void *arg, const struct store_task *task)
{
    (void)arg;
    boards_seen = boards_seen * 10 + task->boards;
    return true;
}

/* Those of the life count, if there is one. */
POSTGRES_TEST(boards_of_the_last_row)
{
    struct store_reader reader = store_text_reader(&w->rows);
    struct store_op *put = client_put(1, "echo"), *other = client_put(2, "echo"),
                    *begun = change(2, CLIENT_OPEN);
    reader.task = see_boards;
    put->task.boards = 3;
    other->task.boards = 4;
    begun->task.boards = 5;
    contract_push(w, put);
    contract_push(w, other);
    contract_push(w, begun);
    contract_wait(w);
    boards_seen = 0;
    assert_false(contract_load(w, &reader));
    assert_int_equal(boards_seen, 35);
}

CONTRACT_TEST(rows_of_each_table)
{
    struct store_rate r = {.id = 3, .key = span_text("k"), .max = 2, .per = UINT64_MAX};
    struct store_semaphore s = {.id = 2, .name = span_text("s"), .permits = 4};
    struct store_hold h = {.id = 8, .name = span_text("s"), .permits = 1, .of = 4, .ends_at = 50};
    struct store_cron c = {.id = 1, .name = span_text("n"), .method = span_text("m")},
                      other = {.id = 2, .name = span_text("n"), .tenant = span_text("t")},
                      later = {.name = span_text("n"), .next_at = UINT64_MAX, .paused = 1},
                      again = {.name = span_text("n"), .tenant = span_text("t"), .next_at = 7},
                      free_one = {.name = span_text("z")};
    struct store_op *rate = client_row(STORE_ROW_PUT, &store_rates),
                    *semaphore = client_row(STORE_ROW_PUT, &store_semaphores),
                    *hold = client_row(STORE_ROW_PUT, &store_holds);
    memcpy(rate->row, &r, sizeof r);
    memcpy(semaphore->row, &s, sizeof s);
    memcpy(hold->row, &h, sizeof h);
    struct store_op *all[] = {rate,
                              semaphore,
                              hold,
                              queue(STORE_ROW_PUT, "a", 1),
                              queue(STORE_ROW_PUT, "b", 1),
                              queue(STORE_ROW_PUT, "b", 0),
                              queue(STORE_ROW_REMOVE, "a", 0),
                              queue(STORE_ROW_REMOVE, "gone", 0),
                              cron(&store_crons, &c),
                              cron(&store_crons, &other),
                              cron(&store_cron_states, &later),
                              cron(&store_crons, &again),
                              cron(&store_crons, &free_one)};
    for (unsigned n = 0; n < sizeof all / sizeof *all; n++)
        contract_push(w, all[n]);
    contract_wait(w);
    assert_int_equal(w->good, sizeof all / sizeof *all);
    contract_expect(w, "counts 0 0 0 0 0 0\n"
                       " queue=b\n"
                       " rate=3 key=k max=2 per=18446744073709551615\n"
                       " semaphore=s id=2 permits=4\n"
                       " hold=s id=8 permits=1 of=4 ends_at=50\n"
                       " cron=n method=m next_at=18446744073709551615 paused=1\n"
                       " cron=n tenant=t next_at=7\n"
                       " cron=z\n");
}

/* --- Order, and what is refused --- */

CONTRACT_TEST(operations_come_back_in_order)
{
    put_many(w, 1, MANY);
    for (uint32_t n = 1; n <= MANY; n++)
        contract_push(w, n % 3 ? change(n, CLIENT_DONE) : removal(n));
    contract_wait(w);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->good, 2 * MANY);
}

CONTRACT_TEST(one_id_several_times_in_a_batch)
{
    contract_push(w, client_put(1, "echo"));
    contract_push(w, change(1, CLIENT_OPEN));
    contract_push(w, event(1, 1, "a"));
    contract_push(w, change(1, CLIENT_FAILED));
    contract_push(w, client_put(2, "echo"));
    contract_push(w, change(2, CLIENT_DONE));
    contract_push(w, event(2, 1, "b"));
    contract_push(w, removal(2));
    contract_wait(w);
    assert_int_equal(w->good, 8);
    contract_expect(w, "counts 2 1 0 0 0 0\n"
                       "task 1 failed method=echo created=1000000001 durable=2 attempt=1\n"
                       "event 1.1 at=7 what=a\n");
}

/* A refused one is refused alone, and counts nothing. */
CONTRACT_TEST(one_of_many_is_refused)
{
    put_many(w, 1, 100);
    contract_push(w, client_put(50, "twice"));
    put_many(w, 101, 100);
    contract_push(w, change(999, CLIENT_DONE));
    put_many(w, 201, 100);
    contract_wait(w);
    assert_int_equal(w->good, 300);
    assert_int_equal(w->refused, 2);
    assert_int_equal(w->wrong, 0);
    assert_non_null(strstr(contract_read(w), "counts 300 0 0 0 0 0\n"));
    assert_null(strstr(w->rows.text, "twice"));
}

CONTRACT_TEST(all_of_a_batch_are_refused)
{
    for (uint64_t n = 1; n <= 20; n++)
        contract_push(w, change(n, CLIENT_DONE));
    contract_wait(w);
    assert_int_equal(w->refused, 20);
    contract_expect(w, "counts 0 0 0 0 0 0\n");
}

static struct store_op *first_life(uint64_t id)
{
    struct store_op *op = change(id, CLIENT_DONE);
    op->task.first_life = true;
    return op;
}

CONTRACT_TEST(a_life_begins)
{
    put_many(w, 1, 3);
    for (uint64_t id = 1; id <= 4; id++)
        contract_push(w, first_life(id));
    contract_wait(w);
    assert_int_equal(w->good, 6);
    assert_int_equal(w->refused, 1);
    contract_push(w, change(2, CLIENT_OPEN));
    contract_wait(w);
    contract_expect(w, "counts 3 3 0 0 0 0\n"
                       "task 1 done method=echo created=1000000001 durable=2 attempt=1\n"
                       "task 2 queued method=echo created=1000000002 durable=2 attempt=1\n"
                       "task 3 done method=echo created=1000000003 durable=2 attempt=1\n");
}

/* Somebody may have put the row of a life there: nothing is refused for that. */
CONTRACT_TEST(a_life_that_is_there_begins)
{
    put_many(w, 1, 20);
    contract_push(w, change(7, CLIENT_OPEN));
    contract_push(w, change(20, CLIENT_OPEN));
    contract_wait(w);
    for (uint64_t id = 1; id <= 20; id++)
        contract_push(w, first_life(id));
    contract_wait(w);
    assert_int_equal(w->good, 42);
    assert_int_equal(w->refused, 0);
    assert_non_null(strstr(contract_read(w), "counts 20 20 0 0 0 0\n"));
    assert_null(strstr(w->rows.text, "queued"));
}

/* PostgreSQL cannot keep such a name.  What is for people only is made fit. */
CONTRACT_TEST(a_nul_harms_nobody_else)
{
    struct store_op *named = client_put(2, "echo"), *failed = change(1, CLIENT_FAILED);
    named->task.has_options = true;
    named->task.key = span_of("a\0b", 3);
    failed->task.error_text = span_of("a\0b\xff", 4);
    contract_push(w, client_put(1, "echo"));
    contract_push(w, named);
    contract_push(w, failed);
    contract_push(w, client_put(3, "echo"));
    contract_wait(w);
    assert_int_equal(w->good + w->refused, 4);
    assert_int_equal(w->refused, w->postgres);
    assert_non_null(strstr(contract_read(w), "task 1 failed"));
    assert_non_null(strstr(w->rows.text, "task 3 queued"));
}

/* --- Numbers of the store --- */

CONTRACT_TEST(times_are_set_back)
{
    struct store_op *put = full_put(1), *back = client_op(STORE_SET_BACK);
    put->task.due_at = 5000;
    put->task.deadline_at = 100;
    back->back = 1000;
    contract_push(w, put);
    contract_push(w, back);
    contract_push(w, client_put(2, "echo"));
    contract_wait(w);
    assert_int_equal(w->good, 3);
    assert_non_null(strstr(contract_read(w), " due_at=4000\n"));
    assert_non_null(strstr(w->rows.text, " deadline_at=1 "));
}

static struct store_audit audit;
static void (*others)(struct store_client *c, struct store_op *op);
static void keep_audit(struct store_client *c, struct store_op *op)
{
    if (op->kind == STORE_COUNT)
        audit = op->audit;
    others(c, op);
}

CONTRACT_TEST(rows_and_counters_are_counted)
{
    others = w->store.client.returned;
    w->store.client.returned = keep_audit;
    put_many(w, 1, 10);
    contract_push(w, change(3, CLIENT_DONE));
    contract_push(w, change(4, CLIENT_CANCELLED));
    contract_push(w, client_op(STORE_COUNT));
    contract_push(w, client_put(11, "echo"));
    contract_wait(w);
    assert_int_equal(audit.counters.submitted, 10);
    assert_int_equal(audit.counters.done, 1);
    assert_int_equal(audit.open, 8);
    assert_int_equal(audit.done, 1);
    assert_int_equal(audit.cancelled, 1);
    assert_int_equal(audit.next, 0);
}

/* --- PostgreSQL: what is read while the store writes --- */

static uint32_t tasks_seen;
static bool count_task(void *arg, const struct store_task *task)
{
    (void)arg;
    (void)task;
    tasks_seen++;
    return true;
}

/* A look at the size waits for no lock for long, so it does not make the store look away. */
POSTGRES_TEST(a_look_gives_up_at_a_locked_table)
{
    static const char waits[] = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    struct store_info info;
    PGconn *pg = PQconnectdb(getenv("ERGON_TEST_PG_ADMIN_URL"));
    assert_int_equal(contract_do(w, client_put(1, "echo")), STORE_OK);
    PQclear(PQexec(pg, "BEGIN"));
    PQclear(PQexec(pg, "LOCK TABLE ergon.crons"));
    do
        store_look(w->store.client.store);
    while (strcmp(contract_sql(w, waits), "1\n") != 0);
    contract_until(w, waits, "0\n");
    assert_int_equal(contract_do(w, client_put(2, "echo")), STORE_OK);
    PQfinish(pg);
    store_info(w->store.client.store, &info);
    assert_int_equal(info.error, STORE_OK);
}

/* It has locked indexes, and the tables so that they can be read.  No load waits for it long. */
POSTGRES_TEST(a_load_names_a_reindex_that_is_in_its_way)
{
    struct store_reader reader = store_text_reader(&w->rows);
    PGconn *pg = PQconnectdb(getenv("ERGON_TEST_PG_ADMIN_URL"));
    PQclear(PQexec(pg, "BEGIN"));
    PQclear(PQexec(pg, "REINDEX TABLE ergon.lives"));
    bool more = contract_load(w, &reader);
    PQfinish(pg);
    assert_true(more);
    assert_non_null(strstr(w->error, " is locked by the session "));
    contract_read(w);
    assert_string_equal(w->error, "");
}

/* A former primary that was cut off answers with an older epoch: nobody has deposed this node. */
POSTGRES_TEST(an_older_epoch_deposes_nobody)
{
    struct store_reader reader = store_text_reader(&w->rows);
    contract_sql(w, "UPDATE ergon.owner SET epoch = epoch - 1");
    assert_false(contract_load(w, &reader));
    assert_int_equal(w->kept->error, STORE_AWAY);
    assert_non_null(strstr(w->error, "it is a former primary"));
    contract_push(w, client_put(1, "echo"));
    contract_sql(w,
                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ergon'");
    contract_push(w, client_put(2, "echo"));
    client_poll(&w->store.client);
    contract_sql(w, "UPDATE ergon.owner SET epoch = epoch + 1");
    contract_wait(w);
    assert_int_equal(w->good, 2);
    contract_sql(w, "UPDATE ergon.owner SET epoch = epoch + 1");
    assert_false(contract_load(w, &reader));
    assert_int_equal(w->kept->error, STORE_FENCED);
}

/* The node and the database do not know the same any more: only a new load makes that good. */
POSTGRES_TEST(a_server_that_lacks_a_confirmed_batch_is_not_written_to)
{
    struct store_info info;
    assert_int_equal(contract_do(w, client_put(1, "echo")), STORE_OK);
    contract_sql(w, "UPDATE ergon.owner SET batch = batch - 1");
    assert_int_equal(contract_do(w, client_put(2, "echo")), STORE_UNSURE);
    assert_int_equal(contract_do(w, client_put(3, "echo")), STORE_FENCED);
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.submissions"), "1\n");
    store_info(w->store.client.store, &info);
    assert_int_equal(info.error, STORE_FENCED);
}

POSTGRES_TEST(a_load_is_one_snapshot)
{
    struct store_reader reader = store_text_reader(&w->rows);
    reader.task = count_task;
    tasks_seen = 0;
    put_many(w, 1, MANY);
    contract_wait(w);
    for (bool more = true; more;) {
        contract_push(w, client_put(10000 + tasks_seen, "later"));
        contract_push(w, removal(MANY - tasks_seen / 2));
        more = contract_load(w, &reader);
    }
    assert_string_equal(w->error, "");
    assert_int_equal(tasks_seen, MANY); /* the first two came before the snapshot */
}

POSTGRES_TEST(a_row_that_cannot_be_is_named)
{
    contract_push(w, client_put(7, "echo"));
    contract_wait(w);
    contract_sql(w, "UPDATE ergon.submissions SET durable = 'odd' WHERE id = 7");
    contract_read(w);
    assert_non_null(strstr(w->error, "row 7 of ergon.submissions has an impossible value in the "
                                     "column durable"));
    contract_sql(w, "UPDATE ergon.submissions SET durable = 'fsync' WHERE id = 7");
    contract_read(w);
    assert_string_equal(w->error, "");
}

/* --- PostgreSQL: outcomes that are unknown --- */

POSTGRES_TEST(a_connection_that_breaks_is_made_again)
{
    for (uint32_t round = 0; round < 20; round++) {
        put_many(w, 1 + round * 100, 100);
        contract_sql(w, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                        "WHERE usename = 'ergon'");
    }
    contract_wait(w);
    assert_int_equal(w->good, 2000);
    assert_int_equal(w->wrong, 0);
    contract_expect_rows(w, 2000);
}

POSTGRES_TEST(two_batches_are_under_way)
{
    contract_freeze(w);
    contract_push(w, client_put(1, "echo"));
    client_poll(&w->store.client);
    contract_until(w, CONTRACT_WAITING, "1\n");
    put_many(w, 2, MANY);
    client_poll(&w->store.client);
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->good, 1 + MANY);
    contract_expect_rows(w, 1 + MANY);
}

/* --- PostgreSQL: owners --- */

POSTGRES_TEST(a_stop_while_rows_are_read_counts_as_no_try)
{
    char error[CONTRACT_ERROR];
    uint64_t incarnation =
        strtoull(contract_sql(w, "SELECT incarnation FROM ergon.owner"), NULL, 10);
    void *member = contract_member(w, "a", incarnation);
    contract_sql(w, "UPDATE ergon.owner SET tries = 2, boards = 3");
    assert_int_equal(w->engine->ask(member, "leave_load", "", error, sizeof error), ENGINE_DONE);
    assert_string_equal(contract_sql(w, "SELECT node IS NULL, tries, boards FROM ergon.owner"),
                        "t|1|4\n");
    assert_int_equal(w->engine->ask(member, "leave_load", "", error, sizeof error),
                     ENGINE_UNCHANGED);
    w->engine->close(member);
}

POSTGRES_TEST(a_deposed_owner_writes_nothing)
{
    contract_push(w, client_put(1, "echo"));
    contract_wait(w);
    contract_depose(w, "b");
    put_many(w, 2, 10);
    contract_wait(w);
    assert_int_equal(w->store.client.last, STORE_FENCED);
    assert_int_equal(w->good, 1);
    assert_int_equal(contract_do(w, client_put(20, "echo")), STORE_FENCED);
    contract_expect_rows(w, 1);
}

/* The first batch of both has the number 1. */
POSTGRES_TEST(a_deposed_owner_that_wrote_nothing)
{
    contract_until(w, "SELECT session FROM ergon.owner", "1\n");
    contract_depose(w, "b");
    assert_int_equal(contract_do(w, client_put(1, "echo")), STORE_FENCED);
    contract_expect_rows(w, 0);
}

/* The old backend may yet run what it has in its socket. */
POSTGRES_TEST(what_another_connection_left_fits_no_more)
{
    contract_push(w, client_put(1, "echo"));
    contract_wait(w);
    contract_sql(w, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE usename = 'ergon'");
    contract_until(w, "SELECT session FROM ergon.owner", "2\n");
    contract_push(w, client_put(2, "echo"));
    contract_wait(w);
    assert_int_equal(w->good, 2);
    contract_sql(w, "DO $$ DECLARE o ergon.owner; BEGIN SELECT * INTO o FROM ergon.owner; "
                    "PERFORM ergon.fence(o.epoch, o.session - 1, o.batch + 1, 1, 0, 0, 0, 0, 0, 0, "
                    "0, 0, 0, 0, false, false, 0); RAISE 'it fits'; "
                    "EXCEPTION WHEN SQLSTATE 'EF001' THEN NULL; END $$");
    contract_expect_rows(w, 2);
}

POSTGRES_TEST(an_owner_hands_over_and_writes_no_more)
{
    contract_push(w, client_put(1, "echo"));
    contract_push(w, client_op(STORE_HAND_OVER));
    contract_push(w, client_put(2, "echo"));
    contract_wait(w);
    assert_int_equal(w->good, 2);
    assert_int_equal(w->store.client.last, STORE_FENCED);
    assert_string_equal(contract_sql(w, "SELECT node IS NULL FROM ergon.owner"), "t\n");
    contract_expect_rows(w, 1);
}

/* A join that is lost with a primary must not come back with the number that was seen. */
POSTGRES_TEST(joins_leap_and_a_place_that_is_given_up_counts_its_board)
{
    char text[CONTRACT_ERROR];
    struct engine_owner owner;
    void *b = contract_member(w, "b", 77);
    struct engine_view *view = malloc(sizeof *view);
    assert_non_null(view);
    assert_int_equal(w->engine->join(b, view, text, sizeof text), ENGINE_DONE);
    uint64_t boards = view->owner.boards, first = view->nodes[1].renewals;
    assert_string_equal(view->nodes[1].node, "b");
    contract_sql(w, "UPDATE ergon.nodes SET renewals = 0 WHERE node = 'b'");
    assert_int_equal(w->engine->join(b, view, text, sizeof text), ENGINE_DONE);
    assert_int_not_equal(view->nodes[1].renewals, first);
    struct engine_take_over take = {.dead = view->nodes[0], .epoch = view->owner.epoch};
    contract_sql(w, "UPDATE ergon.owner SET tries = 0");
    contract_sql(w, "UPDATE ergon.nodes SET node = 'c' WHERE node = 'b'");
    assert_int_equal(w->engine->take_over(b, &take, &owner, text, sizeof text), ENGINE_UNCHANGED);
    contract_sql(w, "UPDATE ergon.nodes SET node = 'b' WHERE node = 'c'");
    assert_int_equal(w->engine->ask(b, "forget", "a", text, sizeof text), ENGINE_UNCHANGED);
    contract_sql(w, "UPDATE ergon.cluster SET protocol_min = 4"); /* an upgrade was finished */
    assert_int_equal(w->engine->take_over(b, &take, &owner, text, sizeof text), ENGINE_UNCHANGED);
    contract_sql(w, "UPDATE ergon.cluster SET protocol_min = 3");
    assert_int_equal(w->engine->take_over(b, &take, &owner, text, sizeof text), ENGINE_DONE);
    assert_int_equal(owner.boards, boards + 1);
    assert_int_equal(w->engine->ask(b, "give_up", "b", text, sizeof text), ENGINE_DONE);
    assert_int_equal(w->engine->look(b, view, text, sizeof text), ENGINE_DONE);
    assert_string_equal(view->owner.node, "");
    assert_int_equal(view->owner.boards, boards + 2);
    assert_int_equal(w->engine->ask(b, "forget", "a", text, sizeof text), ENGINE_DONE);
    w->engine->close(b);
    free(view);
}

static enum engine_result join_as(struct contract_world *w, const char *node, char *text)
{
    void *member = contract_member(w, node, 77);
    struct engine_view *view = malloc(sizeof *view);
    assert_non_null(view);
    enum engine_result result = w->engine->join(member, view, text, CONTRACT_ERROR);
    w->engine->close(member);
    free(view);
    return result;
}

/* The owner's row stays, too: the others see by it that the owner is gone. */
POSTGRES_TEST(nodes_that_left_make_room_for_another_name)
{
    char text[CONTRACT_ERROR] = "";
    contract_sql(w, "INSERT INTO ergon.nodes (node, incarnation, state) "
                    "SELECT 'n' || i, 1, 'front' FROM generate_series(1, 63) i");
    assert_int_equal(join_as(w, "z", text), ENGINE_WRONG);
    assert_non_null(strstr(text, "no room for 'z'; remove those that are gone: 'ergon cluster "
                                 "forget NODE'"));
    assert_int_equal(join_as(w, "n5", text), ENGINE_DONE);
    contract_sql(w, "UPDATE ergon.nodes SET state = 'left' WHERE node IN ('a', 'n1', 'n2')");
    assert_int_equal(join_as(w, "z", text), ENGINE_DONE);
    assert_string_equal(contract_sql(w, "SELECT count(*), count(*) FILTER (WHERE state = 'left'), "
                                        "min(node) FROM ergon.nodes"),
                        "63|1|a\n");
    contract_sql(w, "UPDATE ergon.nodes SET state = 'left' WHERE node = 'n3'");
    assert_int_equal(join_as(w, "y", text), ENGINE_DONE);
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.nodes"), "64\n");
}

POSTGRES_TEST(marks_rise_and_a_load_that_worked_is_noted)
{
    struct store_op *marks = client_op(STORE_MARKS), *lower = client_op(STORE_MARKS);
    marks->marks.id_mark = 1000;
    marks->marks.fence_mark = 20;
    lower->marks.id_mark = 10;
    assert_string_equal(contract_sql(w, "SELECT tries FROM ergon.owner"), "1\n");
    contract_push(w, marks);
    contract_push(w, lower);
    contract_wait(w);
    assert_string_equal(contract_sql(w, "SELECT tries, id_mark, fence_mark FROM ergon.owner"),
                        "0|1000|20\n");
}

/* --- PostgreSQL: settings and errors --- */

POSTGRES_TEST(settings_of_the_role_change_nothing)
{
    contract_close(w);
    /* Long enough for the statements that set it aside, which a busy machine delays, too. */
    contract_sql(w, "ALTER ROLE ergon SET statement_timeout = '700ms'");
    contract_sql(w, "ALTER ROLE ergon SET lock_timeout = '700ms'");
    contract_sql(w, "ALTER ROLE ergon SET synchronous_commit = off");
    contract_sql(w, "ALTER ROLE ergon SET default_transaction_isolation = serializable");
    contract_sql(w, "ALTER ROLE ergon SET default_transaction_read_only = on");
    contract_sql(w, "ALTER ROLE ergon SET search_path = nowhere");
    contract_sql(w, "ALTER ROLE ergon SET client_min_messages = error");
    contract_open(w);
    contract_freeze(w);
    contract_push(w, client_put(1, "echo"));
    client_poll(&w->store.client);
    contract_until(w, CONTRACT_WAITING, "1\n");
    contract_sql(w, CONTRACT_CANCEL_WAIT);
    contract_until(w, CONTRACT_SETTLES, "1\n");
    contract_sql(w, "SELECT pg_sleep(0.8)");
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->good, 1);
    contract_sql(w, "ALTER ROLE ergon RESET ALL");
}

/* All come back with the error, and it works again by itself. */
POSTGRES_TEST(a_right_that_is_taken_away)
{
    contract_sql(w, "REVOKE INSERT ON ergon.submissions FROM ergon");
    put_many(w, 1, 10);
    contract_wait(w);
    assert_int_equal(w->good, 0);
    assert_int_equal(w->store.client.last, STORE_READ_ONLY);
    contract_sql(w, "GRANT INSERT ON ergon.submissions TO ergon");
    for (uint64_t id = 100; contract_do(w, client_put(id, "echo")) != STORE_OK; id++)
        assert_in_range(id, 100, 100000);
    contract_expect_rows(w, 1);
}

/* The batch fails as those before it, and the outcome of the try remains the try's. */
POSTGRES_TEST(a_batch_begins_while_the_broken_store_is_tried)
{
    contract_sql(w, "REVOKE INSERT ON ergon.submissions FROM ergon");
    contract_freeze(w);
    assert_int_equal(contract_do(w, client_put(1, "echo")), STORE_READ_ONLY);
    contract_until(w, CONTRACT_WAITING, "1\n");
    assert_int_equal(contract_do(w, client_put(2, "echo")), STORE_READ_ONLY);
    contract_thaw(w);
    contract_sql(w, "GRANT INSERT ON ergon.submissions TO ergon");
    for (uint64_t id = 100; contract_do(w, client_put(id, "echo")) != STORE_OK; id++)
        assert_in_range(id, 100, 100000);
    contract_expect_rows(w, 1);
}

POSTGRES_TEST(what_is_not_replicated_is_refused)
{
    struct store_op *first = client_put(2, "echo"), *second = client_put(5, "echo");
    first->task.durable = second->task.durable = 3;
    contract_order(w, "set synchronous_standby_names");
    contract_until(w, "SELECT current_setting('synchronous_standby_names') = ''", "t\n");
    contract_push(w, client_put(1, "echo"));
    contract_push(w, first);
    contract_push(w, client_put(3, "echo"));
    contract_push(w, client_put(4, "echo"));
    contract_push(w, second);
    contract_wait(w);
    assert_int_equal(w->store.client.last, STORE_UNREPLICATED);
    assert_int_equal(w->good, 3);
    contract_expect_rows(w, 3);
    /* A cron moves on with its tasks. */
    struct store_cron light = {.name = span_text("l"), .durable = 1}, heavy = light;
    heavy.durable = 3;
    assert_int_equal(contract_do(w, cron(&store_cron_states, &light)), STORE_OK);
    assert_int_equal(contract_do(w, cron(&store_cron_states, &heavy)), STORE_UNREPLICATED);
    assert_int_equal(w->good, 4);
    contract_order(w, "set synchronous_standby_names ANY 1 (s1,s2)");
}

/* Opens a store that cannot be, and looks at why. */
static void expect_wrong(struct contract_world *w, const char *url, const char *text)
{
    char error[CONTRACT_ERROR] = "";
    struct store_client c = {0};
    struct store_options options = client_options(url);
    options.node = "a";
    assert_false(client_open(&c, &options, error, sizeof error));
    if (!strstr(error, text))
        fail_msg("'%s' is not in: %s", text, error);
    (void)w;
}

static const char *with(struct contract_world *w, const char *more)
{
    snprintf(w->text, sizeof w->text, "%s%s%s", w->url, strchr(w->url, '?') ? "&" : "?", more);
    return w->text;
}

POSTGRES_TEST(a_wrong_database_is_named)
{
    expect_wrong(w, with(w, "password=secret"), "has a password in it");
    expect_wrong(w, with(w, "nonsense=1"), "cannot be parsed");
    expect_wrong(w, with(w, "dbname=nowhere"), "there is no such database");
    contract_sql(w, "UPDATE ergon.cluster SET version = 4, protocol_min = 4");
    expect_wrong(w, w->url, "newer than this ergond");
    contract_sql(w, "UPDATE ergon.cluster SET version = 0, protocol_min = 0");
    expect_wrong(w, w->url, "run 'ergon cluster upgrade URL'");
    contract_sql(w, "ALTER SCHEMA ergon RENAME TO other");
    expect_wrong(w, w->url, "run 'ergon cluster init URL'");
    contract_sql(w, "ALTER SCHEMA other RENAME TO ergon");
    contract_sql(w, "UPDATE ergon.cluster SET version = 3, protocol_min = 3");
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(strlen(path) < sizeof at.sun_path);
    memcpy(at.sun_path, path, strlen(path));
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    return fd;
}

/* One client logs in, and is left alone. */
static void *play_version_13(void *listener)
{
    static const char answer[] = "R\0\0\0\x08\0\0\0\0"
                                 "S\0\0\0\x18server_version\0\x31\x33.9\0"
                                 "Z\0\0\0\x05I";
    char asked[4096];
    int fd = accept(*(int *)listener, NULL, NULL);
    if (read(fd, asked, sizeof asked) > 0 && write(fd, answer, sizeof answer - 1) > 0)
        while (read(fd, asked, sizeof asked) > 0)
            ;
    close(fd);
    return NULL;
}

/* Its backends do not notice while they wait for a lock that their client is gone. */
POSTGRES_TEST(a_version_that_is_too_old_is_named)
{
    char path[STORE_PATH + 20], url[STORE_PATH + 60];
    pthread_t server;
    snprintf(path, sizeof path, "%s/.s.PGSQL.1", w->store.folder);
    snprintf(url, sizeof url, "postgresql:///ergon?host=%s&port=1", w->store.folder);
    int fd = listen_at(path);
    assert_int_equal(pthread_create(&server, NULL, play_version_13, &fd), 0);
    expect_wrong(w, url, "it is PostgreSQL 13; ergond needs 14 or later");
    pthread_join(server, NULL);
    close(fd);
}

POSTGRES_TEST(a_role_without_rights_is_told_what_to_do)
{
    contract_sql(w, "CREATE ROLE stranger LOGIN");
    expect_wrong(w, with(w, "user=stranger"), "run 'ergon cluster upgrade URL --role ROLE'");
    contract_sql(w, "GRANT USAGE ON SCHEMA ergon TO stranger");
    expect_wrong(w, with(w, "user=stranger"), "run 'ergon cluster upgrade URL --role ROLE'");
    contract_sql(w, "DROP OWNED BY stranger; DROP ROLE stranger");
}

/* A command that connects once says only what is wrong. */
POSTGRES_TEST(a_command_promises_no_retry)
{
    char text[CONTRACT_ERROR] = "";
    const char *url = "postgresql:///ergon?host=/nonexistent";
    assert_int_equal(w->admin->look(url, NULL, NULL, text, sizeof text), -1);
    assert_non_null(strstr(text, "the server cannot be reached"));
    assert_null(strstr(text, "again"));
}

POSTGRES_TEST(a_schema_that_is_there_is_not_made_again)
{
    char text[CONTRACT_ERROR] = "";
    assert_int_equal(w->admin->init(w->url, "ergon", NULL, text, sizeof text), -1);
    assert_non_null(strstr(text, "is there already"));
    assert_int_equal(w->admin->init(w->url, "two words", NULL, text, sizeof text), -1);
    assert_non_null(strstr(text, "cannot be a cluster's name"));
}

/* As by a version that brings a table, a column and another body of a function. */
POSTGRES_TEST(an_upgrade_adds_what_is_missing)
{
    char text[CONTRACT_ERROR] = "";
    contract_sql(w,
                 "ALTER TABLE ergon.lives DROP COLUMN ran_by; DROP TABLE ergon.holds, ergon.actors "
                 "CASCADE;"
                 "ALTER TABLE ergon.owner DROP COLUMN last_fence;"
                 "UPDATE ergon.cluster SET version = 0, protocol_min = 0");
    assert_int_equal(w->admin->upgrade(w->url, UPGRADE_CHECK, NULL, text, sizeof text), 0);
    expect_wrong(w, w->url, "run 'ergon cluster upgrade URL'");
    assert_int_equal(w->admin->upgrade(w->url, UPGRADE_ADD, NULL, text, sizeof text), 0);
    assert_string_equal(text, "the schema is of version 3, and nodes from version 0 on may use it");
    contract_sql(
        w,
        "SELECT ran_by FROM ergon.lives, ergon.holds, ergon.actors, ergon.owner WHERE last_fence = "
        "0");
    assert_int_equal(w->admin->upgrade(w->url, UPGRADE_FINISH, NULL, text, sizeof text), 0);
    assert_string_equal(text, "the schema is of version 3, and nodes from version 3 on may use it");
    contract_sql(w, "SELECT 1 / (version * protocol_min) FROM ergon.cluster");
}

/* --- PostgreSQL: hosts that are silent --- */

static struct sockaddr_un silent = {.sun_family = AF_UNIX};
/* Of this thread: the clock leaps over what it would wait for such a host. */
static _Thread_local ao_time leapt;

static bool is_silent(int fd)
{
    struct sockaddr_un peer = {0};
    socklen_t len = sizeof peer;
    return silent.sun_path[0] && getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
           strcmp(peer.sun_path, silent.sun_path) == 0;
}

/* These two are libc's, for the driver, too. */
__attribute__((visibility("default"))) int leap_ppoll(const struct pollfd *fds, nfds_t count,
                                                      const struct timespec *timeout,
                                                      const sigset_t *mask) __asm__("ppoll");
__attribute__((visibility("default"))) int
leap_gettime(clockid_t id, struct timespec *at) __asm__("clock_gettime");

int leap_ppoll(const struct pollfd *fds, nfds_t count, const struct timespec *timeout,
               const sigset_t *mask)
{
    struct timespec left = timeout ? *timeout : (struct timespec){0};
    if (timeout && count > 0 && is_silent(fds[0].fd)) {
        leapt += AO_S((ao_time)left.tv_sec) + (ao_time)left.tv_nsec;
        return 0;
    }
    return (int)syscall(SYS_ppoll, fds, count, timeout ? &left : NULL, mask, _NSIG / 8);
}

int leap_gettime(clockid_t id, struct timespec *at)
{
    int rc = (int)syscall(SYS_clock_gettime, id, at);
    ao_time ns = (ao_time)at->tv_nsec + (id == CLOCK_MONOTONIC ? leapt : 0);
    at->tv_sec += (time_t)(ns / AO_S(1));
    at->tv_nsec = (long)(ns % AO_S(1));
    return rc;
}

/* A socket as PostgreSQL has it, in the world's folder, and a URL of four such and the server. */
static int listen_silently(struct contract_world *w, const char *direct)
{
    const char *folder = w->store.folder, *host = strstr(direct, "host="),
               *port = strstr(direct, "port=");
    assert_true(host && port);
    host += strlen("host=");
    snprintf(w->text, sizeof w->text, "%.*s%s,%s,%s,%s,%s", (int)(host - direct), direct, folder,
             folder, folder, folder, host);
    snprintf(silent.sun_path, sizeof silent.sun_path, "%s/.s.PGSQL.%d", folder,
             atoi(port + strlen("port=")));
    int fd = listen_at(silent.sun_path);
    return fd;
}

/* To connect may take longer than a call may: then its statements still have some seconds. */
POSTGRES_TEST(a_node_joins_behind_many_silent_hosts)
{
    char error[CONTRACT_ERROR] = "";
    struct engine_view *view = calloc(1, sizeof *view);
    int fd = listen_silently(w, getenv("ERGON_TEST_PG_URL"));
    void *member = w->engine->open(&(struct engine_setup){.where = w->text,
                                                          .cluster = "ergon",
                                                          .node = "b",
                                                          .incarnation = 1,
                                                          .address = "",
                                                          .version = "1"},
                                   error, sizeof error);
    enum engine_result result = w->engine->join(member, view, error, sizeof error);
    assert_true(leapt > 0);
    leapt = 0;
    silent.sun_path[0] = '\0';
    assert_string_equal(error, "");
    assert_int_equal(result, ENGINE_DONE);
    w->engine->close(member);
    free(view);
    close(fd);
}
