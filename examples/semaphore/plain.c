#include "examples/semaphore/ten.h"

enum ao_verdict ten_plain(struct ao *self)
{
    struct iteration *it = ao_of(self, struct iteration, child.ao);
    struct ten *ten = it->ten;

    AO_BEGIN(&it->seq);
    AO_AWAIT(self, &it->seq, &it->wait, ao_sem_acquire(&ten->sem, &it->wait));
    ten->say(ten, it->number, "begins");
    AO_SLEEP(self, &it->seq, AO_S(2));
    ten->say(ten, it->number, "ends");
    ao_sem_release(&ten->sem);
    AO_END(&it->seq);
}
