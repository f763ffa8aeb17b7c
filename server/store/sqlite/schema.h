/* The tables of the file, and which files may be opened.
 *
 * Thread: the one that has the connection, which is borrowed. */
#ifndef ERGON_STORE_SCHEMA_H
#define ERGON_STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include <sqlite3.h>

enum {
    SCHEMA_APPLICATION = 0x4572676e, /* "Ergn": marks the file as ours */
    SCHEMA_OLDEST = 3                /* the oldest version that is taken over */
};

extern const int schema_version;     /* what a file has in PRAGMA user_version */
extern const char schema_views[];    /* views.sql */
extern const char schema_not_ours[]; /* text: what the file is not, and what to do */

/* Makes the tables of the present version, without views, in a database that has none.  False:
 * sqlite3_errcode() says why. */
bool schema_make_tables(sqlite3 *db);

/* Makes the tables in an empty file, or takes an older one over, in one transaction; leaves one
 * that has them as it is.  0, or -1 and a text: no store of ours, of a newer version or one that is
 * too old, it cannot be read or written; the file is as it was. */
int schema_prepare(sqlite3 *db, char *error, size_t size);

#endif
