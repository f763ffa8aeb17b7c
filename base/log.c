#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

enum { RECORD_MAX = 4096, NS_PER_S = 1000000000 };

_Atomic(int) log_threshold = LOG_WARN;

static void write_without_time(void *arg, enum log_level level, const char *event,
                               const struct log_field *fields);

static struct log_sink sink = {.threshold = LOG_WARN, .write = write_without_time};

void log_set_sink(const struct log_sink *s)
{
    sink = *s;
    log_set_threshold(s->threshold);
}

void log_set_threshold(enum log_level level)
{
    atomic_store_explicit(&log_threshold, (int)level, memory_order_relaxed);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    sink.write(sink.arg, level, event, fields);
}

/* One write for one record: records of several threads never mix within a line. */
static void put_record(char *record, int length)
{
    record[length++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, record, (size_t)length);
    (void)ignored; /* a log that cannot be written has nobody left to tell */
}

static void write_without_time(void *arg, enum log_level level, const char *event,
                               const struct log_field *fields)
{
    char record[RECORD_MAX];
    int saved = errno;

    (void)arg;
    put_record(record, log_format_logfmt(record, RECORD_MAX - 1, 0, level, event, fields));
    errno = saved;
}

static void write_logfmt(void *arg, enum log_level level, const char *event,
                         const struct log_field *fields)
{
    char record[RECORD_MAX];
    int saved = errno;

    (void)arg;
    put_record(record,
               log_format_logfmt(record, RECORD_MAX - 1, clock_wall(), level, event, fields));
    errno = saved;
}

static void write_json(void *arg, enum log_level level, const char *event,
                       const struct log_field *fields)
{
    char record[RECORD_MAX];
    int saved = errno;

    (void)arg;
    put_record(record, log_format_json(record, RECORD_MAX - 1, clock_wall(), level, event, fields));
    errno = saved;
}

struct log_sink log_stderr_sink(bool json, enum log_level threshold)
{
    return (struct log_sink){.threshold = threshold, .write = json ? write_json : write_logfmt};
}

/* ---- formatting ----
 *
 * A record is cut, never split: what does not fit ends the record, in the reserve that every
 * record keeps for its end, so that a cut record is well-formed too. */

enum { RESERVE = 24 }; /* longest end: a quote, ,"truncated":true, a brace */

struct text {
    char *at;
    size_t len;
    size_t room; /* bytes, without the reserve */
    bool cut;
};

static bool put(struct text *t, const char *bytes, size_t n)
{
    if (t->cut || n > t->room - t->len) {
        t->cut = true;
        return false;
    }
    memcpy(t->at + t->len, bytes, n);
    t->len += n;
    return true;
}

static bool puts_text(struct text *t, const char *s)
{
    return put(t, s, strlen(s));
}

__attribute__((format(printf, 2, 3))) static bool putf(struct text *t, const char *format, ...)
{
    char piece[64];
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(piece, sizeof piece, format, ap);
    va_end(ap);
    return put(t, piece, (size_t)n);
}

/* From the reserve, so it cannot fail: the last piece of a record, or the quote of a cut text. */
static void finish(struct text *t, const char *end)
{
    size_t n = strlen(end);

    memcpy(t->at + t->len, end, n);
    t->len += n;
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_DEBUG:
        return "debug";
    case LOG_INFO:
        return "info";
    case LOG_WARN:
        return "warn";
    case LOG_ERROR:
        return "error";
    }
    return "?";
}

static void put_time(struct text *t, uint64_t now)
{
    time_t seconds = (time_t)(now / NS_PER_S);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    putf(t, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
         tm.tm_hour, tm.tm_min, tm.tm_sec, (unsigned)(now % NS_PER_S / 1000000));
}

/* Milliseconds, as a decimal number without needless zeros. */
static bool put_ms(struct text *t, uint64_t ns)
{
    char piece[48];
    int n = snprintf(piece, sizeof piece, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);

    while (piece[n - 1] == '0')
        n--;
    if (piece[n - 1] == '.')
        n--;
    return put(t, piece, (size_t)n);
}

/* One character, escaped so that it stands between double quotes.  Returns the bytes consumed, 0
 * when it does not fit. */
static size_t put_character(struct text *t, struct span rest)
{
    const uint8_t *s = rest.at;
    size_t n = utf8_length(rest);

    if (n == 0)
        return puts_text(t, "\\ufffd") ? 1 : 0;
    if (*s == '"' || *s == '\\')
        return putf(t, "\\%c", *s) ? 1 : 0;
    if (*s == '\n')
        return puts_text(t, "\\n") ? 1 : 0;
    if (*s == '\t')
        return puts_text(t, "\\t") ? 1 : 0;
    if (*s < 0x20 || *s == 0x7f)
        return putf(t, "\\u%04x", *s) ? 1 : 0;
    return put(t, (const char *)s, n) ? n : 0;
}

