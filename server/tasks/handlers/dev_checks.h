/* What `ergond --dev` looks for in handlers, beside what every server does: steps that sleep or
 * wait for something off the processor, steps that compute for long, tasks that end and leave
 * nested calls that nobody awaited, or memory (held_memory.h).  Each is logged once a method.
 *
 * A handler is given a face whose functions measure around its own, so a server without --dev pays
 * nothing.
 *
 * Thread: set-up and tear-down. */
#ifndef ERGON_TASKS_DEV_CHECKS_H
#define ERGON_TASKS_DEV_CHECKS_H

#include "server/tasks/registry.h"

struct dev_checks;

/* Puts a face before each handler of the registry.  NULL without memory: then none has one. */
struct dev_checks *dev_checks_new(struct registry *r);
void dev_checks_free(struct dev_checks *d); /* takes the faces away; NULL is fine */

#endif
