#include "server/jobs/cron/schedule.h"

#include <glib.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "base/units.h"

enum { NAME_MAX_LEN = 64 };

/* GLib would open any file that a path names. */
static bool is_name(struct span name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = (char)name.at[i];
        if (!g_ascii_isalnum(c) && (c == '\0' || !strchr("_+-:/", c)))
            return false;
    }
    return name.len == 0 || (*name.at != '/' && *name.at != ':');
}

struct zone *zone_open(struct span name)
{
    char text[NAME_MAX_LEN + 1];

    if (name.len > NAME_MAX_LEN || !is_name(name))
        return NULL;
    memcpy(text, name.len > 0 ? (const char *)name.at : "UTC", name.len > 0 ? name.len : 3);
    text[name.len > 0 ? name.len : 3] = '\0';
    return (struct zone *)g_time_zone_new_identifier(text);
}

void zone_close(struct zone *z)
{
    if (z)
        g_time_zone_unref((GTimeZone *)z);
}

static GTimeZone *inner(const struct zone *z)
{
    return (GTimeZone *)(uintptr_t)z;
}

int64_t zone_local(const struct zone *z, int64_t unix_s)
{
    gint interval = g_time_zone_find_interval(inner(z), G_TIME_TYPE_UNIVERSAL, unix_s);
    return unix_s + g_time_zone_get_offset(inner(z), interval);
}

/* Daylight time comes before standard time where a clock is set back. */
int64_t zone_unix(const struct zone *z, int64_t local)
{
    gint64 at = local;
    gint interval = g_time_zone_adjust_time(inner(z), G_TIME_TYPE_DAYLIGHT, &at);
    return at - g_time_zone_get_offset(inner(z), interval);
}

/* --- Schedule --- */

/* The calendar's longest gap is that between two 29ths of February that are the same weekday,
 * across a year like 2100: 40 years. */
enum { MINUTE = 60, HOUR = 3600, DAY = 86400, FIELDS = 5, DAYS_AHEAD = 366 * 41 };

