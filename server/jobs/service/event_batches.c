#include "server/jobs/service/event_batches.h"

#include "server/jobs/core/history.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/view.h"

enum {
    NOTIFICATION = 2, /* of MessagePack-RPC */
    EVENT_WORK = 4    /* see jobs_worked() */
};

static void pack_notification(struct pack *p, const struct job *job,
                              const struct history_event *event)
{
    char id[ID_TEXT_SIZE];
    pack_array(p, 3);
    pack_uint(p, NOTIFICATION);
    pack_str(p, "task.event");
    pack_array(p, 2);
    pack_str(p, id_text(job->id, id));
    view_event(event, p);
}

/* What an event takes at most. */
static size_t bound_of(const struct history_event *event)
{
    enum { AROUND = 192 };
    return AROUND + event->text.len + event->data.len;
}

static struct blob *make(struct jobs *jobs, const struct job *job, uint32_t from, uint32_t *next)
{
    struct pack p;
    struct history_event event;
    struct blob *events = NULL;
    *next = from;
    pack_init(&p);
    while (history_get(job, *next, &event)) {
        if (p.buffer.size > 0 && p.buffer.size + bound_of(&event) > EVENT_BATCH_BYTES)
            break;
        pack_notification(&p, job, &event);
        *next = event.seq + 1;
        jobs_worked(jobs, EVENT_WORK);
    }
    if (!p.failed && p.buffer.size > 0)
        events = blob_copy(pack_bytes(&p));
    pack_fini(&p);
    return events;
}

struct blob *event_batches_get(struct jobs *jobs, struct job *job, uint32_t from, uint32_t *next)
{
    struct event_batch *b = &jobs->batches.batches[(job->id ^ from) % EVENT_BATCHES];
    jobs_worked(jobs, EVENT_WORK);
    if (!b->events || b->id != job->id || b->from != from) {
        blob_unref(b->events);
        *b = (struct event_batch){.id = job->id, .from = from};
        b->events = make(jobs, job, from, &b->next);
    }
    *next = b->next;
    return b->events;
}

void event_batches_fini(struct event_batches *all)
{
    for (unsigned i = 0; i < EVENT_BATCHES; i++)
        blob_unref(all->batches[i].events);
    *all = (struct event_batches){0};
}
