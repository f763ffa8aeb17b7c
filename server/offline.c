#include "server/offline.h"

#include "server/jobs/core/states.h"
#include "server/jobs/persist/row_check.h"
#include "server/store/offline/offline.h"

int offline_run(enum config_action action, const char *path, const char *copy)
{
    const struct store_offline store = {.path = path,
                                        .states = job_state_names,
                                        .state_count = JOB_STATE_COUNT,
                                        .task_fault = row_check_task,
                                        .event_fault = row_check_event,
                                        .rate_fault = row_check_rate,
                                        .cron_fault = row_check_cron,
                                        .semaphore_fault = row_check_semaphore,
                                        .hold_fault = row_check_hold};
    if (action == CONFIG_CHECK_STORE)
        return (int)store_check(&store, stdout, stderr);
    if (action == CONFIG_EXPORT_STORE)
        return (int)store_export(&store, stdout, stderr);
    if (action == CONFIG_BACKUP_STORE)
        return (int)store_backup(&store, copy, stdout, stderr);
    return (int)store_import(&store, stdin, stderr);
}
