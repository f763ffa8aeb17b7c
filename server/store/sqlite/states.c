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
    LOOKS = 4,           /* at actors, for each of these rows: a look is cheap */
    DELETE_STEP = 4096,  /* turns that were folded */
    WAITING = 1024,      /* turns: room for so many, at first */
    SQL = 2048,
    NAMES = 256
};

/* --- The statements --- */

enum {
    APPEND,
    GET_TURN,
    GET_FOLDED,
    PAGE_TURN,
    PAGE_FOLDED,
    PUT_FOLDED, /* from a turn */
    REMOVE_FOLDED,
    DELETE,
    LAST_TURNS
};
_Static_assert(LAST_TURNS + 1 == STATES_STATEMENTS, "each has a place");

#define KEY "type, key, tenant"
#define IS  "WHERE type = ?1 AND key = ?2 AND tenant = ?3"

/* @1: the columns of `actors`, which `turns` has, too; @2: the same without blobs. */
static const char *const texts[STATES_STATEMENTS] = {
    [GET_TURN] = "SELECT @1 FROM turns WHERE seq = ?1",
    [GET_FOLDED] = "SELECT @1 FROM actors " IS,
    [PAGE_TURN] = "SELECT @2 FROM turns WHERE seq = ?1",
    [PAGE_FOLDED] = "SELECT @2 FROM actors WHERE (" KEY ") >= "
                    "(ifnull(?1, ''), ifnull(?2, ''), ifnull(?3, '')) ORDER BY " KEY,
    [PUT_FOLDED] = "REPLACE INTO actors (@1) SELECT @1 FROM turns WHERE seq = ?1",
    [REMOVE_FOLDED] = "DELETE FROM actors " IS,
    [DELETE] = "DELETE FROM turns WHERE seq < ?1",
    [LAST_TURNS] = "SELECT " KEY ", seq, gone IS NOT NULL FROM turns ORDER BY seq"};

static void columns(char text[static NAMES], bool blobs)
{
    size_t len = 0;
    for (uint32_t n = 0; n < store_actors.count; n++) {
        const struct store_column *c = &store_actors.columns[n];
        bool none = c->kind == COLUMN_BLOB && !blobs;
        len += (size_t)snprintf(text + len, NAMES - len, "%s%s", n ? ", " : "",
                                none ? "NULL" : c->name);
    }
    assert(len < NAMES);
}

static void expand(char sql[static SQL], const char *text, const char *const columns_of[2])
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
    char all[NAMES], plain[NAMES], sql[SQL];
    int rc = SQLITE_OK;
    columns(all, true);
    columns(plain, false);
    const char *const columns_of[] = {all, plain};
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
        t->fold.oldest = sqlite3_column_type(st, 0) == SQLITE_NULL
                             ? t->next
                             : (uint64_t)sqlite3_column_int64(st, 0);
        t->kept = t->fold;
    }
    int end = sqlite3_finalize(st);
    return rc != SQLITE_OK ? rc : end;
}

/* --- Which actors have turns --- */

static int note(struct states *t, const struct store_actor *row, uint64_t hash,
                struct waiting_turn *turn)
{
    const struct store_turn noted = {.seq = turn->seq, .gone = turn->op->kind == STORE_ROW_REMOVE};
    struct fresh_actor *actor = fresh_note(&t->fresh, row, hash, &noted);
    turn->actor = actor;
    if (!actor)
        return SQLITE_NOMEM;
    uint64_t before = t->fresh.changes[t->fresh.count - 1].before;
    t->fold.left -= before > 0 && before <= t->fold.until; /* it is the next fold's now */
    actor->slot = (uint32_t)(turn - t->waiting);
    return SQLITE_OK;
}

static struct span text_of(sqlite3_stmt *st, int column)
{
    const void *at = sqlite3_column_text(st, column);
    return span_of(at, (size_t)sqlite3_column_bytes(st, column));
}

/* Numbers below 1 are of damage, for which sqlite_load() refuses the file. */
static bool note_row(struct states *t, sqlite3_stmt *st)
{
    const struct store_actor row = {
        .type = text_of(st, 0), .key = text_of(st, 1), .tenant = text_of(st, 2)};
    int64_t seq = sqlite3_column_int64(st, 3);
    const struct store_turn turn = {.seq = (uint64_t)seq,
                                    .gone = (uint8_t)sqlite3_column_int(st, 4)};
    bool good = seq <= 0 || fresh_note(&t->fresh, &row, fresh_hash(&t->fresh, &row), &turn);
    fresh_keep(&t->fresh);
    return good;
}

