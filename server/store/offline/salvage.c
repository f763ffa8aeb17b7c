#include "server/store/offline/salvage.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "server/store/offline/scan.h"
#include "server/store/offline/source.h"
#include "server/store/sqlite/row_sqlite.h"
#include "server/store/sqlite/schema.h"
#include "server/store/sqlite/sound.h"
#include "server/store/sqlite/statements.h"

enum {
    LINE = 500,
    NAMED = 100 /* findings of one kind that are reported one by one */,
    NAME = 512
};

struct salvage {
    const struct store_offline *o;
    const struct salvage_taker *taker;
    struct source source;
    struct row_names names;
    sqlite3 *seen; /* in memory: the numbers of the tasks that were given */
    sqlite3_stmt *add, *find, *options, *life;
    sqlite3_stmt *add_turn, *find_turn; /* of `seen`: the last turn of each actor */
    bool stopped;                       /* the taker wants no more */
    bool damaged;                       /* something was found */
    bool doubtful;                      /* that a task without a life was never run */
    const char *table;                  /* that is being read */
    const struct salvage_plain *plain;
    uint64_t last, seq; /* the event, or the number, that was given last */
    uint64_t revived, strays, open;
    uint8_t dead;             /* the state */
    struct row_counters rows; /* how many ended how, and the highest number and fence */
};

