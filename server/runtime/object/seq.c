/* The sleeps of a sequence (<ergon/seq.h>). */
#include <ergon/seq.h>

#include "base/clock.h"

enum ao_verdict ao_seq_sleep(struct ao *self, ao_time duration)
{
    int error = ao_sleep_for(self, duration);
    if (error != 0)
        return ao_fault(self, error, "a sequence could not sleep: %s", ao_error_text(error));
    return AO_PARK;
}

ao_time ao_seq_after(const struct ao *self, ao_time duration)
{
    return clock_after(ao_now(self), duration);
}
