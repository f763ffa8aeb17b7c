#include "server/front/node_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/encoder.h"
#include "proto/pack.h"
#include "proto/reader.h"
#include "server/front/node_request.h"
#include "server/front/vouch.h"
#include "server/jobs/jobs.h"
#include "server/runtime/activator.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/call_params.h"

enum {
    ID_SESSION = 1,
    ID_REGISTER = 2,
    ID_BOARD = 3,
    ID_QUIET = 4,
    WAITS_MAX = 1 << 20,  /* bytes to the owner that wait; what handlers say beyond is dropped */
    HOLDS_MAX = 64 << 20, /* bytes of what runs here; no more is read meanwhile */
    HEAD_MAX = 320,
    CALLS_A_SLOT = 2,   /* those of a lost session may run on beside those of the next */
    METHODS_MAX = 1000, /* of a registration */
    SLOTS_MAX = 4096,   /* of the registrations of a connection */
    TEXT_MAX = 200
};
#define RETRY AO_S(1)
#define LEASE "10s" /* the owner gives this node up after so long without a byte */

enum work_state { WORK_IDLE, WORK_CONNECTING, WORK_GREETING, WORK_REGISTERING, WORK_WORKING };

struct node_worker {
    struct node_worker_options options;
    char node[CLUSTER_NAME_MAX];
    struct outgoing up;
    struct outgoing_loop up_loop;
    struct scan_limits limits;
    struct tls_loop *tls;
    struct node_calls *calls;
    struct ao clock;
    struct owner_place place;
    ao_time retry_at;
    uint32_t offered[NODE_WORKER_KINDS]; /* methods */
    uint8_t state;                       /* enum work_state */
    uint8_t next_kind;                   /* that is to be registered */
    bool refused;                        /* it was said */
    bool reports;                        /* the old board is on its way */
    bool reported;                       /* it was taken, or there is none */
    bool stops;                          /* the server drains: nothing is offered any more */
    bool composes;                       /* the owner does: vouch.h */
    bool quiet;                          /* the owner knows that, and sends nothing more */
    bool ended;                          /* no attempt runs any more */
    bool is_process;                     /* `process` counts */
    struct node_worker_process process;
    void (*drained)(void *arg); /* NULL: it was called, or nobody asks */
    void *drained_arg;
};

static bool is_offered(const struct method *m, enum node_worker_kind kind)
{
    bool stepped = m->handler->kind == ERGON_STEPPED;

    return method_attempts_here(m) && !method_actor(m) && stepped == (kind == NODE_WORKER_STEPPED);
}

/* Methods of this kind that it offers. */
static uint32_t count_offered(const struct node_worker *w, enum node_worker_kind kind)
{
    const struct registry *registry = w->options.registry;
    uint32_t count = 0;

    for (uint32_t i = 0; w->options.slots[kind] > 0 && i < registry_count(registry); i++)
        count += registry_at(registry, i) && is_offered(registry_at(registry, i), kind);
    return count < METHODS_MAX ? count : METHODS_MAX;
}

/* --- Writing --- */

static bool put(struct node_worker *w, struct span head, struct span tail)
{
    uint8_t *p = outgoing_reserve(&w->up, head.len + tail.len);

    if (!p)
        return false;
    memcpy(p, head.at, head.len);
    if (tail.len > 0)
        memcpy(p + head.len, tail.at, tail.len);
    outgoing_commit(&w->up, p + head.len + tail.len);
    return true;
}

static void lose(struct node_worker *w, const char *why)
{
    outgoing_lose(&w->up, why);
}

static bool ask(struct node_worker *w, uint64_t id, const char *method, const struct pack *p)
{
    uint8_t head[HEAD_MAX];
    uint8_t *at = enc_array(head, 4);

    if (p->failed)
        return false;
    at = enc_uint(enc_uint(at, ENVELOPE_REQUEST), id);
    at = enc_str(at, span_text(method));
    return put(w, span_of(head, (size_t)(at - head)), pack_bytes(p));
}

static bool greet(struct node_worker *w)
{
    struct pack p;

    pack_init(&p);
    vouch_pack_node(&p, &w->place.view);
    bool good = ask(w, ID_SESSION, "cluster.session", &p);
    pack_fini(&p);
    w->state = WORK_GREETING;
    w->reports = false;
    w->next_kind = 0;
    return good;
}

