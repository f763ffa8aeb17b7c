#include "server/jobs/core/job_spec.h"

void job_spec_init(struct job_spec *spec)
{
    *spec = (struct job_spec){JOB_SPEC_DEFAULTS};
}

static ao_time time_kept(ao_time keep)
{
    return keep == SPEC_KEEP_UNSAID ? SPEC_KEEP : keep;
}

bool job_keep_longer(struct job_keep *keep, const struct job_spec *spec)
{
    bool longer = time_kept(keep->time) < time_kept(spec->keep),
         larger = keep->size < spec->keep_size;
    if (longer)
        keep->time = spec->keep;
    if (larger)
        keep->size = spec->keep_size;
    return longer || larger;
}
