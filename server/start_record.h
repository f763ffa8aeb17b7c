/* The record that says that the server is up, and what it is: the first thing that somebody who is
 * handed a log looks for. */
#ifndef ERGON_START_RECORD_H
#define ERGON_START_RECORD_H

#include "server/config/config.h"
#include "server/topology.h"

/* Main thread, once all threads run.  The limits are those in force, not those asked for. */
void start_record_log(const struct config *c, const struct topology *t);

#endif
