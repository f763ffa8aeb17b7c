/* The options of a task, as a map reads into a job spec. */
#ifndef ERGON_JOBS_SPEC_OPTIONS_H
#define ERGON_JOBS_SPEC_OPTIONS_H

#include "proto/options.h"
#include "server/jobs/core/job_spec.h"

/* Options that stand in the same map. */
struct spec_extra {
    const struct option *at;
    uint32_t count;
};

/* Takes the map at the reader, or a nil, into a job spec that has its defaults.  `ids`: room for as
 * many ids as the bytes can hold (15 a piece at least), moved on by those of `after`; *ids NULL: no
 * `after` is taken.  `more` may be NULL.  False, and a text that names the option. */
bool spec_read_options(struct reader *r, struct job_spec *spec, uint64_t **ids,
                       const struct spec_extra *more, char *error, size_t size);

/* Readers that others use too. */
bool option_duration(struct reader *r, void *out);
bool option_flag(struct reader *r, void *out);
bool option_count(struct reader *r, void *out); /* uint32_t, at least 1 */
bool option_name(struct reader *r, void *out);  /* struct span, 1 to SPEC_NAME_MAX bytes of UTF-8 */

#define EXPECTS_DURATION "a duration: milliseconds, or text such as \"250ms\", at most 213503d"
#define EXPECTS_NAME     "a string of 1 to 256 bytes of UTF-8"

#endif
