/* The builder assembles a topology from the configuration.
 *
 * Main thread. */
#ifndef ERGON_BUILDER_H
#define ERGON_BUILDER_H

#include "server/config/config.h"
#include "server/topology.h"

/* Builds everything but threads and listeners; a configured store is opened and read back, so this
 * may block.  `registry` is borrowed until topology_free().  NULL and a text in `error` when there
 * is no memory or descriptor, when a module needs an executor that is not configured, or when the
 * store cannot be opened or read. */
struct topology *topology_build(const struct config *config, struct registry *registry, char *error,
                                size_t size);

/* Opens the configured listeners and loads the tokens, before the start.  0, or -1 and a text: an
 * address that is taken or not ours, a certificate or a token file that cannot be read. */
int topology_listen(struct topology *t, const struct config *config, char *error, size_t size);

#endif
