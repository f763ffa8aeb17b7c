#include "server/jobs/shared/holder.h"

#include "server/jobs/jobs_parts.h"
#include "server/jobs/shared/holds.h"
#include "server/jobs/shared/shared.h"

void holder_enter(struct jobs *jobs, struct holder *holder)
{
    hash_add(&jobs->shared->holders, &holder->by_conn);
}

struct holder *holder_find(const struct jobs *jobs, uint64_t conn)
{
    return (struct holder *)hash_first(&jobs->shared->holders, conn);
}

void holder_leave(struct jobs *jobs, struct holder *holder)
{
    hash_remove(&jobs->shared->holders, &holder->by_conn);
    while (holder->first)
        hold_lose(jobs, holder->first);
}
