#include <stdio.h>

#include <ergon/activator.h>
#include <ergon/poller.h>

#include "examples/semaphore/ten.h"

struct program {
    struct ten ten;
    ao_time began;
};

static double seconds(struct ten *ten)
{
    return (double)(ao_now(&ten->ao) - ao_of(ten, struct program, ten)->began) / 1e9;
}

static void say(struct ten *ten, int iteration, const char *what)
{
    printf("%6.3f s  iteration %2d %s\n", seconds(ten), iteration, what);
    fflush(stdout);
}

static void ended(struct ten *ten)
{
    printf("%6.3f s  all have ended\n", seconds(ten));
    activator_stop(ten->ao.home);
}

int ten_main(const char *name, enum ao_verdict (*work)(struct ao *iteration))
{
    int status = 1;
    struct poller *poller = poller_eventfd_new();
    if (!poller)
        goto fail;
    struct activator *activator =
        activator_open(&(struct activator_options){.name = name, .poller = poller, .core = -1});
    if (!activator)
        goto fail_activator;

    struct program program = {.ten = {.work = work, .say = say, .ended = ended}};
    program.began = ao_clock_monotonic.now(ao_clock_monotonic.arg);
    ten_start(&program.ten, activator);
    activator_run(activator);
    activator_close(activator);
    status = 0;

fail_activator:
    poller_eventfd_free(poller);
fail:
    if (status != 0)
        perror(name);
    return status;
}
