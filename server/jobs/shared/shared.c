#include "server/jobs/shared/shared.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/jobs_parts.h"

#define EPOCH_US UINT64_C(1577836800000000) /* of 1 January 2020, Unix */

struct shared *shared_new(void)
{
    struct shared *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    hash_table_init(&all->secrets);
    hash_table_init(&all->fences);
    hash_table_init(&all->holders);
    hash_table_init(&all->events);
    return all;
}

void shared_free(struct shared *all)
{
    if (!all)
        return;
    hash_table_fini(&all->secrets);
    hash_table_fini(&all->fences);
    hash_table_fini(&all->holders);
    hash_table_fini(&all->events);
    free(all);
}

uint64_t shared_number(struct jobs *jobs)
{
    struct shared *all = jobs->shared;
    uint64_t us = table_wall(&jobs->table) / 1000;
    us = us > EPOCH_US ? us - EPOCH_US : 0;
    all->last_number = us > all->last_number ? us : all->last_number + 1;
    return all->last_number;
}

void shared_number_past(struct jobs *jobs, uint64_t number)
{
    if (jobs->shared->last_number < number)
        jobs->shared->last_number = number;
}

bool shared_refuse(enum ergon_error *error, enum ergon_error wrong, char *text, size_t size,
                   const char *why)
{
    *error = wrong;
    snprintf(text, size, "%s", why);
    return false;
}
