#include "base/instant.h"

#include <time.h>

enum { NS_A_SECOND = 1000000000, FRACTION_MAX = 20 /* digits */ };

/* Exactly `count` digits. */
static bool digits(struct span *text, unsigned count, int *out)
{
    if (text->len < count)
        return false;
    *out = 0;
    for (; count > 0; count--, text->at++, text->len--) {
        if (*text->at < '0' || *text->at > '9')
            return false;
        *out = *out * 10 + (*text->at - '0');
    }
    return true;
}

static bool one_of(struct span *text, const char *wanted, char *found)
{
    if (text->len == 0 || *text->at == '\0' || !strchr(wanted, *text->at))
        return false;
    *found = (char)*text->at;
    text->at++;
    text->len--;
    return true;
}

static bool date_and_time(struct span *text, struct tm *t)
{
    char c;
    return digits(text, 4, &t->tm_year) && one_of(text, "-", &c) && digits(text, 2, &t->tm_mon) &&
           one_of(text, "-", &c) && digits(text, 2, &t->tm_mday) && one_of(text, "Tt ", &c) &&
           digits(text, 2, &t->tm_hour) && one_of(text, ":", &c) && digits(text, 2, &t->tm_min) &&
           one_of(text, ":", &c) && digits(text, 2, &t->tm_sec);
}

static bool fraction(struct span *text, uint64_t *ns)
{
    int digit;
    unsigned count = 1;
    char c;

    *ns = 0;
    if (!one_of(text, ".", &c))
        return true;
    if (!digits(text, 1, &digit))
        return false;
    uint64_t unit = NS_A_SECOND / 10;
    do {
        *ns += (uint64_t)digit * unit;
        unit /= 10;
    } while (count++ < FRACTION_MAX && digits(text, 1, &digit));
    return true;
}

/* Seconds east of Greenwich. */
static bool offset(struct span *text, int *seconds)
{
    int hours, minutes;
    char sign, c;

    if (!one_of(text, "Zz+-", &sign))
        return false;
    *seconds = 0;
    if (sign == 'Z' || sign == 'z')
        return true;
    if (!digits(text, 2, &hours) || !one_of(text, ":", &c) || !digits(text, 2, &minutes) ||
        hours > 23 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
    return true;
}

/* timegm() would carry February the 30th over into March. */
static bool to_seconds(struct tm t, time_t *out)
{
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    struct tm normal = t;
    *out = timegm(&normal);
    return normal.tm_mon == t.tm_mon && normal.tm_mday == t.tm_mday &&
           normal.tm_hour == t.tm_hour && normal.tm_min == t.tm_min && normal.tm_sec == t.tm_sec;
}

bool instant_parse(struct span text, uint64_t *unix_ns)
{
    struct tm t = {0};
    uint64_t ns;
    time_t seconds;
    int east;

    if (!date_and_time(&text, &t) || !fraction(&text, &ns) || !offset(&text, &east) ||
        text.len > 0 || !to_seconds(t, &seconds))
        return false;
    seconds -= east;
    if (seconds < 0 || (uint64_t)seconds > UINT64_MAX / NS_A_SECOND - 1)
        return false;
    *unix_ns = (uint64_t)seconds * NS_A_SECOND + ns;
    return true;
}