static int note_all(struct states *t)
{
    sqlite3_stmt *st = t->all[LAST_TURNS];
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        if (!note_row(t, st))
            rc = SQLITE_NOMEM;
    int end = sqlite3_reset(st);
    return rc == SQLITE_DONE ? end : rc;
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
        return before->actor->gone == (op->kind == STORE_ROW_REMOVE)
                   ? SQLITE_OK
                   : note(t, (const struct store_actor *)op->row, hash, before);
    }
    return make_room(t) ? add(t, op, hash, at_once) : SQLITE_NOMEM;
}

struct states_savepoint states_savepoint(const struct states *t)
{
    assert(t->count == 0);
    return (struct states_savepoint){t->fresh.count, t->fold};
}

void states_undo(struct states *t, const struct states_savepoint *savepoint)
{
    t->count = 0;
    t->fold = savepoint ? savepoint->fold : t->kept;
    fresh_undo(&t->fresh, savepoint ? savepoint->changes : 0);
}

void states_keep(struct states *t)
{
    assert(t->count == 0);
    t->kept = t->fold;
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

/* Reads the next row.  SQLITE_ROW, SQLITE_DONE where there is none, or an error. */
static int read_row(struct states *t, sqlite3_stmt *st, void *row)
{
    int rc = sqlite3_step(st);
    if (rc != SQLITE_ROW)
        return rc;
    return row_read(st, 0, &store_actors, row, t->names) ? SQLITE_MISMATCH : SQLITE_ROW;
}

static int get(struct states *t, struct store_op *op, int which)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    int rc = read_row(t, t->all[which], row);
    if (rc == SQLITE_ROW)
        rc = take(op, row);
    sqlite3_reset(t->all[which]);
    return rc;
}

