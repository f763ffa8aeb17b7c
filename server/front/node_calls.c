#include "server/front/node_calls.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/units.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/pack.h"
#include "server/runtime/activator.h"
#include "server/runtime/threads/mpsc.h"
#include "server/tasks/call_board.h"
#include "server/tasks/turn.h"

enum {
    NOTES_MAX = 4 << 20, /* bytes of notes on their way to the loop; more are dropped */
    ANSWER_MAX = 512     /* bytes of an answer without a result */
};
#define NO_ROOM_WAIT AO_S(1)

/* --- Between the threads --- */

enum message_kind {
    MESSAGE_RUN, /* to the manager's thread; back as MESSAGE_END */
    MESSAGE_CANCEL,
    MESSAGE_DROP,
    MESSAGE_END,
    MESSAGE_NOTE,
    MESSAGE_STOP,
    MESSAGE_DRAINED
};

struct message {
    struct mpsc_item item; /* first */
    uint32_t session;
    uint8_t kind; /* enum message_kind */
    bool late;    /* MESSAGE_CANCEL */
    uint64_t number;
};

struct node_call {
    struct message message; /* first */
    STAILQ_ENTRY(node_call) next;
    struct method *method;
    struct span params;
    ao_time deadline;
    uint64_t id;
    struct attempt_batches batches;
    uint32_t attempt;
    struct trace_link trace;
    struct span checkpoint;
    struct node_call **slot;
    struct attempt_mark *mark; /* on the board; NULL: there is none */
    struct task *task;         /* NULL: it waits in its queue */
    bool dropped;
    uint64_t bytes; /* of its memory */
    struct span head, tail;
    void *result;      /* malloc'ed, with `tail`; or NULL */
    struct pack sends; /* zeroed: it submits nothing */
    uint8_t answer[ANSWER_MAX];
    uint8_t memory[]; /* params, unless they are shared; tracestate, checkpoint */
};
STAILQ_HEAD(call_queue, node_call);

struct note {
    struct message message; /* first */
    struct node_call_note note;
    size_t size;
    uint8_t bytes[];
};

struct node_calls {
    /* Read-only once set up. */
    struct tasks *tasks;
    struct activator *activator, *manager;
    const struct node_calls_port *port;
    void *arg;
    struct job_source jobs; /* that of the jobs */
    uint32_t most, pool_count;
    struct call_board *board; /* its places are the manager's thread's */

    struct mpsc to_manager, to_loop;
    /* Bytes of notes on their way to the loop.  Orders nothing (relaxed): a bound, the notes are
     * published by their list. */
    _Atomic uint64_t noted;

    /* The loop's. */
    struct ao news; /* takes `to_loop` */
    struct ao_handle *news_handle;
    uint32_t session, count;
    uint64_t bytes;

    /* The manager's thread's. */
    struct ao intake; /* takes `to_manager` */
    struct ao_handle *intake_handle;
    struct message stop, drained;
    bool stopping, cancels;
    uint32_t used;              /* of `slots` */
    struct node_call **slots;   /* `most`; an attempt's owner is the place of its call there */
    struct call_queue queues[]; /* by index of the pool */
};

static void activate(const struct node_calls *c, struct ao *receiver, struct ao_handle *handle)
{
    if (c->activator == c->manager)
        ao_activate(receiver);
    else
        ao_post(handle, AO_POST_ACTIVATE);
}

static void send_to_manager(struct node_calls *c, struct message *m)
{
    if (mpsc_push(&c->to_manager, &m->item))
        activate(c, &c->intake, c->intake_handle);
}

static void send_to_loop(struct node_calls *c, struct message *m)
{
    if (mpsc_push(&c->to_loop, &m->item))
        activate(c, &c->news, c->news_handle);
}

static struct message *message_of(struct mpsc_item *item)
{
    return ao_of(item, struct message, item);
}

static struct node_call *call_of(struct message *m)
{
    return ao_of(m, struct node_call, message);
}

