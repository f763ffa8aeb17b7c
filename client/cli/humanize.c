#include "client/cli/humanize.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"

enum { S = 1000, M = 60 * S, H = 60 * M, D = 24 * H, NS_A_MS = 1000 * 1000 };

int64_t now_ms(void)
{
    return (int64_t)(clock_wall() / NS_A_MS);
}

/* Two units of a kind are still said in the smaller one: 90 s, then 2 m. */
const char *humanize_age(int64_t unix_ms, int64_t now, char *buf, size_t size)
{
    static const struct {
        uint64_t ms;
        const char *name;
    } units[] = {{D, "d"}, {H, "h"}, {M, "m"}, {S, "s"}};
    bool past = unix_ms <= now;
    uint64_t far = past ? (uint64_t)now - (uint64_t)unix_ms : (uint64_t)unix_ms - (uint64_t)now;
    const char *unit = "s";
    uint64_t ms = S;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (far >= 2 * units[i].ms) {
            unit = units[i].name;
            ms = units[i].ms;
            break;
        }
    /* What is to come is rounded up. */
    unsigned long long count = far / ms + (!past && far % ms > 0);
    if (count == 0)
        snprintf(buf, size, "now");
    else
        snprintf(buf, size, past ? "%llu %s ago" : "in %llu %s", count, unit);
    return buf;
}

static struct {
    bool utc;
    bool dated;
} chosen;

void humanize_choose(bool utc, bool dated)
{
    chosen.utc = utc;
    chosen.dated = dated;
}

static struct tm calendar(time_t s)
{
    struct tm then = {0};
    if (chosen.utc)
        gmtime_r(&s, &then);
    else
        localtime_r(&s, &then);
    return then;
}

/* "Z" or "+01:00". */
static const char *offset_text(const struct tm *then, char *buf, size_t size)
{
    long minutes = then->tm_gmtoff / 60;
    long far = minutes < 0 ? -minutes : minutes;
    if (chosen.utc)
        return "Z";
    snprintf(buf, size, "%c%02ld:%02ld", minutes < 0 ? '-' : '+', far / 60 % 100, far % 60);
    return buf;
}

static const char *moment_text(int64_t unix_ms, bool dated, char *buf, size_t size)
{
    char offset[16];
    struct tm then = calendar((time_t)(unix_ms / S));
    size_t len = strftime(buf, size, dated ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &then);
    snprintf(buf + len, size - len, ".%03d%s", (int)(unix_ms % S),
             offset_text(&then, offset, sizeof offset));
    return buf;
}

const char *humanize_clock(int64_t unix_ms, int64_t now, char *buf, size_t size)
{
    struct tm then = calendar((time_t)(unix_ms / S)), today = calendar((time_t)(now / S));
    bool same = then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
    return moment_text(unix_ms, !same || chosen.dated, buf, size);
}

const char *humanize_moment(int64_t unix_ms, char *buf, size_t size)
{
    return moment_text(unix_ms, true, buf, size);
}

static bool one_of(const char *key, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(key, *names) == 0)
            return true;
    return false;
}

/* What the value of a key is for people; NULL: it stays. */
static json_t *readable(const char *key, const json_t *value, int64_t now)
{
    static const char *const moments[] = {"created",  "due",    "started", "ended",
                                          "deadline", "oldest", "next",    "last",
                                          "refill",   "since",  "left",    NULL};
    static const char *const durations[] = {"timeout", "per",      "waited_ms",
                                            "ends_ms", "grace_ms", NULL};
    char text[64];
    json_int_t v = json_integer_value(value);
    if (!json_is_integer(value))
        return NULL;
    if (strcmp(key, "at") == 0)
        return json_string(humanize_clock(v, now, text, sizeof text));
    if (one_of(key, moments))
        return json_string(chosen.dated ? moment_text(v, true, text, sizeof text)
                                        : humanize_age(v, now, text, sizeof text));
    if (one_of(key, durations))
        return json_string(units_duration_text((uint64_t)v * NS_A_MS, text, sizeof text));
    return NULL;
}

static void object(json_t *value, int64_t now)
{
    static const char *const contents[] = {"result", "data", "state", "params", NULL};
    void *next;
    const char *key;
    json_t *member;
    json_object_foreach_safe(value, next, key, member)
    {
        json_t *text = readable(key, member, now);
        if (text != NULL)
            json_object_set_new(value, key, text);
        else if (json_is_null(member))
            json_object_del(value, key);
        else if (!one_of(key, contents))
            humanize(member, now);
    }
}

void humanize(json_t *value, int64_t now)
{
    size_t i;
    json_t *member;
    if (json_is_object(value)) {
        object(value, now);
        return;
    }
    json_array_foreach(value, i, member)
    {
        humanize(member, now);
    }
}

const char *humanize_us(uint64_t us, char *buf, size_t size)
{
    if (us < 1000)
        snprintf(buf, size, "%u us", (unsigned)us);
    else if (us < 1000 * 1000)
        snprintf(buf, size, "%.1f ms", (double)us / 1000);
    else if (us < UINT64_C(120) * 1000 * 1000)
        snprintf(buf, size, "%.1f s", (double)us / 1e6);
    else if (us < UINT64_C(7200) * 1000 * 1000)
        snprintf(buf, size, "%.1f m", (double)us / 60e6);
    else
        snprintf(buf, size, "%.1f h", (double)us / 3600e6);
    return buf;
}

json_t *humanize_size(const json_t *object, const char *key)
{
    uint64_t bytes = (uint64_t)json_integer_value(json_object_get(object, key));
    uint64_t unit = bytes >= 1 << 21 ? 1 << 20 : bytes >= 1 << 11 ? 1 << 10 : 1;
    char text[40];
    return json_string(units_size_text(bytes / unit * unit, text, sizeof text));
}
