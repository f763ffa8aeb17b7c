#include "server/front/forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/chance.h"
#include "base/log.h"
#include "proto/encoder.h"
#include "server/front/pending.h"
#include "server/front/vouch.h"
#include "server/net/holdings.h"
#include "server/net/serving.h"
#include "server/rpc/trail.h"
#include "server/runtime/activator.h"

enum {
    POLLS_MAX = 1024, /* of a connection at a time */
    HEAD_MAX = 2 + MSGID_MAX + ENC_HEAD_MAX + METHOD_NAME_MAX,
    TEXT_MAX = 320,
    KEEP_MOST = 65536,         /* bytes of a request that is kept until it is answered */
    RESPONSES_MOST = 64 << 20, /* bytes that the owner has not read: a worker is not stopped */
    SEND_BLOCK = 32768         /* bytes; a longer answer is not copied */
};
#define TICK        AO_MS(100) /* while requests wait for an owner */
#define PAUSE_FIRST AO_MS(100) /* after a session that did not begin, and twice that each time */
#define PAUSE_MOST  AO_S(1)

struct forward {
    struct forward_options options;
    struct rpc_loop *rpc;
    struct activator *activator;
    struct ao clock; /* hears of changes, and has patience */
    struct outgoing_loop sessions;
    struct scan_limits limits; /* of the owner's messages */
    struct tls_loop *tls;
    struct owner_place place;
    LIST_HEAD(, front) fronts;
    uint64_t next_identity;
    struct forward_stats stats;
    struct refusals refusals; /* of owners here, and of nodes by this one */
};

/* What one client has passed on. */
struct front {
    struct outgoing session;
    struct forward *forward;
    struct connection *client; /* NULL: it has gone */
    LIST_ENTRY(front) link;
    struct pendings pendings;
    uint64_t rights;       /* conn_rights() that its session was opened with */
    struct conn_mode mode; /* likewise */
    uint64_t version;      /* of the place that it is connected to */
    ao_time waits_since;   /* it has no owner; AO_NEVER: it has, or wants none */
    ao_time retry_at;      /* when it may connect again */
    ao_time pause;         /* the last before that; 0: its last session began */
    uint64_t output;       /* bytes for the session that its client is charged with */
    bool greeted;          /* the owner has taken cluster.session */
    bool connecting;       /* the session is on its way */
    bool has_state;        /* something of it is at the owner */
    bool closing;          /* the owner reads no more on this session: it hands over, or stops */
    bool unwanted;         /* the owner has refused this client, which says nothing of others */
    uint64_t written;      /* messages that were written to the session */
    uint64_t was_read;  /* while `closing`: of these, from the first on, those that the owner has */
    char why[TEXT_MAX]; /* the last session was lost */
};

static ao_time now(const struct forward *f)
{
    return activator_now(f->activator);
}

static struct front *front_of(struct outgoing *s)
{
    return ao_of(s, struct front, session);
}

/* Its session takes requests. */
static bool has_session(const struct front *r)
{
    return r->greeted && !r->closing;
}

/* --- What it holds --- */

static void weigh(struct front *r, uint64_t pending_bytes)
{
    if (r->client)
        conn_hold(r->client, (int64_t)pending_bytes);
}

/* Notifications and responses that wait for the owner are held by the output alone. */
static void weigh_output(struct front *r)
{
    uint64_t waits = outgoing_waits(&r->session);

    weigh(r, waits - r->output);
    r->output = waits;
}

static void drop_output(struct front *r)
{
    weigh(r, -r->output);
    r->output = 0;
}

static uint64_t size_of(const struct pending *e)
{
    return sizeof *e + e->len;
}

/* Its request needs no answer any more, or has one.  `outcome` NULL: it is no act of this node. */
static void settle(struct front *r, struct pending *e, const char *outcome)
{
    pendings_remove(&r->pendings, e);
    if (outcome)
        trail_end(e->act, outcome);
    else
        trail_forget(e->act);
    if (r->client) {
        weigh(r, -size_of(e));
        if (e->msgid_len > 0 && !e->identity)
            conn_call_ended(r->client, !e->polls);
    }
    free(e->bytes);
    free(e);
}

