/* Is it beyond doubt where a request ends, and which host it is for?
 *
 * A proxy in front of the server may read an ambiguous head otherwise than evhttp does.  Then bytes
 * that one takes for a body are a further request to the other, in the name of the proxy's next
 * client (request smuggling).  evhttp takes the first of several headers, accepts "+2" as a length,
 * also of a chunk, and a LF alone as the end of a line, cuts a value at a NUL, and takes what
 * follows a GET for the next request, whatever its length says.
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
