#include "server/accounts/input_budget.h"

#include <assert.h>

#include <ergon/ao.h>

void input_budget_init(struct input_budget *b)
{
    *b = (struct input_budget){0};
    pthread_mutex_init(&b->lock, NULL); /* of glibc: a default one cannot fail */
}

void input_budget_fini(struct input_budget *b)
{
    assert(input_budget_bytes(b) == 0);
    assert(!b->keepers && !b->asked);
    pthread_mutex_destroy(&b->lock);
}

static uint64_t figure(const _Atomic uint64_t *bytes)
{
    return atomic_load_explicit(bytes, memory_order_relaxed);
}

static void set(_Atomic uint64_t *bytes, uint64_t to)
{
    atomic_store_explicit(bytes, to, memory_order_relaxed);
}

bool input_budget_take(struct input_budget *b, struct input_keeper *k, size_t bytes, uint64_t limit)
{
    uint64_t sum = figure(&b->bytes);

    do {
        if (bytes > limit || sum > limit - bytes)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->bytes, &sum, sum + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    set(&k->shared, figure(&k->shared) + bytes);
    return true;
}

void input_budget_give(struct input_budget *b, struct input_keeper *k, size_t bytes)
{
    uint64_t before = atomic_fetch_sub_explicit(&b->bytes, bytes, memory_order_relaxed);

    assert(before >= bytes && figure(&k->shared) >= bytes);
    (void)before;
    set(&k->shared, figure(&k->shared) - bytes);
}

uint64_t input_budget_bytes(const struct input_budget *b)
{
    return figure(&b->bytes);
}

uint64_t input_budget_in_all(struct input_budget *b)
{
    pthread_mutex_lock(&b->lock);
    uint64_t sum = figure(&b->bytes);
    for (const struct input_keeper *k = b->keepers; k; k = k->next)
        sum += figure(&k->own);
    pthread_mutex_unlock(&b->lock);
    return sum;
}

void input_budget_add(struct input_budget *b, struct input_keeper *keeper)
{
    pthread_mutex_lock(&b->lock);
    keeper->next = b->keepers;
    b->keepers = keeper;
    pthread_mutex_unlock(&b->lock);
}

void input_budget_remove(struct input_budget *b, struct input_keeper *keeper)
{
    pthread_mutex_lock(&b->lock);
    struct input_keeper **at = &b->keepers;
    while (*at != keeper)
        at = &(*at)->next;
    *at = keeper->next;
    if (b->asked == keeper)
        b->asked = NULL;
    pthread_mutex_unlock(&b->lock);
}

/* Of those that are equal the one that wants: it does not cost another what it has itself. */
static struct input_keeper *with_most(const struct input_budget *b, struct input_keeper *wants,
                                      size_t wanted)
{
    struct input_keeper *most = wants;
    uint64_t bytes = figure(&wants->shared) + wanted;

    for (struct input_keeper *k = b->keepers; k; k = k->next)
        if (figure(&k->shared) > bytes) {
            most = k;
            bytes = figure(&k->shared);
        }
    return most;
}

bool input_budget_ask(struct input_budget *b, struct input_keeper *k, size_t wanted)
{
    pthread_mutex_lock(&b->lock);
    struct input_keeper *most = with_most(b, k, wanted);
    if (most != k && !b->asked) {
        b->asked = most;
        b->wanted = wanted;
        ao_post(most->handle, AO_POST_MESSAGE);
    }
    pthread_mutex_unlock(&b->lock);
    return most != k;
}

bool input_budget_is_asked(struct input_budget *b, const struct input_keeper *k, uint64_t limit)
{
    pthread_mutex_lock(&b->lock);
    bool lacks = b->asked == k && figure(&b->bytes) + b->wanted > limit;
    pthread_mutex_unlock(&b->lock);
    return lacks;
}

void input_budget_answer(struct input_budget *b, const struct input_keeper *k)
{
    pthread_mutex_lock(&b->lock);
    if (b->asked == k)
        b->asked = NULL;
    pthread_mutex_unlock(&b->lock);
}
