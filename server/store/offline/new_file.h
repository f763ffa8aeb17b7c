/* A file that is made beside its place, as PATH.part, and gets its name when all of it is on disk:
 * a reader finds all of it, or nothing.  What is there is never written over.
 *
 * Thread: any, one a file.  All block. */
#ifndef ERGON_STORE_NEW_FILE_H
#define ERGON_STORE_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/store/lock.h"

enum { NEW_FILE_PATH = 4096 };

struct new_file {
    const char *path; /* borrowed */
    char part[NEW_FILE_PATH];
    struct lock lock; /* of `path`: one at a time makes it */
    bool begun;       /* `part` is ours */
    bool named;       /* it is where it belongs */
};

/* Makes `part`, empty, with mode 0600, in place of one that a killed process left.  `path` is
 * borrowed until the end.  0, or -1 and a text: the file or its log is there, somebody else makes
 * it, no right, no folder.  new_file_end() follows either way. */
int new_file_begin(struct new_file *f, const char *path, char *error, size_t size);

/* Gives it its name; what was written is on disk by then, the name when it returns.  0, or -1 and a
 * text. */
int new_file_name(struct new_file *f, char *error, size_t size);

/* Removes what has not got its name; and PATH.lock, which nobody needs where the file is. */
void new_file_end(struct new_file *f);

#endif
