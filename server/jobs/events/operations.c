/* event.set, event.wait; and the subsystem of events. */
#include <stdlib.h>

#include "server/jobs/events/named_events.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/operations/operation.h"

enum { SERVE_WORK = 10, TOLD_WORK = 1 /* see jobs_worked() */ };

/* May the client use this event of its tenant?  False: the operation was answered DENIED. */
static bool admit(struct operation *op)
{
    struct span name = op->event.name;
    if (operation_may_object(op, &(struct rights_object){.tenant = op->tenant, .key = name}))
        return true;
    operation_refuse(op, ERGON_E_DENIED, "to use the event, a role's `keys` have to name \"%.*s\"",
                     (int)name.len, (const char *)name.at);
    return false;
}

static struct named_event *find_or_make(struct jobs *jobs, struct operation *op)
{
    struct refusal why;
    struct named_event *e = event_make(jobs, op->tenant, op->event.name, &why);
    if (!e)
        operation_refuse(op, why.error, "%s", why.text);
    return e;
}

/* --- event.set --- */

static void tell(struct jobs *jobs, const struct named_event *e)
{
    struct event_waiter *next;
    for (struct event_waiter *w = e->waiters; w; w = next) {
        next = w->next;
        jobs_worked(jobs, TOLD_WORK);
        if (w->from <= e->seq)
            waiters_due(jobs, ao_of(w, struct operation, event.waits));
    }
}

static void serve_set(struct jobs *jobs, struct operation *op)
{
    struct refusal why;
    jobs_worked(jobs, SERVE_WORK);
    struct named_event *e = admit(op) ? find_or_make(jobs, op) : NULL;
    if (!e)
        return;
    if (!event_set(jobs, e, op->event.value, &why)) {
        event_settle(jobs, e);
        operation_refuse(op, why.error, "%s", why.text);
        return;
    }
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 1);
    pack_key_uint(&op->reply.result, "seq", e->seq);
    tell(jobs, e);
    operation_finish(op);
}

/* --- event.wait --- */

static void answer(struct operation *op, const struct named_event *e, bool in_time)
{
    struct pack *p = &op->reply.result;
    pack_init(p);
    pack_map(p, 2);
    pack_key_uint(p, "seq", e->seq);
    if (in_time)
        pack_key_raw(p, "value", span_of(e->value, e->value_len));
    else
        pack_key_bool(p, "timeout", true);
    operation_finish(op);
}

static void leave(struct operation *op)
{
    event_leave(op->event.at, &op->event.waits);
    waiters_leave(op);
}

/* It was set, or the time is over. */
static void finish(struct jobs *jobs, struct operation *op)
{
    struct named_event *e = op->event.at;
    leave(op);
    answer(op, e, e->seq >= op->event.waits.from);
    event_settle(jobs, e);
}

static void dropped(struct jobs *jobs, struct operation *op)
{
    struct named_event *e = op->event.at;
    leave(op);
    event_settle(jobs, e);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

static void serve_wait(struct jobs *jobs, struct operation *op)
{
    jobs_worked(jobs, SERVE_WORK);
    struct named_event *e = admit(op) ? find_or_make(jobs, op) : NULL;
    if (!e)
        return;
    uint64_t *from = &op->event.waits.from;
    *from = *from == 0 ? e->seq + 1 : *from;
    if (e->seq >= *from) {
        answer(op, e, true);
        return;
    }
    op->event.at = e;
    op->waiting.held = true;
    event_join(e, &op->event.waits);
    if (!waiters_poll(jobs, op, op->event.timeout))
        finish(jobs, op);
}

/* --- The end --- */

static void finish_all(struct jobs *jobs, struct named_event *e)
{
    struct event_waiter *next;
    for (struct event_waiter *w = e->waiters; w; w = next) { /* it goes with the last of them */
        next = w->next;
        finish(jobs, ao_of(w, struct operation, event.waits));
    }
}

static void stop(struct jobs *jobs)
{
    struct hash_link *next;
    const struct hash_table *all = jobs->events ? &jobs->events->by_name : NULL;
    for (uint32_t at = 0; all && at < all->size; at++)
        for (struct hash_link *link = all->buckets[at]; link; link = next) {
            next = link->next;
            finish_all(jobs, (struct named_event *)link);
        }
}

const struct operation_class operation_event_set = {.method = method_event_set, .serve = serve_set};
const struct operation_class operation_event_wait = {
    .method = method_event_wait, .serve = serve_wait, .dropped = dropped, .due = finish};

/* --- The subsystem --- */

static bool init(struct jobs *jobs, char *error, size_t size)
{
    (void)error;
    (void)size;
    jobs->events = calloc(1, sizeof *jobs->events);
    if (jobs->events)
        hash_table_init(&jobs->events->by_name);
    return jobs->events != NULL;
}

static void fini(struct jobs *jobs)
{
    if (!jobs->events)
        return;
    events_free(jobs);
    hash_table_fini(&jobs->events->by_name);
    free(jobs->events);
}

static void show(const struct jobs *jobs, struct jobs_info *out)
{
    out->events = counter_read(&jobs->events->shown);
}

/* clang-format off */
static const struct figure figures[] = {
    {"shared", FIGURE_AT(struct jobs_info, events), "events",
     "ergon_events", false, NULL, "Named events."},
};
/* clang-format on */

const struct subsystem subsystem_events = {.init = init,
                                           .fini = fini,
                                           .stop = stop,
                                           .show = show,
                                           .figures = figures,
                                           .figure_count = sizeof figures / sizeof *figures};
