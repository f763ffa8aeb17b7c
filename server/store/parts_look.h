/* Whether the store's file, its log and the log's index are where and what the store left.  SQLite
 * itself goes on writing files that were removed, replaced or truncated, and a restart finds
 * nothing of that.  Thread: the writer's, as store_parts.h says. */
#ifndef ERGON_STORE_PARTS_LOOK_H
#define ERGON_STORE_PARTS_LOOK_H

struct store;

/* SQLITE_OK; SQLITE_READONLY_DBMOVED: one is missing, or another file has its name;
 * SQLITE_CORRUPT, and a message in the log: one is shorter than it was.  Three system calls.  That
 * FILE-running was truncated (store_board_mend()) is said in the log alone. */
int parts_look(struct store *s);

#endif
