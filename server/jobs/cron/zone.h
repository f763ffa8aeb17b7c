/* Time zones, by the system's database (through GLib).  Seconds are Unix seconds, or, where it says
 * local, the same count on the wall clock of the zone.  Any thread. */
#ifndef ERGON_JOBS_ZONE_H
#define ERGON_JOBS_ZONE_H

#include "base/span.h"

struct zone;

/* "Europe/Berlin", "UTC", "+05:30"; empty: UTC.  The caller closes it.  NULL: there is no such
 * zone. */
struct zone *zone_open(struct span name);
void zone_close(struct zone *z); /* NULL is fine */

int64_t zone_local(const struct zone *z, int64_t unix_s);

/* When the wall clock shows `local`.  Of a time that comes twice: the first.  Of one that does not
 * come, since the clock was set forward over it: the moment at which it was. */
int64_t zone_unix(const struct zone *z, int64_t local);

#endif