static void free_call(struct node_call *call)
{
    free(call->result);
    pack_fini(&call->sends);
    free(call);
}

/* --- The manager's thread: ends --- */

static void leave(struct node_calls *c, struct node_call *call)
{
    if (!call->slot)
        return;
    *call->slot = NULL;
    call->slot = NULL;
    c->used--;
    if (call->mark)
        call_board_take(c->board, call->mark);
    call->mark = NULL;
}

static void end(struct node_calls *c, struct node_call *call)
{
    leave(c, call);
    if (call->dropped) {
        free_call(call);
        return;
    }
    call->message.kind = MESSAGE_END;
    send_to_loop(c, &call->message);
}

static struct span id_of(const struct node_call *call, uint8_t room[ENC_INT_MAX])
{
    return span_of(room, (size_t)(enc_uint(room, call->message.number) - room));
}

static void fail(struct node_calls *c, struct node_call *call, const struct error_answer *error)
{
    uint8_t id[ENC_INT_MAX];
    const uint8_t *at = enc_error_response(call->answer, sizeof call->answer, id_of(call, id),
                                           ERROR_SHAPE_TEXT, error);

    call->head = span_of(call->answer, (size_t)(at - call->answer));
    end(c, call);
}

/* The owner runs it again in this time, here or elsewhere. */
static void end_again(struct node_calls *c, struct node_call *call, ao_time after)
{
    char text[32];

    units_duration_text(after, text, sizeof text);
    fail(c, call,
         &(struct error_answer){
             .code = ERGON_E_FAILED, .name = span_text("AGAIN"), .text = span_text(text)});
}

static void end_cancelled(struct node_calls *c, struct node_call *call)
{
    if (c->cancels)
        end_again(c, call, 0);
    else
        fail(c, call, &(struct error_answer){.code = ERGON_E_CANCELLED});
}

static bool lies_in(struct span inner, struct span outer)
{
    uintptr_t from = (uintptr_t)inner.at - (uintptr_t)outer.at;

    return from <= outer.len && inner.len <= outer.len - from;
}

/* The result is copied unless the handler allocated a block for it, or it is part of the
 * parameters. */
static bool take_result(struct node_call *call, struct outcome *outcome)
{
    call->tail = outcome->result;
    if (outcome->block) {
        call->result = outcome->block;
        outcome->block = NULL;
    } else if (!lies_in(outcome->result, call->params)) {
        uint8_t *copy = call->result = malloc(outcome->result.len);
        if (!copy)
            return false;
        memcpy(copy, outcome->result.at, outcome->result.len);
        call->tail.at = copy;
    }
    return true;
}

/* Notifications worker.submit [call, {task, tell}], one for each so that they stay in their order.
 * False without memory. */
static bool take_sends(struct node_call *call, const struct attempt_turn *turn)
{
    struct pack *p = &call->sends;

    if (!turn || turn->changes.messages.count == 0)
        return true;
    pack_init(p);
    for (const struct turn_message *m = turn->changes.messages.first; m; m = m->next) {
        pack_array(p, 3);
        pack_uint(p, ENVELOPE_NOTIFICATION);
        pack_str(p, "worker.submit");
        pack_array(p, 2);
        pack_uint(p, call->message.number);
        turn_message_pack(m, p);
    }
    return !p->failed;
}

static void end_done(struct node_calls *c, struct node_call *call, const struct attempt_end *r)
{
    uint8_t id[ENC_INT_MAX];

    if (!take_sends(call, r->turn) || !take_result(call, r->outcome)) {
        pack_fini(&call->sends);
        call->sends = (struct pack){0};
        fail(c, call, &(struct error_answer){.code = ERGON_E_MEMORY});
        return;
    }
    const uint8_t *at = enc_response_head(call->answer, id_of(call, id));
    call->head = span_of(call->answer, (size_t)(at - call->answer));
    end(c, call);
}

/* --- The manager's thread: the source --- */

