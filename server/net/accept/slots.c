/* Connections by the listener, address and loop that they count for, and the loop with the fewest.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/peer.h"
#include "server/net/connection/closing.h"

/* Of one that is counted: all of its key. */
static struct origin *origin_of(const struct acceptor *a, const struct conn_slot *slot)
{
    return origins_find(&a->origins, slot->key);
}

const char *slot_over_limit(const struct listener *l, uint64_t key)
{
    const struct acceptor *a = l->acceptor;
    uint32_t most = a->limits.connections_per_address;
    const struct origin *origin = most == 0 ? NULL : origins_find(&a->origins, key);

    if (l->limit != 0 && l->rules.open - l->rules.kept >= l->limit)
        return "the listener's limit of connections is reached";
    if (l->rules.auth == LISTENER_AUTH_NODE)
        return NULL; /* all clients of a node come from its address, and are counted there */
    if (origin != NULL && peer_key_is_address(key) && origin->count >= most)
        return "the limit of connections of one address is reached";
    return NULL;
}

bool acceptor_has_room(const struct acceptor *a)
{
    assert(a->kept <= a->open);
    return a->limits.connections == 0 ||
           a->open - a->kept + pending_users_places(&a->pending_users) < a->limits.connections;
}

struct caller caller_of_user(uint32_t uid, const char *name)
{
    struct caller caller = {.key = peer_key_of_user(uid), .user = name};

    snprintf(caller.peer, sizeof caller.peer, "unix:%u", uid);
    return caller;
}

struct conn_slot *slot_new(struct listener *l, int fd, const struct caller *caller)
{
    struct conn_slot *slot = malloc(conn_slot_size(caller->peer, caller->user));
    bool named = caller->user != NULL;

    if (slot == NULL || origins_join(&l->acceptor->origins, caller->key) == NULL) {
        free(slot);
        return NULL;
    }
    *slot = (struct conn_slot){.message = {.kind = LOOP_CONNECT, .named = named, .fd = fd},
                               .rules = &l->rules,
                               .key = caller->key};
    size_t size = strlen(caller->peer) + 1;
    memcpy(slot->peer, caller->peer, size);
    if (named)
        memcpy(slot->peer + size, caller->user, strlen(caller->user) + 1);
    l->rules.open++;
    return slot;
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

    assert(best < a->loop_count);
    for (uint32_t i = 1; i < a->loop_count; i++) {
        uint32_t at = (a->turn + i) % a->loop_count;
        if (is_better(&a->links[at], &a->links[best]))
            best = at;
    }
    a->turn = (best + 1) % a->loop_count;
    return best;
}

void slot_send(struct acceptor *a, struct conn_slot *slot)
{
    uint32_t loop = fewest(a);
    struct loop_link *link = &a->links[loop];

    assert(!slot->left && slot->connection == NULL && slot->message.fd >= 0);
    slot->message.loop = (uint16_t)loop;
    slot->id = ++a->next_id;
    TAILQ_INSERT_HEAD(&origin_of(a, slot)->members, &slot->of_origin, link);
    a->open++;
    link->open++;
    message_send(&link->loop->from_acceptor, &slot->message);
}

/* A client that waits for the server's first handshake message takes an alert in plain text. */
static size_t put_alert(uint8_t *p)
{
    static const uint8_t access_denied[] = {21, 3, 3, 0, 2, 2, 49}; /* fatal; RFC 8446, 6 */

    memcpy(p, access_denied, sizeof access_denied);
    return sizeof access_denied;
}

/* As much as the socket takes at once.  What the peer has sent is read, since a socket that is
 * closed with unread input resets the connection, and the peer may lose what it was sent. */
static void say_refused(const struct listener_rules *rules, int fd, const char *why)
{
    uint8_t text[CLOSING_ROOM], input[CLOSING_ROOM];
    size_t size = rules->contexts != NULL ? put_alert(text)
                                          : (size_t)(closing_put(text, ERGON_E_BUSY, why) - text);

    if (send(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0 && shutdown(fd, SHUT_WR) == 0)
        (void)!recv(fd, input, sizeof input, MSG_DONTWAIT);
}

void slot_refuse_peer(const struct listener_rules *rules, int fd, const char *peer, const char *why)
{
    log_warn("connection refused", LOG_PEER("peer", peer), LOG_STR("reason", why));
    say_refused(rules, fd, why);
    close(fd);
}

void slot_refuse(struct acceptor *a, struct conn_slot *slot, const char *why)
{
    assert(slot->rules->open > 0);
    slot_refuse_peer(slot->rules, slot->message.fd, slot->peer, why);
    --slot->rules->open;
    origins_leave(&a->origins, origin_of(a, slot));
    free(slot);
}

void slot_uncount(struct acceptor *a, struct conn_slot *slot)
{
    assert(!slot->left);
    assert(a->open > 0 && a->links[slot->message.loop].open > 0 && slot->rules->open > 0);
    assert(a->kept >= slot->kept && slot->rules->kept >= slot->kept);
    slot->left = true;
    a->open--;
    a->links[slot->message.loop].open--;
    a->kept -= slot->kept;
    slot->rules->kept -= slot->kept;
    --slot->rules->open;
    struct origin *origin = origin_of(a, slot);
    TAILQ_REMOVE(&origin->members, &slot->of_origin, link);
    origins_leave(&a->origins, origin);
}
