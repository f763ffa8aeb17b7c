/* Why no loop waits for room that is already free.
 *
 *   the waiter    W1  waiting := waiting + 1
 *                 W2  look at the sums
 *   the releaser  G1  sums := sums - bytes
 *                 G2  waiting := waiting + 0, and look at it
 *
 * W1 and G2 change the same word, each in one read-modify-write, so one of them comes first.  W1
 * before G2: G2 reads more than 0, and posts.  G2 before W1: W1 reads what G2 wrote, or what was
 * made of it; G2 releases and W1 acquires, so W2 sees the sums of G1.
 *
 * What was posted takes back its W1 first; so it looks, and if it lacks room still it announces
 * itself again, and looks again behind that (room.c). */
#include "server/accounts/account.h"
#include "server/accounts/account_room.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ergon/ao.h>

#include "base/siphash.h"

const struct account_limits unlimited_accounts = {
    .bytes_in_all = UINT64_MAX, .bytes = UINT64_MAX, .calls = UINT32_MAX};

struct accounts {
    struct account_limits limits;
    uint64_t seed[2];
    /* Orders nothing (relaxed), as the sums of each. */
    _Atomic uint64_t bytes, input;
    _Atomic uint64_t stopped, refused; /* the same; figures */
    struct input_budget unfinished;    /* messages */
    /* Rooms that wait.  Acquire and release of accounts_wait() and made_room() pair with each
     * other: see above. */
    _Atomic uint32_t waiting;
    /* Orders nothing (relaxed): the caller got its account under the lock, so its index is below
     * this. */
    _Atomic uint32_t reach;
    /* How many are open.  Orders nothing (relaxed): a hint. */
    _Atomic uint32_t open;

    pthread_mutex_t lock; /* over what follows */
    struct hash_table by_name;
    uint32_t *free_indexes; /* a stack; room for `reach` of them */
    uint32_t free_count, free_room;
    struct account_room *rooms;
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
    input_budget_init(&all->unfinished);
    return all;
}

void accounts_free(struct accounts *all)
{
    if (!all)
        return;
    assert(all->by_name.count == 0 && !all->rooms);
    assert(atomic_load_explicit(&all->waiting, memory_order_relaxed) == 0);
    hash_table_fini(&all->by_name);
    input_budget_fini(&all->unfinished);
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
    uint64_t sum = atomic_load_explicit(&all->bytes, memory_order_relaxed);

    return sum > INT64_MAX ? 0 : sum;
}

uint32_t accounts_reach(const struct accounts *all)
{
    return atomic_load_explicit(&all->reach, memory_order_relaxed);
}

bool accounts_several(const struct accounts *all)
{
    return atomic_load_explicit(&all->open, memory_order_relaxed) > 1;
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
    atomic_fetch_add_explicit(&all->open, 1, memory_order_relaxed);
    return a;
}

static void unmake(struct account *a)
{
    struct accounts *all = a->all;

    hash_remove(&all->by_name, &a->link);
    atomic_fetch_sub_explicit(&all->open, 1, memory_order_relaxed);
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
        account_ref(a);
    pthread_mutex_unlock(&all->lock);
    return a;
}

struct account *account_ref(struct account *a)
{
    atomic_fetch_add_explicit(&a->references, 1, memory_order_relaxed);
    return a;
}

/* One reference less, without the lock.  False: it is the last, and there is none less. */
static bool one_less(struct account *a)
{
    uint32_t count = atomic_load_explicit(&a->references, memory_order_relaxed);

    while (count > 1)
        if (atomic_compare_exchange_weak_explicit(&a->references, &count, count - 1,
                                                  memory_order_release, memory_order_relaxed))
            return true;
    return false;
}

void account_close(struct account *a)
{
    struct accounts *all = a->all;

    if (one_less(a))
        return;
    pthread_mutex_lock(&all->lock); /* another may open it meanwhile, and then keeps it */
    if (atomic_fetch_sub_explicit(&a->references, 1, memory_order_acq_rel) == 1) {
        assert(atomic_load_explicit(&a->bytes, memory_order_relaxed) == 0);
        assert(atomic_load_explicit(&a->input, memory_order_relaxed) == 0);
        assert(atomic_load_explicit(&a->calls, memory_order_relaxed) == 0);
        unmake(a);
    }
    pthread_mutex_unlock(&all->lock);
}

