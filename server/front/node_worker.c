#include "server/front/node_worker.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "proto/encoder.h"
#include "proto/pack.h"
#include "proto/reader.h"
#include "server/front/vouch.h"
#include "server/jobs/jobs.h"
#include "server/runtime/activator.h"

enum {
    ID_SESSION = 1,
    ID_REGISTER = 2,
    ID_BOARD = 3,
    WAITS_MAX = 1 << 20, /* bytes to be written to the one side before the other is not read */
    HEAD_MAX = 320,
    TEXT_MAX = 200
};
#define RETRY AO_S(1)

enum work_state { WORK_IDLE, WORK_CONNECTING, WORK_GREETING, WORK_REGISTERING, WORK_WORKING };

struct node_worker {
    struct node_worker_options options;
    char node[CLUSTER_NAME_MAX];
    int listener; /* of `down` */
    struct outgoing up, down;
    struct outgoing_loop up_loop, down_loop;
    struct scan_limits limits;
    struct tls_loop *tls;
    struct ao clock;
    struct owner_place place;
    uint64_t version; /* of the place that `up` is connected to */
    ao_time retry_at;
    uint8_t state; /* enum work_state */
    bool refused;  /* it was said */
    bool reports;  /* the old board is on its way */
    bool reported; /* it was taken, or there is none */
};

bool node_worker_offers(const struct method *m)
{
    return m->handler->kind == ERGON_BLOCKING;
}

/* --- Writing --- */

static bool put(struct outgoing *s, struct span head, struct span tail)
{
    uint8_t *p = outgoing_reserve(s, head.len + tail.len);

    if (!p)
        return false;
    memcpy(p, head.at, head.len);
    if (tail.len > 0)
        memcpy(p + head.len, tail.at, tail.len);
    outgoing_commit(s, p + head.len + tail.len);
    return true;
}

static void lose(struct node_worker *w, const char *why)
{
    outgoing_lose(&w->up, why);
}

static bool ask(struct outgoing *s, uint64_t id, const char *method, const struct pack *p)
{
    uint8_t head[HEAD_MAX];
    uint8_t *at = enc_array(head, 4);

    if (p->failed)
        return false;
    at = enc_uint(enc_uint(at, ENVELOPE_REQUEST), id);
    at = enc_str(at, span_text(method));
    return put(s, span_of(head, (size_t)(at - head)), pack_bytes(p));
}

static bool greet(struct node_worker *w)
{
    struct pack p;

    pack_init(&p);
    vouch_pack_node(&p, &w->place.view);
    bool good = ask(&w->up, ID_SESSION, "cluster.session", &p);
    pack_fini(&p);
    w->state = WORK_GREETING;
    w->reports = false;
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
    bool good = ask(&w->up, ID_BOARD, "cluster.board", &p);
    pack_fini(&p);
    return good;
}

static bool has_report(const struct node_worker *w)
{
    const struct jobs_begun *begun;
    uint64_t epoch;

    return w->options.jobs && !w->reported && jobs_old_board(w->options.jobs, &begun, &epoch) > 0;
}

static bool offer(struct node_worker *w)
{
    const struct registry *registry = w->options.registry;
    uint32_t all = registry_count(registry), count = 0;
    struct pack p;

    for (uint32_t i = 0; i < all; i++)
        count += registry_at(registry, i) && node_worker_offers(registry_at(registry, i));
    pack_init(&p);
    pack_array(&p, 2);
    pack_array(&p, count);
    for (uint32_t i = 0; i < all && count > 0; i++)
        if (registry_at(registry, i) && node_worker_offers(registry_at(registry, i))) {
            pack_span(&p, registry_at(registry, i)->name);
            count--;
        }
    pack_map(&p, 5);
    pack_key_uint(&p, "slots", w->options.slots);
    pack_key_str(&p, "name", w->node);
    pack_key_str(&p, "host", w->node);
    pack_key_str(&p, "version", ERGON_VERSION);
    pack_key_bool(&p, "context", true);
    bool good = ask(&w->up, ID_REGISTER, "worker.register", &p);
    pack_fini(&p);
    w->state = WORK_REGISTERING;
    return good;
}

