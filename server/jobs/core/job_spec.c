#include "server/jobs/core/job_spec.h"

void job_spec_init(struct job_spec *spec)
{
    *spec = (struct job_spec){.timeout = AO_NEVER,
                              .deadline = AO_NEVER,
                              .backoff = SPEC_BACKOFF,
                              .backoff_max = SPEC_BACKOFF_MAX,
                              .backoff_jitter = SPEC_JITTER,
                              .priority = SPEC_PRIORITY,
                              .durable = DURABLE_ASYNC,
                              .keep = SPEC_KEEP,
                              .keep_size = SPEC_KEEP_SIZE};
}