/* --- Room --- */

void accounts_add_room(struct accounts *all, struct account_room *room)
{
    pthread_mutex_lock(&all->lock);
    room->next = all->rooms;
    all->rooms = room;
    pthread_mutex_unlock(&all->lock);
}

/* Under the lock. */
static void end_wait(struct accounts *all, struct account_room *room)
{
    if (!room->waits)
        return;
    room->waits = false;
    atomic_fetch_sub_explicit(&all->waiting, 1, memory_order_relaxed);
}

void accounts_remove_room(struct accounts *all, struct account_room *room)
{
    pthread_mutex_lock(&all->lock);
    end_wait(all, room);
    struct account_room **at = &all->rooms;
    while (*at != room)
        at = &(*at)->next;
    *at = room->next;
    pthread_mutex_unlock(&all->lock);
}

void accounts_wait(struct accounts *all, struct account_room *room)
{
    pthread_mutex_lock(&all->lock);
    if (!room->waits) {
        room->waits = true;
        /* W1; pairs with made_room(). */
        atomic_fetch_add_explicit(&all->waiting, 1, memory_order_acq_rel);
    }
    pthread_mutex_unlock(&all->lock);
}

static void made_room(struct accounts *all)
{
    /* G2; pairs with accounts_wait(). */
    if (atomic_fetch_add_explicit(&all->waiting, 0, memory_order_acq_rel) == 0)
        return;
    pthread_mutex_lock(&all->lock);
    for (struct account_room *room = all->rooms; room; room = room->next)
        if (room->waits) {
            end_wait(all, room);
            ao_post(room->handle, AO_POST_ACTIVATE);
        }
    pthread_mutex_unlock(&all->lock);
}

void account_settle(struct account *a, const struct account_change *change)
{
    if (change->bytes != 0) {
        atomic_fetch_add_explicit(&a->bytes, (uint64_t)change->bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->all->bytes, (uint64_t)change->bytes, memory_order_relaxed);
    }
    if (change->input != 0) {
        atomic_fetch_add_explicit(&a->input, (uint64_t)change->input, memory_order_relaxed);
        atomic_fetch_add_explicit(&a->all->input, (uint64_t)change->input, memory_order_relaxed);
    }
    if (change->calls != 0)
        atomic_fetch_add_explicit(&a->calls, (uint32_t)change->calls, memory_order_relaxed);
    bool fewer_calls = change->calls < 0 && a->all->limits.calls != UINT32_MAX;
    if (change->bytes < 0 || change->bytes < change->input || fewer_calls)
        made_room(a->all);
}

/* A loop may have settled what it gives back before another has what it took: for a moment a sum
 * can be less than nothing, and that is nothing. */
static uint64_t at_least_nothing(uint64_t sum)
{
    return sum > INT64_MAX ? 0 : sum;
}

static uint64_t sum_of(const _Atomic uint64_t *sum)
{
    return atomic_load_explicit(sum, memory_order_relaxed);
}

static uint64_t at_work(const _Atomic uint64_t *bytes, const _Atomic uint64_t *input,
                        const struct account_change *unsettled)
{
    int64_t more = unsettled->bytes - unsettled->input;

    return at_least_nothing(sum_of(bytes) - sum_of(input) + (uint64_t)more);
}

bool account_calls_full(const struct account *a, const struct account_change *unsettled)
{
    uint32_t most = a->all->limits.calls;
    if (most == UINT32_MAX)
        return false;
    uint32_t calls =
        atomic_load_explicit(&a->calls, memory_order_relaxed) + (uint32_t)unsettled->calls;
    return calls <= INT32_MAX && calls >= most; /* less than nothing is nothing */
}

