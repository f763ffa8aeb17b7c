/* New connections: counted, and given to the loop with the fewest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"

/* The server's own user and root may connect by a Unix socket beyond the limits.  So an operator
 * can always inspect a full server at once, and clear it, without an eviction. */
static bool has_place_kept(const struct listener *l, uint64_t key)
{
    const struct acceptor *a = l->acceptor;

    return a->kept < KEPT_PLACES && l->url.scheme == URL_UNIX && peer_key_is_own(key);
}

static bool is_kept_out(const struct listener *l, uint64_t key)
{
    const struct acceptor *a = l->acceptor;

    return l->rules.penalties && a->limits.penalty != 0 &&
           penalties_left(&a->penalties, key, activator_clock(a->activator)) > 0;
}

static void take_kept_place(struct acceptor *a, struct conn_slot *slot)
{
    slot->kept = true;
    slot->rules->kept++;
    a->kept++;
    slot_send(a, slot);
}

static void take_caller(struct listener *l, int fd, const struct caller *caller)
{
    const char *why = is_kept_out(l, caller->key)
                          ? "this address is refused for a while, after wrong tokens, failed "
                            "handshakes or silence (limits.penalty)"
                          : slot_over_limit(l, caller->key);

    bool kept = (why != NULL || !acceptor_has_room(l->acceptor)) && has_place_kept(l, caller->key);
    if (kept)
        why = NULL;
    struct conn_slot *slot = why == NULL ? slot_new(l, fd, caller) : NULL;
    if (slot == NULL)
        slot_refuse_peer(&l->rules, fd, caller->peer, why == NULL ? "out of memory" : why);
    else if (kept)
        take_kept_place(l->acceptor, slot);
    else
        slot_request_place(l->acceptor, slot);
}

/* Its name is known, or NULL where the listener does not need it.  Only while
 * slot_requests_may_begin(). */
static void accept_user(struct listener *l, int fd, uint32_t uid, const char *name)
{
    const struct caller caller = caller_of_user(uid, name);

    take_caller(l, fd, &caller);
}

static void take_user(struct listener *l, int fd, uint32_t uid)
{
    struct acceptor *a = l->acceptor;
    const char *name = l->names ? users_find(a->users, uid, activator_clock(a->activator)) : NULL;

    if (l->names && name == NULL)
        pending_users_wait(l, fd, uid);
    else
        accept_user(l, fd, uid, name);
}

void accept_named(struct acceptor *a)
{
    struct named named;
    enum pending_users_did did = PENDING_USERS_SOME;

    for (int i = 0; i < PENDING_USERS_A_STEP && did != PENDING_USERS_NOTHING; i++) {
        did = pending_users_step(a, slot_requests_may_begin(a), &named);
        if (did == PENDING_USERS_NAMED)
            accept_user(named.listener, named.fd, named.uid, named.name);
    }
}

/* `certificate`: the name in it; NULL: the peer shows its certificate itself, if any. */
static void take_address(struct listener *l, int fd, const struct sockaddr_storage *from,
                         const char *certificate)
{
    struct caller caller = {.key = peer_key(from), .user = certificate};

    peer_text(from, caller.peer, sizeof caller.peer);
    take_caller(l, fd, &caller);
}

static void take_connection(struct listener *l, int fd, const struct sockaddr_storage *from)
{
    uint32_t uid;

    if (l->url.scheme == URL_UNIX && peer_uid(fd, &uid))
        take_user(l, fd, uid);
    else
        take_address(l, fd, from, NULL);
}

void accept_adopted(struct listener *l, int fd, const struct net_origin *from)
{
    if (l->acceptor->draining || !slot_requests_may_begin(l->acceptor))
        close(fd); /* it cannot wait in a listen queue until there is room */
    else if (listener_is_inside(l->rules.auth))
        accept_user(l, fd, from->uid, from->certificate);
    else if (from->is_user)
        take_user(l, fd, from->uid);
    else
        take_address(l, fd, &from->address, *from->certificate != '\0' ? from->certificate : NULL);
}

/* --- Accepting --- */

/* Waiting is all that helps: without a pause the poller would report the listeners for ever. */
static void pause_accepting(struct acceptor *a, int code)
{
    char text[96];

    log_error("accepting pauses", LOG_STR("reason", strerror_r(code, text, sizeof text)),
              LOG_UINT("connections", a->open),
              LOG_STR("hint", "raise the limit of open files, or lower limits.connections"));
    a->paused = true;
    a->pause_end = activator_clock(a->activator) + ACCEPT_PAUSE;
}

/* Errors that only a pause helps against. */
static bool is_shortage(int code)
{
    return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

void accept_some(struct listener *l)
{
    int failures = 0; /* of peers that have gone again, as a rule */

    for (int i = 0; i < ACCEPTS_A_WAKE && l->socket.fd >= 0 && slot_requests_may_begin(l->acceptor);
         i++) {
        struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
        socklen_t size = sizeof from;
        int fd =
            accept4(l->socket.fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_connection(l, fd, &from);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (is_shortage(errno) || ++failures == ACCEPTS_A_WAKE) {
            pause_accepting(l->acceptor, errno);
            return;
        }
    }
}
