#include "client/lib/calls.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

enum { CALLS_BUCKETS = 64 }; /* at first; a power of two */

bool calls_init(struct calls *t)
{
    *t = (struct calls){.bucket_mask = CALLS_BUCKETS - 1};
    for (int place = 0; place < CALL_ENDING; place++)
        TAILQ_INIT(&t->lists[place]);
    t->buckets = calloc(CALLS_BUCKETS, sizeof(struct call *));
    return t->buckets != NULL;
}

void calls_fini(struct calls *t)
{
    assert(t->named == 0 && t->counts[CALL_WAITING] == 0);
    free(t->buckets);
    t->buckets = NULL;
}

/* Ids count up, so the low bits spread them over the buckets by themselves. */
static struct call **bucket_of(const struct calls *t, uint32_t message_id)
{
    return &t->buckets[message_id & t->bucket_mask];
}

struct call *calls_by_message(const struct calls *t, uint32_t message_id)
{
    struct call *c = *bucket_of(t, message_id);
    while (c != NULL && (uint32_t)c->id != message_id)
        c = c->hash_next;
    return c;
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

static void hash_in(struct calls *t, struct call *call)
{
    struct call **bucket = bucket_of(t, (uint32_t)call->id);
    call->hash_next = *bucket;
    *bucket = call;
}

static void hash_out(struct calls *t, struct call *call)
{
    struct call **at = bucket_of(t, (uint32_t)call->id);
    while (*at != call)
        at = &(*at)->hash_next;
    *at = call->hash_next;
}

/* Longer chains when memory is out: slower, not wrong. */
static void widen(struct calls *t)
{
    size_t old = t->bucket_mask + 1;
    struct call **before = t->buckets;
    struct call **wider = calloc(old * 2, sizeof(struct call *));
    if (wider == NULL)
        return;
    t->buckets = wider;
    t->bucket_mask = old * 2 - 1;
    for (size_t i = 0; i < old; i++) {
        struct call *next;
        for (struct call *c = before[i]; c != NULL; c = next) {
            next = c->hash_next;
            hash_in(t, c);
        }
    }
    free(before);
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
        if (t->named > t->bucket_mask)
            widen(t);
        hash_in(t, call);
        t->named++;
    }
    list_in(t, call, call->place);
}

void calls_remove(struct calls *t, struct call *call)
{
    assert(call->place != CALL_ENDING);
    list_out(t, call);
    if (call->id != 0) {
        hash_out(t, call);
        t->named--;
    }
}

void calls_sent(struct calls *t, struct call *call)
{
    assert(call->place == CALL_WAITING);
    list_out(t, call);
    list_in(t, call, CALL_IN_FLIGHT);
}

void calls_detach(struct calls *t, enum call_place place, struct call_list *to)
{
    struct call *call;
    while ((call = TAILQ_FIRST(&t->lists[place])) != NULL) {
        calls_remove(t, call);
        if (call->timed)
            event_del(&call->timer); /* it must not end the call a second time */
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

void calls_end(struct call_list *ending, enum ergon_end outcome, const char *why)
{
    struct call *call;
    while ((call = TAILQ_FIRST(ending)) != NULL) {
        TAILQ_REMOVE(ending, call, link);
        call_end_as(call, outcome, why);
    }
}
