/* Orders, as requests hold them. */
#ifndef ERGON_RPC_ORDERS_H
#define ERGON_RPC_ORDERS_H

#include "server/jobs/service/spec_options.h"
#include "server/rpc/job_requests.h"

/* Defaults of this server for a task that outlives its connection. */
void spec_defaults(const struct job_request *b, struct job_spec *spec);

/* Method, parameters and options of a job spec, from the reader: `count` of the three are there.
 * False: answered; `usage` says what is taken.  The method exists and the peer may call it. */
bool spec_read(struct job_request *b, struct job_spec *spec, uint32_t count, const char *usage);

/* Answers the request, and says which of several orders is wrong.  False, always. */
bool spec_refuse(struct job_request *b, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* May the peer submit for this tenant?  False: answered. */
bool spec_may_share(struct job_request *b, const struct job_spec *spec);

/* Is there such a handler, and may the peer call it?  False: answered. */
bool spec_may_run(struct job_request *b, struct span method);

/* A map of options.  `more` may be NULL.  False: answered. */
bool spec_options(struct job_request *b, struct job_spec *spec, const struct spec_extra *more);

#endif
