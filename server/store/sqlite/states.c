#include "server/store/sqlite/states.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/chunk.h"
#include "server/store/sqlite/row_sqlite.h"
#include "server/store/sqlite/statements.h"

enum {
    FOLD_AT = 65536,     /* turns: few enough for a start that reads all their names */
    FOLD_AT_REST = 1024, /* turns: the store has nothing else to do */
    FOLD_STEP = 256,     /* rows: some milliseconds, which a commit waits for */
    DELETE_STEP = 4096,  /* turns that were folded */
    WAITING = 1024,      /* turns: room for so many, at first */
    SQL = 2048,
    NAMES = 256
};

/* --- The statements --- */

enum {
    APPEND,
    NOTE,
    GET_TURN,
    GET_FOLDED,
    PAGE,
    FOLD, /* until which turn, and the last name; NULL: all rows are in place */
    BEGIN,
    PART, /* the next names */
    PART_PUT,
    PART_REMOVE,
    PART_ACTORS,
    PART_FORGET,
    PART_END,
    PART_CLEAR,
    PLACED,
    DELETE,
    SHRINK, /* some pages of the tables in memory, of which most names are gone then */
    END,
    LAST_TURNS
};
_Static_assert(LAST_TURNS + 1 == STATES_STATEMENTS, "each has a place");

#define KEY   "type, key, tenant"
#define F_KEY "f.type, f.key, f.tenant"

/* @1: the columns of `actors`; @2: the same, of `t`; @3: the same without blobs.  `actor` is a
 * struct fresh_actor, which turn_of() reads. */
static const char *const texts[STATES_STATEMENTS] = {
    [NOTE] = "INSERT INTO fresh (" KEY ", actor) VALUES (?1, ?2, ?3, ?4)",
    [GET_TURN] = "SELECT @2, t.gone FROM turns t WHERE t.seq = ?1",
    [GET_FOLDED] = "SELECT @1 FROM actors WHERE type = ?1 AND key = ?2 AND tenant = ?3",
    [PAGE] = "SELECT @3 FROM (SELECT * FROM (SELECT @1 FROM actors WHERE (" KEY ") >= "
             "(ifnull(?1, ''), ifnull(?2, ''), ifnull(?3, '')) AND NOT EXISTS (SELECT 1 FROM fresh "
             "f WHERE f.type = actors.type AND f.key = actors.key AND f.tenant = actors.tenant) "
             "ORDER BY " KEY " LIMIT ?4) UNION ALL SELECT * FROM (SELECT @2 FROM fresh f CROSS "
             "JOIN turns t ON t.seq = turn_of(f.actor) WHERE (" F_KEY
             ") >= (ifnull(?1, ''), ifnull(?2, ''), "
             "ifnull(?3, '')) AND t.gone IS NULL ORDER BY " F_KEY " LIMIT ?4)) "
             "ORDER BY " KEY " LIMIT ?4",
    [FOLD] = "SELECT until, " KEY " FROM fold",
    [BEGIN] = "UPDATE fold SET until = ?1, type = '', key = '', tenant = ''",
    [PART] = "INSERT INTO part SELECT " KEY ", turn_of(actor), actor FROM fresh WHERE (" KEY ") > "
             "(?3, ?4, ?5) AND turn_of(actor) <= ?1 ORDER BY " KEY " LIMIT ?2",
    [PART_PUT] = "REPLACE INTO actors (@1) SELECT @2 FROM part p CROSS JOIN turns t ON "
                 "t.seq = p.seq WHERE t.gone IS NULL",
    [PART_REMOVE] = "DELETE FROM actors WHERE (" KEY ") IN (SELECT p.type, p.key, p.tenant FROM "
                    "part p CROSS JOIN turns t ON t.seq = p.seq WHERE t.gone IS NOT NULL)",
    [PART_ACTORS] = "SELECT actor FROM part",
    [PART_FORGET] = "DELETE FROM fresh WHERE (" KEY ") IN (SELECT " KEY " FROM part)",
    [PART_END] = "UPDATE fold SET (" KEY ") = (SELECT " KEY " FROM part ORDER BY rowid DESC "
                 "LIMIT 1)",
    [PART_CLEAR] = "DELETE FROM part",
    [PLACED] = "UPDATE fold SET type = NULL",
    [DELETE] = "DELETE FROM turns WHERE seq < ?1",
    [SHRINK] = "PRAGMA temp.incremental_vacuum(256)",
    [END] = "UPDATE fold SET until = 0",
    [LAST_TURNS] = "SELECT " KEY ", seq FROM turns ORDER BY seq"};