static void __attribute__((format(printf, 3, 4)))
say(struct salvage *s, bool harmless, const char *format, ...)
{
    char line[LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    s->damaged |= !harmless;
    s->taker->finding(s->taker->arg, line, harmless);
}

#define FOUND(s, ...) say(s, false, __VA_ARGS__)

static const char *why(const struct salvage *s)
{
    return sqlite3_errmsg(s->source.db);
}

static void on_gap(void *arg, int64_t from, int64_t to)
{
    struct salvage *s = arg;
    if (from == INT64_MIN && to == INT64_MAX)
        FOUND(s, "nothing of `%s` can be read", s->table);
    else if (to == INT64_MAX)
        FOUND(s, "`%s`: rows after number %" PRId64 " cannot be read", s->table, from - 1);
    else
        FOUND(s, "`%s`: rows from number %" PRId64 " to %" PRId64 " cannot be read", s->table, from,
              to - 1);
}

static void bad_column(struct salvage *s, const struct store_table *m, uint64_t id,
                       const struct store_column *c)
{
    FOUND(s, "row %" PRId64 " of `%s` has an impossible value in the column %s", (int64_t)id,
          m->table, c->name);
}

/* --- Tasks --- */

/* True: it was not there before. */
static bool note(struct salvage *s, uint64_t id)
{
    sqlite3_bind_int64(s->add, 1, (sqlite3_int64)id);
    sqlite3_step(s->add);
    sqlite3_reset(s->add);
    return sqlite3_changes(s->seen) == 1;
}

static bool is_noted(struct salvage *s, uint64_t id)
{
    sqlite3_bind_int64(s->find, 1, (sqlite3_int64)id);
    bool found = sqlite3_step(s->find) == SQLITE_ROW;
    sqlite3_reset(s->find);
    return found;
}

enum part { PART_NONE, PART_READ, PART_LOST };

/* The other rows of a task, by its number. */
static enum part read_part(struct salvage *s, sqlite3_stmt *st, const struct store_table *m,
                           struct store_task *task)
{
    struct store_task before = *task;
    sqlite3_reset(st);
    sqlite3_bind_int64(st, 1, (sqlite3_int64)task->id);
    int rc = sqlite3_step(st);
    const struct store_column *bad = rc == SQLITE_ROW ? row_read(st, 0, m, task, &s->names) : NULL;
    if (rc == SQLITE_DONE)
        return PART_NONE;
    if (rc == SQLITE_ROW && !bad && task->id == before.id)
        return PART_READ;
    if (bad)
        bad_column(s, m, before.id, bad);
    *task = before;
    return PART_LOST;
}

static void count(struct salvage *s, const struct store_task *task)
{
    const char *state = s->o->states[task->state];
    const struct {
        const char *name;
        uint64_t *rows;
    } ends[] = {{"done", &s->rows.done},
                {"failed", &s->rows.failed},
                {"cancelled", &s->rows.cancelled},
                {"expired", &s->rows.expired},
                {"dead", &s->rows.dead}};
    for (size_t n = 0; n < sizeof ends / sizeof *ends; n++)
        if (strcmp(state, ends[n].name) == 0) {
            ++*ends[n].rows;
            return;
        }
    s->open++;
}

/* What became of it, or how it was to be run, is not known: nobody runs it by himself. */
static void revive(struct salvage *s, struct store_task *task)
{
    static const char text[] = "what became of it was lost with a part of the store's file; it may "
                               "have run";
    if (s->revived++ < NAMED)
        FOUND(s, "task %" PRIu64 ": what became of it may be lost; it is given as dead", task->id);
    task->state = s->dead;
    task->cancel_asked = 0;
    task->due_at = 0;
    task->error_code = span_text("DAMAGED");
    task->error_text = span_of(text, sizeof text - 1);
    task->result = span_of(NULL, 0);
}

static bool is_open(const struct salvage *s, const struct store_task *task)
{
    struct salvage probe = {.o = s->o};
    count(&probe, task);
    return probe.open == 1;
}

static enum scan_row give_task(struct salvage *s, struct store_task *task)
{
    enum part options = read_part(s, s->options, &row_options, task);
    enum part life = read_part(s, s->life, &row_lives, task);
    bool has_life = life == PART_READ;
    task->has_options = options == PART_READ;
    bool unknown = life == PART_LOST || (life == PART_NONE && s->doubtful) ||
                   (options == PART_LOST && is_open(s, task));
    if (unknown) {
        revive(s, task);
        has_life = true;
    }
    const char *fault = s->o->task_fault(task);
    if (fault) {
        FOUND(s, "task %" PRIu64 ": %s", task->id, fault);
        return SCAN_NEW;
    }
    note(s, task->id);
    count(s, task);
    if (task->id > s->rows.last_id)
        s->rows.last_id = task->id;
    s->stopped = !s->taker->task(s->taker->arg, task, has_life);
    return s->stopped ? SCAN_STOP : SCAN_NEW;
}

static enum scan_row task_row(void *arg, sqlite3_stmt *st)
{
    struct salvage *s = arg;
    struct store_task task = {0};
    const struct store_column *bad = row_read(st, 0, &row_submissions, &task, &s->names);
    if (is_noted(s, task.id))
        return SCAN_KNOWN;
    if (bad) {
        bad_column(s, &row_submissions, task.id, bad);
        return SCAN_NEW;
    }
    if (task.id == 0 || task.id > INT64_MAX) {
        FOUND(s, "task %" PRId64 ": its number is none", (int64_t)task.id);
        return SCAN_NEW;
    }
    return give_task(s, &task);
}

/* --- Events --- */

static enum scan_row event_row(void *arg, sqlite3_stmt *st)
{
    struct salvage *s = arg;
    struct store_event event = {0};
    const struct store_column *bad = row_read(st, 0, &row_events, &event, &s->names);
    if (event.id == 0) { /* or it cannot be read: nobody knows whether it came before */
        bad_column(s, &row_events, 0, bad ? bad : &row_events.columns[0]);
        return SCAN_NEW;
    }
    if (event.id < s->last || (event.id == s->last && event.seq <= s->seq))
        return SCAN_KNOWN;
    s->last = event.id;
    s->seq = event.seq;
    const char *fault = bad ? NULL : s->o->event_fault(&event);
    if (bad)
        bad_column(s, &row_events, event.id, bad);
    else if (fault)
        FOUND(s, "event %" PRIu32 " of task %" PRId64 ": %s", event.seq, (int64_t)event.id, fault);
    else if (is_noted(s, event.id))
        s->stopped = !s->taker->event(s->taker->arg, &event);
    else
        s->strays++;
    return s->stopped ? SCAN_STOP : SCAN_NEW;
}

/* --- Tables that are read by number --- */

static void numbered_rows(struct salvage *s, const struct store_table *m, const char *key,
                          enum scan_row (*row)(void *arg, sqlite3_stmt *st))
{
    char sql[ROW_SQL_MAX];
    const struct scan scan = {row, on_gap, s};
    s->table = m->table;
    row_select_from_sql(m, key, sql);
    if (!s->stopped && scan_table(s->source.db, sql, &scan) != SQLITE_OK)
        FOUND(s, "`%s` cannot be read: %s", m->table, why(s));
}

/* --- Tables whose rows belong to no task --- */

const struct salvage_plain salvage_plain[SALVAGE_PLAIN] = {
    {"queue", &store_queues, false},
    {"rate", &store_rates, true},
    {"semaphore", &store_semaphores, true},
    {"hold", &store_holds, true},
    {"cron", &store_crons, true},
    {"actor", &store_actors, false},
    {"actor_type", &store_actor_types, false},
    {"batch", &store_batches, true}};

const char *salvage_fault(const struct store_offline *o, const struct salvage_plain *plain,
                          const union salvage_row *row)
{
    if (plain->map == &store_rates)
        return o->rate_fault(&row->rate);
    if (plain->map == &store_semaphores)
        return o->semaphore_fault(&row->semaphore);
    if (plain->map == &store_holds)
        return o->hold_fault(&row->hold);
    if (plain->map == &store_crons)
        return o->cron_fault(&row->cron);
    if (plain->map == &store_actors)
        return o->actor_fault(&row->actor);
    if (plain->map == &store_actor_types)
        return o->actor_type_fault(&row->actor_type);
    if (plain->map == &store_batches)
        return o->batch_fault(&row->batch);
    return row->queue.method.len > 0 ? NULL : "it has no name";
}

/* The key of a row, whose columns are the first, or its number. */
struct named {
    char text[NAME];
    size_t len; /* more than NAME: of no name of ours */
};

static void add_part(struct named *name, sqlite3_stmt *st, int column, const char *before)
{
    const void *at = sqlite3_column_blob(st, column);
    size_t len = (size_t)sqlite3_column_bytes(st, column), room = sizeof name->text - name->len;
    if (column > 0 && room > 0) {
        name->text[name->len++] = *before;
        room--;
    }
    memcpy(name->text + name->len, at ? at : "", len < room ? len : room);
    name->len = len <= room ? name->len + len : NAME + 1;
}

/* `between`: what separates its columns.  With a NUL, which is in none, names are in the order of
 * the rows. */
static void read_key(sqlite3_stmt *st, const struct store_table *m, const char *between,
                     struct named *name)
{
    name->len = 0;
    add_part(name, st, 0, between);
    for (int n = 1; (uint32_t)n < m->count && m->columns[n - 1].key && m->columns[n].key; n++)
        if (name->len <= NAME && (*between == '\0' || sqlite3_column_bytes(st, n) > 0))
            add_part(name, st, n, between);
}

/* --- Turns that are not in the rows of their actors yet --- */

static enum scan_row turn_row(void *arg, sqlite3_stmt *st)
{
    struct salvage *s = arg;
    struct store_turn turn = {0};
    const struct store_column *bad = row_read(st, 0, &row_turns, &turn, &s->names);
    const char *fault = bad ? NULL : s->o->actor_fault(&turn.actor);
    if (turn.seq > s->last && turn.seq <= ROW_TURN_MAX)
        s->last = turn.seq;
    else if (turn.seq > 0 && turn.seq <= ROW_TURN_MAX)
        return SCAN_KNOWN;
    else
        fault = "its number is none";
    if (bad)
        bad_column(s, &row_turns, turn.seq, bad);
    else if (fault)
        FOUND(s, "row %" PRId64 " of `%s`: %s", (int64_t)turn.seq, row_turns.table, fault);
    else if (row_bind(s->add_turn, &row_turns, &turn, &s->names) != SQLITE_OK ||
             statement_run(s->add_turn) != SQLITE_OK)
        FOUND(s, "no memory for a turn");
    return SCAN_NEW;
}

static bool has_turn(struct salvage *s, const struct store_actor *actor)
{
    row_bind_key(s->find_turn, &store_actors, actor, &s->names);
    bool found = sqlite3_step(s->find_turn) == SQLITE_ROW;
    sqlite3_reset(s->find_turn);
    return found;
}

static void give_turns(struct salvage *s, const struct salvage_plain *plain)
{
    sqlite3_stmt *st;
    sqlite3_prepare_v2(s->seen, "SELECT * FROM turns WHERE gone IS NULL ORDER BY type, key, tenant",
                       -1, &st, NULL);
    while (!s->stopped && sqlite3_step(st) == SQLITE_ROW) {
        struct store_turn turn = {0};
        union salvage_row row = {0};
        row_read(st, 0, &row_turns, &turn, &s->names);
        row.actor = turn.actor;
        s->stopped = !s->taker->plain(s->taker->arg, plain, &row);
    }
    sqlite3_finalize(st);
}

/* --- Rows --- */

static void give_plain(struct salvage *s, sqlite3_stmt *st)
{
    union salvage_row row = {0};
    const struct store_table *m = s->plain->map;
    const struct store_column *bad = row_read(st, 0, m, &row, &s->names);
    const char *fault = bad ? NULL : salvage_fault(s->o, s->plain, &row);
    struct named key;
    if (m == &store_actors && !bad && has_turn(s, &row.actor))
        return;
    read_key(st, m, "/", &key);
    int len = (int)(key.len < NAME ? key.len : NAME);
    if (bad)
        FOUND(s, "row \"%.*s\" of `%s` has an impossible value in the column %s", len, key.text,
              m->table, bad->name);
    else if (fault)
        FOUND(s, "row \"%.*s\" of `%s`: %s", len, key.text, m->table, fault);
    else
        s->stopped = !s->taker->plain(s->taker->arg, s->plain, &row);
    if (!bad && !fault && m == &store_holds && row.hold.id > s->rows.last_fence)
        s->rows.last_fence = row.hold.id;
}

static enum scan_row plain_row(void *arg, sqlite3_stmt *st)
{
    struct salvage *s = arg;
    int64_t number = sqlite3_column_int64(st, 0);
    if (number <= 0 || (uint64_t)number <= s->last)
        return SCAN_KNOWN;
    s->last = (uint64_t)number;
    give_plain(s, st);
    return s->stopped ? SCAN_STOP : SCAN_NEW;
}

static int compare(const struct named *a, const struct named *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len > 0 ? memcmp(a->text, b->text, len) : 0;
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* From one end up to what cannot be read; or, backwards, up to `last`. */
static int read_named(struct salvage *s, const char *sql, struct named *last, bool backwards)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(s->source.db, sql, -1, &st, NULL);
    while (rc == SQLITE_OK && !s->stopped && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        struct named name;
        read_key(st, s->plain->map, "", &name);
        if (name.len > NAME) {
            FOUND(s, "a row of `%s` has a name that is too long", s->plain->map->table);
            continue;
        }
        if (backwards && compare(last, &name) >= 0)
            break;
        if (!backwards)
            *last = name;
        give_plain(s, st);
    }
    sqlite3_finalize(st);
    return rc;
}

static void named_rows(struct salvage *s)
{
    char sql[ROW_SQL_MAX];
    struct named last = {.len = 0};
    row_select_sql(s->plain->map, false, sql);
    int rc = read_named(s, sql, &last, false);
    if (rc == SQLITE_OK || rc == SQLITE_DONE)
        return;
    FOUND(s, "some rows of `%s` cannot be read: %s", s->plain->map->table, why(s));
    row_select_sql(s->plain->map, true, sql);
    read_named(s, sql, &last, true);
}

static void plain_rows(struct salvage *s, const struct salvage_plain *plain)
{
    s->plain = plain;
    s->last = 0;
    if (plain->numbered)
        numbered_rows(s, plain->map, plain->map->columns[0].name, plain_row);
    else
        named_rows(s);
    s->last = 0;
    if (plain->map == &store_actors)
        give_turns(s, plain);
}

/* --- Counters --- */

static bool read_counters(struct salvage *s, struct row_counters *c)
{
    char sql[ROW_SQL_MAX];
    sqlite3_stmt *st;
    row_select_sql(&row_counters, false, sql);
    bool good = sqlite3_prepare_v2(s->source.db, sql, -1, &st, NULL) == SQLITE_OK &&
                sqlite3_step(st) == SQLITE_ROW && !row_read(st, 0, &row_counters, c, &s->names);
    sqlite3_finalize(st);
    return good && row_counters_sound(c);
}

/* They are put right where they do not fit what was read: else every audit would tell of it. */
static void counters(struct salvage *s)
{
    struct row_counters c = {0};
    if (!read_counters(s, &c)) {
        FOUND(s, "`counters` cannot be read, or holds what is no count; they are counted anew");
        c = s->rows;
    } else {
        uint64_t open = c.submitted - row_counters_ended(&c);
        if (open != s->open + s->revived)
            FOUND(s, "%" PRId64 " tasks are open by `counters`, and %" PRIu64 " by their rows",
                  (int64_t)open, s->open + s->revived);
        if (c.last_id < s->rows.last_id)
            FOUND(s, "a task has a higher number than `counters` ever saw");
        if (c.last_fence < s->rows.last_fence)
            FOUND(s, "a hold has a higher fence than `counters` ever saw");
        c.dead += s->revived;
    }
    c.submitted = row_counters_ended(&c) + s->open;
    if (c.last_id < s->rows.last_id)
        c.last_id = s->rows.last_id;
    if (c.last_fence < s->rows.last_fence)
        c.last_fence = s->rows.last_fence;
    if (!s->stopped)
        s->stopped = !s->taker->counters(s->taker->arg, &c);
}

/* --- What is wrong with the file --- */

static bool on_table(void *arg, const char *text)
{
    struct salvage *s = arg;
    FOUND(s, "%s", text);
    s->doubtful = true;
    return true;
}

/* A list of free pages that is wrong harms no row that is there. */
static bool on_page(void *arg, const char *text)
{
    struct salvage *s = arg;
    FOUND(s, "%s", text);
    if (!strstr(text, "reelist") && !strstr(text, "is never used"))
        s->doubtful = true;
    return true;
}

/* Rows without a task: the task is lost, or their number is another than it was. */
static void strays_of(struct salvage *s, const struct store_table *m)
{
    char sql[ROW_SQL_MAX];
    sqlite3_stmt *st;
    int rc;
    snprintf(sql, sizeof sql, "SELECT id FROM %s WHERE id NOT IN (SELECT id FROM %s) LIMIT %d",
             m->table, row_submissions.table, NAMED);
    if (sqlite3_prepare_v2(s->source.db, sql, -1, &st, NULL) != SQLITE_OK)
        return;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        FOUND(s, "row %lld of `%s` belongs to no task", sqlite3_column_int64(st, 0), m->table);
        s->doubtful = true;
    }
    s->doubtful |= rc != SQLITE_DONE;
    sqlite3_finalize(st);
}

