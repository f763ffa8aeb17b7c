#include "server/jobs/core/job_spec.h"

void job_spec_init(struct job_spec *spec)
{
    *spec = (struct job_spec){JOB_SPEC_DEFAULTS};
}

static ao_time time_kept(ao_time keep)
{
    return keep == JOB_KEEP_UNSAID ? JOB_KEEP : keep;
}

struct job_keep job_spec_keep(const struct job_spec *spec)
{
    return (struct job_keep){spec->keep, spec->keep_size};
}

bool job_keep_longer(struct job_keep *keep, struct job_keep wanted)
{
    bool longer = time_kept(keep->time) < time_kept(wanted.time), larger = keep->size < wanted.size;
    if (longer)
        keep->time = wanted.time;
    if (larger)
        keep->size = wanted.size;
    return longer || larger;
}

bool job_policy_keep(struct job_policy *policy, struct job_keep wanted)
{
    struct job_keep keep = {policy->keep, policy->keep_size};
    bool is_more = job_keep_longer(&keep, wanted);
    policy->keep = keep.time;
    policy->keep_size = keep.size;
    return is_more;
}
