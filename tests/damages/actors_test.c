/* Rows of actors, of their turns, types and messages with damages by chance: values that the file
 * can hold and a server never wrote, a bit, rows that are gone or are there twice, and what
 * damage.h does to the pages.  What the check calls sound starts, and each actor of it is read;
 * an export that works makes a sound store that a server starts on; else there is an error text.
 *
 * ERGON_DAMAGES says how many (80), ERGON_DAMAGES_FROM the first: each follows from its number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "proto/pack.h"
#include "server/jobs/core/states.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/store/chunk.h"
#include "server/store/rows.h"
#include "tests/damages/damage.h"
#include "tests/damages/look.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"
#include "tests/support/store_files.h"
#include "tests/support/store_world.h"

enum { ROUNDS = 80, ACTORS = 30, MESSAGES = 8, SQL = 400, LONG = 300, START_ROUNDS = 30 };

struct world {
    struct store_world at;
    struct store_files base;
    char folder[STORE_FOLDER]; /* in memory; empty: there is none */
    char copy[STORE_PATH + 8];
    uint32_t sound, started, refused;
};

/* --- The file --- */

static void run_sql(const char *path, const char *sql)
{
    char out[64];
    store_sql(path, sql, out, sizeof out);
}

static void put_type(struct store_client *c, const char *name, uint8_t durable)
{
    struct pack p;
    struct actor_offer offer = {.type = span_text(name), .policy = {ACTOR_POLICY_DEFAULTS}};
    struct store_op *op = client_row(STORE_ROW_PUT, &store_actor_types);
    offer.policy.durable = durable;
    strcpy(offer.policy.supervisor, "boss/1");
    pack_init(&p);
    type_row_pack(&p, &offer.policy, &offer);
    *(struct store_actor_type *)op->row =
        (struct store_actor_type){.type = offer.type, .policy = pack_bytes(&p)};
    assert_int_equal(client_do(c, op), STORE_OK);
    pack_fini(&p);
}

static void put_actor(struct store_client *c, uint32_t n, uint64_t version)
{
    char key[16];
    struct store_op *op = client_row(STORE_ROW_PUT, &store_actors);
    snprintf(key, sizeof key, "%u", n);
    *(struct store_actor *)op->row =
        (struct store_actor){.type = span_text(n % 3 ? "cart" : "boss"),
                             .key = span_text(key),
                             .tenant = n % 2 ? span_text("somebody") : span_of(NULL, 0),
                             .version = version,
                             .schema = 1,
                             .stopped = n % 7 ? span_of(NULL, 0) : span_text("it failed"),
                             .changed_at = UINT64_C(1790000000000000000),
                             .state = span_text("\x93\x01\xa3two\x03")};
    assert_int_equal(client_do(c, op), STORE_OK);
}

static void put_message(struct store_client *c, uint32_t n)
{
    struct store_op *op = client_op(STORE_PUT);
    op->task = (struct store_task){.id = 1000 + n,
                                   .method = span_text(n % 4 ? "cart.add" : "boss.failed"),
                                   .actor = span_text(n % 4 ? "cart/1" : "boss/3"),
                                   .tenant = span_text("somebody"),
                                   .params = span_text("\x90"),
                                   .created = UINT64_C(1790000000000000000),
                                   .durable = 2};
    op->add.submitted = 1;
    assert_int_equal(client_do(c, op), STORE_OK);
}

/* Half of the actors were folded, and some of these have a turn since. */
static void make_base(struct world *w)
{
    store_world_open(&w->at);
    struct store_client *c = &w->at.client;
    put_type(c, "cart", ACTOR_DURABLE_FSYNC);
    put_type(c, "boss", ACTOR_DURABLE_NONE);
    for (uint32_t n = 0; n < ACTORS / 2; n++)
        put_actor(c, n, 1);
    client_close(c);
    run_sql(w->at.path, "INSERT INTO actors (type, key, tenant, version, schema, changed_at, "
                        "stopped, state) SELECT type, key, ifnull(tenant, ''), version, schema, "
                        "changed_at, stopped, state FROM turns");
    run_sql(w->at.path, "DELETE FROM turns");
    store_world_open(&w->at);
    for (uint32_t n = ACTORS / 3; n < ACTORS; n++)
        put_actor(c, n, 2);
    for (uint32_t n = 0; n < MESSAGES; n++)
        put_message(c, n);
    client_close(c);
    run_sql(w->at.path, "PRAGMA wal_checkpoint(TRUNCATE)");
    store_files_read(&w->base, w->at.path);
}

/* --- A damage to a row --- */

static const struct store_table *const tables[] = {&store_actors, &row_turns, &store_actor_types,
                                                   &row_submissions};
enum { TABLES = sizeof tables / sizeof *tables };

