/* The world of a test that says what any driver of the store does: a store with a client, on SQLite
 * in a file of its own or on PostgreSQL in a schema of its own.
 *
 * PostgreSQL is the one of tests/support/with_postgres.py (ERGON_TEST_PG_URL); without it those
 * tests are skipped. */
#ifndef ERGON_TESTS_CONTRACT_WORLD_H
#define ERGON_TESTS_CONTRACT_WORLD_H

#include "server/cluster/admin.h"
#include "server/cluster/engine.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/store_expect.h"
#include "tests/support/store_world.h"

enum { CONTRACT_TEXT = 16 * 1024, CONTRACT_ERROR = 512 };

struct contract_world {
    struct store_world store; /* first */
    bool postgres;
    const char *url; /* PostgreSQL's: of the store */
    const struct cluster_engine *engine;
    const struct cluster_admin *admin;
    void *member; /* of the engine: node "a" */
    uint64_t epoch;
    struct store_text rows;     /* of the last contract_read() */
    char text[CONTRACT_TEXT];   /* of the last contract_sql() and contract_order() */
    char error[CONTRACT_ERROR]; /* of the last load */
    struct store_op *kept;      /* a STORE_LOAD that came back */
    uint32_t order;             /* the tag of the operation that came back last */
    uint32_t wrong;             /* operations that came back out of order */
    uint32_t good, refused;     /* by their outcome */
};

int contract_make_sqlite(void **state);
int contract_make_postgres(void **state); /* *state is NULL without PostgreSQL */
int contract_remove(void **state);

/* A test on both; `w` is the world, whose store is open. */
#define CONTRACT_TEST(name)                                                                        \
    static void check_##name(struct contract_world *w);                                            \
    TEST_OF(struct contract_world *w, NULL, contract_make_sqlite, contract_remove, sqlite_##name)  \
    {                                                                                              \
        check_##name(w);                                                                           \
    }                                                                                              \
    POSTGRES_TEST(name)                                                                            \
    {                                                                                              \
        check_##name(w);                                                                           \
    }                                                                                              \
    static void check_##name(struct contract_world *w)

#define POSTGRES_TEST(name)                                                                        \
    static void postgres_##name(struct contract_world *w);                                         \
    TEST_OF(struct contract_world *w, NULL, contract_make_postgres, contract_remove,               \
            postgresql_##name)                                                                     \
    {                                                                                              \
        if (!w)                                                                                    \
            skip();                                                                                \
        postgres_##name(w);                                                                        \
    }                                                                                              \
    static void postgres_##name(struct contract_world *w)

/* Pushes; the operations of a test come back in the order of the pushes, or `wrong` grows. */
void contract_push(struct contract_world *w, struct store_op *op);
/* Waits for all; then good, refused and wrong are right. */
void contract_wait(struct contract_world *w);
enum store_error contract_do(struct contract_world *w, struct store_op *op);
/* Runs the client until something came back, or it has nothing to do.  Is anything still out? */
bool contract_pending(struct contract_world *w);

/* Reads all rows, as store_expect.h writes them. */
const char *contract_read(struct contract_world *w);
void contract_expect(struct contract_world *w, const char *expected);

/* --- PostgreSQL --- */
/* One STORE_LOAD.  Are there more?  What is wrong, if anything, is in w->error. */
bool contract_load(struct contract_world *w, const struct store_reader *reader);
void contract_open(struct contract_world *w); /* and owns */
void contract_close(struct contract_world *w);
/* A member of the cluster, which has not joined; the caller closes it by w->engine. */
void *contract_member(struct contract_world *w, const char *node, uint64_t incarnation);
/* Takes the place of the owner, as node `node`, which the store does not know; its epoch. */
uint64_t contract_depose(struct contract_world *w, const char *node);
/* A statement as superuser: rows as lines of text, columns behind one another with |. */
const char *contract_sql(struct contract_world *w, const char *sql);
/* Until the statement answers `expected`: what it asks for is under way. */
void contract_until(struct contract_world *w, const char *sql, const char *expected);
/* Of the tasks that were put, so many are there, and the counters are theirs. */
void contract_expect_rows(struct contract_world *w, uint32_t count);
/* All standbys, so that commits wait. */
void contract_freeze(struct contract_world *w);
void contract_thaw(struct contract_world *w);
#define CONTRACT_OF_WAITS                                                                          \
    " FROM pg_stat_activity WHERE usename = 'ergon' AND wait_event = 'SyncRep'"
#define CONTRACT_WAITING     "SELECT count(*)" CONTRACT_OF_WAITS
#define CONTRACT_SETTLES     CONTRACT_WAITING " AND query LIKE '%session + 1%'"
#define CONTRACT_CANCEL_WAIT "SELECT count(pg_cancel_backend(pid))" CONTRACT_OF_WAITS
/* An order to with_postgres.py, which has to be answered by "ok". */
const char *contract_order(struct contract_world *w, const char *order);

#endif