bool account_lacks_bytes(const struct account *a, const struct account_change *unsettled,
                         uint64_t bytes)
{
    const struct account_limits *limits = &a->all->limits;
    uint64_t all = at_least_nothing(sum_of(&a->all->bytes) + (uint64_t)unsettled->bytes);
    uint64_t own = at_work(&a->bytes, &a->input, unsettled);

    if (at_work(&a->all->bytes, &a->all->input, unsettled) == 0)
        return false;
    if (all >= limits->bytes_in_all || account_exceeds(all, bytes, limits->bytes_in_all))
        return true;
    uint64_t free = limits->bytes_in_all - all, left = bytes < free ? free - bytes : 0;
    if (own == 0)
        return false;
    if (bytes == 0)
        return own >= limits->bytes || own > left;
    return account_exceeds(own, bytes, limits->bytes) ||
           (bytes > limits->bytes / 2 ? own : own + bytes) > left;
}

static uint64_t less(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* What it takes is not free any more: see the head of account.h. */
uint64_t account_bytes_left(const struct account *a, const struct account_change *unsettled)
{
    const struct account_limits *limits = &a->all->limits;
    uint64_t all = at_least_nothing(sum_of(&a->all->bytes) + (uint64_t)unsettled->bytes);
    uint64_t own = at_work(&a->bytes, &a->input, unsettled);
    uint64_t of_all = less(less(limits->bytes_in_all, all), own) / 2;
    uint64_t of_own = less(limits->bytes, own);
    return of_own < of_all ? of_own : of_all;
}

bool account_take(struct account *a, uint64_t bytes, uint64_t own)
{
    const struct account_limits *limits = &a->all->limits;
    const struct account_change more = {.bytes = (int64_t)bytes};

    account_settle(a, &more);
    uint64_t held = at_work(&a->bytes, &a->input, &(struct account_change){0});
    uint64_t all = accounts_bytes(a->all);
    bool fits = (held <= own + bytes || held <= limits->bytes) &&
                (all <= own + bytes || all <= limits->bytes_in_all);

    if (fits)
        return true;
    atomic_fetch_add_explicit(&a->all->refused, 1, memory_order_relaxed);
    account_settle(a, &(struct account_change){.bytes = -(int64_t)bytes});
    return false;
}

void accounts_note_stopped(struct accounts *all)
{
    atomic_fetch_add_explicit(&all->stopped, 1, memory_order_relaxed);
}

struct input_budget *accounts_input(struct accounts *all)
{
    return &all->unfinished;
}

struct accounts_figures accounts_figures(struct accounts *all)
{
    return (struct accounts_figures){
        .bytes = accounts_bytes(all),
        .input = at_least_nothing(sum_of(&all->input)),
        .unfinished = input_budget_in_all(&all->unfinished),
        .stopped = atomic_load_explicit(&all->stopped, memory_order_relaxed),
        .refused = atomic_load_explicit(&all->refused, memory_order_relaxed),
    };
}

static uint64_t weight_of(const struct account_top *top)
{
    return (uint64_t)top->queued + top->places;
}

/* Into its place; returns how many there are now.  A name is copied only of those that get one. */
static uint32_t put_in(struct account_top *out, uint32_t count, uint32_t most,
                       const struct account *a)
{
    const uint32_t queued = atomic_load_explicit(&a->queued, memory_order_relaxed);
    const uint32_t places = atomic_load_explicit(&a->places, memory_order_relaxed);
    const uint64_t weight = (uint64_t)queued + places;
    uint32_t at = count;

    while (at > 0 && weight_of(&out[at - 1]) < weight)
        at--;
    if (at == most || weight == 0)
        return count;
    uint32_t last = count < most ? count : most - 1;
    memmove(&out[at + 1], &out[at], (last - at) * sizeof *out);
    struct account_top *top = &out[at];
    *top = (struct account_top){.queued = queued, .places = places};
    memcpy(top->name, a->name, strnlen(a->name, sizeof top->name - 1));
    return count < most ? count + 1 : most;
}

uint32_t accounts_top(struct accounts *all, struct account_top *out, uint32_t most)
{
    uint32_t count = 0;

    pthread_mutex_lock(&all->lock);
    const struct hash_table *t = &all->by_name;
    for (uint32_t i = 0; t->count > 0 && i < t->size; i++)
        for (const struct hash_link *l = t->buckets[i]; l; l = l->next)
            count = put_in(out, count, most, (const struct account *)l);
    pthread_mutex_unlock(&all->lock);
    return count;
}
