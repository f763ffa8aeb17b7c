#include "server/workers/worker_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/jobs/core/ids.h"
#include "server/net/auth/principal.h"
#include "server/rpc/census.h"
#include "server/rpc/spec_options.h"
#include "server/rpc/trail.h"
#include "server/tasks/attempt.h"
#include "server/workers/workers.h"

enum {
    PAGE = 100,
    PAGE_MOST = 1000,
    CALLS_SHOWN = 8, /* of a worker: those that have gone on longest */
    METHODS_SHOWN = 32,
    PAGE_BYTES = 256 * 1024,
    COST_OF_SHOWN = 16 /* looks */
};
#define LOOK_FOR                                                                                   \
    AO_S(5) /* whether the manager knows, whose thread may have no processor for long */

bool worker_id_parse(struct span text, uint64_t *number)
{
    *number = 0;
    if (text.len < 2 || text.len > 11 || text.at[0] != 'w')
        return false;
    for (size_t i = 1; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text.at[i] - '0');
    }
    return true;
}

static uint32_t number_of(const struct worker *w)
{
    struct worker_executor_info info;

    worker_executor_info(w->executor, &info);
    return info.number;
}

/* Of this connection; NULL: it has none of this number. */
static struct worker *find(struct connection *c, uint64_t number)
{
    struct worker_link *link = conn_service(c);
    struct worker *w = link ? link->first : NULL;

    while (w && !(worker_is_open(w) && number_of(w) == number))
        w = w->next;
    return w;
}

/* --- One worker, wherever it is --- */

struct seek {
    struct census census; /* first */
    uint64_t number;
    bool quiet, any;   /* any: of all principals */
    char by[256];      /* the principal that asks */
    const char *asked; /* the method; constant */
    bool there, denied, own, told, settled;
    ao_time until; /* it looks whether the manager knows */
    uint32_t out, slots, methods;
};

static struct seek *seek_of(struct census *n)
{
    return ao_of(n, struct seek, census);
}

static bool is_of(const struct connection *c, const char *principal)
{
    const struct principal *p = conn_principal(c);

    return p && strcmp(principal_name(p), principal) == 0;
}

static uint32_t visit_sought(struct census *n, struct connection *c)
{
    struct seek *s = seek_of(n);
    struct worker *w = find(c, s->number);
    struct worker_executor_info info;

    if (!w)
        return 1;
    s->there = n->walk.enough = true;
    s->own = is_of(c, s->by);
    s->denied = !s->any && !s->own;
    if (s->denied)
        return 1;
    if (!s->told)
        worker_executor_quiet(w->executor, s->quiet);
    s->told = true;
    worker_executor_info(w->executor, &info);
    s->settled = (info.state == WORKER_QUIET) == s->quiet;
    s->out = info.out;
    s->slots = w->slots;
    s->methods = w->count;
    return COST_OF_SHOWN;
}

static void answer_sought(const struct seek *s, struct span msgid)
{
    struct connection *c = s->census.call.owner;
    char id[WORKER_ID_SIZE];
    struct pack p;

    pack_init(&p);
    worker_pack_settled(&p, worker_id_text((uint32_t)s->number, id), s->slots, s->methods, s->out);
    if (p.failed)
        answer_error(c, msgid, ERGON_E_MEMORY, NULL, span_text(error_meaning(ERGON_E_MEMORY)));
    else
        answer_result(c, msgid, pack_bytes(&p));
    pack_fini(&p);
}

/* The manager hears of it within a round or two of its own, and what it gave before that is on its
 * way.  So a client that has this answer may rely on that nothing more comes. */
static bool look_again(struct census *n)
{
    struct seek *s = seek_of(n);

    if (!s->there || s->denied || s->settled || n->gone ||
        activator_now(n->loop->activator) >= s->until)
        return false;
    s->there = n->walk.enough = false;
    n->walk.below = n->walk.last + 1;
    return true;
}

static enum ergon_error outcome_of(const struct seek *s)
{
    if (!s->there)
        return ERGON_E_NOT_FOUND;
    if (s->denied)
        return ERGON_E_DENIED;
    return s->settled ? ERGON_OK : ERGON_E_BUSY;
}

static const char *text_of(enum ergon_error outcome)
{
    if (outcome == ERGON_E_NOT_FOUND)
        return "no worker has this id";
    if (outcome == ERGON_E_DENIED)
        return "it is a worker of another principal: that needs worker.any, by its own name";
    return "the worker was notified, but the manager has not answered yet: see worker.list";
}

