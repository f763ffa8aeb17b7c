#include "proto/display.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/reader.h"
#include "proto/wire.h"

static const char cut_mark[] = "\u2026";

enum {
    MARK = sizeof cut_mark - 1,
    NUMBER_SIZE = 32 /* of the text of any number */
};

/* --- Numbers --- */

/* The shortest text that is read as the same number; of a whole one with ".0". */
static void float_text(double v, char buf[NUMBER_SIZE])
{
    if (isnan(v) || isinf(v)) {
        snprintf(buf, NUMBER_SIZE, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, NUMBER_SIZE, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    size_t len = strlen(buf);
    if (strcspn(buf, ".e") == len)
        snprintf(buf + len, NUMBER_SIZE - len, ".0");
}

static bool is_float(uint8_t first)
{
    return first == WIRE_FLOAT || first == WIRE_DOUBLE;
}

/* Takes the next value if it is a number. */
static bool number_text(struct reader *r, char buf[NUMBER_SIZE])
{
    double v;
    uint64_t u;
    int64_t i;

    if (is_float(*r->at)) {
        if (!read_number(r, &v))
            return false;
        float_text(v, buf);
    } else if (read_uint(r, &u)) {
        snprintf(buf, NUMBER_SIZE, "%" PRIu64, u);
    } else if (read_int(r, &i)) {
        snprintf(buf, NUMBER_SIZE, "%" PRId64, i);
    } else {
        return false;
    }
    return true;
}

/* --- Text --- */

struct text {
    char *at;
    size_t len; /* room is left for the mark of a cut */
    bool cut;
};

static void add(struct text *t, const void *bytes, size_t n)
{
    t->cut = t->cut || n > DISPLAY_MAX - MARK - t->len;
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

static void add_character(struct text *t, struct span c)
{
    if (*c.at == '"' || *c.at == '\\')
        print(t, "\\%c", *c.at);
    else if (*c.at == '\n' || *c.at == '\t')
        print(t, "\\%c", *c.at == '\n' ? 'n' : 't');
    else if (utf8_steers(c))
        print(t, "\\u%04" PRIx32, utf8_code(c));
    else
        add(t, c.at, c.len);
}

static void add_bytes(struct text *t, struct span bytes)
{
    size_t shown = bytes.len < DISPLAY_BYTES_MAX ? bytes.len : DISPLAY_BYTES_MAX;

    print(t, "h'");
    for (size_t i = 0; i < shown; i++)
        print(t, "%02x", bytes.at[i]);
    print(t, "%s' (%zu bytes)", shown < bytes.len ? cut_mark : "", bytes.len);
}

static void add_string(struct text *t, struct span text)
{
    struct span shown = utf8_cut(text, DISPLAY_STRING_MAX);

    if (text.len > 0 && (shown.len == 0 || !utf8_valid(shown))) {
        add_bytes(t, text);
        return;
    }
    print(t, "\"");
    for (struct span rest = shown; rest.len > 0 && !t->cut;) {
        size_t len = utf8_length(rest);
        add_character(t, span_of(rest.at, len));
        rest = span_behind(rest, len);
    }
    print(t, shown.len < text.len ? "%s\" (%zu bytes)" : "\"", cut_mark, text.len);
}

/* --- Values --- */

static void show(struct text *t, struct reader *r, unsigned depth);

static void show_list(struct text *t, struct reader *r, uint32_t count, unsigned depth)
{
    print(t, "[");
    for (uint32_t i = 0; i < count && !t->cut; i++) {
        print(t, "%s", i > 0 ? ", " : "");
        show(t, r, depth + 1);
    }
    print(t, "]");
}

static void show_map(struct text *t, struct reader *r, uint32_t pairs, unsigned depth)
{
    print(t, "{");
    for (uint32_t i = 0; i < pairs && !t->cut; i++) {
        print(t, "%s", i > 0 ? ", " : "");
        show(t, r, depth + 1);
        print(t, ": ");
        show(t, r, depth + 1);
    }
    print(t, "}");
}

/* fixext 1 to 16, ext 8 to 32: the type is behind the length, the bytes are behind the type. */
static void show_ext(struct text *t, struct span raw)
{
    size_t head = wire_head_size(wire_hints[*raw.at]);

    print(t, "ext(%d, ", (int)(int8_t)raw.at[head]);
    add_bytes(t, span_behind(raw, head + 1));
    print(t, ")");
}

static bool show_container(struct text *t, struct reader *r, unsigned depth)
{
    uint32_t count;

    if (read_array(r, &count)) {
        t->cut = t->cut || depth >= DISPLAY_DEPTH_MAX;
        show_list(t, r, t->cut ? 0 : count, depth);
    } else if (read_map(r, &count)) {
        t->cut = t->cut || depth >= DISPLAY_DEPTH_MAX;
        show_map(t, r, t->cut ? 0 : count, depth);
    } else {
        return false;
    }
    return true;
}

static void show(struct text *t, struct reader *r, unsigned depth)
{
    char number[NUMBER_SIZE];
    bool flag, is_bin = r->at != r->end && *r->at >= WIRE_BIN8 && *r->at < WIRE_EXT8;
    struct span part;

    if (t->cut || reader_at_end(r))
        t->cut = true;
    else if (read_nil(r))
        print(t, "null");
    else if (read_bool(r, &flag))
        print(t, "%s", flag ? "true" : "false");
    else if (number_text(r, number))
        print(t, "%s", number);
    else if (read_text(r, &part))
        (is_bin ? add_bytes : add_string)(t, part);
    else if (!show_container(t, r, depth) && read_any(r, &part))
        show_ext(t, part);
}

size_t display_value(struct span value, char buf[static DISPLAY_MAX])
{
    struct text t = {.at = buf};
    struct reader r = reader_of(value);

    show(&t, &r, 0);
    if (t.cut)
        memcpy(buf + t.len, cut_mark, MARK);
    return t.len + (t.cut ? MARK : 0);
}

/* --- Search --- */

/* What it takes to look at one element, and at a byte of a string; ns. */
enum { ELEMENT_WORK = 10, BYTE_WORK = 2, CHUNK = 4096 };

void search_init(struct search *s, struct span text)
{
    char digits[NUMBER_SIZE] = "";

    *s = (struct search){.text = text};
    if (text.len >= sizeof digits)
        return;
    memcpy(digits, text.at, text.len);
    s->number = strspn(digits, "0123456789+-.einfa") == text.len;
    s->negative = digits[0] == '-';
    if (!s->number || strspn(digits + s->negative, "0123456789") < text.len - s->negative)
        return;
    s->magnitude = strtoull(digits + s->negative, NULL, 10);
    char again[NUMBER_SIZE];
    snprintf(again, sizeof again, "%s%" PRIu64, s->negative ? "-" : "", s->magnitude);
    s->is_int = strcmp(again, digits) == 0 && !(s->negative && s->magnitude == 0);
}

static bool is_number(const struct search *s, struct span element)
{
    struct reader r = reader_of(element);
    char text[NUMBER_SIZE];
    uint64_t u;
    int64_t i;

    if (is_float(*element.at))
        return number_text(&r, text) && span_is(s->text, text);
    if (!s->is_int)
        return false;
    if (!s->negative)
        return read_uint(&r, &u) && u == s->magnitude;
    return read_int(&r, &i) && i < 0 && -(uint64_t)i == s->magnitude;
}

/* Looks at one chunk of the string that ends at `body`. */
static bool find_in_string(const struct search *s, struct span value, struct search_place *place)
{
    size_t left = place->body - place->at, len = left < CHUNK ? left : CHUNK;

    if (memmem(value.at + place->at, len, s->text.at, s->text.len))
        return true;
    /* The text may begin in this chunk, and end in the next. */
    place->at += len == left ? len : len - (s->text.len - 1);
    return false;
}

static bool is_string(uint8_t first)
{
    uint8_t hint = wire_hints[first];

    return (first & 0xe0) == WIRE_FIXSTR ||
           (hint >= WIRE_SIZED && (hint & WIRE_KIND) == WIRE_BYTES);
}

/* Containers are not skipped: their elements come next.  Nor are numbers: nothing else is equal to
 * one. */
static bool look_at_element(const struct search *s, struct span value, struct search_place *place)
{
    struct span rest = span_behind(value, place->at);
    struct wire_head h;

    if (!wire_element(rest, &h)) { /* the scanner has passed it */
        place->at = value.len;
        return false;
    }
    size_t end = place->at + h.size + h.body;
    place->at += h.size;
    if (is_string(*rest.at)) {
        place->body = h.body >= s->text.len ? end : 0;
        place->at = h.body >= s->text.len ? place->at : end;
        return false;
    }
    place->at = end;
    return s->number && wire_hints[*rest.at] < WIRE_SIZED &&
           is_number(s, span_of(rest.at, h.size + h.body));
}

enum search_outcome search_value(const struct search *s, struct span value,
                                 struct search_place *place, int64_t *work)
{
    bool found = false;

    while (place->at < value.len && !found) {
        if (*work <= 0)
            return SEARCH_MORE;
        size_t before = place->at;
        if (place->at < place->body)
            found = find_in_string(s, value, place);
        else
            found = look_at_element(s, value, place);
        *work -= ELEMENT_WORK;
        *work -= place->body > before ? BYTE_WORK * (int64_t)(place->at - before) : 0;
    }
    return found ? SEARCH_YES : SEARCH_NO;
}
