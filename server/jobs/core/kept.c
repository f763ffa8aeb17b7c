#include "server/jobs/core/kept.h"

#include <assert.h>

static struct kept *kept_at(const struct pairing_node *place)
{
    return ao_of((struct pairing_node *)(uintptr_t)place, struct kept, place);
}

/* The addresses make it a total order. */
static bool before(const struct pairing_node *a, const struct pairing_node *b)
{
    const struct kept *x = kept_at(a), *y = kept_at(b);
    return x->part != y->part ? x->part > y->part : (uintptr_t)x < (uintptr_t)y;
}

void kept_init(struct kept_table *all, uint64_t least)
{
    *all = (struct kept_table){.least = least};
    pairing_init(&all->most, before);
}

static uint64_t count_of(const struct kept *k)
{
    return (uint64_t)k->jobs[KEPT_WELL].count + k->jobs[KEPT_BADLY].count;
}

static uint64_t part_of(const struct kept_table *all, const struct kept *k)
{
    uint64_t bytes = kept_bytes(k->bytes), least = count_of(k) * all->least;
    return bytes > least ? bytes : least;
}

/* The first tenant of the order may keep more, and one without any behind it may keep less: the
 * order does not change, so neither is taken out. */
static void place(struct kept_table *all, struct kept *k)
{
    uint64_t was = k->part, part = part_of(all, k);
    bool stays = all->most.root == &k->place ? part >= was : !k->place.child && part <= was;
    if (was > 0 && part > 0 && stays) {
        k->part = part;
        return;
    }
    if (was > 0)
        pairing_remove(&all->most, &k->place);
    k->part = part;
    if (part > 0)
        pairing_add(&all->most, &k->place);
}

static enum kept_kind kind_of(const struct kept *k, const struct job *job)
{
    assert(kept_has(k, job));
    return job->list == &k->jobs[KEPT_WELL] ? KEPT_WELL : KEPT_BADLY;
}

static void weigh(struct kept_table *all, struct kept *k, enum kept_kind kind, uint64_t more)
{
    k->bytes[kind] += more;
    all->bytes[kind] += more;
    assert(k->bytes[kind] <= all->bytes[kind]);
    counter_add(&all->shown, more);
    place(all, k);
}

void kept_add(struct kept_table *all, struct kept *k, enum kept_kind kind, struct job *job,
              size_t bytes)
{
    job_list_push(&k->jobs[kind], job);
    weigh(all, k, kind, bytes);
}

void kept_remove(struct kept_table *all, struct kept *k, struct job *job, size_t bytes)
{
    enum kept_kind kind = kind_of(k, job);
    job_list_remove(job);
    weigh(all, k, kind, -(uint64_t)bytes);
}

void kept_weigh(struct kept_table *all, struct kept *k, const struct job *job, size_t was,
                size_t is)
{
    weigh(all, k, kind_of(k, job), (uint64_t)is - was);
}

void kept_put_off(struct kept *k, struct job *job)
{
    struct job_list *list = &k->jobs[kind_of(k, job)];
    job_list_remove(job);
    job_list_push(list, job);
}

bool kept_has(const struct kept *k, const struct job *job)
{
    return job->list == &k->jobs[KEPT_WELL] || job->list == &k->jobs[KEPT_BADLY];
}

struct kept *kept_most(const struct kept_table *all)
{
    return all->most.root ? kept_at(all->most.root) : NULL;
}

void kept_set_aside(struct kept_table *all, struct kept *k)
{
    assert(k->part > 0); /* a tenant that keeps nothing is not in the order */
    pairing_remove(&all->most, &k->place);
}

void kept_put_back(struct kept_table *all, struct kept *k)
{
    pairing_add(&all->most, &k->place);
}
