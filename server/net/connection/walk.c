#include "server/net/connection/walk.h"

#include <assert.h>

#include "server/net/connection/conn_private.h"

static struct conn_walk *walk_of(struct loop_message *message)
{
    return ao_of(message, struct conn_walk, message);
}

static bool is_away(const struct net_loop *l)
{
    return atomic_load_explicit(&l->away, memory_order_relaxed);
}

void walks_init(struct walks *w)
{
    TAILQ_INIT(&w->looking);
    TAILQ_INIT(&w->closing);
}

static struct walk_turns *turns_of(struct net_loop *l, const struct conn_walk *w)
{
    return w->closes ? &l->walks.closing : &l->walks.looking;
}

static void arrive(struct net_loop *l, struct conn_walk *w)
{
    assert(w->at < w->loop_count && w->loops[w->at] == l);
    w->next = LIST_FIRST(&l->all);
    TAILQ_INSERT_TAIL(turns_of(l, w), w, link);
}

/* From `here`, by whose thread, to the next loop that is not away; and home at last. */
static void travel(struct conn_walk *w, struct net_loop *here)
{
    while (!w->enough && w->at < w->loop_count && is_away(w->loops[w->at]) &&
           w->loops[w->at] != here) {
        w->away++;
        w->at++;
    }
    bool over = w->enough || w->at == w->loop_count;
    struct net_loop *to = w->loops[over ? w->home : w->at];
    if (over)
        w->next = NULL;
    if (to != here) {
        message_send(&to->from_acceptor, &w->message);
    } else if (over) {
        w->end(w);
    } else {
        arrive(to, w);
        ao_activate(&to->intake);
    }
}

void conn_walk_start(struct conn_walk *w)
{
    assert(w->home < w->loop_count && w->at < w->loop_count && !w->enough);
    w->message.kind = LOOP_WALK;
    travel(w, w->loops[w->home]);
}

void walks_take(struct net_loop *l, struct loop_message *message)
{
    struct conn_walk *w = walk_of(message);

    if (w->enough || w->at == w->loop_count)
        w->end(w);
    else
        arrive(l, w);
}

/* Returns what it has cost. */
static uint32_t look(struct conn_walk *w)
{
    struct connection *c = w->next;

    w->next = LIST_NEXT(c, link);
    if (c->state == CONN_CLOSED || (w->below != 0 && conn_id(c) >= w->below))
        return 1;
    assert(w->last == 0 || conn_id(c) <= w->last); /* the list has the newest first */
    w->last = conn_id(c);
    return w->visit(w, c);
}

static void leave(struct net_loop *l, struct conn_walk *w)
{
    TAILQ_REMOVE(turns_of(l, w), w, link);
    if (!w->enough) {
        w->at++;
        w->below = w->last = 0;
    }
    travel(w, l);
}

/* NULL: there is none. */
static struct conn_walk *whose_turn(struct walks *walks)
{
    struct conn_walk *looking = TAILQ_FIRST(&walks->looking),
                     *closing = TAILQ_FIRST(&walks->closing);
    bool looks = looking != NULL && (walks->looks || closing == NULL);

    walks->looks = !looks;
    return looks ? looking : closing;
}

/* Returns what it has cost, at least 1. */
static uint32_t take_turn(struct net_loop *l, struct conn_walk *w)
{
    uint32_t cost = 0;

    while (cost < WALK_COST_A_TURN && w->next != NULL && !w->enough)
        cost += look(w);
    if (w->next == NULL || w->enough) {
        leave(l, w);
        return cost + 1;
    }
    TAILQ_REMOVE(turns_of(l, w), w, link);
    TAILQ_INSERT_TAIL(turns_of(l, w), w, link);
    return cost;
}

bool walks_run(struct net_loop *l)
{
    struct walks *walks = &l->walks;
    struct conn_walk *w;

    for (uint32_t cost = 0; cost < WALK_COST_A_STEP && (w = whose_turn(walks)) != NULL;)
        cost += take_turn(l, w);
    return !TAILQ_EMPTY(&walks->looking) || !TAILQ_EMPTY(&walks->closing);
}

static void pass_over(struct walk_turns *turns, const struct connection *c)
{
    struct conn_walk *w;

    TAILQ_FOREACH(w, turns, link)
    if (w->next == c)
        w->next = LIST_NEXT(c, link);
}

void walks_leave(struct net_loop *l, const struct connection *c)
{
    pass_over(&l->walks.looking, c);
    pass_over(&l->walks.closing, c);
}

void walks_drop(struct net_loop *l)
{
    struct conn_walk *w;

    while ((w = whose_turn(&l->walks)) != NULL) {
        TAILQ_REMOVE(turns_of(l, w), w, link);
        w->drop(w);
    }
}