static enum ergon_error end_of_search(struct census *n, struct span msgid)
{
    struct seek *s = seek_of(n);
    enum ergon_error outcome = outcome_of(s);

    if (msgid.len > 0 && outcome == ERGON_OK)
        answer_sought(s, msgid);
    else if (msgid.len > 0)
        answer_error(n->call.owner, msgid, outcome, NULL, span_text(text_of(outcome)));
    if (s->own) {
        trail_forget(n->act);
        n->act = NULL;
    }
    if (outcome == ERGON_E_DENIED)
        trail_foreign_denied(n->call.owner, s->by, s->asked);
    return outcome;
}

static void free_seek(struct census *n)
{
    free(seek_of(n));
}

static const struct census_class seeks = {
    .visit = visit_sought, .again = look_again, .end = end_of_search, .free = free_seek};

static void seek_start(struct rpc_request *rq, uint64_t number, bool quiet)
{
    const struct principal *who = conn_principal(rq->conn);
    bool any = conn_may(rq->conn, span_text("worker.any"));

    if (!census_may_start(rq, false, sizeof(struct seek)) || (any && !trail_begin(rq)))
        return;
    struct seek *s = calloc(1, sizeof *s);
    if (!s) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    census_init(&s->census, rq, &seeks);
    s->number = number;
    s->quiet = quiet;
    s->any = any;
    s->until = activator_now(rq->loop->activator) + LOOK_FOR;
    s->asked = rq->loop->recent_own->name;
    snprintf(s->by, sizeof s->by, "%s", principal_name(who));
    census_start(&s->census, rq, sizeof *s);
}

void worker_settle(struct rpc_request *rq, uint64_t number, bool quiet)
{
    struct worker *w = find(rq->conn, number);

    if (!w) {
        seek_start(rq, number, quiet);
        return;
    }
    worker_executor_quiet(w->executor, quiet);
    worker_wait_new(rq, w);
}

/* --- All --- */

struct roll {
    struct census census; /* first */
    struct span method;   /* empty: whatever they offer */
    uint32_t limit, count;
    struct pack page;
    uint8_t memory[METHOD_NAME_MAX]; /* of `method` */
};

static struct roll *roll_of(struct census *n)
{
    return ao_of(n, struct roll, census);
}

static bool offers(const struct worker *w, struct span method)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (span_equal(w->methods[i], method))
            return true;
    return false;
}

static void pack_call(struct pack *p, const struct task *t, ao_time now)
{
    bool attempt = task_is(t, TASK_ATTEMPT);
    char id[ID_TEXT_SIZE];
    ao_time since = worker_executor_task_since(t);

    pack_map(p, 5);
    pack_key_span(p, "method", t->method->name);
    pack_key_str(p, "task", attempt ? id_text(t->attempt->id, id) : NULL);
    pack_key_uint(p, "attempt", attempt ? t->attempt->attempt : 1);
    pack_key_uint(p, "for_ms", now > since ? (now - since) / AO_MS(1) : 0);
    pack_key_bool(p, "late", t->out.unwanted);
}

/* The worker loop has the newest first: the last ones have gone on longest. */
static uint32_t pack_calls(struct pack *p, const struct worker *w)
{
    const struct task *oldest[CALLS_SHOWN];
    ao_time now = activator_now(w->link->loop->activator);
    uint32_t count = 0;

    for (const struct task *t = worker_executor_tasks(w->executor); t;
         t = worker_executor_task_after(t))
        oldest[count++ % CALLS_SHOWN] = t;
    uint32_t shown = count < CALLS_SHOWN ? count : CALLS_SHOWN;
    pack_str(p, "calls");
    pack_array(p, shown);
    for (uint32_t i = 1; i <= shown; i++)
        pack_call(p, oldest[(count - i) % CALLS_SHOWN], now);
    return count;
}

static void pack_methods(struct pack *p, const struct worker *w)
{
    uint32_t count = w->count < METHODS_SHOWN ? w->count : METHODS_SHOWN;

    pack_key_uint(p, "method_count", w->count);
    pack_str(p, "methods");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        pack_span(p, w->methods[i]);
}

