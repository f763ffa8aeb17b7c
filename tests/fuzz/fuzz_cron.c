/* Schedules and zones.  An input is three lines: the schedule, the zone, the moment (Unix seconds)
 * after which its next time is asked.
 *
 * What a schedule means is worked out a second time, without sets of bits: minute by minute, on a
 * clock that is never looked at but through zone_local().  It is asked for the next time, within a
 * number of looks at the clock that is bounded. */
#include "server/jobs/cron/schedule.h"
#include "tests/fuzz/fuzz.h"

#include <strings.h>
#include <time.h>

enum {
    MINUTE = 60,
    DAY = 86400,
    FIELDS = 5,
    WORD_MAX = 200,
    WARM_UP = 26 * 3600, /* seconds walked to know what the clock has shown before */
    AHEAD = 50 * 3600,   /* seconds that are compared minute by minute */
    CYCLE = 146097,      /* days after which the calendar repeats */
    LOOKS_MAX = 40000    /* at the clock, for one next time */
};

/* --- The work that is done --- */

static unsigned looks;

int64_t __real_zone_local(const struct zone *z, int64_t unix_s);
int64_t __real_zone_unix(const struct zone *z, int64_t local);
int64_t __wrap_zone_local(const struct zone *z, int64_t unix_s);
int64_t __wrap_zone_unix(const struct zone *z, int64_t local);

int64_t __wrap_zone_local(const struct zone *z, int64_t unix_s)
{
    looks++;
    return __real_zone_local(z, unix_s);
}

int64_t __wrap_zone_unix(const struct zone *z, int64_t local)
{
    looks++;
    return __real_zone_unix(z, local);
}

/* --- The second reading --- */

struct meaning {
    char words[FIELDS][WORD_MAX];
    bool by_hour; /* every hour of the day will do */
};

