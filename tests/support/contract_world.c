#include "tests/support/contract_world.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/store/chunk.h"
#include "server/store/driver.h"

enum { INCARNATION = 77, TRIES = 2000 /* looks of a millisecond each */ };

/* The driver's shared object allocates chunks with the real malloc(), and this program frees them
 * (heap.h): the sanitizers look for leaks here. */
int64_t __wrap_heap_live(void);
int64_t __wrap_heap_live(void)
{
    return 0;
}

/* --- Outcomes --- */

static void came_back(struct store_client *c, struct store_op *op)
{
    struct contract_world *w = c->arg;
    if (op->kind == STORE_LOAD) {
        snprintf(w->error, sizeof w->error, "%s", op->load.text ? op->load.text : "");
        free(op->load.text);
        *w->kept = *op;
        return;
    }
    w->wrong += op->tag != w->order + 1;
    w->order = (uint32_t)op->tag;
    w->good += op->error == STORE_OK;
    w->refused += op->error == STORE_REFUSED;
}

void contract_push(struct contract_world *w, struct store_op *op)
{
    op->tag = w->order + (w->store.client.pushed - w->store.client.back) + 1;
    client_push(&w->store.client, op);
}

void contract_wait(struct contract_world *w)
{
    client_wait(&w->store.client);
}

enum store_error contract_do(struct contract_world *w, struct store_op *op)
{
    contract_push(w, op);
    contract_wait(w);
    return w->store.client.last;
}

bool contract_pending(struct contract_world *w)
{
    client_poll(&w->store.client);
    return w->store.client.back < w->store.client.pushed;
}

/* --- Worlds --- */

static struct store_options options_of(const struct contract_world *w)
{
    struct store_options options = client_options(w->postgres ? w->url : w->store.path);
    if (w->postgres) {
        options.cluster = "ergon";
        options.node = "a";
        options.incarnation = INCARNATION;
    }
    return options;
}

static struct contract_world *make(void)
{
    void *state;
    assert_int_equal(store_world_make_of(&state, sizeof(struct contract_world)), 0);
    struct contract_world *w = state;
    w->kept = calloc(1, sizeof *w->kept);
    assert_non_null(w->kept);
    w->store.client.returned = came_back;
    w->store.client.arg = w;
    return w;
}

int contract_make_sqlite(void **state)
{
    struct contract_world *w = make();
    *state = w;
    contract_open(w);
    return 0;
}

static const void *symbol(const char *url, const char *name)
{
    char error[CONTRACT_ERROR] = "";
    const void *found = driver_symbol(url, name, error, sizeof error);
    assert_string_equal(error, "");
    return found;
}

int contract_make_postgres(void **state)
{
    char text[CONTRACT_ERROR] = "";
    const char *direct = getenv("ERGON_TEST_PG_URL"), *url = getenv("ERGON_TEST_PG_STORE_URL");
    *state = NULL;
    if (!direct)
        return 0;
    url = url ? url : direct;
    struct contract_world *w = make();
    *state = w;
    w->postgres = true;
    w->url = url;
    w->engine = symbol(url, CLUSTER_ENGINE_SYMBOL);
    w->admin = symbol(url, CLUSTER_ADMIN_SYMBOL);
    contract_sql(w, "DROP SCHEMA IF EXISTS ergon CASCADE");
    w->admin->init(direct, "ergon", NULL, text, sizeof text);
    assert_string_equal(text, "");
    contract_open(w);
    return 0;
}

int contract_remove(void **state)
{
    struct contract_world *w = *state;
    if (!w)
        return 0;
    contract_close(w);
    free(w->kept);
    return store_world_remove(state);
}

/* --- Opened, owned, closed --- */

static enum engine_result join(struct contract_world *w, void *member, struct engine_owner *owner)
{
    char error[CONTRACT_ERROR] = "";
    struct engine_view *view = malloc(sizeof *view);
    assert_non_null(view);
    enum engine_result result = w->engine->join(member, view, error, sizeof error);
    assert_string_equal(error, "");
    assert_int_equal(result, ENGINE_DONE);
    w->engine->ask(member, "retry", "", error, sizeof error);
    struct engine_take_over take = {.epoch = view->owner.epoch};
    for (uint32_t n = 0; n < view->count; n++)
        if (strcmp(view->nodes[n].node, view->owner.node) == 0)
            take.dead = view->nodes[n];
    result = w->engine->take_over(member, &take, owner, error, sizeof error);
    assert_string_equal(error, "");
    free(view);
    return result;
}

void *contract_member(struct contract_world *w, const char *node, uint64_t incarnation)
{
    char error[CONTRACT_ERROR];
    void *member = w->engine->open(&(struct engine_setup){.where = getenv("ERGON_TEST_PG_URL"),
                                                          .cluster = "ergon",
                                                          .node = node,
                                                          .incarnation = incarnation,
                                                          .address = "",
                                                          .version = "1",
                                                          .weight = 1},
                                   error, sizeof error);
    assert_non_null(member);
    return member;
}