/* --- What the owner asks --- */

/* All parameters but the last, which is the context. */
static bool without_context(struct span params, uint8_t *head, size_t *head_len, struct span *rest)
{
    struct reader r = reader_of(params);
    struct span skipped;
    uint32_t count;

    if (!read_array(&r, &count) || count == 0)
        return false;
    const uint8_t *first = r.at;
    for (uint32_t i = 1; i < count; i++)
        if (!read_any(&r, &skipped))
            return false;
    *head_len = (size_t)(enc_array(head, count - 1) - head);
    *rest = span_of(first, (size_t)(r.at - first));
    return true;
}

/* False: the owner asks for something else than what it was offered. */
static bool run(struct node_worker *w, const struct envelope *e)
{
    const struct method *m = registry_find(w->options.registry, e->method);
    uint8_t head[HEAD_MAX + ENC_HEAD_MAX];
    uint8_t *at = enc_uint(enc_array(head, 4), ENVELOPE_REQUEST);
    struct span rest;
    size_t len;

    if (!m || !node_worker_offers(m))
        return false;
    memcpy(at, e->msgid.at, e->msgid.len);
    at = enc_str(at + e->msgid.len, e->method);
    if (!without_context(e->params, at, &len, &rest))
        return false;
    return put(&w->down, span_of(head, (size_t)(at - head) + len), rest);
}

/* worker.cancel [call, why] */
static bool cancel(struct node_worker *w, const struct envelope *e)
{
    struct reader r;
    uint8_t head[64];
    uint32_t count;
    uint64_t call;

    read_params(e->params, &r, &count);
    if (count == 0 || !read_uint(&r, &call))
        return true;
    uint8_t *at = enc_uint(enc_array(head, 3), ENVELOPE_NOTIFICATION);
    at = enc_str(at, span_text("server.cancel"));
    at = enc_uint(enc_array(at, 1), call);
    return put(&w->down, span_of(head, (size_t)(at - head)), span_text(""));
}

static const struct outgoing_target itself = {.count = 1};

/* What it waits for has this id; 0: nothing. */
static uint64_t awaited(const struct node_worker *w)
{
    if (w->state == WORK_REGISTERING)
        return ID_REGISTER;
    if (w->state == WORK_GREETING)
        return w->reports ? ID_BOARD : ID_SESSION;
    return 0;
}

