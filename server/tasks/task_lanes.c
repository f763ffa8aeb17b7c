#include "server/tasks/task_lanes.h"

#include <stdlib.h>

#include "server/tasks/task.h"

struct lane *task_lanes_new(uint32_t count)
{
    struct lane *lanes = aligned_alloc(alignof(struct lane), count * sizeof(struct lane));
    return lanes ? memset(lanes, 0, count * sizeof(struct lane)) : NULL;
}

void task_lane_close(struct lane *l)
{
    bool all;
    if (!l->ring.slots)
        return;
    lane_threads_ended(l);
    do {
        struct lane_item *item;
        all = lane_flush(l);
        while ((item = lane_claim(l)))
            task_discard(ao_of(item, struct task, item));
        lane_release(l);
    } while (!all);
    lane_fini(l);
}

void task_lanes_free(struct lane *lanes, uint32_t count)
{
    for (uint32_t i = 0; lanes && i < count; i++)
        task_lane_close(&lanes[i]);
    free(lanes);
}
