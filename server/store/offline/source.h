/* The file that is read: locked, opened as it is, and closed so that it stays as it is.
 *
 * Thread: any, one a source. */
#ifndef ERGON_STORE_SOURCE_H
#define ERGON_STORE_SOURCE_H

#include <stdbool.h>

#include <sqlite3.h>

#include "server/store/lock.h"
#include "server/store/sqlite/log_check.h"

struct source {
    sqlite3 *db; /* NULL: there is nothing to read, see `log` */
    struct lock lock;
    struct log_look log;
    const char *path; /* borrowed */
    bool had_log;
    bool beside; /* a server may use it */
    bool in_use; /* one did, when this was opened */
};

/* `path` is borrowed until the end.  0, or -1 and a text: there is no such file and no log, a
 * server uses it, it is no store of ours or of another version, it cannot be read, no memory.
 * source_close() follows either way. */
int source_open(struct source *s, const char *path, char *error, size_t size);

/* The same of a file that a server uses, or may begin to use meanwhile: nothing is locked, and the
 * log stays as it is.  Only where no server has the file is the log looked at, and refused if it is
 * damaged; a server that has it has done that.  (A server that starts in just that moment finds the
 * file in use.)  One read transaction sees one state of the file, whatever the server writes. */
int source_open_beside(struct source *s, const char *path, char *error, size_t size);

void source_close(struct source *s); /* of either */

#endif
