/* The namespace connection.*: who is connected, and away with them.
 *
 * A request becomes a census, which walks through the connections of all loops (walk.h).  It is a
 * call of the connection that asked: when that has gone, nobody is answered. */
#include "server/rpc/connection_methods.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/units.h"
#include "server/net/holdings.h"
#include "server/net/connection/oversight.h"
#include "server/net/connection/walk.h"
#include "server/rpc/connection_view.h"
#include "server/rpc/spec_options.h"
#include "server/rpc/trail.h"

enum {
    PAGE = 100,
    PAGE_MOST = 1000,
    CENSUSES_MAX = 8,   /* of one loop at a time: each may hold a page */
    KILLS_MORE = 8,     /* beyond these: who lists does not keep anybody from killing */
    PARAMS_MOST = 4096, /* bytes: conditions, which are a few names */
    PAGE_BYTES = 256 * 1024,
    COST_OF_SHOWN = 8,  /* looks: about a microsecond */
    COST_OF_KILLED = 32 /* a socket is closed */
};

static const char list_usage[] =
    "connection.list takes [{id, principal, nobody, address, listener, idle, limit, cursor}]";
static const char kill_usage[] = "connection.kill takes [id] or [{id, principal, nobody, address, "
                                 "listener, idle, all, dry_run}]";

/* Fields are the asking loop's, or, while it walks, those of the loop that it is on. */
struct census {
    struct conn_walk walk;

    /* --- The asking loop's all the time --- */
    struct rpc_loop *loop;
    struct call call;
    struct act *act;
    uint64_t holds; /* bytes that its connection is charged for it */
    bool gone;      /* nobody waits for the answer */

    /* --- The walk's --- */
    uint64_t asker; /* id of the connection that asked */
    struct connection_filter filter;
    uint32_t limit, count;
    bool kill, dry_run;
    struct pack page; /* of the list */
    char by[256];     /* who asked, for the log */
    uint8_t memory[]; /* the parameters, into which the filter points */
};

/* --- On the way --- */

static uint32_t list_one(struct census *n, struct connection *c)
{
    uint32_t calls = connection_pack(&n->page, c);

    n->walk.enough = ++n->count == n->limit || pack_size(&n->page) >= PAGE_BYTES;
    return COST_OF_SHOWN + calls / COST_OF_SHOWN;
}

/* Who asks is spared, unless it names itself: else "all" would never be answered. */
static uint32_t kill_one(struct census *n, struct connection *c)
{
    if (conn_id(c) == n->asker && n->filter.id == 0)
        return 1;
    n->count++;
    n->walk.enough = n->filter.id != 0;
    if (n->dry_run)
        return 1;
    conn_kill(c, "killed by an administrator");
    return COST_OF_KILLED;
}

static uint32_t visit(struct conn_walk *w, struct connection *c)
{
    struct census *n = ao_of(w, struct census, walk);

    if (!connection_fits(&n->filter, c))
        return 1;
    return n->kill ? kill_one(n, c) : list_one(n, c);
}

/* --- The answer --- */

static void pack_next(struct pack *p, const struct census *n)
{
    char cursor[40];

    snprintf(cursor, sizeof cursor, "%u-%lu", n->walk.at, (unsigned long)n->walk.last);
    pack_key_str(p, "next", n->walk.enough ? cursor : NULL);
}

static void answer_list(struct census *n, struct pack *p)
{
    struct span all = pack_bytes(&n->page);

    pack_map(p, 3);
    pack_str(p, "connections");
    pack_array(p, n->count);
    if (all.len > 0)
        pack_raw(p, all);
    pack_next(p, n);
    pack_key_uint(p, "away", n->walk.away);
    p->failed |= n->page.failed;
}

static void answer_kill(const struct census *n, struct pack *p)
{
    pack_map(p, 3);
    pack_key_uint(p, "killed", n->count);
    pack_key_bool(p, "dry_run", n->dry_run);
    pack_key_uint(p, "away", n->walk.away);
}

/* Of the one that was meant by its id.  It may be on a loop that was passed over. */
static enum ergon_error outcome_of(const struct census *n)
{
    if (!n->kill || n->filter.id == 0 || n->count > 0)
        return ERGON_OK;
    return n->walk.away > 0 ? ERGON_E_BUSY : ERGON_E_NOT_FOUND;
}

