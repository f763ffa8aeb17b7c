/* `ergond --cluster-admin VERB`: what people do to the database of a cluster, in place of serving.
 * One thread; blocks. */
#ifndef ERGON_ADMINISTER_H
#define ERGON_ADMINISTER_H

#include "server/config/config.h"
#include "server/store/offline/offline.h"

/* Prints what was done or found, and complaints to standard error.  Returns the exit status of the
 * process: 0 good; 1 something that was found is bad, or was not imported; 2 nothing could be done.
 * `store`: the database of `c`, for what init imports. */
int administer(const struct config *c, const struct store_offline *store);

#endif
