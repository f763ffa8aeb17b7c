/* Ids are counted up, so they are their own hash: neighbours in time are neighbours here. */
#include <stdlib.h>

#include "server/jobs/core/keys.h"
#include "server/jobs/core/slots.h"

enum { AHEAD = 8 /* splits; less than SLOTS_FIRST */ };

int id_table_init(struct id_table *t)
{
    *t = (struct id_table){.buckets = slots_new(), .size = SLOTS_FIRST};
    return t->buckets ? 0 : -1;
}

void id_table_fini(struct id_table *t)
{
    free(t->buckets);
}

struct job *id_find(const struct id_table *t, uint64_t id)
{
    struct job *job = t->buckets[slots_at(id, t->size)];
    while (job && job->id != id)
        job = job->id_next;
    return job;
}

static void put(struct id_table *t, struct job *job)
{
    struct job **bucket = &t->buckets[slots_at(job->id, t->size)];
    job->id_next = *bucket;
    *bucket = job;
}

/* The chain that is split some adds from now: it was made long ago, and is fetched meanwhile. */
static const void *chain_ahead(const struct id_table *t)
{
    const struct job *job = t->buckets[slots_split(t->size + AHEAD)];
    return job ? &job->id_next : NULL;
}

static void grow(struct id_table *t)
{
    struct job **buckets = slots_grow(t->buckets, t->size);
    if (!buckets)
        return;
    struct job **split = &buckets[slots_split(t->size)];
    struct job *job = *split, *next;
    *split = NULL;
    t->buckets = buckets;
    t->size++;
    for (; job; job = next) {
        next = job->id_next;
        put(t, job);
    }
    __builtin_prefetch(chain_ahead(t));
}

void id_add(struct id_table *t, struct job *job)
{
    if (t->count >= t->size)
        grow(t);
    put(t, job);
    t->count++;
}

void id_remove(struct id_table *t, struct job *job)
{
    struct job **at = &t->buckets[slots_at(job->id, t->size)];
    while (*at && *at != job)
        at = &(*at)->id_next;
    if (!*at)
        return;
    *at = job->id_next;
    job->id_next = NULL;
    t->count--;
}