static void answer(struct front *r, struct pending *e, enum ergon_error error, const char *text)
{
    struct connection *c = r->client;

    if (c && e->msgid_len > 0 && !e->identity)
        answer_error(c, span_of(e->msgid, e->msgid_len), error, NULL, span_text(text));
    settle(r, e, error_name(error));
}

/* --- Messages --- */

/* The head of a message whose last parts follow.  At most HEAD_MAX bytes. */
static uint8_t *put_head(uint8_t *p, const struct envelope *e)
{
    *p++ = e->type == ENVELOPE_NOTIFICATION ? 0x93 : 0x94;
    *p++ = (uint8_t)e->type;
    if (e->msgid.len > 0)
        memcpy(p, e->msgid.at, e->msgid.len);
    p += e->msgid.len;
    if (e->type != ENVELOPE_RESPONSE)
        return enc_str(p, e->method);
    memcpy(p, e->error.at, e->error.len);
    return p + e->error.len;
}

static struct span tail_of(const struct envelope *e)
{
    return e->type == ENVELOPE_RESPONSE ? e->result : e->params;
}

static size_t room_of(const struct envelope *e)
{
    return HEAD_MAX + e->error.len + tail_of(e).len;
}

static uint8_t *put_message(uint8_t *p, const struct envelope *e)
{
    struct span tail = tail_of(e);

    p = put_head(p, e);
    if (tail.len > 0)
        memcpy(p, tail.at, tail.len);
    return p + tail.len;
}

static bool write_bytes(struct front *r, struct span bytes)
{
    uint8_t *p = outgoing_reserve(&r->session, bytes.len);

    if (!p)
        return false;
    memcpy(p, bytes.at, bytes.len);
    outgoing_commit(&r->session, p + bytes.len);
    return true;
}

/* --- The client that it speaks for --- */

static bool is_same_mode(const struct conn_mode *a, const struct conn_mode *b)
{
    return a->error_shape == b->error_shape && a->raw == b->raw && a->push == b->push;
}

/* cluster.session, of its client as it is now.  False: it is nobody any more, or no memory. */
static bool write_identity(struct front *r)
{
    struct forward *f = r->forward;
    struct pending *e = conn_principal(r->client) ? calloc(1, sizeof *e) : NULL;
    struct pack p;
    uint8_t id[MSGID_MAX];

    if (!e)
        return false;
    pack_init(&p);
    vouch_pack(&p, r->client, &f->place.view);
    const struct envelope message = {.type = ENVELOPE_REQUEST,
                                     .msgid =
                                         span_of(id, (size_t)(enc_uint(id, f->next_identity) - id)),
                                     .method = span_text("cluster.session"),
                                     .params = pack_bytes(&p)};
    uint8_t *at = p.failed ? NULL : outgoing_reserve(&r->session, room_of(&message));
    if (at) {
        f->next_identity++;
        e->identity = true;
        e->begin = outgoing_committed(&r->session);
        e->number = ++r->written;
        outgoing_commit(&r->session, put_message(at, &message));
        pendings_add(&r->pendings, e, message.msgid);
        weigh(r, size_of(e));
        r->rights = conn_rights(r->client);
        r->mode = *conn_mode(r->client);
    } else {
        free(e);
    }
    pack_fini(&p);
    return at != NULL;
}

/* A reload, server.auth or server.hello may have changed what the owner knows of the client. */
static bool is_known(const struct front *r)
{
    return r->rights == conn_rights(r->client) && is_same_mode(&r->mode, conn_mode(r->client));
}

/* --- Its session --- */

static void stop_waiting(struct front *r)
{
    r->waits_since = AO_NEVER;
}

