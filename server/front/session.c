/* The session of one client to the owner: how it begins, what it brings, how it is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/encoder.h"
#include "server/front/forward_private.h"
#include "server/net/holdings.h"
#include "server/net/serving.h"

enum {
    SEND_BLOCK = 32768,  /* bytes; a longer answer is handed over without a copy */
    CONNECTING_MOST = 64 /* sessions of a loop; more would time out while the owner shakes hands */
};
#define GREETING_TIME AO_S(3)    /* until the owner has answered cluster.session */
#define STOCK_PAUSE   AO_MS(10)  /* between a session that has begun and the next of the stock */
#define PAUSE_FIRST   AO_MS(100) /* after a session that did not begin; doubled each time */
#define PAUSE_MOST    AO_S(1)

static struct front *front_of(struct outgoing *s)
{
    return ao_of(s, struct front, session);
}

/* --- Output --- */

static void note_place(struct front *r, struct pending *e)
{
    r->written++;
    if (!e)
        return;
    e->begin = outgoing_committed(&r->session);
    e->number = r->written;
}

bool session_write(struct front *r, struct pending *e)
{
    uint32_t charged = e->len;

    if (!pending_pass_time(e, forward_now(r->forward)))
        return false;
    conn_hold(r->client, (int64_t)e->len - charged);
    uint8_t *p = outgoing_reserve(&r->session, e->len);
    if (!p)
        return false;
    note_place(r, e);
    memcpy(p, e->bytes, e->len);
    outgoing_commit(&r->session, p + e->len);
    return true;
}

bool session_write_message(struct front *r, struct pending *e, const struct envelope *message)
{
    uint8_t *at = outgoing_reserve(&r->session, message_room(message));

    if (!at)
        return false;
    note_place(r, e);
    uint8_t *end = message_put(at, message);
    if (e)
        e->len = (uint32_t)(end - at);
    outgoing_commit(&r->session, end);
    return true;
}

void session_out_of_memory(struct front *r)
{
    if (r->client)
        conn_close(r->client, "out of memory");
}

/* --- The client for which it speaks --- */

/* Sends cluster.session with the client as it is now. */
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
    bool good = !p.failed && session_write_message(r, e, &message);
    if (good) {
        f->next_identity++;
        e->identity = true;
        pendings_add(&r->pendings, e, message.msgid);
        front_weigh_request(r, e);
        r->rights = conn_rights(r->client);
        r->mode = *conn_mode(r->client);
    } else {
        free(e);
    }
    pack_fini(&p);
    return good;
}

bool session_greet_again(struct front *r)
{
    const struct conn_mode *mode = conn_mode(r->client);

    if (r->rights == conn_rights(r->client) && r->mode.error_shape == mode->error_shape &&
        r->mode.raw == mode->raw && r->mode.push == mode->push)
        return true;
    return write_identity(r);
}

static bool greet(struct front *r)
{
    r->greet_until = forward_now(r->forward) + GREETING_TIME;
    return write_identity(r);
}

/* --- Its begin --- */

/* The clock looks at this client again. */
static void await(struct front *r)
{
    struct forward *f = r->forward;

    if (!r->waits)
        TAILQ_INSERT_TAIL(&f->waiting, r, turn);
    r->waits = true;
    if (ao_state(&f->clock) == AO_STATE_INACTIVE)
        ao_sleep_for(&f->clock, FRONT_TICK);
}

void session_await_no_more(struct front *r)
{
    if (r->waits)
        TAILQ_REMOVE(&r->forward->waiting, r, turn);
    r->waits = false;
}

/* It has begun, or failed: another client may connect. */
static void note_connected(struct front *r)
{
    struct forward *f = r->forward;

    if (!r->connecting)
        return;
    r->connecting = false;
    f->connecting--;
    if (!TAILQ_EMPTY(&f->waiting) && ao_state(&f->clock) == AO_STATE_SLEEPING)
        ao_wake(&f->clock);
}

void session_leave(struct front *r)
{
    session_await_no_more(r);
    note_connected(r);
}

static bool has_owner(const struct forward *f)
{
    return f->place.view.role == CLUSTER_FRONT && f->place.target.count > 0;
}

