/* Is it beyond doubt where a request ends, and whom it is for?
 *
 * A proxy before us may read what says so twice, or oddly, otherwise than evhttp does: then what
 * the one takes for a body is a further request to the other, in the name of whoever the proxy
 * speaks for next (request smuggling).  evhttp takes the first of several headers, "+2" for a
 * length, and what follows a GET for the next request, whatever its length says.
 *
 * Pure; any thread. */
#ifndef ERGON_ADMIN_FRAMING_H
#define ERGON_ADMIN_FRAMING_H

#include <stdbool.h>

struct evkeyvalq;

/* NULL, or what is in doubt, for people: then the request is to be refused, and nothing more read
 * of its connection.  `has_body`: evhttp looks for a body after this method. */
const char *framing_doubt(const struct evkeyvalq *headers, bool has_body);

#endif