static void wait_for_owner(struct front *r)
{
    struct forward *f = r->forward;

    if (r->waits_since == AO_NEVER)
        r->waits_since = now(f);
    if (ao_state(&f->clock) == AO_STATE_INACTIVE)
        ao_sleep_for(&f->clock, TICK);
}

static bool has_owner(const struct forward *f)
{
    return f->place.view.role == CLUSTER_FRONT && f->place.target.count > 0;
}

/* Begins to connect, or waits until that makes sense. */
static void seek(struct front *r)
{
    struct forward *f = r->forward;

    if (r->connecting || has_session(r) || !r->client)
        return;
    wait_for_owner(r);
    if (r->greeted || !has_owner(f) || (now(f) < r->retry_at && r->version == f->place.version))
        return;
    r->connecting = true;
    r->version = f->place.version;
    outgoing_connect(&r->session, &f->place.target);
}

static bool on_opened(struct outgoing *s, const char *name)
{
    struct front *r = front_of(s);
    r->closing = false;
    r->written = 0;
    const struct owner_place *place = &r->forward->place;

    if (place->target.tls && strcmp(name, place->view.owner) != 0) {
        if (refusals_news(&r->forward->refusals, now(r->forward), name))
            log_warn("owner refused", LOG_STR("reason", "its certificate is of another name"),
                     LOG_STR("node", place->view.owner), LOG_STR("certificate", name));
        return false;
    }
    return r->client && write_identity(r);
}

/* Sends what waits.  `e` has its bytes. */
static bool send_waiting(struct front *r, struct pending *e)
{
    e->begin = outgoing_committed(&r->session);
    e->number = ++r->written;
    return write_bytes(r, span_of(e->bytes, e->len));
}

static void out_of_memory(struct front *r)
{
    if (r->client)
        conn_close(r->client, "out of memory");
}

static void on_greeted(struct front *r)
{
    struct pending *e, *next;

    r->greeted = true;
    r->connecting = false;
    stop_waiting(r);
    r->why[0] = '\0';
    r->pause = 0;
    owner_finder_note(r->forward->options.finder, "");
    counter_add(&r->forward->stats.sessions, 1);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        if (e->begin != UINT64_MAX)
            continue;
        if (!send_waiting(r, e)) {
            out_of_memory(r);
            return;
        }
        if (e->msgid_len == 0)
            settle(r, e, "ok");
    }
    weigh_output(r);
}

static bool may_read(struct outgoing *s)
{
    const struct front *r = front_of(s);

    return !r->client || !conn_output_full(r->client);
}

static void give_client(struct front *r, struct span message, uint8_t **kept)
{
    struct connection *c = r->client;

    if (*kept && message.len >= SEND_BLOCK) {
        uint8_t *block = *kept;
        *kept = NULL;
        conn_send_block(c, block, message, free);
        return;
    }
    uint8_t *p = conn_reserve(c, message.len);
    if (p) {
        memcpy(p, message.at, message.len);
        conn_commit(c, p + message.len);
    }
}

/* The answer to cluster.session.  False: the session was closed. */
static bool note_identity(struct front *r, struct pending *p, const struct envelope *e)
{
    bool first = !r->greeted, good = !envelope_is_error(e);
    struct reader reader = reader_of(e->error);
    struct span text = {0};

    read_text(&reader, &text);
    settle(r, p, NULL);
    if (good) {
        if (first)
            on_greeted(r);
        return true;
    }
    snprintf(r->why, sizeof r->why, "%.*s", (int)(text.len < 200 ? text.len : 200),
             text.len > 0 ? (const char *)text.at : "it refuses this node");
    r->unwanted = strncmp(r->why, "DENIED:", 7) != 0 && strncmp(r->why, "BUSY:", 5) != 0;
    if (refusals_news(&r->forward->refusals, now(r->forward), r->why))
        log_warn("session refused", LOG_STR("node", r->forward->place.view.owner),
                 LOG_STR("reason", r->why));
    if (!first && r->client)
        conn_close(r->client, "the node that owns the tasks refuses its rights");
    return false;
}

