/* States that are appended and folded, against a table in memory: random turns, removals, reads,
 * steps of the fold, transactions that are taken back in part or as a whole, and restarts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/chunk.h"
#include "server/store/sqlite/schema.h"
#include "server/store/sqlite/states.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"
#include "tests/support/store_client.h"
#include "tests/support/store_world.h"

enum { ACTORS = 40, KEY = 8, STEPS = 20000, TEXT = 8192, WAITING = 16 };

struct model {
    uint64_t version[ACTORS]; /* 0: there is none */
};

/* A turn that waits to be written, and what it points into. */
struct put {
    struct store_op op;
    uint64_t version;
};

struct world {
    struct store_world at;
    sqlite3 *db;
    struct states states;
    struct row_names names;
    struct model now; /* in the transaction */
    struct model committed, at_savepoint;
    uint64_t versions;
    uint64_t random;
    char keys[ACTORS][KEY];
    bool begun, has_savepoint;
    struct put puts[WAITING];
    uint32_t put_count;
    struct states_savepoint savepoint;
    uint32_t folded, restarts;
};

static int make(void **state)
{
    return store_world_make_of(state, sizeof(struct world));
}

#define STATES_TEST(name) TEST_OF(struct world *w, NULL, make, store_world_remove, name)

static void sql(struct world *w, const char *text)
{
    char *error = NULL;
    sqlite3_exec(w->db, text, NULL, NULL, &error);
    assert_null(error);
}

