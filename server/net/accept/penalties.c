#include "server/net/accept/penalties.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"

enum { LOOKS = 2 /* at the oldest, for each that is added: so the table shrinks as it grew */ };

static struct penalty *penalty_of(struct hash_link *link)
{
    return (struct penalty *)link; /* its first field */
}

static uint64_t hash_of(const struct penalty_table *t, uint64_t key)
{
    return siphash(t->seed, span_of(&key, sizeof key));
}

void penalties_init(struct penalty_table *t, ao_time threshold)
{
    hash_table_init(&t->penalties);
    TAILQ_INIT(&t->by_age);
    assert(threshold <= PENALTY_MAX);
    t->threshold = threshold;
}

void penalties_fini(struct penalty_table *t)
{
    for (struct hash_link *l; (l = hash_pop(&t->penalties)) != NULL;)
        free(penalty_of(l));
    hash_table_fini(&t->penalties);
}

void penalties_clear(struct penalty_table *t)
{
    penalties_fini(t);
    penalties_init(t, t->threshold);
}

static struct penalty *find(const struct penalty_table *t, uint64_t key)
{
    uint64_t hash = hash_of(t, key);

    for (struct hash_link *l = hash_first(&t->penalties, hash); l != NULL; l = hash_next(l))
        if (penalty_of(l)->key == key)
            return penalty_of(l);
    return NULL;
}

/* Those of which all has passed are forgotten, a few at a time. */
static void forget_some(struct penalty_table *t, ao_time now)
{
    struct penalty *p;

    for (int n = 0; n < LOOKS && (p = TAILQ_FIRST(&t->by_age)) != NULL; n++) {
        TAILQ_REMOVE(&t->by_age, p, age);
        if (p->until > now) {
            TAILQ_INSERT_TAIL(&t->by_age, p, age);
        } else {
            hash_remove(&t->penalties, &p->link);
            free(p);
        }
    }
}

static struct penalty *note(struct penalty_table *t, uint64_t key)
{
    struct penalty *p = t->penalties.count < PENALTY_ADDRESSES_MAX ? malloc(sizeof *p) : NULL;

    if (p == NULL)
        return NULL;
    *p = (struct penalty){.link.hash = hash_of(t, key), .key = key};
    hash_add(&t->penalties, &p->link);
    TAILQ_INSERT_TAIL(&t->by_age, p, age);
    return p;
}

bool penalties_add(struct penalty_table *t, uint64_t key, ao_time cost, ao_time now)
{
    forget_some(t, now);
    struct penalty *p = find(t, key);
    if (p == NULL && (p = note(t, key)) == NULL)
        return false;
    bool was = p->kept_out && p->until > now;
    p->until = (p->until > now ? p->until : now) + cost;
    if (p->until > now + PENALTY_MAX)
        p->until = now + PENALTY_MAX;
    p->kept_out = was || p->until - now >= t->threshold;
    return p->kept_out && !was;
}

ao_time penalties_left(const struct penalty_table *t, uint64_t key, ao_time now)
{
    const struct penalty *p = t->penalties.count > 0 ? find(t, key) : NULL;

    return p != NULL && p->kept_out && p->until > now ? p->until - now : 0;
}