static const char made[] =
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA temp.auto_vacuum = INCREMENTAL;"
    "CREATE TEMP TABLE fresh (type TEXT, key TEXT, tenant TEXT, actor INTEGER, PRIMARY KEY (" KEY
    ")) WITHOUT ROWID;"
    "CREATE TEMP TABLE fold (until INTEGER, type TEXT, key TEXT, tenant TEXT);"
    "CREATE TEMP TABLE part (type TEXT, key TEXT, tenant TEXT, seq INTEGER, actor INTEGER);"
    "INSERT INTO fold VALUES (0, NULL, NULL, NULL);";

static void columns(char text[static NAMES], const char *prefix, bool blobs)
{
    size_t len = 0;
    for (uint32_t n = 0; n < store_actors.count; n++) {
        const struct store_column *c = &store_actors.columns[n];
        bool none = c->kind == COLUMN_BLOB && !blobs;
        len += (size_t)snprintf(text + len, NAMES - len, "%s%s%s", n ? ", " : "",
                                none ? "" : prefix, none ? "NULL" : c->name);
    }
    assert(len < NAMES);
}

static void expand(char sql[static SQL], const char *text, const char *const columns_of[3])
{
    size_t len = 0;
    for (; *text; text++) {
        bool named = *text == '@';
        const char *part = named ? columns_of[*++text - '1'] : text;
        size_t size = named ? strlen(part) : 1;
        assert(len + size < SQL);
        memcpy(sql + len, part, size);
        len += size;
    }
    sql[len] = '\0';
}

static int prepare(struct states *t, int which, const char *sql)
{
    return sqlite3_prepare_v3(t->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &t->all[which], NULL);
}

static int prepare_all(struct states *t)
{
    char all[NAMES], of_turn[NAMES], plain[NAMES], sql[SQL];
    int rc = SQLITE_OK;
    columns(all, "", true);
    columns(of_turn, "t.", true);
    columns(plain, "", false);
    const char *const columns_of[] = {all, of_turn, plain};
    for (int n = 0; n < STATES_STATEMENTS && rc == SQLITE_OK; n++) {
        if (texts[n])
            expand(sql, texts[n], columns_of);
        else
            row_put_sql(&row_turns, "INSERT", sql);
        rc = prepare(t, n, sql);
    }
    return rc;
}

/* The numbers of the first turn and of the next. */
static int read_numbers(struct states *t)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(t->db, "SELECT min(seq), max(seq) FROM turns", -1, &st, NULL);
    if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
        t->next = (uint64_t)sqlite3_column_int64(st, 1) + 1;
        t->oldest = sqlite3_column_type(st, 0) == SQLITE_NULL
                        ? t->next
                        : (uint64_t)sqlite3_column_int64(st, 0);
    }
    int end = sqlite3_finalize(st);
    return rc != SQLITE_OK ? rc : end;
}

/* --- Which actors have turns --- */

static void turn_of(sqlite3_context *to, int argc, sqlite3_value **argv)
{
    assert(argc == 1);
    const struct fresh_actor *actor =
        (const struct fresh_actor *)(intptr_t)sqlite3_value_int64(argv[0]);
    sqlite3_result_int64(to, (sqlite3_int64)actor->seq);
}