/* While the owner cannot be reached one client at a time tries, for all of the loop. */
static bool may_try(const struct forward *f)
{
    return f->unreachable ? f->connecting == 0 && forward_now(f) >= f->retry_at
                          : f->connecting < CONNECTING_MOST;
}

/* Has the owner not answered the first cluster.session in time? */
static bool is_silent(const struct front *r)
{
    return r->connecting && r->session.state == OUTGOING_OPEN &&
           forward_now(r->forward) >= r->greet_until;
}

void session_seek(struct front *r)
{
    struct forward *f = r->forward;

    if (is_silent(r))
        outgoing_lose(&r->session, "it does not answer");
    if (r->connecting || session_takes(r) || !r->client)
        return;
    await(r);
    if (r->greeted || !has_owner(f) || forward_now(f) < r->retry_at || !may_try(f))
        return;
    r->connecting = true;
    f->connecting++;
    if (r->session.state == OUTGOING_OPEN && greet(r))
        return;
    if (r->session.state == OUTGOING_OPEN) {
        outgoing_lose(&r->session, "out of memory");
        return;
    }
    r->version = f->place.version;
    outgoing_connect(&r->session, &f->place.target);
}

/* Not at once: a client that was just accepted sends its first requests now.  While others wait the
 * clock steps anyway. */
static void stock_plan(struct forward *f)
{
    if (f->stock_planned || f->stock_count >= f->options.stock || !TAILQ_EMPTY(&f->waiting))
        return;
    f->stock_planned = true;
    if (ao_state(&f->clock) == AO_STATE_SLEEPING)
        ao_deactivate(&f->clock);
    if (ao_state(&f->clock) == AO_STATE_INACTIVE)
        ao_sleep_for(&f->clock, STOCK_PAUSE);
}

static bool on_opened(struct outgoing *s, const char *name)
{
    struct front *r = front_of(s);
    const struct owner_place *place = &r->forward->place;

    r->closing = false;
    r->written = 0;
    if (place->target.tls && strcmp(name, place->view.owner) != 0) {
        if (refusals_news(&r->forward->refusals, forward_now(r->forward), name))
            log_warn("owner refused", LOG_STR("reason", "its certificate is of another name"),
                     LOG_STR("node", place->view.owner), LOG_STR("certificate", name));
        return false;
    }
    if (!r->spare)
        return r->client && greet(r);
    stock_plan(r->forward);
    return true;
}

static void note_reached(struct forward *f)
{
    f->unreachable = false;
    f->pause = 0;
    f->why[0] = '\0';
}

/* The owner has accepted it: sends what waits. */
static void on_greeted(struct front *r)
{
    struct pending *e, *next;

    r->greeted = true;
    r->from_stock = false;
    session_await_no_more(r);
    note_reached(r->forward);
    note_connected(r);
    r->why[0] = '\0';
    r->pause = 0;
    owner_finder_note(r->forward->options.finder, "");
    counter_add(&r->forward->stats.sessions, 1);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        if (e->begin != PENDING_UNSENT || front_refuses(r, e))
            continue;
        if (!session_write(r, e)) {
            session_out_of_memory(r);
            return;
        }
        if (e->msgid_len == 0)
            front_settle(r, e, "ok");
    }
    front_weigh_output(r, outgoing_waits(&r->session));
    r->forward->stocks = true;
    stock_plan(r->forward);
}

/* --- The stock --- */

static struct front *new_front(struct forward *f)
{
    struct front *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->forward = f;
    pendings_init(&r->pendings);
    outgoing_init(&r->session, &f->sessions, &front_port);
    LIST_INSERT_HEAD(&f->fronts, r, link);
    return r;
}

static void leave_stock(struct front *r)
{
    struct forward *f = r->forward;

    LIST_REMOVE(r, link);
    LIST_INSERT_HEAD(&f->fronts, r, link);
    r->spare = false;
    f->stock_count--;
}

/* They are as old as one that was lost, begun before the TLS files were read again, or connected to
 * a former owner. */
static void stock_drop(struct forward *f)
{
    struct front *r;

    f->stocks = false;
    while ((r = LIST_FIRST(&f->stock)) != NULL) {
        leave_stock(r);
        outgoing_end(&r->session);
    }
}

