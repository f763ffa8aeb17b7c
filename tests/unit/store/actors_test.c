/* What the store does for actors: groups of operations that happen all or not at all, and rows that
 * are read by their key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/chunk.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_expect.h"
#include "tests/support/store_world.h"

enum { TEXT = 1024 };

/* --- Operations --- */

static struct store_op *actor(enum store_kind kind, const char *type, const char *key,
                              const char *state)
{
    struct store_op *op = client_row(kind, &store_actors);
    const struct store_actor a = {.type = span_text(type),
                                  .key = span_text(key),
                                  .version = *state ? 3 : 0,
                                  .schema = 2,
                                  .state = span_text(state)};
    memcpy(op->row, &a, sizeof a);
    return op;
}

static struct store_op *put_actor(const char *key, const char *state)
{
    return actor(STORE_ROW_PUT, "cart", key, state);
}

static struct store_op *change(uint64_t id)
{
    struct store_op *op = client_op(STORE_CHANGE);
    op->task.id = id;
    op->task.state = CLIENT_DONE;
    op->add.done = 1;
    return op;
}

static struct store_op *event(uint64_t id)
{
    struct store_op *op = client_op(STORE_EVENT);
    op->event = (struct store_event){.id = id, .seq = 1, .at = 7, .what = span_text("x")};
    return op;
}

static struct store_op *removal(uint64_t id)
{
    struct store_op *op = client_op(STORE_REMOVE);
    op->task.id = id;
    return op;
}

/* Members are linked in front of one another, NULL is the last; they are freed when the group is
 * back, by see(). */
static struct store_op *group(struct store_op *const *members)
{
    struct store_op *op = client_op(STORE_GROUP), **link = &op->group.first;
    for (; *members; members++) {
        *link = *members;
        link = &(*members)->next;
        op->group.count++;
    }
    return op;
}

#define GROUP(...) group((struct store_op *const[]){__VA_ARGS__, NULL})

/* --- What came back --- */

struct seen {
    char outcomes[64]; /* a letter each; of a group the members' follow in brackets */
    char text[TEXT];   /* rows that were read */
};

static void __attribute__((format(printf, 2, 3))) say(struct seen *seen, const char *format, ...)
{
    size_t len = strlen(seen->text);
    va_list args;
    va_start(args, format);
    vsnprintf(seen->text + len, sizeof seen->text - len, format, args);
    va_end(args);
}

static bool see_actor(void *arg, const struct store_table *table, const void *row)
{
    const struct store_actor *a = row;
    assert_ptr_equal(table, &store_actors);
    say(arg, "%.*s/%.*s of '%.*s' %llu.%u '%.*s' %.*s\n", (int)a->type.len,
        (const char *)a->type.at, (int)a->key.len, (const char *)a->key.at, (int)a->tenant.len,
        (const char *)a->tenant.at, (unsigned long long)a->version, a->schema, (int)a->stopped.len,
        (const char *)a->stopped.at, (int)a->state.len, (const char *)a->state.at);
    return true;
}

static char letter(enum store_error e)
{
    return e == STORE_OK ? '.' : e == STORE_REFUSED ? 'R' : e == STORE_FOLLOWS ? 'F' : '?';
}

static void note(char *outcomes, char c)
{
    size_t len = strlen(outcomes);
    assert_true(len + 1 < sizeof((struct seen *)0)->outcomes);
    outcomes[len] = c;
    outcomes[len + 1] = '\0';
}

static void see_page(struct seen *seen, struct store_op *op)
{
    const struct store_reader reader = {.arg = seen, .row = see_actor};
    char error[TEXT];
    say(seen, "page\n");
    assert_int_equal(store_chunk_read(op->chunk, &reader, UINT32_MAX, error, sizeof error), 0);
    store_chunk_free(op->chunk);
}

