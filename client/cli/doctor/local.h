/* What this machine says of itself, where the server runs on it.  One thread. */
#ifndef ERGON_CLI_DOCTOR_LOCAL_H
#define ERGON_CLI_DOCTOR_LOCAL_H

#include <jansson.h>

/* Facts as check.h has them, a new reference; NULL: the server at `url` is on another machine, or
 * in another container, or does not say its pid (`info`, the answer of server.info, may be NULL).
 */
json_t *local_facts(const char *url, const json_t *info);

#endif
