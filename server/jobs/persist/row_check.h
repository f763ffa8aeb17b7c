/* Whether a row of the store can be a job: what the store knows nothing of, since to it a task is
 * columns.  A file may be damaged so that each column still holds a number or bytes.
 *
 * Pure; any thread.  NULL: it can; else a constant text for people. */
#ifndef ERGON_JOBS_ROW_CHECK_H
#define ERGON_JOBS_ROW_CHECK_H

#include "server/store/store.h"

const char *row_check_task(const struct store_task *row);
const char *row_check_event(const struct store_event *row);
const char *row_check_rate(const struct store_rate *row);
const char *row_check_cron(const struct store_cron *row);
const char *row_check_semaphore(const struct store_semaphore *row);
const char *row_check_hold(const struct store_hold *row);

#endif