static const struct {
    int least, most;
    const char *names; /* three letters each */
} kinds[FIELDS] = {{0, 59, ""},
                   {0, 23, ""},
                   {1, 31, ""},
                   {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                   {0, 7, "sunmontuewedthufrisat"}};

static int number_of(const char **text, int kind)
{
    int n = 0;

    for (int i = 0; kinds[kind].names[3 * i]; i++)
        if (strncasecmp(*text, kinds[kind].names + 3 * i, 3) == 0) {
            *text += 3;
            return kinds[kind].least + i;
        }
    while (**text >= '0' && **text <= '9')
        n = n * 10 + *(*text)++ - '0';
    return n;
}

/* Is `v` in one part of a list: "*", "a", "a-b", with a step or without? */
static bool part_has(const char *part, int kind, int v)
{
    int from = kinds[kind].least, to = kinds[kind].most, step = 1;
    bool open_end = *part != '*';

    if (*part == '*') {
        part++;
    } else {
        from = to = number_of(&part, kind);
        if (*part == '-') {
            part++;
            to = number_of(&part, kind);
            open_end = false;
        }
    }
    if (*part == '/') {
        part++;
        step = number_of(&part, kind);
        to = open_end ? kinds[kind].most : to;
    }
    return v >= from && v <= to && (v - from) % step == 0;
}

static bool list_has(const char *list, int kind, int v)
{
    for (const char *part = list; part; part = strchr(part, ',')) {
        part += *part == ',';
        if (part_has(part, kind, v) ||
            (kind == 4 && v == 0 && part_has(part, kind, 7))) /* two names of Sunday */
            return true;
    }
    return false;
}

static bool day_means(const struct meaning *m, int64_t local)
{
    time_t at = (time_t)local;
    struct tm t;

    gmtime_r(&at, &t);
    bool day = list_has(m->words[2], 2, t.tm_mday), weekday = list_has(m->words[4], 4, t.tm_wday);
    bool both = *m->words[2] == '*' || *m->words[4] == '*';
    return list_has(m->words[3], 3, t.tm_mon + 1) && (both ? day && weekday : day || weekday);
}

static int64_t floor_of(int64_t s, int64_t unit)
{
    return s - ((s % unit) + unit) % unit;
}

static bool means(const struct meaning *m, int64_t local)
{
    int64_t of_day = local - floor_of(local, DAY);

    return list_has(m->words[0], 0, (int)(of_day % 3600 / MINUTE)) &&
           list_has(m->words[1], 1, (int)(of_day / 3600)) && day_means(m, local);
}

/* False: it is no schedule by calendar. */
static bool read_meaning(const char *text, struct meaning *m)
{
    static const char *const named[][2] = {{"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},
                                           {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
                                           {"@monthly", "0 0 1 * *"},  {"@yearly", "0 0 1 1 *"},
                                           {"@annually", "0 0 1 1 *"}};
    char first[WORD_MAX] = "";

    sscanf(text, "%199[^ \t]", first);
    sscanf(text, "%*[ \t]%199[^ \t]", first);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(first, named[i][0]) == 0)
            text = named[i][1];
    const char *at = text + strspn(text, " \t");
    for (int i = 0; i < FIELDS; i++) {
        size_t len = strcspn(at, " \t");
        if (len == 0 || len >= WORD_MAX)
            return false;
        memcpy(m->words[i], at, len);
        m->words[i][len] = '\0';
        at += len + strspn(at + len, " \t");
    }
    m->by_hour = *m->words[1] == '*';
    return true;
}

/* --- The next time, minute by minute --- */

/* Does it fire at `at`?  `shown`: the latest time of day that the clock has shown before. */
static bool fires(const struct meaning *m, int64_t local, int64_t shown)
{
    if (m->by_hour)
        return means(m, local);
    for (int64_t l = local; l > shown && l > local - 2 * DAY; l -= MINUTE)
        if (means(m, l))
            return true; /* it shows this minute, or skips it */
    return false;
}

static void check_near(const struct meaning *m, const struct zone *z, int64_t after, int64_t next)
{
    int64_t shown = INT64_MIN, from = floor_of(after, MINUTE);

    for (int64_t at = from - WARM_UP; at <= from + AHEAD; at += MINUTE) {
        int64_t local = __real_zone_local(z, at);
        if (floor_of(local, MINUTE) != local)
            return; /* an offset of seconds, as before there were zones */
        if (at > after && fires(m, local, shown)) {
            CHECK(next == at);
            return;
        }
        CHECK(at <= after || next != at);
        shown = local > shown ? local : shown;
    }
    CHECK(next < 0 || next > from + AHEAD);
}

static void check_never(const struct meaning *m)
{
    static int64_t day; /* of another call: where that one ended matters to nobody */

    for (int n = 0; n < CYCLE; n++, day = (day + 1) % CYCLE)
        CHECK(!day_means(m, day * DAY));
}

static void check_schedule(const char *text, const struct schedule *s, const struct zone *z,
                           int64_t after)
{
    struct meaning m;

    looks = 0;
    int64_t next = schedule_next(s, z, after);
    CHECK(looks <= LOOKS_MAX);
    CHECK(next == -1 || next > after);
    if (s->every > 0) {
        CHECK(next % (int64_t)s->every == 0 && next - after <= (int64_t)s->every);
        return;
    }
    if (!read_meaning(text, &m))
        return; /* words longer than the second reading takes */
    if (next == -1) {
        check_never(&m);
        return;
    }
    check_near(&m, z, after, next);
    CHECK(!m.by_hour || means(&m, floor_of(__real_zone_local(z, next), MINUTE)));
    looks = 0;
    CHECK(schedule_next(s, z, next - 1) == next);
    CHECK(looks <= LOOKS_MAX);
}

/* --- The input --- */

static struct span next_line(struct span *rest)
{
    struct span line = *rest;
    const uint8_t *end = rest->len > 0 ? memchr(rest->at, '\n', rest->len) : NULL;

    if (end)
        line.len = (size_t)(end - rest->at);
    *rest = span_behind(*rest, end ? line.len + 1 : line.len);
    return line;
}

/* Any second that a wall clock of 64 bits of nanoseconds can show. */
static int64_t moment_of(struct span text)
{
    uint64_t s = 0;

    for (size_t i = 0; i < text.len; i++)
        s = s * 10 + (uint64_t)text.at[i] - '0';
    return (int64_t)(s % (UINT64_MAX / 1000000000));
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct span rest = span_of(data, size), text = next_line(&rest), zone = next_line(&rest);
    int64_t after = moment_of(next_line(&rest));
    char error[200] = "", copy[1024];
    struct schedule s;

    if (!schedule_parse(text, &s, error, sizeof error)) {
        CHECK(error[0] != '\0');
        return;
    }
    struct zone *z = zone_open(zone);
    CHECK(z || zone.len > 0);
    if (z && text.len < sizeof copy && (text.len == 0 || !memchr(text.at, '\0', text.len))) {
        snprintf(copy, sizeof copy, "%.*s", (int)text.len, (const char *)text.at);
        check_schedule(copy, &s, z, after);
    }
    zone_close(z);
}
