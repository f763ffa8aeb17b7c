#include "server/cluster/lease.h"

#include <stdio.h>
#include <string.h>

void lease_join(struct lease *l, const char *node, uint64_t incarnation, ao_time lease, ao_time now)
{
    *l = (struct lease){.incarnation = incarnation,
                        .lease = lease,
                        .may_own = true,
                        .joined_at = now,
                        .renewed_at = now,
                        .counts_from = now};
    snprintf(l->node, sizeof l->node, "%s", node);
}

static ao_time later(ao_time a, ao_time b)
{
    return a > b ? a : b;
}

void lease_reconnect(struct lease *l, ao_time now)
{
    l->counts_from = later(l->counts_from, now + LEASE_BLIND);
}

void lease_renewed(struct lease *l, ao_time now)
{
    if (now - l->renewed_at >= LEASE_PAUSE)
        l->counts_from = later(l->counts_from, now);
    l->renewed_at = now;
}

/* ---- what was seen ---- */

static struct lease_seen *find(const struct lease *l, const char *node)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (strcmp(l->seen[i].node.node, node) == 0)
            return (struct lease_seen *)&l->seen[i];
    return NULL;
}

static bool has(const struct engine_view *view, const char *node)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (strcmp(view->nodes[i].node, node) == 0)
            return true;
    return false;
}

static void note(struct lease *l, const struct engine_node *node, bool first, ao_time now)
{
    struct lease_seen *seen = find(l, node->node);
    bool joined = !seen || seen->node.incarnation != node->incarnation;
    bool changed = joined || seen->node.renewals != node->renewals;

    if (!seen)
        seen = &l->seen[l->count++];
    if (joined)
        seen->joined = first ? 0 : now;
    seen->node = *node;
    if (changed)
        seen->since = now;
}

/* Rows that are gone are forgotten first, so there is room for all of the view. */
static void note_all(struct lease *l, const struct engine_view *view, ao_time now)
{
    bool first = l->count == 0;

    for (uint32_t i = 0; i < l->count;)
        if (has(view, l->seen[i].node.node))
            i++;
        else
            l->seen[i] = l->seen[--l->count];
    for (uint32_t i = 0; i < view->count; i++)
        note(l, &view->nodes[i], first, now);
}

ao_time lease_heard(const struct lease *l, const char *node)
{
    const struct lease_seen *seen = find(l, node);

    return seen ? seen->since : 0;
}

/* While the own renewals fail, the silence of others says nothing. */
static bool is_silent(const struct lease *l, ao_time since, ao_time length, ao_time now)
{
    return now - l->renewed_at < LEASE_PAUSE && now >= later(since, l->counts_from) + length;
}

bool lease_is_dead(const struct lease *l, const struct engine_node *node, ao_time now)
{
    const struct lease_seen *seen = find(l, node->node);

    return strcmp(node->state, "dead") == 0 || (seen && is_silent(l, seen->since, l->lease, now));
}

/* ---- the owner ---- */

/* Another process has the owner's name, and had the time to take its place back. */
static bool is_replaced(struct lease *l, const struct engine_owner *owner,
                        const struct engine_node *node, ao_time now)
{
    if (node->incarnation == owner->incarnation) {
        l->replaced = false;
        return false;
    }
    if (!l->replaced || l->replaced_epoch != owner->epoch) {
        l->replaced = true;
        l->replaced_epoch = owner->epoch;
        l->replaced_since = now;
    }
    return is_silent(l, l->replaced_since, l->lease + LEASE_SETTLE, now);
}

static bool is_gone(struct lease *l, const struct engine_view *view, ao_time now)
{
    const struct lease_seen *seen = find(l, view->owner.node);

    if (view->owner.node[0] == '\0')
        return true;
    return seen &&
           (is_replaced(l, &view->owner, &seen->node, now) || lease_is_dead(l, &seen->node, now));
}

static bool is_candidate(const struct lease *l, const struct engine_view *view,
                         const struct engine_node *node, ao_time now)
{
    static const char *const others[] = {"dead", "left", "draining"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(node->state, others[i]) == 0)
            return false;
    return node->weight > 0 && strcmp(node->node, view->owner.node) != 0 &&
           !lease_is_dead(l, node, now);
}

