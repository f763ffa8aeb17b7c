#include "client/cli/task_options.h"

#include "client/cli/cli.h"
#include "base/instant.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct task_options, field)
const struct option_spec TASK_OPTIONS[] = {
    {0, "delay", "TIME", "not before then: 30s, 2h", OPTION_TEXT, AT(delay)},
    {0, "at", "WHEN", "the same: 2026-11-22T09:30:00+01:00, or Unix ms", OPTION_TEXT, AT(at)},
    {0, "task-key", "KEY", "while a task of this key is kept, it is the answer", OPTION_TEXT,
     AT(key)},
    {0, "after", "ID[,ID...]", "these must be done first", OPTION_TEXT, AT(after)},
    {'p', "priority", "N", "0 to 9, higher goes first; 5", OPTION_TEXT, AT(priority)},
    {0, "attempt-timeout", "TIME", "limit of one attempt", OPTION_TEXT, AT(attempt_timeout)},
    {0, "deadline", "TIME", "limit of the whole, attempts and waits", OPTION_TEXT, AT(deadline)},
    {0, "retries", "N", "further attempts after one that failed; 0", OPTION_TEXT, AT(retries)},
    {0, "backoff", "TIME", "wait before the second attempt, then doubled; 1s", OPTION_TEXT,
     AT(backoff)},
    {0, "backoff-max", "TIME", "the longest such wait; 1h", OPTION_TEXT, AT(backoff_max)},
    {0, "backoff-jitter", "PERCENT", "of the wait that is left to chance; 50", OPTION_TEXT,
     AT(backoff_jitter)},
    {0, "coalesce", "NAME", "join an open run of this name", OPTION_TEXT, AT(coalesce)},
    {0, "limit", "KEY=MAX", "at most MAX tasks of KEY run at a time", OPTION_TEXT, AT(limit)},
    {0, "rate", "KEY=MAX/TIME", "at most MAX starts of KEY in TIME: mail=10/1m", OPTION_TEXT,
     AT(rate)},
    {0, "tenant", "NAME", "whose share it counts to; the principal", OPTION_TEXT, AT(tenant)},
    {0, "keep", "TIME", "how long it is kept after its end; 1h", OPTION_TEXT, AT(keep)},
    {0, "keep-size", "SIZE", "a larger result is not kept; 1m", OPTION_TEXT, AT(keep_size)},
    {0, "durable", "LEVEL", "none, async or fsync", OPTION_TEXT, AT(durable)},
    {0},
};

/* ---- values: each makes a new reference, or NULL for what is none ---- */

static json_t *whole_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0 ? json_integer(v) : NULL;
}

static json_t *at_most(const char *text, json_int_t most)
{
    json_t *number = whole_number(text);
    if (number == NULL || json_integer_value(number) <= most)
        return number;
    json_decref(number);
    return NULL;
}

static json_t *priority(const char *text)
{
    return at_most(text, 9);
}

static json_t *percent(const char *text)
{
    return at_most(text, 100);
}

static json_t *duration(const char *text)
{
    uint64_t ns;
    return units_duration(span_text(text), &ns) ? json_string(text) : NULL;
}

static json_t *size(const char *text)
{
    uint64_t bytes;
    json_t *number = whole_number(text);
    if (number != NULL)
        return number;
    return units_size(span_text(text), &bytes) ? json_string(text) : NULL;
}

static json_t *moment(const char *text)
{
    uint64_t unix_ns;
    json_t *number = whole_number(text);
    if (number != NULL)
        return number;
    return instant_parse(span_text(text), &unix_ns) ? json_string(text) : NULL;
}

static json_t *any_text(const char *text)
{
    return json_string(text);
}

static json_t *level(const char *text)
{
    bool known =
        strcmp(text, "none") == 0 || strcmp(text, "async") == 0 || strcmp(text, "fsync") == 0;
    return known ? json_string(text) : NULL;
}

/* KEY=MAX; a key may hold '=' too. */
static json_t *limit(const char *text)
{
    const char *sign = strrchr(text, '=');
    if (sign == NULL || sign == text)
        return NULL;
    return json_pack("{s:s%, s:o}", "key", text, (size_t)(sign - text), "max",
                     whole_number(sign + 1));
}

/* KEY=MAX/TIME */
static json_t *rate(const char *text)
{
    char most[24];
    const char *sign = strrchr(text, '=');
    const char *bar = sign != NULL ? strchr(sign, '/') : NULL;
    if (bar == NULL || sign == text || (size_t)(bar - sign) > sizeof most)
        return NULL;
    snprintf(most, sizeof most, "%.*s", (int)(bar - sign - 1), sign + 1);
    return json_pack("{s:s%, s:o, s:o}", "key", text, (size_t)(sign - text), "max",
                     whole_number(most), "per", duration(bar + 1));
}

static json_t *ids(const char *text)
{
    json_t *list = json_array();
    while (*text != 0) {
        size_t len = strcspn(text, ",");
        if (len > 0)
            json_array_append_new(list, json_stringn(text, len));
        text += len + (text[len] == ',');
    }
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    return NULL;
}

static const struct {
    const char *wire;
    size_t at;
    json_t *(*value)(const char *text);
    const char *looks; /* what it should look like; NULL: a duration */
} FORMS[] = {
    {"priority", AT(priority), priority, "a number from 0 to 9"},
    {"delay", AT(delay), duration, NULL},
    {"at", AT(at), moment, "a moment with its offset, as 2026-11-22T09:30:00Z"},
    {"timeout", AT(attempt_timeout), duration, NULL},
    {"deadline", AT(deadline), duration, NULL},
    {"retries", AT(retries), whole_number, "a whole number"},
    {"backoff", AT(backoff), duration, NULL},
    {"backoff_max", AT(backoff_max), duration, NULL},
    {"backoff_jitter", AT(backoff_jitter), percent, "a number from 0 to 100"},
    {"key", AT(key), any_text, "a string"},
    {"coalesce", AT(coalesce), any_text, "a string"},
    {"limit", AT(limit), limit, "KEY=MAX, as smtp=3"},
    {"rate", AT(rate), rate, "KEY=MAX/TIME, as smtp=10/1m"},
    {"tenant", AT(tenant), any_text, "a string"},
    {"after", AT(after), ids, "an id, or several with commas between them"},
    {"keep", AT(keep), duration, NULL},
    {"keep_size", AT(keep_size), size, "a size, as 64k or 1m"},
    {"durable", AT(durable), level, "none, async or fsync"},
};
#undef AT

static const char *option_name(size_t at)
{
    const struct option_spec *s = TASK_OPTIONS;
    while (s->name != NULL && s->offset != at)
        s++;
    return s->name;
}

json_t *task_options_map(const struct task_options *o)
{
    json_t *map = json_object();
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        const char *text = *(const char *const *)((const char *)o + FORMS[i].at);
        if (text == NULL)
            continue;
        if (json_object_set_new(map, FORMS[i].wire, FORMS[i].value(text)) == 0)
            continue;
        complain("option --%s: '%s' is not %s", option_name(FORMS[i].at), text,
                 FORMS[i].looks != NULL ? FORMS[i].looks
                                        : units_duration_expected(span_text(text)));
        json_decref(map);
        return NULL;
    }
    return map;
}