static void bind_flipped(sqlite3_stmt *st, sqlite3_value *old, uint64_t *random)
{
    uint8_t bytes[LONG];
    int type = sqlite3_value_type(old), len = sqlite3_value_bytes(old);
    if (type == SQLITE_INTEGER) {
        sqlite3_bind_int64(st, 1,
                           sqlite3_value_int64(old) ^ (sqlite3_int64)1 << chance(random, 63));
        return;
    }
    len = len < LONG ? len : LONG;
    if (len > 0) {
        memcpy(bytes, sqlite3_value_blob(old), (size_t)len);
        bytes[chance(random, (uint32_t)len)] ^= (uint8_t)(1 << chance(random, 8));
    }
    if (chance(random, 4) == 0)
        len -= len > 0;
    if (type == SQLITE_TEXT)
        sqlite3_bind_text(st, 1, (const char *)bytes, len, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(st, 1, bytes, len, SQLITE_TRANSIENT);
}

static void bind_garbage(sqlite3_stmt *st, uint64_t *random)
{
    uint8_t bytes[40];
    for (size_t n = 0; n < sizeof bytes; n++)
        bytes[n] = (uint8_t)chance(random, 256);
    int len = (int)chance(random, sizeof bytes);
    if (chance(random, 2))
        sqlite3_bind_text(st, 1, (const char *)bytes, len, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(st, 1, bytes, len, SQLITE_TRANSIENT);
}

static void bind_value(sqlite3_stmt *st, sqlite3_value *old, uint64_t *random)
{
    static const sqlite3_int64 odd[] = {0,          1,  -1, INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1,
                                        UINT32_MAX, 256};
    static const char *const words[] = {"",  "a/b", "x\xff", "Cart", "cart.", "task.x",
                                        "/", " ",   "cart",  "boss", "1",     "\xc0\x80"};
    char text[LONG];
    switch (chance(random, 8)) {
    case 0:
        sqlite3_bind_int64(st, 1, odd[chance(random, sizeof odd / sizeof *odd)]);
        return;
    case 1:
        sqlite3_bind_text(st, 1, words[chance(random, sizeof words / sizeof *words)], -1,
                          SQLITE_STATIC);
        return;
    case 2:
        bind_garbage(st, random);
        return;
    case 3:
        memset(text, 'x', sizeof text);
        sqlite3_bind_text(st, 1, text, sizeof text, SQLITE_TRANSIENT);
        return;
    case 4:
        if (chance(random, 2))
            sqlite3_bind_double(st, 1, 1.5);
        return; /* else NULL */
    default:
        bind_flipped(st, old, random);
    }
}

static void change_value(sqlite3 *db, const struct store_table *t, uint32_t row, uint64_t *random)
{
    char sql[SQL];
    sqlite3_stmt *get, *set;
    const char *column = t->columns[chance(random, t->count)].name;
    snprintf(sql, sizeof sql, "SELECT %s FROM %s LIMIT 1 OFFSET %u", column, t->table, row);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &get, NULL), SQLITE_OK);
    snprintf(sql, sizeof sql,
             "UPDATE OR REPLACE %s SET %s = ?1 WHERE (%s) IN (SELECT %s FROM %s LIMIT 1 OFFSET %u)",
             t->table, column, t->order, t->order, t->table, row);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &set, NULL), SQLITE_OK);
    if (sqlite3_step(get) == SQLITE_ROW) {
        bind_value(set, sqlite3_column_value(get, 0), random);
        sqlite3_reset(get);
        sqlite3_step(set); /* NOT NULL, and the type of a rowid, keep some values out */
    }
    sqlite3_finalize(get);
    sqlite3_finalize(set);
}

static void damage_row(const char *path, uint64_t *random)
{
    static const char *const others[] = {
        "DELETE FROM actors WHERE key = '1'",
        "DELETE FROM turns WHERE key = '12'",
        "DELETE FROM actor_types WHERE type = 'cart'",
        "DELETE FROM submissions WHERE id = 1001",
        ("INSERT INTO turns SELECT 1 << 62, type, key, tenant, version, schema, changed_at, "
         "stopped_at, stopped, state, gone FROM turns LIMIT 1"),
        "INSERT INTO turns (seq, type, key, gone) VALUES (100000, 'cart', 'nobody', 1)",
        "INSERT INTO turns (seq, type, key) VALUES (-7, 'cart', '1')",
        "UPDATE turns SET gone = 1",
        "UPDATE submissions SET actor = 'boss/3', method = 'work'",
    };
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (uint32_t n = 1 + chance(random, 3); n > 0; n--)
        if (chance(random, 10) == 0)
            sqlite3_exec(db, others[chance(random, sizeof others / sizeof *others)], NULL, NULL,
                         NULL);
        else
            change_value(db, tables[chance(random, TABLES)], chance(random, ACTORS / 2), random);
    sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    sqlite3_close(db);
}

/* --- What is read of it --- */

struct reading {
    uint32_t good, bad;
};

static void see_actor(struct store_client *client, struct store_op *op)
{
    struct reading *r = client->arg;
    if (op->error != STORE_OK || (op->found && row_check_actor((struct store_actor *)op->row)))
        r->bad++;
    else
        r->good += op->found;
    free(op->bytes);
}

