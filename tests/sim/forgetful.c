/* Of a simulated server that has a fault: it reads deadlines back from its store a second late. The
 * linker puts this in the place of the server's function. */
#include "server/jobs/persist/recover.h"
#include "server/store/store.h"

bool __real_recover_task(struct jobs *jobs, const struct store_task *row, const char **failure);
bool __wrap_recover_task(struct jobs *jobs, const struct store_task *row, const char **failure);

bool __wrap_recover_task(struct jobs *jobs, const struct store_task *row, const char **failure)
{
    struct store_task late = *row;

    if (late.deadline_at > 0)
        late.deadline_at += 1000000000;
    return __real_recover_task(jobs, &late, failure);
}
