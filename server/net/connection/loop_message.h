/* What travels between the acceptor and the loops: slots of connections, and what the loops are to
 * do.  It goes by lists that any thread may push to, so that another thread can do the work of the
 * acceptor's loop (server/net/accept/acceptor_private.h).
 *
 * The acceptor makes a slot for each connection.  It goes to a loop, stays with the connection
 * while its socket is open, and comes home when that is closed: there the acceptor counts down.  So
 * all counts have one owner.
 *
 * Thread: that of the message's holder, the acceptor's or the loop's; to push it into a list is to
 * give it away.  Nothing here fails. */
#ifndef ERGON_NET_LOOP_MESSAGE_H
#define ERGON_NET_LOOP_MESSAGE_H

#include <stddef.h>
#include <string.h>

#include "base/list.h"
#include "server/net/connection/origins.h"
#include "server/net/net.h"
#include "server/runtime/threads/mpsc.h"

struct connection;
struct tls_context;

/* The rules of one listener as its connections see them.  Immutable while the server runs, but for
 * `contexts`, of which entry i is changed by loop i alone, and the acceptor's `open`. */
struct listener_rules {
    const char *url; /* with the real port; the acceptor's */
    enum listener_auth auth;
    bool raw;
    bool without_roles;            /* listener_options */
    bool penalties;                /* addresses of which nothing good comes are kept out */
    ao_time idle_timeout;          /* ns; 0: that of the limits; AO_NEVER: none */
    const char *methods;           /* what may be called here; NULL: all; owned */
    uint8_t index;                 /* of the listener */
    struct tls_context **contexts; /* by loop index; NULL: plain */
    uint32_t open;                 /* connections; the acceptor's own */
    uint32_t kept;                 /* of these, in places kept beyond the limits; the same */
};

enum loop_message_kind {
    LOOP_CONNECT,
    LOOP_DRAIN,
    LOOP_ABORT,
    LOOP_RELOAD,
    LOOP_WALK,
    LOOP_EVICT,
    LOOP_USER
};

struct loop_message {
    struct mpsc_item item;
    uint8_t kind;  /* enum loop_message_kind */
    bool named;    /* LOOP_CONNECT: conn_slot_user() */
    uint16_t loop; /* LOOP_CONNECT: index of the loop that it was given to */
    int fd;        /* LOOP_CONNECT: until the connection takes it over; then -1 */
};

/* What a peer may do that costs its address time (penalties.h): in fifths of a wrong token. */
enum offence {
    OFFENCE_SILENT = 1,
    OFFENCE_HANDSHAKE = 1,
    OFFENCE_NOISE = 1, /* invalid bytes from an unauthenticated peer */
    OFFENCE_TOKEN = 5
};

/* LOOP_CONNECT.  Owned by its holder: acceptor, list, connection.  Some of its fields are the
 * acceptor's wherever it is, others the loop's; each only touches its own. */
struct conn_slot {
    struct loop_message message;
    uint64_t id; /* of the connection; each loop is given them in their order */
    struct listener_rules *rules;
    uint64_t key; /* of its peer (peer_key()); while it is counted there is an origin of it */
    struct connection *connection;  /* the loop's; NULL: there is none, any more or at all */
    struct origin_member of_origin; /* the acceptor's: while it is counted and a loop has it; the
                                     * youngest is first */
    bool left : 1;                  /* the same: it has given up its place, and is not counted */
    bool kept : 1;                  /* the same: in a place that is kept beyond the limits */
    bool asked : 1;   /* the same: a slot request asks for its place, and holds on to it */
    bool home : 1;    /* the same: it came home while it was asked for */
    uint8_t offences; /* the loop's: weights of enum offence, added up */
    char peer[];      /* address as text; and behind its end the name, if it is `named` */
};

/* Bytes of one; `user` NULL: nobody asked for its name. */
static inline size_t conn_slot_size(const char *peer, const char *user)
{
    size_t size = offsetof(struct conn_slot, peer) + strlen(peer) + 1;

    size += user != NULL ? strlen(user) + 1 : 0;
    return size < sizeof(struct conn_slot) ? sizeof(struct conn_slot) : size;
}

/* Name of the user of a Unix socket, or of a certificate that was verified before the connection
 * was adopted; NULL: nobody asked. */
static inline const char *conn_slot_user(const struct conn_slot *slot)
{
    return slot->message.named ? slot->peer + strlen(slot->peer) + 1 : NULL;
}

/* LOOP_EVICT: one connection is to close, so that another may have its place; it goes back to the
 * acceptor.  The acceptor's own (accept/slot_requests.h). */
enum evicted {
    EVICT_UNAUTHENTICATED, /* an unauthenticated connection: evict.c */
    EVICT_IDLE,            /* that of `slot`, if it has nothing at work */
    EVICT_ANYHOW           /* that of `slot` */
};
struct eviction {
    struct loop_message message;
    enum evicted who;
    uint32_t
        spared; /* so many unauthenticated ones of one address are spared if they had no second */
    /* On its way to the loop: the one that is asked, NULL for unauthenticated connections.  On its
     * way back: the one whose place is free by that, NULL: none.  Borrowed: it cannot have come
     * home before this. */
    struct conn_slot *slot;
};

/* A list of messages, and the object that is to take them. */
struct message_list {
    struct mpsc items;
    struct mpsc_item *taken;  /* the receiver's: not handed out yet, linked by next */
    struct ao_handle *handle; /* of the receiver; NULL: not opened */
};

/* 0, or -1 without memory: then nothing is left to take apart.  Set-up. */
int message_list_init(struct message_list *list, struct ao *receiver);
/* Frees all messages that own themselves: slots, with their sockets, reloads, and walks.  When no
 * loop runs any more; a list of zeroes is fine. */
void message_list_fini(struct message_list *list);

/* Any thread: the receiver becomes active, or is woken. */
void message_send(struct message_list *list, struct loop_message *message);
/* The receiver: the oldest, now the caller's, or NULL. */
struct loop_message *message_take(struct message_list *list);
bool message_waits(struct message_list *list); /* the receiver: is there one? */

/* Its connection's loop. */
void conn_slot_offend(struct conn_slot *slot, enum offence offence);

/* Its connection is gone: it goes home by the list (NULL: it is freed).  Loop's thread. */
void conn_slot_return(struct conn_slot *slot, struct message_list *home);

/* LOOP_RELOAD: new secrets for one loop, which goes home without them when they are taken over. */
struct reload {
    struct loop_message message;
    struct reload_command *command; /* the acceptor's: what this is a part of */
    struct token_table *tokens;     /* a reference; NULL: none */
    struct role_table *roles;       /* likewise */
    bool lower;                     /* a connection that lost rights keeps the rest */
    uint32_t count;                 /* of contexts */
    struct {
        const struct listener_rules *rules;
        struct tls_context *context; /* a new one for this loop; a reference */
    } contexts[];
};

/* Any thread. */
void reload_free(struct reload *r); /* NULL is fine */
/* Its loop has taken it over: it goes home by the list, with what the loop had before freed (NULL:
 * all of it is).  Loop's thread. */
void reload_return(struct reload *r, struct message_list *home);

#endif
