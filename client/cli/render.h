/* JSON values for people: keys and values in lines, lists of like objects as tables.  Any key may
 * be new or missing. */
#ifndef ERGON_CLI_RENDER_H
#define ERGON_CLI_RENDER_H

#include <jansson.h>
#include <stdbool.h>

/* Prints the members of an object to standard output; headings bold with `colour`. */
void render_object(const json_t *object, bool colour);

/* Prints a text of the server, with what could drive the terminal as blanks. */
void render_text(const char *text);

/* Prints an array of objects as a table.  `first` names columns that come first, in this order,
 * where they are there; NULL ends it. */
void render_table(const json_t *rows, const char *const *first, int indent, bool colour);

#endif
