/* What evhttp refuses by itself, before a request is anybody's (a head or body that is too large,
 * that cannot be read, or expects what nobody knows), in our words: an error as JSON, with the
 * headers that every answer has.
 *
 * evhttp of libevent 2.1 lets nobody put another page in the place of its own (evhttp_set_errorcb()
 * came with 2.2).  But it writes a status line before all else, and while no request is under way
 * whatever it writes is its own.  So the output of each connection is looked at as it is written:
 * behind the status line of an error our answer is put, and the output is frozen at its end, so
 * that its page does not get in.  evhttp closes the connection when what is there has been written.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_EVHTTP_ERRORS_H
#define ERGON_ADMIN_EVHTTP_ERRORS_H

#include <stdbool.h>

struct http_connection; /* connections.h */

/* From now on until its stream is freed; before evhttp has written anything.  False without memory:
 * then evhttp's pages are as they were. */
bool evhttp_errors_replace(const struct http_connection *c);

#endif
