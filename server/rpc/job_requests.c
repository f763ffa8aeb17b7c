#include "server/rpc/job_requests.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "proto/job_options.h"
#include "server/jobs/core/ids.h"
#include "server/accounts/tally.h"
#include "server/net/holdings.h"
#include "server/rpc/call_log.h"
#include "server/rpc/spec_options.h"
#include "server/rpc/trail.h"
#include "server/tasks/actor_offer.h"

enum {
    ID_BYTES_MIN = 15,              /* of an id as a MessagePack string */
    IDS_A_SPEC = 2 * JOB_AFTER_MAX, /* after, after_any */
    POLLS_MAX = 1024,               /* of a connection at a time */
    ANSWER = 1024                   /* bytes of most answers, at most */
};

/* Sets the principal that it acts for.  Without one, it fails where authentication is required. */
static void note_rights(struct operation *op, const struct connection *c)
{
    const struct principal *who = conn_principal(c);

    op->turn_queue = conn_tally(c) ? conn_tally(c)->account->index + 1 : 0;
    if (!who)
        return;
    op->rights = rights_ref(principal_rights(who));
    op->allow = conn_allow(c);
    op->others = rpc_others_count(c);
    op->tenant = span_text(rights_owner(op->rights).tenant);
}

/* Arguments that point into the whole message. */
static bool needs_message(const struct operation *op)
{
    return op->cls->is_submission || op->cls == &operation_cron_put;
}

/* How many ids the specs can name, and the options of all of them. */
static size_t ids_max(const struct rpc_request *rq, uint32_t specs)
{
    size_t by_specs = ((size_t)specs + 1) * IDS_A_SPEC,
           by_bytes = rq->params.len / ID_BYTES_MIN + 1;

    return by_specs < by_bytes ? by_specs : by_bytes;
}

/* One block: specs, ids, and the parameters, unless these can stay where they are. */
static bool keep_message(struct job_request *jr, struct rpc_request *rq, uint32_t specs)
{
    size_t in_list = specs == 1 ? 0 : specs;
    bool to_actor = jr->op->cls == &operation_actor_call || jr->op->cls == &operation_actor_tell ||
                    jr->op->cls == &operation_actor_remind;
    size_t name = to_actor ? ACTOR_METHOD_MAX : 0;
    size_t fixed = in_list * sizeof(struct job_spec) + ids_max(rq, specs) * sizeof(uint64_t);
    struct operation *op = jr->op;
    bool stays = conn_take_message(rq->conn, rq->params, &op->message);
    uint8_t *at = operation_room(op, fixed + name + (stays ? 0 : rq->params.len));

    if (!at)
        return false;
    if (op->cls->is_submission) {
        op->submission.specs = specs == 1 ? &op->submission.spec : (struct job_spec *)at;
        op->submission.count = specs;
    }
    jr->ids = (uint64_t *)(at + in_list * sizeof(struct job_spec));
    at += fixed;
    jr->name = (char *)at;
    at += name;
    jr->params = stays ? rq->params : span_put(rq->params, &at);
    read_params(jr->params, &jr->r, &jr->count);
    jr->has_room = true;
    return true;
}

/* One block: ids, and the arguments that are to be kept. */
static bool keep_arguments(struct job_request *jr, uint32_t ids)
{
    struct operation *op = jr->op;
    size_t bytes = ids * sizeof(uint64_t);

    for (uint32_t i = 0; i < jr->kept_count; i++)
        bytes += jr->kept[i]->len;
    uint8_t *at = operation_room(op, bytes);
    if (!at)
        return false;
    jr->ids = (uint64_t *)at;
    at += ids * sizeof(uint64_t);
    for (uint32_t i = 0; i < jr->kept_count; i++)
        *jr->kept[i] = span_put(*jr->kept[i], &at);
    jr->has_room = true;
    return true;
}

void job_request_keep(struct job_request *jr, struct span *argument)
{
    assert(jr->kept_count < JOB_REQUEST_SPANS && !jr->has_room);
    jr->kept[jr->kept_count++] = argument;
}

