/* Rows in memory, as a table that SQLite reads: one statement puts them all, which costs half of a
 * statement for each.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_ROW_VIEW_H
#define ERGON_STORE_ROW_VIEW_H

#include <sqlite3.h>

#include "server/store/rows.h"

struct row_view {
    const struct store_table *map;
    const struct row_names *names;
    void *arg;
    const void *(*row)(void *arg); /* the row that the statement is at; NULL: there is no more */
    void (*next)(void *arg);
};

/* Makes the table ROW_BATCH and the name of the map's; the view stays while the connection is open.
 * An SQLite code. */
int row_view_make(sqlite3 *db, struct row_view *view);

#endif
