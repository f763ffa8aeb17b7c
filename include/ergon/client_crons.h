/* Crons of a server, for users of libergon: tasks that it submits by calendar.
 *
 * As in client_tasks.h, which includes this, each function makes a request, which any face of
 * client.h sends.  NULL: out of memory.  Any thread. */
#ifndef ERGON_CLIENT_CRONS_H
#define ERGON_CLIENT_CRONS_H

#include <ergon/client.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ergon_task_options; /* client_tasks.h */

struct ergon_cron_options {
    size_t size;                           /* sizeof(struct ergon_cron_options) */
    const char *zone;                      /* "Europe/Berlin"; UTC */
    uint64_t jitter_ms;                    /* up to so much later, by chance */
    const char *overlap;                   /* "skip", "allow", "replace" */
    const char *catch_up;                  /* "none", "one", "all" */
    const struct ergon_task_options *task; /* of its tasks; NULL: the defaults */
};

/* cron.put, .list, .delete, .pause, .resume, .run, of the caller's own tenant or another. `options`
 * may be NULL, and so may `tenant`: its own. */
ERGON_API struct ergon_request *ergon_request_cron_put(const char *name, const char *schedule,
                                                       const char *method, struct ergon_raw params,
                                                       const struct ergon_cron_options *options);
ERGON_API struct ergon_request *ergon_request_crons(void);
ERGON_API struct ergon_request *ergon_request_cron_delete(const char *name);
ERGON_API struct ergon_request *ergon_request_cron_delete_of(const char *name, const char *tenant);
ERGON_API struct ergon_request *ergon_request_cron_pause(const char *name, const char *tenant);
ERGON_API struct ergon_request *ergon_request_cron_resume(const char *name, const char *tenant);
ERGON_API struct ergon_request *ergon_request_cron_run(const char *name, const char *tenant);

#ifdef __cplusplus
}
#endif

#endif
