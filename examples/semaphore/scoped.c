#include "examples/semaphore/ten.h"

/* The permit goes back when the iteration ends, whichever way. */
enum ao_verdict ten_scoped(struct ao *self)
{
    struct iteration *it = ao_of(self, struct iteration, child.ao);
    struct ten *ten = it->ten;

    AO_BEGIN(&it->seq);
    AO_SCOPED_ACQUIRE(self, &it->seq, &ten->sem, &it->permit);
    ten->say(ten, it->number, "begins");
    AO_SLEEP(self, &it->seq, AO_S(2));
    ten->say(ten, it->number, "ends");
    AO_END(&it->seq);
}
