#include "server/jobs/core/job_spec.h"

void job_spec_init(struct job_spec *spec)
{
    *spec = (struct job_spec){JOB_SPEC_DEFAULTS};
}
