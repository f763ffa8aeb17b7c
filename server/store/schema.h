/* The tables of the file, and how those of an older version become those of this one. */
#ifndef ERGON_STORE_SCHEMA_H
#define ERGON_STORE_SCHEMA_H

#include <sqlite3.h>

#include <stddef.h>

enum { SCHEMA_APPLICATION = 0x4572676e /* "Ergn": marks the file as ours */ };

/* schema.sql: the first version.  A change of the tables is a step of its own, put behind it in
 * schema_upgrade.c; what was released is not changed any more. */
extern const char schema_first[];
extern const char schema_upgrade_3[]; /* upgrade_3.sql */

/* schema_steps[n] makes version n + 1 of version n; version 0 is an empty file. */
extern const char *const schema_steps[];
extern const unsigned schema_version; /* the newest: how many steps there are */

extern const char schema_not_ours[]; /* text: what the file is not, and what to do */

/* Brings the file from its version to `version`, in one transaction.  0, or -1 and a text: no
 * store of ours, of a newer version, cannot be written. */
int schema_upgrade(sqlite3 *db, const char *const *steps, unsigned version, char *error,
                   size_t size);

#endif