static void note_answer(struct front *r, struct pending *p, const struct envelope *e)
{
    char code[ERROR_NAME_MAX + 1];

    if (p->passing == PASS_STATE && !envelope_is_error(e)) {
        r->has_state = true;
        if (p->method == METHOD_worker_register)
            conn_serve(r->client, true);
    }
    settle(r, p, pending_outcome(e, code, sizeof code));
}

/* server.closing [code, text, messages]: what was read will be answered, and nothing more. */
static void note_closing(struct front *r, const struct envelope *e)
{
    struct reader reader;
    struct span skipped;
    uint32_t count;

    read_params(e->params, &reader, &count);
    if (count != 3 || !read_any(&reader, &skipped) || !read_any(&reader, &skipped) ||
        !read_uint(&reader, &r->was_read))
        return;
    r->closing = true;
}

/* It was read, and not done, as the owner hands over: the next one gets it. */
static bool waits_for_next(struct front *r, struct pending *p, const struct envelope *e)
{
    char code[ERROR_NAME_MAX + 1];

    if (!p->bytes || !envelope_is_error(e) ||
        strcmp(pending_outcome(e, code, sizeof code), error_name(ERGON_E_DRAINING)) != 0)
        return false;
    p->begin = UINT64_MAX;
    p->since = now(r->forward);
    counter_add(&r->forward->stats.resent, 1);
    if (!r->closing)
        r->was_read = r->written;
    r->closing = true;
    wait_for_owner(r);
    return true;
}

static void on_message(struct outgoing *s, struct span message, const struct envelope *e,
                       uint8_t **kept)
{
    struct front *r = front_of(s);
    struct pending *p = e->type == ENVELOPE_RESPONSE ? pendings_find(&r->pendings, e->msgid) : NULL;

    if (p && p->identity) {
        char why[TEXT_MAX];
        if (note_identity(r, p, e))
            return;
        snprintf(why, sizeof why, "%s", r->why);
        outgoing_lose(s, why);
        return;
    }
    if (e->type == ENVELOPE_NOTIFICATION && span_is(e->method, "server.closing")) {
        note_closing(r, e);
        return;
    }
    if (!r->client || (!p && e->type == ENVELOPE_RESPONSE))
        return;
    if (p && waits_for_next(r, p, e))
        return;
    give_client(r, message, kept);
    if (p)
        note_answer(r, p, e);
}

/* --- The owner is lost --- */

static void say_waiting(const struct front *r, char *buf, size_t size)
{
    const struct cluster_view *v = &r->forward->place.view;

    if (r->forward->place.why[0])
        snprintf(buf, size, "node %s owns the tasks, and cannot be reached: %s", v->owner,
                 r->forward->place.why);
    else if (v->role == CLUSTER_FRONT && v->owner[0])
        snprintf(buf, size, "node %s owns the tasks, and cannot be reached from here%s%.200s",
                 v->owner, r->why[0] ? ": " : "", r->why);
    else if (v->role == CLUSTER_LOADING)
        snprintf(buf, size, "this node reads the tasks, which moved from %s; try again later",
                 v->moving_from[0] ? v->moving_from : "another");
    else
        snprintf(buf, size, "no node owns the tasks now%s%s; try again later",
                 v->moving_from[0] ? ": they move from " : "", v->moving_from);
}

/* The lost owner has no byte of it, or has said that it did not read it. */
static bool was_unread(const struct front *r, const struct pending *e)
{
    return e->begin >= r->session.handed || (r->closing && e->number > r->was_read);
}

/* May it be sent to the next owner?  Then its bytes are kept. */
static bool goes_again(struct front *r, struct pending *e)
{
    bool unread = was_unread(r, e);

    if (e->passing == PASS_PUSHED && !unread)
        return false;
    if (!unread && e->passing != PASS_READ && e->passing != PASS_KEYED)
        return false;
    if (e->bytes || e->begin < r->session.handed)
        return e->bytes != NULL;
    e->bytes = malloc(e->len);
    if (!e->bytes)
        return false;
    memcpy(e->bytes, outgoing_unsent(&r->session, e->begin).at, e->len);
    return true;
}

