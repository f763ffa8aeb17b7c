/* The namespace worker.*: what a worker says to the server, and what others ask about it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/siphash.h"
#include "base/utf8.h"
#include "server/net/auth/principal.h"
#include "server/net/holdings.h"
#include "server/rpc/spec_options.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/turn.h"
#include "server/workers/worker_answer.h"
#include "server/workers/worker_list.h"
#include "server/workers/worker_process.h"

#define LEASE_LEAST AO_S(1)

enum { NAMES_A_MESSAGE = 4 /* see conn_worked() */ };

/* --- worker.register --- */

/* What was asked for; its spans are the message's. */
struct registration {
    struct reader methods;
    uint32_t count;
    uint32_t slots, share;
    uint64_t lease, message;
    struct span name, version, host;
    bool context;
    enum { SECRET_UNSAID, SECRET_NONE, SECRET_ALL, SECRET_SOME } secret;
    struct span secret_names; /* SECRET_SOME: raw array */
    struct span actors;       /* raw map; empty: not given */
};

static bool read_slots(struct reader *r, void *out)
{
    struct reader before = *r;
    uint64_t n;

    if (read_uint(r, &n) && n >= 1 && n <= WORKER_SLOTS_MAX) {
        *(uint32_t *)out = (uint32_t)n;
        return true;
    }
    *r = before;
    return false;
}

static bool read_share(struct reader *r, void *out)
{
    struct reader before = *r;
    uint64_t n;

    if (read_uint(r, &n) && n >= 1 && n <= WORKER_SHARE_ALL) {
        *(uint32_t *)out = (uint32_t)n;
        return true;
    }
    *r = before;
    return false;
}

/* 0: none. */
static bool read_lease(struct reader *r, void *out)
{
    struct reader before = *r;
    uint64_t *ns = out;

    if (read_duration(r, ns) && (*ns == 0 || *ns >= LEASE_LEAST))
        return true;
    *r = before;
    return false;
}

/* 0: it is not known. */
static bool read_message(struct reader *r, void *out)
{
    struct reader before = *r;
    uint64_t *bytes = out;

    if (read_uint(r, bytes) && (*bytes == 0 || *bytes >= WORKER_MESSAGE_LEAST))
        return true;
    *r = before;
    return false;
}

static bool read_label(struct reader *r, struct span *out, size_t most)
{
    struct reader before = *r;

    if (read_text(r, out) && (out->len == 0 || utf8_is_name(*out, most)))
        return true;
    *r = before;
    return false;
}

static bool read_name(struct reader *r, void *out)
{
    return read_label(r, out, WORKER_NAME_MAX);
}

static bool read_version(struct reader *r, void *out)
{
    return read_label(r, out, WORKER_VERSION_MAX);
}

static bool read_secret(struct reader *r, void *out)
{
    struct registration *g = out;
    struct reader before = *r;
    uint32_t count;
    bool all;

    if (read_bool(r, &all)) {
        g->secret = all ? SECRET_ALL : SECRET_NONE;
        return true;
    }
    if (!read_array(r, &count))
        return false;
    *r = before;
    g->secret = SECRET_SOME;
    return read_any(r, &g->secret_names);
}

static bool read_actors(struct reader *r, void *out)
{
    struct span *raw = out;
    struct reader before = *r;
    uint32_t pairs;
    if (!read_map(r, &pairs))
        return false;
    *r = before;
    return read_any(r, raw);
}

static bool read_registration(struct rpc_request *rq, struct registration *g)
{
    const struct option options[] = {
        {"slots", read_slots, &g->slots, "a number from 1 to 4096"},
        {"name", read_name, &g->name, "a text of at most 64 bytes of UTF-8 without U+0000"},
        {"version", read_version, &g->version,
         "a text of at most 32 bytes of UTF-8 without U+0000"},
        {"host", read_name, &g->host, "a text of at most 64 bytes of UTF-8 without U+0000"},
        {"share", read_share, &g->share, "percent, a number from 1 to 100"},
        {"context", option_flag, &g->context, "true or false"},
        {"lease", read_lease, &g->lease, "a duration of at least \"1s\", or 0"},
        {"message", read_message, &g->message, "a number of bytes from 4096, or 0"},
        {"secret", read_secret, g, "true, false, or an array of its methods"},
        {"actors", read_actors, &g->actors, "a map of types, each with a map of its options"},
    };
    struct span list;
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count < 1 || count > 2 || !rpc_read_any(rq, rq->params, &r, &list)) {
        rpc_refuse_params(rq, "");
        return false;
    }
    g->methods = reader_of(list);
    if (!read_array(&g->methods, &g->count) || g->count < 1 || g->count > WORKER_METHODS_MAX) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "worker.register takes 1 to %d names",
                   WORKER_METHODS_MAX);
        return false;
    }
    if (count == 2 && !rpc_read_options(rq, &r, options, sizeof options / sizeof *options))
        return false;
    if (g->share != WORKER_SHARE_ALL && g->version.len == 0)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "`share` is that of a version: say which");
    else if (g->actors.len > 0 && (!g->context || conn_mode(rq->conn)->raw))
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "a worker of actors gets their states in the context: say context: true, and "
                   "no `raw` in server.hello");
    else
        return true;
    return false;
}