static void open_states(struct world *w)
{
    char error[200] = "";
    w->names = row_names_of(client_states, 1);
    assert_int_equal(sqlite3_open(w->at.path, &w->db), SQLITE_OK);
    sql(w, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    schema_prepare(w->db, error, sizeof error);
    assert_string_equal(error, "");
    assert_int_equal(states_open(&w->states, w->db, &w->names), SQLITE_OK);
    w->states.fold_step = 3;
    w->states.delete_step = 7;
}

static void close_states(struct world *w)
{
    states_close(&w->states);
    assert_int_equal(sqlite3_close(w->db), SQLITE_OK);
}

/* Every third is another tenant's, with the key of the one before. */
static struct store_actor name_of(struct world *w, uint32_t actor)
{
    uint32_t named = actor % 3 == 1 ? actor - 1 : actor;
    snprintf(w->keys[actor], KEY, "%u", named);
    return (struct store_actor){.type = span_text(actor % 2 && actor % 3 != 1 ? "a.b" : "a"),
                                .key = span_text(w->keys[actor]),
                                .tenant = actor % 3 == 1 ? span_text("t") : span_of(NULL, 0)};
}

static struct store_op op_of(struct world *w, enum store_kind kind, uint32_t actor)
{
    struct store_op op = {.kind = kind, .table = &store_actors};
    const struct store_actor row = name_of(w, actor);
    memcpy(op.row, &row, sizeof row);
    return op;
}

static void write_all(struct world *w)
{
    assert_int_equal(states_write(&w->states), SQLITE_OK);
    w->put_count = 0;
}

/* Puts the actor as it is now, or removes it. */
static void put(struct world *w, uint32_t actor, bool at_once)
{
    if (at_once || w->put_count == WAITING)
        write_all(w);
    struct put *p = &w->puts[w->put_count++];
    p->version = w->now.version[actor];
    p->op = op_of(w, p->version > 0 ? STORE_ROW_PUT : STORE_ROW_REMOVE, actor);
    struct store_actor *row = (struct store_actor *)p->op.row;
    row->version = p->version;
    row->state = span_of(&p->version, p->version % 5 ? sizeof p->version : 0);
    assert_int_equal(states_put(&w->states, &p->op, at_once), SQLITE_OK);
}

/* --- Steps --- */

static void change(struct world *w, bool is_put)
{
    uint32_t actor = chance(&w->random, ACTORS);
    w->now.version[actor] = is_put ? ++w->versions : 0;
    put(w, actor, w->has_savepoint || chance(&w->random, 8) == 0);
}

static void read_one(struct world *w, uint32_t actor)
{
    struct store_op op = op_of(w, STORE_ROW_GET, actor);
    assert_int_equal(states_get(&w->states, &op), SQLITE_OK);
    const struct store_actor *a = (const struct store_actor *)op.row;
    uint64_t version = w->now.version[actor];
    assert_int_equal(op.found, version > 0);
    if (op.found) {
        assert_int_equal(a->version, version);
        assert_int_equal(a->state.len, version % 5 ? sizeof version : 0);
        assert_true(a->state.len == 0 || memcmp(a->state.at, &version, sizeof version) == 0);
    }
    free(op.bytes);
}

static void add_line(char *text, const struct store_actor *a)
{
    size_t len = strlen(text);
    snprintf(text + len, TEXT - len, "%.*s/%.*s/%.*s %llu\n", (int)a->type.len,
             (const char *)a->type.at, (int)a->key.len, (const char *)a->key.at, (int)a->tenant.len,
             (const char *)a->tenant.at, (unsigned long long)a->version);
}

static bool see(void *arg, const struct store_table *table, const void *row)
{
    add_line(arg, row);
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct store_actor *x = a, *y = b;
    int type = span_compare(x->type, y->type), key = span_compare(x->key, y->key);
    return type ? type : key ? key : span_compare(x->tenant, y->tenant);
}

/* The first page, or the one from an actor on. */
static void read_page(struct world *w, uint32_t from, uint32_t limit)
{
    char found[TEXT] = "", wanted[TEXT] = "", error[200];
    struct store_actor all[ACTORS], first = {0};
    const struct store_reader reader = {.arg = found, .row = see};
    struct store_op op = op_of(w, STORE_ROW_PAGE, from % ACTORS);
    uint32_t count = 0, given = 0;
    op.limit = limit;
    if (from < ACTORS)
        first = name_of(w, from);
    else
        memset(op.row, 0, sizeof first);
    for (uint32_t n = 0; n < ACTORS; n++)
        if (w->now.version[n]) {
            all[count] = name_of(w, n);
            all[count++].version = w->now.version[n];
        }
    qsort(all, count, sizeof *all, by_name);
    for (uint32_t n = 0; n < count && given < limit; n++)
        if (by_name(&all[n], &first) >= 0) {
            add_line(wanted, &all[n]);
            given++;
        }
    assert_int_equal(states_get(&w->states, &op), SQLITE_OK);
    store_chunk_read(op.chunk, &reader, UINT32_MAX, error, sizeof error);
    store_chunk_free(op.chunk);
    assert_string_equal(found, wanted);
}

static void begin(struct world *w)
{
    sql(w, "BEGIN IMMEDIATE");
    w->begun = true;
    w->has_savepoint = false;
    w->states.added = 0;
}

static void end(struct world *w)
{
    bool keep = chance(&w->random, 4) > 0;
    if (keep || chance(&w->random, 2))
        write_all(w);
    sql(w, keep ? "COMMIT" : "ROLLBACK");
    if (keep)
        states_keep(&w->states);
    else
        states_undo(&w->states, NULL);
    if (keep)
        w->committed = w->now;
    else
        w->now = w->committed;
    w->put_count = 0;
    w->begun = false;
}

static void savepoint(struct world *w)
{
    write_all(w);
    if (!w->has_savepoint) {
        w->savepoint = states_savepoint(&w->states);
        sql(w, "SAVEPOINT g");
        w->at_savepoint = w->now;
    } else if (chance(&w->random, 2)) {
        sql(w, "RELEASE g");
    } else {
        sql(w, "ROLLBACK TO g; RELEASE g");
        states_undo(&w->states, &w->savepoint);
        w->now = w->at_savepoint;
    }
    w->has_savepoint = !w->has_savepoint;
}

static void fold(struct world *w)
{
    write_all(w);
    assert_int_equal(states_fold(&w->states), SQLITE_OK);
    w->folded++;
}

static void restart(struct world *w)
{
    close_states(w);
    open_states(w);
    w->restarts++;
}

static void step(struct world *w)
{
    uint32_t which = chance(&w->random, 20);
    if (!w->begun && chance(&w->random, 60) == 0)
        restart(w);
    else if (!w->begun && which > 5)
        begin(w);
    else if (which < 5 && w->put_count > 0)
        write_all(w);
    else if (which < 4)
        read_one(w, chance(&w->random, ACTORS));
    else if (which == 4)
        read_page(w, chance(&w->random, 2 * ACTORS), 1 + chance(&w->random, ACTORS));
    else if (!w->begun)
        return;
    else if (which < 8)
        fold(w);
    else if (which < 10)
        end(w);
    else if (which == 10)
        savepoint(w);
    else
        change(w, which < 18);
}

STATES_TEST(states_are_as_they_were_put_whatever_is_folded)
{
    w->random = 7;
    open_states(w);
    for (uint32_t n = 0; n < STEPS; n++)
        step(w);
    if (w->begun)
        end(w);
    for (uint32_t n = 0; n < ACTORS; n++)
        read_one(w, n);
    read_page(w, ACTORS, ACTORS);
    close_states(w);
    assert_in_range(w->folded, STEPS / 40, STEPS);
    assert_in_range(w->restarts, STEPS / 1000, STEPS);
}

static int count_rows(void *arg, int columns, char **values, char **names)
{
    *(int *)arg = atoi(values[0]);
    return 0;
}

static int rows_of(struct world *w, const char *text)
{
    int count = -1;
    assert_int_equal(sqlite3_exec(w->db, text, count_rows, &count, NULL), SQLITE_OK);
    return count;
}

/* After some steps that nobody disturbs, the turns are gone and the rows are there. */
STATES_TEST(a_fold_ends)
{
    open_states(w);
    begin(w);
    for (uint32_t n = 0; n < ACTORS; n++)
        w->now.version[n] = n + 1;
    for (uint32_t n = 0; n < 3 * ACTORS; n++)
        put(w, n % ACTORS, true);
    w->states.added = 0;
    assert_false(states_fold_due(&w->states, true));
    uint32_t steps = 0;
    do {
        assert_int_equal(states_fold(&w->states), SQLITE_OK);
        assert_in_range(w->states.fold.oldest, 1, w->states.next);
    } while (++steps < 1000 && states_fold_due(&w->states, true));
    states_keep(&w->states);
    assert_in_range(steps, (ACTORS + 2) / 3 + 3 * ACTORS / 7, ACTORS);
    assert_int_equal(rows_of(w, "SELECT count(*) FROM turns"), 0);
    assert_int_equal(rows_of(w, "SELECT count(*) FROM actors"), ACTORS);
    assert_int_equal(w->states.fresh.actors.count, 0);
    for (uint32_t n = 0; n < ACTORS; n++)
        read_one(w, n);
    sql(w, "COMMIT");
    close_states(w);
}

/* Turns of an actor that wait together are one. */
STATES_TEST(of_an_actor_one_turn_is_written)
{
    open_states(w);
    begin(w);
    for (uint32_t n = 0; n < WAITING; n++) {
        w->now.version[n % 2] = n + 1;
        put(w, n % 2, false);
    }
    write_all(w);
    assert_int_equal(rows_of(w, "SELECT count(*) FROM turns"), 2);
    for (uint32_t n = 0; n < ACTORS; n++)
        read_one(w, n);
    sql(w, "COMMIT");
    close_states(w);
}

/* While a fold goes on there are steps without end for turns that come meanwhile: else they would
 * be more and more. */
STATES_TEST(a_step_takes_as_many_as_were_added)
{
    open_states(w);
    begin(w);
    for (uint32_t n = 0; n < ACTORS; n++) {
        w->now.version[n] = n + 1;
        put(w, n, true);
    }
    for (uint32_t n = 0; n < 2; n++) /* the first begins */
        assert_int_equal(states_fold(&w->states), SQLITE_OK);
    assert_int_equal(rows_of(w, "SELECT count(*) FROM actors"), ACTORS);
    sql(w, "COMMIT");
    close_states(w);
}

/* Puts an actor whose name is behind all others. */
static void put_new(struct world *w, uint32_t number)
{
    struct store_op op = {.kind = STORE_ROW_PUT, .table = &store_actors};
    char key[KEY + 8];
    snprintf(key, sizeof key, "%08u", number);
    *(struct store_actor *)op.row =
        (struct store_actor){.type = span_text("a"), .key = span_text(key), .version = 1};
    assert_int_equal(states_put(&w->states, &op, true), SQLITE_OK);
}

STATES_TEST(new_actors_do_not_outrun_the_fold)
{
    enum { COMMITS = 1000, EACH = 10 };
    uint64_t most = 0;
    open_states(w);
    for (uint32_t n = 0; n < COMMITS; n++) {
        begin(w);
        for (uint32_t i = 0; i < EACH; i++)
            put_new(w, n * EACH + i);
        assert_int_equal(states_fold(&w->states), SQLITE_OK);
        sql(w, "COMMIT");
        states_keep(&w->states);
        uint64_t left = w->states.next - w->states.fold.oldest;
        most = left > most ? left : most;
    }
    assert_in_range(most, EACH, 20 * EACH);
    close_states(w);
}
