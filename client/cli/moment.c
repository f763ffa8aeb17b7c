#include "client/cli/moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- The clock of a zone --- */

/* A name below the folder of zones, so that no other file is read as one. */
static bool is_zone(const char *name)
{
    char path[512];
    const char *folder = getenv("TZDIR");
    int len = snprintf(path, sizeof path, "%s/%s", folder ? folder : "/usr/share/zoneinfo", name);
    return name[0] != '\0' && name[0] != '/' && !strstr(name, "..") && len > 0 &&
           (size_t)len < sizeof path && access(path, R_OK) == 0 && name[strlen(name) - 1] != '/';
}

static void set_zone(const char *zone)
{
    if (zone)
        setenv("TZ", zone, 1);
    else
        unsetenv("TZ");
    tzset();
}

static bool shows(time_t t, const struct tm *wanted)
{
    struct tm is;
    return localtime_r(&t, &is) && is.tm_mday == wanted->tm_mday && is.tm_hour == wanted->tm_hour &&
           is.tm_min == wanted->tm_min && is.tm_sec == wanted->tm_sec;
}

/* When the clock shows it: the first of two, which is that of summer. */
static time_t when(const struct tm *wanted)
{
    struct tm summer = *wanted, either = *wanted;
    summer.tm_isdst = 1;
    either.tm_isdst = -1;
    time_t first = mktime(&summer);
    return first != -1 && shows(first, wanted) ? first : mktime(&either);
}

/* --- Words --- */

static bool take_number(const char **at, int digits_most, int most, int *out)
{
    int n = 0, digits = 0;
    for (; digits < digits_most && **at >= '0' && **at <= '9'; digits++, (*at)++)
        n = 10 * n + (**at - '0');
    *out = n;
    return digits > 0 && n <= most;
}

static bool take_sign(const char **at, char sign)
{
    bool has = **at == sign;
    *at += has;
    return has;
}

/* H:MM, HH:MM, HH:MM:SS, and no more. */
static bool take_time(const char *at, struct tm *tm)
{
    bool good = take_number(&at, 2, 23, &tm->tm_hour) && take_sign(&at, ':') &&
                take_number(&at, 2, 59, &tm->tm_min);
    tm->tm_sec = 0;
    if (good && take_sign(&at, ':'))
        good = take_number(&at, 2, 59, &tm->tm_sec);
    return good && *at == '\0';
}

/* The day of tm becomes that of a date at the start of the text, YYYY-MM-DD and a blank or a T. */
static const char *take_date(const char *at, struct tm *tm)
{
    int year, month, day;
    if (!take_number(&at, 4, 9999, &year) || !take_sign(&at, '-') ||
        !take_number(&at, 2, 12, &month) || !take_sign(&at, '-') || !take_number(&at, 2, 31, &day))
        return NULL;
    tm->tm_year = year - 1900;
    tm->tm_mon = month - 1;
    tm->tm_mday = day;
    return take_sign(&at, ' ') || take_sign(&at, 'T') ? at : NULL;
}

static const char *behind(const char *text, const char *word)
{
    size_t len = strlen(word);
    return strncmp(text, word, len) == 0 && text[len] == ' ' ? text + len + 1 : NULL;
}

static bool refuse(char *why, size_t size, const char *text)
{
    snprintf(why, size,
             "'%s' is no moment: 09:00, 'today 18:30', 'tomorrow 09:00', '2026-11-22 09:30', "
             "2026-11-22T09:30:00+01:00, or Unix ms",
             text);
    return false;
}

/* mktime() makes the 30th of February the 2nd of March. */
static bool is_in_calendar(const struct tm *tm)
{
    struct tm noon = *tm;
    noon.tm_hour = 12;
    noon.tm_min = noon.tm_sec = 0;
    noon.tm_isdst = -1;
    return mktime(&noon) != -1 && noon.tm_mon == tm->tm_mon && noon.tm_mday == tm->tm_mday;
}

static bool parse(const char *text, time_t now, time_t *out, char *why, size_t size)
{
    struct tm tm;
    const char *today = behind(text, "today"), *tomorrow = behind(text, "tomorrow");
    if (!localtime_r(&now, &tm))
        return refuse(why, size, text);
    const char *date = today || tomorrow ? NULL : take_date(text, &tm);
    const char *hour = today ? today : tomorrow ? tomorrow : date ? date : text;
    if (!take_time(hour, &tm))
        return refuse(why, size, text);
    if (date && !is_in_calendar(&tm)) {
        snprintf(why, size, "'%s': the calendar has no such day", text);
        return false;
    }
    tm.tm_mday += tomorrow != NULL;
    *out = when(&tm);
    if (*out <= now && hour == text) { /* not today any more */
        tm.tm_mday++;
        *out = when(&tm);
    }
    if (*out > now || date)
        return true;
    snprintf(why, size, "'%s' has passed", text);
    return false;
}

bool moment_of_words(const char *text, const char *zone, int64_t now, int64_t *unix_s, char *why,
                     size_t size)
{
    const char *before = getenv("TZ");
    char *kept = before ? strdup(before) : NULL;
    time_t found = 0;
    if (zone && !is_zone(zone)) {
        snprintf(why, size, "there is no time zone '%s'; they are named as Europe/Berlin", zone);
        free(kept);
        return false;
    }
    if (zone)
        set_zone(zone);
    bool good = parse(text, (time_t)now, &found, why, size);
    if (zone)
        set_zone(kept);
    free(kept);
    *unix_s = found;
    return good;
}
