/* The options of a job and of a cron (proto/job_options.h), as a map reads into a spec.
 *
 * Any thread: pure.  Spans that are read point into the reader's bytes. */
#ifndef ERGON_RPC_SPEC_OPTIONS_H
#define ERGON_RPC_SPEC_OPTIONS_H

#include "proto/options.h"
#include "server/jobs/cron/cron_spec.h"

/* Options of the caller's in the same map. */
struct spec_extra {
    const struct option *at;
    uint32_t count;
};

/* Takes the map at the reader, or a nil, into a spec that has its defaults.  `ids`: room for as
 * many ids as the bytes can hold (15 a piece at least), moved on by those of `after`; *ids NULL: no
 * `after` is taken.  `extra` may be NULL.  False, and a text that names the option that is
 * unknown, not of its kind, or given twice; the spec is undefined then. */
bool spec_read_options(struct reader *r, struct job_spec *spec, uint64_t **ids,
                       const struct spec_extra *extra, char *error, size_t size);

/* The same of a cron: its own options, and those of its jobs, in one map; `options` of the spec is
 * set to the map's bytes.  False, and a text, as there. */
bool spec_read_cron_options(struct reader *r, struct cron_spec *spec, char *error, size_t size);

/* The same of a map that the store has.  False: it has an option that this server does not know, as
 * a newer one wrote it. */
bool spec_reread_cron_options(struct span options, struct cron_spec *spec);

/* Takes the options of a message or a task that a turn sends, a raw map or nil or nothing, into a
 * spec that has its defaults, its method and, of a message, its actor.  False, and a text, as
 * there. */
bool spec_read_turn_options(struct span options, struct job_spec *spec, char *error, size_t size);

/* Readers of values that other maps have, too.  False: the value is none of its kind, and `out` is
 * undefined. */
bool option_duration(struct reader *r, void *out);       /* uint64_t, ns */
bool option_flag(struct reader *r, void *out);           /* bool */
bool option_count(struct reader *r, void *out);          /* uint32_t, at least 1 */
bool option_name(struct reader *r, void *out);           /* struct span: JOB_EXPECTS_NAME */
#define RPC_EXPECTS_NAME "; a name is " JOB_EXPECTS_NAME /* for rpc_refuse_params() */
bool option_moment(struct reader *r, void *out);         /* uint64_t, Unix ns */
bool option_traceparent(struct reader *r, void *out);    /* struct trace_context */
bool option_tracestate(struct reader *r, void *out);     /* struct span */
bool option_priority(struct reader *r, void *out);       /* uint8_t */
bool option_batch(struct reader *r, void *out);          /* uint64_t */

#endif