static struct reading read_actors(const char *path)
{
    char error[LOOK_TEXT], key[16];
    struct reading r = {0};
    struct store_client c = {.returned = see_actor, .arg = &r};
    const struct store_options options = {
        .path = path, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    if (!client_open(&c, &options, error, sizeof error))
        return r;
    for (uint32_t n = 0; n < ACTORS; n++) {
        struct store_op *op = client_row(STORE_ROW_GET, &store_actors);
        snprintf(key, sizeof key, "%u", n);
        *(struct store_actor *)op->row =
            (struct store_actor){.type = span_text(n % 3 ? "cart" : "boss"),
                                 .key = span_text(key),
                                 .tenant = n % 2 ? span_text("somebody") : span_of(NULL, 0)};
        client_push(&c, op);
    }
    client_wait(&c);
    client_close(&c);
    return r;
}

/* --- One --- */

static void damage(struct world *w, uint64_t number)
{
    uint64_t random = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    char error[LOOK_TEXT] = "";
    struct store_files files = store_files_copy(&w->base);
    look_at(number);
    if (number % 4 == 3)
        damage_do(&files, &random);
    store_files_write(&files, w->at.path);
    if (number % 4 != 3)
        damage_row(w->at.path, &random);
    bool sound = look_check(w->at.path) == OFFLINE_GOOD;
    if (number % 4 < 2 && look_save(w->at.path, w->copy) &&
        !look_start(w->copy, START_ROUNDS, error))
        fail_msg("ERGON_DAMAGES_FROM=%d: the copy does not start: %s", (int)number, error);
    if (sound)
        assert_int_equal(read_actors(w->at.path).bad, 0);
    bool started = look_start(w->at.path, START_ROUNDS, error);
    if (!started && sound)
        fprintf(stderr, "ERGON_DAMAGES_FROM=%d: %s\n", (int)number, error);
    if (!started)
        assert_true(!sound || strstr(error, "damaged"));
    if (started)
        read_actors(w->at.path);
    w->sound += sound;
    w->started += started;
    w->refused += !started;
    store_files_free(&files);
}

static int open_world(void **state)
{
    int rc = store_world_make_of(state, sizeof(struct world));
    struct world *w = *state;
    strcpy(w->folder, "/dev/shm/ergon-damages-XXXXXX");
    if (mkdtemp(w->folder))
        snprintf(w->at.path, sizeof w->at.path, "%s/tasks.db", w->folder);
    else
        w->folder[0] = '\0';
    snprintf(w->copy, sizeof w->copy, "%s.copy", w->at.path);
    make_base(w);
    return rc;
}

static int close_world(void **state)
{
    struct world *w = *state;
    char command[STORE_FOLDER + 16];
    store_files_free(&w->base);
    snprintf(command, sizeof command, "rm -r %s", w->folder);
    assert_true(!w->folder[0] || system(command) == 0);
    return store_world_remove(state);
}

/* A turn whose number is lost hides no other: all but one are exported. */
TEST_OF(struct world *w, NULL, open_world, close_world, a_number_that_is_none_hides_nothing)
{
    char out[SQL];
    run_sql(w->at.path, "UPDATE turns SET seq = -7 WHERE key = '12'");
    assert_int_equal(look_check(w->at.path), OFFLINE_DAMAGED);
    assert_true(look_save(w->at.path, w->copy));
    assert_string_equal(store_sql(w->copy, "SELECT count(*), max(version) FROM actors", out, SQL),
                        "30|2\n");
}

/* Behind such a number there is none for the next task: what is exported goes on below it. */
static void is_mended(struct world *w, const char *sql, const char *expected)
{
    char error[LOOK_TEXT] = "", out[SQL];
    store_files_write(&w->base, w->at.path);
    run_sql(w->at.path, sql);
    run_sql(w->at.path, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_int_equal(look_check(w->at.path), OFFLINE_DAMAGED);
    assert_true(look_save(w->at.path, w->copy));
    assert_string_equal(store_sql(w->copy,
                                  "SELECT count(*), max(id), (SELECT last_id FROM "
                                  "counters) FROM submissions",
                                  out, SQL),
                        expected);
    assert_true(look_start(w->copy, 1, error));
    assert_false(look_start(w->at.path, 1, error));
    assert_non_null(strstr(error, "damaged"));
}

TEST_OF(struct world *w, NULL, open_world, close_world, numbers_behind_which_there_are_none)
{
    is_mended(w, "UPDATE submissions SET id = 9223372036854775807 WHERE id = 1002",
              "7|1007|1007\n");
    is_mended(w, "UPDATE counters SET last_id = 9223372036854775807", "8|1007|1007\n");
    is_mended(w, "UPDATE counters SET done = 9223372036854775807", "8|1007|1007\n");
}

TEST_OF(struct world *w, NULL, open_world, close_world, rows_of_actors_are_refused_read_or_left_out)
{
    uint64_t from = look_from_environment("ERGON_DAMAGES_FROM", 0),
             count = look_from_environment("ERGON_DAMAGES", ROUNDS);
    look_begin();
    for (uint64_t n = from; n < from + count; n++)
        damage(w, n);
    printf("%llu damages to actors: %u were sound to the check, %u started, %u were refused with a "
           "text\n",
           (unsigned long long)count, w->sound, w->started, w->refused);
}
