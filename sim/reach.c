#include "sim/reach.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "proto/errors.h"
#include "server/jobs/core/states.h"
#include "sim/wire.h"

/* In memory that all processes share; they run one after the other. */
static struct reached {
    uint64_t states[JOB_STATE_COUNT], reasons[JOB_REASON_COUNT], errors[ERGON_ERROR_COUNT];
} * reached;

static const char *state_name(uint32_t n)
{
    return job_state_names[n];
}

static const char *reason_name(uint32_t n)
{
    return job_reason_name((enum job_reason)n);
}

static const char *name_of_error(uint32_t n)
{
    return n == ERGON_OK ? NULL : error_name((enum ergon_error)n);
}

static void count(uint64_t *counts, uint32_t size, const char *(*name)(uint32_t n),
                  struct span text)
{
    for (uint32_t n = 0; n < size; n++)
        if (name(n) && span_is(text, name(n)))
            counts[n]++;
}

void sim_reach_open(void)
{
    reached =
        mmap(NULL, sizeof *reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(reached != MAP_FAILED, "no memory for counts");
}

/* "NAME: text" */
static void count_error(struct span error)
{
    const uint8_t *colon = error.len > 0 ? memchr(error.at, ':', error.len) : NULL;
    if (colon)
        count(reached->errors, ERGON_ERROR_COUNT, name_of_error,
              span_of(error.at, (size_t)(colon - error.at)));
}

void sim_reach(struct span error, struct span result)
{
    if (!reached)
        return;
    count_error(error);
    if (error.len > 0)
        return;
    count_error(sim_member_text(result, "error"));
    count(reached->states, JOB_STATE_COUNT, state_name, sim_member_text(result, "state"));
    count(reached->reasons, JOB_REASON_COUNT, reason_name, sim_member_text(result, "reason"));
}

static void write_kind(FILE *to, const char *kind, const uint64_t *counts, uint32_t size,
                       const char *(*name)(uint32_t n))
{
    fprintf(to, "%s:", kind);
    for (uint32_t n = 0; n < size; n++)
        if (name(n) && counts[n] > 0)
            fprintf(to, " %s %" PRIu64, name(n), counts[n]);
    fprintf(to, "; never:");
    for (uint32_t n = 0; n < size; n++)
        if (name(n) && counts[n] == 0)
            fprintf(to, " %s", name(n));
    fputc('\n', to);
}

void sim_reach_write(FILE *to)
{
    write_kind(to, "states", reached->states, JOB_STATE_COUNT, state_name);
    write_kind(to, "reasons", reached->reasons, JOB_REASON_COUNT, reason_name);
    write_kind(to, "errors", reached->errors, ERGON_ERROR_COUNT, name_of_error);
}