static void answer_missing(const struct census *n, struct span msgid)
{
    char text[160];
    int len =
        snprintf(text, sizeof text, "no connection has the id %lu", (unsigned long)n->filter.id);

    if (n->walk.away > 0)
        snprintf(text + len, sizeof text - (size_t)len,
                 ", or it is on one of the %u loops that hang: try again", (unsigned)n->walk.away);
    answer_error(n->call.owner, msgid, outcome_of(n), NULL, span_text(text));
}

static void answer(struct census *n)
{
    struct span msgid = span_of(n->call.msgid, n->call.msgid_len);
    struct pack p;

    if (outcome_of(n) != ERGON_OK) {
        answer_missing(n, msgid);
        return;
    }
    pack_init(&p);
    if (n->kill)
        answer_kill(n, &p);
    else
        answer_list(n, &p);
    if (p.failed)
        answer_error(n->call.owner, msgid, ERGON_E_MEMORY, NULL,
                     span_text(error_meaning(ERGON_E_MEMORY)));
    else
        answer_result(n->call.owner, msgid, pack_bytes(&p));
    pack_fini(&p);
}

static void census_free(struct census *n)
{
    pack_fini(&n->page);
    free(n);
}

static void ended(struct conn_walk *w)
{
    struct census *n = ao_of(w, struct census, walk);
    struct connection *c = n->call.owner;

    if (n->kill && !n->dry_run && n->count > 0)
        log_warn("connections killed", LOG_UINT("count", n->count), LOG_STR("by", n->by),
                 LOG_UINT("conn", n->asker));
    enum ergon_error outcome = outcome_of(n);
    trail_end(n->act, outcome == ERGON_OK ? "ok" : error_name(outcome));
    if (!n->gone) {
        call_unlink(&n->call);
        if (n->call.msgid_len > 0)
            answer(n);
    }
    n->loop->censuses--;
    conn_hold(c, -(int64_t)n->holds);
    census_free(n);
    conn_call_ended(c, true);
}

static void dropped(struct conn_walk *w)
{
    struct census *n = ao_of(w, struct census, walk);

    if (!n->gone)
        call_unlink(&n->call);
    trail_drop(n->act);
    census_free(n);
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

/* --- The request --- */

static bool read_id(struct reader *r, void *out)
{
    struct reader before = *r;

    if (read_uint(r, out) && *(uint64_t *)out > 0)
        return true;
    *r = before;
    return false;
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
static bool read_cursor(struct reader *r, void *out)
{
    struct conn_walk *w = out;
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

static bool read_options(struct rpc_request *rq, struct reader *r, struct census *n)
{
    struct connection_filter *f = &n->filter;
    bool all = false;
    struct option options[] = {
        {"id", read_id, &f->id, "the id of a connection, a number"},
        {"principal", option_name, &f->principal, "a principal's name"},
        {"nobody", option_flag, &f->nobody, "true or false"},
        {"address", option_name, &f->address, "an address, with or without its port"},
        {"listener", option_name, &f->listener, "the URL of a listener"},
        {"idle", option_duration, &f->idle, "a duration such as \"250ms\" or 250"},
        {"limit", option_count, &n->limit, "a number from 1"},
        {"cursor", read_cursor, &n->walk, "what `next` of the page before said"},
    };

    if (n->kill) {
        options[6] = (struct option){"all", option_flag, &all, "true or false"};
        options[7] = (struct option){"dry_run", option_flag, &n->dry_run, "true or false"};
    }
    if (!rpc_read_options(rq, r, options, sizeof options / sizeof *options))
        return false;
    if (n->kill && !all && connection_filter_is_empty(f)) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "the filter is empty; whoever means all connections says all: true");
        return false;
    }
    if (n->limit > PAGE_MOST)
        n->limit = PAGE_MOST;
    return true;
}

static bool read_request(struct rpc_request *rq, struct census *n)
{
    struct reader r;
    uint32_t count;

    read_params(span_of(n->memory, rq->params.len), &r, &count);
    if (count > 1 || (count == 0 && n->kill)) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", n->kill ? kill_usage : list_usage);
        return false;
    }
    return count == 0 || (n->kill && read_id(&r, &n->filter.id)) || read_options(rq, &r, n);
}