/* Reports the attempts that had begun when the last process of this node died. */
static bool report(struct node_worker *w)
{
    const struct jobs_begun *begun;
    struct pack p;
    uint64_t epoch;
    uint32_t count = jobs_old_board(w->options.jobs, &begun, &epoch);

    pack_init(&p);
    pack_array(&p, 3);
    pack_str(&p, w->node);
    pack_uint(&p, epoch);
    pack_array(&p, 2 * count);
    for (uint32_t i = 0; i < count; i++) {
        pack_uint(&p, begun[i].id);
        pack_uint(&p, begun[i].attempt);
    }
    bool good = ask(w, ID_BOARD, "cluster.board", &p);
    pack_fini(&p);
    return good;
}

static bool has_report(const struct node_worker *w)
{
    const struct jobs_begun *begun;
    uint64_t epoch;

    return w->options.jobs && !w->reported && jobs_old_board(w->options.jobs, &begun, &epoch) > 0;
}

static bool is_any(const struct method *m)
{
    (void)m;
    return true;
}

static bool is_secret(const struct method *m)
{
    return m->handler->flags & ERGON_SECRET_PARAMS;
}

/* The names of those that it offers, and that are chosen. */
static void pack_chosen(const struct node_worker *w, enum node_worker_kind kind,
                        bool (*is_chosen)(const struct method *m), struct pack *p)
{
    const struct registry *registry = w->options.registry;
    const struct method *chosen[METHODS_MAX];
    uint32_t left = w->offered[kind], count = 0;

    for (uint32_t i = 0; left > 0; i++) {
        const struct method *m = registry_at(registry, i);
        if (!m || !is_offered(m, kind))
            continue;
        left--;
        if (is_chosen(m))
            chosen[count++] = m;
    }
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        pack_span(p, chosen[i]->name);
}

static bool offer(struct node_worker *w, enum node_worker_kind kind)
{
    struct pack p;

    pack_init(&p);
    pack_array(&p, 2);
    pack_chosen(w, kind, is_any, &p);
    pack_map(&p, w->is_process ? 5 : 6);
    pack_key_uint(&p, "slots", w->options.slots[kind]);
    pack_key_str(&p, "name", w->node);
    pack_key_str(&p, "version", ERGON_VERSION);
    pack_key_bool(&p, "context", true);
    if (w->is_process) { /* its server knows where it is, and when it ends, but not the module */
        pack_str(&p, "secret");
        pack_chosen(w, kind, is_secret, &p);
    } else {
        pack_key_str(&p, "host", w->node);
        pack_key_str(&p, "lease", LEASE);
    }
    bool good = ask(w, ID_REGISTER, "worker.register", &p);
    pack_fini(&p);
    w->state = WORK_REGISTERING;
    return good;
}

static bool ask_quiet(struct node_worker *w)
{
    struct pack p;

    pack_init(&p);
    pack_array(&p, 0);
    bool good = ask(w, ID_QUIET, "worker.quiet", &p);
    pack_fini(&p);
    return good;
}

static bool offers_any(const struct node_worker *w)
{
    return w->offered[NODE_WORKER_BLOCKING] + w->offered[NODE_WORKER_STEPPED] > 0;
}

/* One that offers nothing has sent its report. */
static bool registered(struct node_worker *w)
{
    w->state = WORK_WORKING;
    w->refused = false;
    w->quiet = !offers_any(w);
    if (!w->quiet && !w->is_process)
        log_info("handlers are offered", LOG_STR("node", w->place.view.owner),
                 LOG_UINT("blocking", w->offered[NODE_WORKER_BLOCKING]),
                 LOG_UINT("stepped", w->offered[NODE_WORKER_STEPPED]));
    return !w->stops || w->quiet || ask_quiet(w);
}

/* Offers the next kind of handlers, if there is one. */
static bool offer_next(struct node_worker *w)
{
    while (w->next_kind < NODE_WORKER_KINDS) {
        enum node_worker_kind kind = (enum node_worker_kind)w->next_kind++;
        if (w->offered[kind] > 0)
            return offer(w, kind);
    }
    return registered(w);
}

/* --- What handlers say --- */

static bool call_sends(void *arg, struct span message)
{
    struct node_worker *w = arg;

    if (!w->composes && !w->is_process)
        return false;
    if (w->up.state == OUTGOING_OPEN && !put(w, message, (struct span){0}))
        lose(w, "out of memory");
    return true;
}

static void call_ended(void *arg, struct span head, struct span tail)
{
    struct node_worker *w = arg;

    if (w->up.state == OUTGOING_OPEN && !put(w, head, tail))
        lose(w, "out of memory");
    else if (w->up.full)
        outgoing_kick(&w->up); /* there may be room for what was not read */
}

/* worker.progress [call, done, total, text], worker.partial and worker.checkpoint [call, value];
 * dropped while too much is on its way. */
