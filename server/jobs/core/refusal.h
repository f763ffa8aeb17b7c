/* Why the jobs refuse something that a client asked for: an error, and a text for people.  Pure. */
#ifndef ERGON_JOBS_REFUSAL_H
#define ERGON_JOBS_REFUSAL_H

#include <stdio.h>

#include "proto/errors.h"
#include "server/jobs/core/job_spec.h"

struct refusal {
    enum ergon_error error;
    char text[JOB_TEXT_MAX];
};

/* Returns false. */
static inline bool refusal_set(struct refusal *why, enum ergon_error error, const char *text)
{
    why->error = error;
    snprintf(why->text, sizeof why->text, "%s", text);
    return false;
}

#endif