static uint32_t own_index(const struct rpc_loop *loop)
{
    const struct rpc_shared *s = loop->shared;
    uint32_t i = 0;

    while (i + 1 < s->loop_count && s->loops[i] != loop->activator)
        i++;
    return i;
}

static struct census *census_new(struct rpc_request *rq, bool kill)
{
    struct census *n = calloc(1, sizeof *n + rq->params.len);
    const struct principal *who = conn_principal(rq->conn);

    if (!n)
        return NULL;
    n->walk = (struct conn_walk){.loops = rq->loop->shared->net_loops,
                                 .loop_count = rq->loop->shared->loop_count,
                                 .home = own_index(rq->loop),
                                 .closes = kill,
                                 .visit = visit,
                                 .end = ended,
                                 .drop = dropped};
    n->loop = rq->loop;
    n->asker = conn_id(rq->conn);
    n->kill = kill;
    n->limit = kill ? UINT32_MAX : PAGE;
    snprintf(n->by, sizeof n->by, "%s", who ? principal_name(who) : "nobody");
    if (rq->params.len > 0)
        memcpy(n->memory, rq->params.at, rq->params.len);
    pack_init(&n->page);
    return n;
}

/* What it holds until it is answered, at most, but for the last row of a page. */
static uint64_t census_bytes(const struct rpc_request *rq, bool kill)
{
    return sizeof(struct census) + rq->params.len + (kill ? 0 : PAGE_BYTES);
}

static void census_start(struct rpc_request *rq, struct census *n)
{
    struct call *c = &n->call;

    c->owner = rq->conn;
    c->list = (struct call **)conn_user(rq->conn);
    c->tag = CALL_CENSUS;
    c->name = rq->loop->recent_own->name;
    c->began = activator_now(rq->loop->activator);
    c->msgid_len = (uint8_t)rq->msgid.len;
    if (rq->msgid.len > 0)
        memcpy(c->msgid, rq->msgid.at, rq->msgid.len);
    call_link(c);
    conn_call_began(rq->conn, true);
    n->holds = census_bytes(rq, n->kill);
    conn_hold(rq->conn, (int64_t)n->holds);
    n->act = trail_take(rq->loop);
    rq->loop->censuses++;
    conn_walk_start(&n->walk);
}

/* A list waits for room in its asker's account; a kill makes room, and waits for none. */
static bool may_start(struct rpc_request *rq, bool kill)
{
    uint32_t most = kill ? CENSUSES_MAX + KILLS_MORE : CENSUSES_MAX;

    if (rq->params.len > PARAMS_MOST) {
        rpc_refuse(rq, ERGON_E_TOO_LARGE, "at most %d bytes of conditions", PARAMS_MOST);
        return false;
    }
    if (rq->loop->censuses >= most) {
        rpc_refuse(rq, ERGON_E_BUSY, "%u requests look through the connections already",
                   (unsigned)most);
        return false;
    }
    return kill || rpc_may_begin(rq, census_bytes(rq, kill));
}

static void serve(struct rpc_request *rq, bool kill)
{
    if (!may_start(rq, kill))
        return;
    struct census *n = census_new(rq, kill);
    if (!n) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (read_request(rq, n))
        census_start(rq, n);
    else
        census_free(n);
}

static void serve_list(struct rpc_request *rq)
{
    serve(rq, false);
}

static void serve_kill(struct rpc_request *rq)
{
    serve(rq, true);
}

static const struct rpc_method methods[] = {
    {"connection.list", RPC_GUARDED, RPC_USES, serve_list,
     "[{id, principal, nobody, address, listener, idle, limit, cursor}]",
     "who is connected, and what they have in flight"},
    {"connection.kill", RPC_GUARDED, RPC_RULES, serve_kill,
     "[id: int] or [{id, principal, nobody, address, listener, idle, all, dry_run}]",
     "close connections; their calls are cancelled"},
};
const struct rpc_methods rpc_connection_methods = {methods, sizeof methods / sizeof methods[0]};