static bool begin(struct job_request *jr, struct rpc_request *rq, uint32_t specs)
{
    struct operation *op = jr->op;

    if (!op)
        return false;
    note_rights(op, rq->conn);
    if (needs_message(op))
        return keep_message(jr, rq, specs);
    read_params(rq->params, &jr->r, &jr->count);
    return true;
}

static void refuse_memory(struct job_request *jr)
{
    rpc_refuse(jr->rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    operation_free(jr->op);
}

bool job_request_begin(struct job_request *jr, struct rpc_request *rq,
                       const struct operation_class *cls, uint32_t specs)
{
    if (rq->params.len >= SMALL_PARAMS && !rpc_may_begin(rq, rq->params.len))
        return false;
    *jr = (struct job_request){
        .rq = rq, .answer = ANSWER, .op = operation_new(channel_cells(rq->loop->channel), cls)};
    if (jr->op)
        jr->op->may_be_done = rq->loop->may_be_done;
    if (begin(jr, rq, specs))
        return true;
    refuse_memory(jr);
    return false;
}

void job_request_abort(struct job_request *jr)
{
    operation_free(jr->op);
}

static void open_call(struct job_request *jr, unsigned tag, bool counted)
{
    struct rpc_request *rq = jr->rq;
    struct operation *op = jr->op;

    rpc_open_call(rq, &op->call, tag, counted);
    op->holds = sizeof *op + op->memory.size + op->message.size + jr->answer;
    conn_hold(rq->conn, (int64_t)op->holds);
}

static void give(const struct job_request *jr)
{
    struct rpc_request *rq = jr->rq;

    jr->op->loop = rq->loop;
    jr->op->conn = conn_id(rq->conn);
    jr->op->act = trail_take(rq->loop);
    channel_give(rq->loop->channel, jr->op);
}

void job_request_open(struct job_request *jr, unsigned tag)
{
    open_call(jr, tag, true);
}

void job_request_give(struct job_request *jr)
{
    jr->op->call.tag = CALL_OPERATION;
    give(jr);
}

void job_request_close(struct job_request *jr)
{
    struct operation *op = jr->op;
    struct connection *c = op->call.owner;

    call_unlink(&op->call);
    conn_hold(c, -(int64_t)op->holds);
    operation_free(op);
    conn_call_ended(c, true);
}

void job_request_send(struct job_request *jr, bool poll)
{
    struct rpc_request *rq = jr->rq;

    if (poll && conn_polls(rq->conn) >= POLLS_MAX) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "%d requests of this connection wait already; wait for several "
                   "ids in one",
                   POLLS_MAX);
        job_request_abort(jr);
        return;
    }
    if (!jr->has_room && !keep_arguments(jr, 0)) {
        refuse_memory(jr);
        return;
    }
    open_call(jr, CALL_OPERATION | (poll ? CALL_POLL : 0), !poll);
    give(jr);
}

static bool refuse(struct job_request *jr)
{
    rpc_refuse_params(jr->rq, "; an id is the text that task.submit answered");
    return false;
}

static bool read_id(struct job_request *jr, uint64_t *id)
{
    struct span text;
    return read_text(&jr->r, &text) && id_parse(text, id);
}

bool job_request_read_id(struct job_request *jr, uint64_t *id)
{
    return (jr->count > 0 && read_id(jr, id)) || refuse(jr);
}

/* Room for the ids, of which there is one at least. */
static bool take_ids(struct job_request *jr, struct wait_arguments *wait)
{
    if (keep_arguments(jr, wait->count)) {
        wait->ids = jr->ids;
        return true;
    }
    rpc_refuse(jr->rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    return false;
}

bool job_request_read_ids(struct job_request *jr, struct wait_arguments *wait)
{
    wait->count = 1;
    if (jr->count == 0)
        return refuse(jr);
    if (!read_array(&jr->r, &wait->count))
        return take_ids(jr, wait) && job_request_read_id(jr, wait->ids);
    if (wait->count == 0 || wait->count > OPERATION_IDS_MAX) {
        rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "%s takes 1 to %d ids", jr->op->cls->method,
                   OPERATION_IDS_MAX);
        return false;
    }
    if (!take_ids(jr, wait))
        return false;
    for (uint32_t i = 0; i < wait->count; i++)
        if (!read_id(jr, &wait->ids[i]))
            return refuse(jr);
    return true;
}

