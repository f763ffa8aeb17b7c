/* The connections of one thread of a load run. */
#include "client/bench/load_inside.h"

#include <stdio.h>
#include <sys/epoll.h>

static const uint64_t LOOK_NS = 100 * 1000 * 1000; /* between two looks at the timeouts */

void load_watch(struct load *l, struct peer *p, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = p};
    if (p->watched == events)
        return;
    int rc = epoll_ctl(l->epoll, p->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, p->fd, &e);
    if (rc == 0)
        p->watched = events;
    else if (p->state == PEER_OPEN)
        load_drop(l, p, "epoll refused the connection");
}

uint64_t load_lost(const struct load *l, const struct peer *p)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < l->plan->in_flight; i++)
        lost += p->slots[i].since_ns > 0 && load_counts(l, p->slots[i].since_ns);
    return lost;
}

void load_drop(struct load *l, struct peer *p, const char *why)
{
    snprintf(l->result.why, sizeof l->result.why, "%s", why);
    l->result.broken++;
    l->result.lost += load_lost(l, p);
    l->in_flight -= p->in_flight;
    l->live--;
    peer_close(p);
}

static void opened(struct load *l, struct peer *p)
{
    l->opening--;
    l->live++;
    l->news.connected += !l->running;
    if (l->running == (l->plan->churn > 0)) {
        histogram_add(&l->result.opening, load_now_ns() - p->opened_ns);
        l->result.resumed += l->tls != NULL && tls_resumed(&p->stream);
    }
    load_watch(l, p, EPOLLIN);
    if (l->running && p->state == PEER_OPEN)
        load_offer(l, p);
}

static void failed(struct load *l, enum ergon_end status)
{
    l->opening--;
    if (l->running)
        l->result.broken++;
    else
        l->status = status;
}

static void follow(struct load *l, struct peer *p, enum peer_need need)
{
    switch (need) {
    case PEER_READY:
        opened(l, p);
        break;
    case PEER_NEEDS_READ:
        load_watch(l, p, EPOLLIN);
        break;
    case PEER_NEEDS_WRITE:
        load_watch(l, p, EPOLLOUT);
        break;
    case PEER_UNREACHABLE:
        failed(l, ERGON_END_UNREACHABLE);
        break;
    case PEER_DENIED:
        failed(l, ERGON_END_DENIED);
        break;
    }
}

void load_open_next(struct load *l, struct peer *p)
{
    p->opened_ns = load_now_ns();
    p->retiring = false;
    l->opening++;
    follow(l, p, peer_open(p, &l->target, l->result.why, sizeof l->result.why));
}

void load_open_on(struct load *l, struct peer *p)
{
    follow(l, p, peer_go_on(p, &l->target, l->result.why, sizeof l->result.why));
}

void load_look_at_timeouts(struct load *l)
{
    if (l->opening == 0 || l->now - l->looked_ns < LOOK_NS)
        return;
    l->looked_ns = l->now;
    for (uint32_t i = 0; i < l->connections; i++) {
        struct peer *p = &l->peers[i];
        if (p->state == PEER_CLOSED || p->state == PEER_OPEN || l->now < p->opened_ns ||
            l->now - p->opened_ns < l->plan->target.timeout_ns)
            continue;
        snprintf(l->result.why, sizeof l->result.why, "no answer in time");
        peer_close(p);
        failed(l, ERGON_END_UNREACHABLE);
    }
}

/* ---- churn ---- */

void load_replace(struct load *l, struct peer *p)
{
    l->live--;
    peer_close(p);
    load_open_next(l, p);
}

/* NULL: all are on their way in or out. */
static struct peer *next_to_retire(struct load *l)
{
    for (uint32_t i = 0; i < l->connections; i++) {
        struct peer *p = &l->peers[l->churn_next];
        l->churn_next = (l->churn_next + 1) % l->connections;
        if (p->state == PEER_OPEN && !p->retiring)
            return p;
    }
    return NULL;
}

void load_churn(struct load *l)
{
    while (l->sending && pace_next(&l->churn) <= l->now && pace_next(&l->churn) < l->end_ns) {
        struct peer *p = next_to_retire(l);
        if (p == NULL)
            return;
        bool counts = load_counts(l, pace_next(&l->churn));
        pace_take(&l->churn);
        l->result.churn_due += counts;
        l->result.churned += counts;
        p->retiring = true;
        if (p->in_flight == 0)
            load_replace(l, p);
    }
}
