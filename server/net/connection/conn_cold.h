/* The cold part of a connection: what few connections need, or each for a moment only, so that one
 * that is idle takes no memory for it.
 *
 * It is made for its first use, and freed with the last.  Authenticated connections that only call
 * have none; those of workers and watchers have one to their end.
 *
 * Thread: the loop's. */
#ifndef ERGON_NET_CONN_COLD_H
#define ERGON_NET_CONN_COLD_H

#include "server/accounts/room.h"
#include "server/net/connection/net_loop.h"

struct conn_vouched; /* server/net/connection_rights.h */

/* What it is used for: bits. */
enum cold_use {
    COLD_UNAUTHENTICATED = 1, /* it is unauthenticated, or shakes hands */
    COLD_ROOM = 2,            /* it waits for room, or a message that was put back does */
    COLD_PUSHED = 4,          /* something was pushed; to its end */
    COLD_SERVICE = 8,         /* it serves, or its port has set conn_service() */
    COLD_FAILURES = 16,       /* its peer has shown a wrong token; to its end */
    COLD_WHY = 32,            /* it closes; to its end */
    COLD_SESSION = 64,        /* its port has set conn_session() */
    COLD_VOUCHED = 128        /* conn_vouch(); to its end */
};

/* All zero when it is made; what belongs to a use is set as that begins. */
struct conn_cold {
    struct connection *owner;
    uint8_t uses; /* bits of enum cold_use */

    /* --- COLD_UNAUTHENTICATED --- */
    bool heard_out;  /* its time was over, and what had come by then is looked at */
    ao_time entered; /* when it came, was opened, or became an unauthenticated connection again */
    struct place place, shaking; /* of those that may be evicted: unauthenticated.h */

    /* --- COLD_ROOM --- */
    struct room_waiter room; /* while it `waits` */
    uint64_t wanted;         /* bytes, by the message that was put back; 0: there is none */
    uint32_t whole;          /* bytes of it, while it `retries` */

    /* --- COLD_PUSHED --- */
    uint64_t pushed; /* bytes of output that no request asked for, at most; 0: all is written */
    ao_time unread_since; /* while `unread`: when its peer last took something, or it began */

    /* --- COLD_SERVICE --- */
    void *service;   /* the port's */
    uint64_t handed; /* bytes that the stream has taken since this part is there */
    ao_time look_at; /* while it `looks` */
    bool stays;      /* it serves, and the server's drain does not wait for it */
    bool unheard;    /* it looked, and something stood unacknowledged */
    bool silent;     /* its peer acknowledges nothing any more */

    /* --- COLD_FAILURES --- */
    uint32_t failures; /* of authentication */

    /* --- COLD_WHY --- */
    const char *why; /* it is not open any more; a constant text */

    /* --- COLD_SESSION --- */
    void *session; /* the port's */

    /* --- COLD_VOUCHED --- */
    struct conn_vouched *vouched; /* owned */
};

/* The connection's cold part, for this use until cold_end().  NULL without memory: nothing has
 * changed, and each use says in its place what becomes of the connection then. */
struct conn_cold *cold_begin(struct connection *c, enum cold_use use);
/* The use has ended; twice is fine. */
void cold_end(struct connection *c, enum cold_use use);
/* The connection is freed: all uses have ended. */
void cold_free(struct connection *c);

#endif
