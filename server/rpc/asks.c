#include "server/rpc/asks.h"

#include <stdlib.h>

#include "proto/encoder.h"
#include "server/ledger/ids.h"

enum ask_tag { TAG_ASK = 1, TAG_POLL = 2 };
enum {
    ID_BYTES_MIN = 15, /* of an id as a MessagePack string */
    POLLS_MAX = 1024   /* of a connection at a time */
};

static const char event_method[] = "task.event";

/* One block: orders, ids, the principal's name, the parameters. */
static bool ask_memory(struct ask_build *b, struct rpc_request *rq, uint32_t orders)
{
    const struct principal *who = conn_principal(rq->conn);
    const char *name = who ? principal_name(who) : "";
    size_t name_len = strlen(name), ids = rq->params.len / ID_BYTES_MIN + 1;
    size_t in_list = orders == 1 ? 0 : orders;
    size_t fixed = in_list * sizeof(struct order) + ids * sizeof(uint64_t);
    struct ask *a = b->ask;
    uint8_t *at = ask_room(a, fixed + name_len + rq->params.len);

    if (!at)
        return false;
    a->orders = orders == 1 ? &a->order : (struct order *)at;
    b->ids = a->ids = (uint64_t *)(at + in_list * sizeof(struct order));
    at += fixed;
    memcpy(at, name, name_len);
    a->principal = span_of(at, name_len);
    a->confined = who && !principal_may(who, span_text("task.any"));
    at += name_len;
    if (rq->params.len > 0)
        memcpy(at, rq->params.at, rq->params.len);
    read_params(span_of(at, rq->params.len), &b->r, &b->count);
    return true;
}

bool ask_begin(struct ask_build *b, struct rpc_request *rq, enum ask_verb verb, uint32_t orders)
{
    *b = (struct ask_build){.rq = rq, .ask = ask_new(ledger_asks(rq->loop->door), verb)};
    if (b->ask && ask_memory(b, rq, orders)) {
        b->ask->order_count = orders;
        return true;
    }
    if (b->ask)
        ask_free(b->ask);
    rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    return false;
}

void ask_abort(struct ask_build *b)
{
    ask_free(b->ask);
}

void ask_send(struct ask_build *b, bool poll)
{
    struct rpc_request *rq = b->rq;
    struct call *c = &b->ask->call;

    if (poll && conn_polls(rq->conn) >= POLLS_MAX) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "%d requests of this connection wait already; wait for several "
                   "ids in one",
                   POLLS_MAX);
        ask_abort(b);
        return;
    }
    c->owner = rq->conn;
    c->list = (struct call **)conn_user(rq->conn);
    c->msgid_len = (uint8_t)rq->msgid.len;
    c->tag = (uint8_t)(TAG_ASK | (poll ? TAG_POLL : 0));
    if (rq->msgid.len > 0)
        memcpy(c->msgid, rq->msgid.at, rq->msgid.len);
    call_link(c);
    conn_call_began(rq->conn, !poll);
    b->ask->loop = rq->loop;
    ledger_give(rq->loop->door, b->ask);
}

static bool read_id(struct ask_build *b)
{
    struct span text;
    struct ask *a = b->ask;
    return read_text(&b->r, &text) && id_parse(text, &a->ids[a->id_count++]);
}

static bool refuse(struct ask_build *b, const char *usage)
{
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "%s; an id is the text that task.submit answered", usage);
    return false;
}

bool ask_read_id(struct ask_build *b, const char *usage)
{
    return (b->count > 0 && read_id(b)) || refuse(b, usage);
}

bool ask_read_ids(struct ask_build *b, const char *usage)
{
    uint32_t count;

    if (b->count == 0)
        return refuse(b, usage);
    if (!read_array(&b->r, &count))
        return ask_read_id(b, usage);
    if (count == 0 || count > ASK_IDS_MAX) {
        rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "%s; 1 to %d ids", usage, ASK_IDS_MAX);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!read_id(b))
            return refuse(b, usage);
    return true;
}

bool call_is_ask(const struct call *call)
{
    return call->tag & TAG_ASK;
}

void ask_give_up(struct rpc_loop *loop, struct call *call)
{
    struct ask *a = ao_of(call, struct ask, call);

    call_unlink(call);
    ledger_drop(loop->door, a);
}

void ask_cancel(struct rpc_loop *loop, struct call *call)
{
    if (call->msgid_len > 0)
        answer_error(call->owner, span_of(call->msgid, call->msgid_len), ERGON_E_CANCELLED, NULL,
                     (struct span){0});
    ask_give_up(loop, call);
}

static void answer(struct rpc_loop *loop, struct ask *a)
{
    struct connection *c = a->call.owner;
    struct span msgid = span_of(a->call.msgid, a->call.msgid_len);

    if (a->error == ERGON_OK) {
        struct span result = ask_result(a);
        answer_result(c, msgid, result.len > 0 ? result : span_text("\xc0"));
        return;
    }
    counter_add(&loop->stats.refused, 1);
    answer_error(c, msgid, a->error, a->code[0] ? a->code : NULL, span_text(a->text));
}

void rpc_ask_answered(void *arg, struct ask *a)
{
    struct connection *c = a->call.owner;
    bool counted = !(a->call.tag & TAG_POLL);

    if (a->result.failed && a->error == ERGON_OK)
        a->error = ERGON_E_MEMORY;
    if (!a->gone) {
        call_unlink(&a->call);
        if (a->call.msgid_len > 0)
            answer(arg, a);
    }
    ask_free(a);
    conn_call_ended(c, counted);
}

/* [2, "task.event", [id, event]] */
static void notify(struct connection *c, struct span params)
{
    bool raw = conn_mode(c)->raw;
    size_t len = raw ? enc_raw_length(params) : params.len;
    uint8_t *p = conn_reserve(c, 2 + ENC_HEAD_MAX + sizeof event_method + len);

    if (!p)
        return;
    p = enc_uint(enc_array(p, 3), 2);
    p = enc_str(p, span_text(event_method));
    if (raw) {
        p = enc_raw(p, params);
    } else {
        memcpy(p, params.at, params.len);
        p += params.len;
    }
    conn_commit(c, p);
}

void rpc_ask_pushed(void *arg, struct ask_push *push)
{
    struct span message = pack_bytes(&push->message);

    (void)arg;
    if (!push->ask->gone && message.len > 0)
        notify(push->ask->call.owner, message);
    pack_fini(&push->message);
    free(push);
}