static int note(struct states *t, const struct store_actor *row, uint64_t hash,
                struct waiting_turn *turn)
{
    bool is_first;
    struct fresh_actor *actor = fresh_note(&t->fresh, row, hash, turn->seq, &is_first);
    turn->actor = actor;
    if (!actor)
        return SQLITE_NOMEM;
    actor->slot = t->count;
    if (!is_first)
        return SQLITE_OK;
    int rc = row_bind_key(t->all[NOTE], &store_actors, row, t->names);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(t->all[NOTE], 4, (sqlite3_int64)(intptr_t)actor);
    return statement_run(t->all[NOTE]);
}

static struct span text_of(sqlite3_stmt *st, int column)
{
    const void *at = sqlite3_column_text(st, column);
    return span_of(at, (size_t)sqlite3_column_bytes(st, column));
}

static int note_all(struct states *t)
{
    sqlite3_stmt *st = t->all[LAST_TURNS];
    int rc = sqlite3_exec(t->db, "BEGIN", NULL, NULL, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const struct store_actor row = {
            .type = text_of(st, 0), .key = text_of(st, 1), .tenant = text_of(st, 2)};
        struct waiting_turn turn = {.seq = (uint64_t)sqlite3_column_int64(st, 3)};
        bool is_good = turn.seq > 0; /* else sqlite_load() refuses the file */
        rc = is_good ? note(t, &row, fresh_hash(&t->fresh, &row), &turn) : SQLITE_OK;
    }
    int end = sqlite3_reset(st);
    fresh_keep(&t->fresh);
    if (rc == SQLITE_DONE)
        rc = end == SQLITE_OK ? sqlite3_exec(t->db, "COMMIT", NULL, NULL, NULL) : end;
    return rc;
}

/* --- Appended --- */

/* The turn that is being written. */
static const void *turn_at(void *arg)
{
    struct states *t = arg;
    if (t->at == t->count)
        return NULL;
    const struct waiting_turn *w = &t->waiting[t->at];
    const struct store_actor *row = (const struct store_actor *)w->op->row;
    bool gone = w->op->kind == STORE_ROW_REMOVE;
    t->turn = (struct store_turn){.seq = w->seq, .gone = gone};
    t->turn.actor =
        gone ? (struct store_actor){.tenant = row->tenant, .type = row->type, .key = row->key}
             : *row;
    return &t->turn;
}

static void turn_next(void *arg)
{
    ((struct states *)arg)->at++;
}

int states_write(struct states *t)
{
    if (t->count == 0)
        return SQLITE_OK;
    t->at = 0;
    int rc = statement_run(t->all[APPEND]);
    t->count = 0;
    return rc;
}

static bool make_room(struct states *t)
{
    if (t->count < t->room)
        return true;
    uint32_t room = t->room ? 2 * t->room : WAITING;
    struct waiting_turn *waiting = realloc(t->waiting, room * sizeof *waiting);
    if (!waiting)
        return false;
    t->waiting = waiting;
    t->room = room;
    return true;
}

static int add(struct states *t, const struct store_op *op, uint64_t hash, bool at_once)
{
    const struct store_actor *row = (const struct store_actor *)op->row;
    struct waiting_turn *turn = &t->waiting[t->count];
    *turn = (struct waiting_turn){.op = op, .seq = t->next++};
    t->added++;
    if (!at_once) {
        int rc = note(t, row, hash, turn);
        t->count++;
        return rc;
    }
    assert(t->count == 0);
    t->count = 1;
    int rc = states_write(t);
    return rc == SQLITE_OK ? note(t, row, hash, turn) : rc;
}

/* The one of the same actor that waits. */
static struct waiting_turn *waits(const struct states *t, const struct store_op *op, uint64_t hash)
{
    const struct fresh_actor *a =
        t->count > 0 ? fresh_find(&t->fresh, (const struct store_actor *)op->row, hash) : NULL;
    bool is = a && a->slot < t->count && t->waiting[a->slot].actor == a;
    return is ? &t->waiting[a->slot] : NULL;
}