/* NULL: the attempt is of the jobs. */
static struct node_call *own_call(const struct node_calls *c, const void *owner)
{
    uintptr_t at = (uintptr_t)owner - (uintptr_t)c->slots;

    return at < c->most * sizeof *c->slots ? *(struct node_call *const *)owner : NULL;
}

static bool has_call(const struct node_calls *c, uint32_t pool)
{
    return pool < c->pool_count && !STAILQ_EMPTY(&c->queues[pool]);
}

static bool ready(void *arg, uint32_t pool, uint32_t room)
{
    const struct node_calls *c = arg;

    return has_call(c, pool) || c->jobs.ready(c->jobs.arg, pool, room);
}

static bool take(void *arg, uint32_t pool, struct attempt_spec *run)
{
    struct node_calls *c = arg;

    if (!has_call(c, pool))
        return c->jobs.take(c->jobs.arg, pool, run);
    const struct node_call *call = STAILQ_FIRST(&c->queues[pool]);
    STAILQ_REMOVE_HEAD(&c->queues[pool], next);
    bool has = call->checkpoint.len > 0; /* without memory it begins without */
    *run = (struct attempt_spec){.method = call->method,
                                 .params = call->params,
                                 .deadline = call->deadline,
                                 .timeout = AO_NEVER,
                                 .id = call->id,
                                 .batches = call->batches,
                                 .attempt = call->attempt,
                                 .owner = call->slot,
                                 .mark = call->mark,
                                 .trace = &call->trace,
                                 .turn = has ? turn_new((struct span){0}, call->checkpoint, NULL)
                                             : NULL};
    return true;
}

static void given(void *arg, const struct attempt_spec *run, struct task *t)
{
    struct node_calls *c = arg;
    struct node_call *call = own_call(c, run->owner);

    if (!call)
        c->jobs.given(c->jobs.arg, run, t);
    else if (t)
        call->task = t;
    else
        end_again(c, call, NO_ROOM_WAIT);
}

static void settle(void *arg)
{
    struct node_calls *c = arg;

    c->jobs.settle(c->jobs.arg);
}

static void returned(void *arg, const struct attempt_end *r)
{
    struct node_calls *c = arg;
    struct node_call *call = own_call(c, r->owner);
    struct outcome *outcome = r->outcome;

    if (!call)
        c->jobs.returned(c->jobs.arg, r);
    else if (r->again)
        end_again(c, call, r->after);
    else if (c->cancels && outcome->error != ERGON_OK)
        end_again(c, call, 0); /* it ends for this node's sake */
    else if (outcome->error == ERGON_OK)
        end_done(c, call, r);
    else
        fail(c, call,
             &(struct error_answer){
                 .code = outcome->error, .name = span_text(outcome->code), .text = outcome->text});
}

static void noted(void *arg, const struct attempt_note *note)
{
    struct node_calls *c = arg;
    const struct node_call *call = own_call(c, note->owner);
    struct span bytes = note->kind == NOTE_PROGRESS ? note->text : note->data;
    size_t size = sizeof(struct note) + bytes.len;

    if (!call) {
        c->jobs.noted(c->jobs.arg, note);
        return;
    }
    bool room = atomic_load_explicit(&c->noted, memory_order_relaxed) + size <= NOTES_MAX;
    struct note *n = room && !call->dropped ? malloc(size) : NULL;
    if (!n)
        return;
    *n = (struct note){.message = {.session = call->message.session, .kind = MESSAGE_NOTE},
                       .note = {.number = call->message.number,
                                .kind = note->kind,
                                .done = note->done,
                                .total = note->total,
                                .bytes = span_of(n->bytes, bytes.len)},
                       .size = size};
    if (bytes.len > 0)
        memcpy(n->bytes, bytes.at, bytes.len);
    atomic_fetch_add_explicit(&c->noted, size, memory_order_relaxed);
    send_to_loop(c, &n->message);
}

