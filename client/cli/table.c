#include "client/cli/table.h"

#include "client/cli/json.h"
#include "client/cli/output.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { COLUMNS_MAX = 48, INDENT = 2, TERMINAL_WIDTH = 80 /* where it does not say */ };

/* The order in which the columns of a topology read best. */
static const char *const COLUMNS_FIRST[] = {
    "name",        "index",  "id",      "kind", "loop", "method",   "queue",  "bound",
    "outstanding", "parked", "turning", "done", "core", "priority", "weight", NULL};

/* Owned by the caller; NULL: out of memory. */
static char *cell_text(const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return strdup("-");
    if (json_is_string(value))
        return plain_text(json_string_value(value));
    if (json_is_boolean(value))
        return strdup(json_is_true(value) ? "yes" : "no");
    char *json = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    char *text = json != NULL ? plain_text(json) : NULL;
    free(json);
    return text;
}

static void print_cell(const json_t *value)
{
    char *text = cell_text(value);
    print_text(text != NULL ? text : "?");
    free(text);
}

/* ---- columns ---- */

struct columns {
    const char *keys[COLUMNS_MAX];
    size_t count;
};

static void add_column(struct columns *c, const char *key)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->keys[i], key) == 0)
            return;
    if (c->count < COLUMNS_MAX)
        c->keys[c->count++] = key;
}

static void find_columns(struct columns *c, json_t *rows, const char *const *first)
{
    size_t i;
    json_t *row;
    const char *key;
    json_t *value;
    for (; *first != NULL; first++)
        json_array_foreach(rows, i, row)
        {
            if (json_object_get(row, *first) != NULL)
                add_column(c, *first);
        }
    json_array_foreach(rows, i, row)
    {
        json_object_foreach(row, key, value)
        {
            add_column(c, key);
        }
    }
}

static bool all_numbers(json_t *rows, const char *key)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *value = json_object_get(row, key);
        if (value != NULL && !json_is_number(value))
            return false;
    }
    return true;
}

/* ---- what fits the terminal ---- */

size_t table_terminal_width(void)
{
    struct winsize size = {0};
    const char *columns = environment("COLUMNS");
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    size_t said = columns != NULL ? strtoul(columns, NULL, 10) : 0;
    return said > 0 ? said : TERMINAL_WIDTH;
}

/* 0: all columns are wanted, since it is none, or -o wide. */
static size_t terminal_width(void)
{
    return output_is_wide() ? 0 : table_terminal_width();
}

size_t table_fit(const size_t *widths, size_t count, uint64_t texts, size_t room)
{
    size_t taken = 0, kept = 0;
    for (; kept < count; kept++) {
        size_t gap = kept > 0 ? TABLE_GAP : 0;
        size_t cut =
            widths[kept] > TABLE_CUT_MIN && (texts >> kept & 1) ? TABLE_CUT_MIN : widths[kept];
        bool whole = taken + gap + widths[kept] <= room;
        if (kept >= TABLE_KEPT_MIN && taken + gap + cut > room)
            break;
        taken += gap + widths[kept];
        if (!whole && kept >= TABLE_KEPT_MIN - 1)
            return kept + 1; /* it is cut, and nothing stands behind it */
    }
    return kept;
}

static size_t shown_width(const char *text)
{
    wchar_t wide[512];
    if (text == NULL)
        return 0;
    size_t len = mbstowcs(wide, text, sizeof wide / sizeof *wide);
    int width = len < sizeof wide / sizeof *wide ? wcswidth(wide, len) : -1;
    return width >= 0 ? (size_t)width : strlen(text);
}

static size_t column_width(json_t *rows, const char *key)
{
    size_t i, widest = shown_width(key);
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        char *text = cell_text(json_object_get(row, key));
        size_t width = shown_width(text);
        widest = width > widest ? width : widest;
        free(text);
    }
    return widest;
}

static void fit(struct columns *c, json_t *rows, size_t indent)
{
    size_t widths[COLUMNS_MAX], room = terminal_width();
    uint64_t texts = 0;
    if (room == 0)
        return;
    for (size_t k = 0; k < c->count; k++) {
        widths[k] = column_width(rows, c->keys[k]);
        texts |= all_numbers(rows, c->keys[k]) ? 0 : UINT64_C(1) << k;
    }
    c->count = table_fit(widths, c->count, texts, room > indent ? room - indent : 1);
}

/* ---- tables ---- */

