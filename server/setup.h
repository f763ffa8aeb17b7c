/* What server.info tells of how the server is set up: files that others may touch, listeners that
 * are open, and when certificates, lists of revoked ones and tokens end.
 *
 * Thread: main.  Reads files. */
#ifndef ERGON_SETUP_H
#define ERGON_SETUP_H

#include "server/config/config.h"
#include "server/rpc/rpc.h"

/* At the start, before setup_note(): which listeners there are, until the server ends. */
void setup_begin(struct rpc_setup *setup, const struct config *c);

/* After the start, and after each reload that was taken over. */
void setup_note(struct rpc_setup *setup, const struct config *c);

/* What became of a reload; setup_note() is not called for one that is refused. */
void setup_reloaded(struct rpc_setup *setup, bool good);

#endif