static void cancel(struct node_calls *c, struct node_call *call, bool late)
{
    const struct attempt_mark *mark;

    if (!call->task) {
        STAILQ_REMOVE(&c->queues[job_source_pool(call->method)], call, node_call, next);
        end_cancelled(c, call);
    } else if (attempt_withdraw(c->tasks, call->task, &mark)) {
        end_cancelled(c, call);
    } else {
        attempt_flag(c->tasks, call->task, late ? ATTEMPT_LATE : ATTEMPT_CANCEL);
    }
}

static void cancel_all(struct node_calls *c, bool drop)
{
    for (uint32_t i = 0; i < c->most && c->used > 0; i++) {
        if (!c->slots[i])
            continue;
        c->slots[i]->dropped |= drop;
        cancel(c, c->slots[i], false);
    }
}

static void give_back_queued(struct node_calls *c)
{
    struct node_call *call;

    for (uint32_t i = 0; i < c->pool_count; i++)
        while ((call = STAILQ_FIRST(&c->queues[i]))) {
            STAILQ_REMOVE_HEAD(&c->queues[i], next);
            end_again(c, call, 0);
        }
}

static void stop(void *arg, bool cancels)
{
    struct node_calls *c = arg;

    c->jobs.stop(c->jobs.arg, cancels);
    if (!c->stopping) {
        c->stop = (struct message){.kind = MESSAGE_STOP};
        send_to_loop(c, &c->stop);
    }
    c->stopping = true;
    c->cancels |= cancels;
    give_back_queued(c);
    if (cancels)
        cancel_all(c, false);
}

void node_calls_drained(void *calls)
{
    struct node_calls *c = calls;

    c->drained = (struct message){.kind = MESSAGE_DRAINED};
    send_to_loop(c, &c->drained);
}

/* These functions are for the jobs alone, so their source answers. */

static void full(void *arg, uint32_t pool, bool is_full)
{
    const struct node_calls *c = arg;
    c->jobs.full(c->jobs.arg, pool, is_full);
}

static void offered(void *arg, struct method *method, bool workers, struct span last)
{
    const struct node_calls *c = arg;
    c->jobs.offered(c->jobs.arg, method, workers, last);
}

static uint16_t joined(void *arg, const struct source_label *label)
{
    const struct node_calls *c = arg;
    return c->jobs.joined(c->jobs.arg, label);
}

static void left(void *arg, uint16_t label)
{
    const struct node_calls *c = arg;
    c->jobs.left(c->jobs.arg, label);
}

static void secret(void *arg, struct method *method, bool is_secret)
{
    const struct node_calls *c = arg;
    c->jobs.secret(c->jobs.arg, method, is_secret);
}

static bool typed(void *arg, const struct actor_offer *offer)
{
    const struct node_calls *c = arg;
    return c->jobs.typed(c->jobs.arg, offer);
}

/* --- The manager's thread: messages of the loop --- */

static struct node_call **free_slot(const struct node_calls *c)
{
    uint32_t i = 0;

    if (c->used == c->most)
        return NULL;
    while (c->slots[i])
        i++;
    return &c->slots[i];
}

static void run(struct node_calls *c, struct node_call *call)
{
    uint32_t pool = job_source_pool(call->method);

    assert(pool < c->pool_count);
    call->slot = free_slot(c);
    if (!call->slot || c->stopping) {
        call->slot = NULL;
        end_again(c, call, c->stopping ? 0 : NO_ROOM_WAIT);
        return;
    }
    *call->slot = call;
    c->used++;
    if (c->board)
        call->mark = call_board_give(c->board, call->message.number);
    STAILQ_INSERT_TAIL(&c->queues[pool], call, next);
    job_source_wake(c->tasks, pool);
}

static void cancel_number(struct node_calls *c, const struct message *m)
{
    for (uint32_t i = 0; i < c->most; i++) {
        struct node_call *call = c->slots[i];
        if (!call || call->message.number != m->number || call->message.session != m->session)
            continue;
        cancel(c, call, m->late);
        return;
    }
}

static enum ao_verdict intake_step(struct ao *self)
{
    struct node_calls *c = ao_of(self, struct node_calls, intake);
    struct mpsc_item *next;

