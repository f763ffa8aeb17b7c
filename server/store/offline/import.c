/* Makes a store's file of lines of JSON, or fills a database with them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/store/driver.h"
#include "server/store/offline/json_row.h"
#include "server/store/offline/new_file.h"
#include "server/store/offline/salvage.h"
#include "server/store/sqlite/schema.h"

enum { WHY = 300 };

/* The file gets its name when all lines are in it and on disk. */
struct import {
    const struct store_offline *o;
    FILE *in, *errors;
    struct new_file file;
    sqlite3 *db;
    sqlite3_stmt *submission, *options, *life, *event, *find, *plain[SALVAGE_PLAIN];
    struct row_names names;
    struct json_decoded decoded; /* of the line at hand */
    char why[WHY];               /* a line is refused */
    uint64_t line, tasks, last_id, last_fence;
    uint64_t zeros;     /* texts with U+0000 */
    bool headed, ended; /* the first line came; the counters did */
};

static bool refuse(struct import *im, const char *text)
{
    snprintf(im->why, sizeof im->why, "%s", text);
    return false;
}

static bool refuse_sql(struct import *im)
{
    return refuse(im, sqlite3_errmsg(im->db));
}

/* --- Rows --- */

static bool put(struct import *im, sqlite3_stmt *st, const struct store_table *m, const void *row)
{
    int rc = row_bind(st, m, row, &im->names);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    bool good = rc == SQLITE_DONE || refuse_sql(im);
    sqlite3_reset(st);
    return good;
}

/* The other lines are read, too, so that one import names all such rows. */
static void look_for_zeros(struct import *im, const struct store_table *m, const void *row)
{
    for (uint32_t n = 0; n < m->count; n++) {
        const struct store_column *c = &m->columns[n];
        const struct span *text = (const void *)((const char *)row + c->at);
        if (c->kind != COLUMN_TEXT || text->len == 0 || !memchr(text->at, '\0', text->len))
            continue;
        im->zeros++;
        fprintf(im->errors, "line %llu: `%s` of `%s` has U+0000, which no store takes\n",
                (unsigned long long)im->line, c->name, m->table);
    }
}

static bool read_row(struct import *im, const json_t *object, const struct store_table *m,
                     void *row)
{
    if (!json_to_row(object, m, row, &im->names, &im->decoded, im->why))
        return false;
    look_for_zeros(im, m, row);
    return true;
}

static bool take_plain(struct import *im, const struct salvage_plain *plain, json_t *value)
{
    union salvage_row row = {0};
    if (!read_row(im, value, plain->map, &row))
        return false;
    const char *fault = salvage_fault(im->o, plain, &row);
    if (!fault && plain->map == &store_holds && row.hold.id > im->last_fence)
        im->last_fence = row.hold.id;
    return fault ? refuse(im, fault) : put(im, im->plain[plain - salvage_plain], plain->map, &row);
}

/* A part has the id of its task, and no other. */
static bool read_part(struct import *im, const json_t *part, const struct store_table *m,
                      struct store_task *task)
{
    uint64_t id = task->id;
    return !part || (read_row(im, part, m, task) &&
                     (task->id == id || refuse(im, "a part of it names another id")));
}

static bool check_task(struct import *im, const struct store_task *task)
{
    const char *fault = im->o->task_fault(task);
    return !fault || refuse(im, fault);
}

static bool take_parts(struct import *im, json_t *value, const json_t *options, const json_t *life)
{
    struct store_task task = {.has_options = options != NULL};
    if (!read_row(im, value, &row_submissions, &task) ||
        !read_part(im, options, &row_options, &task) || !read_part(im, life, &row_lives, &task) ||
        !check_task(im, &task) || !put(im, im->submission, &row_submissions, &task) ||
        (options && !put(im, im->options, &row_options, &task)) ||
        (life && !put(im, im->life, &row_lives, &task)))
        return false;
    im->tasks++;
    if (task.id > im->last_id)
        im->last_id = task.id;
    return true;
}

static bool take_task(struct import *im, json_t *value)
{
    json_t *options = json_incref(json_object_get(value, "options"));
    json_t *life = json_incref(json_object_get(value, "life"));
    json_object_del(value, "options");
    json_object_del(value, "life");
    bool good = take_parts(im, value, options, life);
    json_decref(options);
    json_decref(life);
    return good;
}

static bool has_task(struct import *im, uint64_t id)
{
    sqlite3_bind_int64(im->find, 1, (sqlite3_int64)id);
    bool found = sqlite3_step(im->find) == SQLITE_ROW;
    sqlite3_reset(im->find);
    return found;
}

static bool take_event(struct import *im, json_t *value)
{
    struct store_event event = {0};
    if (!read_row(im, value, &row_events, &event))
        return false;
    const char *fault = im->o->event_fault(&event);
    if (fault)
        return refuse(im, fault);
    if (!has_task(im, event.id))
        return refuse(im, "no line before it has its task");
    return put(im, im->event, &row_events, &event);
}

