/* Job specs, as requests hold them: read into the operation of a job request, and checked.
 *
 * Thread: the loop's.  What is read points into the operation's memory.  Where something is wrong,
 * the request is answered here, and false is returned: BAD_PARAMS, unless another error is named.
 */
#ifndef ERGON_RPC_READ_SPEC_H
#define ERGON_RPC_READ_SPEC_H

#include "server/rpc/job_requests.h"
#include "server/rpc/spec_options.h"

/* Defaults of this server for a task that outlives its connection. */
void spec_defaults(const struct job_request *jr, struct job_spec *spec);

/* Reads method, parameters and options of a job spec from the reader: `count` of the three are
 * there; `usage` says what is taken.  Beside BAD_PARAMS: NO_METHOD (there is no such handler),
 * NO_EXECUTOR, AUTH or DENIED (the peer may not call it, or may not submit for the tenant). */
bool spec_read(struct job_request *jr, struct job_spec *spec, uint32_t count, const char *usage);

/* The same of [actor, method, [params], {options}], where the method is the part behind the type.
 * *turn, which is 0 before, is set to the option `turn`. */
bool spec_read_message(struct job_request *jr, struct job_spec *spec, const char *usage,
                       uint32_t *turn);

/* The same of [actor, name, method, [params], {in or at, every, tenant}]: a reminder. */
bool spec_read_reminder(struct job_request *jr, struct job_spec *spec);

/* Answers the request, and says which of several specs is wrong.  False, always. */
bool spec_refuse(struct job_request *jr, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* May the peer, which may call the spec's method, submit it for its tenant, with its key?  Else
 * DENIED. */
bool spec_may_share(struct job_request *jr, struct job_spec *spec);

/* May this peer submit the spec, whose method, tenant, actor and names are set?  False, and a text:
 * DENIED.  It answers nothing. */
bool spec_may_submit(const struct connection *c, const struct job_spec *spec, char *error,
                     size_t size);

/* Is there such a handler, is it run, and may the peer call it?  Else NO_METHOD, NO_EXECUTOR, AUTH,
 * DENIED. */
bool spec_may_run(struct job_request *jr, struct span method);

/* Reads a map of options. */
bool spec_options(struct job_request *jr, struct job_spec *spec);

#endif
