/* Whether a file is what a store left behind, as far as its pages and tables tell: each page is
 * referred to once, rows are in order, and the tables have the columns that they were made with.
 *
 * Thread: the one that has the connection, which is borrowed.  Nothing is written. */
#ifndef ERGON_STORE_SOUND_H
#define ERGON_STORE_SOUND_H

#include <sqlite3.h>

#include <stdbool.h>
#include <stdint.h>

/* No code of SQLite's: findings were reported. */
enum { SOUND_NOT = -1 };

/* Called with each finding: a line of text that is valid during the call.  False: no more. */
struct sound_report {
    bool (*finding)(void *arg, const char *text);
    void *arg;
    uint32_t most; /* findings of one kind */
};

/* All: SQLITE_OK: nothing was found; SOUND_NOT; or SQLite's code of what kept it from looking. */
int sound_pages(sqlite3 *db, const struct sound_report *report); /* reads the whole file */
/* The pages of all tables but this one; not those that are free. */
int sound_pages_without(sqlite3 *db, const char *table, const struct sound_report *report);
int sound_tables(sqlite3 *db, const struct sound_report *report);

#endif
