#include "server/tasks/method_ranks.h"

#include <stdlib.h>

#include "server/tasks/tasks.h"

static int busiest_first(const void *a, const void *b)
{
    const struct method_rank *p = a, *q = b;
    if (p->calls != q->calls)
        return p->calls < q->calls ? 1 : -1;
    return (p->index > q->index) - (p->index < q->index);
}

uint32_t method_ranks(const struct tasks *tasks, uint32_t methods, bool ended,
                      struct method_rank *ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < methods; i++) {
        struct method_info m;
        tasks_method_info(tasks, i, &m);
        uint64_t calls = m.done + m.failed + (ended ? 0 : m.busy_refused + m.running + m.parked);
        if (calls > 0)
            ranks[count++] = (struct method_rank){i, calls};
    }
    if (count > 0)
        qsort(ranks, count, sizeof *ranks, busiest_first);
    return count;
}