/* One after the other, so that clients which come now do not wait for several handshakes. */
static void stock_fill(struct forward *f)
{
    const struct front *last = LIST_FIRST(&f->stock);

    f->stock_planned = false;
    if (!f->stocks || f->stock_count >= f->options.stock || !has_owner(f) || f->unreachable ||
        !TAILQ_EMPTY(&f->waiting) || (last && last->session.state != OUTGOING_OPEN))
        return;
    struct front *r = new_front(f);
    if (!r)
        return;
    LIST_REMOVE(r, link);
    LIST_INSERT_HEAD(&f->stock, r, link);
    f->stock_count++;
    r->spare = true;
    r->version = f->place.version;
    outgoing_connect(&r->session, &f->place.target);
}

void stock_tend(struct forward *f)
{
    const struct front *r = LIST_FIRST(&f->stock);

    if (r && r->version != f->place.version)
        stock_drop(f);
    stock_fill(f);
}

/* One that is connected; NULL: there is none. */
static struct front *stock_take(struct forward *f)
{
    struct front *r;

    if (outgoing_loop_renews(&f->sessions))
        stock_drop(f);
    LIST_FOREACH(r, &f->stock, link)
    {
        if (r->session.state != OUTGOING_OPEN)
            continue;
        leave_stock(r);
        r->from_stock = true;
        return r;
    }
    return NULL;
}

/* --- What it brings --- */

