/* Does a worker still work on what nobody wants any more?  `workers.give_up` says for how long it
 * may: then its connection is closed, since a handler that does not end keeps its slot. */
#include "server/net/connection/oversight.h"
#include "server/workers/worker_watch.h"
#include "server/workers/workers.h"

/* Of that time: the worker's tasks are looked through no more often, however many are late one
 * after the other. */
enum { LOOKS = 16 };

/* Since when nobody wants the task that has been unwanted for longest; AO_NEVER: all are wanted. */
static ao_time first_unwanted(const struct worker_link *link)
{
    ao_time first = AO_NEVER;

    for (const struct worker *w = link->first; w; w = w->next)
        for (const struct task *t = w->executor ? worker_executor_tasks(w->executor) : NULL; t;
             t = worker_executor_task_after(t)) {
            ao_time since = worker_executor_task_unwanted(t);
            if (since < first)
                first = since;
        }
    return first;
}

static enum ao_verdict look(struct ao *self)
{
    struct worker_link *link = ao_of(self, struct worker_link, late);
    ao_time now = ao_now(self), limit = link->loop->shared->give_up, first = first_unwanted(link);

    if (first == AO_NEVER || link->why)
        return AO_DONE;
    if (now - first >= limit) {
        worker_close(link, "it went on with what nobody waits for, longer than workers.give_up");
        return AO_DONE;
    }
    ao_time end = first + limit, soonest = now + limit / LOOKS;
    ao_sleep_until(self, end > soonest ? end : soonest);
    return AO_PARK;
}

static const struct ao_class late_class = {.name = "worker late", .step = look};

/* One that sleeps looks at this task when it wakes, which is before the task's time is over. */
void worker_late_begin(struct worker_link *link)
{
    if (link->loop->shared->give_up == 0)
        return;
    if (!link->watched)
        ao_init(&link->late, &late_class, link->loop->activator);
    link->watched = true;
    if (ao_state(&link->late) != AO_STATE_SLEEPING)
        ao_activate(&link->late);
}