static void settle_lost(struct front *r, struct pending *e, const char *why)
{
    struct forward *f = r->forward;
    char text[TEXT_MAX + 80];

    if (e->identity) {
        settle(r, e, NULL);
        return;
    }
    if (e->begin == UINT64_MAX)
        return; /* it waits anyway */
    if (goes_again(r, e)) {
        e->begin = UINT64_MAX;
        counter_add(&f->stats.resent, 1);
        return;
    }
    counter_add(&f->stats.unsure, 1);
    snprintf(text, sizeof text,
             "the node that owned the tasks was lost (%.200s): this may have been done", why);
    answer(r, e, ERGON_E_UNSURE, text);
}

/* Its session did not begin.  Of one client that is refused the node's note says nothing. */
static void pause_after(struct front *r, const char *why)
{
    struct forward *f = r->forward;

    r->pause = r->pause == 0 ? PAUSE_FIRST : 2 * r->pause;
    if (r->pause > PAUSE_MOST)
        r->pause = PAUSE_MOST;
    r->retry_at = now(f) + r->pause;
    if (!r->unwanted)
        owner_finder_note(f->options.finder, why);
}

static void on_lost(struct outgoing *s, const char *why)
{
    struct front *r = front_of(s);
    struct forward *f = r->forward;
    struct pending *e, *next;
    bool was_greeted = r->greeted, pushed = false;

    drop_output(r);
    if (r->greeted)
        counter_add(&f->stats.sessions, (uint64_t)-1);
    else
        pause_after(r, why);
    r->greeted = r->connecting = r->unwanted = false;
    snprintf(r->why, sizeof r->why, "%s", why);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        pushed |= e->passing == PASS_PUSHED && e->begin != UINT64_MAX;
        settle_lost(r, e, why);
    }
    if (!r->client)
        return;
    if (was_greeted && (r->has_state || pushed)) {
        conn_close(r->client, "the node that owned the tasks was lost");
        return;
    }
    if (r->pendings.count > 0)
        wait_for_owner(r);
}

static void on_wrote(struct outgoing *s)
{
    weigh_output(front_of(s));
}

static void front_free(struct front *r)
{
    struct pending *e;

    while ((e = TAILQ_FIRST(&r->pendings.all)) != NULL)
        settle(r, e, NULL);
    pendings_fini(&r->pendings);
    LIST_REMOVE(r, link);
    free(r);
}

static void on_ended(struct outgoing *s)
{
    front_free(front_of(s));
}

static const struct outgoing_port outgoing_port = {.opened = on_opened,
                                                   .message = on_message,
                                                   .may_read = may_read,
                                                   .wrote = on_wrote,
                                                   .lost = on_lost,
                                                   .ended = on_ended};

static struct front *front_new(struct forward *f, struct connection *c)
{
    struct front *r = calloc(1, sizeof *r);

    if (!r || !conn_set_session(c, r)) {
        free(r);
        return NULL;
    }
    r->forward = f;
    r->client = c;
    r->waits_since = AO_NEVER;
    pendings_init(&r->pendings);
    outgoing_init(&r->session, &f->sessions, &outgoing_port);
    LIST_INSERT_HEAD(&f->fronts, r, link);
    return r;
}

/* --- What comes from the client --- */

static enum passing passing_for(const struct rpc_request *rq, const struct rpc_method *own,
                                uint16_t *method)
{
    if (!own) {
        *method = PENDING_FOREIGN;
        return PASS_ONCE;
    }
    *method = (uint16_t)(own - rq->loop->methods);
    enum passing passing = passing_of(*method);
    if (passing == PASS_KEYED && (*method != METHOD_task_submit || !passing_has_key(rq->params)))
        return PASS_ONCE;
    if (passing == PASS_PUSHED && !passing_has_push(rq->params))
        return PASS_READ;
    return passing;
}

