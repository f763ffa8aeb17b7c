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
    SQL = 2048,
    NAMES = 256
};

/* --- The statements --- */

enum {
    APPEND,
    NOTE,
    GET_FRESH,
    GET_FOLDED,
    PAGE,
    FOLD, /* until which turn, and the last name; NULL: all rows are in place */
    BEGIN,
    PART, /* the next names */
    PART_PUT,
    PART_REMOVE,
    PART_FORGET,
    PART_END,
    PART_CLEAR,
    PLACED,
    DELETE,
    END
};
_Static_assert(END + 1 == STATES_STATEMENTS, "each has a place");

#define KEY   "type, key, tenant"
#define F_KEY "f.type, f.key, f.tenant"

/* @1: the columns of `actors`; @2: the same, of `t`; @3: the same without blobs. */
static const char *const texts[STATES_STATEMENTS] = {
    [NOTE] = "REPLACE INTO fresh (" KEY ", seq) VALUES (?1, ?2, ?3, ?4)",
    [GET_FRESH] = "SELECT @2, t.seq, t.gone FROM fresh f LEFT JOIN turns t ON t.seq = f.seq "
                  "WHERE f.type = ?1 AND f.key = ?2 AND f.tenant = ?3",
    [GET_FOLDED] = "SELECT @1 FROM actors WHERE type = ?1 AND key = ?2 AND tenant = ?3",
    [PAGE] = "SELECT @3 FROM (SELECT * FROM (SELECT @1 FROM actors WHERE (" KEY ") >= "
             "(ifnull(?1, ''), ifnull(?2, ''), ifnull(?3, '')) AND NOT EXISTS (SELECT 1 FROM fresh "
             "f WHERE f.type = actors.type AND f.key = actors.key AND f.tenant = actors.tenant) "
             "ORDER BY " KEY " LIMIT ?4) UNION ALL SELECT * FROM (SELECT @2 FROM fresh f CROSS "
             "JOIN turns t ON t.seq = f.seq WHERE (" F_KEY ") >= (ifnull(?1, ''), ifnull(?2, ''), "
             "ifnull(?3, '')) AND t.gone IS NULL ORDER BY " F_KEY " LIMIT ?4)) "
             "ORDER BY " KEY " LIMIT ?4",
    [FOLD] = "SELECT until, " KEY " FROM fold",
    [BEGIN] = "UPDATE fold SET until = ?1, type = '', key = '', tenant = ''",
    [PART] = "INSERT INTO part SELECT " KEY ", seq FROM fresh WHERE (" KEY ") > (?3, ?4, ?5) "
             "AND seq <= ?1 ORDER BY " KEY " LIMIT ?2",
    [PART_PUT] = "REPLACE INTO actors (@1) SELECT @2 FROM part p CROSS JOIN turns t ON "
                 "t.seq = p.seq WHERE t.gone IS NULL",
    [PART_REMOVE] = "DELETE FROM actors WHERE (" KEY ") IN (SELECT p.type, p.key, p.tenant FROM "
                    "part p CROSS JOIN turns t ON t.seq = p.seq WHERE t.gone IS NOT NULL)",
    [PART_FORGET] = "DELETE FROM fresh WHERE (" KEY ") IN (SELECT " KEY " FROM part)",
    [PART_END] = "UPDATE fold SET (" KEY ") = (SELECT " KEY " FROM part ORDER BY rowid DESC "
                 "LIMIT 1)",
    [PART_CLEAR] = "DELETE FROM part",
    [PLACED] = "UPDATE fold SET type = NULL",
    [DELETE] = "DELETE FROM turns WHERE seq <= ?1 AND "
               "seq < (SELECT min(seq) FROM turns) + ?2",
    [END] = "UPDATE fold SET until = 0"};

static const char made[] =
    "PRAGMA temp_store = MEMORY;"
    "CREATE TEMP TABLE fresh (type TEXT, key TEXT, tenant TEXT, seq INTEGER, PRIMARY KEY (" KEY
    ")) WITHOUT ROWID;"
    "CREATE TEMP TABLE fold (until INTEGER, type TEXT, key TEXT, tenant TEXT);"
    "CREATE TEMP TABLE part (type TEXT, key TEXT, tenant TEXT, seq INTEGER);"
    "INSERT INTO fold VALUES (0, NULL, NULL, NULL);"
    "REPLACE INTO fresh SELECT type, key, ifnull(tenant, ''), seq FROM turns ORDER BY seq;";

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
            row_insert_sql(&row_turns, "INSERT", sql);
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

