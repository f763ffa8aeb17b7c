/* Each driver of the store keeps actors as store.h says: groups of operations happen all or not at
 * all, and rows are read by their key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/store/chunk.h"
#include "tests/support/contract_world.h"

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
    return e == STORE_OK        ? '.'
           : e == STORE_REFUSED ? 'R'
           : e == STORE_FOLLOWS ? 'F'
           : e == STORE_AWAY    ? 'A'
                                : '?';
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

static void watch(struct contract_world *w, struct seen *seen)
{
    *seen = (struct seen){0};
    w->store.client.returned = see;
    w->store.client.arg = seen;
}

/* All are one batch: they are gathered until the loop is idle. */
static void push_all(struct contract_world *w, struct store_op *const *ops)
{
    for (; *ops; ops++)
        client_push(&w->store.client, *ops);
    client_wait(&w->store.client);
}

#define PUSH(w, ...) push_all(w, (struct store_op *const[]){__VA_ARGS__, NULL})

static const char *ask(struct contract_world *w, const char *sqlite, const char *postgres)
{
    static char out[TEXT];
    if (w->postgres)
        return contract_sql(w, postgres);
    return store_sql(w->store.path, sqlite, out, sizeof out);
}

static void rows_are(struct contract_world *w, const char *expected)
{
    assert_string_equal(
        ask(w,
            "SELECT 'task', submissions.id, ifnull(state, ''), ifnull(actor, '') FROM submissions "
            "LEFT JOIN lives USING (id) UNION ALL "
            "SELECT 'event', task, what, '' FROM events UNION ALL "
            "SELECT * FROM (SELECT actor, ifnull(tenant, ''), version, CAST(state AS TEXT) "
            "FROM actor_states ORDER BY actor)",
            "SELECT 'task', s.id::text, coalesce(state, ''), coalesce(actor, '') "
            "FROM ergon.submissions s LEFT JOIN ergon.lives l ON l.id = s.id UNION ALL "
            "SELECT 'event', task::text, what, '' FROM ergon.events UNION ALL "
            "SELECT * FROM (SELECT type || '/' || key, tenant, version::text, "
            "convert_from(state, 'UTF8') FROM ergon.actors ORDER BY type, key) a"),
        expected);
}

/* --- Groups --- */

CONTRACT_TEST(a_group_happens_whole)
{
    struct seen seen;
    struct store_op *message = client_put(1, "cart.add");
    message->task.actor = span_text("cart/1");
    watch(w, &seen);
    PUSH(w, GROUP(message, event(1)), GROUP(change(1), put_actor("1", "new"), client_put(2, "m")),
         GROUP(removal(2), actor(STORE_ROW_REMOVE, "cart", "2", "")));
    assert_string_equal(seen.outcomes, ".(..).(...).(..)");
    rows_are(w, "task|1|done|cart/1\nevent|1|x|\ncart/1||3|new\n");
    assert_string_equal(
        ask(w, "SELECT submitted, done FROM counters", "SELECT submitted, done FROM ergon.owner"),
        "2|1\n");
}

/* The member that fails may be any, and what is around the group in its batch happens. */
CONTRACT_TEST(a_group_with_a_member_that_fails_changes_nothing)
{
    struct seen seen;
    watch(w, &seen);
    PUSH(w, client_put(1, "m"), put_actor("1", "old"));
    seen.outcomes[0] = '\0';
    PUSH(w, change(8), client_put(2, "m"),
         GROUP(put_actor("1", "bad"), client_put(3, "m"), change(9)),
         GROUP(change(9), put_actor("2", "bad")), change(1), GROUP(client_put(1, "m")),
         GROUP(client_put(4, "m"), put_actor("3", "good")), change(9), put_actor("", "no key"),
         GROUP(put_actor("4", "bad"), put_actor("", "no key")));
    assert_string_equal(seen.outcomes, "R.R(RRR)R(RR).R(R).(..)RRR(RR)");
    rows_are(w, "task|1|done|\ntask|2||\ntask|4||\ncart/1||3|old\ncart/3||3|good\n");
    assert_string_equal(ask(w, "SELECT submitted, done, last_id FROM counters",
                            "SELECT submitted, done, last_id FROM ergon.owner"),
                        "3|1|4\n");
}

static struct store_op *following(struct store_op *op)
{
    op->group.follows = true;
    return op;
}

/* Also where it is pushed after the refusal, as long as its client has not taken that. */
CONTRACT_TEST(a_group_is_not_written_without_one_that_it_follows)
{
    struct seen seen;
    watch(w, &seen);
    PUSH(w, client_put(1, "m"));
    seen.outcomes[0] = '\0';
    PUSH(w, GROUP(put_actor("1", "a")), following(GROUP(put_actor("1", "b"))),
         GROUP(put_actor("1", "bad"), change(9)), following(GROUP(put_actor("1", "bad"))),
         GROUP(put_actor("2", "c")), following(GROUP(change(9))));
    assert_string_equal(seen.outcomes, ".(.).(.)R(RR)F(F).(.)F(F)");
    rows_are(w, "task|1||\ncart/1||3|b\ncart/2||3|c\n");
    seen.outcomes[0] = '\0';
    PUSH(w, following(GROUP(put_actor("1", "d"))), following(GROUP(put_actor("2", "e"))));
    assert_string_equal(seen.outcomes, ".(.).(.)"); /* the client has taken all that failed */
    rows_are(w, "task|1||\ncart/1||3|d\ncart/2||3|e\n");
    seen.outcomes[0] = '\0';
    PUSH(w, client_put(2, "m"), change(9), client_put(3, "m"));
    assert_string_equal(seen.outcomes, ".R."); /* what is refused is found in the next batch, too */
}