/* The request that server.cancel means; NULL: it is none that was passed on. */
static struct pending *meant(const struct front *r, const struct rpc_request *rq)
{
    struct reader reader;
    uint32_t count;
    uint64_t id;

    read_params(rq->params, &reader, &count);
    return r && count == 1 && read_uint(&reader, &id) ? pendings_of_number(&r->pendings, id) : NULL;
}

/* A long request that only the owner may do once is not copied: if a planned hand-over comes
 * before it is read, it is UNSURE. */
static bool keeps_bytes(const struct front *r, enum passing passing, const struct envelope *e)
{
    return !has_session(r) || passing == PASS_READ || passing == PASS_KEYED ||
           room_of(e) <= KEEP_MOST;
}

static bool put_bytes(struct pending *p, const struct envelope *e)
{
    p->bytes = malloc(room_of(e));
    if (!p->bytes)
        return false;
    p->len = (uint32_t)(put_message(p->bytes, e) - p->bytes);
    return true;
}

/* With an owner it is written now. */
static bool write_now(struct front *r, struct pending *p, const struct envelope *e)
{
    if (!is_known(r) && !write_identity(r))
        return false;
    p->begin = outgoing_committed(&r->session);
    p->number = ++r->written;
    if (p->bytes)
        return write_bytes(r, span_of(p->bytes, p->len));
    uint8_t *at = outgoing_reserve(&r->session, room_of(e));
    if (!at)
        return false;
    uint8_t *end = put_message(at, e);
    p->len = (uint32_t)(end - at);
    outgoing_commit(&r->session, end);
    return true;
}

static void begin(struct front *r, struct pending *p, const struct envelope *e)
{
    struct forward *f = r->forward;

    counter_add(&f->stats.passed, 1);
    p->since = now(f);
    p->begin = UINT64_MAX;
    bool good = !keeps_bytes(r, p->passing, e) || put_bytes(p, e);
    if (good && has_session(r))
        good = write_now(r, p, e);
    pendings_add(&r->pendings, p, e->msgid);
    if (e->msgid.len > 0)
        conn_call_began(r->client, !p->polls);
    weigh(r, size_of(p));
    if (!good) {
        answer(r, p, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
        return;
    }
    weigh_output(r);
    if (has_session(r) && e->msgid.len == 0)
        settle(r, p, "ok");
    else if (!has_session(r))
        seek(r);
}

/* A name of a user means another person on another machine. */
static bool is_kept_here(const struct forward *f, const struct rpc_request *rq)
{
    return !f->options.unix_users && principal_how(conn_principal(rq->conn)) == PRINCIPAL_UNIX;
}

/* Refuses what a connection may not have in flight, or lets it be handed over again. */
static bool may_pass(const struct forward *f, struct rpc_request *rq, bool polls)
{
    if (is_kept_here(f, rq)) {
        rpc_refuse(rq, ERGON_E_DENIED,
                   "calls of users of this machine are not passed to another node (cluster.unix)");
        return false;
    }
    if (polls && conn_polls(rq->conn) >= POLLS_MAX) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "%d requests of this connection wait already; wait for several ids in one",
                   POLLS_MAX);
        return false;
    }
    return rq->params.len < SMALL_PARAMS || rpc_may_begin(rq, rq->params.len);
}

static void pass(struct forward *f, struct rpc_request *rq, const struct envelope *e,
                 const struct rpc_method *own)
{
    struct front *r = conn_session(rq->conn);
    uint16_t method;
    enum passing passing = passing_for(rq, own, &method);
    bool polls = own && passing_is_poll(method);

    if (!may_pass(f, rq, polls))
        return;
    if (!r)
        r = front_new(f, rq->conn);
    struct pending *p = r ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (own && !trail_pass_on(rq, own, &p->act)) {
        free(p);
        return;
    }
    p->method = method;
    p->passing = (uint8_t)passing;
    p->polls = polls;
    begin(r, p, e);
}

