#include "proto/show.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { DEPTH_MAX = 4 };

static const char cut_mark[] = "...";

struct text {
    char *at;
    size_t len, room; /* without the mark of a cut, and the NUL */
    bool cut;
};

static void add(struct text *t, const char *bytes, size_t n)
{
    if (n > t->room - t->len)
        t->cut = true;
    if (t->cut)
        return;
    memcpy(t->at + t->len, bytes, n);
    t->len += n;
}

__attribute__((format(printf, 2, 3))) static void print(struct text *t, const char *format, ...)
{
    char buf[64];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(buf, sizeof buf, format, args);
    va_end(args);
    add(t, buf, n < 0 ? 0 : (size_t)n);
}

/* As much of it as there is room for. */
static void add_text(struct text *t, struct span text)
{
    add(t, "\"", 1);
    struct span some = utf8_cut(text, t->room - t->len);
    if (!t->cut)
        t->len += utf8_plain(t->at + t->len, t->room - t->len, some);
    add(t, some.len < text.len ? "" : "\"", some.len < text.len ? t->room + 1 : 1);
}

/* Each pair or element is a value of its own; a map's is a key and a value. */
static void show(struct text *t, struct reader *r, unsigned depth)
{
    struct span text;
    uint32_t count;
    uint64_t u;
    int64_t i;
    double f;
    bool flag;

    if (read_nil(r)) {
        print(t, "nil");
    } else if (read_bool(r, &flag)) {
        print(t, "%s", flag ? "true" : "false");
    } else if (read_uint(r, &u)) {
        print(t, "%" PRIu64, u);
    } else if (read_int(r, &i)) {
        print(t, "%" PRId64, i);
    } else if (read_number(r, &f)) {
        print(t, "%g", f);
    } else if (read_text(r, &text)) {
        add_text(t, text);
    } else if (depth < DEPTH_MAX && read_array(r, &count)) {
        print(t, "[");
        for (uint32_t n = 0; n < count && !t->cut; n++) {
            print(t, "%s", n > 0 ? ", " : "");
            show(t, r, depth + 1);
        }
        print(t, "]");
    } else if (depth < DEPTH_MAX && read_map(r, &count)) {
        print(t, "{");
        for (uint32_t n = 0; n < count && !t->cut; n++) {
            print(t, "%s", n > 0 ? ", " : "");
            show(t, r, depth + 1);
            print(t, ": ");
            show(t, r, depth + 1);
        }
        print(t, "}");
    } else if (read_any(r, &text)) {
        print(t, "(%zu bytes)", text.len);
    } else {
        t->cut = true; /* the end */
    }
}

size_t show_values(struct reader *r, uint32_t count, char *buf, size_t size)
{
    struct text t = {.at = buf, .room = size - sizeof cut_mark};

    for (uint32_t i = 0; i < count && !t.cut; i++) {
        print(&t, "%s", i > 0 ? " " : "");
        show(&t, r, 0);
    }
    if (t.cut) {
        memcpy(buf + t.len, cut_mark, sizeof cut_mark - 1);
        t.len += sizeof cut_mark - 1;
    }
    buf[t.len] = '\0';
    return t.len;
}