static void fill(struct libscols_table *t, const struct columns *c, json_t *rows, bool colour)
{
    size_t i;
    json_t *row;
    for (size_t k = 0; k < c->count; k++) {
        int flags = all_numbers(rows, c->keys[k]) ? SCOLS_FL_RIGHT
                    : k + 1 == c->count           ? SCOLS_FL_TRUNC
                                                  : 0;
        char *name = plain_text(c->keys[k]);
        struct libscols_column *column = scols_table_new_column(t, name, 0, flags);
        free(name);
        if (column != NULL && colour)
            scols_cell_set_color(scols_column_get_header(column), "\033[1m");
    }
    json_array_foreach(rows, i, row)
    {
        struct libscols_line *line = scols_table_new_line(t, NULL);
        for (size_t k = 0; line != NULL && k < c->count; k++)
            scols_line_refer_data(line, k, cell_text(json_object_get(row, c->keys[k])));
    }
}

/* The library knows no indent: it is put in front of each of its lines. */
static void print_indented(struct libscols_table *t, int indent)
{
    char *text = NULL;
    scols_table_reduce_termwidth(t, (size_t)indent);
    if (scols_print_table_to_string(t, &text) == 0)
        for (const char *line = text; *line != 0;) {
            int len = (int)strcspn(line, "\n");
            printf("%*s%.*s\n", indent, "", len, line);
            line += len + (line[len] == '\n');
        }
    free(text);
}

static void print_names(json_t *rows, const char *key)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        print_cell(json_object_get(row, key));
        putchar('\n');
    }
}

void table_print(json_t *rows, const char *const *first, int indent, bool colour)
{
    struct columns c = {.count = 0};
    if (output_is_names()) {
        print_names(rows, first[0]);
        return;
    }
    struct libscols_table *t = scols_new_table();
    find_columns(&c, rows, first);
    fit(&c, rows, (size_t)indent);
    if (t == NULL)
        return;
    size_t room = terminal_width();
    scols_table_set_termforce(t, room > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
    if (room > 0)
        scols_table_set_termwidth(t, room);
    scols_table_set_column_separator(t, "  ");
    scols_table_enable_colors(t, colour);
    scols_table_enable_noheadings(t, !output_has_headers());
    fill(t, &c, rows, colour);
    print_indented(t, indent);
    scols_unref_table(t);
}

static bool is_among(const char *key, const char *const *names)
{
    while (*names != NULL && strcmp(*names, key) != 0)
        names++;
    return *names != NULL;
}

void table_widen(json_t *row, const json_t *entry, const char *const *but)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (output_is_wide() && !json_is_object(value) && !json_is_array(value) &&
            json_object_get(row, key) == NULL && !is_among(key, but))
            json_object_set(row, key, value);
    }
}

json_t *table_row(const json_t *entry, const char *const *columns)
{
    static const char *const none[] = {NULL};
    json_t *row = json_object();
    for (; *columns != NULL; columns++)
        json_object_set(row, *columns, json_object_get(entry, *columns));
    table_widen(row, entry, none);
    return row;
}

/* ---- objects ---- */

static bool is_table(const json_t *value)
{
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

static void print_scalar(json_t *value)
{
    size_t i;
    json_t *member;
    if (!json_is_array(value)) {
        print_cell(value);
    } else if (json_array_size(value) == 0) {
        fputs("none", stdout);
    } else {
        json_array_foreach(value, i, member)
        {
            if (i > 0)
                fputs(", ", stdout);
            print_cell(member);
        }
    }
    putchar('\n');
}

static int key_width(json_t *object)
{
    const char *key;
    json_t *value;
    size_t width = 0;
    json_object_foreach(object, key, value)
    {
        if (!json_is_object(value) && !is_table(value) && strlen(key) > width)
            width = strlen(key);
    }
    return (int)width;
}

static void print_object(json_t *object, int indent, bool colour)
{
    const char *key;
    json_t *value;
    int width = key_width(object);
    json_object_foreach(object, key, value)
    {
        if (json_is_object(value) || is_table(value)) {
            printf("%*s%s", indent, "", colour ? "\033[1m" : "");
            print_text(key);
            puts(colour ? "\033[0m" : "");
            if (json_is_object(value))
                print_object(value, indent + INDENT, colour);
            else
                table_print(value, COLUMNS_FIRST, indent + INDENT, colour);
        } else {
            say("%*s%-*s  ", indent, "", width, key);
            print_scalar(value);
        }
    }
}

void object_print(json_t *object, bool colour)
{
    const json_t *id = json_object_get(object, "id");
    if (output_is_names() && json_is_string(id)) {
        print_cell(id);
        putchar('\n');
    } else if (json_is_object(object))
        print_object(object, 0, colour);
    else
        print_scalar(object);
}
