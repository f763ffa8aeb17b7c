/* New connections: counted, and given to the loop with the fewest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"

/* A limit that nobody makes room at; NULL: none. */
static const char *over_limit(const struct listener *l, uint64_t key)
{
    const struct acceptor *a = l->acceptor;
    uint32_t most = a->limits.connections_per_address;
    const struct crowd *crowd = most == 0 ? NULL : crowds_find(&a->crowds, key);

    if (l->limit != 0 && l->rules.open - l->rules.kept >= l->limit)
        return "the listener's limit of connections is reached";
    if (crowd != NULL && peer_key_is_address(key) && crowd->count >= most)
        return "the limit of connections of one address is reached";
    return NULL;
}

/* Whoever runs the server, or the machine, gets in beyond the limits, by a Unix socket, so that
 * there is a way to look at a server that somebody has filled, and to clear it, at once and whoever
 * would have to give way. */
static bool has_place_kept(const struct listener *l, uint64_t key)
{
    const struct acceptor *a = l->acceptor;

    return a->kept < KEPT_PLACES && l->url.scheme == URL_UNIX &&
           (key == peer_key_of_user(0) || key == peer_key_of_user(geteuid()));
}

bool acceptor_has_room(const struct acceptor *a)
{
    return a->limits.connections == 0 ||
           a->open - a->kept + nameless_places(&a->nameless) < a->limits.connections;
}

static bool is_better(const struct loop_link *one, const struct loop_link *other)
{
    bool one_away = atomic_load_explicit(&one->loop->away, memory_order_relaxed);
    bool other_away = atomic_load_explicit(&other->loop->away, memory_order_relaxed);

    return one_away == other_away ? one->open < other->open : other_away;
}

/* Of the loops that are not away the one with the fewest connections; among equals, in turn. */
static uint32_t fewest(struct acceptor *a)
{
    uint32_t best = a->turn;

    for (uint32_t i = 1; i < a->loop_count; i++) {
        uint32_t at = (a->turn + i) % a->loop_count;
        if (is_better(&a->links[at], &a->links[best]))
            best = at;
    }
    a->turn = (best + 1) % a->loop_count;
    return best;
}

/* Who calls. */
struct caller {
    char peer[PEER_TEXT_MAX]; /* in the log */
    uint64_t key;             /* what it is counted by */
    const char *user;         /* name, or that of a certificate; NULL: nobody asks for it */
};

/* Counted, but for its place.  NULL without memory. */
static struct conn_slot *slot_new(struct listener *l, int fd, const struct caller *caller)
{
    struct acceptor *a = l->acceptor;
    size_t size = strlen(caller->peer) + 1;
    size_t user_size = caller->user == NULL ? 0 : strlen(caller->user) + 1;
    struct conn_slot *slot = malloc(sizeof *slot + size + user_size);
    struct crowd *crowd = slot == NULL ? NULL : crowds_join(&a->crowds, caller->key);

    if (crowd == NULL) {
        free(slot);
        return NULL;
    }
    *slot = (struct conn_slot){.message = {.kind = LOOP_CONNECT, .fd = fd},
                               .rules = &l->rules,
                               .key = caller->key,
                               .crowd = crowd};
    memcpy(slot->peer, caller->peer, size);
    if (caller->user != NULL)
        slot->user = memcpy(slot->peer + size, caller->user, user_size);
    l->rules.open++;
    return slot;
}

void slot_send(struct acceptor *a, struct conn_slot *slot)
{
    uint32_t loop = fewest(a);
    struct loop_link *link = &a->links[loop];

    slot->message.loop = (uint16_t)loop;
    slot->id = ++a->next_id;
    TAILQ_INSERT_HEAD(&slot->crowd->members, &slot->of_crowd, link);
    a->open++;
    link->open++;
    message_send(&link->loop->from_acceptor, &slot->message);
}

static void refuse(int fd, const char *peer, const char *why)
{
    log_warn("connection refused", LOG_PEER("peer", peer), LOG_STR("reason", why));
    close(fd);
}

void slot_refuse(struct acceptor *a, struct conn_slot *slot, const char *why)
{
    refuse(slot->message.fd, slot->peer, why);
    --slot->rules->open;
    crowds_leave(&a->crowds, slot->crowd);
    free(slot);
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
                          ? "its address is kept out for a while (limits.penalty)"
                          : over_limit(l, caller->key);

    bool kept = (why != NULL || !acceptor_has_room(l->acceptor)) && has_place_kept(l, caller->key);
    if (kept)
        why = NULL;
    struct conn_slot *slot = why == NULL ? slot_new(l, fd, caller) : NULL;
    if (slot == NULL)
        refuse(fd, caller->peer, why == NULL ? "out of memory" : why);
    else if (kept)
        take_kept_place(l->acceptor, slot);
    else
        claim_place(l->acceptor, slot);
}

static struct caller user_of_machine(uint32_t uid, const char *name)
{
    struct caller caller = {.key = peer_key_of_user(uid), .user = name};

    snprintf(caller.peer, sizeof caller.peer, "unix:%u", uid);
    return caller;
}

void accept_user(struct listener *l, int fd, uint32_t uid, const char *name)
{
    const struct caller caller = user_of_machine(uid, name);

    take_caller(l, fd, &caller);
}

void refuse_user(int fd, uint32_t uid, const char *why)
{
    refuse(fd, user_of_machine(uid, NULL).peer, why);
}

const char *user_over_limit(const struct listener *l, uint32_t uid)
{
    return over_limit(l, peer_key_of_user(uid));
}

static void take_user(struct listener *l, int fd, uint32_t uid)
{
    struct acceptor *a = l->acceptor;
    const char *name = l->names ? users_find(a->users, uid, activator_clock(a->activator)) : NULL;

    if (l->names && name == NULL)
        nameless_wait(l, fd, uid);
    else
        accept_user(l, fd, uid, name);
}

/* `certificate`: whom it names; NULL: it shows it itself, if any. */
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
    if (l->acceptor->draining || !claims_may_begin(l->acceptor))
        close(fd); /* whoever waits in line for a place is nobody's guest */
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

    for (int i = 0; i < ACCEPTS_A_WAKE && l->socket.fd >= 0 && claims_may_begin(l->acceptor); i++) {
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
