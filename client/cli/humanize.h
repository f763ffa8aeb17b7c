/* Tasks, events and queues as people read them: points in time as ages, nothing that is nil.  Pure,
 * but for the clock and the local time zone. */
#ifndef ERGON_CLI_HUMANIZE_H
#define ERGON_CLI_HUMANIZE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

int64_t now_ms(void); /* Unix */

/* "3 m ago", "in 5 s", "now".  `buf` of at least 32 bytes. */
const char *humanize_age(int64_t unix_ms, int64_t now, char *buf, size_t size);

/* For all that follows: times are in UTC, or in the local time zone; moments are told as such
 * (`dated`), or as ages.  Neither before. */
void humanize_choose(bool utc, bool dated);

/* "14:03:07.120+01:00" of the local time zone, or "14:03:07.120Z" of UTC, with the date in front
 * where it is not that of `now`.  `buf` of at least 40 bytes. */
const char *humanize_clock(int64_t unix_ms, int64_t now, char *buf, size_t size);

/* "2026-11-23 20:05:07.120+01:00", or with Z; `buf` of at least 48 bytes. */
const char *humanize_moment(int64_t unix_ms, char *buf, size_t size);

/* "350 us", "1.2 ms", "3.4 s", "2 m": how long something took.  `buf` of at least 32 bytes. */
const char *humanize_us(uint64_t us, char *buf, size_t size);

/* The size of so many bytes as a new text, "3m", rounded: nobody reads bytes in a table. */
json_t *humanize_size(const json_t *object, const char *key);

/* Makes an answer readable, in place and at any depth: nil members go, points in time become ages,
 * durations get their unit.  What users gave stays as it is: results, data, states, parameters. */
void humanize(json_t *value, int64_t now);

#endif
