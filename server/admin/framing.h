/* Is it beyond doubt where a request ends, and whom it is for?
 *
 * A proxy before us may read what says so twice, or oddly, otherwise than evhttp does: then what
 * the one takes for a body is a further request to the other, in the name of whoever the proxy
 * speaks for next (request smuggling).  evhttp takes the first of several headers, "+2" for a
 * length, also of a chunk, a LF alone for the end of a line, what stands before a NUL for a value,
 * and what follows a GET for the next request, whatever its length says.
 *
 * Pure; any thread. */
#ifndef ERGON_ADMIN_FRAMING_H
#define ERGON_ADMIN_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evkeyvalq;

/* NULL, or what is in doubt, for people: then the request is to be refused, and nothing more read
 * of its connection.  `has_body`: evhttp looks for a body after this method. */
const char *framing_doubt(const struct evkeyvalq *headers, bool has_body);

/* The bytes of a head as they come, before evhttp reads them; zeroed: none has come. */
struct head_check {
    const char *doubt; /* NULL, or what is in doubt, as of framing_doubt() */
    bool over;         /* the empty line has come */
    uint8_t last;      /* the byte before */
    uint32_t length;   /* of the line, without its end */
    uint32_t lines;
};

/* Takes the next bytes; those behind the head do not count. */
void head_check_take(struct head_check *h, const uint8_t *bytes, size_t count);

#endif
