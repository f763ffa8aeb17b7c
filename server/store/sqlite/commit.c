/* One batch, one commit; and what happens when that fails.
 *
 * A failed commit is rolled back, and its operations come back with the error.  It may have left
 * its frames whole in SQLite's log: on the disk, but not in the index of the log that this
 * connection goes by.  A process that read that log from the disk would take them for committed.
 * So the store takes nothing until a small commit of its own has worked, which writes over the
 * first of those frames; each frame's checksum covers those before it, so that the rest is worth
 * nothing.  A failed sync that leaves pages which look clean does no harm for the same reason: what
 * it was to write is written again.  (The file is not closed and opened again: the log must not be
 * read back before that small commit.) */
#include <stdio.h>

#include "base/clock.h"
#include "server/store/sqlite/parts_look.h"
#include "server/store/sqlite/sqlite_parts.h"

/* SQLite rolls back by itself after some failures.  The statement is prepared: there may be no
 * memory to do that. */
static int roll_back(struct sqlite_store *s)
{
    bool open = !sqlite3_get_autocommit(s->db);
    states_undo(&s->states, NULL);
    return open ? statement_run(s->statements.all[STATEMENT_ROLLBACK]) : SQLITE_OK;
}

static int begin(struct sqlite_store *s)
{
    int rc = roll_back(s); /* what failed to */
    if (rc == SQLITE_OK)
        rc = parts_look(s);
    if (rc != SQLITE_OK)
        return rc;
    s->add = (struct store_counts){0};
    s->last_id = 0;
    s->states.added = 0;
    s->lost_group = false;
    return statement_run(s->statements.all[STATEMENT_BEGIN]);
}

static int finish(struct sqlite_store *s)
{
    int rc = store_add_counts(s);
    if (rc == SQLITE_OK)
        rc = statement_run(s->statements.all[STATEMENT_COMMIT]);
    if (rc == SQLITE_OK)
        states_keep(&s->states);
    return rc;
}

static void fail(struct sqlite_store *s, int rc)
{
    enum store_error error = store_error_of(s->db, rc);
    bool said = (sqlite3_errcode(s->db) & 0xff) == (rc & 0xff);
    s->broken = s->fault.error = error;
    snprintf(s->fault.text, sizeof s->fault.text, "%s",
             said ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
    roll_back(s);
    s->retry_at = clock_monotonic() + s->retry;
}

/* A savepoint makes SQLite save each page that a group changes, and hardly any group fails: so
 * groups get one, and turns of actors are written one by one, in a batch that failed otherwise. */
static int apply_guarded(struct sqlite_store *s, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        store_op_end(s->batch[n], STORE_OK);
    s->guards_groups = true;
    int rc = begin(s);
    if (rc == SQLITE_OK)
        rc = store_apply(s, count);
    s->guards_groups = false;
    return rc;
}

static int apply_all(struct sqlite_store *s, uint32_t count)
{
    uint64_t rows_ahead = s->rows_ahead;
    int rc = begin(s);
    if (rc == SQLITE_OK)
        rc = store_apply(s, count);
    if (rc == APPLY_AGAIN) {
        s->rows_ahead = rows_ahead;
        rc = apply_guarded(s, count);
    }
    if (rc == SQLITE_OK && states_fold_due(&s->states, count == 0))
        rc = states_fold(&s->states);
    return rc == SQLITE_OK ? finish(s) : rc;
}

/* Is there nothing but reads in the batch? */
static bool only_reads(const struct sqlite_store *s, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        if (s->batch[n]->kind != STORE_ROW_GET && s->batch[n]->kind != STORE_ROW_PAGE)
            return false;
    return true;
}

/* Writes nothing, and waits for no disk to have it. */
static int read_all(struct sqlite_store *s, uint32_t count)
{
    int rc = parts_look(s);
    return rc == SQLITE_OK ? store_apply(s, count) : rc;
}

void store_commit(struct sqlite_store *s, uint32_t count)
{
    if (s->broken != STORE_OK)
        return;
    bool reads = count > 0 && only_reads(s, count);
    int rc = reads ? read_all(s, count) : apply_all(s, count);
    if (rc != SQLITE_OK)
        fail(s, rc);
    else if (!reads)
        store_note_log(s);
}

/* The counters' row changes with each commit, so that a commit without operations writes, too.  A
 * full disk may have room in the log once the log has gone into the file. */
void store_try_again(struct sqlite_store *s)
{
    if (s->broken == STORE_OK || s->broken == STORE_CORRUPT || clock_monotonic() < s->retry_at)
        return;
    if (s->broken == STORE_FULL)
        checkpoint_run(s);
    int rc = begin(s);
    if (rc == SQLITE_OK)
        rc = finish(s);
    if (rc != SQLITE_OK)
        fail(s, rc);
    else
        s->broken = STORE_OK;
}