/* A node that has just joined leaves a free place to others (turn_of()), so nobody waits for its
 * turn. */
static bool is_newcomer(const struct lease *l, const struct engine_view *view,
                        const struct engine_node *node)
{
    const struct lease_seen *seen = find(l, node->node);

    return view->owner.node[0] == '\0' && seen->joined > 0 &&
           seen->joined + LEASE_SETTLE > l->vacant_since;
}

/* How many candidates come before this node, and whether there are others at all. */
static uint32_t rank_of(const struct lease *l, const struct engine_view *view, ao_time now,
                        bool *alone)
{
    const struct lease_seen *own = find(l, l->node);
    uint32_t before = 0;

    *alone = true;
    for (uint32_t i = 0; own && i < view->count; i++) {
        const struct engine_node *other = &view->nodes[i];
        if (strcmp(other->node, l->node) == 0 || !is_candidate(l, view, other, now))
            continue;
        *alone = false;
        if (is_newcomer(l, view, other))
            continue;
        before += other->weight > own->node.weight ||
                  (other->weight == own->node.weight && strcmp(other->node, l->node) < 0);
    }
    return before;
}

static void set_vacant(struct lease *l, const struct engine_owner *owner, bool gone, ao_time now)
{
    if (gone && (!l->vacant || l->vacant_epoch != owner->epoch)) {
        l->vacant_epoch = owner->epoch;
        l->vacant_since = now;
    }
    l->vacant = gone;
}

static void fill(const struct lease *l, const struct engine_view *view,
                 struct engine_take_over *take)
{
    const struct lease_seen *seen = find(l, view->owner.node);

    *take = (struct engine_take_over){.epoch = view->owner.epoch};
    if (seen)
        take->dead = seen->node;
}

/* A place that is free is left to nodes that are there already: a node that drained and starts
 * again would have it back otherwise. */
static ao_time turn_of(const struct lease *l, const struct engine_view *view, ao_time now)
{
    bool alone;
    ao_time turn = l->vacant_since + rank_of(l, view, now, &alone) * LEASE_RANK;

    if (view->owner.node[0] != '\0' || alone)
        return turn;
    return later(turn, l->joined_at + LEASE_SETTLE);
}

/* When the owner is dead, unless it renews before. */
static ao_time death_of(const struct lease *l, const struct engine_owner *owner)
{
    const struct lease_seen *seen = find(l, owner->node);

    return seen ? later(seen->since, l->counts_from) + l->lease : AO_NEVER;
}

/* Without a proof the process that owns under this name may live, on another machine, and acts for
 * the length of the lease at most after this one has joined. */
static ao_time return_of(const struct lease *l, const struct engine_owner *owner, ao_time now)
{
    return l->board != 0 && l->board == owner->epoch ? now : l->joined_at + l->lease;
}

enum lease_choice lease_look(struct lease *l, const struct engine_view *view, ao_time now,
                             struct engine_take_over *take, ao_time *at)
{
    const struct engine_owner *owner = &view->owner;
    bool own_name = strcmp(owner->node, l->node) == 0;

    *at = AO_NEVER;
    note_all(l, view, now);
    if (own_name && owner->incarnation == l->incarnation) {
        const struct lease_seen *own = find(l, l->node);
        l->vacant = false;
        /* Else another process has the name, and this one ends with its next renewal. */
        return own && own->node.incarnation == l->incarnation ? LEASE_OWNED : LEASE_STAY;
    }
    bool gone = own_name || is_gone(l, view, now);
    set_vacant(l, owner, gone, now);
    if (!gone) {
        *at = death_of(l, owner);
        return LEASE_STAY;
    }
    if (owner->tries >= LEASE_TRIES)
        return LEASE_TRIED;
    if (!l->may_own)
        return LEASE_STAY;
    ao_time turn = own_name ? return_of(l, owner, now) : turn_of(l, view, now);
    if (now < turn) {
        *at = turn;
        return LEASE_STAY;
    }
    fill(l, view, take);
    return LEASE_TAKE;
}
