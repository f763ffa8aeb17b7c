/* Writes the report of a run that broke an expectation: the sentence, the value found, and the
 * history of the task in about ten lines. */
#ifndef ERGON_SIM_USER_REPORT_H
#define ERGON_SIM_USER_REPORT_H

#include <stdint.h>

#include "base/span.h"

enum { SIM_UNUSABLE = 2 /* exit status of a process that met a fault of the scenario */ };

struct sim_effect;
struct sim_expect;
struct sim_user_task;

/* Notes an event that concerns all tasks, such as a restart.  The text ends without a full stop. */
void sim_story_all(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Notes an event of one task. */
void sim_story(const struct sim_user_task *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the report, and ends the process.  Call it on a fiber of the world, while the server is
 * up. `e`: the expectation that failed, or NULL.  `t`: the task whose history is written, or NULL.
 * `f`: the effect that should not have happened, or NULL. */
_Noreturn void sim_report(const struct sim_expect *e, const struct sim_user_task *t,
                          const struct sim_effect *f, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reports that the server refuses tasks of this method, or the cron of this name: the scenario is
 * wrong.  Ends the process. */
_Noreturn void sim_report_refused(const char *name, struct span error);
#endif