static bool serves_itself(const struct forward *f)
{
    enum cluster_role role = f->options.roles.role(f->options.roles.cluster);

    return role == CLUSTER_OWNER || role == CLUSTER_ALONE;
}

static bool takes(void *arg, struct rpc_request *rq, const struct envelope *e,
                  const struct rpc_method *own)
{
    struct forward *f = arg;
    enum passing passing =
        own ? passing_of((enum ergon_method)(own - rq->loop->methods)) : PASS_ONCE;

    if (passing == PASS_HERE || serves_itself(f) || !conn_principal(rq->conn) ||
        conn_vouched(rq->conn))
        return false;
    if (passing == PASS_CANCEL) {
        struct front *r = conn_session(rq->conn);
        struct pending *p = meant(r, rq);
        if (!p)
            return false;
        if (p->begin == UINT64_MAX) { /* it waits for an owner: it is taken back at once */
            answer(r, p, ERGON_E_CANCELLED, error_meaning(ERGON_E_CANCELLED));
            rpc_answer(rq, span_text("\xc3"));
            return true;
        }
    }
    pass(f, rq, e, own);
    return true;
}

/* Of a worker: it belongs to the session that asked, so without that it belongs nowhere. */
static bool response(void *arg, struct connection *c, const struct envelope *e)
{
    struct front *r = conn_session(c);

    (void)arg;
    if (!r)
        return false;
    if (!r->greeted)
        return true;
    if (outgoing_waits(&r->session) > RESPONSES_MOST) {
        conn_close(c, "the node that owns the tasks does not read its responses");
        return true;
    }
    uint8_t *at = outgoing_reserve(&r->session, room_of(e));
    if (at) {
        r->written++;
        outgoing_commit(&r->session, put_message(at, e));
        weigh_output(r);
    } else {
        out_of_memory(r);
    }
    return true;
}

/* What it has asked is given up, as its own connection's end would be at the owner. */
static void gone(void *arg, struct connection *c)
{
    struct front *r = conn_session(c);
    struct pending *e, *next;

    (void)arg;
    if (!r)
        return;
    conn_set_session(c, NULL);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        settle(r, e, r->greeted ? error_name(ERGON_E_UNSURE) : error_name(ERGON_E_CANCELLED));
    }
    if (r->greeted)
        counter_add(&r->forward->stats.sessions, (uint64_t)-1);
    r->greeted = false;
    drop_output(r);
    r->client = NULL;
    if (!conn_ends(c))
        outgoing_end(&r->session);
}

/* --- Changes, and patience --- */

/* This node owns the tasks now: what waits is served here. */
static void serve_here(struct front *r)
{
    struct pending *e, *next;
    struct envelope message;
    const char *why;

    stop_waiting(r);
    for (e = TAILQ_FIRST(&r->pendings.all); e && r->client; e = next) {
        next = TAILQ_NEXT(e, next);
        if (e->begin != UINT64_MAX || !e->bytes)
            continue;
        uint8_t *bytes = e->bytes;
        uint32_t len = e->len;
        e->bytes = NULL;
        struct connection *c = r->client;
        settle(r, e, NULL); /* it is an act of this node's own from here on */
        if (envelope_read(span_of(bytes, len), &message, &why) == ENVELOPE_OK)
            rpc_serve_kept(r->forward->rpc, c, &message);
        free(bytes);
    }
}

static void lose_patience(struct front *r)
{
    struct forward *f = r->forward;
    struct pending *e, *next;
    char text[TEXT_MAX + 160];

    say_waiting(r, text, sizeof text);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        if (e->begin != UINT64_MAX || now(f) - e->since < f->options.patience)
            continue;
        counter_add(&f->stats.refused, 1);
        answer(r, e, ERGON_E_BUSY, text);
    }
}

