/* Rows and structures: which column is which field.  One list a table serves all of its statements,
 * whatever the engine.  Constant data; any thread. */
#ifndef ERGON_STORE_ROWS_H
#define ERGON_STORE_ROWS_H

#include "server/store/store.h"

/* Lists of names; the values are their indices. */
enum { NAMES_STATE, NAMES_DURABLE, NAMES_LISTS };
struct row_names {
    struct {
        const char *const *names;
        uint32_t count;
    } lists[NAMES_LISTS];
};

/* Of states, and of the levels of durability. */
struct row_names row_names_of(const char *const *states, uint32_t state_count);

/* A task is a row of the first, one of the second if it has options, and one of the third if it has
 * been anything but queued: most have neither when they come. */
extern const struct store_table row_submissions, row_options, row_lives;
extern const struct store_table row_database_submissions; /* as a database has the first */
extern const struct store_table row_events;
extern const struct store_table row_turns;     /* of SQLite */
#define ROW_TURN_MAX ((uint64_t)INT64_MAX / 2) /* the highest number that a turn may have */

/* All tables of a file, and of a database, in the order in which they are made.  The counters are
 * the last. */
enum { ROW_TABLES = 14, ROW_DATABASE_TABLES = 13 };
extern const struct store_table *const row_tables[ROW_TABLES];
extern const struct store_table *const row_database_tables[ROW_DATABASE_TABLES];

/* The one row of `counters`, whole. */
struct row_counters {
    uint64_t submitted, done, failed, cancelled, expired, dead, last_id, commits, committed_at,
        last_fence;
};
extern const struct store_table row_counters;
static inline uint64_t row_counters_ended(const struct row_counters *c)
{
    return c->done + c->failed + c->cancelled + c->expired + c->dead;
}

/* May a server go on from them?  The number of those that have ended is a count, too. */
bool row_counters_sound(const struct row_counters *c);

size_t row_field_size(enum column_kind kind); /* bytes, in the struct */

/* Does the column have no value, that is, nothing or zero?  A name always has one. */
bool row_is_null(const struct store_column *c, const void *row);

/* What a STORE_ROW_GET asked for: the row's fields but its key, which stays the client's, as the
 * batch may have to be applied again.  False without memory. */
bool row_take(struct store_op *get, const void *row);

/* Has the task been anything but queued, so that it needs the third row? */
bool row_has_life(const struct store_task *task);

#endif
