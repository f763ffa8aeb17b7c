/* A table read by its number from the first row to the last, and on behind what cannot be read.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_SCAN_H
#define ERGON_STORE_SCAN_H

#include <sqlite3.h>

#include <stdbool.h>
#include <stdint.h>

enum scan_row {
    SCAN_NEW,   /* a row that was not seen before */
    SCAN_KNOWN, /* one that was: damaged trees lead to a row twice */
    SCAN_STOP   /* no more */
};

struct scan {
    /* Called for each row, which `st` is at; its first column is the number. */
    enum scan_row (*row)(void *arg, sqlite3_stmt *st);
    /* No row with a number from `from` on, and below `to`, can be read. */
    void (*gap)(void *arg, int64_t from, int64_t to);
    void *arg;
};

/* `sql` selects the rows whose number is ?1 or more, in order.  An SQLite code: it cannot be
 * prepared; `gap` reports all else. */
int scan_table(sqlite3 *db, const char *sql, const struct scan *scan);

#endif
