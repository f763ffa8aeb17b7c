/* New connections: counted, and given to the loop with the fewest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"

static const char *over_limit(const struct listener *l, const struct address_count *address)
{
    const struct acceptor *a = l->acceptor;

    if (a->limits.connections != 0 && a->open >= a->limits.connections)
        return "the limit of connections is reached (limits.connections)";
    if (l->limit != 0 && l->rules.open >= l->limit)
        return "the listener's limit of connections is reached";
    if (address != NULL && address->open >= a->limits.connections_per_address)
        return "the limit of connections of one address is reached";
    return NULL;
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

static struct conn_slot *slot_new(struct listener *l, int fd, struct address_count *address,
                                  const char *peer)
{
    struct acceptor *a = l->acceptor;
    size_t size = strlen(peer) + 1;
    struct conn_slot *slot = malloc(sizeof *slot + size);

    if (slot == NULL)
        return NULL;
    *slot =
        (struct conn_slot){.message = {.kind = LOOP_CONNECT, .loop = (uint16_t)fewest(a), .fd = fd},
                           .id = ++a->next_id,
                           .rules = &l->rules,
                           .address = address};
    memcpy(slot->peer, peer, size);
    return slot;
}

static void slot_send(struct acceptor *a, struct conn_slot *slot)
{
    struct loop_link *link = &a->links[slot->message.loop];

    a->open++;
    link->open++;
    ++slot->rules->open;
    if (slot->address != NULL)
        slot->address->open++;
    message_send(&link->loop->from_acceptor, &slot->message);
}

static void peer_name(const struct listener *l, int fd, const struct sockaddr_storage *from,
                      char *buf, size_t size)
{
    uint32_t uid;

    if (l->url.scheme == URL_UNIX && peer_uid(fd, &uid))
        snprintf(buf, size, "unix:%u", uid);
    else
        peer_text(from, buf, size);
}

static bool is_kept_out(const struct listener *l, uint64_t key)
{
    const struct acceptor *a = l->acceptor;

    return l->rules.penalties && a->limits.penalty != 0 &&
           penalties_left(&a->penalties, key, activator_clock(a->activator)) > 0;
}

static void take_connection(struct listener *l, int fd, const struct sockaddr_storage *from)
{
    struct acceptor *a = l->acceptor;
    struct address_count *address = NULL;
    char peer[PEER_TEXT_MAX];
    uint64_t key = 0;

    peer_name(l, fd, from, peer, sizeof peer);
    bool has_key = peer_key(from, &key),
         counted = a->limits.connections_per_address != 0 && has_key;
    if (counted)
        address = address_entry(&a->addresses, key);
    const char *why = counted && address == NULL       ? "out of memory"
                      : has_key && is_kept_out(l, key) ? "its address is kept out for a while "
                                                         "(limits.penalty)"
                                                       : over_limit(l, address);
    struct conn_slot *slot = why == NULL ? slot_new(l, fd, address, peer) : NULL;
    if (slot != NULL) {
        slot->key = key;
        slot->has_key = has_key;
        slot_send(a, slot);
        return;
    }
    log_warn("connection refused", LOG_PEER("peer", peer),
             LOG_STR("reason", why == NULL ? "out of memory" : why));
    close(fd);
    if (address != NULL && address->open == 0)
        address_drop(&a->addresses, address);
}

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

    for (int i = 0; i < ACCEPTS_A_WAKE && l->fd >= 0; i++) {
        struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
        socklen_t size = sizeof from;
        int fd = accept4(l->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
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