static bool settle_own(struct node_worker *w, uint64_t id, const struct envelope *e)
{
    struct reader r = reader_of(e->error);
    struct span text = {0};
    char why[TEXT_MAX];

    if (id == 0 || id != awaited(w))
        return false;
    if (envelope_is_error(e)) {
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
    if (id == ID_SESSION)
        owner_finder_note(w->options.finder, "");
    w->reports = id == ID_SESSION && has_report(w);
    if (w->reports)
        return report(w);
    w->reported |= id == ID_BOARD;
    if (id != ID_REGISTER)
        return offer(w);
    w->state = WORK_WORKING;
    w->refused = false;
    log_info("handlers are offered", LOG_STR("node", w->place.view.owner),
             LOG_UINT("slots", w->options.slots));
    outgoing_connect(&w->down, &itself);
    return true;
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
    else if (w->state == WORK_WORKING && e->type == ENVELOPE_REQUEST)
        good = run(w, e);
    else if (w->state == WORK_WORKING && span_is(e->method, "worker.cancel"))
        good = cancel(w, e);
    if (!good)
        lose(w, "its request cannot be served");
}

/* --- What this server answers --- */

/* It has no room now: the owner gives the task to another, or to this one later. */
static bool is_busy(const struct envelope *e)
{
    struct reader r = reader_of(e->error);
    struct span text = {0};

    return read_text(&r, &text) && ((text.len > 5 && memcmp(text.at, "BUSY:", 5) == 0) ||
                                    (text.len > 9 && memcmp(text.at, "DRAINING:", 9) == 0));
}

static void down_message(struct outgoing *s, struct span message, const struct envelope *e,
                         uint8_t **kept)
{
    static const char again[] = "\xa9"
                                "AGAIN: 1s"
                                "\xc0";
    struct node_worker *w = ao_of(s, struct node_worker, down);
    uint8_t head[2 + MSGID_MAX] = {0x94, ENVELOPE_RESPONSE};
    bool good = true;

    (void)kept;
    if (e->type != ENVELOPE_RESPONSE || w->up.state != OUTGOING_OPEN)
        return;
    memcpy(head + 2, e->msgid.at, e->msgid.len);
    if (is_busy(e))
        good = put(&w->up, span_of(head, 2 + e->msgid.len), span_of(again, sizeof again - 1));
    else
        good = put(&w->up, message, span_text(""));
    if (!good)
        lose(w, "out of memory");
}

/* --- The sessions --- */

static bool up_opened(struct outgoing *s, const char *name)
{
    struct node_worker *w = ao_of(s, struct node_worker, up);

    return (!w->place.target.tls || strcmp(name, w->place.view.owner) == 0) && greet(w);
}

static bool down_opened(struct outgoing *s, const char *name)
{
    (void)s;
    (void)name;
    return true;
}

static bool up_may_read(struct outgoing *s)
{
    return outgoing_waits(&ao_of(s, struct node_worker, up)->down) < WAITS_MAX;
}

static bool down_may_read(struct outgoing *s)
{
    return outgoing_waits(&ao_of(s, struct node_worker, down)->up) < WAITS_MAX;
}

/* The other one may wait for room in the output of this one. */
static void kick_if_full(struct outgoing *other)
{
    if (other->full)
        outgoing_kick(other);
}

static void up_wrote(struct outgoing *s)
{
    kick_if_full(&ao_of(s, struct node_worker, up)->down);
}

static void down_wrote(struct outgoing *s)
{
    kick_if_full(&ao_of(s, struct node_worker, down)->up);
}

static void wait_a_while(struct node_worker *w)
{
    w->retry_at = activator_now(w->options.activator) + RETRY;
    w->state = WORK_IDLE;
    if (ao_state(&w->clock) == AO_STATE_INACTIVE)
        ao_sleep_until(&w->clock, w->retry_at);
}

/* What runs here for it is given up: the owner counts this worker as lost. */
static void up_lost(struct outgoing *s, const char *why)
{
    struct node_worker *w = ao_of(s, struct node_worker, up);

    if (w->state == WORK_CONNECTING)
        owner_finder_note(w->options.finder, why);
    if (w->state == WORK_WORKING)
        log_info("handlers are not offered any more", LOG_STR("node", w->place.view.owner),
                 LOG_STR("reason", why));
    wait_a_while(w);
    w->down.target = NULL; /* if it was about to connect */
    if (w->down.state != OUTGOING_IDLE)
        outgoing_lose(&w->down, why);
}

static void down_lost(struct outgoing *s, const char *why)
{
    struct node_worker *w = ao_of(s, struct node_worker, down);

    if (w->up.state != OUTGOING_IDLE)
        outgoing_lose(&w->up, why);
}

static void ended(struct outgoing *s)
{
    (void)s;
}

static const struct outgoing_port up_port = {.opened = up_opened,
                                             .message = up_message,
                                             .may_read = up_may_read,
                                             .wrote = up_wrote,
                                             .lost = up_lost,
                                             .ended = ended};
static const struct outgoing_port down_port = {.opened = down_opened,
                                               .message = down_message,
                                               .may_read = down_may_read,
                                               .wrote = down_wrote,
                                               .lost = down_lost,
                                               .ended = ended};

/* A pair of sockets, of which the acceptor adopts one end. */
static bool open_pair(struct outgoing *s)
{
    struct node_worker *w = ao_of(s, struct node_worker, down);
    struct net_origin from = {.is_user = false};
    struct sockaddr_in *here = (struct sockaddr_in *)&from.address;
    int fds[2];

    here->sin_family = AF_INET;
    here->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(from.certificate, sizeof from.certificate, "%s", w->node);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        outgoing_lose(s, "there is no socket");
        return false;
    }
    if (net_adopt(w->options.acceptor, (uint32_t)w->listener, fds[1], &from) != 0) {
        close(fds[0]);
        outgoing_lose(s, "out of memory");
        return false;
    }
    stream_plain_open(&s->stream, fds[0], &s->loop->watcher);
    return true;
}