bool job_request_options(struct job_request *jr, const struct option *options, uint32_t count)
{
    if (jr->count <= 2)
        return jr->count < 2 || rpc_read_options(jr->rq, &jr->r, options, count);
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "behind the id come options in one map, and no more");
    return false;
}

static bool begin_own(struct job_request *jr, struct rpc_request *rq)
{
    return job_request_begin(jr, rq, rq->loop->recent_own->operation, 0);
}

void job_request_bare(struct rpc_request *rq)
{
    struct job_request jr;

    if (begin_own(&jr, rq))
        job_request_send(&jr, false);
}

void job_request_id(struct rpc_request *rq)
{
    struct job_request jr;

    if (!begin_own(&jr, rq))
        return;
    if (job_request_read_id(&jr, &jr.op->job.id) && job_request_options(&jr, NULL, 0))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

void job_request_name(struct rpc_request *rq)
{
    struct job_request jr;

    if (!begin_own(&jr, rq))
        return;
    if (jr.count == 1 && option_name(&jr.r, &jr.op->named.name)) {
        job_request_keep(&jr, &jr.op->named.name);
        job_request_send(&jr, false);
        return;
    }
    rpc_refuse_params(rq, RPC_EXPECTS_NAME);
    job_request_abort(&jr);
}

static bool read_name_of_tenant(struct job_request *jr, struct name_arguments *named)
{
    const struct option own[] = {
        {"tenant", option_name, &named->tenant, "its owner: the name of a tenant"}};

    if (jr->count < 1 || jr->count > 2 || !option_name(&jr->r, &named->name)) {
        rpc_refuse_params(jr->rq, RPC_EXPECTS_NAME);
        return false;
    }
    return jr->count == 1 || rpc_read_options(jr->rq, &jr->r, own, 1);
}

void job_request_name_of_tenant(struct rpc_request *rq)
{
    struct job_request jr;

    if (!begin_own(&jr, rq))
        return;
    struct name_arguments *named = &jr.op->named;
    named->tenant = jr.op->tenant;
    if (read_name_of_tenant(&jr, named)) {
        job_request_keep(&jr, &named->name);
        job_request_keep(&jr, &named->tenant);
        job_request_send(&jr, false);
        return;
    }
    job_request_abort(&jr);
}

bool call_is_operation(const struct call *call)
{
    return call->tag & CALL_OPERATION;
}

bool call_is_poll(const struct call *call)
{
    return call->tag & CALL_POLL;
}

void job_request_give_up(struct rpc_loop *loop, struct call *call)
{
    struct operation *op = ao_of(call, struct operation, call);

    call_unlink(call);
    channel_drop(loop->channel, op);
}

void job_request_cancel(struct rpc_loop *loop, struct call *call)
{
    if (call->msgid_len > 0)
        answer_error(call->owner, span_of(call->msgid, call->msgid_len), ERGON_E_CANCELLED, NULL,
                     (struct span){0});
    job_request_give_up(loop, call);
}

/* Does it see the contents that it saw of tasks, by task.params or because it may do all that it
 * could? */
static bool sees_still(const struct operation *op, const struct rights *now, struct span method)
{
    const struct span all = {0};

    return rights_within(op->rights, now, method, span_text(RIGHT_CONTENTS)) ||
           rights_within(op->rights, now, all, all);
}

static bool may_still(const struct operation *op, const struct principal *who)
{
    struct span method = span_text(op->cls->method);
    const struct rights *now = who ? principal_rights(who) : NULL;

    return now && rights_within(op->rights, now, method, method) &&
           (!op->cls->shows_contents || sees_still(op, now, method));
}

void job_request_judge(struct rpc_loop *loop, struct call *call)
{
    static const char text[] = "the rights for this were reduced while it waited; ask again for "
                               "what is left";
    const struct operation *op = ao_of(call, struct operation, call);

    if (op->cls == &operation_sem_holder || !op->rights ||
        may_still(op, conn_principal(call->owner)))
        return;
    rpc_count_refused(&loop->stats, ERGON_E_DENIED);
    if (call->msgid_len > 0)
        answer_error(call->owner, span_of(call->msgid, call->msgid_len), ERGON_E_DENIED, NULL,
                     span_text(text));
    job_request_give_up(loop, call);
}

static void answer_well(struct connection *c, struct span msgid, const struct operation *op)
{
    const struct operation_reply *reply = &op->reply;

    if (reply->short_result > 0)
        answer_result(c, msgid, span_of(reply->text, reply->short_result));
    else if (pack_size(&reply->result) > 0)
        answer_packed(c, msgid, &reply->result);
    else
        answer_result(c, msgid, span_text("\xc0"));
}

static void answer(struct rpc_loop *loop, struct operation *op)
{
    struct connection *c = op->call.owner;
    struct span msgid = span_of(op->call.msgid, op->call.msgid_len);

    if (log_has(LOG_DEBUG))
        call_log_answered(c, op->call.name, msgid, op->reply.error);
    if (op->reply.error == ERGON_OK) {
        answer_well(c, msgid, op);
        return;
    }
    rpc_count_refused(&loop->stats, op->reply.error);
    answer_error(c, msgid, op->reply.error, op->reply.code[0] ? op->reply.code : NULL,
                 span_text(op->reply.text));
}

static void answered(void *arg, struct operation *op)
{
    struct connection *c = op->call.owner;
    bool counted = !(op->call.tag & CALL_POLL);

    if (op->reply.result.failed && op->reply.error == ERGON_OK)
        op->reply.error = ERGON_E_MEMORY;
    if (op->may_be_done && answer_is_unsure(op->reply.error, op->reply.text, sizeof op->reply.text))
        op->reply.error = ERGON_E_UNSURE;
    if (operation_met_own_only(op))
        trail_forget(op->act);
    else
        trail_end(op->act, op->reply.error == ERGON_OK ? "ok" : error_name(op->reply.error));
    op->act = NULL;
    if (!op->gone) {
        call_unlink(&op->call);
        if (op->call.msgid_len > 0)
            answer(arg, op);
    }
    conn_hold(c, -(int64_t)op->holds);
    operation_free(op);
    conn_call_ended(c, counted);
}

/* Closes the watch of a peer that does not read: a batch of events waits for each watch, and all of
 * them would be kept until the peer reads. */
static void close_watch(struct rpc_loop *loop, struct operation *op)
{
    struct connection *c = op->call.owner;
    char text[160];

    snprintf(text, sizeof text,
             "the events that wait to be read are too many; watch again from %" PRIu32,
             op->push.from);
    rpc_count_refused(&loop->stats, ERGON_E_BUSY);
    log_info("watch closed, since its events are not read", LOG_UINT("conn", conn_id(c)),
             LOG_PEER("peer", conn_peer(c)));
    if (op->call.msgid_len > 0)
        answer_error(c, span_of(op->call.msgid, op->call.msgid_len), ERGON_E_BUSY, NULL,
                     span_text(text));
    job_request_give_up(loop, &op->call);
}

static void pushed(void *arg, struct operation *op)
{
    struct connection *c = op->call.owner;

    if (conn_may_push(c, op->push.events->len))
        answer_push(c, op->push.events);
    else
        close_watch(arg, op);
}

struct channel_port rpc_channel_port(struct rpc_loop *loop)
{
    return (struct channel_port){.answered = answered, .pushed = pushed, .arg = loop};
}
