/* Whether the store's file, its log and the log's index are where and what the store left.  SQLite
 * itself goes on writing files that were removed, replaced or truncated, and a restart finds
 * nothing of that.  Thread: the writer's, as sqlite_parts.h says. */
#ifndef ERGON_STORE_PARTS_LOOK_H
#define ERGON_STORE_PARTS_LOOK_H

struct sqlite_store;

/* SQLITE_OK; SQLITE_READONLY_DBMOVED: one is missing, or another file has its name;
 * SQLITE_CORRUPT, and a message in the log: one is shorter than it was.  Three system calls. */
int parts_look(struct sqlite_store *s);

#endif
