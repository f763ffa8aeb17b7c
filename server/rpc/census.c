#include "server/rpc/census.h"

#include <stdio.h>

#include "server/net/holdings.h"
#include "server/rpc/trail.h"

bool census_may_start(struct rpc_request *rq, bool lists, uint64_t bytes)
{
    uint32_t most = lists ? CENSUSES_MAX : CENSUSES_MAX + CENSUSES_MORE;

    if (rq->loop->censuses >= most) {
        rpc_refuse(rq, ERGON_E_BUSY, "%u requests look through the connections already",
                   (unsigned)most);
        return false;
    }
    return !lists || rpc_may_begin(rq, bytes);
}

static uint32_t own_index(const struct rpc_loop *loop)
{
    const struct rpc_shared *s = loop->shared;
    uint32_t i = 0;

    while (i + 1 < s->loop_count && s->loops[i] != loop->activator)
        i++;
    return i;
}

static struct census *census_of(struct conn_walk *w)
{
    return ao_of(w, struct census, walk);
}

static uint32_t visit(struct conn_walk *w, struct connection *c)
{
    return census_of(w)->cls->visit(census_of(w), c);
}

static struct span msgid_of(const struct census *n)
{
    return span_of(n->call.msgid, n->gone ? 0 : n->call.msgid_len);
}

static void ended(struct conn_walk *w)
{
    struct census *n = census_of(w);
    struct connection *c = n->call.owner;

    if (n->cls->again && n->cls->again(n)) {
        conn_walk_start(w);
        return;
    }
    enum ergon_error outcome = n->cls->end(n, msgid_of(n));
    trail_end(n->act, outcome == ERGON_OK ? "ok" : error_name(outcome));
    if (!n->gone)
        call_unlink(&n->call);
    n->loop->censuses--;
    conn_hold(c, -(int64_t)n->holds);
    n->cls->free(n);
    conn_call_ended(c, true);
}

static void dropped(struct conn_walk *w)
{
    struct census *n = census_of(w);

    if (!n->gone)
        call_unlink(&n->call);
    trail_drop(n->act);
    n->cls->free(n);
}

void census_init(struct census *n, const struct rpc_request *rq, const struct census_class *cls)
{
    n->walk = (struct conn_walk){.loops = rq->loop->shared->net_loops,
                                 .loop_count = rq->loop->shared->loop_count,
                                 .home = own_index(rq->loop),
                                 .closes = cls->closes,
                                 .visit = visit,
                                 .end = ended,
                                 .drop = dropped};
    n->cls = cls;
    n->loop = rq->loop;
}

static bool digits(struct span *text, uint64_t *value)
{
    size_t len = 0;

    for (*value = 0; len < text->len && len < 19 && text->at[len] >= '0' && text->at[len] <= '9';)
        *value = *value * 10 + (uint64_t)(text->at[len++] - '0');
    *text = span_behind(*text, len);
    return len > 0;
}

/* "LOOP-ID", of which all is behind. */
bool census_read_cursor(struct reader *r, void *walk)
{
    struct conn_walk *w = walk;
    struct reader before = *r;
    struct span text;
    uint64_t at, below;

    if (read_text(r, &text) && digits(&text, &at) && at < w->loop_count && text.len > 0 &&
        text.at[0] == '-') {
        text = span_behind(text, 1);
        if (digits(&text, &below) && text.len == 0 && below > 0) {
            w->at = (uint32_t)at;
            w->below = below;
            return true;
        }
    }
    *r = before;
    return false;
}

void census_pack_next(struct pack *p, const struct census *n)
{
    char cursor[40];

    snprintf(cursor, sizeof cursor, "%u-%lu", n->walk.at, (unsigned long)n->walk.last);
    pack_key_str(p, "next", n->walk.enough ? cursor : NULL);
}

void census_start(struct census *n, struct rpc_request *rq, uint64_t bytes)
{
    rpc_open_call(rq, &n->call, CALL_CENSUS, true);
    n->holds = bytes;
    conn_hold(rq->conn, (int64_t)n->holds);
    n->act = trail_take(rq->loop);
    rq->loop->censuses++;
    conn_walk_start(&n->walk);
}

void census_give_up(struct call *call)
{
    struct census *n = ao_of(call, struct census, call);

    call_unlink(call);
    n->gone = true;
}

void census_cancel(struct call *call)
{
    if (call->msgid_len > 0)
        answer_error(call->owner, span_of(call->msgid, call->msgid_len), ERGON_E_CANCELLED, NULL,
                     (struct span){0});
    census_give_up(call);
}

bool call_is_census(const struct call *call)
{
    return call->tag & CALL_CENSUS;
}