static uint64_t own_as(struct contract_world *w, const char *node, uint64_t incarnation)
{
    struct engine_owner owner;
    void *member = contract_member(w, node, incarnation);
    assert_int_equal(join(w, member, &owner), ENGINE_DONE);
    w->engine->close(member);
    return owner.epoch;
}

uint64_t contract_depose(struct contract_world *w, const char *node)
{
    return own_as(w, node, INCARNATION + 1);
}

void contract_open(struct contract_world *w)
{
    char error[CONTRACT_ERROR] = "";
    const struct store_options options = options_of(w);
    bool opened = client_open(&w->store.client, &options, error, sizeof error);
    assert_string_equal(error, "");
    assert_true(opened);
    if (!w->postgres)
        return;
    w->epoch = own_as(w, "a", INCARNATION);
    contract_read(w); /* a load says under which epoch it writes */
    assert_string_equal(w->error, "");
}

void contract_close(struct contract_world *w)
{
    client_close(&w->store.client);
    w->order = 0;
}

/* --- Rows --- */

bool contract_load(struct contract_world *w, const struct store_reader *reader)
{
    struct store_op *op = client_op(STORE_LOAD);
    char error[CONTRACT_ERROR] = "";
    op->load.epoch = w->epoch;
    client_push(&w->store.client, op);
    client_wait(&w->store.client);
    struct store_chunk *chunk = w->kept->load.chunk;
    if (chunk && w->kept->error == STORE_OK)
        while (store_chunk_read(chunk, reader, UINT32_MAX, error, sizeof error) > 0)
            ;
    store_chunk_free(chunk);
    assert_string_equal(error, "");
    return w->kept->error == STORE_OK && w->kept->load.more;
}

const char *contract_read(struct contract_world *w)
{
    struct store_reader reader = store_text_reader(&w->rows);
    char error[CONTRACT_ERROR] = "";
    w->error[0] = '\0';
    if (w->postgres) {
        while (contract_load(w, &reader))
            ;
        return w->rows.text;
    }
    const struct store_options options = options_of(w);
    contract_close(w);
    struct store *s = store_open(&options, error, sizeof error);
    assert_string_equal(error, "");
    assert_int_equal(store_load(s, &reader, error, sizeof error), 0);
    store_close(s);
    contract_open(w);
    return w->rows.text;
}

void contract_expect(struct contract_world *w, const char *expected)
{
    assert_string_equal(contract_read(w), expected);
    assert_string_equal(w->error, "");
}

/* --- PostgreSQL --- */

static void add_rows(char *to, size_t size, const PGresult *r)
{
    size_t len = 0;
    to[0] = '\0';
    for (int row = 0; row < PQntuples(r); row++)
        for (int column = 0; column < PQnfields(r) && len < size; column++)
            len += (size_t)snprintf(to + len, size - len, "%s%s", PQgetvalue(r, row, column),
                                    column + 1 < PQnfields(r) ? "|" : "\n");
}

const char *contract_sql(struct contract_world *w, const char *sql)
{
    PGconn *pg = PQconnectdb(getenv("ERGON_TEST_PG_ADMIN_URL"));
    PQclear(PQexec(pg, "SET client_min_messages = warning"));
    PGresult *r = PQexec(pg, sql);
    assert_string_equal(PQresultErrorMessage(r), "");
    add_rows(w->text, sizeof w->text, r);
    PQclear(r);
    PQfinish(pg);
    return w->text;
}

void contract_until(struct contract_world *w, const char *sql, const char *expected)
{
    for (int n = 0; n < TRIES && strcmp(contract_sql(w, sql), expected) != 0; n++) {
        client_poll(&w->store.client);
        usleep(1000);
    }
    assert_string_equal(w->text, expected);
}

const char *contract_order(struct contract_world *w, const char *order)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t got = 1;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", getenv("ERGON_TEST_PG_CONTROL"));
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    dprintf(fd, "%s\n", order);
    while (got > 0 && (len == 0 || w->text[len - 1] != '\n')) {
        got = read(fd, w->text + len, sizeof w->text - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    w->text[len > 0 ? len - 1 : 0] = '\0';
    if (strncmp(w->text, "ok", 2) != 0)
        fail_msg("%s: %s", order, w->text);
    return w->text;
}

void contract_freeze(struct contract_world *w)
{
    contract_order(w, "freeze s1");
    contract_order(w, "freeze s2");
}

void contract_thaw(struct contract_world *w)
{
    contract_order(w, "thaw s1");
    contract_order(w, "thaw s2");
}

void contract_expect_rows(struct contract_world *w, uint32_t count)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%u|%u\n", count, count);
    assert_string_equal(contract_sql(w, "SELECT count(*), (SELECT submitted FROM ergon.owner) "
                                        "FROM ergon.submissions"),
                        expected);
}
