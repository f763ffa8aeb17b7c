/* From configuration to what the parts want.
 *
 * Translations, which change nothing but, in plan_limits(), the process's limit of open files. What
 * is returned borrows the configuration's strings.  Main thread, before the other threads start. */
#ifndef ERGON_PLAN_H
#define ERGON_PLAN_H

#include <limits.h>

#include "server/accounts/account.h"
#include "server/access/rights.h"
#include "server/config/config.h"
#include "server/jobs/jobs.h"
#include "server/net/net.h"
#include "server/tasks/tasks.h"

uint32_t plan_loops(const struct config *c); /* how many, by configuration or processors */

struct scan_limits plan_scan(const struct config *c); /* of a message of a client */
struct net_limits plan_limits(const struct config *c, uint32_t loops);

struct account_limits plan_accounts(const struct config *c);

/* `executors` is malloc'ed, *count long; NULL without memory.  Without an explicit list: a stepped
 * one on each loop, and the blocking ones.  Behind all others stand the spares. */
struct executor_plan *plan_executors(const struct config *c, uint32_t loops, uint32_t *count);

/* What the activator of loop `index` is opened with, but for its poller. */
struct activator_options plan_loop(const struct config *c, uint32_t index);

/* NULL without memory. */
struct role_table *plan_roles(const struct config *c);

/* The strings are borrowed from the configuration but for `methods`, which is malloc'ed (free()
 * it).  False without memory. */
bool plan_listener(const struct config *c, const struct config_listener *l,
                   struct listener_options *out);

/* Those of the admin listeners, `count` long: malloc'ed, each with its `methods` as above;
 * plan_admin_free().  NULL without memory. */
struct listener_options *plan_admin(const struct config *c);
void plan_admin_free(struct listener_options *listeners, size_t count);

/* The plan of the task system; loops, manager and executors are the caller's to fill in. */
struct tasks_plan plan_tasks(const struct config *c);

/* The limits of submitted tasks; what they stand on is the caller's to fill in. */
struct jobs_options plan_jobs(const struct config *c);

/* The patterns of methods that workers will offer, malloc'ed; NULL: none.  False without memory. */
bool plan_worker_methods(const struct config *c, char **out);
bool plan_worker_join(const struct config *c, char **out); /* the same of workers.join */

/* As many as the configuration names, malloc'ed; the names are borrowed.  NULL without memory. */
struct jobs_tenant *plan_tenants(const struct config *c);

/* Where files of the flight recorder go.  False: nowhere. */
bool plan_recorder_folder(const struct config *c, char out[PATH_MAX]);

/* Auto becomes sleep where no processor is to spare.  Reads files: call it at the start. */
enum idle_mode plan_idle(const struct config *c);
const char *plan_idle_name(const struct config *c); /* static */

#endif
