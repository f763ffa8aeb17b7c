#include "client/cli/top/frame.h"

#include "base/utf8.h"
#include "client/cli/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void frame_init(struct frame *f, size_t width, size_t height)
{
    *f = (struct frame){.width = width, .height = height};
}

void frame_fini(struct frame *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->lines[i].text);
    free(f->lines);
    *f = (struct frame){0};
}

bool frame_has_room(const struct frame *f)
{
    return f->count < f->height;
}

/* Of the character at `at`: its bytes, and how many columns it takes. */
static size_t next_char(const char *at, size_t *columns)
{
    size_t len = utf8_length(span_text(at));
    int width = len > 0 ? wcwidth((wchar_t)utf8_code(span_of(at, len))) : 1;
    *columns = width >= 0 ? (size_t)width : 1;
    return len > 0 ? len : 1;
}

size_t text_width(const char *text)
{
    size_t width = 0, columns;
    while (*text != 0) {
        text += next_char(text, &columns);
        width += columns;
    }
    return width;
}

/* How many bytes of it fit. */
static size_t bytes_within(const char *text, size_t width, size_t *taken)
{
    size_t at = 0, columns;
    *taken = 0;
    while (text[at] != 0) {
        size_t len = next_char(text + at, &columns);
        if (*taken + columns > width)
            break;
        *taken += columns;
        at += len;
    }
    return at;
}

char *text_fit(const char *text, size_t width, bool right)
{
    size_t taken, whole = text_width(text);
    bool cut = whole > width;
    size_t len = bytes_within(text, cut && width > 0 ? width - 1 : width, &taken);
    char *fit = NULL;
    cut = cut && width > 0;
    int blanks = (int)(width - taken - cut);
    if (asprintf(&fit, "%*s%.*s%s%*s", right ? blanks : 0, "", (int)len, text, cut ? "+" : "",
                 right ? 0 : blanks, "") < 0)
        return NULL;
    return fit;
}

/* Takes `text`, which is plain. */
static void append(struct frame *f, enum tone tone, char *text)
{
    if (f->count == f->room) {
        size_t room = f->room > 0 ? 2 * f->room : 32;
        struct frame_line *lines = realloc(f->lines, room * sizeof *lines);
        if (lines == NULL) {
            free(text);
            return;
        }
        f->lines = lines;
        f->room = room;
    }
    f->lines[f->count++] = (struct frame_line){.text = text, .tone = tone};
}

void frame_say(struct frame *f, enum tone tone, const char *format, ...)
{
    char *text = NULL, *plain = NULL;
    size_t taken;
    va_list list;
    if (!frame_has_room(f))
        return;
    va_start(list, format);
    int len = vasprintf(&text, format, list);
    va_end(list);
    if (len >= 0) {
        plain = plain_text(text);
        free(text);
    }
    if (plain == NULL)
        return;
    plain[bytes_within(plain, f->width, &taken)] = 0;
    append(f, tone, plain);
}
