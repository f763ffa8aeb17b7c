/* The acceptor from inside, for the files of this room: an active object on the first loop's
 * activator, which accepts connections, counts them, and gives each to a loop.
 *
 * While that loop is away, in a step that does not return, another thread does its work.  The
 * thread at work holds `at_work`.  Only the listeners' events are bound to a thread, the first
 * loop's, which alone touches them.
 *
 * Thread: the holder of `at_work`, but for what says "any thread" and for the set-up. */
#ifndef ERGON_NET_ACCEPTOR_PRIVATE_H
#define ERGON_NET_ACCEPTOR_PRIVATE_H

#include "base/url.h"
#include "server/net/accept/slot_requests.h"
#include "server/net/accept/listen_socket.h"
#include "server/net/accept/pending_users.h"
#include "server/net/accept/penalties.h"
#include "server/net/accept/users.h"
#include "server/net/auth/peer.h"
#include "server/net/connection/origins.h"
#include "server/net/connection/net_loop.h"
#include "server/runtime/threads/mpsc.h"

enum {
    ACCEPTS_A_WAKE = 64,  /* of one listener */
    KEPT_PLACES = 8,      /* beyond the limits, for root and the server's user */
    RETURNS_A_STEP = 256, /* slots that come home */
    LISTENERS_MAX = ACCEPTOR_FDS_MAX,
    LISTENER_URL_MAX = 300
};
#define ACCEPT_PAUSE   AO_MS(100) /* when the system has no fd left */
#define NAMES_PATIENCE AO_S(2)    /* at set-up, for the names of root and the server's user */

struct listener { /* the acceptor's */
    struct acceptor *acceptor;
    struct listener_rules rules;
    struct url url;
    char text[LISTENER_URL_MAX];
    struct listen_socket socket; /* closed: of one inside, too */
    uint32_t limit;              /* connections; 0: none of its own */
    bool names;   /* users have to be known by name: a Unix socket that asks for no token */
    bool ready;   /* the poller said so; the first loop's thread alone */
    bool watched; /* by the poller; the same */
    struct poller_watch watch;
    struct tls_files files; /* owned strings; cert NULL: plain */
};

/* What is between the acceptor and one loop. */
struct loop_link {
    struct net_loop *loop;
    uint32_t open;          /* connections that it was given, and that have a place */
    uint32_t slot_requests; /* that it is asked for a place by */
    struct loop_message drain, abort;
};

/* What other threads ask of the acceptor. */
struct command {
    struct mpsc_item item;
    enum loop_message_kind kind;
    void (*drained)(void *arg); /* LOOP_DRAIN */
    void *arg;
};

/* A socket that is to be taken as if a listener had accepted it. */
struct adopt_command {
    struct command command;
    int fd; /* owned; -1: it went on */
    uint32_t listener;
    struct net_origin from;
};

struct reload_command {
    struct command command;
    LIST_ENTRY(reload_command) link; /* of those that are under way */
    uint32_t left;                   /* loops that have not taken it over */
    void (*taken)(void *arg);        /* NULL: nobody asks */
    void *arg;
    struct reload *reloads[]; /* one for each loop; owned until it is done */
};

struct acceptor {
    struct ao ao;
    struct message_list returns; /* slots that come home */
    struct activator *activator;
    struct poller_watcher watcher; /* of the listeners */
    struct net_limits limits;
    struct listener *listeners[LISTENERS_MAX];
    uint32_t listener_count;
    struct loop_link *links;
    uint32_t loop_count;
    uint32_t turn;    /* where the search for the loop with the fewest begins */
    uint32_t open;    /* connections that have a place */
    uint32_t kept;    /* of these, in places beyond the limits (KEPT_PLACES) */
    uint32_t leaving; /* that have given theirs up, are closed, and have not come home */
    uint64_t next_id;
    struct origins origins; /* all that are open or ask for a slot */
    struct slot_request slot_requests[SLOT_REQUESTS_MAX];
    uint32_t slot_request_count; /* of these in use */
    struct penalty_table penalties;
    struct users *users; /* NULL: no listener needs names */
    struct pending_users pending_users;
    bool paused;       /* no fd was left; the listeners are not watched */
    ao_time pause_end; /* time; valid while paused */
    bool draining;
    void (*drained)(void *arg); /* NULL once it was called */
    void *drained_arg;
    LIST_HEAD(, reload_command) reloads; /* loops have not all taken them over */

    /* A thread does the acceptor's work.  Acquire where a thread takes it, release where it returns
     * it: the next thread sees the work of the one before. */
    _Atomic bool at_work;

    struct mpsc commands;
    struct command drain, abort; /* need no memory when they are wanted */
    /* Set by the first asking thread; orders nothing: the mpsc does. */
    _Atomic bool drain_asked, abort_asked;
};

bool acceptor_take(struct acceptor *a); /* any thread; false: another is at work */
void acceptor_let_go(struct acceptor *a);

/* --- listener.c; net.h has more of it --- */

/* The first loop's thread: hear of new connections, or no more; and accept none any more.  Twice is
 * fine. */
void listeners_watch(struct acceptor *a, bool watch);
void listeners_close(struct acceptor *a);
void listeners_free(struct acceptor *a); /* after all connections, which point to the rules */

/* --- slots.c --- */

struct caller {
    char peer[PEER_TEXT_MAX]; /* in the log */
    uint64_t key;             /* what it is counted by */
    const char *user;         /* name, or that of a certificate; NULL: it is not needed */
};

struct caller caller_of_user(uint32_t uid, const char *name);
/* Why a connection of this address or user is refused even if others make room; constant.  NULL: it
 * is not refused. */
const char *slot_over_limit(const struct listener *l, uint64_t key);
bool acceptor_has_room(const struct acceptor *a);
/* Takes the socket over and counts it for its listener and address, but gives it no place yet. NULL
 * without memory: the socket is the caller's then. */
struct conn_slot *slot_new(struct listener *l, int fd, const struct caller *caller);
/* Gives it a place, and to the loop with the fewest connections. */
void slot_send(struct acceptor *a, struct conn_slot *slot);
/* Refuses one that no loop has: says why to its peer and in the log, closes its socket, and frees
 * it.  The text is short. */
void slot_refuse(struct acceptor *a, struct conn_slot *slot, const char *why);
/* The same of a connection that has no slot. */
void slot_refuse_peer(const struct listener_rules *rules, int fd, const char *peer,
                      const char *why);
/* Frees the place of one that was sent: it counts no more. */
void slot_uncount(struct acceptor *a, struct conn_slot *slot);

/* --- accept.c --- */

/* As if the listener had accepted it; takes it over. */
void accept_adopted(struct listener *l, int fd, const struct net_origin *from);
/* Accepts what waits, up to the budget; without fds the acceptor pauses. */
void accept_some(struct listener *l);
/* Connections whose users' names have come get a place or ask for one, and those that have
 * waited for too long are refused, a few at a time. */
void accept_named(struct acceptor *a);

/* --- control.c; net.h has more of it --- */

/* Does what other threads asked for, and frees it. */
void acceptor_handle_commands(struct acceptor *a);
void acceptor_report_drained(struct acceptor *a); /* if it is so, and once */
/* One loop's part of a reload has come home: it is freed. */
void acceptor_note_taken(struct reload *r);
void acceptor_forget_reloads(struct acceptor *a); /* frees those that are under way */

#endif
