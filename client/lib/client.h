/* The inside of an asynchronous client, for watches and for the blocking face.  Thread: that of its
 * event base. */
#ifndef ERGON_CLIENT_CLIENT_H
#define ERGON_CLIENT_CLIENT_H

#include "client/lib/calls.h"
#include "client/lib/connection.h"
#include "client/lib/serve.h"
#include "client/lib/settings.h"

struct ergon_client {
    struct event_base *base; /* the caller's */
    struct settings settings;
    enum ergon_state state;
    struct connection connection;
    struct calls calls;
    struct serve serve;
    struct event timer; /* connect limit while CONNECTING, next attempt while BACKING_OFF */
    uint32_t attempt;   /* failures since a server last served it */
    unsigned depth;     /* callbacks of this client on the stack */
    bool doomed;        /* freed by the user; goes when depth is 0 */
    struct ergon_client_stats stats;
    enum ergon_end last_outcome; /* of the last failure; with `why` */
    char why[384];
};

/* A call that is never sent: it ends with TIMEOUT after `ms`, with CANCELLED by
 * ergon_client_cancel(), or with CLOSED.  Otherwise as ergon_client_call(); 0: out of memory, or
 * the client is being freed. */
ergon_call_id client_pause(struct ergon_client *c, uint32_t ms, ergon_answer_fn *fn, void *arg);

#endif