    for (struct mpsc_item *item = mpsc_take(&c->to_manager); item; item = next) {
        struct message *m = message_of(item);
        next = item->next;
        if (m->kind == MESSAGE_RUN) {
            run(c, call_of(m));
            continue;
        }
        if (m->kind == MESSAGE_CANCEL)
            cancel_number(c, m);
        else
            cancel_all(c, true);
        free(m);
    }
    return AO_DONE;
}

static const struct ao_class intake_class = {.name = "node calls", .step = intake_step};

/* --- The loop --- */

static void pass_note(struct node_calls *c, struct note *n)
{
    atomic_fetch_sub_explicit(&c->noted, n->size, memory_order_relaxed);
    if (n->message.session == c->session)
        c->port->noted(c->arg, &n->note);
    free(n);
}

/* It may not end well without what it submits. */
static void pass_too_old(const struct node_calls *c, const struct node_call *call)
{
    struct pack p;
    char text[ANSWER_MAX];

    snprintf(text, sizeof text, "STORE: %s", c->port->too_old);
    pack_init(&p);
    pack_array(&p, 4);
    pack_uint(&p, 1);
    pack_uint(&p, call->message.number);
    pack_str(&p, text);
    pack_nil(&p);
    c->port->ended(c->arg, pack_bytes(&p), (struct span){0});
    pack_fini(&p);
}

static void pass_end(struct node_calls *c, struct node_call *call)
{
    if (call->message.session == c->session) {
        c->count--;
        c->bytes -= call->bytes;
        bool sends = pack_bytes(&call->sends).len > 0;
        if (sends && !c->port->sends(c->arg, pack_bytes(&call->sends)))
            pass_too_old(c, call);
        else
            c->port->ended(c->arg, call->head, call->tail);
    }
    free_call(call);
}

static enum ao_verdict news_step(struct ao *self)
{
    struct node_calls *c = ao_of(self, struct node_calls, news);
    struct mpsc_item *next;

    for (struct mpsc_item *item = mpsc_take(&c->to_loop); item; item = next) {
        struct message *m = message_of(item);
        next = item->next;
        if (m->kind == MESSAGE_NOTE)
            pass_note(c, ao_of(m, struct note, message));
        else if (m->kind == MESSAGE_END)
            pass_end(c, call_of(m));
        else if (m->kind == MESSAGE_STOP)
            c->port->stops(c->arg);
        else
            c->port->drained(c->arg);
    }
    return AO_DONE;
}

static const struct ao_class news_class = {.name = "node calls", .step = news_step};

static struct span copy(uint8_t **to, struct span from)
{
    uint8_t *at = *to;

    if (from.len > 0)
        memcpy(at, from.at, from.len);
    *to += from.len;
    return span_of(at, from.len);
}

bool node_calls_run(struct node_calls *c, const struct node_call_request *rq)
{
    size_t bytes = ENC_HEAD_MAX + rq->values.len + rq->trace.state.len + rq->checkpoint.len;
    struct node_call *call = malloc(sizeof *call + bytes);

    if (!call)
        return false;
    *call = (struct node_call){
        .message = {.kind = MESSAGE_RUN, .session = c->session, .number = rq->number},
        .method = rq->method,
        .deadline = rq->deadline,
        .id = rq->id,
        .batches = rq->batches,
        .attempt = rq->attempt,
        .bytes = bytes};
    uint8_t *at = enc_array(call->memory, rq->count);
    copy(&at, rq->values);
    call->params =
        rq->params.len > 0 ? rq->params : span_of(call->memory, (size_t)(at - call->memory));
    call->trace = (struct trace_link){rq->trace.context, copy(&at, rq->trace.state)};
    call->checkpoint = copy(&at, rq->checkpoint);
    c->count++;
    c->bytes += bytes;
    send_to_manager(c, &call->message);
    return true;
}

