#include "examples/semaphore/ten.h"

#include <ergon/activator.h>

static void start_iterations(struct ten *ten)
{
    for (int i = 0; i < ITERATIONS; i++) {
        struct iteration *it = &ten->iterations[i];
        *it = (struct iteration){.ten = ten, .number = i + 1};
        ao_group_start(&ten->group, &it->child, ten->work);
    }
}

static enum ao_verdict ten_step(struct ao *self)
{
    struct ten *ten = ao_of(self, struct ten, ao);

    AO_BEGIN(&ten->seq);
    start_iterations(ten);
    AO_AWAIT(self, &ten->seq, &ten->wait, ao_group_await(&ten->group, &ten->wait));
    ten->ended(ten);
    AO_END(&ten->seq);
}

static const struct ao_class ten_class = {.name = "ten", .step = ten_step};

void ten_start(struct ten *ten, struct activator *home)
{
    ten->seq = (struct ao_seq){0};
    ten->wait = (struct ao_wait){0};
    ao_init(&ten->ao, &ten_class, home);
    ao_group_init(&ten->group, home);
    ao_sem_init(&ten->sem, PERMITS);
    ao_activate(&ten->ao);
}
