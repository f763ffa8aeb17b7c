/* What a parked object costs: a sequence in AO_SLEEP with 16 bytes of state and a bounded mailbox,
 * one million and ten of them, timer included; and a message to each of as many that wait for
 * mail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ergon/activator.h>
#include <ergon/mailbox.h>
#include <ergon/poller.h>
#include <ergon/seq.h>

#include "tests/bench/runtime/bench.h"
#include "tests/bench/support/report.h"

enum { MILLION = 1000000, MAILBOX_ROOM = 16 };

static struct activator *loop;

static void *must(void *pointer)
{
    if (!pointer) {
        perror("bench_parked");
        exit(1);
    }
    return pointer;
}

static double now(void)
{
    return (double)ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static double resident_bytes(void)
{
    long size = 0, pages = 0;
    FILE *f = must(fopen("/proc/self/statm", "r"));
    if (fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void rounds_while_active(void)
{
    while (activator_round(loop, false))
        continue;
}

/* --- Asleep in the timer --- */

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

static void show_parked(struct report *r, const char *what, int count)
{
    double before = resident_bytes(), began = now();
    struct parked *all = must(malloc((size_t)count * sizeof *all));
    for (int i = 0; i < count; i++) {
        memset(&all[i], 0, sizeof all[i]);
        ao_init(&all[i].ao, &parked_class, loop);
        ao_mailbox_init(&all[i].box, MAILBOX_ROOM);
        ao_activate(&all[i].ao);
    }
    rounds_while_active();
    double made = now() - began, resident = resident_bytes() - before;
    began = now();
    for (int i = 0; i < count; i++)
        ao_wake(&all[i].ao);
    rounds_while_active();
    double ended = now() - began;
    report_row(r, what, (double[]){sizeof *all, resident / count, made / count, ended / count});
    free(all);
}

/* --- Waiting for mail --- */

struct reader {
    struct ao ao;
    struct ao_mailbox box;
    struct ao_wait wait;
    struct ao_seq seq;
};

static enum ao_verdict reader_step(struct ao *self)
{
    struct reader *r = ao_of(self, struct reader, ao);

    AO_BEGIN(&r->seq);
    for (;;)
        AO_AWAIT(self, &r->seq, &r->wait, ao_mailbox_receive(&r->box, &r->wait));
    AO_END(&r->seq);
}

static const struct ao_class reader_class = {.name = "reader", .step = reader_step};

struct readers {
    struct reader *all;
    struct ao_mail *mails; /* one for each */
    int count;
};

/* Each gets one, and parks again. */
static void mail_all(void *arg)
{
    const struct readers *r = arg;
    for (int i = 0; i < r->count; i++)
        ao_mailbox_try_send(&r->all[i].box, &r->mails[i]);
    rounds_while_active();
}

static void show_mail(struct report *report, const char *what, int count)
{
    struct readers r = {bench_objects((size_t)count, sizeof *r.all),
                        bench_objects((size_t)count, sizeof *r.mails), count};
    for (int i = 0; i < count; i++) {
        ao_init(&r.all[i].ao, &reader_class, loop);
        ao_mailbox_init(&r.all[i].box, MAILBOX_ROOM);
        ao_activate(&r.all[i].ao);
    }
    rounds_while_active();
    double turns[BENCH_TURNS];
    for (int i = 0; i < BENCH_TURNS; i++)
        turns[i] = bench_once(mail_all, &r, (uint64_t)count);
    double ns = bench_median(turns);
    report_row(report, what, (double[]){sizeof *r.all, ns, 1000 / ns});
    for (int i = 0; i < count; i++)
        ao_deactivate(&r.all[i].ao);
    free(r.mails);
    free(r.all);
}

int main(int argc, char **argv)
{
    static const struct report_column parked[] = {{"bytes of the object", 0},
                                                  {"resident bytes", 1},
                                                  {"made and parked ns", 1},
                                                  {"woken and ended ns", 1}};
    static const struct report_column mail[] = {
        {"bytes of the object", 0}, {"ns a message", 1}, {"M messages/s", 1}};
    struct poller *poller = must(poller_eventfd_new());
    struct report r;
    loop = must(
        activator_open(&(struct activator_options){.name = "bench", .poller = poller, .core = -1}));
    report_begin(&r, "parked", argc, argv);
    report_table(&r, "Asleep in the timer, each", "objects", parked, 4);
    show_parked(&r, "1 M", MILLION);
    show_parked(&r, "10 M", 10 * MILLION);
    report_table(&r, "A message to each of them: send, wake, step, park", "objects", mail, 3);
    show_mail(&r, "1 k", 1000);
    show_mail(&r, "1 M", MILLION);
    show_mail(&r, "10 M", 10 * MILLION);
    report_end(&r);
    activator_close(loop);
    poller_eventfd_free(poller);
    return 0;
}
