#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

enum { NS_PER_S = 1000000000 };

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

void log_write_last(const char *event, const struct log_field *fields)
{
    (sink.write_last ? sink.write_last : sink.write)(sink.arg, LOG_ERROR, event, fields);
}

struct log_figures log_figures(void)
{
    struct log_figures figures = {0};

    if (sink.figures)
        sink.figures(sink.arg, &figures);
    return figures;
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
    char record[LOG_RECORD_MAX];
    int saved = errno;

    (void)arg;
    put_record(record, log_format_logfmt(record, LOG_RECORD_MAX - 1, 0, level, event, fields));
    errno = saved;
}

static void write_formed(void *arg, enum log_level level, const char *event,
                         const struct log_field *fields)
{
    const struct log_form *form = arg;
    char record[LOG_RECORD_MAX];
    int saved = errno;

    put_record(record,
               log_format(record, LOG_RECORD_MAX - 1, clock_wall(), *form, level, event, fields));
    errno = saved;
}

struct log_sink log_stderr_sink(struct log_form form, enum log_level threshold)
{
    static struct log_form forms[2][2] = {{{false, false}, {false, true}},
                                          {{true, false}, {true, true}}};

    return (struct log_sink){
        .threshold = threshold, .write = write_formed, .arg = &forms[form.json][form.levels]};
}

/* ---- formatting ----
 *
 * In plain C alone, without locale, lock or allocation: a record can be written in a signal handler
 * too, where the C library's formatting may not be called.
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

/* At least `width` digits. */
static bool put_uint(struct text *t, uint64_t v, int width)
{
    char digits[20];
    size_t n = 0;

    do {
        digits[sizeof digits - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0 || n < (size_t)width);
    return put(t, digits + sizeof digits - n, n);
}

static bool put_int(struct text *t, int64_t v)
{
    char digits[21] = "-";
    struct text piece = {.at = digits, .len = v < 0, .room = sizeof digits};

    put_uint(&piece, v < 0 ? -(uint64_t)v : (uint64_t)v, 1);
    return put(t, digits, piece.len);
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
    case LOG_AUDIT:
        return "audit";
    }
    return "?";
}

/* A day since 1970 as year, month and day of the Gregorian calendar: years that begin in March have
 * the odd day at their end. */
static void put_date(struct text *t, uint64_t day)
{
    enum { BEFORE_1970 = 719468, DAYS_OF_400_YEARS = 146097 };
    uint64_t since = day + BEFORE_1970, era = since / DAYS_OF_400_YEARS;
    uint64_t of_era = since % DAYS_OF_400_YEARS;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153; /* 0: March */

    put_uint(t, year + era * 400 + (month >= 10), 4);
    put(t, "-", 1);
    put_uint(t, month < 10 ? month + 3 : month - 9, 2);
    put(t, "-", 1);
    put_uint(t, of_year - (153 * month + 2) / 5 + 1, 2);
}

static void put_time(struct text *t, uint64_t now)
{
    uint64_t seconds = now / NS_PER_S;

    put_date(t, seconds / 86400);
    put(t, "T", 1);
    put_uint(t, seconds / 3600 % 24, 2);
    put(t, ":", 1);
    put_uint(t, seconds / 60 % 60, 2);
    put(t, ":", 1);
    put_uint(t, seconds % 60, 2);
    put(t, ".", 1);
    put_uint(t, now % NS_PER_S / 1000000, 3);
    put(t, "Z", 1);
}

/* Milliseconds, as a decimal number without needless zeros. */
static bool put_ms(struct text *t, uint64_t ns)
{
    char digits[48];
    struct text piece = {.at = digits, .room = sizeof digits};

    put_uint(&piece, ns / 1000000, 1);
    put(&piece, ".", 1);
    put_uint(&piece, ns % 1000000, 6);
    while (digits[piece.len - 1] == '0')
        piece.len--;
    if (digits[piece.len - 1] == '.')
        piece.len--;
    return put(t, digits, piece.len);
}

/* Those that steer are among the first 65536. */
static bool put_control(struct text *t, uint32_t code)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[] = {
        '\\', 'u', hex[code >> 12 & 15], hex[code >> 8 & 15], hex[code >> 4 & 15], hex[code & 15]};

    return put(t, escape, sizeof escape);
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
        return put(t, (const char[]){'\\', (char)*s}, 2) ? 1 : 0;
    if (*s == '\n')
        return puts_text(t, "\\n") ? 1 : 0;
    if (*s == '\t')
        return puts_text(t, "\\t") ? 1 : 0;
    if (utf8_steers(span_of(s, n)))
        return put_control(t, utf8_code(span_of(s, n))) ? n : 0;
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

/* A value: `text` puts one that is text, and `unit` stands behind a time. */
static void put_value(struct text *t, const struct log_field *f,
                      void (*text)(struct text *, const char *), const char *unit)
{
    switch (f->kind) {
    case LOG_KIND_STR:
    case LOG_KIND_PEER:
        text(t, f->str);
        break;
    case LOG_KIND_INT:
        put_int(t, f->i);
        break;
    case LOG_KIND_UINT:
        put_uint(t, f->u, 1);
        break;
    case LOG_KIND_NS:
        if (put_ms(t, f->u))
            puts_text(t, unit);
        break;
    case LOG_KIND_END:
        break;
    }
}

static void put_logfmt_value(struct text *t, const struct log_field *f)
{
    put_value(t, f, put_logfmt_text, "ms");
}

static void put_json_value(struct text *t, const struct log_field *f)
{
    put_value(t, f, put_quoted, "");
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
        if (log_is_text(f->kind) && !f->str)
            continue;
        key(t, f);
        size_t begun = t->len;
        value(t, f);
        if (t->cut && (t->len == begun || !log_is_text(f->kind)))
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
    puts_text(&t, "level=");
    puts_text(&t, level_name(level));
    puts_text(&t, " msg=");
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
    puts_text(&t, "\"level\":\"");
    puts_text(&t, level_name(level));
    puts_text(&t, "\",\"msg\":");
    put_quoted(&t, event);
    put_fields(&t, fields, put_json_key, put_json_value);
    finish(&t, t.cut ? ",\"truncated\":true}" : "}");
    return (int)t.len;
}

/* As syslog counts them.  An administrative act is a notice. */
const char *log_journal_level(enum log_level level)
{
    switch (level) {
    case LOG_DEBUG:
        return "<7>";
    case LOG_INFO:
        return "<6>";
    case LOG_WARN:
        return "<4>";
    case LOG_ERROR:
        return "<3>";
    case LOG_AUDIT:
        return "<5>";
    }
    return "";
}

int log_format(char *buf, int size, uint64_t now, struct log_form form, enum log_level level,
               const char *event, const struct log_field *fields)
{
    const char *front = form.levels ? log_journal_level(level) : "";
    int n = (int)strlen(front);

    if (size <= n)
        return 0;
    memcpy(buf, front, (size_t)n);
    return n + (form.json ? log_format_json : log_format_logfmt)(buf + n, size - n, now, level,
                                                                 event, fields);
}
