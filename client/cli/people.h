/* Tasks, events and queues as people read them: points in time as ages, nothing that is nil. */
#ifndef ERGON_CLI_PEOPLE_H
#define ERGON_CLI_PEOPLE_H

#include <jansson.h>
#include <stdint.h>

int64_t people_now(void); /* Unix ms */

/* "3 m ago", "in 5 s", "now".  `buf` of at least 32 bytes. */
const char *people_age(int64_t unix_ms, int64_t now, char *buf, size_t size);

/* "14:03:07.120" of the local time zone, with the date in front where it is not that of `now`. */
const char *people_clock(int64_t unix_ms, int64_t now, char *buf, size_t size);

/* Makes an answer readable, in place and at any depth: nil members go, points in time become ages,
 * durations get their unit. */
void people_object(json_t *value, int64_t now);

/* A string member, or "" if there is none. */
const char *people_text(const json_t *object, const char *key);

#endif
