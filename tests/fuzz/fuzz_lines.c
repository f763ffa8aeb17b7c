/* Texts of others in lines of ours: records of the log, and labels of metrics.
 *
 * An input is two bytes that say how, and a text.  A record is one line, whatever the text is, and
 * has one level in front; as JSON it is an object in which the text stands, as far as it was not
 * cut.  A label is there whole, and is the text again once it is read, or is not there. */
#include <jansson.h>
#include <string.h>

#include "base/log.h"
#include "base/utf8.h"
#include "server/metrics/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_output.h"
#include "tests/fuzz/fuzz_rest.h"

enum { TEXT_MAX = 8192 };

/* ---- records ---- */

static void check_level(const char *line, bool levels, enum log_level level)
{
    const char *prefix = log_journal_level(level);

    CHECK(levels ? strncmp(line, prefix, strlen(prefix)) == 0 : line[0] != '<');
}

/* What a whole record has of the text, and of what stands behind it. */
static void check_object(const char *line, const char *text, bool whole)
{
    static char clean[3 * TEXT_MAX + 1];
    json_error_t error;
    json_t *object = json_loads(line, 0, &error);

    CHECK(json_is_object(object));
    const char *said = json_string_value(json_object_get(object, "name"));
    size_t len = utf8_clean(clean, sizeof clean - 1, span_text(text));
    clean[len] = 0;
    if (whole) {
        CHECK(said && strcmp(said, clean) == 0);
        CHECK(json_integer_value(json_object_get(object, "count")) == -7);
    }
    json_decref(object);
}

static void check_record(const char *text, uint8_t how, uint8_t room)
{
    static char line[6 * TEXT_MAX + 256];
    const enum log_level level = (enum log_level)(how >> 2 & 3);
    const struct log_form form = {.json = how & 1, .levels = how & 2};
    const struct log_field fields[] = {LOG_STR("name", text), LOG_INT("count", -7), {0}};
    int size = how & 0x10 ? 256 + 4 * room : (int)sizeof line;
    int len = log_format(line, size, how & 0x20 ? 1 : 0, form, level, "event", fields);

    CHECK(len >= 0 && len < size);
    line[len] = 0;
    fuzz_check_plain(span_text(line), true);
    CHECK(strlen(line) == (size_t)len);
    check_level(line, form.levels, level);
    if (form.json)
        check_object(line + (form.levels ? 3 : 0), text, !(how & 0x10));
}

/* ---- labels ---- */

/* The text that the quotes hold, read as OpenMetrics says; what stands behind them. */
static const char *read_label(const char *at, char *out)
{
    for (; *at != '"'; at++) {
        CHECK(*at != 0 && *at != '\n');
        if (*at == '\\') {
            at++;
            CHECK(*at == 'n' || *at == '"' || *at == '\\');
            *out++ = *at == 'n' ? '\n' : *at;
        } else {
            *out++ = *at;
        }
    }
    *out = 0;
    return at + 1;
}

static void check_label(const char *text, uint8_t room)
{
    static char again[TEXT_MAX + 1];
    char labels[600] = "a=\"b\"";
    size_t size = 8 + 2 * (size_t)room;
    bool clean = utf8_valid(span_text(text));

    CHECK(metrics_label(labels, size, "name", text) == labels);
    CHECK(strlen(labels) < size && utf8_valid(span_text(labels)));
    CHECK(strncmp(labels, "a=\"b\"", 5) == 0);
    if (labels[5] == 0) {
        CHECK(2 * strlen(text) + 13 >= size);
        return;
    }
    CHECK(strncmp(labels + 5, ",name=\"", 7) == 0);
    CHECK(*read_label(labels + 12, again) == 0);
    CHECK(strlen(again) == strlen(text));
    for (size_t i = 0; again[i] != 0; i++)
        CHECK(again[i] == text[i] || (!clean && again[i] == '?' && (text[i] & 0x80)));
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 1];

    fuzz_begin(data, size);
    uint8_t how = fuzz_byte(), room = fuzz_byte();
    struct span rest = fuzz_bytes(TEXT_MAX);
    size_t len = rest.len > 0 ? strnlen((const char *)rest.at, rest.len) : 0;
    if (len > 0)
        memcpy(text, rest.at, len);
    text[len] = 0;
    check_record(text, how, room);
    check_label(text, room);
}
