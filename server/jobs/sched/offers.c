#include "server/jobs/sched/offers.h"

#include <stdlib.h>

#include "server/jobs/sched/admission.h"
#include "server/tasks/job_source.h"
#include "server/tasks/manager/pool.h"

static void note_leaver(struct job_queue *q, struct span who)
{
    free(q->offer.who);
    q->offer.left = q->offer.at;
    q->offer.who = who.len > 0 ? strndup((const char *)who.at, who.len) : NULL;
}

struct job_queue *offers_changed(struct scheduler *s, struct method *m, bool workers,
                                 struct span who)
{
    struct job_queue *q = table_queue(s->table, m->name);
    if (!q)
        return NULL;
    q->method = m; /* it may have been made before this was */
    q->offer.now = workers;
    q->offer.at = table_wall(s->table);
    admission_set_idle(s, m->pool->index, !workers);
    if (workers) {
        scheduler_move(s, q);
        job_source_wake(s->tasks, m->pool->index);
    } else {
        note_leaver(q, who);
    }
    return q;
}
