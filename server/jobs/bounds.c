#include "server/jobs/bounds.h"

#include "server/jobs/jobs_parts.h"

/* What is kept beyond is forgotten by the jobs' own step. */
static enum ao_verdict take_over(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, bounds.ao);
    const struct bounds *b = &jobs->bounds;
    struct jobs_options *o = &jobs->options;

    o->tasks_max = counter_read(&b->tasks_max);
    o->bytes_max = counter_read(&b->bytes_max);
    o->tenant_share = (uint32_t)counter_read(&b->tenant_share);
    o->kept_bytes_max = jobs->sched.kept_bytes_max = counter_read(&b->kept_bytes_max);
    o->keep_failed = jobs->sched.keep_failed = counter_read(&b->keep_failed);
    ao_activate(&jobs->ao);
    return AO_DONE;
}

static const struct ao_class bounds_class = {.name = "limits of tasks", .step = take_over};

static void write_down(struct bounds *b, const struct jobs_options *o)
{
    counter_set(&b->tasks_max, o->tasks_max);
    counter_set(&b->bytes_max, o->bytes_max);
    counter_set(&b->tenant_share, o->tenant_share);
    counter_set(&b->kept_bytes_max, o->kept_bytes_max);
    counter_set(&b->keep_failed, o->keep_failed);
}

bool bounds_init(struct jobs *jobs)
{
    struct bounds *b = &jobs->bounds;

    write_down(b, &jobs->options);
    ao_init(&b->ao, &bounds_class, jobs->activator);
    b->handle = ao_handle_new(&b->ao);
    return b->handle != NULL;
}

void bounds_fini(struct jobs *jobs)
{
    struct bounds *b = &jobs->bounds;

    ao_deactivate(&b->ao);
    ao_fini(&b->ao);
    if (b->handle)
        ao_handle_unref(b->handle);
}

void jobs_set_limits(struct jobs *jobs, const struct jobs_options *options)
{
    write_down(&jobs->bounds, options);
    ao_post(jobs->bounds.handle, AO_POST_ACTIVATE);
}

void bounds_show(const struct jobs *jobs, struct jobs_info *out)
{
    out->tasks_max = counter_read(&jobs->bounds.tasks_max);
    out->bytes_max = counter_read(&jobs->bounds.bytes_max);
    out->kept_bytes_max = counter_read(&jobs->bounds.kept_bytes_max);
    out->tenant_share = counter_read(&jobs->bounds.tenant_share);
}