/* --- The owner that it works for --- */

static bool may_work(const struct node_worker *w)
{
    return w->place.view.role == CLUSTER_FRONT && w->place.target.count > 0;
}

static enum ao_verdict clock_step(struct ao *self)
{
    struct node_worker *w = ao_of(self, struct node_worker, clock);
    struct owner_place place;

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

static const struct ao_class clock_class = {.name = "node worker", .step = clock_step};

static bool open_listener(struct node_worker *w, char *error, size_t size)
{
    const struct listener_options options = {
        .url = "unix:///node-worker", .auth = LISTENER_AUTH_CERT, .without_roles = true};
    struct url way;

    if (!w->options.acceptor)
        return true;
    url_parse(options.url, URL_LISTEN, &way);
    w->listener = acceptor_listen_inside(w->options.acceptor, &way, &options, error, size);
    return w->listener >= 0;
}

static bool open_sessions(struct node_worker *w, char *error, size_t size)
{
    const struct node_worker_options *o = &w->options;
    struct tls_context *tls = NULL;

    if (o->tls && o->tls->cert) {
        w->tls = tls_loop_new(o->activator, NULL);
        tls = tls_context_new_client(w->tls, o->tls, error, size);
        if (!tls)
            return false;
    }
    bool good = outgoing_loop_init(&w->up_loop, o->activator, o->poller, &w->limits, tls) &&
                outgoing_loop_init(&w->down_loop, o->activator, o->poller, &w->limits, NULL);
    w->up_loop.open = o->open_up;
    w->down_loop.open = o->open_down ? o->open_down : open_pair;
    return good;
}

struct node_worker *node_worker_new(const struct node_worker_options *options, char *error,
                                    size_t size)
{
    struct node_worker *w = calloc(1, sizeof *w);

    snprintf(error, size, "out of memory");
    if (!w)
        return NULL;
    w->options = *options;
    snprintf(w->node, sizeof w->node, "%s", options->node);
    w->limits = (struct scan_limits){.message_max = UINT32_MAX, .depth_max = SCAN_DEPTH_CAP};
    ao_init(&w->clock, &clock_class, options->activator);
    w->up_loop.activator = w->down_loop.activator = options->activator;
    outgoing_init(&w->up, &w->up_loop, &up_port);
    outgoing_init(&w->down, &w->down_loop, &down_port);
    struct ao_handle *handle = ao_handle_new(&w->clock);
    if (handle)
        owner_finder_tell(options->finder, handle);
    if (handle && open_sessions(w, error, size) && open_listener(w, error, size))
        return w;
    node_worker_free(w);
    return NULL;
}

void node_worker_free(struct node_worker *w)
{
    if (!w)
        return;
    outgoing_fini(&w->up);
    outgoing_fini(&w->down);
    outgoing_loop_fini(&w->up_loop);
    outgoing_loop_fini(&w->down_loop);
    tls_loop_free(w->tls);
    if (ao_state(&w->clock) != AO_STATE_INACTIVE)
        ao_deactivate(&w->clock);
    ao_fini(&w->clock);
    free(w);
}
