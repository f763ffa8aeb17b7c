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
#include <stddef.h>
#include <stdint.h>

/* Prints the members of an object; headings bold with `colour`.  With -o name its id alone, where
 * it has one. */
void object_print(json_t *object, bool colour);

/* Prints an array of objects.  `first` names columns that come first, in this order, where they are
 * there; NULL ends it.  On a terminal that is too narrow, and unless -o wide was chosen, columns go
 * from the right, and the last that stays is cut (table_fit()).  Elsewhere all is shown.  With -o
 * name only the first of `first`, and no heading. */
void table_print(json_t *rows, const char *const *first, int indent, bool colour);

/* Columns of the terminal that standard output is; 0: it is none. */
size_t table_terminal_width(void);

enum { TABLE_GAP = 2, TABLE_CUT_MIN = 10, TABLE_KEPT_MIN = 2 /* columns */ };

/* How many columns of these widths, with TABLE_GAP between them, fit into `room`: all; or as many
 * as there is room for.  What is last of those may be cut, but not below TABLE_CUT_MIN, if it is a
 * text (bit of `texts`); the first TABLE_KEPT_MIN stay whatever they take.  `count` <= 64.  Pure.
 */
size_t table_fit(const size_t *widths, size_t count, uint64_t texts, size_t room);

/* A copy of `entry` for a row with the members named in `columns`; with -o wide all members that
 * are no lists or objects stand behind them.  A new reference. */
json_t *table_row(const json_t *entry, const char *const *columns);

/* With -o wide all members of `entry` that are no lists or objects, and stand neither in `row` nor
 * in `but` (NULL ends it; those that `row` shows in other words), are added to it. */
void table_widen(json_t *row, const json_t *entry, const char *const *but);

#endif