/* NULL: the method is not offered on this connection. */
static struct worker_offer *find_offer(const struct worker_link *link, struct span method,
                                       uint64_t hash)
{
    for (struct hash_link *at = hash_first(&link->offers, hash); at; at = hash_next(at))
        if (span_equal(((struct worker_offer *)at)->name, method))
            return (struct worker_offer *)at;
    return NULL;
}

/* One name, the next of its registration.  False: it was refused. */
static bool check_method(struct rpc_request *rq, const struct worker_link *link, struct span method,
                         uint64_t hash)
{
    int len = (int)(method.len < 80 ? method.len : 80);
    const char *name = (const char *)method.at;

    if (find_offer(link, method, hash))
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "\"%.*s\" is offered on this connection already", len,
                   name);
    else if (!worker_may_offer(rq->conn, method))
        rpc_refuse(rq, ERGON_E_DENIED,
                   "%s may not offer \"%.*s\": a role, its line in the token file, or the "
                   "listener's `allow`, has to name worker.offer.%.*s",
                   principal_name(conn_principal(rq->conn)), len, name, len, name);
    else
        return true;
    return false;
}

static void offer(struct worker *w, struct span name, uint64_t hash)
{
    struct worker_offer *o = &w->offers[w->count];

    *o = (struct worker_offer){.link.hash = hash, .name = name};
    w->methods[w->count++] = name;
    hash_add(&w->link->offers, &o->link);
}

/* False: it was refused. */
static bool take_methods(struct rpc_request *rq, struct registration *g, struct worker *w)
{
    uint8_t *at = (uint8_t *)(w->offers + g->count) + 2 * g->count; /* behind `of_actors` */
    struct span method;

    for (uint32_t i = 0; i < g->count; i++) {
        if (!read_text(&g->methods, &method)) {
            rpc_refuse_params(rq, "");
            return false;
        }
        uint64_t hash = siphash(w->link->seed, method);
        if (!check_method(rq, w->link, method, hash))
            return false;
        if (method.len > 0)
            memcpy(at, method.at, method.len);
        offer(w, span_of(at, method.len), hash);
        at += method.len;
    }
    return true;
}

static enum worker_secret secret_of_all(const struct registration *g)
{
    if (g->secret == SECRET_SOME)
        return WORKER_SECRET_UNSAID;
    return g->secret == SECRET_ALL ? WORKER_SECRET_YES : WORKER_SECRET_NO;
}

/* Which of its methods have secret parameters.  False: it was refused. */
static bool take_secrets(struct rpc_request *rq, const struct registration *g, struct worker *w)
{
    struct reader r = reader_of(g->secret_names);
    struct span name = {0};
    uint32_t count = 0;

    if (g->secret == SECRET_UNSAID)
        return true;
    w->secrets = (uint8_t *)(w->offers + g->count);
    memset(w->secrets, (int)secret_of_all(g), w->count);
    if (g->secret == SECRET_SOME)
        read_array(&r, &count);
    for (; count > 0; count--) {
        const struct worker_offer *o = NULL;
        if (read_text(&r, &name))
            o = find_offer(w->link, name, siphash(w->link->seed, name));
        if (!o || o < w->offers || o >= w->offers + w->count) {
            rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                       "`secret` has to name methods of this registration; \"%.*s\" is none",
                       (int)(name.len < 80 ? name.len : 80), (const char *)name.at);
            return false;
        }
        w->secrets[o - w->offers] = WORKER_SECRET_YES;
    }
    return true;
}

static void take_label(char *to, struct span label)
{
    to[utf8_plain(to, label.len, label)] = '\0';
}

/* "10.0.0.7" of "10.0.0.7:4711"; of a peer on this machine, the name of that. */
static void take_host(struct worker *w, struct span said, const char *peer)
{
    const char *port = strrchr(peer, ':');
    if (said.len > 0)
        take_label(w->host, said);
    else if (strncmp(peer, "unix:", 5) == 0)
        gethostname(w->host, sizeof w->host - 1);
    else
        take_label(w->host, utf8_cut(span_of(peer, port ? (size_t)(port - peer) : strlen(peer)),
                                     WORKER_NAME_MAX));
}