static bool may_read(struct outgoing *s)
{
    const struct front *r = front_of(s);

    if (!r->client || !conn_output_full(r->client))
        return true;
    conn_await_room(r->client);
    return false;
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

static void note_refusal(struct front *r, struct span text)
{
    snprintf(r->why, sizeof r->why, "%.*s", (int)(text.len < 200 ? text.len : 200),
             text.len > 0 ? (const char *)text.at : "it refuses this node");
    r->unwanted = strncmp(r->why, "DENIED:", 7) != 0 && strncmp(r->why, "BUSY:", 5) != 0;
    if (refusals_news(&r->forward->refusals, forward_now(r->forward), r->why))
        log_warn("session refused", LOG_STR("node", r->forward->place.view.owner),
                 LOG_STR("reason", r->why));
}

/* The answer to cluster.session.  False: the session has to be closed. */
static bool note_identity(struct front *r, struct pending *p, const struct envelope *e)
{
    bool first = !r->greeted;
    struct reader reader = reader_of(e->error);
    struct span text = {0};

    read_text(&reader, &text);
    front_settle(r, p, NULL);
    if (!envelope_is_error(e)) {
        r->composes = vouch_composes(e->result);
        if (first)
            on_greeted(r);
        return true;
    }
    note_refusal(r, text);
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
    front_settle(r, p, pending_outcome(e, code, sizeof code));
}

/* server.closing [code, text, messages]: the owner answers the messages that it has read, and reads
 * no more of them. */
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

/* The owner has read it and not done it, since it hands over: the next owner gets it. */
static bool waits_for_next(struct front *r, struct pending *p, const struct envelope *e)
{
    if (!p->bytes || !pending_hands_over(e))
        return false;
    p->begin = PENDING_UNSENT;
    p->since = forward_now(r->forward);
    counter_add(&r->forward->stats.resent, 1);
    if (!r->closing)
        r->was_read = r->written;
    r->closing = true;
    await(r);
    return true;
}

/* The owner refuses what a lost one may have done. */
static bool stays_unsure(struct front *r, struct pending *p, const struct envelope *e)
{
    char code[ERROR_NAME_MAX + 1];

    if (!pending_may_be_done(p) || !envelope_is_error(e))
        return false;
    enum ergon_error error = error_find(pending_outcome(e, code, sizeof code));
    if (!error_retryable(error))
        return false;
    front_answer(r, p, error, error_meaning(error));
    return true;
}

static void on_message(struct outgoing *s, struct span message, const struct envelope *e,
                       uint8_t **kept)
{
    struct front *r = front_of(s);
    struct pending *p = e->type == ENVELOPE_RESPONSE ? pendings_find(&r->pendings, e->msgid) : NULL;

    if (p && p->identity) {
        char why[FRONT_TEXT_MAX];
        if (note_identity(r, p, e))
            return;
        snprintf(why, sizeof why, "%s", r->why);
        outgoing_lose(s, why);
        return;
    }
    if (e->type == ENVELOPE_NOTIFICATION && span_is(e->method, "server.closing")) {
        if (r->spare)
            outgoing_lose(s, "it closes");
        else
            note_closing(r, e);
        return;
    }
    if (!r->client || (!p && e->type == ENVELOPE_RESPONSE))
        return;
    if (p && (waits_for_next(r, p, e) || stays_unsure(r, p, e)))
        return;
    give_client(r, message, kept);
    if (p)
        note_answer(r, p, e);
}

/* --- Its end --- */

static ao_time next_pause(ao_time last)
{
    ao_time next = last == 0 ? PAUSE_FIRST : 2 * last;

    return next < PAUSE_MOST ? next : PAUSE_MOST;
}

/* The owner refuses one client, which says nothing of the node. */
static void note_unwanted(struct front *r)
{
    note_reached(r->forward);
    r->pause = next_pause(r->pause);
    r->retry_at = forward_now(r->forward) + r->pause;
}

/* Sessions that fail together count as one. */
static void note_unreachable(struct forward *f, const char *why)
{
    bool moves = f->place.view.moving_since > 0; /* the owner reads the tasks, and accepts soon */

    if (!f->unreachable || forward_now(f) >= f->retry_at) {
        f->pause = next_pause(moves ? 0 : f->pause);
        f->retry_at = forward_now(f) + f->pause;
    }
    f->unreachable = true;
    snprintf(f->why, sizeof f->why, "%s", why);
    owner_finder_note(f->options.finder, why);
}

/* A session has failed before the owner accepted it, and not since another node owns the tasks.
 * That one of the stock was lost meanwhile says nothing of the owner: the others may be lost, too.
 */
static void note_failed(struct front *r, const char *why)
{
    if (r->from_stock && r->why[0] == '\0')
        stock_drop(r->forward);
    else if (r->unwanted)
        note_unwanted(r);
    else if (r->version == r->forward->place.version)
        note_unreachable(r->forward, why);
}

static void on_lost(struct outgoing *s, const char *why)
{
    struct front *r = front_of(s);
    struct forward *f = r->forward;
    struct pending *e, *next;
    bool was_greeted = r->greeted, pushed = false;

    if (r->spare) {
        leave_stock(r);
        f->stocks = false;
        outgoing_end(s);
        return;
    }
    front_weigh_output(r, 0);
    if (r->greeted)
        counter_add(&f->stats.sessions, (uint64_t)-1);
    else
        note_failed(r, why);
    if (!r->unwanted)
        r->why[0] = '\0';
    note_connected(r);
    r->greeted = r->unwanted = r->from_stock = false;
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        pushed |= e->passing == PASS_PUSHED && e->begin != PENDING_UNSENT;
        front_settle_lost(r, e, why);
    }
    if (!r->client)
        return;
    if (was_greeted && (r->has_state || pushed)) {
        conn_close(r->client, "the node that owned the tasks was lost");
        return;
    }
    if (r->pendings.count > 0)
        await(r);
}

static void on_wrote(struct outgoing *s)
{
    front_weigh_output(front_of(s), outgoing_waits(s));
}

struct front *front_new(struct forward *f, struct connection *client)
{
    struct front *r = stock_take(f);

    if (!r)
        r = new_front(f);
    if (r && !conn_set_session(client, r)) {
        outgoing_end(&r->session);
        return NULL;
    }
    if (r)
        r->client = client;
    return r;
}

void front_free(struct front *r)
{
    struct pending *e;

    while ((e = TAILQ_FIRST(&r->pendings.all)) != NULL)
        front_settle(r, e, NULL);
    session_leave(r);
    pendings_fini(&r->pendings);
    LIST_REMOVE(r, link);
    free(r);
}

static void on_ended(struct outgoing *s)
{
    front_free(front_of(s));
}

const struct outgoing_port front_port = {.opened = on_opened,
                                         .message = on_message,
                                         .may_read = may_read,
                                         .wrote = on_wrote,
                                         .lost = on_lost,
                                         .ended = on_ended};
