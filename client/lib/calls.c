#include "client/lib/calls.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

void call_table_init(struct calls *t)
{
    *t = (struct calls){0};
    hash_table_init(&t->by_message);
    for (int place = 0; place < CALL_ENDING; place++)
        TAILQ_INIT(&t->lists[place]);
}

void call_table_fini(struct calls *t)
{
    assert(t->by_message.count == 0 && t->counts[CALL_WAITING] == 0);
    hash_table_fini(&t->by_message);
}

/* Message ids count up: each is its own hash, and no two calls have the same. */
struct call *calls_by_message(const struct calls *t, uint32_t message_id)
{
    struct hash_link *link = hash_first(&t->by_message, message_id);
    return link != NULL ? (struct call *)((char *)link - offsetof(struct call, by_message)) : NULL;
}

struct call *calls_by_id(const struct calls *t, ergon_call_id id)
{
    struct call *c = calls_by_message(t, (uint32_t)id);
    return c != NULL && c->id == id ? c : NULL;
}

ergon_call_id calls_next_id(struct calls *t)
{
    do
        t->last_id++;
    while (t->last_id == 0 || calls_by_message(t, (uint32_t)t->last_id) != NULL);
    return t->last_id;
}

static void list_in(struct calls *t, struct call *call, enum call_place place)
{
    call->place = place;
    TAILQ_INSERT_TAIL(&t->lists[place], call, link);
    t->counts[place]++;
}

static void list_out(struct calls *t, struct call *call)
{
    TAILQ_REMOVE(&t->lists[call->place], call, link);
    t->counts[call->place]--;
    call->place = CALL_ENDING;
}

void calls_add(struct calls *t, struct call *call)
{
    assert(call->place != CALL_ENDING);
    if (call->id != 0) {
        call->by_message.hash = (uint32_t)call->id;
        hash_add(&t->by_message, &call->by_message);
    }
    list_in(t, call, call->place);
}

void calls_remove(struct calls *t, struct call *call)
{
    assert(call->place != CALL_ENDING || call->ending != NULL);
    if (call->place != CALL_ENDING) {
        list_out(t, call);
    } else {
        TAILQ_REMOVE(call->ending, call, link);
        call->ending = NULL;
        t->set_aside -= call->id != 0;
    }
    if (call->id != 0)
        hash_remove(&t->by_message, &call->by_message);
}

void calls_sent(struct calls *t, struct call *call)
{
    assert(call->place == CALL_WAITING);
    list_out(t, call);
    list_in(t, call, CALL_IN_FLIGHT);
}

void calls_set_aside(struct calls *t, enum call_place place, struct call_list *to)
{
    struct call *call;
    while ((call = TAILQ_FIRST(&t->lists[place])) != NULL) {
        list_out(t, call);
        if (call->timed)
            event_del(&call->timer); /* it must not end the call a second time */
        call->ending = to;
        t->set_aside += call->id != 0;
        TAILQ_INSERT_TAIL(to, call, link);
    }
}

/* ---- calls that are in no table ---- */

struct call *call_new(void *owner, ergon_call_id id, ergon_answer_fn *fn, void *arg)
{
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return NULL;
    call->owner = owner;
    call->id = id;
    call->fn = fn;
    call->arg = arg;
    return call;
}

void call_free(struct call *call)
{
    if (call->timed)
        event_del(&call->timer);
    free(call->frame);
    free(call);
}

void call_end(struct call *call, const struct ergon_answer *answer)
{
    ergon_answer_fn *fn = call->fn;
    void *arg = call->arg;
    call_free(call);
    if (fn != NULL)
        fn(arg, answer);
}

void call_end_as(struct call *call, enum ergon_end outcome, const char *why)
{
    call_end(call, &(struct ergon_answer){.outcome = outcome, .code = "", .text = why});
}

void calls_end(struct calls *t, struct call_list *ending, enum ergon_end outcome, const char *why)
{
    struct call *call;
    while ((call = TAILQ_FIRST(ending)) != NULL) {
        calls_remove(t, call);
        call_end_as(call, outcome, why);
    }
}
