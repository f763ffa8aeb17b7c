/* `ergond --cluster-admin VERB`: what people do to the database of a cluster, in place of serving.
 * One thread; blocks. */
#ifndef ERGON_ADMINISTER_H
#define ERGON_ADMINISTER_H

#include "server/config/config.h"

/* Prints what was done or found, and complaints to standard error.  Returns the exit status of the
 * process: 0 good; 1 something that was found is bad; 2 nothing could be done. */
int administer(const struct config *c);

#endif
