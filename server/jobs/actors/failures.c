#include "server/jobs/actors/failures.h"

#include <stdlib.h>

#include "server/jobs/accessors.h"

/* Of one actor, found by its address. */
struct failures {
    struct hash_link link; /* first */
    uint32_t count;        /* all of them */
    uint32_t room;         /* of `times` */
    ao_time times[];       /* of the last ones: a ring */
};

static uint64_t hash_of(const struct actor *a)
{
    return (uint64_t)(uintptr_t)a >> 4;
}

static struct failures *failures_of(const struct actor *a)
{
    struct hash_link *link = a->failed ? hash_first(&a->type->actors->failures, hash_of(a)) : NULL;
    return (struct failures *)link; /* no two actors have one hash */
}

void failures_forget(struct actor *a)
{
    struct failures *f = failures_of(a);
    if (!f)
        return;
    hash_remove(&a->type->actors->failures, &f->link);
    a->failed = false;
    free(f);
}

uint32_t failures_count(const struct actor *a)
{
    const struct failures *f = failures_of(a);
    return f ? f->count : 0;
}

/* With room for as many times as its type wants; NULL without memory. */
static struct failures *failures_with_room(struct actor *a, uint32_t room)
{
    struct failures *f = failures_of(a);
    if (f && f->room == room)
        return f;
    struct failures *made = calloc(1, sizeof *made + room * sizeof(ao_time));
    if (!made)
        return NULL;
    made->room = room;
    made->count = f ? f->count : 0;
    failures_forget(a);
    made->link.hash = hash_of(a);
    hash_add(&a->type->actors->failures, &made->link);
    a->failed = true;
    return made;
}

bool failures_note(struct actor *a)
{
    const struct actor_policy *policy = &a->type->policy;
    struct failures *f = failures_with_room(a, policy->intensity);
    ao_time now = table_now(jobs_table(a->type->actors->jobs));
    if (!f)
        return false;
    f->count += f->count < UINT32_MAX;
    if (f->room == 0)
        return false;
    ao_time *at = &f->times[(f->count - 1) % f->room], *oldest = &f->times[f->count % f->room];
    *at = now > 0 ? now : 1;
    return *oldest > 0 && (now <= *oldest || now - *oldest < policy->window);
}

void failures_fini(struct actors *actors)
{
    for (struct hash_link *link; (link = hash_pop(&actors->failures));)
        free(link);
    hash_table_fini(&actors->failures);
}
