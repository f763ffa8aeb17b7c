/* What a connection writes, and how we end it.
 *
 * Thread: the loop's.  Nothing here returns an error: what goes wrong ends in CLOSED. */
#ifndef ERGON_NET_CONN_OUTPUT_H
#define ERGON_NET_CONN_OUTPUT_H

struct connection;

void output_wanted(struct connection *c); /* output_flush() at this round's end */
void output_flush(struct connection *c);  /* writes what it can in one step; may enter CLOSED */
/* The connection will be closed: all that the stream takes at once, however long that takes. */
void output_flush_last(struct connection *c);
/* Copies what is still to be written of bytes that others own, before these go; may enter CLOSED.
 * output_flush() does so too. */
void output_keep(struct connection *c);

/* What is committed is still written; but of one that serves no more than the stream takes at once:
 * what its peer was to do and has not been handed is another's from here on.  `why` is constant.
 * For one that is OPEN or DRAINING. */
void conn_end(struct connection *c, const char *why);

#endif