static void see(struct store_client *c, struct store_op *op)
{
    struct seen *seen = c->arg;
    note(seen->outcomes, letter(op->error));
    if (op->kind == STORE_ROW_GET) {
        if (op->error == STORE_OK && op->found)
            see_actor(seen, op->table, op->row);
        else
            say(seen, "none\n");
        free(op->bytes);
    }
    if (op->kind == STORE_ROW_PAGE)
        see_page(seen, op);
    if (op->kind != STORE_GROUP)
        return;
    note(seen->outcomes, '(');
    for (struct store_op *m = op->group.first, *next; m; m = next) {
        next = m->next;
        note(seen->outcomes, letter(m->error));
        free(m);
    }
    note(seen->outcomes, ')');
}

static void open_world(struct store_world *w, struct seen *seen)
{
    *seen = (struct seen){0};
    store_world_open(w);
    w->client.returned = see;
    w->client.arg = seen;
}

/* All are one batch: they are gathered until the loop is idle. */
static void push_all(struct store_world *w, struct store_op *const *ops)
{
    for (; *ops; ops++)
        client_push(&w->client, *ops);
    client_wait(&w->client);
}

#define PUSH(w, ...) push_all(w, (struct store_op *const[]){__VA_ARGS__, NULL})

static void rows_are(struct store_world *w, const char *expected)
{
    char out[TEXT];
    assert_string_equal(store_sql(w->path,
                                  "SELECT 'task', submissions.id, state, actor FROM submissions "
                                  "LEFT JOIN lives USING (id) UNION ALL "
                                  "SELECT 'event', task, what, NULL FROM events UNION ALL "
                                  "SELECT * FROM (SELECT actor, tenant, version, CAST(state AS "
                                  "TEXT) FROM actor_states ORDER BY actor)",
                                  out, sizeof out),
                        expected);
}

/* --- Groups --- */

STORE_TEST(a_group_happens_whole)
{
    struct seen seen;
    struct store_op *message = client_put(1, "cart.add");
    message->task.actor = span_text("cart/1");
    open_world(w, &seen);
    PUSH(w, GROUP(message, event(1)), GROUP(change(1), put_actor("1", "new"), client_put(2, "m")),
         GROUP(removal(2), actor(STORE_ROW_REMOVE, "cart", "2", "")));
    assert_string_equal(seen.outcomes, ".(..).(...).(..)");
    client_close(&w->client);
    rows_are(w, "task|1|done|cart/1\nevent|1|x|-\ncart/1|-|3|new\n");
    store_expect(w->path, "counts 2 1 0 0 0 0\n"
                          "task 1 done method=cart.add actor=cart/1 created=1000000001 durable=2\n"
                          "event 1.1 at=7 what=x\n");
}

/* The member that fails may be any, and what is around the group in its batch happens. */
STORE_TEST(a_group_with_a_member_that_fails_changes_nothing)
{
    struct seen seen;
    open_world(w, &seen);
    PUSH(w, client_put(1, "m"), put_actor("1", "old"));
    seen.outcomes[0] = '\0';
    PUSH(w, change(8), client_put(2, "m"),
         GROUP(put_actor("1", "bad"), client_put(3, "m"), change(9)),
         GROUP(change(9), put_actor("2", "bad")), change(1), GROUP(client_put(1, "m")),
         GROUP(client_put(4, "m"), put_actor("3", "good")), change(9), put_actor("", "no key"),
         GROUP(put_actor("4", "bad"), put_actor("", "no key")));
    assert_string_equal(seen.outcomes, "R.R(RRR)R(RR).R(R).(..)RRR(RR)");
    client_close(&w->client);
    rows_are(w, "task|1|done|-\ntask|2|-|-\ntask|4|-|-\ncart/1|-|3|old\ncart/3|-|3|good\n");
    char out[TEXT];
    assert_string_equal(
        store_sql(w->path, "SELECT submitted, done, last_id FROM counters", out, sizeof out),
        "3|1|4\n");
}

static struct store_op *following(struct store_op *op)
{
    op->group.follows = true;
    return op;
}

