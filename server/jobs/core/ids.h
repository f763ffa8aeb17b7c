/* The ids of jobs: numbers inside, text outside; and stamps.
 *
 * A number is (milliseconds since 2020 at the server's start << 22) plus a count, so those of a
 * later start are higher unless the wall clock was set back; with a store the start goes on above
 * the highest id in it.  As text: 't' and 13 digits of Crockford's base 32, lower case.  Pure. */
#ifndef ERGON_JOBS_IDS_H
#define ERGON_JOBS_IDS_H

#include "base/span.h"

enum {
    ID_TEXT_LEN = 14,
    ID_TEXT_SIZE = 16, /* bytes, with the terminator */
    ID_CALLS_SIZE = ID_TEXT_SIZE + 11
};

/* The first of a start; `last`: the highest known, or 0.  Never 0. */
uint64_t id_first(uint64_t unix_ns, uint64_t last);
const char *id_text(uint64_t id, char buf[static ID_TEXT_SIZE]);
/* The keys of calls that a turn of this job makes begin with this: its id; of a later time of a job
 * that runs again and again also which one, "t….4".  The attempts of one turn share it. */
const char *id_calls_text(uint64_t id, uint32_t round, char buf[static ID_CALLS_SIZE]);
/* False: the text is no id's, and `id` is as it was.  Each id has exactly one text. */
bool id_parse(struct span text, uint64_t *id);
/* The same of a batch, whose number is of the same space: as text it begins with 'b'. */
const char *id_batch_text(uint64_t id, char buf[static ID_TEXT_SIZE]);
bool id_batch_parse(struct span text, uint64_t *id);

/* A stamp is a number above all before it: the microseconds since 2020, or the last one plus 1.
 * So the stamps of a later start are higher, too, unless the clock was set back.  It stays below
 * 2^53, so that programs without larger whole numbers have it exactly. */
uint64_t stamp_next(uint64_t *last, uint64_t unix_ns);
/* An earlier start gave out this stamp. */
void stamp_past(uint64_t *last, uint64_t stamp);

#endif
