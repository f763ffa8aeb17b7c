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
#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/store/parts_look.h"
#include "server/store/store_parts.h"

enum { STEADY_RETRIES = 10 /* a trouble is over when nothing failed for so many `retry` */ };

/* SQLite rolls back by itself after some failures.  The statement is prepared: there may be no
 * memory to do that. */
static int roll_back(struct store *s)
{
    bool open = !sqlite3_get_autocommit(s->db);
    return open ? statement_run(s->statements.all[STATEMENT_ROLLBACK]) : SQLITE_OK;
}

static int begin(struct store *s)
{
    int rc = roll_back(s); /* what failed to */
    if (rc == SQLITE_OK)
        rc = parts_look(s);
    if (rc != SQLITE_OK)
        return rc;
    s->add = (struct store_counts){0};
    s->last_id = 0;
    return statement_run(s->statements.all[STATEMENT_BEGIN]);
}

static int finish(struct store *s)
{
    int rc = store_add_counts(s);
    return rc == SQLITE_OK ? statement_run(s->statements.all[STATEMENT_COMMIT]) : rc;
}

static void become(struct store *s, enum store_error error)
{
    s->broken = error;
    counter_set(&s->counters.error, error);
}

/* The log has a record of it. */
static void report(struct store *s, enum store_error error)
{
    s->reported = error;
    counter_set(&s->counters.trouble, error);
}

static void fail(struct store *s, int rc)
{
    enum store_error error = store_error_of(s->db, rc);
    bool said = (sqlite3_errcode(s->db) & 0xff) == (rc & 0xff);
    const char *why = said ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc);
    if (error != s->reported)
        log_error("the store cannot write", LOG_STR("error", store_error_text(error)),
                  LOG_STR("sqlite", why));
    become(s, error);
    report(s, error);
    roll_back(s);
    s->retry_at = clock_monotonic() + s->retry;
}

static int apply_all(struct store *s, uint32_t count)
{
    int rc = begin(s);
    if (rc == SQLITE_OK)
        rc = store_apply(s, count);
    return rc == SQLITE_OK ? finish(s) : rc;
}

/* None of the batch has happened, whatever became of each operation before. */
static void fail_all(struct store *s, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        s->batch[n]->error = s->broken;
}

void store_commit(struct store *s, uint32_t count)
{
    assert(count <= STORE_BATCH_LAST);
    if (s->broken != STORE_OK) {
        fail_all(s, count);
        return;
    }
    ao_time began = clock_monotonic();
    int rc = apply_all(s, count);
    if (rc != SQLITE_OK) {
        fail(s, rc);
        fail_all(s, count);
        return;
    }
    ao_time took = clock_monotonic() - began;
    counter_set(&s->counters.commit_ns, took);
    histogram_note(&s->counters.commit_times, took, 1);
    counter_add(&s->counters.commits, 1);
    counter_add(&s->counters.operations, count);
    store_note_log(s);
}

enum store_level store_level(const struct store *s)
{
    return (enum store_level)counter_read(&s->counters.level);
}

enum store_error store_set_back(struct store *s, uint64_t by)
{
    struct store_op op = {.kind = STORE_SET_BACK, .back = by};
    s->batch[0] = &op;
    store_commit(s, 1);
    return op.error;
}

/* A full disk has room for a small commit again and again: the end of a trouble is reported when
 * the trouble has not come back for a while. */
static void report_that_it_works(struct store *s)
{
    if (s->reported == STORE_OK || clock_monotonic() < s->retry_at)
        return;
    log_info("the store writes again");
    report(s, STORE_OK);
}

/* The counters' row changes with each commit, so that a commit without operations writes, too.  A
 * full disk may have room in the log once the log has gone into the file. */
void store_try_again(struct store *s)
{
    if (s->broken == STORE_OK)
        report_that_it_works(s);
    if (s->broken == STORE_OK || s->broken == STORE_CORRUPT || clock_monotonic() < s->retry_at)
        return;
    if (s->broken == STORE_FULL)
        checkpoint_run(s);
    int rc = begin(s);
    if (rc == SQLITE_OK)
        rc = finish(s);
    if (rc != SQLITE_OK) {
        fail(s, rc);
        return;
    }
    become(s, STORE_OK);
    s->retry_at = clock_monotonic() + STEADY_RETRIES * s->retry;
}
