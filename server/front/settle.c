/* How a request ends that was passed on, and what its client is charged for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/errors.h"
#include "server/front/forward_private.h"
#include "server/net/holdings.h"
#include "server/rpc/answer.h"
#include "server/rpc/trail.h"

/* --- What the client is charged --- */

static void weigh(struct front *r, uint64_t bytes)
{
    if (r->client)
        conn_hold(r->client, (int64_t)bytes);
}

/* Notifications and responses that wait for the owner have no entry: the output is all they take.
 */
void front_weigh_output(struct front *r, uint64_t waits)
{
    weigh(r, waits - r->output);
    r->output = waits;
}

static uint64_t size_of(const struct pending *e)
{
    return sizeof *e + e->len;
}

void front_weigh_request(struct front *r, const struct pending *e)
{
    weigh(r, size_of(e));
}

/* --- Its end --- */

void front_settle(struct front *r, struct pending *e, const char *outcome)
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

void front_answer(struct front *r, struct pending *e, enum ergon_error error, const char *text)
{
    struct connection *c = r->client;
    char unsure[FRONT_TEXT_MAX + 240];

    snprintf(unsure, sizeof unsure, "%s", text);
    if (pending_may_be_done(e) && answer_is_unsure(error, unsure, sizeof unsure)) {
        counter_add(&r->forward->stats.unsure, 1);
        text = unsure;
        error = ERGON_E_UNSURE;
    }
    if (c && e->msgid_len > 0 && !e->identity)
        answer_error(c, span_of(e->msgid, e->msgid_len), error, NULL, span_text(text));
    front_settle(r, e, error_name(error));
}

/* --- The owner is lost --- */

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
    e->was_read |= !unread;
    if (e->bytes || e->begin < r->session.handed)
        return e->bytes != NULL;
    e->bytes = malloc(e->len);
    if (!e->bytes)
        return false;
    memcpy(e->bytes, outgoing_unsent(&r->session, e->begin).at, e->len);
    return true;
}

bool front_refuses(struct front *r, struct pending *e)
{
    if (!e->composes || r->composes)
        return false;
    if (e->msgid_len == 0 && r->client)
        conn_close(r->client, vouch_too_old);
    front_answer(r, e, ERGON_E_STORE, vouch_too_old);
    return true;
}

void front_settle_lost(struct front *r, struct pending *e, const char *why)
{
    struct forward *f = r->forward;
    char text[FRONT_TEXT_MAX + 80];

    if (e->identity) {
        front_settle(r, e, NULL);
        return;
    }
    if (e->begin == PENDING_UNSENT)
        return;
    if (goes_again(r, e)) {
        e->begin = PENDING_UNSENT;
        e->since = forward_now(f);
        counter_add(&f->stats.resent, 1);
        return;
    }
    counter_add(&f->stats.unsure, 1);
    snprintf(text, sizeof text,
             "the node that owned the tasks was lost (%.200s): this may have been done", why);
    front_answer(r, e, ERGON_E_UNSURE, text);
}

/* --- No owner can be reached --- */

static void say_waiting(const struct front *r, char *buf, size_t size)
{
    const struct cluster_view *v = &r->forward->place.view;
    const char *why = r->why[0] ? r->why : r->forward->why;

    if (r->forward->place.why[0])
        snprintf(buf, size, "node %s owns the tasks, and cannot be reached: %s", v->owner,
                 r->forward->place.why);
    else if (v->role == CLUSTER_FRONT && v->owner[0])
        snprintf(buf, size, "node %s owns the tasks, and cannot be reached from here%s%.200s",
                 v->owner, why[0] ? ": " : "", why);
    else if (v->role == CLUSTER_LOADING)
        snprintf(buf, size, "this node reads the tasks, which moved from %s; try again later",
                 v->moving_from[0] ? v->moving_from : "another");
    else
        snprintf(buf, size, "no node owns the tasks now%s%s; try again later",
                 v->moving_from[0] ? ": they move from " : "", v->moving_from);
}

/* --- The tasks move: what explains where a task or a queue is --- */

static bool moves(const struct cluster_view *v)
{
    return v->moving_since > 0 || v->owner[0] == '\0';
}

static void pack_moving(struct pack *p, const struct front *r, const char *key, struct span name)
{
    const struct cluster_view *v = &r->forward->place.view;
    char text[FRONT_TEXT_MAX + 160];

    say_waiting(r, text, sizeof text);
    pack_map(p, 6);
    pack_key_span(p, key, name);
    pack_key_str(p, "state", NULL);
    pack_key_str(p, "reason", "moving");
    pack_key_str(p, "text", text);
    pack_key_str(p, "moving_from", v->moving_from[0] ? v->moving_from : NULL);
    pack_str(p, "moving_since");
    if (v->moving_since > 0)
        pack_uint(p, v->moving_since / AO_MS(1));
    else
        pack_nil(p);
}

/* False: it explains nothing, or is malformed. */
static bool explain_moving(struct front *r, struct pending *e)
{
    struct envelope message;
    struct span name;
    struct reader reader;
    uint32_t count;
    const char *why;
    struct pack p;

    if ((e->method != METHOD_task_explain && e->method != METHOD_queue_explain) || !e->bytes ||
        e->msgid_len == 0 || !moves(&r->forward->place.view) ||
        envelope_read(span_of(e->bytes, e->len), &message, &why) != ENVELOPE_OK)
        return false;
    read_params(message.params, &reader, &count);
    if (count != 1 || !read_text(&reader, &name))
        return false;
    pack_init(&p);
    pack_moving(&p, r, e->method == METHOD_task_explain ? "id" : "method", name);
    if (p.failed)
        front_answer(r, e, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    else
        answer_packed(r->client, span_of(e->msgid, e->msgid_len), &p);
    if (!p.failed)
        front_settle(r, e, "ok");
    pack_fini(&p);
    return true;
}

/* --- Patience --- */

static bool is_patient(const struct forward *f, const struct pending *e)
{
    ao_time now = forward_now(f);

    return now - e->since < f->options.patience && now < e->until;
}

void front_lose_patience(struct front *r)
{
    struct forward *f = r->forward;
    struct pending *e, *next;
    char text[FRONT_TEXT_MAX + 160];

    say_waiting(r, text, sizeof text);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        if (e->begin != PENDING_UNSENT || explain_moving(r, e) || is_patient(f, e))
            continue;
        if (!pending_may_be_done(e))
            counter_add(&f->stats.refused, 1);
        front_answer(r, e, ERGON_E_BUSY, text);
    }
}