/* Of a request that was sent once and waits again, patience begins anew. */
static void look_at(struct front *r)
{
    struct forward *f = r->forward;

    if (!r->client)
        return;
    if ((r->greeted || r->connecting) && r->version != f->place.version) {
        outgoing_lose(&r->session, "another node owns them now");
    }
    if (r->pendings.count == 0) {
        stop_waiting(r);
        return;
    }
    if (has_session(r))
        return;
    if (serves_itself(f))
        serve_here(r);
    else
        lose_patience(r);
    if (r->pendings.count > 0)
        seek(r);
}

static void look_at_place(struct forward *f)
{
    struct owner_place place;

    owner_finder_get(f->options.finder, &place);
    if (place.version == f->place.version)
        return;
    if (owner_place_same(&f->place, &place))
        place.version = f->place.version ? f->place.version : place.version;
    f->place = place;
}

static enum ao_verdict clock_step(struct ao *self)
{
    struct forward *f = ao_of(self, struct forward, clock);
    struct front *r, *next;
    uint64_t waiting = 0;

    look_at_place(f);
    for (r = LIST_FIRST(&f->fronts); r; r = next) {
        next = LIST_NEXT(r, link);
        look_at(r);
        if (r->waits_since != AO_NEVER)
            waiting += r->pendings.count;
    }
    counter_set(&f->stats.waiting, waiting);
    if (waiting == 0)
        return AO_DONE;
    ao_sleep_for(&f->clock, TICK);
    return AO_PARK;
}

/* --- Set-up --- */

static const struct ao_class clock_class = {.name = "front", .step = clock_step};

static const struct principal *vouched(void *arg, struct connection *c)
{
    (void)arg;
    return vouch_again(c);
}

static void session(void *arg, struct rpc_request *rq)
{
    struct forward *f = arg;
    struct cluster_view view;

    f->options.roles.view(f->options.roles.cluster, &view);
    vouch_serve(rq, &view, &f->refusals);
}

static const struct rpc_remote remote = {
    .takes = takes, .response = response, .gone = gone, .session = session, .vouched = vouched};

static struct tls_context *open_tls(struct forward *f, char *error, size_t size)
{
    f->tls = tls_loop_new(f->activator, NULL);
    return tls_context_new_client(f->tls, f->options.tls, error, size);
}

struct forward *forward_new(const struct forward_options *options, char *error, size_t size)
{
    struct forward *f = calloc(1, sizeof *f);
    struct tls_context *tls = NULL;

    snprintf(error, size, "out of memory");
    if (!f)
        return NULL;
    f->options = *options;
    f->rpc = options->rpc;
    f->activator = options->rpc->activator;
    f->limits = (struct scan_limits){.message_max = UINT32_MAX, .depth_max = SCAN_DEPTH_CAP};
    LIST_INIT(&f->fronts);
    chance_bytes(&f->next_identity, sizeof f->next_identity);
    f->next_identity |= UINT64_C(1) << 63; /* no client counts so far */
    if (options->first_identity > 0)
        f->next_identity = options->first_identity;
    ao_init(&f->clock, &clock_class, f->activator);
    struct ao_handle *handle = ao_handle_new(&f->clock);
    bool good = handle != NULL;
    if (good)
        owner_finder_tell(options->finder, handle);
    if (good && options->tls && options->tls->cert)
        good = (tls = open_tls(f, error, size)) != NULL;
    if (good && outgoing_loop_init(&f->sessions, f->activator, options->poller, &f->limits, tls)) {
        f->sessions.open = options->open;
        f->rpc->remote = &remote;
        f->rpc->remote_arg = f;
        return f;
    }
    forward_free(f);
    return NULL;
}

void forward_free(struct forward *f)
{
    struct front *r;

    if (!f)
        return;
    while ((r = LIST_FIRST(&f->fronts)) != NULL) {
        outgoing_fini(&r->session);
        front_free(r);
    }
    outgoing_loop_fini(&f->sessions);
    tls_loop_free(f->tls);
    if (ao_state(&f->clock) != AO_STATE_INACTIVE)
        ao_deactivate(&f->clock);
    ao_fini(&f->clock);
    free(f);
}

const struct forward_stats *forward_stats(const struct forward *f)
{
    return &f->stats;
}
