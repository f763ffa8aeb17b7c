/* When a cron fires.
 *
 *   "MINUTE HOUR DAY MONTH WEEKDAY"   as cron(5): lists, ranges, steps, names of months and days;
 *                                     where both days are restricted, either will do
 *   "@hourly" "@daily" "@weekly" "@monthly" "@yearly"
 *   "every DURATION"                  from a second on: "every 90s", counted from Unix time 0
 *
 * By the wall clock of the zone: a time of day that comes twice fires once, one that is skipped
 * fires at the moment of the skip; where every hour will do ("*" or a step), every hour of a day of
 * 23 or 25 hours counts.  Pure. */
#ifndef ERGON_JOBS_SCHEDULE_H
#define ERGON_JOBS_SCHEDULE_H

#include "base/span.h"

/* Time zones, by the system's database (through GLib).  Seconds are Unix seconds, or, where it says
 * local, the same count on the wall clock of the zone.  Any thread. */

struct zone;

/* "Europe/Berlin", "UTC", "+05:30"; empty: UTC.  The caller closes it.  NULL: there is no such
 * zone. */
struct zone *zone_open(struct span name);
void zone_close(struct zone *z); /* NULL is fine */

int64_t zone_local(const struct zone *z, int64_t unix_s);

/* When the wall clock shows `local`.  Of a time that comes twice: the first.  Of one that does not
 * come, since the clock was set forward over it: the moment at which it was. */
int64_t zone_unix(const struct zone *z, int64_t local);

/* --- Schedule --- */

struct schedule {
    uint64_t every; /* seconds; 0: by calendar */
    uint64_t minutes;
    uint32_t hours, days, months, weekdays; /* bit sets */
    bool any_hour, any_day, any_weekday;
};

/* False, and a text: what is wrong, and where; `out` is undefined then. */
bool schedule_parse(struct span text, struct schedule *out, char *error, size_t size);

/* The first time after `unix_s`; -1: never (February the 30th). */
int64_t schedule_next(const struct schedule *s, const struct zone *z, int64_t unix_s);

#endif