static bool take_store(struct import *im, json_t *value)
{
    json_int_t version = json_integer_value(json_object_get(value, "version"));
    im->headed = true;
    if (version == schema_version)
        return true;
    snprintf(im->why, sizeof im->why, "it is of version %lld, and this ergond reads %d",
             (long long)version, schema_version);
    return false;
}

/* --- Counters --- */

static int64_t count_open(struct import *im)
{
    static const char sql[] =
        "SELECT count(*) FROM submissions LEFT JOIN lives USING (id) WHERE ifnull(state, '') NOT "
        "IN ('done', 'failed', 'cancelled', 'expired', 'dead')";
    sqlite3_stmt *st;
    int64_t open = -1;
    if (sqlite3_prepare_v2(im->db, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        open = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return open;
}

/* People who change the lines by hand need not count: `submitted` follows from the rest.
 */
static void balance(struct import *im, struct row_counters *c)
{
    uint64_t submitted = row_counters_ended(c) + (uint64_t)count_open(im);
    if (submitted != c->submitted)
        fprintf(im->errors, "line %llu: `submitted` becomes %llu, to fit the other lines\n",
                (unsigned long long)im->line, (unsigned long long)submitted);
    c->submitted = submitted;
    if (c->last_id < im->last_id)
        c->last_id = im->last_id;
    if (c->last_fence < im->last_fence)
        c->last_fence = im->last_fence;
}

/* What is zero stays as the tables were made with it. */
static bool prepare_counters(struct import *im, sqlite3_stmt **st)
{
    char sql[ROW_SQL_MAX];
    int len = snprintf(sql, sizeof sql, "UPDATE counters SET ");
    for (uint32_t n = 0; n < row_counters.count; n++) {
        const char *name = row_counters.columns[n].name;
        len += snprintf(sql + len, sizeof sql - (size_t)len, "%s%s = ifnull(?%u, %s)",
                        n ? ", " : "", name, n + 1, name);
    }
    return sqlite3_prepare_v2(im->db, sql, -1, st, NULL) == SQLITE_OK;
}

static bool take_counters(struct import *im, json_t *value)
{
    struct row_counters c = {0};
    sqlite3_stmt *st = NULL;
    im->ended = true;
    if (!read_row(im, value, &row_counters, &c))
        return false;
    balance(im, &c);
    if (!row_counters_sound(&c))
        return refuse(im, "it has a number that is no count, or is too high to go on from");
    bool good = prepare_counters(im, &st) ? put(im, st, &row_counters, &c) : refuse_sql(im);
    sqlite3_finalize(st);
    return good;
}

/* --- Lines --- */

/* The first line says of what version the others are, and the counters end them. */
static bool stands_right(struct import *im, bool is_head)
{
    return (im->headed != is_head && !im->ended) ||
           refuse(im, "it is in the wrong place: {\"store\": ...} is the first line, "
                      "{\"counters\": ...} the last");
}

static bool take_object(struct import *im, json_t *line)
{
    static const struct {
        const char *name;
        bool (*take)(struct import *im, json_t *value);
    } kinds[] = {{"store", take_store},
                 {"task", take_task},
                 {"event", take_event},
                 {"counters", take_counters}};
    bool alone = json_object_size(line) == 1;
    for (size_t n = 0; alone && n < sizeof kinds / sizeof *kinds; n++) {
        json_t *value = json_object_get(line, kinds[n].name);
        if (value)
            return stands_right(im, n == 0) && kinds[n].take(im, value);
    }
    for (size_t n = 0; alone && n < SALVAGE_PLAIN; n++) {
        json_t *value = json_object_get(line, salvage_plain[n].name);
        if (value)
            return stands_right(im, false) && take_plain(im, &salvage_plain[n], value);
    }
    return refuse(im, "it is none of store, queue, rate, semaphore, hold, cron, actor, actor_type, "
                      "batch, task, event and counters");
}

static bool take_line(struct import *im, const char *text, size_t len)
{
    json_error_t error;
    json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    bool good = line ? take_object(im, line) : refuse(im, error.text);
    json_decoded_free(&im->decoded);
    json_decref(line);
    return good;
}

static bool take_lines(struct import *im)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t len;
    bool good = true;
    while (good && (len = getline(&text, &room, im->in)) > 0) {
        im->line++;
        good = take_line(im, text, (size_t)len);
    }
    free(text);
    if (good && !im->ended) {
        im->line++;
        return refuse(im, "the end, {\"counters\": ...}, is missing");
    }
    if (good && im->zeros > 0)
        return refuse(im, "write the lines above without \\u0000, or leave them out");
    return good && (!ferror(im->in) || refuse(im, "it cannot be read"));
}

/* --- The file --- */

static bool prepare(struct import *im, const struct store_table *m, sqlite3_stmt **st)
{
    char sql[ROW_SQL_MAX];
    row_insert_sql(m, "INSERT", sql);
    return sqlite3_prepare_v2(im->db, sql, -1, st, NULL) == SQLITE_OK;
}

static bool prepare_plain(struct import *im)
{
    for (size_t n = 0; n < SALVAGE_PLAIN; n++)
        if (!prepare(im, salvage_plain[n].map, &im->plain[n]))
            return false;
    return true;
}

static bool prepare_all(struct import *im)
{
    return prepare(im, &row_submissions, &im->submission) &&
           prepare(im, &row_options, &im->options) && prepare(im, &row_lives, &im->life) &&
           prepare(im, &row_events, &im->event) && prepare_plain(im) &&
           sqlite3_prepare_v2(im->db, "SELECT 1 FROM submissions WHERE id = ?1", -1, &im->find,
                              NULL) == SQLITE_OK;
}

static bool make_file(struct import *im)
{
    if (new_file_begin(&im->file, im->o->path, im->why, sizeof im->why) != 0)
        return false;
    if (sqlite3_open(im->file.part, &im->db) != SQLITE_OK)
        return refuse_sql(im);
    sqlite3_exec(im->db, "PRAGMA synchronous = EXTRA", NULL, NULL, NULL);
    return schema_prepare(im->db, im->why, sizeof im->why) == 0 &&
           ((sqlite3_exec(im->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
             prepare_all(im)) ||
            refuse_sql(im));
}

static void close_file(struct import *im)
{
    sqlite3_stmt *const all[] = {im->submission, im->options, im->life, im->event, im->find};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        sqlite3_finalize(all[n]);
    for (size_t n = 0; n < SALVAGE_PLAIN; n++)
        sqlite3_finalize(im->plain[n]);
    sqlite3_close(im->db);
}

static enum store_offline_end fill_file(struct import *im)
{
    bool made = make_file(im), taken = made && take_lines(im);
    if (taken && sqlite3_exec(im->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        taken = made = refuse_sql(im);
    close_file(im);
    if (taken)
        taken = made = new_file_name(&im->file, im->why, sizeof im->why) == 0;
    new_file_end(&im->file);
    if (taken)
        return OFFLINE_GOOD;
    if (made)
        fprintf(im->errors, "line %llu: %s; nothing was imported\n", (unsigned long long)im->line,
                im->why);
    else
        fprintf(im->errors, "%s: %s; nothing was imported\n", im->o->path, im->why);
    return made ? OFFLINE_DAMAGED : OFFLINE_UNREADABLE;
}

static enum store_offline_end import_file(const struct store_offline *o, FILE *in, FILE *errors,
                                          uint64_t *tasks)
{
    struct import im = {.o = o, .in = in, .errors = errors};
    im.names = row_names_of(o->states, o->state_count);
    enum store_offline_end end = fill_file(&im);
    *tasks = im.tasks;
    return end;
}

/* --- A database --- */

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/var/tmp";
}

static void remove_all(const char *folder, const char *file)
{
    static const char *const endings[] = {"", "-wal", "-shm", ".lock"};
    char name[NEW_FILE_PATH];
    for (size_t n = 0; n < sizeof endings / sizeof *endings; n++) {
        snprintf(name, sizeof name, "%s%s", file, endings[n]);
        unlink(name);
    }
    rmdir(folder);
}

/* By way of a file, which the lines are checked in, so that they are a database's all or not at
 * all. */
static enum store_offline_end import_database(const struct store_offline *o, FILE *in, FILE *errors)
{
    char folder[NEW_FILE_PATH - 32], file[NEW_FILE_PATH - 16];
    struct store_offline between = *o;
    char why[WHY];
    uint64_t tasks;
    snprintf(folder, sizeof folder, "%s/ergon-import-XXXXXX", temporary_folder());
    if (!mkdtemp(folder)) {
        fprintf(errors,
                "%s cannot be made: %s; nothing was imported (TMPDIR names another place)\n",
                folder, strerror_r(errno, why, sizeof why));
        return OFFLINE_UNREADABLE;
    }
    snprintf(file, sizeof file, "%s/tasks.db", folder);
    between.path = file;
    enum store_offline_end end = import_file(&between, in, errors, &tasks);
    if (end == OFFLINE_GOOD)
        end = database_fill(o, file, errors);
    remove_all(folder, file);
    return end;
}

enum store_offline_end store_fill(const struct store_offline *o, const char *from, FILE *errors)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "", why[WHY];
    FILE *in = fopen(from, "re");
    if (!in) {
        fprintf(errors, "%s: %s; nothing was imported\n", from, strerror_r(errno, why, sizeof why));
        return OFFLINE_UNREADABLE;
    }
    bool is_store =
        fread(head, 1, sizeof head, in) == sizeof head && memcmp(head, magic, sizeof head) == 0;
    rewind(in);
    enum store_offline_end end =
        is_store ? database_fill(o, from, errors) : store_import(o, in, errors);
    fclose(in);
    return end;
}

enum store_offline_end store_import(const struct store_offline *o, FILE *in, FILE *errors)
{
    uint64_t tasks;
    if (driver_is_url(o->path))
        return import_database(o, in, errors);
    enum store_offline_end end = import_file(o, in, errors, &tasks);
    if (end == OFFLINE_GOOD)
        fprintf(errors, "%s: %llu tasks imported\n", o->path, (unsigned long long)tasks);
    return end;
}
