/* Looks at a server that may be ill: what it does not answer is a fact, and no reason to complain.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_LOOK_H
#define ERGON_CLI_LOOK_H

#include "client/cli/session.h"

#include <jansson.h>

/* The answer to `method`, a new reference, or NULL; *status says why, as status.h has it:
 * STATUS_TIMEOUT after `timeout_ms`, STATUS_AUTH and STATUS_NOT_FOUND where it is not allowed or
 * not there, STATUS_CONNECT when the connection has ended.  `params`, an array or NULL, is taken.
 * Nothing is printed. */
json_t *look_at(struct session *s, const char *method, json_t *params, uint32_t timeout_ms,
                enum status *status);

/* The same of a method that answers pages: {`key`: [...], next}; the entries of at most `limit`, as
 * one array; there may be some more. */
json_t *look_at_pages(struct session *s, const char *method, const char *key, size_t limit,
                      uint32_t timeout_ms, enum status *status);

#endif
