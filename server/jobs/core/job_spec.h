/* What somebody wants of a task: method, parameters and options, checked, with the defaults filled
 * in.
 *
 * Pure data, for any thread.  What the spans and `after` point to is borrowed: it stays the
 * property of who filled the spec. */
#ifndef ERGON_JOBS_JOB_SPEC_H
#define ERGON_JOBS_JOB_SPEC_H

#include <ergon/ao.h>

#include "base/block.h"
#include "base/span.h"
#include "proto/traceparent.h"
#include "server/jobs/core/states.h"

enum {
    SPEC_PRIORITY_MAX = 9,
    SPEC_PRIORITY = 5,
    SPEC_JITTER = 50 /* percent */
};

/* Bytes, with the terminator: of the text of an error; of "CODE: text". */
enum { JOB_TEXT_MAX = 240, JOB_LINE_MAX = JOB_TEXT_MAX + 40 };

#define SPEC_BACKOFF     AO_S(1)
#define SPEC_BACKOFF_MAX AO_S(3600)
#define SPEC_KEEP        AO_S(3600)
#define SPEC_KEEP_UNSAID AO_NEVER /* SPEC_KEEP, or what the settings say of those that failed */
#define SPEC_KEEP_SIZE   ((uint64_t)1 << 20)

/* Durations are ns.  Empty spans: not given. */
struct job_spec {
    struct span method, params; /* params: raw */
    struct span tenant;         /* empty: the principal, or "" for anybody */
    struct span key;
    struct span coalesce;
    struct span limit_key;
    struct span rate_key;
    const uint64_t *after, *after_any; /* ids */
    uint32_t after_count, after_any_count;
    uint32_t limit; /* at most so many permits of limit_key are taken */
    uint32_t take;  /* of these it takes so many; 0: one */
    uint32_t rate;  /* starts of rate_key in any rate_per */
    ao_time rate_per;
    ao_time delay;    /* from now; 0: none.  `at` goes before it */
    uint64_t at;      /* Unix ns; 0: none */
    ao_time timeout;  /* of one attempt; AO_NEVER */
    ao_time deadline; /* of the whole, from now; AO_NEVER */
    uint32_t retries; /* after the first attempt */
    ao_time backoff;  /* before the second attempt; doubled before each further one */
    ao_time backoff_max;
    uint8_t backoff_jitter; /* percent of the back-off that are left to chance; 0 to 100 */
    uint8_t priority;       /* 9 goes first */
    uint8_t durable;        /* enum job_durable */
    ao_time keep;           /* how long it is kept after its end; SPEC_KEEP_UNSAID */
    uint64_t keep_size;     /* a larger result is not kept: bytes */
    struct trace_context traceparent; /* of who submits it, or none */
    struct span tracestate;
    struct block *message; /* in which all spans lie: a new job takes it over; NULL: it copies */
};

/* What a spec holds of which nothing is said; no method. */
#define JOB_SPEC_DEFAULTS                                                                          \
    .timeout = AO_NEVER, .deadline = AO_NEVER, .backoff = SPEC_BACKOFF,                            \
    .backoff_max = SPEC_BACKOFF_MAX, .backoff_jitter = SPEC_JITTER, .priority = SPEC_PRIORITY,     \
    .durable = DURABLE_ASYNC, .keep = SPEC_KEEP_UNSAID, .keep_size = SPEC_KEEP_SIZE

void job_spec_init(struct job_spec *spec); /* to the defaults */

/* How long a job is kept after its end, and the largest result that is kept: as in a spec. */
struct job_keep {
    ao_time time;
    uint64_t size;
};
/* Raises `keep` to what the spec wants.  Returns whether that was more. */
bool job_keep_longer(struct job_keep *keep, const struct job_spec *spec);

#endif
