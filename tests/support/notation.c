#include "tests/support/notation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "tests/support/cmocka_env.h"

enum { ELEMENTS_MAX = 15 /* in text: what a header of one byte holds */ };

/* --- Text to bytes --- */

struct packing {
    const char *text;
    uint8_t *at, *end;
};

static void pack_value(struct packing *p);

static void skip_blanks(struct packing *p)
{
    while (*p->text == ' ' || *p->text == ',' || *p->text == ':')
        p->text++;
}

static void pack_text(struct packing *p)
{
    const char *end = strchr(p->text + 1, '\'');

    assert_non_null(end);
    size_t len = (size_t)(end - p->text) - 1;
    assert_true(p->at + ENC_HEAD_MAX + len <= p->end);
    p->at = enc_str(p->at, span_of(p->text + 1, len));
    p->text = end + 1;
}

static void pack_number(struct packing *p)
{
    char *end;
    long long i = strtoll(p->text, &end, 10);

    if (*end == '.')
        p->at = enc_double(p->at, strtod(p->text, &end));
    else
        p->at = enc_int(p->at, i);
    assert_ptr_not_equal(end, p->text);
    p->text = end;
}

/* The header is one byte, and is known at the end. */
static void pack_elements(struct packing *p, char close, uint8_t head, unsigned each)
{
    uint8_t *at = p->at++;
    unsigned count = 0;

    p->text++;
    for (skip_blanks(p); *p->text != close; skip_blanks(p)) {
        pack_value(p);
        count++;
    }
    p->text++;
    assert_true(count % each == 0 && count / each <= ELEMENTS_MAX);
    *at = (uint8_t)(head | count / each);
}

static bool pack_word(struct packing *p, const char *word, uint8_t byte)
{
    size_t len = strlen(word);

    if (strncmp(p->text, word, len) != 0)
        return false;
    p->text += len;
    *p->at++ = byte;
    return true;
}

static void pack_value(struct packing *p)
{
    skip_blanks(p);
    assert_true(p->at + ENC_INT_MAX <= p->end);
    if (*p->text == '[')
        pack_elements(p, ']', 0x90, 1);
    else if (*p->text == '{')
        pack_elements(p, '}', 0x80, 2);
    else if (*p->text == '\'')
        pack_text(p);
    else if (!pack_word(p, "nil", 0xc0) && !pack_word(p, "true", 0xc3) &&
             !pack_word(p, "false", 0xc2))
        pack_number(p);
}

size_t notation_pack(const char *text, uint8_t *buf, size_t size)
{
    struct packing p = {.text = text, .at = buf, .end = buf + size};

    pack_value(&p);
    assert_int_equal(*p.text, '\0');
    return (size_t)(p.at - buf);
}

/* --- Bytes to text --- */

struct showing {
    struct reader r;
    char *at;
    size_t left;
};

static void show_value(struct showing *s);

static void say(struct showing *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct showing *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(s->at, s->left, format, args);
    va_end(args);
    size_t used = (size_t)n < s->left ? (size_t)n : s->left - 1;
    s->at += used;
    s->left -= used;
}

static void show_elements(struct showing *s, uint32_t count)
{
    say(s, "[");
    for (uint32_t i = 0; i < count; i++) {
        say(s, "%s", i > 0 ? ", " : "");
        show_value(s);
    }
    say(s, "]");
}

static void show_pairs(struct showing *s, uint32_t pairs)
{
    say(s, "{");
    for (uint32_t i = 0; i < pairs; i++) {
        say(s, "%s", i > 0 ? ", " : "");
        show_value(s);
        say(s, ": ");
        show_value(s);
    }
    say(s, "}");
}

static bool is_bin(const struct reader *r)
{
    return r->at < r->end && *r->at >= 0xc4 && *r->at <= 0xc6;
}

static void show_value(struct showing *s)
{
    bool bin = is_bin(&s->r), truth;
    struct span text = {0};
    int64_t i;
    uint64_t u;
    double d;
    uint32_t count;

    if (read_nil(&s->r))
        say(s, "nil");
    else if (read_bool(&s->r, &truth))
        say(s, "%s", truth ? "true" : "false");
    else if (read_int(&s->r, &i))
        say(s, "%lld", (long long)i);
    else if (read_uint(&s->r, &u))
        say(s, "%llu", (unsigned long long)u);
    else if (read_number(&s->r, &d))
        say(s, "%g", d);
    else if (read_text(&s->r, &text) && bin)
        say(s, "<%zu bytes>", text.len);
    else if (text.at != NULL)
        say(s, "'%.*s'", (int)text.len, (const char *)text.at);
    else if (read_array(&s->r, &count))
        show_elements(s, count);
    else if (read_map(&s->r, &count))
        show_pairs(s, count);
    else
        say(s, "%s", read_any(&s->r, &text) ? "<ext>" : "<?>");
}

const char *notation_show(struct span bytes, char *buf, size_t size)
{
    struct showing s = {.r = reader_of(bytes), .at = buf, .left = size};

    buf[0] = '\0';
    show_value(&s);
    return buf;
}
