/* The connection to PostgreSQL breaks at each boundary of messages of a batch, and behind the
 * commit before its answer, while the server's side ends with it or runs on: what was acknowledged
 * is there, once, and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/contract_world.h"

static int make(void **state)
{
    const char *proxy = getenv("ERGON_TEST_PG_PROXY_URL");
    *state = NULL;
    if (!proxy || !*proxy)
        return 0;
    setenv("ERGON_TEST_PG_STORE_URL", proxy, 1);
    return contract_make_postgres(state);
}

#define CUT_TEST(name)                                                                             \
    static void cut_##name(struct contract_world *w);                                              \
    TEST_OF(struct contract_world *w, NULL, make, contract_remove, name)                           \
    {                                                                                              \
        if (!w)                                                                                    \
            skip();                                                                                \
        cut_##name(w);                                                                             \
    }                                                                                              \
    static void cut_##name(struct contract_world *w)

/* --- One operation, hence one batch: the next that the proxy sees --- */

enum kind { PUT, CHANGE, REMOVE, KINDS };
static uint64_t id;        /* of the task */
static uint32_t submitted; /* and so many are done, but for the last */

static struct store_op *put(void)
{
    struct store_op *op = client_put(++id, "echo");
    op->task.has_options = true;
    op->task.key = span_text("k");
    op->task.due_at = 1;
    submitted++;
    return op;
}

static struct store_op *change(void)
{
    struct store_op *op = client_op(STORE_CHANGE);
    op->task.id = id;
    op->task.state = CLIENT_DONE;
    op->task.error_text = span_text("k");
    op->task.anew = op->task.settled = op->task.has_options = true;
    op->add.done = 1;
    return op;
}

static struct store_op *removal(void)
{
    struct store_op *op = client_op(STORE_REMOVE);
    op->task.id = id;
    return op;
}

static struct store_op *(*const make_op[KINDS])(void) = {put, change, removal};
static const char *const rows_after[KINDS] = {"1|1|queued|", "1|1|done|", "0|0||"};

static void expect_rows(struct contract_world *w, enum kind kind)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%s%u|%u\n", rows_after[kind], submitted,
             submitted - (kind == PUT));
    assert_string_equal(contract_sql(w, "SELECT count(s.id), count(o.id), min(l.state), "
                                        "(SELECT submitted FROM ergon.owner), "
                                        "(SELECT done FROM ergon.owner) FROM ergon.submissions s "
                                        "FULL JOIN ergon.options o USING (id) "
                                        "FULL JOIN ergon.lives l USING (id)"),
                        expected);
}

static void finish(struct contract_world *w, enum kind kind)
{
    contract_wait(w);
    assert_int_equal(w->store.client.last, STORE_OK);
    assert_int_equal(w->wrong, 0);
    expect_rows(w, kind);
}

static void go(struct contract_world *w, enum kind kind)
{
    contract_push(w, make_op[kind]());
    finish(w, kind);
}

/* So many boundaries has a side of the last batch: its letters are "ok FRONTEND BACKEND". */
static unsigned boundaries(struct contract_world *w, bool backend)
{
    const char *letters = strchr(contract_order(w, "batch"), ' ') + 1;
    size_t frontend = strcspn(letters, " ");
    return (unsigned)(backend ? strlen(letters + frontend + 1) : frontend);
}

static void cut_at(struct contract_world *w, enum kind kind, bool backend, unsigned at,
                   const char *how)
{
    char order[64];
    snprintf(order, sizeof order, "cut %s %u %s", backend ? "backend" : "frontend", at, how);
    contract_order(w, order);
    contract_push(w, make_op[kind]());
    for (int n = 0; n < 20; n++) /* until it is handed over */
        client_poll(&w->store.client);
    contract_order(w, "reached");
    contract_order(w, "release");
    finish(w, kind);
}

static void cut_everywhere(struct contract_world *w, bool backend, const char *how)
{
    unsigned most[KINDS], at = 0, left = 1;
    submitted = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        go(w, (enum kind)kind);
        most[kind] = boundaries(w, backend);
        assert_in_range(most[kind], 10, 100);
    }
    for (; left > 0; at++) {
        left = 0;
        for (int kind = 0; kind < KINDS; kind++) {
            if (at < most[kind])
                cut_at(w, (enum kind)kind, backend, at, how);
            else
                go(w, (enum kind)kind);
            left += at + 1 < most[kind];
        }
    }
}

/* Nobody learns any more that it was committed, since another node owns the tasks by then. */
CUT_TEST(what_a_deposed_owner_had_sent_is_open)
{
    submitted = 0;
    go(w, PUT);
    contract_order(w, "cut backend 0 none committed");
    contract_push(w, put());
    for (int n = 0; n < 20; n++) /* until it is handed over */
        client_poll(&w->store.client);
    contract_order(w, "reached");
    contract_order(w, "answered");
    contract_depose(w, "b");
    contract_order(w, "release");
    contract_wait(w);
    assert_int_equal(w->store.client.last, STORE_UNSURE);
    assert_string_equal(contract_sql(w, "SELECT count(*) FROM ergon.submissions"), "2\n");
    assert_int_equal(contract_do(w, put()), STORE_FENCED);
}

CUT_TEST(both_ends_at_each_request)
{
    cut_everywhere(w, false, "both");
}

CUT_TEST(the_clients_end_at_each_request)
{
    cut_everywhere(w, false, "client");
}

CUT_TEST(both_ends_at_each_answer)
{
    cut_everywhere(w, true, "both");
}

CUT_TEST(the_clients_end_at_each_answer)
{
    cut_everywhere(w, true, "client");
}

CUT_TEST(behind_the_commit_before_its_answer)
{
    cut_everywhere(w, true, "client committed");
}