/* Also where it is pushed after the refusal, as long as its client has not taken that. */
STORE_TEST(a_group_is_not_written_without_one_that_it_follows)
{
    struct seen seen;
    open_world(w, &seen);
    PUSH(w, client_put(1, "m"));
    seen.outcomes[0] = '\0';
    PUSH(w, GROUP(put_actor("1", "a")), following(GROUP(put_actor("1", "b"))),
         GROUP(put_actor("1", "bad"), change(9)), following(GROUP(put_actor("1", "bad"))),
         GROUP(put_actor("2", "c")), following(GROUP(change(9))));
    assert_string_equal(seen.outcomes, ".(.).(.)R(RR)F(F).(.)F(F)");
    rows_are(w, "task|1|-|-\ncart/1|-|3|b\ncart/2|-|3|c\n");
    seen.outcomes[0] = '\0';
    PUSH(w, following(GROUP(put_actor("1", "d"))), following(GROUP(put_actor("2", "e"))));
    assert_string_equal(seen.outcomes, ".(.).(.)"); /* the client has taken all that failed */
    client_close(&w->client);
    rows_are(w, "task|1|-|-\ncart/1|-|3|d\ncart/2|-|3|e\n");
}

/* A task's rows are three; more tasks than are put at a time. */
STORE_TEST(a_large_group_happens_whole_or_not_at_all)
{
    enum { MANY = 200 };
    struct seen seen;
    struct store_op *members[MANY + 2] = {NULL}, *others[MANY + 2] = {NULL};
    open_world(w, &seen);
    for (uint64_t n = 0; n < MANY; n++) {
        members[n] = client_put(1 + n, "m");
        members[n]->task.has_options = n % 2;
        members[n]->task.due_at = n % 3;
        others[n] = client_put(1001 + n, "m");
        others[n]->task.has_options = true;
        others[n]->task.due_at = 1;
    }
    others[MANY] = client_put(150, "m");
    w->client.returned = NULL;
    struct store_op *whole = group(members), *none = group(others);
    assert_int_equal(client_do(&w->client, whole), STORE_OK);
    assert_int_equal(client_do(&w->client, none), STORE_REFUSED);
    for (uint32_t n = 0; n <= MANY; n++) {
        assert_true(n == MANY || members[n]->error == STORE_OK);
        assert_int_equal(others[n]->error, STORE_REFUSED);
        free(members[n]);
        free(others[n]);
    }
    client_close(&w->client);
    char out[TEXT];
    assert_string_equal(store_sql(w->path,
                                  "SELECT count(*), (SELECT count(*) FROM options), (SELECT "
                                  "count(*) FROM lives), (SELECT submitted FROM counters), "
                                  "(SELECT last_id FROM counters) FROM submissions",
                                  out, sizeof out),
                        "200|100|133|200|200\n");
}

/* --- Rows by their key --- */

STORE_TEST(a_row_is_read_by_its_key)
{
    struct seen seen;
    struct store_op *stopped = put_actor("2", "");
    struct store_actor *a = (struct store_actor *)stopped->row;
    a->tenant = span_text("acme");
    a->stopped = span_text("why");
    a->version = UINT64_MAX;
    struct store_op *get = put_actor("2", "");
    get->kind = STORE_ROW_GET;
    ((struct store_actor *)get->row)->tenant = span_text("acme");
    open_world(w, &seen);
    PUSH(w, put_actor("1", "a"), actor(STORE_ROW_GET, "cart", "1", ""), put_actor("1", "b"),
         actor(STORE_ROW_GET, "cart", "1", ""), stopped, get, actor(STORE_ROW_GET, "cart", "2", ""),
         actor(STORE_ROW_REMOVE, "cart", "1", ""), actor(STORE_ROW_GET, "cart", "1", ""));
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' a\n"
                                   "cart/1 of '' 3.2 '' b\n"
                                   "cart/2 of 'acme' 18446744073709551615.2 'why' \n"
                                   "none\nnone\n");
    client_close(&w->client);
}

