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

/* Notes an event that concerns all tasks, as a restart.  The text is a sentence without its point.
 */
void sim_story_all(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Notes an event of one task. */
void sim_story(const struct sim_user_task *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* On a fiber of the world, while the server is up: writes the report, and ends the process.
 * `e`: the expectation that failed; NULL: none did.  `t`: the task of the story; NULL: there is
 * none. `f`: the effect that should not be; NULL: none is. */
_Noreturn void sim_report(const struct sim_expect *e, const struct sim_user_task *t,
                          const struct sim_effect *f, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The server takes no task of the method, or no cron of the name, for this reason: the scenario is
 * wrong.  Ends the process. */
_Noreturn void sim_report_refused(const char *name, struct span error);
#endif
