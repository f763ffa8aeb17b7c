/* What a submission wants of a task: method, parameters and options, checked, with the defaults
 * filled in.
 *
 * Pure data, for any thread.  What the spans and `after` point to is borrowed: it belongs to
 * the code that filled the spec. */
#ifndef ERGON_JOBS_JOB_SPEC_H
#define ERGON_JOBS_JOB_SPEC_H

#include <ergon/ao.h>

#include "base/block.h"
#include "base/span.h"
#include "proto/job_policy.h"
#include "proto/traceparent.h"
#include "server/jobs/core/states.h"

enum { SPEC_PRIORITY_MAX = 9, SPEC_PRIORITY = 5 };

/* Bytes, with the terminator: of the text of an error; of "CODE: text". */
enum { JOB_TEXT_MAX = 240, JOB_LINE_MAX = JOB_TEXT_MAX + 40 };

/* Durations are ns.  Empty spans: not given. */
struct job_spec {
    struct span method, params; /* params: raw */
    struct span tenant;         /* empty: the principal, or "" for anybody */
    struct span key;
    struct span coalesce;
    struct span actor;    /* "type/key": it is a message to that actor */
    uint64_t actor_hash;  /* the jobs': of that name, and the tenant's; 0: not known yet */
    struct span reminder; /* its name, within the actor; empty: it is none */
    ao_time every;        /* of a reminder; 0: it comes once */
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
    JOB_POLICY_MEMBERS
    uint8_t priority; /* 9 goes first */
    uint8_t durable;  /* enum job_durable */
    bool answers;     /* somebody waits for the result */
    bool calls;       /* likewise, and it ends with its last caller */
    bool inner;       /* a turn or its failure sends it: it is taken while the server stops, too */
    uint64_t batch;   /* of which it is to be a member; 0: of none */
    uint32_t said;    /* options that were given: bits by enum job_option_id; of messages alone */
    struct trace_context traceparent; /* of the submitter, or none */
    struct span tracestate;
    uint64_t inbox; /* the row of the store's inbox that is submitted; 0: it came on the wire */
    struct block *message; /* in which all spans lie: a new job takes it over; NULL: it copies */
};

/* What a spec holds of which nothing is said; no method. */
#define JOB_SPEC_DEFAULTS                                                                          \
    JOB_POLICY(JOB_POLICY_UNSAID_OF).timeout = AO_NEVER, .deadline = AO_NEVER,                     \
    .priority = SPEC_PRIORITY, .durable = DURABLE_ASYNC

void job_spec_init(struct job_spec *spec); /* to the defaults */

/* How long a job is kept after its end, and the largest result that is kept: as in a spec. */
struct job_keep {
    ao_time time;
    uint64_t size;
};
struct job_keep job_spec_keep(const struct job_spec *spec);
/* Both raise to what is wanted, and return whether that was more. */
bool job_keep_longer(struct job_keep *keep, struct job_keep wanted);
bool job_policy_keep(struct job_policy *policy, struct job_keep wanted);

#endif
