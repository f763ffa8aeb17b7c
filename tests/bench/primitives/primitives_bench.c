/* What the cooperative primitives cost, as a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ergon/activator.h>
#include <ergon/mailbox.h>
#include <ergon/poller.h>
#include <ergon/sem.h>
#include <ergon/seq.h>

enum { MILLION = 1000000, CROWD = 1000, TURNS = 1000 };

static struct poller *poller;
static struct activator *loop;
static struct ao_sem sem;

static double now(void)
{
    return (double)ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static void row(const char *what, double value, const char *unit)
{
    printf("%-58s %8.1f %s\n", what, value, unit);
}

static void *must(void *pointer)
{
    if (!pointer) {
        perror("bench_primitives");
        exit(1);
    }
    return pointer;
}

static long resident_bytes(void)
{
    long size = 0, pages = 0;
    FILE *f = must(fopen("/proc/self/statm", "r"));
    if (fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    fclose(f);
    return pages * 4096;
}

static void rounds_while_active(void)
{
    while (activator_round(loop, false))
        ;
}

/* --- Semaphore --- */

struct worker {
    struct ao ao;
    struct ao_seq seq;
    struct ao_wait wait;
    int turns;
    bool yields;
};

static enum ao_verdict worker_step(struct ao *self)
{
    struct worker *w = ao_of(self, struct worker, ao);

    AO_BEGIN(&w->seq);
    for (; w->turns > 0; w->turns--) {
        AO_AWAIT(self, &w->seq, &w->wait, ao_sem_acquire(&sem, &w->wait));
        if (w->yields)
            AO_YIELD(&w->seq);
        ao_sem_release(&sem);
    }
    AO_END(&w->seq);
}

static const struct ao_class worker_class = {.name = "worker", .step = worker_step};

static double sem_run(int count, int turns, bool yields)
{
    struct worker *workers = must(calloc((size_t)count, sizeof *workers));
    ao_sem_init(&sem, 1);
    for (int i = 0; i < count; i++) {
        workers[i].turns = turns;
        workers[i].yields = yields;
        ao_init(&workers[i].ao, &worker_class, loop);
        ao_activate(&workers[i].ao);
    }
    double began = now();
    rounds_while_active();
    double took = now() - began;
    free(workers);
    return took / count / turns;
}

static void bench_sem(void)
{
    row("semaphore, free: acquire and release", sem_run(1, 10 * MILLION, false), "ns");
    row("semaphore, one permit, 1000 wait: a hand-over", sem_run(CROWD, TURNS, true), "ns");
}

/* --- Parked objects --- */

struct parked {
    struct ao ao;
    char state[16];
    struct ao_mailbox box;
    struct ao_seq seq;
};

static enum ao_verdict parked_step(struct ao *self)
{
    struct parked *p = ao_of(self, struct parked, ao);

    AO_BEGIN(&p->seq);
    AO_SLEEP(self, &p->seq, AO_S(3600));
    AO_END(&p->seq);
}

static const struct ao_class parked_class = {.name = "parked", .step = parked_step};

static void bench_parked(void)
{
    long before = resident_bytes();
    struct parked *all = must(malloc(MILLION * sizeof *all));
    for (int i = 0; i < MILLION; i++) {
        memset(&all[i], 0, sizeof all[i]);
        ao_init(&all[i].ao, &parked_class, loop);
        ao_mailbox_init(&all[i].box, 16);
        ao_activate(&all[i].ao);
    }
    rounds_while_active();
    row("a parked object: header, sequence, 16 bytes, mailbox", sizeof *all, "bytes");
    row("the same, resident, of a million in AO_SLEEP",
        (double)(resident_bytes() - before) / MILLION, "bytes");
    for (int i = 0; i < MILLION; i++)
        ao_deactivate(&all[i].ao);
    free(all);
}

/* --- Mail to objects that wait for it --- */

struct reader {
    struct ao ao;
    struct ao_mailbox box;
    struct ao_wait wait;
    struct ao_seq seq;
};

static uint64_t mails_read;

static enum ao_verdict reader_step(struct ao *self)
{
    struct reader *r = ao_of(self, struct reader, ao);

    AO_BEGIN(&r->seq);
    for (;;) {
        AO_AWAIT(self, &r->seq, &r->wait, ao_mailbox_receive(&r->box, &r->wait));
        mails_read++;
    }
    AO_END(&r->seq);
}

static const struct ao_class reader_class = {.name = "reader", .step = reader_step};

static double mail_run(int count)
{
    struct reader *readers = must(calloc((size_t)count, sizeof *readers));
    struct ao_mail *mails = must(calloc((size_t)count, sizeof *mails));
    for (int i = 0; i < count; i++) {
        ao_init(&readers[i].ao, &reader_class, loop);
        ao_mailbox_init(&readers[i].box, 16);
        ao_activate(&readers[i].ao);
    }
    rounds_while_active();
    double began = now();
    int times = MILLION / count;
    for (int k = 0; k < times; k++) {
        for (int i = 0; i < count; i++)
            ao_mailbox_try_send(&readers[i].box, &mails[i]);
        rounds_while_active();
    }
    double took = now() - began;
    for (int i = 0; i < count; i++)
        ao_deactivate(&readers[i].ao);
    free(mails);
    free(readers);
    return took / times / count;
}

static void bench_mail(void)
{
    row("mail to a parked object: send, wake, step, park; of 1000", mail_run(CROWD), "ns");
    row("the same, of a million", mail_run(MILLION), "ns");
    row("an object parked on its own mailbox", sizeof(struct reader), "bytes");
}

int main(void)
{
    poller = must(poller_eventfd_new());
    loop = must(
        activator_open(&(struct activator_options){.name = "bench", .poller = poller, .core = -1}));
    bench_sem();
    bench_parked();
    bench_mail();
    activator_close(loop);
    poller_eventfd_free(poller);
    return mails_read == 0;
}
