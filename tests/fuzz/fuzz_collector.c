/* What a collector of spans answers, and the file of headers that it is sent.
 *
 * An input begins with a byte that says which:
 *   - a body in protobuf: what is read of it stands in it; and one made of fields that the input
 *     says, known and not, is read as what was put into it;
 *   - Retry-After, and Date: never longer than is allowed; what is a number is that number; a
 * moment in each of the forms of RFC 9110 is that moment;
 *   - a file of headers: what is taken are headers that can be said, once each, and none of the
 *     server's own; what is refused says why, by its line, and quotes none of it. */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "server/tracing/collector_headers.h"
#include "server/tracing/otlp_answer.h"
#include "server/tracing/retry_after.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_rest.h"

enum { TEXT_MAX = 8192 };

/* ---- a body ---- */

static bool is_in(struct span body, struct span text)
{
    return text.len == 0 || (text.at >= body.at && text.at + text.len <= body.at + body.len);
}

static void check_body(struct span body)
{
    struct otlp_answer a, refusal;
    bool good = otlp_answer_read(body, &a);

    CHECK(is_in(body, a.text) && a.rejected <= INT64_MAX);
    CHECK(good || (a.rejected == 0 && a.text.len == 0));
    good = otlp_refusal_read(body, &refusal);
    CHECK(is_in(body, refusal.text) && refusal.rejected == 0);
    CHECK(good || refusal.text.len == 0);
}

struct message {
    uint8_t at[TEXT_MAX];
    size_t len;
};

static void put_varint(struct message *m, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        m->at[m->len++] = (uint8_t)(v | 0x80);
    m->at[m->len++] = (uint8_t)v;
}

static void put_bytes(struct message *m, uint64_t field, struct span bytes)
{
    put_varint(m, field << 3 | 2);
    put_varint(m, bytes.len);
    if (bytes.len > 0)
        memcpy(m->at + m->len, bytes.at, bytes.len);
    m->len += bytes.len;
}

/* One that nobody knows: of a number above those that there are. */
static void put_unknown(struct message *m, uint8_t how)
{
    uint64_t field = 3 + fuzz_number() % 1000;
    struct span bytes = fuzz_bytes(8);
    uint8_t fixed[8] = {0};

    memcpy(fixed, bytes.len > 0 ? bytes.at : fixed, bytes.len);
    if (how % 4 == 0) {
        put_varint(m, field << 3);
        put_varint(m, fuzz_number());
    } else if (how % 4 == 1) {
        put_bytes(m, field, bytes);
    } else {
        size_t len = how % 4 == 2 ? 8 : 4;
        put_varint(m, field << 3 | (len == 8 ? 1 : 5));
        memcpy(m->at + m->len, fixed, len);
        m->len += len;
    }
}

/* A number and a text among others; the last of each counts. */
static void put_said(struct message *m, uint64_t *n, struct span *text)
{
    for (int i = 0; i < 16 && fuzz_more(); i++) {
        uint8_t how = fuzz_byte();
        if (how % 4 == 0) {
            *n = fuzz_number();
            put_varint(m, 1 << 3);
            put_varint(m, *n);
        } else if (how % 4 == 1) {
            *text = fuzz_bytes(how);
            put_bytes(m, 2, *text);
        } else if (how % 4 == 2) {
            put_unknown(m, how >> 2);
        } else {
            return;
        }
    }
}

static bool same(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static void check_made(void)
{
    static struct message inner, outer;
    struct otlp_answer a;
    struct span text = {0};
    uint64_t n = 0;

    inner.len = outer.len = 0;
    put_said(&inner, &n, &text);
    struct span said = span_of(inner.at, inner.len);
    CHECK(otlp_refusal_read(said, &a) && same(a.text, text));
    if (fuzz_more())
        put_unknown(&outer, fuzz_byte());
    put_bytes(&outer, 1, said);
    if (fuzz_more())
        put_unknown(&outer, fuzz_byte());
    CHECK(otlp_answer_read(span_of(outer.at, outer.len), &a));
    CHECK(same(a.text, text) && a.rejected == ((int64_t)n > 0 ? n : 0));
}

/* ---- how long to wait ---- */

static void check_wait(const char *text, const char *date)
{
    unsigned wait = retry_after(text, date, 1000000000);
    size_t digits = strspn(text, "0123456789");

    CHECK(wait <= RETRY_AFTER_MAX_S);
    CHECK(retry_after(NULL, date, 0) == 0);
    if (digits > 0 && text[digits] == 0) {
        unsigned long n = strtoul(text, NULL, 10);
        bool long_one = digits > 9 && wait == RETRY_AFTER_MAX_S; /* zeros in front, or not */
        CHECK(long_one || wait == (n < RETRY_AFTER_MAX_S ? n : RETRY_AFTER_MAX_S));
    }
}

static void check_moment(uint8_t how)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    /* Of two digits of a year nobody knows the century beyond 2068. */
    const time_t last = 3000000000;
    time_t at = (time_t)(fuzz_number() % (uint64_t)last);
    int64_t before = (int64_t)(fuzz_number() % 1000) - 300;
    int64_t expected = before < 0 ? 0 : before < RETRY_AFTER_MAX_S ? before : RETRY_AFTER_MAX_S;
    char text[64], date[64];
    struct tm tm;

    at = at > 1000 ? at : 1000;
    CHECK(gmtime_r(&at, &tm) && strftime(text, sizeof text, forms[how % 3], &tm) > 0);
    CHECK(retry_after(text, NULL, at - before) == expected);
    time_t there = at - before;
    CHECK(gmtime_r(&there, &tm) && strftime(date, sizeof date, forms[how / 3 % 3], &tm) > 0);
    CHECK(retry_after(text, date, 0) == expected);
}

