#include "tests/bench/support/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_WIDTH = 40, CELL_WIDTH = 9 };

void report_open(struct report *r, const char *bench, bool json)
{
    *r = (struct report){.json = json};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (json)
        printf("{\"bench\": \"%s\", \"rows\": [", bench);
}

void report_begin(struct report *r, const char *bench, int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        fprintf(stderr, "%s: it takes nothing but --json, not '%s'\n", bench, argv[1]);
        exit(2);
    }
    report_open(r, bench, json);
}

static int width_of(const struct report_column *c)
{
    int width = (int)strlen(c->name);
    return width > CELL_WIDTH ? width : CELL_WIDTH;
}

void report_table(struct report *r, const char *title, const char *what,
                  const struct report_column *columns, unsigned count)
{
    r->table = title;
    r->what = what;
    r->columns = columns;
    r->count = count;
    if (r->json)
        return;
    printf("\n%s\n%-*s", title, LABEL_WIDTH, what);
    for (unsigned i = 0; i < count; i++)
        printf("  %*s", width_of(&columns[i]), columns[i].name);
    putchar('\n');
}

static void row_json(struct report *r, const char *what, const double *values)
{
    printf("%s\n  {\"table\": \"%s\", \"%s\": \"%s\"", r->any_row ? "," : "", r->table, r->what,
           what);
    for (unsigned i = 0; i < r->count; i++) {
        if (isnan(values[i]))
            printf(", \"%s\": null", r->columns[i].name);
        else
            printf(", \"%s\": %.*f", r->columns[i].name, r->columns[i].decimals, values[i]);
    }
    putchar('}');
}

static void row_text(const struct report *r, const char *what, const double *values)
{
    printf("%-*s", LABEL_WIDTH, what);
    for (unsigned i = 0; i < r->count; i++) {
        const struct report_column *c = &r->columns[i];
        if (isnan(values[i]))
            printf("  %*s", width_of(c), "-");
        else
            printf("  %*.*f", width_of(c), c->decimals, values[i]);
    }
    putchar('\n');
}

void report_row(struct report *r, const char *what, const double *values)
{
    if (r->json)
        row_json(r, what, values);
    else
        row_text(r, what, values);
    r->any_row = true;
}

void report_note(const struct report *r, const char *text)
{
    if (!r->json)
        printf("%s\n", text);
}

void report_end(struct report *r)
{
    if (r->json)
        printf("\n]}\n");
}
