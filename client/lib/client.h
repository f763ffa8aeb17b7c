/* The inside of an asynchronous client; shared by client.c (life and connection) and requests.c
 * (calls and messages). */
#ifndef ERGON_CLIENT_CLIENT_H
#define ERGON_CLIENT_CLIENT_H

#include "client/lib/calls.h"
#include "client/lib/link.h"
#include "client/lib/watch.h"

struct ergon_client {
    struct event_base *base;      /* the caller's */
    struct ergon_options options; /* defaults filled in; its strings are owned */
    struct url url;
    struct tls *tls; /* owned; NULL for plain */
    enum ergon_state state;
    struct link link;
    struct calls calls;
    struct watch_list watches;
    struct event timer; /* connect limit while CONNECTING, next attempt while BACKING_OFF */
    uint32_t attempt;   /* failures since a server last said something */
    unsigned depth;     /* callbacks of this client on the stack */
    bool doomed;        /* freed by the user; goes when depth is 0 */
    struct ergon_client_stats stats;
    enum ergon_end last_outcome; /* of the last failure; with `why` */
    char why[384];
};

/* Everything that may run a callback stands between these two.  After client_leave() the client may
 * be gone. */
void client_enter(struct ergon_client *c);
void client_leave(struct ergon_client *c);

/* Ends the attempt or connection: closes it, ends calls as `outcome` demands, backs off or goes
 * IDLE. */
void client_down(struct ergon_client *c, enum ergon_end outcome, const char *why);
void client_ready(struct ergon_client *c);

/* ---- requests.c ---- */

void requests_authenticate(struct ergon_client *c); /* sends server.auth */
void requests_send_waiting(struct ergon_client *c);
void requests_message(struct ergon_client *c, struct span message);

/* Takes every call of one place off the client's lists, in order; requests_end() ends them, each
 * with its one callback. */
void requests_detach(struct ergon_client *c, enum call_place place, struct call_list *to);
void requests_end(struct call_list *ending, enum ergon_end outcome, const char *why);

#endif
