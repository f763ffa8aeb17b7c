/* Translates the configuration into the options of each part of the server.
 *
 * The functions have no effect, except that plan_limits() raises the process's limit of open files.
 * Results borrow the strings of the configuration.  Main thread, before the other threads start. */
#ifndef ERGON_PLAN_H
#define ERGON_PLAN_H

#include <limits.h>

#include "server/accounts/account.h"
#include "server/access/rights.h"
#include "server/config/config.h"
#include "server/jobs/jobs.h"
#include "server/net/net.h"
#include "server/tasks/tasks.h"

uint32_t plan_loops(const struct config *c); /* how many; by default one for each processor */

struct scan_limits plan_scan(const struct config *c); /* for messages of clients */
struct net_limits plan_limits(const struct config *c, uint32_t loops);

struct account_limits plan_accounts(const struct config *c);

/* The result is malloc'ed and *count long; NULL without memory.  Unless executors are listed, there
 * is a stepped one on each loop, and the configured number of blocking ones.  The spares come last.
 */
struct executor_plan *plan_executors(const struct config *c, uint32_t loops, uint32_t *count);

/* The options of the activator of loop `index`, without its poller. */
struct activator_options plan_loop(const struct config *c, uint32_t index);

/* NULL without memory. */
struct role_table *plan_roles(const struct config *c);

/* Strings are borrowed from the configuration, except `methods`, which is malloc'ed (free() it).
 * False without memory. */
bool plan_listener(const struct config *c, const struct config_listener *l,
                   struct listener_options *out);

/* The options of the admin listeners, `count` long and malloc'ed, as is the `methods` of each:
 * plan_admin_free().  NULL without memory. */
struct listener_options *plan_admin(const struct config *c);
void plan_admin_free(struct listener_options *listeners, size_t count);

/* The plan of the task system; the caller fills in loops, manager and executors. */
struct tasks_plan plan_tasks(const struct config *c);

/* What holds for submitted tasks, with numbers in place of "auto". */
struct jobs_settings plan_jobs(const struct config *c);

/* enum job_durable: of a submission that names none; what those of FSYNC and above have to survive,
 * else they are refused. */
uint8_t plan_durable(const struct config *c);
uint8_t plan_store_require(const struct config *c);

/* The patterns of methods that workers may offer, malloc'ed; NULL: none.  False without memory. */
bool plan_worker_methods(const struct config *c, char **out);
/* The same of any list of patterns. */
bool plan_patterns(const struct config_texts *patterns, char **out);

/* The tenants of the configuration, malloc'ed; their names are borrowed.  NULL without memory. */
struct jobs_tenant *plan_tenants(const struct config *c);

/* The folder for files of the flight recorder.  False: no files are wanted. */
bool plan_recorder_folder(const struct config *c, char out[PATH_MAX]);

/* The idle mode; auto becomes sleep if no processor is to spare.  It reads files: call it at the
 * start. */
enum idle_mode plan_idle(const struct config *c);
const char *plan_idle_name(const struct config *c); /* static */

#endif
