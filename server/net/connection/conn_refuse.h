/* What a connection answers to input that is not a message, and when that ends it. */
#ifndef ERGON_NET_CONN_REFUSE_H
#define ERGON_NET_CONN_REFUSE_H

#include "proto/scanner.h"

struct connection;

/* Its id is readable: answers BAD_REQUEST, and the connection goes on. */
void refuse_message(struct connection *c, struct span msgid, const char *why);
/* Nobody could match an answer: closes, with a log line.  `why` is constant. */
void refuse_connection(struct connection *c, const char *why);
/* The scanner has refused what starts at `bytes`: answers TOO_LARGE when the head of a request is
 * readable, and closes. */
void refuse_input(struct connection *c, enum scan_verdict verdict, struct span bytes);

#endif