static void look_at_log(struct salvage *s)
{
    char text[LINE];
    const struct log_look *log = &s->source.log;
    if (log->found == LOG_DAMAGED || log->found == LOG_ALONE) {
        log_check_text(log, text, sizeof text);
        FOUND(s, "%s", text);
    } else if (log->found == LOG_TORN) {
        say(s, true,
            "the last commit in the log (-wal) is not whole, and is left out, as after a power "
            "cut: %" PRIu64 " bytes",
            log->log_size - log->end);
    }
}

static void look_at_file(struct salvage *s)
{
    const struct sound_report tables = {on_table, s, NAMED}, pages = {on_page, s, NAMED};
    if (sound_tables(s->source.db, &tables) > SQLITE_OK)
        on_table(s, why(s));
    if (sound_pages(s->source.db, &pages) > SQLITE_OK)
        on_table(s, why(s));
    strays_of(s, &row_options);
    strays_of(s, &row_lives);
}

/* --- All --- */

static bool prepare_turns(struct salvage *s)
{
    char make[ROW_SQL_MAX], add[ROW_SQL_MAX];
    row_create_sql(&row_turns, schema_version, make);
    row_insert_sql(&row_turns, "REPLACE", add);
    return sqlite3_exec(s->seen, make, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(s->seen, "CREATE UNIQUE INDEX names ON turns (type, key, tenant)", NULL,
                        NULL, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(s->seen, add, -1, &s->add_turn, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(s->seen,
                              "SELECT 1 FROM turns WHERE type = ?1 AND key = ?2 AND tenant = ?3",
                              -1, &s->find_turn, NULL) == SQLITE_OK;
}

static bool prepare_seen(struct salvage *s)
{
    return sqlite3_open(":memory:", &s->seen) == SQLITE_OK &&
           sqlite3_exec(s->seen, "CREATE TABLE seen (id INTEGER PRIMARY KEY)", NULL, NULL, NULL) ==
               SQLITE_OK &&
           sqlite3_prepare_v2(s->seen, "INSERT OR IGNORE INTO seen VALUES (?1)", -1, &s->add,
                              NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(s->seen, "SELECT 1 FROM seen WHERE id = ?1", -1, &s->find, NULL) ==
               SQLITE_OK;
}

static bool prepare_part(struct salvage *s, const struct store_table *m, sqlite3_stmt **st)
{
    char sql[ROW_SQL_MAX];
    row_select_one_sql(m, sql);
    return sqlite3_prepare_v2(s->source.db, sql, -1, st, NULL) == SQLITE_OK;
}

static void all_rows(struct salvage *s)
{
    numbered_rows(s, &row_turns, "seq", turn_row);
    for (int n = 0; n < SALVAGE_PLAIN; n++)
        plain_rows(s, &salvage_plain[n]);
    numbered_rows(s, &row_submissions, "id", task_row);
    numbered_rows(s, &row_events, "task", event_row);
    counters(s);
    if (s->revived > NAMED)
        FOUND(s,
              "%" PRIu64 " tasks in all are given as dead, since what became of them may be "
              "lost",
              s->revived);
    if (s->strays > 0)
        FOUND(s, "%" PRIu64 " events belong to no task, and are left out", s->strays);
}

static enum store_offline_end read_all(struct salvage *s)
{
    look_at_log(s);
    if (!s->source.db)
        return OFFLINE_DAMAGED;
    look_at_file(s);
    if (!prepare_seen(s) || !prepare_turns(s)) {
        FOUND(s, "no memory");
        return OFFLINE_UNREADABLE;
    }
    if (!prepare_part(s, &row_options, &s->options) || !prepare_part(s, &row_lives, &s->life)) {
        FOUND(s, "its tables cannot be read: %s", why(s));
        return OFFLINE_UNREADABLE;
    }
    all_rows(s);
    return s->damaged ? OFFLINE_DAMAGED : OFFLINE_GOOD;
}

static void finish(struct salvage *s)
{
    sqlite3_finalize(s->add);
    sqlite3_finalize(s->find);
    sqlite3_finalize(s->options);
    sqlite3_finalize(s->life);
    sqlite3_finalize(s->add_turn);
    sqlite3_finalize(s->find_turn);
    sqlite3_close(s->seen);
    source_close(&s->source);
}

enum store_offline_end salvage(const struct store_offline *o, const struct salvage_taker *taker)
{
    char error[LINE];
    enum store_offline_end end = OFFLINE_UNREADABLE;
    struct salvage s = {.o = o, .taker = taker, .names = row_names_of(o->states, o->state_count)};
    while (s.dead + 1u < o->state_count && strcmp(o->states[s.dead], "dead") != 0)
        s.dead++;
    if (source_open(&s.source, o->path, error, sizeof error) == 0)
        end = read_all(&s);
    else
        taker->finding(taker->arg, error, false);
    finish(&s);
    return end;
}
