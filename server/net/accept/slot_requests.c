#include "server/net/accept/slot_requests.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"

static const char is_full[] = "the limit of connections is reached (limits.connections)";

/* Of one that is counted: all of its key. */
static struct origin *origin_of(const struct acceptor *a, const struct conn_slot *slot)
{
    return origins_find(&a->origins, slot->key);
}

/* It is one of few, itself included, beside the address that has the most. */
static bool has_few(const struct acceptor *a, const struct conn_slot *slot)
{
    return (uint64_t)origin_of(a, slot)->count * SLOT_REQUEST_PART <
           origins_largest(&a->origins)->count;
}

/* How many unauthenticated connections of one address on a loop are spared if they had no time to
 * speak.  Where one address has a quarter of all places, connections from other addresses must not
 * evict each other: that address makes room, or the origin of its unauthenticated connections
 * does. */
static uint32_t spared(const struct acceptor *a, const struct conn_slot *slot)
{
    uint32_t most = origins_largest(&a->origins)->count;

    if (!has_few(a, slot))
        return origin_of(a, slot)->count == 1 ? 0 : UINT32_MAX;
    return (uint64_t)most * SLOT_REQUEST_PART < a->limits.connections
               ? 0
               : most / SLOT_REQUEST_PART / a->loop_count + 1;
}

static bool may_ask(const struct loop_link *link)
{
    return link->slot_requests < SLOT_REQUESTS_A_LOOP &&
           !atomic_load_explicit(&link->loop->away, memory_order_relaxed);
}

static void ask(struct acceptor *a, struct slot_request *c, uint32_t loop, enum evicted who,
                struct conn_slot *victim)
{
    assert(c->slot != NULL && (victim == NULL || (!victim->asked && !victim->left)));
    c->loop = loop;
    c->victim = victim;
    c->eviction = (struct eviction){.message = {.kind = LOOP_EVICT, .fd = -1},
                                    .who = who,
                                    .spared = spared(a, c->slot),
                                    .slot = victim};
    if (victim != NULL)
        victim->asked = true;
    a->links[loop].slot_requests++;
    message_send(&a->links[loop].loop->from_acceptor, &c->eviction.message);
}

/* The loops are asked in turn, from the one on that would be given the next connection. */
static bool ask_unauthenticated(struct acceptor *a, struct slot_request *c)
{
    while (c->looks < a->loop_count) {
        uint32_t loop = (a->turn + c->looks++) % a->loop_count;
        struct loop_link *link = &a->links[loop];
        if (may_ask(link) && counter_read(&link->loop->counters.newcomers) > 0) {
            ask(a, c, loop, EVICT_UNAUTHENTICATED, NULL);
            return true;
        }
    }
    return false;
}

/* The n-th youngest of an origin that can be asked; NULL: there are not so many. */
static struct conn_slot *youngest(const struct acceptor *a, const struct origin *origin, uint32_t n)
{
    const struct origin_member *member;
    uint32_t looks = 0;

    TAILQ_FOREACH(member, &origin->members, link)
    {
        struct conn_slot *slot = ao_of(member, struct conn_slot, of_origin);
        if (looks++ == SLOT_REQUEST_LOOKS + SLOT_REQUESTS_MAX + KEPT_PLACES)
            break;
        if (!slot->asked && !slot->kept && may_ask(&a->links[slot->message.loop]) && n-- == 0)
            return slot;
    }
    return NULL;
}

static bool ask_largest(struct acceptor *a, struct slot_request *c)
{
    const struct origin *largest = origins_largest(&a->origins);
    uint32_t looks = c->looks++ - a->loop_count;

    if (!has_few(a, c->slot) || looks > SLOT_REQUEST_LOOKS)
        return false;
    struct conn_slot *victim = looks < SLOT_REQUEST_LOOKS ? youngest(a, largest, looks) : NULL;
    enum evicted who = victim != NULL ? EVICT_IDLE : EVICT_ANYHOW;
    if (victim == NULL) {
        c->looks = a->loop_count + SLOT_REQUEST_LOOKS + 1; /* the last ask */
        victim = youngest(a, largest, 0);
    }
    if (victim != NULL)
        ask(a, c, victim->message.loop, who, victim);
    return victim != NULL;
}

static void end(struct acceptor *a, struct slot_request *c)
{
    assert(c->slot != NULL && a->slot_request_count > 0);
    c->slot = NULL;
    a->slot_request_count--;
}

/* At once, asking no loop. */
static bool can_have_place(struct acceptor *a, const struct conn_slot *slot)
{
    return acceptor_has_room(a) || pending_users_evict(a, origin_of(a, slot)->count);
}

static void go_on(struct acceptor *a, struct slot_request *c)
{
    struct conn_slot *slot = c->slot;

    if (a->draining) {
        end(a, c);
        slot_refuse(a, slot, "the server stops");
    } else if (can_have_place(a, slot)) {
        end(a, c);
        slot_send(a, slot);
    } else if (!ask_unauthenticated(a, c) && !ask_largest(a, c)) {
        end(a, c);
        slot_refuse(a, slot, is_full);
    }
}

bool slot_requests_may_begin(const struct acceptor *a)
{
    if (a->slot_request_count < SLOT_REQUESTS_A_LOOP || a->slot_request_count >= SLOT_REQUESTS_MAX)
        return a->slot_request_count < SLOT_REQUESTS_MAX;
    for (uint32_t i = 0; i < a->loop_count; i++)
        if (may_ask(&a->links[i]))
            return true;
    return false;
}

static struct slot_request *slot_request_new(struct acceptor *a, struct conn_slot *slot)
{
    struct slot_request *c = a->slot_requests;

    while (c->slot != NULL)
        c++;
    assert(c < a->slot_requests + SLOT_REQUESTS_MAX);
    *c = (struct slot_request){.slot = slot};
    a->slot_request_count++;
    return c;
}

void slot_request_place(struct acceptor *a, struct conn_slot *slot)
{
    if (can_have_place(a, slot))
        slot_send(a, slot);
    else if (a->slot_request_count >= SLOT_REQUESTS_MAX / 2 && !has_few(a, slot))
        slot_refuse(a, slot, is_full);
    else
        go_on(a, slot_request_new(a, slot));
}

/* It waits for the answer no more. */
static void let_go(struct conn_slot *victim)
{
    assert(victim->asked);
    victim->asked = false;
    if (victim->home)
        free(victim);
}

void slot_request_answered(struct acceptor *a, struct eviction *y)
{
    struct slot_request *c = ao_of(y, struct slot_request, eviction);

    assert(c->slot != NULL && a->links[c->loop].slot_requests > 0);
    a->links[c->loop].slot_requests--;
    if (y->slot != NULL && !y->slot->left) {
        slot_uncount(a, y->slot);
        a->leaving++;
    }
    if (c->victim != NULL)
        let_go(c->victim);
    go_on(a, c);
}

void slot_requests_drop(struct acceptor *a)
{
    for (struct slot_request *c = a->slot_requests; c < a->slot_requests + SLOT_REQUESTS_MAX; c++) {
        if (c->slot == NULL)
            continue;
        if (c->victim != NULL && c->victim->home)
            free(c->victim);
        close(c->slot->message.fd);
        free(c->slot);
    }
}
