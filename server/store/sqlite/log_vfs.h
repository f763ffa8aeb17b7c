/* A file system for SQLite, above another, in which what is written to the log one after the other
 * goes to the disk as one write.
 *
 * SQLite gives each page of a commit to its log in two writes, of 24 bytes and of the page: ten and
 * more calls a commit, which cost as much as the sync.  Here they are gathered, and handed over
 * before the log is synced, read, cut or asked for its size, and when there is no more room.  So
 * what is synced is what was written, in the same order of writes and syncs; another process that
 * reads the log sees what SQLite's index of it names, which is what was synced.
 *
 * A checkpoint syncs the log first, which each commit has done before: one sync is enough, as
 * nobody else writes the file while a server runs.
 *
 * A write that fails comes to light at the sync, which then fails: to SQLite it is the same.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_LOG_VFS_H
#define ERGON_STORE_LOG_VFS_H

#include <sqlite3.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_GATHERED = 128 * 1024 /* bytes: a commit of 400 small tasks */ };

/* Serves one connection to one file. */
struct log_vfs {
    sqlite3_vfs vfs; /* first */
    sqlite3_vfs *below;
    char name[32];
    sqlite3_int64 at; /* in the log, of the first byte gathered */
    size_t len;       /* gathered */
    bool written;     /* since the last sync */
    uint8_t bytes[LOG_GATHERED];
};

/* Opens as sqlite3_open_v2() does, with `below` (a name; NULL: SQLite's default) beneath.  `v`
 * stays where it is until the connection is closed.  An SQLite code: those of sqlite3_open_v2(),
 * and of the registration of the file system.  *db may have to be closed with an error, too. */
int log_vfs_open(struct log_vfs *v, const char *path, sqlite3 **db, int flags, const char *below);

#endif
