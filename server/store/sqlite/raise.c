/* After a power cut: attempts of which no row says so may have begun. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "server/store/sqlite/sqlite_parts.h"

/* Beyond the last number there is none (JOB_COUNT_MAX): such a task does not begin again.
 *
 * One that runs, as its row says, has begun no further: the next begins when the row says that this
 * one is over.  The first state is "queued". */
#define AWAITED "durable IN ('fsync', 'replicated')"
static const char raise_lives[] = "UPDATE lives SET attempt = min(ifnull(attempt, 0) + 1, "
                                  "2147483647) WHERE ifnull(state, ?1) = ?1 AND "
                                  "id IN (SELECT id FROM submissions WHERE " AWAITED ")";
static const char raise_new[] =
    "INSERT INTO lives (id, state, attempt) SELECT id, ?1, 1 FROM submissions "
    "WHERE " AWAITED " AND id NOT IN (SELECT id FROM lives)";

static int change(struct sqlite_store *s, const char *sql, uint64_t *changed)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, s->names.lists[NAMES_STATE].names[0], -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_DONE) {
        *changed += (uint64_t)sqlite3_changes64(s->db);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    return rc;
}

int store_raise_attempts(struct sqlite_store *s, char *error, size_t size)
{
    uint64_t changed = 0;
    int rc = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = change(s, raise_lives, &changed);
    if (rc == SQLITE_OK)
        rc = change(s, raise_new, &changed);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        store_fail(error, size, s->path, "%s", store_error_text(store_error_of(s->db, rc)));
        if (!sqlite3_get_autocommit(s->db))
            sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
        return -1;
    }
    if (changed > 0)
        log_info("it is unknown which tasks ran when the last server ended: the numbers of their "
                 "attempts skip one",
                 LOG_UINT("tasks", changed));
    return 0;
}
