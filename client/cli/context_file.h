/* The file of contexts: $XDG_CONFIG_HOME/ergon/config.yaml, or ~/.config/ergon/config.yaml.
 *
 * One thread; all of it blocks on the disk.  What went wrong was printed. */
#ifndef ERGON_CLI_CONTEXT_FILE_H
#define ERGON_CLI_CONTEXT_FILE_H

#include "client/cli/status.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

/* Its name.  False, without a message: there is no home, or the name is too long. */
bool context_file_path(char path[static PATH_MAX]);

/* A new reference; nothing in it where there is no file.  NULL: it cannot be read, is larger than
 * 1 MiB, is wrong (with the line), holds a token and others than its owner may read it, or there is
 * no memory. */
json_t *context_file_read(void);

/* Changes what it is given: STATUS_OK lets it be written, another status is that of all. */
typedef enum status context_change_fn(json_t *contexts, void *arg);

/* Reads the file, changes it, and puts the new one, of mode 0600, in its place in one step, while
 * no other ergon does the same.  What `change` returned, or STATUS_USAGE: it cannot be read or
 * written. */
enum status context_file_change(context_change_fn *change, void *arg);

#endif