int states_put(struct states *t, const struct store_op *op, bool at_once)
{
    uint64_t hash = fresh_hash(&t->fresh, (const struct store_actor *)op->row);
    struct waiting_turn *before = waits(t, op, hash);
    if (before) {
        before->op = op;
        return SQLITE_OK;
    }
    return make_room(t) ? add(t, op, hash, at_once) : SQLITE_NOMEM;
}

uint32_t states_savepoint(const struct states *t)
{
    assert(t->count == 0);
    return t->fresh.count;
}

void states_undo(struct states *t, uint32_t savepoint)
{
    t->count = 0;
    fresh_undo(&t->fresh, savepoint);
}

void states_keep(struct states *t)
{
    assert(t->count == 0);
    fresh_keep(&t->fresh);
}

/* --- Begin and end --- */

int states_open(struct states *t, sqlite3 *db, const struct row_names *names)
{
    uint64_t seed[2];
    *t = (struct states){
        .db = db, .names = names, .fold_step = FOLD_STEP, .delete_step = DELETE_STEP};
    t->view = (struct row_view){
        .map = &row_turns, .names = names, .arg = t, .row = turn_at, .next = turn_next};
    sqlite3_randomness(sizeof seed, seed);
    fresh_init(&t->fresh, seed);
    int rc = row_view_make(db, &t->view);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db, "turn_of", 1, SQLITE_UTF8, NULL, turn_of, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, made, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = prepare_all(t);
    if (rc == SQLITE_OK)
        rc = note_all(t);
    return rc == SQLITE_OK ? read_numbers(t) : rc;
}

void states_close(struct states *t)
{
    for (int n = 0; n < STATES_STATEMENTS; n++)
        sqlite3_finalize(t->all[n]);
    fresh_fini(&t->fresh);
    free(t->waiting);
}

/* --- Read by their names --- */

static int take(struct store_op *op, const void *row)
{
    return row_take(op, row) ? SQLITE_OK : SQLITE_NOMEM;
}

static int get_turn(struct states *t, struct store_op *op, uint64_t seq)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    sqlite3_stmt *st = t->all[GET_TURN];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
    int rc = sqlite3_step(st);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
    if (sqlite3_column_type(st, (int)store_actors.count) != SQLITE_NULL)
        return SQLITE_OK; /* it is gone */
    return row_read(st, 0, &store_actors, row, t->names) ? SQLITE_MISMATCH : take(op, row);
}

static int get_folded(struct states *t, struct store_op *op)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    sqlite3_stmt *st = t->all[GET_FOLDED];
    int rc = row_bind_key(st, &store_actors, op->row, t->names);
    if (rc != SQLITE_OK || (rc = sqlite3_step(st)) != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    return row_read(st, 0, &store_actors, row, t->names) ? SQLITE_MISMATCH : take(op, row);
}

static int get_one(struct states *t, struct store_op *op)
{
    const struct store_actor *row = (const struct store_actor *)op->row;
    const struct fresh_actor *actor = fresh_find(&t->fresh, row, fresh_hash(&t->fresh, row));
    op->found = false;
    int rc = actor ? get_turn(t, op, actor->seq) : get_folded(t, op);
    sqlite3_reset(t->all[actor ? GET_TURN : GET_FOLDED]);
    return rc;
}