/* Returns how many tasks it has. */
static uint32_t pack_worker(struct pack *p, const struct worker *w)
{
    static const char *const states[] = {"joining", "open", "quiet", "lost"};
    struct connection *c = w->link->conn;
    const struct principal *who = conn_principal(c);
    ao_time now = activator_now(w->link->loop->activator);
    struct worker_executor_info info;
    char id[WORKER_ID_SIZE];

    worker_executor_info(w->executor, &info);
    pack_map(p, 22);
    pack_key_str(p, "worker", worker_id(w, id));
    pack_key_str(p, "name", w->name[0] ? w->name : NULL);
    pack_key_str(p, "version", w->version[0] ? w->version : NULL);
    pack_key_str(p, "host", w->host[0] ? w->host : NULL);
    pack_key_uint(p, "share", w->share);
    pack_key_uint(p, "connection", conn_id(c));
    pack_key_str(p, "peer", conn_peer(c));
    pack_key_str(p, "via", conn_via(c));
    pack_key_str(p, "principal", who ? principal_name(who) : NULL);
    pack_key_str(p, "state", states[info.state]);
    pack_key_uint(p, "since", (clock_wall() - (now - w->since)) / AO_MS(1));
    pack_methods(p, w);
    pack_key_uint(p, "slots", w->slots);
    pack_key_uint(p, "message", w->message);
    pack_key_uint(p, "out", info.out);
    pack_key_uint(p, "late", info.unwanted);
    pack_key_uint(p, "done", info.done);
    pack_key_uint(p, "failed", info.failed);
    pack_key_uint(p, "strange", w->link->strange);
    pack_key_uint(p, "mean_ms", info.service_ns / AO_MS(1));
    return pack_calls(p, w);
}

static uint32_t visit_all(struct census *n, struct connection *c)
{
    struct roll *l = roll_of(n);
    struct worker_link *link = conn_service(c);
    uint32_t cost = 1;

    for (struct worker *w = link ? link->first : NULL; w; w = w->next)
        if (worker_is_open(w) && (l->method.len == 0 || offers(w, l->method))) {
            cost += COST_OF_SHOWN + pack_worker(&l->page, w) / COST_OF_SHOWN;
            l->count++;
        }
    n->walk.enough = l->count >= l->limit || pack_size(&l->page) >= PAGE_BYTES;
    return cost < WALK_COST_A_STEP ? cost : WALK_COST_A_STEP;
}

static void answer_roll(struct roll *l, struct span msgid)
{
    struct connection *c = l->census.call.owner;
    struct span all = pack_bytes(&l->page);
    struct pack p;

    pack_init(&p);
    pack_map(&p, 3);
    pack_str(&p, "workers");
    pack_array(&p, l->count);
    if (all.len > 0)
        pack_raw(&p, all);
    census_pack_next(&p, &l->census);
    pack_key_uint(&p, "away", l->census.walk.away);
    if (p.failed || l->page.failed)
        answer_error(c, msgid, ERGON_E_MEMORY, NULL, span_text(error_meaning(ERGON_E_MEMORY)));
    else
        answer_result(c, msgid, pack_bytes(&p));
    pack_fini(&p);
}

static enum ergon_error end_of_roll(struct census *n, struct span msgid)
{
    if (msgid.len > 0)
        answer_roll(roll_of(n), msgid);
    return ERGON_OK;
}

static void free_roll(struct census *n)
{
    pack_fini(&roll_of(n)->page);
    free(roll_of(n));
}

static const struct census_class rolls = {
    .visit = visit_all, .end = end_of_roll, .free = free_roll};

static bool read_method(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span *name = out;

    if (read_text(r, name) && name->len >= 1 && name->len <= METHOD_NAME_MAX)
        return true;
    *r = before;
    return false;
}

static bool read_conditions(struct rpc_request *rq, struct roll *l)
{
    const struct option options[] = {
        {"method", read_method, &l->method, "the name of a method"},
        {"limit", option_count, &l->limit, "a number from 1"},
        {"cursor", census_read_cursor, &l->census.walk, "what `next` of the page before said"},
    };
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count > 1) {
        rpc_refuse_params(rq, "");
        return false;
    }
    if (count == 1 && !rpc_read_options(rq, &r, options, sizeof options / sizeof *options))
        return false;
    if (l->method.len > 0)
        l->method.at = memcpy(l->memory, l->method.at, l->method.len);
    if (l->limit > PAGE_MOST)
        l->limit = PAGE_MOST;
    return true;
}

void serve_worker_list(struct rpc_request *rq)
{
    uint64_t bytes = sizeof(struct roll) + PAGE_BYTES;

    if (!census_may_start(rq, true, bytes))
        return;
    struct roll *l = calloc(1, sizeof *l);
    if (!l) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    census_init(&l->census, rq, &rolls);
    pack_init(&l->page);
    l->limit = PAGE;
    if (read_conditions(rq, l))
        census_start(&l->census, rq, bytes);
    else
        free_roll(&l->census);
}
