#include "server/jobs/subsystem.h"

#include "base/figure.h"

static const struct subsystem *const all[] = {
#define X(name) &subsystem_##name,
    JOBS_SUBSYSTEMS(X)
#undef X
};

enum { COUNT = sizeof all / sizeof *all };

bool subsystems_init(struct jobs *jobs, char *error, size_t size)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (!all[i]->init(jobs, error, size))
            return false;
    return true;
}

void subsystems_fini(struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++)
        all[i]->fini(jobs);
}

void subsystems_start(struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->start)
            all[i]->start(jobs);
}

bool subsystems_step(struct jobs *jobs)
{
    bool idle = true;
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->step)
            idle &= all[i]->step(jobs);
    return idle;
}

bool subsystems_save(struct jobs *jobs)
{
    bool any = false;
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->save)
            any |= all[i]->save(jobs);
    return any;
}

void subsystems_flush(struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->flush)
            all[i]->flush(jobs);
}

bool subsystems_follow_wall(const struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->follows_wall && all[i]->follows_wall(jobs))
            return true;
    return false;
}

void subsystems_clock_leapt(struct jobs *jobs, int64_t by)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->clock_leapt)
            all[i]->clock_leapt(jobs, by);
}

void subsystems_clock_watched(struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->clock_watched)
            all[i]->clock_watched(jobs);
}

void subsystems_task_lost(struct jobs *jobs, const struct job *job)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->task_lost)
            all[i]->task_lost(jobs, job);
}

void subsystems_stop(struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++)
        if (all[i]->stop)
            all[i]->stop(jobs);
}

void subsystems_dismiss(struct jobs *jobs)
{
    for (unsigned i = 0; i < COUNT; i++) {
        void (*dismiss)(struct jobs *) = all[i]->dismiss ? all[i]->dismiss : all[i]->stop;
        if (dismiss)
            dismiss(jobs);
    }
}

void subsystems_show(const struct jobs *jobs, struct jobs_info *out)
{
    for (unsigned i = 0; i < COUNT; i++)
        all[i]->show(jobs, out);
}

const struct figure *subsystems_figure(size_t n)
{
    for (unsigned i = 0; i < COUNT; i++) {
        if (n < all[i]->figure_count)
            return &all[i]->figures[n];
        n -= all[i]->figure_count;
    }
    return NULL;
}

const struct subsystem_rows *subsystems_rows(size_t n)
{
    for (unsigned i = 0; i < COUNT; i++) {
        if (n < all[i]->row_tables)
            return &all[i]->rows[n];
        n -= all[i]->row_tables;
    }
    return NULL;
}
