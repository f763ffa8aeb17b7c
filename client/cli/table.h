/* JSON values for people, on standard output: keys and values in lines, lists of like objects as
 * tables.  Any key may be new or missing; what could drive the terminal comes out harmless.
 *
 * One thread, as cli.h says of the whole folder.  The values are borrowed; nothing returns an
 * error.
 */
#ifndef ERGON_CLI_TABLE_H
#define ERGON_CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>

/* Prints the members of an object; headings bold with `colour`. */
void object_print(json_t *object, bool colour);

/* Prints an array of objects.  `first` names columns that come first, in this order, where they are
 * there; NULL ends it.  On a terminal that is too narrow the last column is cut. */
void table_print(json_t *rows, const char *const *first, int indent, bool colour);

#endif
