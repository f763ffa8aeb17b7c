/* The primary of PostgreSQL freezes, with batches under way, and a standby takes its place: the
 * store goes on there by itself, and what was acknowledged is there once. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/contract_world.h"

enum { EACH = 500 };

static int make(void **state)
{
    const char *url = getenv("ERGON_TEST_PG_CLUSTER_URL");
    if (url)
        setenv("ERGON_TEST_PG_STORE_URL", url, 1);
    return contract_make_postgres(state);
}

static void push(struct contract_world *w)
{
    static uint64_t id;
    for (uint32_t n = 0; n < EACH; n++)
        contract_push(w, client_put(++id, "echo"));
    client_poll(&w->store.client);
}

TEST_OF(struct contract_world *w, NULL, make, contract_remove, the_primary_freezes)
{
    if (!w)
        skip();
    push(w);
    contract_wait(w);
    contract_order(w, "freeze a");
    push(w);
    contract_order(w, "promote standby");
    contract_wait(w);
    contract_order(w, "kill a");
    push(w);
    contract_wait(w);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->good, 3 * EACH);
    setenv("ERGON_TEST_PG_ADMIN_URL", w->url, 1); /* the former primary's */
    assert_string_equal(contract_sql(w, "SELECT count(*), (SELECT submitted FROM ergon.owner) "
                                        "FROM ergon.submissions"),
                        "1500|1500\n");
}