static void put_in(struct worker_link *link, struct worker *w)
{
    w->link = link;
    w->next = link->first;
    link->first = w;
    conn_hold(link->conn, (int64_t)w->holds);
}

/* In the link, without methods; NULL without memory. */
static struct worker *worker_new(struct rpc_request *rq, const struct registration *g)
{
    size_t a_name = sizeof(struct span) + sizeof(struct worker_offer) + 2;
    size_t size = sizeof(struct worker) + g->count * a_name + rq->params.len;
    struct worker *w = calloc(1, size);
    struct worker_link *link = w ? worker_link_of(rq->loop, rq->conn) : NULL;

    if (!link) {
        free(w);
        return NULL;
    }
    w->offers = (struct worker_offer *)(w->methods + g->count);
    take_label(w->name, g->name);
    take_label(w->version, g->version);
    take_host(w, g->host, conn_peer(rq->conn));
    w->slots = g->slots;
    w->share = (uint8_t)g->share;
    w->lease = g->lease;
    w->message = g->message;
    w->context = g->context;
    w->since = activator_now(rq->loop->activator);
    w->holds = 2 * size; /* the worker loop has as much */
    put_in(link, w);
    return w;
}

static bool has_room(struct rpc_request *rq, const struct worker_link *link, uint32_t slots)
{
    uint32_t count = 0;

    for (const struct worker *w = link ? link->first : NULL; w; w = w->next) {
        slots += w->slots;
        count++;
    }
    if (slots > WORKER_SLOTS_MAX)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS,
                   "the registrations of a connection have at most %d slots", WORKER_SLOTS_MAX);
    else if (count >= WORKERS_A_CONNECTION)
        rpc_refuse(rq, ERGON_E_BUSY, "a connection has at most %d registrations",
                   WORKERS_A_CONNECTION);
    else
        return true;
    return false;
}

/* It is in the link; the worker loop's answer will come. */
static enum ergon_error update(struct rpc_request *rq, struct worker *w,
                               const struct worker_types *types)
{
    const struct worker_executor_spec spec = {.methods = w->methods,
                                              .count = w->count,
                                              .slots = w->slots,
                                              .share = w->share,
                                              .version = span_text(w->version),
                                              .name = span_text(w->name),
                                              .host = span_text(w->host),
                                              .beside = w->next ? w->next->executor : NULL,
                                              .context = w->context,
                                              .module = worker_process_module(w->link),
                                              .secrets = w->secrets,
                                              .of_actors = w->of_actors,
                                              .types = types->of,
                                              .type_count = types->count,
                                              .tally = conn_tally(rq->conn)};

    if (!conn_serve(rq->conn, true))
        return ERGON_E_DRAINING;
    w->executor = worker_executor_register(rq->loop->worker_loop, &spec, w);
    return w->executor ? ERGON_OK : ERGON_E_MEMORY;
}

static void start(struct rpc_request *rq, struct worker *w, const struct worker_types *types)
{
    struct worker_link *link = w->link;
    enum ergon_error error = update(rq, w, types);

    if (error == ERGON_OK && worker_wait_new(rq, w))
        return;
    if (error == ERGON_OK) { /* it was answered MEMORY, and is a worker that does not know it */
        worker_close(link, "out of memory");
        return;
    }
    worker_drop(w);
    rpc_refuse(rq, error, "%s", error_meaning(error));
}

/* worker.register [methods, {...}] */
void serve_worker_register(struct rpc_request *rq)
{
    struct registration g = {.slots = 1, .share = WORKER_SHARE_ALL};
    struct worker_types types = {0};

    if (!read_registration(rq, &g))
        return;
    conn_worked(rq->conn, g.count / NAMES_A_MESSAGE);
    if (!has_room(rq, conn_service(rq->conn), g.slots))
        return;
    struct worker *w = worker_new(rq, &g);
    if (!w)
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    else if (take_methods(rq, &g, w) && take_secrets(rq, &g, w) &&
             worker_types_read(rq, g.actors, w, &types))
        start(rq, w, &types);
    else
        worker_drop(w);
    free(types.of);
}

/* --- worker.quiet, worker.resume --- */

/* Of all registrations of this connection: it is answered when all of them are settled
 * (worker_port.c). */
static void settle_own(struct rpc_request *rq, bool quiet)
{
    struct worker_link *link = conn_service(rq->conn);
    struct worker *last = NULL;

    for (struct worker *w = link ? link->first : NULL; w; w = w->next)
        if (worker_is_open(w)) {
            last = w;
            w->settling = true;
            worker_executor_quiet(w->executor, quiet);
        }
    if (last && rq->msgid.len > 0)
        worker_wait_new(rq, last);
    else if (!last)
        rpc_refuse(rq, ERGON_E_NOT_FOUND, "no worker is registered on this connection");
}