/* A task's rows are three; more tasks than are put at a time. */
CONTRACT_TEST(a_large_group_happens_whole_or_not_at_all)
{
    enum { MANY = 200 };
    struct seen seen;
    struct store_op *members[MANY + 2] = {NULL}, *others[MANY + 2] = {NULL};
    watch(w, &seen);
    for (uint64_t n = 0; n < MANY; n++) {
        members[n] = client_put(1 + n, "m");
        members[n]->task.has_options = n % 2;
        members[n]->task.due_at = n % 3;
        others[n] = client_put(1001 + n, "m");
        others[n]->task.has_options = true;
        others[n]->task.due_at = 1;
    }
    others[MANY] = client_put(150, "m");
    w->store.client.returned = NULL;
    struct store_op *whole = group(members), *none = group(others);
    assert_int_equal(client_do(&w->store.client, whole), STORE_OK);
    assert_int_equal(client_do(&w->store.client, none), STORE_REFUSED);
    for (uint32_t n = 0; n <= MANY; n++) {
        assert_true(n == MANY || members[n]->error == STORE_OK);
        assert_int_equal(others[n]->error, STORE_REFUSED);
        free(members[n]);
        free(others[n]);
    }
    assert_string_equal(
        ask(w,
            "SELECT count(*), (SELECT count(*) FROM options), (SELECT count(*) FROM lives), "
            "(SELECT submitted FROM counters), (SELECT last_id FROM counters) FROM submissions",
            "SELECT count(*), (SELECT count(*) FROM ergon.options), (SELECT count(*) FROM "
            "ergon.lives), (SELECT submitted FROM ergon.owner), (SELECT last_id FROM ergon.owner) "
            "FROM ergon.submissions"),
        "200|100|133|200|200\n");
}

/* --- Rows by their key --- */

CONTRACT_TEST(a_row_is_read_by_its_key)
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
    watch(w, &seen);
    PUSH(w, put_actor("1", "a"), actor(STORE_ROW_GET, "cart", "1", ""), put_actor("1", "b"),
         actor(STORE_ROW_GET, "cart", "1", ""), stopped, get, actor(STORE_ROW_GET, "cart", "2", ""),
         actor(STORE_ROW_REMOVE, "cart", "1", ""), actor(STORE_ROW_GET, "cart", "1", ""));
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' a\n"
                                   "cart/1 of '' 3.2 '' b\n"
                                   "cart/2 of 'acme' 18446744073709551615.2 'why' \n"
                                   "none\nnone\n");
}

/* A batch that has to be applied again reads again, by the key that was asked for. */
CONTRACT_TEST(a_row_is_read_again_when_a_group_behind_it_fails)
{
    struct seen seen;
    struct store_op *page = actor(STORE_ROW_PAGE, "", "", "");
    page->limit = 10;
    watch(w, &seen);
    PUSH(w, put_actor("1", "a"), actor(STORE_ROW_GET, "cart", "1", ""), page,
         GROUP(put_actor("1", "b"), change(9)), actor(STORE_ROW_GET, "cart", "1", ""));
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' a\npage\ncart/1 of '' 3.2 '' \n"
                                   "cart/1 of '' 3.2 '' a\n");
}

CONTRACT_TEST(pages_are_in_order)
{
    static const char *const names[][3] = {{"b", "1", ""}, {"a", "2", ""},   {"a", "1", "t"},
                                           {"a", "1", ""}, {"a.b", "0", ""}, {"a", "10", "t"}};
    struct seen seen;
    watch(w, &seen);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct store_op *put = actor(STORE_ROW_PUT, names[n][0], names[n][1], "x");
        ((struct store_actor *)put->row)->tenant = span_text(names[n][2]);
        client_push(&w->store.client, put);
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
}

CONTRACT_TEST(a_row_that_cannot_be_is_refused_alone)
{
    struct seen seen;
    watch(w, &seen);
    PUSH(w, put_actor("1", "a"), put_actor("2", "b"));
    ask(w, "UPDATE turns SET version = 'many' WHERE key = '1'",
        "UPDATE ergon.actors SET schema = -1 WHERE key = '1'");
    seen.outcomes[0] = '\0';
    PUSH(w, actor(STORE_ROW_GET, "cart", "1", ""), actor(STORE_ROW_GET, "cart", "2", ""));
    assert_string_equal(seen.outcomes, "R.");
    assert_string_equal(seen.text, "none\ncart/2 of '' 3.2 '' b\n");
}