struct field {
    const char *what;
    unsigned least, most;
    const char *const *names; /* of least, least + 1, ... */
    unsigned name_count;
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
static const struct field fields[FIELDS] = {{"minute", 0, 59, NULL, 0},
                                            {"hour", 0, 23, NULL, 0},
                                            {"day", 1, 31, NULL, 0},
                                            {"month", 1, 12, months, 12},
                                            {"weekday", 0, 7, weekdays, 7}};

/* --- The text --- */

static bool take(struct span *s, char c)
{
    if (s->len == 0 || *s->at != (uint8_t)c)
        return false;
    s->at++;
    s->len--;
    return true;
}

static bool take_name(struct span *s, const struct field *f, unsigned *out)
{
    for (unsigned i = 0; i < f->name_count; i++)
        if (s->len >= 3 && strncasecmp((const char *)s->at, f->names[i], 3) == 0) {
            s->at += 3;
            s->len -= 3;
            *out = f->least + i;
            return true;
        }
    return false;
}

static bool take_number(struct span *s, unsigned *out)
{
    unsigned digits = 0;
    for (*out = 0; s->len > 0 && *s->at >= '0' && *s->at <= '9' && digits < 4; digits++) {
        *out = *out * 10 + (unsigned)(*s->at - '0');
        s->at++;
        s->len--;
    }
    return digits > 0;
}

static bool take_value(struct span *s, const struct field *f, unsigned *out)
{
    return take_name(s, f, out) || (take_number(s, out) && *out >= f->least && *out <= f->most);
}

/* "*", "*" "/5", "1-5", "1-9/2", "7", "3/4" */
static bool take_range(struct span *s, const struct field *f, uint64_t *set)
{
    unsigned from = f->least, to = f->most, step = 1;
    bool single = false; /* a value alone: with a step it begins a range without an end */

    if (!take(s, '*')) {
        if (!take_value(s, f, &from))
            return false;
        single = !take(s, '-');
        if (!single && !take_value(s, f, &to))
            return false;
    }
    if (take(s, '/')) {
        if (!take_number(s, &step) || step == 0)
            return false;
    } else if (single) {
        to = from;
    }
    for (unsigned i = from; i <= to; i += step)
        *set |= (uint64_t)1 << i;
    return from <= to;
}

static bool parse_field(struct span s, const struct field *f, uint64_t *set)
{
    *set = 0;
    do
        if (!take_range(&s, f, set))
            return false;
    while (take(&s, ','));
    return s.len == 0;
}

static struct span next_word(struct span *text)
{
    while (text->len > 0 && (*text->at == ' ' || *text->at == '\t'))
        text->at++, text->len--;
    struct span word = *text;
    while (text->len > 0 && *text->at != ' ' && *text->at != '\t')
        text->at++, text->len--;
    word.len -= text->len;
    return word;
}

static bool starts_with_star(struct span word)
{
    return word.len > 0 && *word.at == '*';
}

static bool not_five_fields(char *error, size_t size)
{
    snprintf(error, size,
             "a schedule has five fields: minute, hour, day, month, weekday; or it is @daily and "
             "the like, or \"every 5m\"");
    return false;
}

static bool parse_calendar(struct span text, struct schedule *out, char *error, size_t size)
{
    uint64_t sets[FIELDS];
    struct span words[FIELDS];

    for (unsigned i = 0; i < FIELDS; i++) {
        words[i] = next_word(&text);
        if (words[i].len == 0)
            return not_five_fields(error, size);
        if (parse_field(words[i], &fields[i], &sets[i]))
            continue;
        snprintf(error, size,
                 "the %s of a schedule is %u to %u, a list, a range or a step, not \"%.*s\"",
                 fields[i].what, fields[i].least, fields[i].most,
                 (int)(words[i].len < 40 ? words[i].len : 40), (const char *)words[i].at);
        return false;
    }
    if (next_word(&text).len > 0)
        return not_five_fields(error, size);
    out->minutes = sets[0];
    out->hours = (uint32_t)sets[1];
    out->days = (uint32_t)sets[2];
    out->months = (uint32_t)sets[3];
    out->weekdays = (uint32_t)(sets[4] | sets[4] >> 7); /* 7 is Sunday too */
    out->any_hour = starts_with_star(words[1]);
    out->any_day = starts_with_star(words[2]);
    out->any_weekday = starts_with_star(words[4]);
    return true;
}

static bool parse_every(struct span text, struct schedule *out, char *error, size_t size)
{
    uint64_t ns;

    if (units_duration(next_word(&text), &ns) && ns >= 1000000000 && ns % 1000000000 == 0 &&
        ns / 1000000000 <= 366 * DAY && next_word(&text).len == 0) {
        out->every = ns / 1000000000;
        return true;
    }
    snprintf(error, size, "\"every\" is followed by whole seconds up to a year: \"every 90s\"");
    return false;
}

static bool is_no_name(struct span text, char *error, size_t size)
{
    snprintf(error, size, "\"%.*s\" is none of @hourly, @daily, @weekly, @monthly and @yearly",
             (int)(text.len < 40 ? text.len : 40), (const char *)text.at);
    return false;
}

bool schedule_parse(struct span text, struct schedule *out, char *error, size_t size)
{
    static const struct {
        const char *name, *means;
    } known[] = {{"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
                 {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
                 {"@annually", "0 0 1 1 *"}};
    struct span rest = text, first = next_word(&rest);

    *out = (struct schedule){0};
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (span_is(first, known[i].name) && next_word(&rest).len == 0)
            return parse_calendar(span_text(known[i].means), out, error, size);
    if (span_is(first, "every"))
        return parse_every(rest, out, error, size);
    if (first.len > 0 && *first.at == '@')
        return is_no_name(text, error, size);
    return parse_calendar(text, out, error, size);
}

/* --- The time --- */

static int64_t floor_to(int64_t s, int64_t unit)
{
    int64_t rest = s % unit;
    return s - (rest < 0 ? rest + unit : rest);
}

static bool day_fits(const struct schedule *s, int64_t local)
{
    time_t at = (time_t)local;
    struct tm t;

    gmtime_r(&at, &t);
    bool day = s->days >> t.tm_mday & 1, weekday = s->weekdays >> t.tm_wday & 1;
    if (!(s->months >> (t.tm_mon + 1) & 1))
        return false;
    return s->any_day || s->any_weekday ? day && weekday : day || weekday;
}

/* Hours and minutes of the local day in turn, each brought to Unix time. */
static int64_t next_of_day(const struct schedule *s, const struct zone *z, int64_t day,
                           int64_t after)
{
    for (unsigned h = 0; h < 24; h++) {
        if (!(s->hours >> h & 1))
            continue;
        for (unsigned m = 0; m < 60; m++) {
            if (!(s->minutes >> m & 1))
                continue;
            int64_t at = zone_unix(z, day + h * HOUR + m * MINUTE);
            if (at > after)
                return at;
        }
    }
    return -1;
}

static int64_t next_by_day(const struct schedule *s, const struct zone *z, int64_t after)
{
    int64_t day = floor_to(zone_local(z, after), DAY);
    for (unsigned n = 0; n < DAYS_AHEAD; n++, day += DAY) {
        int64_t at = day_fits(s, day) ? next_of_day(s, z, day, after) : -1;
        if (at >= 0)
            return at;
    }
    return -1;
}

/* Seconds to the end of a day that does not fit: all at once, if the clock runs evenly until then.
 */
static int64_t left_of_day(const struct zone *z, int64_t at, int64_t local)
{
    int64_t day = DAY - (local - floor_to(local, DAY)),
            hour = HOUR - (local - floor_to(local, HOUR));
    return zone_local(z, at + day) == local + day ? day : hour;
}

/* Where every hour counts the clock's going back must not hide one: Unix time is walked instead, by
 * the minutes that the zone's clock shows, which may begin at any second of Unix time. */
static int64_t next_by_hour(const struct schedule *s, const struct zone *z, int64_t after)
{
    int64_t shown = zone_local(z, after), end = after + (int64_t)DAYS_AHEAD * DAY;
    int64_t at = after + MINUTE - (shown - floor_to(shown, MINUTE));

    while (at < end) {
        int64_t local = zone_local(z, at), of_day = local - floor_to(local, DAY);
        if (!day_fits(s, local))
            at += left_of_day(z, at, local);
        else if (!(s->hours >> (of_day / HOUR) & 1))
            at += HOUR - of_day % HOUR;
        else if (s->minutes >> (of_day % HOUR / MINUTE) & 1)
            return at;
        else
            at += MINUTE;
    }
    return -1;
}

int64_t schedule_next(const struct schedule *s, const struct zone *z, int64_t unix_s)
{
    if (s->every > 0)
        return floor_to(unix_s, (int64_t)s->every) + (int64_t)s->every;
    return s->any_hour ? next_by_hour(s, z, unix_s) : next_by_day(s, z, unix_s);
}
