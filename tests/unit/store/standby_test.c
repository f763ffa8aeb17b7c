/* Commits on PostgreSQL wait for a standby: nothing is acknowledged that none has confirmed. */
#include <unistd.h>

#include "tests/support/contract_world.h"

static void put_many(struct contract_world *w, uint64_t from, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        contract_push(w, client_put(from + n, "echo"));
}

POSTGRES_TEST(a_commit_waits_for_its_standby)
{
    contract_freeze(w);
    put_many(w, 1, 10);
    while (!contract_pending(w))
        ;
    contract_until(w, CONTRACT_WAITING, "1\n");
    assert_true(contract_pending(w));
    assert_int_equal(w->good, 0);
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->good, 10);
    contract_expect_rows(w, 10);
}

/* People are told while it waits, and it goes on by itself. */
POSTGRES_TEST(a_server_that_is_silent)
{
    contract_freeze(w);
    contract_push(w, client_put(1, "echo"));
    for (struct store_info info = {0}; info.error != STORE_AWAY;) {
        assert_true(contract_pending(w));
        store_info(w->store.client.store, &info);
        usleep(1000);
    }
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->good, 1);
    struct store_info info;
    store_info(w->store.client.store, &info);
    assert_int_equal(info.error, STORE_OK);
}

/* A commit that stands on the primary alone is not acknowledged. */
POSTGRES_TEST(a_cancelled_wait_is_settled)
{
    contract_freeze(w);
    put_many(w, 1, 10);
    client_poll(&w->store.client);
    for (int n = 0; n < 3; n++) {
        contract_until(w, CONTRACT_WAITING, "1\n");
        contract_sql(w, CONTRACT_CANCEL_WAIT);
        assert_true(contract_pending(w));
    }
    assert_int_equal(w->good, 0);
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->good, 10);
    contract_expect_rows(w, 10);
}

static void push_replicated(struct contract_world *w)
{
    struct store_op *op = client_put(1, "echo");
    op->task.durable = 3;
    contract_order(w, "set fsync on"); /* else nothing counts as replicated */
    contract_until(w, "SELECT current_setting('fsync')", "on\n");
    contract_freeze(w);
    contract_push(w, op);
    client_poll(&w->store.client);
    contract_until(w, CONTRACT_WAITING, "1\n");
}

/* PostgreSQL ends the waits without a word then. */
static void expect_held_without_standbys(struct contract_world *w)
{
    struct store_info info = {0};
    contract_sql(w, "ALTER SYSTEM SET synchronous_standby_names = ''");
    contract_sql(w, "SELECT pg_reload_conf()");
    contract_until(w, CONTRACT_WAITING, "0\n");
    for (; info.error != STORE_AWAY; usleep(1000)) {
        assert_true(contract_pending(w));
        store_info(w->store.client.store, &info);
    }
    assert_int_equal(w->good, 0);
    contract_expect_rows(w, 1);
    contract_sql(w, "ALTER SYSTEM RESET synchronous_standby_names");
    contract_sql(w, "SELECT pg_reload_conf()");
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->good, 1);
    store_info(w->store.client.store, &info);
    assert_int_equal(info.error, STORE_OK);
    contract_order(w, "set fsync off");
}

POSTGRES_TEST(a_standby_that_is_not_configured_any_more_confirms_nothing)
{
    push_replicated(w);
    contract_sql(w, "SELECT pg_sleep(1)"); /* a wait that the driver doubts */
    expect_held_without_standbys(w);
}

POSTGRES_TEST(nor_does_it_settle_anything)
{
    push_replicated(w);
    contract_sql(w, CONTRACT_CANCEL_WAIT);
    contract_until(w, CONTRACT_SETTLES, "1\n");
    expect_held_without_standbys(w);
}

/* A look more, and no harm. */
POSTGRES_TEST(a_standby_that_is_slow_confirms)
{
    push_replicated(w);
    contract_sql(w, "SELECT pg_sleep(1)");
    assert_string_equal(contract_sql(w, "SELECT session FROM ergon.owner"), "1\n");
    contract_thaw(w);
    contract_wait(w);
    assert_int_equal(w->good, 1);
    assert_string_equal(contract_sql(w, "SELECT session FROM ergon.owner"), "2\n");
    contract_order(w, "set fsync off");
}