static void put_quoted(struct text *t, const char *s)
{
    struct span rest = span_text(s);
    size_t n = 1;

    if (!put(t, "\"", 1))
        return;
    for (; rest.len > 0 && n > 0; rest = span_behind(rest, n))
        n = put_character(t, rest);
    if (!put(t, "\"", 1))
        finish(t, "\"");
}

static bool is_bare(const char *s)
{
    if (*s == '\0')
        return false;
    for (; *s; s++)
        if (*s <= ' ' || *s >= 0x7f || *s == '"' || *s == '=' || *s == '\\')
            return false;
    return true;
}

static void put_logfmt_text(struct text *t, const char *s)
{
    if (!is_bare(s) || strlen(s) > t->room - t->len)
        put_quoted(t, s);
    else
        puts_text(t, s);
}

static void put_logfmt_value(struct text *t, const struct log_field *f)
{
    switch (f->kind) {
    case LOG_KIND_STR:
        put_logfmt_text(t, f->str);
        break;
    case LOG_KIND_INT:
        putf(t, "%" PRId64, f->i);
        break;
    case LOG_KIND_UINT:
        putf(t, "%" PRIu64, f->u);
        break;
    case LOG_KIND_NS:
        if (put_ms(t, f->u))
            puts_text(t, "ms");
        break;
    case LOG_KIND_END:
        break;
    }
}

static void put_json_value(struct text *t, const struct log_field *f)
{
    switch (f->kind) {
    case LOG_KIND_STR:
        put_quoted(t, f->str);
        break;
    case LOG_KIND_INT:
        putf(t, "%" PRId64, f->i);
        break;
    case LOG_KIND_UINT:
        putf(t, "%" PRIu64, f->u);
        break;
    case LOG_KIND_NS:
        put_ms(t, f->u);
        break;
    case LOG_KIND_END:
        break;
    }
}

static void put_logfmt_key(struct text *t, const struct log_field *f)
{
    put(t, " ", 1);
    puts_text(t, f->key);
    put(t, "=", 1);
}

static void put_json_key(struct text *t, const struct log_field *f)
{
    puts_text(t, ",\"");
    puts_text(t, f->key);
    puts_text(t, f->kind == LOG_KIND_NS ? "_ms\":" : "\":");
}

/* A field that is cut anywhere but inside its text is taken back whole. */
static void put_fields(struct text *t, const struct log_field *fields,
                       void (*key)(struct text *, const struct log_field *),
                       void (*value)(struct text *, const struct log_field *))
{
    for (const struct log_field *f = fields; f->kind != LOG_KIND_END && !t->cut; f++) {
        size_t start = t->len;
        if (f->kind == LOG_KIND_STR && !f->str)
            continue;
        key(t, f);
        size_t begun = t->len;
        value(t, f);
        if (t->cut && (t->len == begun || f->kind != LOG_KIND_STR))
            t->len = start;
    }
}

static bool begin(struct text *t, char *buf, int size)
{
    *t = (struct text){.at = buf, .room = size > RESERVE ? (size_t)size - RESERVE : 0};
    return t->room > 0;
}

int log_format_logfmt(char *buf, int size, uint64_t now, enum log_level level, const char *event,
                      const struct log_field *fields)
{
    struct text t;

    if (!begin(&t, buf, size))
        return 0;
    if (now > 0) {
        puts_text(&t, "time=");
        put_time(&t, now);
        put(&t, " ", 1);
    }
    putf(&t, "level=%s msg=", level_name(level));
    put_logfmt_text(&t, event);
    put_fields(&t, fields, put_logfmt_key, put_logfmt_value);
    if (t.cut)
        finish(&t, " truncated=true");
    return (int)t.len;
}

int log_format_json(char *buf, int size, uint64_t now, enum log_level level, const char *event,
                    const struct log_field *fields)
{
    struct text t;

    if (!begin(&t, buf, size))
        return 0;
    puts_text(&t, "{");
    if (now > 0) {
        puts_text(&t, "\"time\":\"");
        put_time(&t, now);
        puts_text(&t, "\",");
    }
    putf(&t, "\"level\":\"%s\",\"msg\":", level_name(level));
    put_quoted(&t, event);
    put_fields(&t, fields, put_json_key, put_json_value);
    finish(&t, t.cut ? ",\"truncated\":true}" : "}");
    return (int)t.len;
}
