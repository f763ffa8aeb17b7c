/* New tasks that follow one another in a batch are put by one statement a table (row_view.h). */
#include <assert.h>

#include "server/store/sqlite/sqlite_parts.h"

/* --- The tables that a task may have a row in --- */

static bool always(const struct store_task *task)
{
    (void)task;
    return true;
}

static bool has_options(const struct store_task *task)
{
    return task->has_options;
}

struct put_part {
    enum statement statement;
    const struct store_table *map;
    const char *verb; /* of the statement */
    bool (*has)(const struct store_task *task);
};

/* OR FAIL: the rows before one that is refused stay, and the rest is put from there on.  In the
 * tables behind the first, a row that is there already belongs to no task: it was left behind. */
static const struct put_part parts[PUT_PARTS] = {
    {STATEMENT_PUT, &row_submissions, "INSERT OR FAIL", always},
    {STATEMENT_PUT_OPTIONS, &row_options, "REPLACE", has_options},
    {STATEMENT_PUT_LIFE, &row_lives, "REPLACE", row_has_life}};

/* --- The batch as tables --- */

/* The task that the statement is at, or the next that has a row in this table. */
static const void *row(void *arg)
{
    const struct put_source *source = arg;
    struct sqlite_store *s = source->store;
    while (s->put_at < s->put_end && (s->batch[s->put_at]->error != STORE_OK ||
                                      !parts[source->part].has(&s->batch[s->put_at]->task)))
        s->put_at++;
    return s->put_at < s->put_end ? &s->batch[s->put_at]->task : NULL;
}

static void next(void *arg)
{
    ((struct put_source *)arg)->store->put_at++;
}

int put_open(struct sqlite_store *s)
{
    char sql[ROW_SQL_MAX];
    int rc = SQLITE_OK;
    for (unsigned n = 0; n < PUT_PARTS && rc == SQLITE_OK; n++) {
        struct put_source *source = &s->sources[n];
        *source = (struct put_source){.store = s, .part = n};
        source->view = (struct row_view){
            .map = parts[n].map, .names = &s->names, .arg = source, .row = row, .next = next};
        rc = row_view_make(s->db, &source->view);
        row_put_sql(parts[n].map, parts[n].verb, sql);
        rc = rc != SQLITE_OK ? rc : statement_prepare(&s->statements, parts[n].statement, sql);
    }
    return rc;
}

/* --- The statements --- */

uint32_t put_run(const struct sqlite_store *s, uint32_t from, uint32_t count)
{
    uint32_t end = from + 1;
    assert(from < count && s->batch[from]->kind == STORE_PUT);
    while (end < count && s->batch[end]->kind == STORE_PUT)
        end++;
    return end;
}

int put_take_out(struct sqlite_store *s, uint64_t id)
{
    static const enum statement all[] = {STATEMENT_REMOVE_EVENTS, STATEMENT_REMOVE_OPTIONS,
                                         STATEMENT_REMOVE_LIFE, STATEMENT_REMOVE};
    int rc = SQLITE_OK;
    for (unsigned n = 0; n < sizeof all / sizeof *all && rc == SQLITE_OK; n++)
        rc = statement_run_id(&s->statements, all[n], id);
    return rc;
}

/* A task is in the file whole, or not at all. */
static int refuse(struct sqlite_store *s, struct store_op *op, const struct put_part *part)
{
    op->error = STORE_REFUSED;
    return part == parts ? SQLITE_OK : put_take_out(s, op->task.id);
}

static int put_rows(struct sqlite_store *s, const struct put_part *part, uint32_t from,
                    uint32_t end)
{
    int rc = SQLITE_OK;
    assert(from < end);
    s->put_end = end;
    for (s->put_at = from; rc == SQLITE_OK && s->put_at < end; s->put_at++) {
        rc = statement_run(s->statements.all[part->statement]);
        if (s->put_at < end && statement_failed_alone(rc))
            rc = refuse(s, s->batch[s->put_at], part);
    }
    return rc;
}

static bool any_has(const struct sqlite_store *s, const struct put_part *part, uint32_t from,
                    uint32_t end)
{
    while (from < end && !part->has(&s->batch[from]->task))
        from++;
    return from < end;
}

int put_all(struct sqlite_store *s, uint32_t from, uint32_t end)
{
    int rc = SQLITE_OK;
    for (unsigned n = 0; n < PUT_PARTS && rc == SQLITE_OK; n++)
        if (any_has(s, &parts[n], from, end))
            rc = put_rows(s, &parts[n], from, end);
    return rc;
}
