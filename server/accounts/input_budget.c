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
    assert(!b->keepers);
    pthread_mutex_destroy(&b->lock);
}

bool input_budget_take(struct input_budget *b, size_t bytes, uint64_t limit)
{
    uint64_t sum = atomic_load_explicit(&b->bytes, memory_order_relaxed);

    do {
        if (bytes > limit || sum > limit - bytes)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->bytes, &sum, sum + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void input_budget_give(struct input_budget *b, size_t bytes)
{
    uint64_t before = atomic_fetch_sub_explicit(&b->bytes, bytes, memory_order_relaxed);

    assert(before >= bytes);
    (void)before;
}

uint64_t input_budget_bytes(const struct input_budget *b)
{
    return atomic_load_explicit(&b->bytes, memory_order_relaxed);
}

void input_budget_add(struct input_budget *b, struct input_keeper *keeper)
{
    pthread_mutex_lock(&b->lock);
    keeper->next = b->keepers;
    keeper->pressed = false;
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
    pthread_mutex_unlock(&b->lock);
}

void input_budget_ask(struct input_budget *b, const struct input_keeper *but, bool press)
{
    pthread_mutex_lock(&b->lock);
    for (struct input_keeper *k = b->keepers; k; k = k->next) {
        if (k == but)
            continue;
        k->pressed |= press;
        ao_post(k->handle, AO_POST_MESSAGE);
    }
    pthread_mutex_unlock(&b->lock);
}

bool input_budget_was_pressed(struct input_budget *b, struct input_keeper *keeper)
{
    pthread_mutex_lock(&b->lock);
    bool pressed = keeper->pressed;
    keeper->pressed = false;
    pthread_mutex_unlock(&b->lock);
    return pressed;
}
