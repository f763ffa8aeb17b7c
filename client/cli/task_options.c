#include "client/cli/task_options.h"

#include "client/cli/cli.h"
#include "client/cli/completion_kinds.h"
#include "client/cli/moment.h"
#include "client/cli/trace.h"
#include "base/instant.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define X(name, type, least, most, expects, letter, flag, argument, help)                          \
    {letter, flag, argument, help, OPTION_TEXT, offsetof(struct task_options, name)},
/* Beside those of the wire. */
#define OURS                                                                                       \
    X(in, , , , , 0, "in", "TIME", "the same as --delay")                                          \
    X(zone, , , , , 0, "zone", "ZONE", "of an --at without an offset: Europe/Berlin; the local one")
const struct option_spec TASK_OPTIONS[] = {OURS JOB_OPTIONS(X){0}};
const struct option_spec MESSAGE_OPTIONS[] = {OURS JOB_OPTIONS_ONCE(X) JOB_OPTIONS_EACH(X){0}};
#undef OURS
#undef X

/* ---- values: each makes a new reference, or NULL for what is none ---- */

static json_t *whole_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == 0 && errno == 0 ? json_integer(v) : NULL;
}

static json_t *within(const char *text, const struct job_option *option)
{
    json_t *number = whole_number(text);
    if (number == NULL || (uint64_t)json_integer_value(number) <= option->most)
        return number;
    json_decref(number);
    return NULL;
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

/* As the server reads it. */
static json_t *moment(const char *text)
{
    uint64_t unix_ns;
    json_t *number = whole_number(text);
    if (number != NULL)
        return number;
    return instant_parse(span_text(text), &unix_ns) ? json_string(text) : NULL;
}

static json_t *level(const char *text)
{
    for (const char *const *word = completion_choices("task submit", "durable"); *word; word++)
        if (strcmp(text, *word) == 0)
            return json_string(text);
    return NULL;
}

/* KEY=MAX, and what is behind a '/', if `behind` is named; a key may hold '=' too. */
static json_t *key_of(const char *text, const char *behind, json_t *(*value)(const char *text))
{
    char most[24];
    const char *sign = strrchr(text, '=');
    const char *bar = sign != NULL ? strchr(sign, '/') : NULL;
    if (bar == NULL || sign == text || (size_t)(bar - sign) > sizeof most)
        return NULL;
    snprintf(most, sizeof most, "%.*s", (int)(bar - sign - 1), sign + 1);
    return json_pack("{s:s%, s:o, s:o}", "key", text, (size_t)(sign - text), "max",
                     whole_number(most), behind, value(bar + 1));
}

/* KEY=MAX, KEY=MAX/TAKE */
static json_t *limit(const char *text)
{
    const char *sign = strrchr(text, '=');
    if (sign == NULL || sign == text)
        return NULL;
    if (strchr(sign, '/') != NULL)
        return key_of(text, "take", whole_number);
    return json_pack("{s:s%, s:o}", "key", text, (size_t)(sign - text), "max",
                     whole_number(sign + 1));
}

/* KEY=MAX/TIME */
static json_t *rate(const char *text)
{
    return key_of(text, "per", duration);
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

static json_t *value_of(const char *text, const struct job_option *option)
{
    switch (option->type) {
    case JOB_OPTION_NUMBER:
        return within(text, option);
    case JOB_OPTION_DURATION:
        return duration(text);
    case JOB_OPTION_SIZE:
        return size(text);
    case JOB_OPTION_MOMENT:
        return moment(text);
    case JOB_OPTION_NAME:
        return json_string(text);
    case JOB_OPTION_LEVEL:
        return level(text);
    case JOB_OPTION_TRACE:
        return trace_parent(text);
    case JOB_OPTION_STATE:
        return trace_state(text);
    case JOB_OPTION_BATCH:
        return json_string(text);
    case JOB_OPTION_LIMIT:
        return limit(text);
    case JOB_OPTION_RATE:
        return rate(text);
    case JOB_OPTION_IDS:
        return ids(text);
    }
    return NULL;
}

static void refuse(const char *text, const struct job_option *option)
{
    static const char *const looks[] = {
        [JOB_OPTION_NUMBER] = "a number from 0 to",
        [JOB_OPTION_SIZE] = "a size, as 64k or 1m",
        [JOB_OPTION_NAME] = "a string of UTF-8",
        [JOB_OPTION_LEVEL] = "none, async, fsync or replicated",
        [JOB_OPTION_LIMIT] = "KEY=MAX or KEY=MAX/TAKE, as smtp=3",
        [JOB_OPTION_RATE] = "KEY=MAX/TIME, as smtp=10/1m",
        [JOB_OPTION_TRACE] = "a traceparent, as 00-TRACE-SPAN-01 with 32 and 16 hexadecimal digits",
        [JOB_OPTION_STATE] = "1 to 512 characters of ASCII",
        [JOB_OPTION_BATCH] = "the id of a batch",
        [JOB_OPTION_IDS] = "an id, or several with commas between them",
    };
    char most[24] = "";
    if (option->type == JOB_OPTION_NUMBER)
        snprintf(most, sizeof most, " %llu", (unsigned long long)option->most);
    complain("option --%s: '%s' is not %s%s", option->flag, text,
             option->type == JOB_OPTION_DURATION ? units_duration_expected(span_text(text))
                                                 : looks[option->type],
             most);
}

/* NULL: a message was printed. */
static json_t *moment_in_words(const char *text, const char *zone)
{
    char why[240];
    int64_t unix_s;
    json_t *as_it_is = zone == NULL ? moment(text) : NULL;
    if (as_it_is != NULL)
        return as_it_is;
    if (moment_of_words(text, zone, time(NULL), &unix_s, why, sizeof why))
        return json_integer(unix_s * 1000);
    complain("option --at: %s", why);
    return NULL;
}

/* Words of people become options of the wire.  False, and a message was printed. */
static bool take_words(const struct task_options *o, json_t *map)
{
    const char *delay = job_options[JOB_OPTION_delay].name, *at = job_options[JOB_OPTION_at].name;
    if (o->zone != NULL && o->at == NULL) {
        complain("option --zone: it is the time zone of --at, which is not given");
        return false;
    }
    if (o->in != NULL && o->delay != NULL) {
        complain("options --in and --delay: they say the same; give one");
        return false;
    }
    if (o->in != NULL && json_object_set_new(map, delay, duration(o->in)) != 0) {
        complain("option --in: '%s' is not %s", o->in, units_duration_expected(span_text(o->in)));
        return false;
    }
    return o->at == NULL || json_object_set_new(map, at, moment_in_words(o->at, o->zone)) == 0;
}

json_t *task_options_map(const struct task_options *o)
{
    const char *const *texts = (const char *const *)o;
    json_t *map = json_object();
    for (size_t i = 0; i < JOB_OPTION_COUNT; i++) {
        if (texts[i] == NULL || job_options[i].type == JOB_OPTION_MOMENT ||
            json_object_set_new(map, job_options[i].name, value_of(texts[i], &job_options[i])) == 0)
            continue;
        refuse(texts[i], &job_options[i]);
        json_decref(map);
        return NULL;
    }
    if (take_words(o, map))
        return map;
    json_decref(map);
    return NULL;
}
