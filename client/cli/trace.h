/* The trace that a command belongs to: by --traceparent, or by TRACEPARENT and TRACESTATE of the
 * environment, as other tools leave it there.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_TRACE_H
#define ERGON_CLI_TRACE_H

#include <jansson.h>

/* A new reference; NULL: it is none. */
json_t *trace_parent(const char *text);
json_t *trace_state(const char *text);

/* Into options that name no trace, that of the environment; what is none there is left out. */
void trace_inherit(json_t *options);

#endif
