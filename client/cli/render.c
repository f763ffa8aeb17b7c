#include "client/cli/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 24, CELL_MAX = 96, INDENT = 2 };

/* The order in which the columns of a topology read best. */
static const char *const COLUMNS_FIRST[] = {"name",   "index", "id",       "kind",        "loop",
                                            "method", "queue", "bound",    "outstanding", "parked",
                                            "done",   "core",  "priority", "weight",      NULL};

static const char *bold(bool colour)
{
    return colour ? "\033[1m" : "";
}

static const char *normal(bool colour)
{
    return colour ? "\033[0m" : "";
}

/* What comes from a server must not drive the terminal. */
static void clean(char *text)
{
    for (; *text != 0; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

void render_text(const char *text)
{
    for (; *text != 0; text++)
        putchar((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
}

static void cell_text(const json_t *value, char *buf, size_t size)
{
    if (value == NULL || json_is_null(value)) {
        snprintf(buf, size, "-");
    } else if (json_is_string(value)) {
        snprintf(buf, size, "%s", json_string_value(value));
    } else if (json_is_boolean(value)) {
        snprintf(buf, size, "%s", json_is_true(value) ? "yes" : "no");
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        snprintf(buf, size, "%s", text != NULL ? text : "?");
        free(text);
    }
    clean(buf);
}

/* ---- tables ---- */

struct column {
    const char *key;
    int width; /* of the widest cell, heading included */
    bool numbers;
};

struct table {
    struct column columns[COLUMNS_MAX];
    size_t count;
};

static void add_column(struct table *t, const char *key)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->columns[i].key, key) == 0)
            return;
    if (t->count < COLUMNS_MAX)
        t->columns[t->count++] = (struct column){key, (int)strlen(key), true};
}

static bool any_has(const json_t *rows, const char *key)
{
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)rows, i, row)
    {
        if (json_object_get(row, key) != NULL)
            return true;
    }
    return false;
}

static void find_columns(struct table *t, const json_t *rows, const char *const *first)
{
    size_t i;
    json_t *row;
    const char *key;
    json_t *value;
    for (; *first != NULL; first++)
        if (any_has(rows, *first))
            add_column(t, *first);
    json_array_foreach((json_t *)rows, i, row)
    {
        json_object_foreach(row, key, value)
        {
            add_column(t, key);
        }
    }
}

static void measure(struct column *c, const json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)rows, i, row)
    {
        char cell[CELL_MAX];
        const json_t *value = json_object_get(row, c->key);
        cell_text(value, cell, sizeof cell);
        if ((int)strlen(cell) > c->width)
            c->width = (int)strlen(cell);
        c->numbers = c->numbers && (value == NULL || json_is_number(value));
    }
}

static void print_cell(const struct column *c, const char *text, bool last)
{
    if (c->numbers)
        printf("%*s%s", c->width, text, last ? "" : "  ");
    else if (last)
        fputs(text, stdout);
    else
        printf("%-*s  ", c->width, text);
}

static void print_row(const struct table *t, const json_t *row, int indent)
{
    printf("%*s", indent, "");
    for (size_t i = 0; i < t->count; i++) {
        char cell[CELL_MAX];
        cell_text(json_object_get(row, t->columns[i].key), cell, sizeof cell);
        print_cell(&t->columns[i], cell, i + 1 == t->count);
    }
    putchar('\n');
}

void render_table(const json_t *rows, const char *const *first, int indent, bool colour)
{
    struct table t = {.count = 0};
    size_t i;
    json_t *row;
    find_columns(&t, rows, first);
    for (size_t c = 0; c < t.count; c++)
        measure(&t.columns[c], rows);
    printf("%*s%s", indent, "", bold(colour));
    for (size_t c = 0; c < t.count; c++)
        print_cell(&t.columns[c], t.columns[c].key, c + 1 == t.count);
    printf("%s\n", normal(colour));
    json_array_foreach((json_t *)rows, i, row)
    {
        print_row(&t, row, indent);
    }
}

/* ---- objects ---- */

static bool is_table(const json_t *value)
{
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

static void print_list(const json_t *list)
{
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)list, i, value)
    {
        char cell[CELL_MAX];
        cell_text(value, cell, sizeof cell);
        printf("%s%s", i > 0 ? ", " : "", cell);
    }
    putchar('\n');
}

static void print_scalar(const json_t *value)
{
    char cell[CELL_MAX * 4];
    cell_text(value, cell, sizeof cell);
    puts(cell);
}

static int key_width(const json_t *object)
{
    const char *key;
    json_t *value;
    size_t width = 0;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_object(value) && !is_table(value) && strlen(key) > width)
            width = strlen(key);
    }
    return (int)width;
}

static void print_object(const json_t *object, int indent, bool colour)
{
    const char *key;
    json_t *value;
    int width = key_width(object);
    json_object_foreach((json_t *)object, key, value)
    {
        if (json_is_object(value) || is_table(value)) {
            printf("%*s%s%s%s\n", indent, "", bold(colour), key, normal(colour));
            if (json_is_object(value))
                print_object(value, indent + INDENT, colour);
            else
                render_table(value, COLUMNS_FIRST, indent + INDENT, colour);
            continue;
        }
        printf("%*s%-*s  ", indent, "", width, key);
        if (json_is_array(value))
            print_list(value);
        else
            print_scalar(value);
    }
}

void render_object(const json_t *object, bool colour)
{
    if (json_is_object(object))
        print_object(object, 0, colour);
    else
        print_scalar(object);
}
