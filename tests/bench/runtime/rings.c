/* Items a second from one thread to another: published one by one and in batches; ck_ring beside,
 * where it is installed. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/runtime/ring.h"
#include "tests/bench/runtime/bench.h"

#ifdef BENCH_CK
#include <ck_ring.h>
#endif

enum { ITEMS = 5000000, PATIENCE = 1000, CAPACITY = 1024 };

static struct ring ring;
static uintptr_t batch_size;

/* Between looks that find nothing; on a busy machine the other side may not be running. */
static void pause_a_while(int *looks)
{
    __builtin_ia32_pause();
    if (++*looks % PATIENCE == 0)
        sched_yield();
}

static void *produce(void *arg)
{
    int looks = 0;
    for (uintptr_t n = 1; n <= ITEMS;) {
        for (uintptr_t i = 0; i < batch_size && n <= ITEMS && ring_stage(&ring, (void *)n); i++)
            n++;
        if (!ring_flush(&ring))
            pause_a_while(&looks);
    }
    return arg;
}

static void consume(void)
{
    int looks = 0;
    for (uintptr_t n = 1; n <= ITEMS;) {
        if (!ring_ready(&ring))
            pause_a_while(&looks);
        for (uintptr_t i = 0; i < batch_size && ring_take(&ring); i++)
            n++;
        ring_release(&ring);
    }
}

static void run_ring(void *arg)
{
    pthread_t thread;
    pthread_create(&thread, NULL, produce, arg);
    consume();
    pthread_join(thread, NULL);
}

#ifdef BENCH_CK
static ck_ring_t other;
static ck_ring_buffer_t slots[CAPACITY];

static void *produce_ck(void *arg)
{
    int looks = 0;
    for (uintptr_t n = 1; n <= ITEMS;)
        if (ck_ring_enqueue_spsc(&other, slots, (void *)n))
            n++;
        else
            pause_a_while(&looks);
    return arg;
}

static void run_ck(void *arg)
{
    pthread_t thread;
    void *item;
    ck_ring_init(&other, CAPACITY);
    pthread_create(&thread, NULL, produce_ck, arg);
    int looks = 0;
    for (uintptr_t n = 1; n <= ITEMS;)
        if (ck_ring_dequeue_spsc(&other, slots, &item))
            n++;
        else
            pause_a_while(&looks);
    pthread_join(thread, NULL);
}
#endif

int main(void)
{
    const uintptr_t batches[] = {1, 16, 256};
    if (ring_init(&ring, CAPACITY) != 0)
        return 1;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        batch_size = batches[i];
        double ns = bench_best(run_ring, NULL, ITEMS);
        printf("ring, batches of %-4ju %8.2f ns an item %8.1f M items/s\n", batch_size, ns,
               1000 / ns);
    }
#ifdef BENCH_CK
    double ns = bench_best(run_ck, NULL, ITEMS);
    printf("ck_ring               %8.2f ns an item %8.1f M items/s\n", ns, 1000 / ns);
#endif
    ring_fini(&ring);
    return 0;
}
