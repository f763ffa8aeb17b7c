/* A text in the user's editor.
 *
 * One thread, as cli.h says of the whole folder.  It blocks until the editor has ended, and
 * meanwhile SIGINT and SIGQUIT are the editor's alone. */
#ifndef ERGON_CLI_EDITOR_H
#define ERGON_CLI_EDITOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* A file that only its owner may read, under TMPDIR or /tmp. */
struct editor_file {
    char path[PATH_MAX]; /* "": there is none */
};

/* Is there an editor to run: one of VISUAL and EDITOR, or a terminal for vi? */
bool editor_exists(void);

/* Makes the file.  False, and a message was printed: it cannot be written. */
bool editor_begin(struct editor_file *f, const char *text);

/* Runs the editor once, and reads what it has left; the caller frees *text.  False, and a message
 * was printed: the editor cannot be run or has failed, or the file cannot be read. */
bool editor_run(const struct editor_file *f, char **text);

/* Removes the file; or keeps it, and says where it is. */
void editor_end(struct editor_file *f, bool keep);

/* Asks on the terminal whether to edit again; false: no, or there is no terminal. */
bool editor_again(void);

#endif
