/* Facts about the set-up of the server, for server.info: files that others may read or write,
 * unguarded listeners, and when certificates, lists of revoked certificates and tokens expire.
 *
 * Thread: main.  These functions read files. */
#ifndef ERGON_SETUP_H
#define ERGON_SETUP_H

#include "server/config/config.h"
#include "server/rpc/rpc.h"

/* Call it at the start, before setup_note(): it lists the listeners, which do not change until the
 * server ends. */
void setup_begin(struct rpc_setup *setup, const struct config *c);

/* Call it after the start, and after each reload that was applied. */
void setup_note(struct rpc_setup *setup, const struct config *c);

/* Notes whether a reload was applied; setup_note() is not called for one that was refused. */
void setup_reloaded(struct rpc_setup *setup, bool good);

#endif
