/* The namespace connection.*: lists and closes connections.
 *
 * A request becomes a census. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/units.h"
#include "server/net/connection/oversight.h"
#include "server/rpc/census.h"
#include "server/rpc/connection_view.h"
#include "server/rpc/spec_options.h"

enum {
    PAGE = 100,
    PAGE_MOST = 1000,
    PARAMS_MOST = 4096, /* bytes: conditions, which are a few names */
    PAGE_BYTES = 256 * 1024,
    COST_OF_SHOWN = 8,  /* looks: about a microsecond */
    COST_OF_KILLED = 32 /* a socket is closed */
};

struct look_through {
    struct census census; /* first */

    /* --- The walk's --- */
    uint64_t asker; /* id of the connection that asked */
    struct connection_filter filter;
    uint32_t limit, count;
    bool kill, dry_run;
    struct pack page; /* of the list */
    char by[256];     /* the principal of the request, for the log */
    uint8_t memory[]; /* the parameters, into which the filter points */
};

static struct look_through *of_census(struct census *n)
{
    return ao_of(n, struct look_through, census);
}

/* --- On the way --- */

static uint32_t list_one(struct look_through *n, struct connection *c)
{
    uint32_t calls = connection_pack(&n->page, c);

    n->census.walk.enough = ++n->count == n->limit || pack_size(&n->page) >= PAGE_BYTES;
    return COST_OF_SHOWN + calls / COST_OF_SHOWN;
}

/* The requesting connection is spared, unless it names itself: else "all" would never be
 * answered. */
static uint32_t kill_one(struct look_through *n, struct connection *c)
{
    if (conn_id(c) == n->asker && n->filter.id == 0)
        return 1;
    n->count++;
    n->census.walk.enough = n->filter.id != 0;
    if (n->dry_run)
        return 1;
    conn_kill(c, "killed by an administrator");
    return COST_OF_KILLED;
}

static uint32_t visit(struct census *census, struct connection *c)
{
    struct look_through *n = of_census(census);

    if (!connection_fits(&n->filter, c))
        return 1;
    return n->kill ? kill_one(n, c) : list_one(n, c);
}

/* --- The answer --- */

static void answer_list(struct look_through *n, struct pack *p)
{
    struct span all = pack_bytes(&n->page);

    pack_map(p, 3);
    pack_str(p, "connections");
    pack_array(p, n->count);
    if (all.len > 0)
        pack_raw(p, all);
    census_pack_next(p, &n->census);
    pack_key_uint(p, "away", n->census.walk.away);
    p->failed |= n->page.failed;
}

static void answer_kill(const struct look_through *n, struct pack *p)
{
    pack_map(p, 3);
    pack_key_uint(p, "killed", n->count);
    pack_key_bool(p, "dry_run", n->dry_run);
    pack_key_uint(p, "away", n->census.walk.away);
}

/* Of the one that was meant by its id.  It may be on a loop that was passed over. */
static enum ergon_error outcome_of(const struct look_through *n)
{
    if (!n->kill || n->filter.id == 0 || n->count > 0)
        return ERGON_OK;
    return n->census.walk.away > 0 ? ERGON_E_BUSY : ERGON_E_NOT_FOUND;
}

static void answer_missing(const struct look_through *n, struct span msgid)
{
    char text[160];
    int len =
        snprintf(text, sizeof text, "no connection has the id %lu", (unsigned long)n->filter.id);

    if (n->census.walk.away > 0)
        snprintf(text + len, sizeof text - (size_t)len,
                 ", or it is on one of the %u loops that hang: try again",
                 (unsigned)n->census.walk.away);
    answer_error(n->census.call.owner, msgid, outcome_of(n), NULL, span_text(text));
}

static void answer(struct look_through *n, struct span msgid)
{
    struct connection *c = n->census.call.owner;
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
        answer_error(c, msgid, ERGON_E_MEMORY, NULL, span_text(error_meaning(ERGON_E_MEMORY)));
    else
        answer_result(c, msgid, pack_bytes(&p));
    pack_fini(&p);
}

static enum ergon_error end(struct census *census, struct span msgid)
{
    struct look_through *n = of_census(census);

    if (n->kill && !n->dry_run && n->count > 0)
        log_warn("connections killed", LOG_UINT("count", n->count), LOG_STR("by", n->by),
                 LOG_UINT("conn", n->asker));
    if (msgid.len > 0)
        answer(n, msgid);
    return outcome_of(n);
}

static void free_one(struct census *census)
{
    struct look_through *n = of_census(census);

    pack_fini(&n->page);
    free(n);
}

static const struct census_class lists = {.visit = visit, .end = end, .free = free_one};
static const struct census_class kills = {
    .closes = true, .visit = visit, .end = end, .free = free_one};

/* --- The request --- */

static bool read_id(struct reader *r, void *out)
{
    struct reader before = *r;

    if (read_uint(r, out) && *(uint64_t *)out > 0)
        return true;
    *r = before;
    return false;
}

static bool read_options(struct rpc_request *rq, struct reader *r, struct look_through *n)
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
        {"cursor", census_read_cursor, &n->census.walk, "what `next` of the page before said"},
    };

    if (n->kill) {
        options[6] = (struct option){"all", option_flag, &all, "true or false"};
        options[7] = (struct option){"dry_run", option_flag, &n->dry_run, "true or false"};
    }
    if (!rpc_read_options(rq, r, options, sizeof options / sizeof *options))
        return false;
    if (n->kill && !all && connection_filter_is_empty(f)) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "the filter is empty; to select all connections, pass all: true");
        return false;
    }
    if (n->limit > PAGE_MOST)
        n->limit = PAGE_MOST;
    return true;
}

static bool read_request(struct rpc_request *rq, struct look_through *n)
{
    struct reader r;
    uint32_t count;

    read_params(span_of(n->memory, rq->params.len), &r, &count);
    if (count > 1 || (count == 0 && n->kill)) {
        rpc_refuse_params(rq, "");
        return false;
    }
    return count == 0 || (n->kill && read_id(&r, &n->filter.id)) || read_options(rq, &r, n);
}

static struct look_through *new_one(const struct rpc_request *rq, bool kill)
{
    struct look_through *n = calloc(1, sizeof *n + rq->params.len);
    const struct principal *who = conn_principal(rq->conn);

    if (!n)
        return NULL;
    census_init(&n->census, rq, kill ? &kills : &lists);
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
static uint64_t bytes_of(const struct rpc_request *rq, bool kill)
{
    return sizeof(struct look_through) + rq->params.len + (kill ? 0 : PAGE_BYTES);
}

/* A list waits for room in its asker's account; a kill makes room, and waits for none. */
static bool may_start(struct rpc_request *rq, bool kill)
{
    if (rq->params.len > PARAMS_MOST) {
        rpc_refuse(rq, ERGON_E_TOO_LARGE, "at most %d bytes of conditions", PARAMS_MOST);
        return false;
    }
    return census_may_start(rq, !kill, bytes_of(rq, kill));
}

static void serve(struct rpc_request *rq, bool kill)
{
    if (!may_start(rq, kill))
        return;
    struct look_through *n = new_one(rq, kill);
    if (!n) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (read_request(rq, n))
        census_start(&n->census, rq, bytes_of(rq, kill));
    else
        free_one(&n->census);
}

void serve_connection_list(struct rpc_request *rq)
{
    serve(rq, false);
}

void serve_connection_kill(struct rpc_request *rq)
{
    serve(rq, true);
}