static void settle(struct rpc_request *rq, bool quiet)
{
    struct reader r;
    struct span id;
    uint32_t count;
    uint64_t number;

    read_params(rq->params, &r, &count);
    if (count == 0)
        settle_own(rq, quiet);
    else if (count == 1 && read_text(&r, &id) && worker_id_parse(id, &number))
        worker_settle(rq, number, quiet);
    else
        rpc_refuse_params(rq, ", which is \"w17\""); /* `ergon` knows it by this */
}

void serve_worker_quiet(struct rpc_request *rq)
{
    settle(rq, true);
}

void serve_worker_resume(struct rpc_request *rq)
{
    settle(rq, false);
}

/* --- worker.progress, worker.partial, worker.checkpoint --- */

/* A report about a task that is not this worker's any more is dropped; so is one about a call,
 * whose caller cannot be notified. */
static void note(struct rpc_request *rq, uint64_t number, const struct attempt_note *n)
{
    struct task *t = worker_running(rq->conn, number);
    bool sent = t && (!task_is(t, TASK_ATTEMPT) || attempt_post(t, n));

    if (t)
        rpc_answer(rq, span_text(sent ? "\xc3" : "\xc2"));
    else
        rpc_refuse(rq, ERGON_E_NOT_FOUND, "this worker has no such call");
}

/* worker.progress [call, done, total, text] */
void serve_worker_progress(struct rpc_request *rq)
{
    enum { TEXT_MAX = 400 };
    struct attempt_note n = {0};
    uint8_t clean[TEXT_MAX];
    struct span text = {0};
    struct reader r;
    uint64_t number;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count < 2 || count > 4 || !read_uint(&r, &number) || !read_uint(&r, &n.done) ||
        (count > 2 && !read_uint(&r, &n.total) && !read_nil(&r)) ||
        (count > 3 && !read_text(&r, &text) && !read_nil(&r))) {
        rpc_refuse_params(rq, "");
        return;
    }
    n.text = span_of(clean, utf8_text(clean, sizeof clean, text));
    note(rq, number, &n);
}

static const char *fault_of_checkpoint(const struct task *t, struct span value)
{
    if (value.len > CHECKPOINT_MAX)
        return "a checkpoint has at most 64 KiB";
    if (t && task_is(t, TASK_ATTEMPT) && turn_is_of_actor(t->attempt->turn))
        return "a turn of an actor keeps a state, and no checkpoint";
    return NULL;
}

static void note_value(struct rpc_request *rq, enum note_kind kind)
{
    struct attempt_note n = {.kind = kind};
    const char *wrong = NULL;
    struct reader r;
    uint64_t number;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count != 2 || !read_uint(&r, &number) || !rpc_read_any(rq, rq->params, &r, &n.data)) {
        rpc_refuse_params(rq, "");
        return;
    }
    if (kind == NOTE_CHECKPOINT)
        wrong = fault_of_checkpoint(worker_running(rq->conn, number), n.data);
    if (wrong)
        rpc_refuse(rq, n.data.len > CHECKPOINT_MAX ? ERGON_E_TOO_LARGE : ERGON_E_BAD_PARAMS, "%s",
                   wrong);
    else
        note(rq, number, &n);
}

/* worker.partial [call, value] */
void serve_worker_partial(struct rpc_request *rq)
{
    note_value(rq, NOTE_PARTIAL);
}

/* worker.checkpoint [call, value] */
void serve_worker_checkpoint(struct rpc_request *rq)
{
    note_value(rq, NOTE_CHECKPOINT);
}

/* --- worker.submit --- */

/* worker.submit [call, {task, tell}] */
void serve_worker_submit(struct rpc_request *rq)
{
    char text[240] = "this worker has no such call";
    struct reader r;
    struct span sends = {0};
    uint64_t number;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count == 0 || !read_uint(&r, &number)) {
        rpc_refuse_params(rq, "");
        return;
    }
    if (count != 2 || !rpc_read_any(rq, rq->params, &r, &sends))
        sends = span_text("\x07"); /* as what is no map */
    struct task *t = worker_running(rq->conn, number);
    enum ergon_error wrong =
        t ? worker_add_sends(rq->conn, t, sends, text, sizeof text) : ERGON_E_NOT_FOUND;

    if (wrong == ERGON_OK)
        rpc_answer(rq, span_text("\xc3"));
    else
        rpc_refuse(rq, wrong, "%s", text);
}
