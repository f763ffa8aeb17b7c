/* When a reminder is due, as clients and turns say it: {in or at, every}.  Pure; any thread. */
#ifndef ERGON_TASKS_REMINDER_TIMES_H
#define ERGON_TASKS_REMINDER_TIMES_H

#include <ergon/ao.h>

#include "proto/reader.h"

struct reminder_times {
    ao_time in;    /* from now, ns; 0: `at`, or at once */
    uint64_t at;   /* Unix ns; 0: not said */
    ao_time every; /* ns, at least 1 ms; 0: it comes once */
};

/* Where only `every` is said, the first time is that long from now.  NULL; or a constant text that
 * says what is wrong and what to do. */
const char *reminder_times_set(struct reminder_times *times, bool says_in, bool says_at);
/* Reads the map at the reader; a nil is taken for an empty one.  `tenant`: where the option of this
 * name is put, an empty text if it is not given; NULL: there is none.  False, and such a text. */
bool reminder_times_read(struct reader *r, struct reminder_times *times, struct span *tenant,
                         char *error, size_t size);

#endif
