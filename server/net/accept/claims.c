#include "server/net/accept/claims.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"

static const char is_full[] = "the limit of connections is reached (limits.connections)";

/* Of one that is counted: all of its key. */
static struct crowd *crowd_of(const struct acceptor *a, const struct conn_slot *slot)
{
    return crowds_find(&a->crowds, slot->key);
}

/* It is one of few, itself included, beside the address that has the most. */
static bool has_few(const struct acceptor *a, const struct conn_slot *slot)
{
    return (uint64_t)crowd_of(a, slot)->count * CLAIM_PART < crowds_largest(&a->crowds)->count;
}

/* How many newcomers of one address on a loop are spared that had no time to speak.  Where one
 * address has a quarter of all places, those who come beside it are not to push out each other: it
 * makes room, or the crowd of its newcomers does. */
static uint32_t spared(const struct acceptor *a, const struct conn_slot *slot)
{
    uint32_t most = crowds_largest(&a->crowds)->count;

    if (!has_few(a, slot))
        return crowd_of(a, slot)->count == 1 ? 0 : UINT32_MAX;
    return (uint64_t)most * CLAIM_PART < a->limits.connections
               ? 0
               : most / CLAIM_PART / a->loop_count + 1;
}

static bool may_ask(const struct loop_link *link)
{
    return link->claims < CLAIMS_A_LOOP &&
           !atomic_load_explicit(&link->loop->away, memory_order_relaxed);
}

static void ask(struct acceptor *a, struct claim *c, uint32_t loop, enum yield_who who,
                struct conn_slot *victim)
{
    c->loop = loop;
    c->victim = victim;
    c->yield = (struct yield){.message = {.kind = LOOP_YIELD, .fd = -1},
                              .who = who,
                              .spared = spared(a, c->slot),
                              .slot = victim};
    if (victim != NULL)
        victim->asked = true;
    a->links[loop].claims++;
    message_send(&a->links[loop].loop->from_acceptor, &c->yield.message);
}

/* The loops are asked in turn, from the one on that would be given the next connection. */
static bool ask_newcomers(struct acceptor *a, struct claim *c)
{
    while (c->looks < a->loop_count) {
        uint32_t loop = (a->turn + c->looks++) % a->loop_count;
        struct loop_link *link = &a->links[loop];
        if (may_ask(link) && counter_read(&link->loop->counters.newcomers) > 0) {
            ask(a, c, loop, YIELD_NEWCOMER, NULL);
            return true;
        }
    }
    return false;
}

/* The n-th youngest of a crowd that can be asked; NULL: there are not so many. */
static struct conn_slot *youngest(const struct acceptor *a, const struct crowd *crowd, uint32_t n)
{
    const struct crowd_member *member;
    uint32_t looks = 0;

    TAILQ_FOREACH(member, &crowd->members, link)
    {
        struct conn_slot *slot = ao_of(member, struct conn_slot, of_crowd);
        if (looks++ == CLAIM_LOOKS + CLAIMS_MAX + KEPT_PLACES)
            break;
        if (!slot->asked && !slot->kept && may_ask(&a->links[slot->message.loop]) && n-- == 0)
            return slot;
    }
    return NULL;
}

static bool ask_largest(struct acceptor *a, struct claim *c)
{
    const struct crowd *largest = crowds_largest(&a->crowds);
    uint32_t looks = c->looks++ - a->loop_count;

    if (!has_few(a, c->slot) || looks > CLAIM_LOOKS)
        return false;
    struct conn_slot *victim = looks < CLAIM_LOOKS ? youngest(a, largest, looks) : NULL;
    enum yield_who who = victim != NULL ? YIELD_IDLE : YIELD_ANYHOW;
    if (victim == NULL) {
        c->looks = a->loop_count + CLAIM_LOOKS + 1; /* the last ask */
        victim = youngest(a, largest, 0);
    }
    if (victim != NULL)
        ask(a, c, victim->message.loop, who, victim);
    return victim != NULL;
}

static void end(struct acceptor *a, struct claim *c)
{
    c->slot = NULL;
    a->claim_count--;
}

/* At once, asking no loop. */
static bool can_have_place(struct acceptor *a, const struct conn_slot *slot)
{
    return acceptor_has_room(a) || nameless_yield(a, crowd_of(a, slot)->count);
}

static void go_on(struct acceptor *a, struct claim *c)
{
    struct conn_slot *slot = c->slot;

    if (a->draining) {
        end(a, c);
        slot_refuse(a, slot, "the server stops");
    } else if (can_have_place(a, slot)) {
        end(a, c);
        slot_send(a, slot);
    } else if (!ask_newcomers(a, c) && !ask_largest(a, c)) {
        end(a, c);
        slot_refuse(a, slot, is_full);
    }
}

bool claims_may_begin(const struct acceptor *a)
{
    if (a->claim_count < CLAIMS_A_LOOP || a->claim_count >= CLAIMS_MAX)
        return a->claim_count < CLAIMS_MAX;
    for (uint32_t i = 0; i < a->loop_count; i++)
        if (may_ask(&a->links[i]))
            return true;
    return false;
}

static struct claim *claim_new(struct acceptor *a, struct conn_slot *slot)
{
    struct claim *c = a->claims;

    while (c->slot != NULL)
        c++;
    assert(c < a->claims + CLAIMS_MAX);
    *c = (struct claim){.slot = slot};
    a->claim_count++;
    return c;
}

void claim_place(struct acceptor *a, struct conn_slot *slot)
{
    if (can_have_place(a, slot))
        slot_send(a, slot);
    else if (a->claim_count >= CLAIMS_MAX / 2 && !has_few(a, slot))
        slot_refuse(a, slot, is_full);
    else
        go_on(a, claim_new(a, slot));
}

/* It waits for the answer no more. */
static void let_go(struct conn_slot *victim)
{
    victim->asked = false;
    if (victim->home)
        free(victim);
}

void claim_answered(struct acceptor *a, struct yield *y)
{
    struct claim *c = ao_of(y, struct claim, yield);

    a->links[c->loop].claims--;
    if (y->slot != NULL && !y->slot->left) {
        slot_uncount(a, y->slot);
        a->leaving++;
    }
    if (c->victim != NULL)
        let_go(c->victim);
    go_on(a, c);
}

void claims_drop(struct acceptor *a)
{
    for (struct claim *c = a->claims; c < a->claims + CLAIMS_MAX; c++) {
        if (c->slot == NULL)
            continue;
        if (c->victim != NULL && c->victim->home)
            free(c->victim);
        close(c->slot->message.fd);
        free(c->slot);
    }
}
