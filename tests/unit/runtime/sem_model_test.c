/* The semaphore against a model of a few lines, in random order: acquires of one to four permits,
 * tries, releases, waiters that leave, holders that give back.  After each change both agree on who
 * was granted, in what order, who waits, and how many permits are free. */
#include <string.h>

#include <ergon/sem.h>

#include "tests/support/cmocka_env.h"

enum { RECORDS = 24, CHANGES = 200000, MOST = 4 };

enum state { IDLE, WAITS, HOLDS };

/* The model: who waits, oldest first. */
static struct {
    uint32_t permits;
    int queue[RECORDS], waiting;
    enum state state[RECORDS];
    uint32_t wanted[RECORDS];
    int granted[RECORDS], grants; /* by the last change */
} model;

static struct ao_sem sem;
static struct ao_wait_listener listener;
static struct ao_wait records[RECORDS];
static int granted[RECORDS], grants;
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % below;
}

static void settled(struct ao_wait_listener *self, struct ao_wait *w)
{
    (void)self;
    assert_int_equal(w->outcome, AO_WAIT_READY);
    granted[grants++] = (int)(w - records);
}

static void model_serve(void)
{
    while (model.waiting > 0 && model.wanted[model.queue[0]] <= model.permits) {
        int i = model.queue[0];
        model.permits -= model.wanted[i];
        model.state[i] = HOLDS;
        model.granted[model.grants++] = i;
        model.waiting--;
        memmove(model.queue, model.queue + 1, (size_t)model.waiting * sizeof *model.queue);
    }
}

static void acquire(int i)
{
    uint32_t n = 1 + draw(MOST);
    records[i] = (struct ao_wait){.listener = &listener, .listened = true};
    model.wanted[i] = n;
    model.state[i] = WAITS;
    model.queue[model.waiting++] = i;
    model_serve();
    ao_sem_acquire_n(&sem, n, &records[i]);
}

static void leave(int i)
{
    int at = 0;
    while (model.queue[at] != i)
        at++;
    model.waiting--;
    memmove(model.queue + at, model.queue + at + 1,
            (size_t)(model.waiting - at) * sizeof *model.queue);
    model.state[i] = IDLE;
    model_serve();
    ao_wait_cancel(&records[i]);
}

static void give_back(int i)
{
    model.state[i] = IDLE;
    model.permits += model.wanted[i];
    model_serve();
    ao_wait_cancel(&records[i]);
}

/* Somebody takes or gives by hand: the sum of all permits stays within bounds. */
static void by_hand(int *out)
{
    uint32_t n = 1 + draw(MOST);
    if (draw(2) == 0 && *out >= (int)n) {
        *out -= (int)n;
        model.permits += n;
        model_serve();
        ao_sem_release_n(&sem, n);
        return;
    }
    bool can = model.waiting == 0 && model.permits >= n;
    assert_int_equal(ao_sem_try_acquire_n(&sem, n), can);
    if (can) {
        model.permits -= n;
        *out += (int)n;
    }
}

static void compare(void)
{
    assert_int_equal(grants, model.grants);
    assert_memory_equal(granted, model.granted, (size_t)grants * sizeof *granted);
    assert_int_equal(sem.permits, model.permits);
    assert_int_equal(ao_sem_waiting(&sem), model.waiting);
    for (int i = 0; i < RECORDS; i++) {
        assert_int_equal(records[i].outcome == AO_WAIT_PENDING, model.state[i] == WAITS);
        assert_int_equal(records[i].outcome == AO_WAIT_READY, model.state[i] == HOLDS);
    }
    grants = model.grants = 0;
}

TEST(as_the_model)
{
    int out = 0;
    int seen[3] = {0};
    ao_sem_init(&sem, model.permits = 6);
    listener.settled = settled;
    for (int n = 0; n < CHANGES; n++) {
        int i = (int)draw(RECORDS);
        seen[model.state[i]]++;
        if (draw(4) == 0)
            by_hand(&out);
        else if (model.state[i] == IDLE)
            acquire(i);
        else if (model.state[i] == HOLDS)
            give_back(i);
        else if (draw(8) == 0)
            leave(i);
        compare();
    }
    for (int i = 0; i < 3; i++)
        assert_true(seen[i] > CHANGES / 50); /* it was no walk in a corner */
    for (int i = 0; i < RECORDS; i++)
        if (model.state[i] == WAITS)
            leave(i);
    for (int i = 0; i < RECORDS; i++)
        if (model.state[i] == HOLDS)
            give_back(i);
    assert_int_equal(sem.permits + (uint32_t)out, 6);
    ao_sem_fini(&sem);
}