int states_open(struct states *t, sqlite3 *db, const struct row_names *names)
{
    *t = (struct states){
        .db = db, .names = names, .fold_step = FOLD_STEP, .delete_step = DELETE_STEP};
    int rc = sqlite3_exec(db, made, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = prepare_all(t);
    return rc == SQLITE_OK ? read_numbers(t) : rc;
}

void states_close(struct states *t)
{
    for (int n = 0; n < STATES_STATEMENTS; n++)
        sqlite3_finalize(t->all[n]);
}

/* --- Appended --- */

int states_put(struct states *t, const struct store_op *op)
{
    const struct store_actor *row = (const struct store_actor *)op->row;
    struct store_turn turn = {.seq = t->next, .gone = op->kind == STORE_ROW_REMOVE};
    turn.actor =
        turn.gone ? (struct store_actor){.tenant = row->tenant, .type = row->type, .key = row->key}
                  : *row;
    int rc = row_bind(t->all[APPEND], &row_turns, &turn, t->names);
    if (rc == SQLITE_OK)
        rc = statement_run(t->all[APPEND]);
    if (rc == SQLITE_OK)
        rc = row_bind_key(t->all[NOTE], &store_actors, row, t->names);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_int64(t->all[NOTE], 4, (sqlite3_int64)turn.seq);
    t->next++;
    t->added++;
    return statement_run(t->all[NOTE]);
}

/* --- Read by their names --- */

static bool is_text(const struct store_column *c)
{
    return c->kind == COLUMN_TEXT || c->kind == COLUMN_BLOB;
}

static size_t size_of_spans(const struct store_table *t, const uint8_t *row)
{
    size_t size = 0;
    for (uint32_t n = 0; n < t->count; n++)
        if (is_text(&t->columns[n]) && t->columns[n].key == KEY_NONE)
            size += ((const struct span *)(row + t->columns[n].at))->len;
    return size;
}

/* The key stays the client's: the batch may have to be applied again. */
static int take(struct store_op *op, const uint8_t *row)
{
    size_t size = size_of_spans(op->table, row);
    uint8_t *to = size > 0 ? realloc(op->bytes, size) : op->bytes;
    if (size > 0 && !to)
        return SQLITE_NOMEM;
    op->bytes = to;
    op->found = true;
    for (uint32_t n = 0; n < op->table->count; n++) {
        const struct store_column *c = &op->table->columns[n];
        if (c->key != KEY_NONE)
            continue;
        memcpy(op->row + c->at, row + c->at, row_field_size(c->kind));
        struct span *field = (struct span *)(op->row + c->at);
        if (!is_text(c) || field->len == 0)
            continue;
        memcpy(to, field->at, field->len);
        *field = span_of(to, field->len);
        to += field->len;
    }
    return SQLITE_OK;
}

/* Is it where the last turn of the actor says?  SQLITE_DONE: it has none that was not folded. */
static int get_fresh(struct states *t, struct store_op *op)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    sqlite3_stmt *st = t->all[GET_FRESH];
    int seq = (int)store_actors.count, rc = row_bind_key(st, &store_actors, op->row, t->names);
    if (rc != SQLITE_OK || (rc = sqlite3_step(st)) != SQLITE_ROW)
        return rc;
    if (sqlite3_column_type(st, seq) == SQLITE_NULL)
        return SQLITE_CORRUPT;
    if (sqlite3_column_type(st, seq + 1) != SQLITE_NULL)
        return SQLITE_OK;
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
    op->found = false;
    int rc = get_fresh(t, op);
    sqlite3_reset(t->all[GET_FRESH]);
    if (rc != SQLITE_DONE)
        return rc;
    rc = get_folded(t, op);
    sqlite3_reset(t->all[GET_FOLDED]);
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
    if (op->chunk)
        store_chunk_clear(op->chunk);
    else if (!(op->chunk = store_chunk_new()))
        return SQLITE_NOMEM;
    sqlite3_bind_int64(st, 4, op->limit);
    rc = add_rows(t, op, st);
    sqlite3_reset(st);
    return rc;
}

int states_get(struct states *t, struct store_op *op)
{
    assert(op->table == &store_actors);
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

static int fold_part(struct states *t, uint64_t until)
{
    static const int steps[] = {PART_PUT, PART_REMOVE, PART_FORGET, PART_END, PART_CLEAR};
    sqlite3_bind_int64(t->all[PART], 2, t->added > t->fold_step ? t->added : t->fold_step);
    int rc = run(t, PART, until);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_changes(t->db) == 0)
        return run(t, PLACED, 0); /* no name is left behind the last */
    return run_all(t, steps, sizeof steps / sizeof *steps);
}

/* The first go first: a turn that is there is never older than one of its actor that is not. */
static int delete_part(struct states *t, uint64_t until)
{
    sqlite3_bind_int64(t->all[DELETE], 2, t->delete_step);
    int rc = run(t, DELETE, until);
    if (rc != SQLITE_OK)
        return rc;
    bool last = sqlite3_changes(t->db) == 0;
    t->oldest += t->delete_step;
    if (last || t->oldest > until)
        t->oldest = until + 1;
    if (!last)
        return SQLITE_OK;
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