static void call_noted(void *arg, const struct node_call_note *note)
{
    static const char *const methods[] = {[NOTE_PROGRESS] = "worker.progress",
                                          [NOTE_PARTIAL] = "worker.partial",
                                          [NOTE_CHECKPOINT] = "worker.checkpoint"};
    static const uint8_t nil[] = {0xc0};
    bool is_progress = note->kind == NOTE_PROGRESS;
    struct node_worker *w = arg;
    uint8_t head[HEAD_MAX];
    uint8_t *at = enc_uint(enc_array(head, 3), ENVELOPE_NOTIFICATION);
    struct span tail = note->bytes;

    if (w->up.state != OUTGOING_OPEN || outgoing_waits(&w->up) > WAITS_MAX)
        return;
    at = enc_str(at, span_text(methods[note->kind]));
    at = enc_uint(enc_array(at, is_progress ? 4 : 2), note->number);
    if (is_progress) {
        at = enc_uint(enc_uint(at, note->done), note->total);
        at = enc_str_head(at, (uint32_t)tail.len);
    } else if (tail.len == 0) { /* longer than any history keeps */
        tail = span_of(nil, sizeof nil);
    }
    if (!put(w, span_of(head, (size_t)(at - head)), tail))
        lose(w, "out of memory");
}

/* --- The end --- */

static void see_to_drain(struct node_worker *w)
{
    bool open = w->state >= WORK_GREETING && w->up.state == OUTGOING_OPEN;

    if (!w->ended || (open && (!w->quiet || outgoing_waits(&w->up) > 0)))
        return;
    void (*drained)(void *arg) = w->drained; /* written by another thread before `ended` came */
    if (!drained)
        return;
    w->drained = NULL;
    drained(w->drained_arg);
}

static void server_stops(void *arg)
{
    struct node_worker *w = arg;

    w->stops = true;
    if (w->state == WORK_WORKING && !w->quiet && !ask_quiet(w))
        lose(w, "out of memory");
}

static void attempts_drained(void *arg)
{
    struct node_worker *w = arg;

    w->ended = true;
    see_to_drain(w);
}

void node_worker_on_drained(struct node_worker *w, void (*drained)(void *arg), void *arg)
{
    w->drained_arg = arg;
    w->drained = drained;
}

void node_worker_tasks_drained(void *w)
{
    node_calls_drained(((struct node_worker *)w)->calls);
}

static const struct node_calls_port calls_port = {.sends = call_sends,
                                                  .too_old = vouch_too_old,
                                                  .ended = call_ended,
                                                  .noted = call_noted,
                                                  .stops = server_stops,
                                                  .drained = attempts_drained};

/* --- What the owner asks --- */

/* False: the owner asks for something else than what it was offered.  It may ask for what it was
 * offered first while the rest is being offered. */
static bool run(struct node_worker *w, const struct envelope *e)
{
    struct node_call_request rq;

    if (w->state < WORK_REGISTERING)
        return false;
    if (!node_request_read(e, activator_now(w->options.activator), &rq))
        return false;
    if (rq.shared_len > 0 && !(w->is_process && call_params_find(w->process.params, rq.shared_at,
                                                                 rq.shared_len, &rq.params)))
        return false;
    rq.method = registry_find(w->options.registry, e->method);
    return rq.method && method_attempts_here(rq.method) && node_calls_run(w->calls, &rq);
}

/* worker.ping []: is this node still there? */
static bool pong(struct node_worker *w, const struct envelope *e)
{
    uint8_t head[ENC_RESPONSE_MAX + 1];
    const uint8_t *at = enc_nil(enc_response_head(head, e->msgid));

    return put(w, span_of(head, (size_t)(at - head)), span_text(""));
}

/* worker.cancel [call, why] */
static bool cancel(struct node_worker *w, const struct envelope *e)
{
    struct reader r;
    struct span why = {0};
    uint32_t count;
    uint64_t call;

    read_params(e->params, &r, &count);
    if (count == 0 || !read_uint(&r, &call))
        return true;
    if (count > 1)
        read_text(&r, &why);
    return node_calls_cancel(w->calls, call, span_is(why, "deadline"));
}

/* What it waits for has this id; 0: nothing. */
static uint64_t awaited(const struct node_worker *w)
{
    if (w->state == WORK_WORKING)
        return w->stops && !w->quiet ? ID_QUIET : 0;
    if (w->state == WORK_REGISTERING)
        return ID_REGISTER;
    if (w->state == WORK_GREETING)
        return w->reports ? ID_BOARD : ID_SESSION;
    return 0;
}

