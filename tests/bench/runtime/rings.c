/* From one thread to another: items a second, published one by one and in batches, and the time of
 * a hand-over.  ck_ring beside, where it is installed.  Each thread has a processor of its own, if
 * there are two, and who finds the ring full, or empty, pauses before the next look, with either
 * ring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/runtime/threads/ring.h"
#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

#ifdef BENCH_CK
#include <ck_ring.h>
#endif

enum { ITEMS = 20000000, CAPACITY = 1024, TRIPS = 500000 };

static struct ring ring, back;
static uintptr_t batch_size;

static void pause_a_little(void)
{
    __builtin_ia32_pause();
}

/* Both sides at once: `other` on a thread of its own. */
static void run_both(void *(*other)(void *arg), void (*mine)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        exit(1);
    mine();
    pthread_join(thread, NULL);
}

static void *produce(void *arg)
{
    bench_pin(1);
    for (uintptr_t n = 1; n <= ITEMS;) {
        for (uintptr_t i = 0; i < batch_size && n <= ITEMS && ring_stage(&ring, (void *)n); i++)
            n++;
        if (!ring_flush(&ring))
            pause_a_little();
    }
    return arg;
}

static void consume(void)
{
    for (uintptr_t n = 1; n <= ITEMS;) {
        if (!ring_ready(&ring))
            pause_a_little();
        for (uintptr_t i = 0; i < batch_size && ring_take(&ring); i++)
            n++;
        ring_release(&ring);
    }
}

static void run_ring(void *arg)
{
    run_both(produce, consume);
}

static void send(struct ring *r)
{
    ring_stage(r, r);
    ring_flush(r);
}

static void receive(struct ring *r)
{
    while (!ring_take(r))
        continue;
    ring_release(r);
}

static void *answer(void *arg)
{
    bench_pin(1);
    for (int i = 0; i < TRIPS; i++) {
        receive(&ring);
        send(&back);
    }
    return arg;
}

static void ask(void)
{
    for (int i = 0; i < TRIPS; i++) {
        send(&ring);
        receive(&back);
    }
}

static void run_trips(void *arg)
{
    run_both(answer, ask);
}

#ifdef BENCH_CK
static ck_ring_t ck, ck_back;
static ck_ring_buffer_t slots[CAPACITY], slots_back[CAPACITY];

static void *produce_ck(void *arg)
{
    bench_pin(1);
    for (uintptr_t n = 1; n <= ITEMS;) {
        if (ck_ring_enqueue_spsc(&ck, slots, (void *)n))
            n++;
        else
            pause_a_little();
    }
    return arg;
}

static void consume_ck(void)
{
    void *item;
    for (uintptr_t n = 1; n <= ITEMS;) {
        if (ck_ring_dequeue_spsc(&ck, slots, &item))
            n++;
        else
            pause_a_little();
    }
}

static void run_ck(void *arg)
{
    ck_ring_init(&ck, CAPACITY);
    run_both(produce_ck, consume_ck);
}

static void receive_ck(ck_ring_t *r, ck_ring_buffer_t *from)
{
    void *item;
    while (!ck_ring_dequeue_spsc(r, from, &item))
        continue;
}

static void *answer_ck(void *arg)
{
    bench_pin(1);
    for (int i = 0; i < TRIPS; i++) {
        receive_ck(&ck, slots);
        ck_ring_enqueue_spsc(&ck_back, slots_back, &ck);
    }
    return arg;
}

static void ask_ck(void)
{
    for (int i = 0; i < TRIPS; i++) {
        ck_ring_enqueue_spsc(&ck, slots, &ck);
        receive_ck(&ck_back, slots_back);
    }
}

static void run_ck_trips(void *arg)
{
    ck_ring_init(&ck, CAPACITY);
    ck_ring_init(&ck_back, CAPACITY);
    run_both(answer_ck, ask_ck);
}

#define OTHER(run) run
#else
#define OTHER(run) NULL
#endif

/* Ours alone, where there is nothing to compare with. */
static struct bench_pair measure(void (*ours)(void *arg), void (*other)(void *arg), uint64_t n)
{
    if (other)
        return bench_in_turns(ours, other, NULL, n);
    return (struct bench_pair){bench_best(ours, NULL, n), NAN, NAN};
}

static void show_items(struct report *r)
{
    static const struct report_column columns[] = {
        {"ns an item", 2}, {"M items/s", 1}, {"ck_ring ns", 2}, {"rate of ck_ring's", 2}};
    static const uintptr_t batches[] = {1, 16, 256};
    report_table(r, "Items from thread to thread", "batch", columns, 4);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        char what[32];
        batch_size = batches[i];
        struct bench_pair p = measure(run_ring, OTHER(run_ck), ITEMS);
        snprintf(what, sizeof what, "%ju", batch_size);
        report_row(r, what, (double[]){p.ours, 1000 / p.ours, p.other, 1 / p.ratio});
    }
}

static void show_trips(struct report *r)
{
    static const struct report_column columns[] = {
        {"round trip ns", 1}, {"hand-over ns", 1}, {"ck_ring round trip ns", 1}};
    struct bench_pair p = measure(run_trips, OTHER(run_ck_trips), TRIPS);
    report_table(r, "A hand-over between threads that both look", "ring", columns, 3);
    report_row(r, "ours", (double[]){p.ours, p.ours / 2, p.other});
}

int main(int argc, char **argv)
{
    struct report r;
    if (ring_init(&ring, CAPACITY) != 0 || ring_init(&back, CAPACITY) != 0)
        return 1;
    report_begin(&r, "runtime_rings", argc, argv);
    bench_pin(0);
    show_items(&r);
    show_trips(&r);
    report_end(&r);
    ring_fini(&ring);
    ring_fini(&back);
    return 0;
}
