#include "server/tracing/retry_after.h"

#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Months and days have English names, whatever a module has set. */
static bool read_date(const char *text, int64_t *out)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %d %H:%M:%S %Y"};
    locale_t english = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool good = false;

    for (size_t i = 0; english && !good && i < sizeof forms / sizeof *forms; i++) {
        struct tm moment = {0};
        const char *end = strptime_l(text, forms[i], &moment, english);
        good = end && end[strspn(end, " ")] == 0;
        if (good)
            *out = timegm(&moment);
    }
    if (english)
        freelocale(english);
    return good;
}

static unsigned bounded(int64_t seconds)
{
    if (seconds < 0)
        return 0;
    return seconds < RETRY_AFTER_MAX_S ? (unsigned)seconds : RETRY_AFTER_MAX_S;
}

unsigned retry_after(const char *text, const char *date, int64_t now)
{
    size_t digits = text ? strspn(text, "0123456789") : 0;
    int64_t at, there;

    if (!text)
        return 0;
    if (digits > 0 && text[digits + strspn(text + digits, " ")] == 0)
        return bounded(digits > 9 ? INT64_MAX : strtol(text, NULL, 10));
    if (!read_date(text, &at))
        return 0;
    return bounded(at - (date && read_date(date, &there) ? there : now));
}