static bool refused(struct node_worker *w, uint64_t id, const struct envelope *e)
{
    struct reader r = reader_of(e->error);
    struct span text = {0};
    char why[TEXT_MAX];

    read_text(&r, &text);
    snprintf(why, sizeof why, "%.*s", (int)(text.len < TEXT_MAX ? text.len : TEXT_MAX),
             text.len > 0 ? (const char *)text.at : "");
    if (!w->refused)
        log_warn("handlers are not offered", LOG_STR("node", w->place.view.owner),
                 LOG_STR("reason", why));
    w->refused = true;
    if (id == ID_SESSION)
        owner_finder_note(w->options.finder, why);
    return false;
}

static bool settle_own(struct node_worker *w, uint64_t id, const struct envelope *e)
{
    if (id == 0 || id != awaited(w))
        return false;
    if (envelope_is_error(e))
        return refused(w, id, e);
    if (id == ID_QUIET) {
        w->quiet = true;
        see_to_drain(w);
        return true;
    }
    if (id == ID_SESSION) {
        owner_finder_note(w->options.finder, "");
        w->composes = vouch_composes(e->result);
    }
    w->reports = id == ID_SESSION && has_report(w);
    if (w->reports)
        return report(w);
    w->reported |= id == ID_BOARD;
    return offer_next(w);
}

static void up_message(struct outgoing *s, struct span message, const struct envelope *e,
                       uint8_t **kept)
{
    struct node_worker *w = ao_of(s, struct node_worker, up);
    struct reader r = reader_of(e->msgid);
    uint64_t id = 0;
    bool good = true;

    (void)message;
    (void)kept;
    if (e->type == ENVELOPE_RESPONSE)
        good = read_uint(&r, &id) && settle_own(w, id, e);
    else if (e->type == ENVELOPE_REQUEST)
        good = span_is(e->method, "worker.ping") ? pong(w, e) : run(w, e);
    else if (span_is(e->method, "worker.cancel"))
        good = cancel(w, e);
    if (!good)
        lose(w, "its request cannot be served");
}

/* --- The session --- */

static bool up_opened(struct outgoing *s, const char *name)
{
    struct node_worker *w = ao_of(s, struct node_worker, up);

    if (w->is_process)
        return offer_next(w);
    return (!w->place.target.tls || strcmp(name, w->place.view.owner) == 0) && greet(w);
}

static bool up_may_read(struct outgoing *s)
{
    return node_calls_bytes(ao_of(s, struct node_worker, up)->calls) < HOLDS_MAX;
}

static void up_wrote(struct outgoing *s)
{
    see_to_drain(ao_of(s, struct node_worker, up));
}

static void wait_a_while(struct node_worker *w)
{
    w->retry_at = activator_now(w->options.activator) + RETRY;
    w->state = WORK_IDLE;
    w->quiet = false;
    if (ao_state(&w->clock) == AO_STATE_INACTIVE)
        ao_sleep_until(&w->clock, w->retry_at);
}

/* What runs here for it is cancelled: the owner counts this worker as lost. */
static void up_lost(struct outgoing *s, const char *why)
{
    struct node_worker *w = ao_of(s, struct node_worker, up);

    if (w->is_process)
        w->process.lost(why);
    if (w->state == WORK_CONNECTING)
        owner_finder_note(w->options.finder, why);
    if (w->state == WORK_WORKING)
        log_info("handlers are not offered any more", LOG_STR("node", w->place.view.owner),
                 LOG_STR("reason", why), LOG_UINT("running", node_calls_count(w->calls)));
    wait_a_while(w);
    node_calls_drop(w->calls);
    see_to_drain(w);
}

static void up_ended(struct outgoing *s)
{
    (void)s;
}

static const struct outgoing_port up_port = {.opened = up_opened,
                                             .message = up_message,
                                             .may_read = up_may_read,
                                             .wrote = up_wrote,
                                             .lost = up_lost,
                                             .ended = up_ended};

/* --- The owner that it works for --- */

static bool may_work(const struct node_worker *w)
{
    return w->place.view.role == CLUSTER_FRONT && w->place.target.count > 0 && !w->stops &&
           (offers_any(w) || has_report(w));
}

static enum ao_verdict clock_step(struct ao *self)
{
    struct node_worker *w = ao_of(self, struct node_worker, clock);
    struct owner_place place;

