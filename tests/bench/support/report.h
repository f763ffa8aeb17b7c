/* How a benchmark shows what it measured: a table for people, or one JSON object for machines
 * (--json).
 *
 * Thread: one.  Names are constant strings without quotes or backslashes, and outlive the report.
 */
#ifndef ERGON_BENCH_SUPPORT_REPORT_H
#define ERGON_BENCH_SUPPORT_REPORT_H

#include <stdbool.h>

enum { REPORT_COLUMNS_MAX = 16 };

struct report_column {
    const char *name; /* with its unit: "step ns" */
    int decimals;
};

struct report {
    bool json;
    bool any_row;
    const char *table, *what;
    const struct report_column *columns;
    unsigned count;
};

/* Knows --json, and ends the program with a word about it when given anything else. */
void report_begin(struct report *r, const char *bench, int argc, char **argv);
/* For a program with options of its own. */
void report_open(struct report *r, const char *bench, bool json);

/* `what` heads the first column; `columns` stay borrowed until the next table. */
void report_table(struct report *r, const char *title, const char *what,
                  const struct report_column *columns, unsigned count);

/* One value a column; NAN for what was not measured. */
void report_row(struct report *r, const char *what, const double *values);

/* A remark under the table. */
void report_note(const struct report *r, const char *text);

void report_end(struct report *r);

#endif
