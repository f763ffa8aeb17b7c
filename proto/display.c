#include "proto/display.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/reader.h"
#include "proto/wire.h"

static const char cut_mark[] = "\u2026";

enum {
    MARK = sizeof cut_mark - 1,
    NUMBER_SIZE = 32, /* of the text of any number, or of a length */
    /* What it takes to show a character, and how much more a float takes; ns. */
    CHARACTER_WORK = 10,
    FLOAT_WORK = 1000
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

static void uint_text(uint64_t v, char *buf)
{
    char digits[NUMBER_SIZE], *at = digits + sizeof digits;

    *--at = '\0';
    do
        *--at = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    memcpy(buf, at, (size_t)(digits + sizeof digits - at));
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
        uint_text(u, buf);
    } else if (read_int(r, &i)) {
        buf[0] = '-';
        uint_text(-(uint64_t)i, buf + 1);
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
    uint32_t floats; /* so many were shown */
};

static void add(struct text *t, const void *bytes, size_t n)
{
    t->cut = t->cut || n > DISPLAY_MAX - MARK - t->len;
    if (t->cut)
        return;
    memcpy(t->at + t->len, bytes, n);
    t->len += n;
}

static void add_text(struct text *t, const char *text)
{
    add(t, text, strlen(text));
}

static void add_escaped(struct text *t, uint8_t c)
{
    const char pair[] = {'\\', (char)c};

    add(t, pair, sizeof pair);
}

static void add_code(struct text *t, uint32_t code)
{
    char buf[NUMBER_SIZE];

    snprintf(buf, sizeof buf, "\\u%04" PRIx32, code);
    add_text(t, buf);
}

static void add_character(struct text *t, struct span c)
{
    if (*c.at == '"' || *c.at == '\\')
        add_escaped(t, *c.at);
    else if (*c.at == '\n' || *c.at == '\t')
        add_escaped(t, *c.at == '\n' ? 'n' : 't');
    else if (utf8_steers(c))
        add_code(t, utf8_code(c));
    else
        add(t, c.at, c.len);
}

/* " (7 bytes)" */
static void add_length(struct text *t, size_t bytes)
{
    char buf[NUMBER_SIZE];

    snprintf(buf, sizeof buf, " (%zu bytes)", bytes);
    add_text(t, buf);
}

static void add_bytes(struct text *t, struct span bytes)
{
    static const char digits[] = "0123456789abcdef";
    size_t shown = bytes.len < DISPLAY_BYTES_MAX ? bytes.len : DISPLAY_BYTES_MAX;

    add_text(t, "h'");
    for (size_t i = 0; i < shown; i++) {
        const char pair[] = {digits[bytes.at[i] >> 4], digits[bytes.at[i] & 15]};
        add(t, pair, sizeof pair);
    }
    add_text(t, shown < bytes.len ? cut_mark : "");
    add_text(t, "'");
    add_length(t, bytes.len);
}

static void add_string(struct text *t, struct span text)
{
    struct span shown = utf8_cut(text, DISPLAY_STRING_MAX);

    if (text.len > 0 && (shown.len == 0 || !utf8_valid(shown))) {
        add_bytes(t, text);
        return;
    }
    add_text(t, "\"");
    for (struct span rest = shown; rest.len > 0 && !t->cut;) {
        size_t len = utf8_length(rest);
        add_character(t, span_of(rest.at, len));
        rest = span_behind(rest, len);
    }
    add_text(t, shown.len < text.len ? cut_mark : "");
    add_text(t, "\"");
    if (shown.len < text.len)
        add_length(t, text.len);
}

/* --- Values --- */

static void show(struct text *t, struct reader *r, unsigned depth);

static void show_list(struct text *t, struct reader *r, uint32_t count, unsigned depth)
{
    add_text(t, "[");
    for (uint32_t i = 0; i < count && !t->cut; i++) {
        add_text(t, i > 0 ? ", " : "");
        show(t, r, depth + 1);
    }
    add_text(t, "]");
}

static void show_map(struct text *t, struct reader *r, uint32_t pairs, unsigned depth)
{
    add_text(t, "{");
    for (uint32_t i = 0; i < pairs && !t->cut; i++) {
        add_text(t, i > 0 ? ", " : "");
        show(t, r, depth + 1);
        add_text(t, ": ");
        show(t, r, depth + 1);
    }
    add_text(t, "}");
}

/* fixext 1 to 16, ext 8 to 32: the type is behind the length, the bytes are behind the type. */
static void show_ext(struct text *t, struct span raw)
{
    size_t head = wire_head_size(wire_hints[*raw.at]);

    char buf[NUMBER_SIZE];
    snprintf(buf, sizeof buf, "ext(%d, ", (int)(int8_t)raw.at[head]);
    add_text(t, buf);
    add_bytes(t, span_behind(raw, head + 1));
    add_text(t, ")");
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

static bool show_number(struct text *t, struct reader *r)
{
    char number[NUMBER_SIZE];

    t->floats += is_float(*r->at);
    if (!number_text(r, number))
        return false;
    add_text(t, number);
    return true;
}

static void show(struct text *t, struct reader *r, unsigned depth)
{
    bool flag, is_bin = r->at != r->end && *r->at >= WIRE_BIN8 && *r->at < WIRE_EXT8;
    struct span part;

    if (t->cut || reader_at_end(r))
        t->cut = true;
    else if (read_nil(r))
        add_text(t, "null");
    else if (read_bool(r, &flag))
        add_text(t, flag ? "true" : "false");
    else if (show_number(t, r))
        return;
    else if (read_text(r, &part))
        (is_bin ? add_bytes : add_string)(t, part);
    else if (!show_container(t, r, depth) && read_any(r, &part))
        show_ext(t, part);
}

size_t display_value(struct span value, char buf[static DISPLAY_MAX], uint32_t *work)
{
    struct text t = {.at = buf};
    struct reader r = reader_of(value);

    show(&t, &r, 0);
    if (t.cut)
        memcpy(buf + t.len, cut_mark, MARK);
    *work += CHARACTER_WORK * (uint32_t)t.len + FLOAT_WORK * t.floats;
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
    s->negative = digits[0] == '-';
    char again[NUMBER_SIZE];
    s->real = strtod(digits, NULL);
    float_text(s->real, again);
    s->is_float = span_is(text, again);
    if (strspn(digits + s->negative, "0123456789") < text.len - s->negative)
        return;
    s->magnitude = strtoull(digits + s->negative, NULL, 10);
    snprintf(again, sizeof again, "%s%" PRIu64, s->negative ? "-" : "", s->magnitude);
    s->is_int = strcmp(again, digits) == 0 && !(s->negative && s->magnitude == 0);
}

/* Have they the same text? */
static bool same_float(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static bool is_number(const struct search *s, struct span element)
{
    struct reader r = reader_of(element);
    double v;
    uint64_t u;
    int64_t i;

    if (is_float(*element.at))
        return s->is_float && read_number(&r, &v) && same_float(s->real, v);
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
    return (s->is_int || s->is_float) && wire_hints[*rest.at] < WIRE_SIZED &&
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