static bool send_brief(struct node_calls *c, struct message brief)
{
    struct message *m = malloc(sizeof *m);

    if (!m)
        return false;
    *m = brief;
    m->session = c->session;
    send_to_manager(c, m);
    return true;
}

bool node_calls_cancel(struct node_calls *c, uint64_t number, bool late)
{
    return send_brief(c, (struct message){.kind = MESSAGE_CANCEL, .number = number, .late = late});
}

void node_calls_drop(struct node_calls *c)
{
    if (c->count > 0)
        send_brief(c, (struct message){.kind = MESSAGE_DROP}); /* without memory they run on */
    c->session++;
    c->count = 0;
    c->bytes = 0;
}

uint32_t node_calls_count(const struct node_calls *c)
{
    return c->count;
}

uint64_t node_calls_bytes(const struct node_calls *c)
{
    return c->bytes;
}

/* --- Set-up --- */

static void connect_source(struct node_calls *c)
{
    struct job_source source = c->jobs;

    source.arg = c;
    source.ready = ready;
    source.take = take;
    source.given = given;
    source.returned = returned;
    source.settle = settle;
    source.noted = noted;
    source.full = full;
    source.offered = offered;
    source.joined = joined;
    source.left = left;
    source.secret = secret;
    source.typed = typed;
    source.stop = stop;
    tasks_set_job_source(c->tasks, &source);
}

static uint32_t count_pools(const struct registry *registry)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < registry_count(registry); i++) {
        uint32_t pool = job_source_pool(registry_at(registry, i));
        count = pool >= count ? pool + 1 : count;
    }
    return count;
}

struct node_calls *node_calls_new(const struct node_calls_options *options)
{
    uint32_t pools = count_pools(options->registry);
    struct node_calls *c = calloc(1, sizeof *c + pools * sizeof c->queues[0]);

    if (!c)
        return NULL;
    c->tasks = options->tasks;
    c->activator = options->activator;
    c->manager = tasks_manager_activator(options->tasks);
    c->port = options->port;
    c->arg = options->arg;
    c->most = options->most;
    c->board = options->board;
    c->pool_count = pools;
    for (uint32_t i = 0; i < pools; i++)
        STAILQ_INIT(&c->queues[i]);
    mpsc_init(&c->to_manager);
    mpsc_init(&c->to_loop);
    ao_init(&c->news, &news_class, c->activator);
    ao_init(&c->intake, &intake_class, c->manager);
    c->news_handle = ao_handle_new(&c->news);
    c->intake_handle = ao_handle_new(&c->intake);
    c->slots = calloc(c->most, sizeof *c->slots);
    if (!c->news_handle || !c->intake_handle || !c->slots) {
        node_calls_free(c);
        return NULL;
    }
    c->jobs = *tasks_job_source(c->tasks);
    connect_source(c);
    return c;
}

static void free_object(struct ao *ao, struct ao_handle *handle)
{
    if (ao_state(ao) != AO_STATE_INACTIVE)
        ao_deactivate(ao);
    ao_fini(ao);
    if (handle)
        ao_handle_unref(handle);
}

static void free_messages(struct mpsc *list)
{
    struct mpsc_item *next;

    for (struct mpsc_item *item = mpsc_take(list); item; item = next) {
        struct message *m = message_of(item);
        next = item->next;
        if (m->kind == MESSAGE_RUN || m->kind == MESSAGE_END)
            free_call(call_of(m));
        else if (m->kind != MESSAGE_STOP && m->kind != MESSAGE_DRAINED)
            free(m);
    }
}

void node_calls_free(struct node_calls *c)
{
    if (!c)
        return;
    if (c->jobs.ready)
        tasks_set_job_source(c->tasks, &c->jobs);
    free_messages(&c->to_manager);
    free_messages(&c->to_loop);
    for (uint32_t i = 0; c->slots && i < c->most; i++)
        if (c->slots[i])
            free_call(c->slots[i]);
    free(c->slots);
    free_object(&c->news, c->news_handle);
    free_object(&c->intake, c->intake_handle);
    free(c);
}
