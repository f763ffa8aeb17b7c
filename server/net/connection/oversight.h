/* What an overseer may see of a connection, beside connection.h, and do to it.
 *
 * Thread: the loop's that owns it.  Nothing here fails. */
#ifndef ERGON_NET_OVERSIGHT_H
#define ERGON_NET_OVERSIGHT_H

#include <stdbool.h>

#include <ergon/ao.h>

struct connection;

struct conn_figures {
    ao_time now;               /* of its loop */
    const char *state;         /* "HANDSHAKE", "OPEN" ... */
    const char *listener;      /* its URL; the acceptor's */
    const char *tls;           /* "TLSv1.3"; NULL: it is plain, or still shakes hands */
    ao_time age;               /* ns since it was accepted */
    ao_time idle;              /* ns since its last byte, or the last end of a call */
    uint32_t in_flight, polls; /* calls that count; long polls and watches */
    uint64_t messages;         /* handed over so far */
    uint64_t partial;          /* bytes that it keeps of messages that are not complete */
    uint64_t output;           /* bytes that wait to be written */
    uint64_t bytes;            /* all that it holds: server/net/holdings.h */
    uint64_t principal_bytes;  /* what its principal holds, with all its connections and tasks */
    bool stopped;              /* it is not read, for want of room or at a limit */
};
void conn_figures(const struct connection *c, struct conn_figures *out);

/* Closes it now, for a reason that is logged (a constant text): nothing more is written, and its
 * calls are dropped where they wait and flagged where they run, notifications too.  Of one that is
 * CLOSED: nothing. */
void conn_kill(struct connection *c, const char *why);
/* It was closed so. */
bool conn_was_killed(const struct connection *c);

#endif
