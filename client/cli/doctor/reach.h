/* What keeps us from a server, as a fact that checks look at (check.h).  Pure; one thread. */
#ifndef ERGON_CLI_DOCTOR_REACH_H
#define ERGON_CLI_DOCTOR_REACH_H

#include <ergon/client.h>

#include <jansson.h>

/* Facts with nothing but `no_connection`, a new reference; `outcome` and `why` are those of
 * session_connect(). */
json_t *facts_without(const char *url, enum ergon_end outcome, const char *why);

#endif