    if (w->is_process) { /* its one step */
        w->state = WORK_CONNECTING;
        outgoing_connect(&w->up, &w->place.target);
        return AO_DONE;
    }
    owner_finder_get(w->options.finder, &place);
    bool moved = place.version != w->place.version && !owner_place_same(&w->place, &place);
    w->place = place;
    if (moved && w->up.state != OUTGOING_IDLE)
        outgoing_lose(&w->up, "another node owns the tasks");
    if (!may_work(w) || w->state != WORK_IDLE)
        return AO_DONE;
    if (activator_now(w->options.activator) < w->retry_at) {
        ao_sleep_until(&w->clock, w->retry_at);
        return AO_PARK;
    }
    w->state = WORK_CONNECTING;
    outgoing_connect(&w->up, &w->place.target);
    return AO_DONE;
}

/* --- Set-up --- */

/* The socket is connected since before the process began. */
static bool open_born(struct outgoing *s)
{
    const struct node_worker *w = ao_of(s, struct node_worker, up);

    stream_plain_open(&s->stream, w->process.socket, &s->loop->watcher);
    return true;
}

static const struct ao_class clock_class = {.name = "node worker", .step = clock_step};

static bool open_session(struct node_worker *w, char *error, size_t size)
{
    const struct node_worker_options *o = &w->options;
    struct tls_context *tls = NULL;

    if (o->tls && o->tls->cert) {
        w->tls = tls_loop_new(o->activator, NULL);
        tls = tls_context_new_client(w->tls, o->tls, error, size);
        if (!tls)
            return false;
    }
    bool good = outgoing_loop_init(&w->up_loop, o->activator, o->poller, &w->limits, tls);
    w->up_loop.open = w->is_process ? open_born : o->open;
    return good;
}

static uint32_t count_slots(const struct node_worker *w)
{
    uint32_t slots = 0;

    for (int i = 0; i < NODE_WORKER_KINDS; i++)
        slots += w->options.slots[i];
    return slots;
}

static bool open_calls(struct node_worker *w)
{
    const struct node_worker_options *o = &w->options;
    const struct node_calls_options options = {.tasks = o->tasks,
                                               .activator = o->activator,
                                               .registry = o->registry,
                                               .most = CALLS_A_SLOT * count_slots(w),
                                               .board = w->process.board,
                                               .port = &calls_port,
                                               .arg = w};

    w->calls = node_calls_new(&options);
    return w->calls != NULL;
}

/* Blocking ones first: they are few. */
static void bound_slots(uint32_t slots[NODE_WORKER_KINDS])
{
    uint32_t left = SLOTS_MAX;

    for (int i = 0; i < NODE_WORKER_KINDS; i++) {
        slots[i] = slots[i] < left ? slots[i] : left;
        left -= slots[i];
    }
}

static bool begin_clock(struct node_worker *w)
{
    if (w->is_process) {
        ao_activate(&w->clock);
        return true;
    }
    struct ao_handle *handle = ao_handle_new(&w->clock);
    if (handle)
        owner_finder_tell(w->options.finder, handle);
    return handle != NULL;
}

struct node_worker *node_worker_new(const struct node_worker_options *options, char *error,
                                    size_t size)
{
    struct node_worker *w = calloc(1, sizeof *w);

    snprintf(error, size, "out of memory");
    if (!w)
        return NULL;
    w->options = *options;
    w->is_process = options->process != NULL;
    if (w->is_process)
        w->process = *options->process;
    snprintf(w->node, sizeof w->node, "%s", options->node);
    bound_slots(w->options.slots);
    for (int i = 0; i < NODE_WORKER_KINDS; i++)
        w->offered[i] = count_offered(w, (enum node_worker_kind)i);
    w->limits = (struct scan_limits){.message_max = UINT32_MAX, .depth_max = SCAN_DEPTH_CAP};
    ao_init(&w->clock, &clock_class, options->activator);
    w->up_loop.activator = options->activator;
    outgoing_init(&w->up, &w->up_loop, &up_port);
    if (begin_clock(w) && open_session(w, error, size) && open_calls(w))
        return w;
    node_worker_free(w);
    return NULL;
}

bool node_worker_reload(struct node_worker *w, char *error, size_t size)
{
    struct tls_context *tls;

    if (!w || !w->tls)
        return true;
    tls = tls_context_new_client(w->tls, w->options.tls, error, size);
    if (tls)
        outgoing_loop_set_tls(&w->up_loop, tls);
    return tls != NULL;
}

void node_worker_free(struct node_worker *w)
{
    if (!w)
        return;
    outgoing_fini(&w->up);
    outgoing_loop_fini(&w->up_loop);
    tls_loop_free(w->tls);
    node_calls_free(w->calls);
    if (ao_state(&w->clock) != AO_STATE_INACTIVE)
        ao_deactivate(&w->clock);
    ao_fini(&w->clock);
    free(w);
}
