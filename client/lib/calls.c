#include "client/lib/calls.h"

#include <assert.h>
#include <stdlib.h>

enum { CALLS_BUCKETS = 64 }; /* at first; a power of two */

bool calls_init(struct calls *t)
{
    *t = (struct calls){.bucket_mask = CALLS_BUCKETS - 1};
    TAILQ_INIT(&t->waiting);
    TAILQ_INIT(&t->in_flight);
    t->buckets = calloc(CALLS_BUCKETS, sizeof(struct call *));
    return t->buckets != NULL;
}

void calls_fini(struct calls *t)
{
    assert(t->named == 0 && t->waiting_count == 0);
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

void calls_add(struct calls *t, struct call *call)
{
    assert(call->place != CALL_ENDING);
    if (call->id != 0) {
        if (t->named > t->bucket_mask)
            widen(t);
        hash_in(t, call);
        t->named++;
    }
    if (call->place == CALL_WAITING) {
        TAILQ_INSERT_TAIL(&t->waiting, call, link);
        t->waiting_count++;
    } else {
        TAILQ_INSERT_TAIL(&t->in_flight, call, link);
        t->in_flight_count++;
    }
}

static void unlist(struct calls *t, struct call *call)
{
    if (call->place == CALL_WAITING) {
        TAILQ_REMOVE(&t->waiting, call, link);
        t->waiting_count--;
    } else {
        TAILQ_REMOVE(&t->in_flight, call, link);
        t->in_flight_count--;
    }
}

void calls_remove(struct calls *t, struct call *call)
{
    assert(call->place != CALL_ENDING);
    unlist(t, call);
    if (call->id != 0) {
        hash_out(t, call);
        t->named--;
    }
    call->place = CALL_ENDING;
}

void calls_sent(struct calls *t, struct call *call)
{
    assert(call->place == CALL_WAITING);
    unlist(t, call);
    call->place = CALL_IN_FLIGHT;
    TAILQ_INSERT_TAIL(&t->in_flight, call, link);
    t->in_flight_count++;
}