static int add_rows(struct states *t, struct store_op *op, sqlite3_stmt *st)
{
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
        if (row_read(st, 0, &store_actors, row, t->names))
            return SQLITE_MISMATCH;
        if (!store_chunk_row(op->chunk, &store_actors, row))
            return SQLITE_NOMEM;
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int get_page(struct states *t, struct store_op *op)
{
    sqlite3_stmt *st = t->all[PAGE];
    int rc = row_bind_key(st, &store_actors, op->row, t->names);
    if (rc != SQLITE_OK)
        return rc;
    if (!store_chunk_begin(&op->chunk))
        return SQLITE_NOMEM;
    sqlite3_bind_int64(st, 4, op->limit);
    rc = add_rows(t, op, st);
    sqlite3_reset(st);
    return rc;
}

int states_get(struct states *t, struct store_op *op)
{
    assert(op->table == &store_actors && t->count == 0);
    return op->kind == STORE_ROW_PAGE ? get_page(t, op) : get_one(t, op);
}

/* --- Folded --- */

bool states_fold_due(const struct states *t, bool idle)
{
    return t->folds || t->next - t->oldest >= (idle ? FOLD_AT_REST : FOLD_AT);
}

static int run(struct states *t, int which, uint64_t until)
{
    if (sqlite3_bind_parameter_count(t->all[which]) > 0)
        sqlite3_bind_int64(t->all[which], 1, (sqlite3_int64)until);
    return statement_run(t->all[which]);
}

static int run_all(struct states *t, const int *which, uint32_t count)
{
    int rc = SQLITE_OK;
    for (uint32_t n = 0; n < count && rc == SQLITE_OK; n++)
        rc = run(t, which[n], 0);
    return rc;
}

static int forget_part(struct states *t)
{
    sqlite3_stmt *st = t->all[PART_ACTORS];
    int rc;
    bool good = true;
    while (good && (rc = sqlite3_step(st)) == SQLITE_ROW)
        good = fresh_forget(&t->fresh, (struct fresh_actor *)(intptr_t)sqlite3_column_int64(st, 0));
    sqlite3_reset(st);
    return !good ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int fold_part(struct states *t, uint64_t until)
{
    static const int steps[] = {PART_PUT, PART_REMOVE, PART_FORGET, PART_END, PART_CLEAR};
    const uint32_t more = t->added + t->added / 2; /* than come: it has to end */
    sqlite3_bind_int64(t->all[PART], 2, more > t->fold_step ? more : t->fold_step);
    int rc = run(t, PART, until);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_changes(t->db) == 0)
        return run(t, PLACED, 0); /* no name is left behind the last */
    rc = forget_part(t);
    return rc != SQLITE_OK ? rc : run_all(t, steps, sizeof steps / sizeof *steps);
}

/* SQLite frees a page a row. */
static int shrink(struct states *t)
{
    int rc;
    while ((rc = sqlite3_step(t->all[SHRINK])) == SQLITE_ROW)
        ;
    sqlite3_reset(t->all[SHRINK]);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The first go first: a turn that is there is never older than one of its actor that is not. */
static int delete_part(struct states *t, uint64_t until)
{
    const uint32_t more = 4 * t->added; /* likewise */
    uint64_t end = t->oldest + (more > t->delete_step ? more : t->delete_step);
    bool last = end > until;
    t->oldest = last ? until + 1 : end;
    int rc = run(t, DELETE, t->oldest);
    if (rc == SQLITE_OK)
        rc = shrink(t);
    if (rc != SQLITE_OK || !last)
        return rc;
    t->folds = false;
    return run(t, END, 0);
}

static int fold(struct states *t)
{
    sqlite3_stmt *st = t->all[FOLD];
    int rc = sqlite3_step(st);
    uint64_t until = (uint64_t)sqlite3_column_int64(st, 0);
    bool placed = sqlite3_column_type(st, 1) == SQLITE_NULL;
    for (int n = 0; n < 3; n++)
        sqlite3_bind_value(t->all[PART], 3 + n, sqlite3_column_value(st, 1 + n));
    sqlite3_reset(st);
    if (rc != SQLITE_ROW)
        return rc == SQLITE_DONE ? SQLITE_INTERNAL : rc;
    t->folds = true;
    if (until == 0)
        return run(t, BEGIN, t->next - 1);
    return placed ? delete_part(t, until) : fold_part(t, until);
}

/* What a turn holds was bound as that of a row is, so that only damage can be refused. */
int states_fold(struct states *t)
{
    int rc = fold(t);
    return statement_failed_alone(rc) ? SQLITE_CORRUPT : rc;
}