/* ---- headers ---- */

static bool is_own(const char *name)
{
    static const char *const names[] = {"Host",       "Content-Type", "Content-Length",
                                        "Connection", "Expect",       "Transfer-Encoding"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return false;
}

static void check_header(const struct collector_headers *h, size_t i)
{
    const char *name = h->names[i], *value = h->values[i];

    CHECK(*name && *value && !is_own(name));
    for (const char *c = name; *c; c++)
        CHECK(*c > ' ' && *c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", *c));
    for (const char *c = value; *c; c++)
        CHECK((unsigned char)*c >= ' ' || *c == '\t');
    CHECK(!strchr(" \t", *value) && !strchr(" \t", value[strlen(value) - 1]));
    for (size_t k = 0; k < i; k++)
        CHECK(strcasecmp(name, h->names[k]) != 0);
}

/* As they stand there, they are taken again. */
static void check_headers(struct span text)
{
    static char again[2 * TEXT_MAX];
    char why[200] = "";
    size_t len = 0;
    struct collector_headers *h = collector_headers_parse(text, why, sizeof why);

    CHECK((h == NULL) == (why[0] != 0));
    if (!h) {
        CHECK(strncmp(why, "line ", 5) == 0 && isdigit((unsigned char)why[5]));
        return;
    }
    CHECK(h->count <= COLLECTOR_HEADERS_MAX);
    for (size_t i = 0; i < h->count; i++) {
        check_header(h, i);
        len += (size_t)snprintf(again + len, sizeof again - len, "%s: %s\n", h->names[i],
                                h->values[i]);
    }
    struct collector_headers *same_ones =
        collector_headers_parse(span_of(again, len), why, sizeof why);
    CHECK(same_ones && same_ones->count == h->count);
    for (size_t i = 0; i < h->count; i++)
        CHECK(strcmp(h->names[i], same_ones->names[i]) == 0 &&
              strcmp(h->values[i], same_ones->values[i]) == 0);
    collector_headers_free(same_ones);
    collector_headers_free(h);
}

/* A secret anywhere. */
static void check_quotes(struct span text, uint8_t where)
{
    static const char marker[] = "Qx7Zk3Wv";
    static char with[TEXT_MAX + sizeof marker];
    char why[200] = "";
    size_t at = text.len > 0 ? where % text.len : 0;

    if (text.len > 0)
        memcpy(with, text.at, text.len);
    memmove(with + at + sizeof marker - 1, with + at, text.len - at);
    memcpy(with + at, marker, sizeof marker - 1);
    collector_headers_free(
        collector_headers_parse(span_of(with, text.len + sizeof marker - 1), why, sizeof why));
    CHECK(!strstr(why, marker));
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 1];

    if (size > TEXT_MAX / 4)
        return;
    fuzz_begin(data, size);
    uint8_t how = fuzz_byte();
    struct span rest = fuzz_rest();
    switch (how % 8) {
    case 0:
    case 1:
        check_body(rest);
        return;
    case 2:
    case 3:
        check_made();
        return;
    case 4:
        check_moment(how / 8);
        return;
    case 5:
        memset(text, 0, rest.len + 2);
        if (rest.len > 0)
            memcpy(text, rest.at, rest.len);
        check_wait(text, text[strlen(text) + 1] && strlen(text) < rest.len ? text + strlen(text) + 1
                                                                           : NULL);
        return;
    default:
        check_headers(rest);
        check_quotes(rest, how);
    }
}