/* --- SQLite --- */

#define SQLITE_TEST(name)                                                                          \
    TEST_OF(struct contract_world *w, NULL, contract_make_sqlite, contract_remove, name)

SQLITE_TEST(reads_alone_commit_nothing)
{
    struct seen seen;
    watch(w, &seen);
    PUSH(w, put_actor("1", "a"));
    PUSH(w, actor(STORE_ROW_GET, "cart", "1", ""), actor(STORE_ROW_GET, "cart", "2", ""));
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' a\nnone\n");
    assert_string_equal(ask(w, "SELECT commits FROM counters", NULL), "1\n");
}

/* A page is found by its key, and not by sorting the table. */
SQLITE_TEST(a_page_needs_no_sort)
{
    const char *plan =
        ask(w,
            "EXPLAIN QUERY PLAN SELECT type FROM actors WHERE (type, key, tenant) >= (ifnull(?1, "
            "''), ifnull(?2, ''), ifnull(?3, '')) ORDER BY type, key, tenant LIMIT ?4",
            NULL);
    assert_non_null(strstr(plan, "SEARCH actors USING PRIMARY KEY ((type,key,tenant)>(?,?,?))"));
    assert_null(strstr(plan, "TEMP B-TREE"));
}

/* --- PostgreSQL --- */

/* Of several puts of an actor in a batch the last counts, and what is read between them sees those
 * before it. */
POSTGRES_TEST(many_puts_of_one_actor)
{
    static const char *const states[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    struct seen seen;
    watch(w, &seen);
    for (uint32_t n = 0; n < sizeof states / sizeof *states; n++) {
        client_push(&w->store.client, put_actor("1", states[n]));
        client_push(&w->store.client, put_actor("2", states[n]));
        if (n % 4 == 3)
            client_push(&w->store.client, actor(STORE_ROW_GET, "cart", "1", ""));
    }
    client_push(&w->store.client, actor(STORE_ROW_REMOVE, "cart", "2", ""));
    client_push(&w->store.client, actor(STORE_ROW_GET, "cart", "2", ""));
    client_push(&w->store.client, put_actor("2", "new"));
    client_wait(&w->store.client);
    assert_string_equal(seen.text, "cart/1 of '' 3.2 '' d\ncart/1 of '' 3.2 '' h\nnone\n");
    rows_are(w, "cart/1||3|i\ncart/2||3|new\n");
}

/* The writes are settled; a read has to be asked for again. */
POSTGRES_TEST(an_answer_that_is_lost_with_its_connection)
{
    static const char waiting[] = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ergon' "
                                  "AND wait_event = 'SyncRep'";
    char text[100];
    struct seen seen;
    watch(w, &seen);
    PUSH(w, put_actor("1", "old"));
    seen.outcomes[0] = '\0';
    contract_order(w, "freeze s1");
    contract_order(w, "freeze s2");
    client_push(&w->store.client, actor(STORE_ROW_GET, "cart", "1", ""));
    client_push(&w->store.client, GROUP(put_actor("1", "new")));
    contract_until(w, waiting, "1\n");
    contract_sql(w, "SELECT pid FROM pg_stat_activity WHERE usename = 'ergon' "
                    "AND wait_event = 'SyncRep'");
    int pid = atoi(w->text);
    snprintf(text, sizeof text, "SELECT pg_terminate_backend(%d)", pid);
    contract_sql(w, text);
    snprintf(text, sizeof text, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", pid);
    contract_until(w, text, "0\n"); /* else it may still answer */
    contract_order(w, "thaw s1");
    contract_order(w, "thaw s2");
    client_wait(&w->store.client);
    assert_string_equal(seen.outcomes, "A.(.)");
    rows_are(w, "cart/1||3|new\n");
}

/* Nodes of the version before would take messages for plain tasks. */
POSTGRES_TEST(actors_wait_for_the_end_of_an_upgrade)
{
    struct seen seen;
    contract_close(w);
    contract_sql(w, "UPDATE ergon.cluster SET protocol_min = 1");
    contract_open(w);
    watch(w, &seen);
    assert_false(store_keeps(w->store.client.store, STORE_KEEPS_ACTORS));
    PUSH(w, client_put(1, "m"), put_actor("1", "a"), GROUP(client_put(2, "m")),
         actor(STORE_ROW_GET, "cart", "1", ""), client_put(3, "m"));
    assert_string_equal(seen.outcomes, ".RR(R)R.");
    contract_sql(w, "UPDATE ergon.cluster SET protocol_min = 2");
    while (!store_keeps(w->store.client.store, STORE_KEEPS_ACTORS)) {
        store_look(w->store.client.store);
        usleep(1000);
    }
    seen.outcomes[0] = '\0';
    PUSH(w, GROUP(put_actor("1", "a")));
    assert_string_equal(seen.outcomes, ".(.)");
    rows_are(w, "task|1||\ntask|3||\ncart/1||3|a\n");
}
