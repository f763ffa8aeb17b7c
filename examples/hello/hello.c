/* The smallest use of the runtime alone: an object that ticks three times and ends. */
#include <stdio.h>

#include <ergon/activator.h>
#include <ergon/poller.h>
#include <ergon/seq.h>

struct ticker {
    struct ao ao;
    struct ao_seq seq;
    int tick;
};

static enum ao_verdict ticker_step(struct ao *self)
{
    struct ticker *t = ao_of(self, struct ticker, ao);

    AO_BEGIN(&t->seq);
    for (t->tick = 1; t->tick <= 3; t->tick++) {
        AO_SLEEP(self, &t->seq, AO_MS(500));
        printf("tick %d\n", t->tick);
    }
    activator_stop(self->home);
    AO_END(&t->seq);
}

static const struct ao_class ticker_class = {.name = "ticker", .step = ticker_step};

static void run(struct activator *activator)
{
    struct ticker ticker = {0};
    ao_init(&ticker.ao, &ticker_class, activator);
    ao_activate(&ticker.ao);
    activator_run(activator);
    activator_close(activator);
}

int main(void)
{
    struct poller *poller = poller_eventfd_new();
    struct activator *activator = NULL;
    if (poller)
        activator = activator_open(
            &(struct activator_options){.name = "hello", .poller = poller, .core = -1});
    if (activator)
        run(activator);
    else
        perror("hello");
    if (poller)
        poller_eventfd_free(poller);
    return activator ? 0 : 1;
}
