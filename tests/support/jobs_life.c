#include "tests/support/jobs_life.h"

#include <stdio.h>

#include "server/jobs/core/states.h"
#include "server/rpc/spec_options.h"
#include "server/tasks/tasks.h"

static void nobody_called(void *arg, struct call *call, struct outcome *outcome)
{
    (void)arg;
    (void)call;
    (void)outcome;
}

static bool make_tasks(struct jobs_life *v, const struct ergon_module_info *handlers, char *error,
                       size_t size)
{
    static const struct executor_plan executor = {
        .kind = ERGON_BLOCKING, .queue = 64, .core = -1, .weight = 1};
    if (module_add(v->registry, handlers, error, size) != 0)
        return false;
    const struct tasks_plan plan = {.registry = v->registry,
                                    .loops = &v->loop,
                                    .loop_count = 1,
                                    .manager = v->loop,
                                    .executors = &executor,
                                    .executor_count = 1,
                                    .policy = PLACEMENT_OCCUPANCY,
                                    .queue_max = 1000,
                                    .message_max = 1 << 20,
                                    .ended = nobody_called};
    v->tasks = tasks_new(&plan, error, size);
    return v->tasks != NULL;
}

static bool make_jobs(struct jobs_life *v, const char *path, char *error, size_t size)
{
    const struct store_options file = {
        .path = path, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    v->store = store_open(&file, error, size);
    if (!v->store)
        return false;
    const struct jobs_options options = {.tasks = v->tasks,
                                         .registry = v->registry,
                                         .store = v->store,
                                         .settings.limits.max = UINT32_MAX,
                                         .settings.limits.bytes = UINT64_MAX,
                                         .settings.limits.kept_bytes = UINT64_MAX,
                                         .settings.limits.actors = {.bytes = (uint64_t)1 << 28,
                                                                    .max = 10000000,
                                                                    .state = 1 << 20,
                                                                    .messages = 100000},
                                         .settings.limits.keep_failed = AO_S(7 * 86400),
                                         .settings.ageing = AO_S(10),
                                         .settings.crashes = 3,
                                         .settings.events = 4096,
                                         .settings.history = 100,
                                         .read_cron_options = spec_reread_cron_options};
    v->jobs = jobs_new(&options, error, size);
    return v->jobs && jobs_recover(v->jobs, error, size) == 0;
}

bool jobs_life_begin(struct jobs_life *v, const char *path,
                     const struct ergon_module_info *handlers, char *error, size_t size)
{
    *v = (struct jobs_life){.poller = poller_eventfd_new(), .registry = registry_new()};
    v->loop = activator_open(
        &(struct activator_options){.name = "loop", .poller = v->poller, .core = -1});
    snprintf(error, size, "no memory");
    if (!make_tasks(v, handlers, error, size) || !make_jobs(v, path, error, size))
        return false;
    snprintf(error, size, "the threads do not start");
    v->started = tasks_start(v->tasks) == 0 && jobs_start(v->jobs) == 0;
    return v->started;
}

void jobs_life_end(struct jobs_life *v)
{
    if (v->started) {
        jobs_stop(v->jobs);
        tasks_stop(v->tasks, AO_S(1));
    }
    jobs_free(v->jobs);
    store_close(v->store);
    tasks_free(v->tasks);
    activator_close(v->loop);
    poller_eventfd_free(v->poller);
    registry_free(v->registry);
}