static int get_turn(struct states *t, struct store_op *op, uint64_t seq)
{
    sqlite3_bind_int64(t->all[GET_TURN], 1, (sqlite3_int64)seq);
    int rc = get(t, op, GET_TURN);
    return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

static int get_folded(struct states *t, struct store_op *op)
{
    int rc = row_bind_key(t->all[GET_FOLDED], &store_actors, op->row, t->names);
    if (rc == SQLITE_OK)
        rc = get(t, op, GET_FOLDED);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int get_one(struct states *t, struct store_op *op)
{
    const struct store_actor *row = (const struct store_actor *)op->row;
    const struct fresh_actor *actor = fresh_find(&t->fresh, row, fresh_hash(&t->fresh, row));
    op->found = false;
    if (!actor)
        return get_folded(t, op);
    return actor->gone ? SQLITE_OK : get_turn(t, op, actor->seq);
}

/* --- Read by pages --- */

/* A page has two sources in the order of names: actors with turns, and rows of the others. */
struct page {
    struct states *states;
    struct fresh_actor *turn; /* the next one that has a turn; NULL: there is none */
    bool has_row;
    alignas(8) uint8_t row[STORE_ROW_MAX];
};

static void skip_gone(struct page *p)
{
    while (p->turn && p->turn->gone)
        p->turn = fresh_next(&p->states->fresh, p->turn);
}

/* Returns SQLITE_OK where the next row is there, and where there is none any more. */
static int next_folded(struct page *p)
{
    struct states *t = p->states;
    const struct store_actor *row = (const struct store_actor *)p->row;
    int rc;
    do {
        memset(p->row, 0, sizeof p->row);
        rc = read_row(t, t->all[PAGE_FOLDED], p->row);
    } while (rc == SQLITE_ROW && fresh_find(&t->fresh, row, fresh_hash(&t->fresh, row)));
    p->has_row = rc == SQLITE_ROW;
    return p->has_row || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int add_row(struct store_op *op, const void *row)
{
    return store_chunk_row(op->chunk, &store_actors, row) ? SQLITE_OK : SQLITE_NOMEM;
}

static int add_folded(struct page *p, struct store_op *op)
{
    int rc = add_row(op, p->row);
    return rc == SQLITE_OK ? next_folded(p) : rc;
}

static int add_turn(struct page *p, struct store_op *op)
{
    alignas(8) uint8_t row[STORE_ROW_MAX] = {0};
    sqlite3_stmt *st = p->states->all[PAGE_TURN];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)p->turn->seq);
    int rc = read_row(p->states, st, row);
    if (rc == SQLITE_ROW)
        rc = add_row(op, row);
    sqlite3_reset(st);
    p->turn = fresh_next(&p->states->fresh, p->turn);
    skip_gone(p);
    return rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
}

static bool is_turn_next(const struct page *p)
{
    if (!p->turn || !p->has_row)
        return p->turn != NULL;
    const struct store_actor name = fresh_name(p->turn);
    return fresh_compare(&name, (const struct store_actor *)p->row) < 0;
}

static int add_rows(struct page *p, struct store_op *op)
{
    int rc = next_folded(p);
    skip_gone(p);
    for (uint32_t n = 0; n < op->limit && rc == SQLITE_OK && (p->turn || p->has_row); n++)
        rc = is_turn_next(p) ? add_turn(p, op) : add_folded(p, op);
    return rc;
}

static int get_page(struct states *t, struct store_op *op)
{
    struct page page = {.states = t,
                        .turn = fresh_from(&t->fresh, (const struct store_actor *)op->row)};
    int rc = row_bind_key(t->all[PAGE_FOLDED], &store_actors, op->row, t->names);
    if (rc == SQLITE_OK)
        rc = store_chunk_begin(&op->chunk) ? add_rows(&page, op) : SQLITE_NOMEM;
    sqlite3_reset(t->all[PAGE_FOLDED]);
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
    return t->fold.until > 0 || t->next - t->fold.oldest >= (idle ? FOLD_AT_REST : FOLD_AT);
}

static int run_number(struct states *t, int which, uint64_t number)
{
    sqlite3_bind_int64(t->all[which], 1, (sqlite3_int64)number);
    return statement_run(t->all[which]);
}

static int fold_one(struct states *t, struct fresh_actor *actor)
{
    int rc = SQLITE_OK;
    if (actor->gone) {
        const struct store_actor name = fresh_name(actor);
        rc = row_bind_key(t->all[REMOVE_FOLDED], &store_actors, &name, t->names);
        if (rc == SQLITE_OK)
            rc = statement_run(t->all[REMOVE_FOLDED]);
    } else {
        rc = run_number(t, PUT_FOLDED, actor->seq);
    }
    return rc != SQLITE_OK || fresh_forget(&t->fresh, actor) ? rc : SQLITE_NOMEM;
}

static int fold_part(struct states *t)
{
    const uint32_t more = t->added + t->added / 2; /* see states_fold() */
    uint32_t rows = more > t->fold_step ? more : t->fold_step, looks = LOOKS * rows;
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && t->fold.left > 0 && rows > 0 && looks > 0; looks--) {
        struct fresh_actor *actor = fresh_next(&t->fresh, t->fold.passed);
        assert(actor);
        if (actor->seq > t->fold.until) {
            t->fold.passed = actor;
            continue;
        }
        rc = fold_one(t, actor);
        t->fold.left--;
        rows--;
    }
    return rc;
}

/* The first go first: a turn that is there is never older than one of its actor that is not. */
static int delete_part(struct states *t)
{
    const uint32_t more = 4 * t->added;
    uint64_t end = t->fold.oldest + (more > t->delete_step ? more : t->delete_step);
    bool last = end > t->fold.until;
    t->fold.oldest = last ? t->fold.until + 1 : end;
    if (last)
        t->fold = (struct fold){.oldest = t->fold.oldest};
    return run_number(t, DELETE, t->fold.oldest);
}

static int fold(struct states *t)
{
    if (t->fold.until > 0)
        return t->fold.left > 0 ? fold_part(t) : delete_part(t);
    t->fold.until = t->next - 1;
    t->fold.left = t->fresh.by_name.count;
    return SQLITE_OK;
}

/* What a turn holds was bound as that of a row is, so that only damage can be refused. */
int states_fold(struct states *t)
{
    int rc = fold(t);
    return statement_failed_alone(rc) ? SQLITE_CORRUPT : rc;
}
