/* Checks across the keys of a cluster, and of a store that is a database.  For check.c. */
#ifndef ERGON_CONFIG_CHECK_CLUSTER_H
#define ERGON_CONFIG_CHECK_CLUSTER_H

#include "server/config/sources.h"

void check_database(const struct subject *s); /* the store's URL */
void check_cluster(const struct subject *s);

#endif
