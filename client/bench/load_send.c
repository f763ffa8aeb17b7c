/* When one thread of a load run sends. */
#include "client/bench/load_inside.h"

static void queue(struct load *l, struct peer *p)
{
    if (p->queued)
        return;
    if (l->starved)
        l->place_ns = l->now;
    l->starved = false;
    p->queued = true;
    l->ready[(l->ready_first + l->ready_count++) % l->connections] = p;
}

static struct peer *dequeue(struct load *l)
{
    while (l->ready_count > 0) {
        struct peer *p = l->ready[l->ready_first];
        l->ready_first = (l->ready_first + 1) % l->connections;
        l->ready_count--;
        p->queued = false;
        if (p->state == PEER_OPEN && !p->retiring && p->free_slot != PEER_NO_SLOT)
            return p;
    }
    return NULL;
}

static bool may_send(struct load *l)
{
    if (l->sending && l->requests > 0 && l->result.sent >= l->requests)
        load_stop_sending(l);
    return l->sending;
}

static void fill(struct load *l, struct peer *p)
{
    uint64_t now = load_now_ns();
    while (p->free_slot != PEER_NO_SLOT && may_send(l))
        if (!load_append_request(l, p, now)) {
            load_drop(l, p, "out of memory");
            return;
        }
    load_flush(l, p);
}

void load_offer(struct load *l, struct peer *p)
{
    if (p->retiring || !l->sending)
        return;
    if (l->plan->rate > 0)
        queue(l, p);
    else
        fill(l, p);
}

static void note_lag(struct load *l, uint64_t since_ns)
{
    if (!load_counts(l, since_ns))
        return;
    l->result.due++;
    l->result.held += l->place_ns > since_ns;
    histogram_add(&l->result.lag, pace_lag(since_ns, l->place_ns, l->now));
}

static void mark_dirty(struct load *l, struct peer *p)
{
    if (p->dirty)
        return;
    p->dirty = true;
    l->dirty[l->dirty_count++] = p;
}

static void flush_dirty(struct load *l)
{
    for (uint32_t i = 0; i < l->dirty_count; i++) {
        l->dirty[i]->dirty = false;
        if (l->dirty[i]->state == PEER_OPEN)
            load_flush(l, l->dirty[i]);
    }
    l->dirty_count = 0;
}

/* One request to each connection that has a place, in turn. */
void load_send_due(struct load *l)
{
    struct peer *p;
    while (may_send(l) && pace_next(&l->pace) <= l->now && pace_next(&l->pace) < l->end_ns &&
           (p = dequeue(l)) != NULL) {
        uint64_t since_ns = pace_next(&l->pace);
        if (!load_append_request(l, p, since_ns)) {
            load_drop(l, p, "out of memory");
            continue;
        }
        pace_take(&l->pace);
        note_lag(l, since_ns);
        mark_dirty(l, p);
        if (p->free_slot != PEER_NO_SLOT)
            queue(l, p);
    }
    l->starved = l->sending && l->ready_count == 0 && pace_next(&l->pace) <= l->now;
    flush_dirty(l);
}

/* What the schedule had up to here and was not sent is counted as due. */
void load_stop_sending(struct load *l)
{
    uint64_t end_ns = l->now < l->end_ns ? l->now : l->end_ns;
    if (!l->sending)
        return;
    l->sending = false;
    l->sent_last_ns = end_ns;
    if (l->plan->churn > 0)
        l->result.churn_due += pace_skip(&l->churn, l->begin_ns, end_ns);
    bool all_sent = l->requests > 0 && l->result.sent >= l->requests;
    if (l->plan->rate > 0 && !all_sent)
        l->result.due += pace_skip(&l->pace, l->begin_ns, end_ns);
}