/* A batch that has to be applied again reads again, by the key that was asked for. */
STORE_TEST(a_row_is_read_again_when_a_group_behind_it_fails)
{
    struct seen seen;
    struct store_op *page = actor(STORE_ROW_PAGE, "", "", "");
    page->limit = 10;
    open_world(w, &seen);
    PUSH(w, put_actor("1", "a"), actor(STORE_ROW_GET, "cart", "1", ""), page,
         GROUP(put_actor("1", "b"), change(9)), actor(STORE_ROW_GET, "cart", "1", ""));
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' a\npage\ncart/1 of '' 3.2 '' \n"
                                   "cart/1 of '' 3.2 '' a\n");
    client_close(&w->client);
}

STORE_TEST(reads_alone_commit_nothing)
{
    struct seen seen;
    open_world(w, &seen);
    PUSH(w, put_actor("1", "a"));
    PUSH(w, actor(STORE_ROW_GET, "cart", "1", ""), actor(STORE_ROW_GET, "cart", "2", ""));
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' a\nnone\n");
    client_close(&w->client);
    char out[TEXT];
    assert_string_equal(store_sql(w->path, "SELECT commits FROM counters", out, sizeof out), "1\n");
}

STORE_TEST(pages_are_in_order)
{
    static const char *const names[][3] = {{"b", "1", ""}, {"a", "2", ""},   {"a", "1", "t"},
                                           {"a", "1", ""}, {"a.b", "0", ""}, {"a", "10", "t"}};
    struct seen seen;
    open_world(w, &seen);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct store_op *put = actor(STORE_ROW_PUT, names[n][0], names[n][1], "x");
        ((struct store_actor *)put->row)->tenant = span_text(names[n][2]);
        client_push(&w->client, put);
    }
    struct store_op *first = actor(STORE_ROW_PAGE, "", "", ""),
                    *second = actor(STORE_ROW_PAGE, "a", "10", ""),
                    *last = actor(STORE_ROW_PAGE, "c", "", "");
    ((struct store_actor *)second->row)->tenant = span_text("t");
    first->limit = 3;
    second->limit = last->limit = 100;
    PUSH(w, first, second, last);
    assert_string_equal(seen.text, "page\na/1 of '' 3.2 '' \na/1 of 't' 3.2 '' \n"
                                   "a/10 of 't' 3.2 '' \n"
                                   "page\na/10 of 't' 3.2 '' \na/2 of '' 3.2 '' \n"
                                   "a.b/0 of '' 3.2 '' \nb/1 of '' 3.2 '' \npage\n");
    client_close(&w->client);
}

STORE_TEST(a_row_that_cannot_be_is_refused_alone)
{
    struct seen seen;
    char out[TEXT];
    open_world(w, &seen);
    PUSH(w, put_actor("1", "a"), put_actor("2", "b"));
    client_close(&w->client);
    store_sql(w->path, "UPDATE turns SET version = 'many' WHERE key = '1'", out, sizeof out);
    open_world(w, &seen);
    PUSH(w, actor(STORE_ROW_GET, "cart", "1", ""), actor(STORE_ROW_GET, "cart", "2", ""));
    assert_string_equal(seen.outcomes, "R.");
    assert_string_equal(seen.text, "none\ncart/2 of '' 3.2 '' b\n");
    client_close(&w->client);
}

/* A page is found by its key, and not by sorting the table. */
STORE_TEST(a_page_needs_no_sort)
{
    char out[TEXT];
    store_world_open(w);
    client_close(&w->client);
    store_sql(w->path,
              "EXPLAIN QUERY PLAN SELECT type FROM actors WHERE (type, key, tenant) >= (ifnull(?1, "
              "''), ifnull(?2, ''), ifnull(?3, '')) ORDER BY type, key, tenant LIMIT ?4",
              out, sizeof out);
    assert_non_null(strstr(out, "SEARCH actors USING PRIMARY KEY ((type,key,tenant)>(?,?,?))"));
    assert_null(strstr(out, "TEMP B-TREE"));
}
