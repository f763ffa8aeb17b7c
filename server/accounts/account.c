#include "server/accounts/account.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

const struct account_limits unlimited_accounts = {
    .bytes_in_all = UINT64_MAX, .bytes = UINT64_MAX, .calls = UINT32_MAX};

struct accounts {
    struct account_limits limits;
    uint64_t seed[2];
    /* Orders nothing (relaxed), as the sums of each. */
    _Atomic uint64_t bytes;
    /* Orders nothing (relaxed): who has an account has it from under the lock, and its index is
     * below this. */
    _Atomic uint32_t reach;

    pthread_mutex_t lock; /* over what follows */
    struct hash_table by_name;
    uint32_t *free_indexes; /* a stack; room for `reach` of them */
    uint32_t free_count, free_room;
};

struct accounts *accounts_new(const struct account_limits *limits, const uint64_t seed[2])
{
    struct accounts *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->limits = *limits;
    all->seed[0] = seed[0];
    all->seed[1] = seed[1];
    pthread_mutex_init(&all->lock, NULL); /* of glibc: a default one cannot fail */
    hash_table_init(&all->by_name);
    return all;
}

void accounts_free(struct accounts *all)
{
    if (!all)
        return;
    assert(all->by_name.count == 0);
    hash_table_fini(&all->by_name);
    pthread_mutex_destroy(&all->lock);
    free(all->free_indexes);
    free(all);
}

const struct account_limits *accounts_limits(const struct accounts *all)
{
    return &all->limits;
}

uint64_t accounts_bytes(const struct accounts *all)
{
    return atomic_load_explicit(&all->bytes, memory_order_relaxed);
}

uint32_t accounts_reach(const struct accounts *all)
{
    return atomic_load_explicit(&all->reach, memory_order_relaxed);
}

/* --- Under the lock --- */

static struct account *find(const struct accounts *all, uint64_t hash, const char *name)
{
    struct hash_link *l = hash_first(&all->by_name, hash);

    while (l && strcmp(((struct account *)l)->name, name) != 0)
        l = hash_next(l);
    return (struct account *)l;
}

/* So that an index can always be given back. */
static bool make_room_for_indexes(struct accounts *all)
{
    size_t room = all->free_room == 0 ? 64 : 2 * all->free_room;

    if (accounts_reach(all) < all->free_room)
        return true;
    uint32_t *bigger = realloc(all->free_indexes, room * sizeof *bigger);
    if (!bigger)
        return false;
    all->free_indexes = bigger;
    all->free_room = (uint32_t)room;
    return true;
}

static uint32_t take_index(struct accounts *all)
{
    uint32_t reach = accounts_reach(all);

    if (all->free_count > 0)
        return all->free_indexes[--all->free_count];
    atomic_store_explicit(&all->reach, reach + 1, memory_order_relaxed);
    return reach;
}

static struct account *make(struct accounts *all, uint64_t hash, const char *name)
{
    size_t size = strlen(name) + 1;
    struct account *a = make_room_for_indexes(all) ? malloc(sizeof *a + size) : NULL;

    if (!a)
        return NULL;
    *a = (struct account){.link.hash = hash, .all = all, .index = take_index(all)};
    memcpy(a->name, name, size);
    hash_add(&all->by_name, &a->link);
    return a;
}

static void unmake(struct account *a)
{
    struct accounts *all = a->all;

    hash_remove(&all->by_name, &a->link);
    all->free_indexes[all->free_count++] = a->index;
    free(a);
}

/* --- Any thread --- */

struct account *account_open(struct accounts *all, const char *name)
{
    uint64_t hash = siphash(all->seed, span_text(name));

    pthread_mutex_lock(&all->lock);
    struct account *a = find(all, hash, name);
    if (!a)
        a = make(all, hash, name);
    if (a)
        a->references++;
    pthread_mutex_unlock(&all->lock);
    return a;
}

void account_close(struct account *a)
{
    struct accounts *all = a->all;

    pthread_mutex_lock(&all->lock);
    assert(a->references > 0);
    if (--a->references == 0) {
        assert(atomic_load_explicit(&a->bytes, memory_order_relaxed) == 0);
        assert(atomic_load_explicit(&a->calls, memory_order_relaxed) == 0);
        unmake(a);
    }
    pthread_mutex_unlock(&all->lock);
}

void account_settle(struct account *a, int64_t bytes, int32_t calls)
{
    if (bytes != 0) {
        atomic_fetch_add_explicit(&a->bytes, (uint64_t)bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->all->bytes, (uint64_t)bytes, memory_order_relaxed);
    }
    if (calls != 0)
        atomic_fetch_add_explicit(&a->calls, (uint32_t)calls, memory_order_relaxed);
}

/* A loop may have settled what it gives back before another has what it took: for a moment a sum
 * can be less than nothing, and that is nothing. */
static uint64_t at_least_nothing(uint64_t sum)
{
    return sum > INT64_MAX ? 0 : sum;
}

bool account_is_full(const struct account *a)
{
    const struct account_limits *limits = &a->all->limits;
    uint64_t own = at_least_nothing(atomic_load_explicit(&a->bytes, memory_order_relaxed));
    uint64_t all = at_least_nothing(accounts_bytes(a->all));
    uint64_t left = all < limits->bytes_in_all ? limits->bytes_in_all - all : 0;

    return own >= limits->bytes || own > left;
}
