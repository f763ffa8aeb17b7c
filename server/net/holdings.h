/* What a connection holds of the server's memory: input that it keeps, parameters and results of
 * its calls, output.  It is charged to its principal's account (server/accounts/) as it changes,
 * but not what comes and goes within one round: a brief call that is answered at once costs nothing
 * here.
 *
 * A connection that holds as much as it may, or whose principal does, or all together, is not read
 * until there is room; but where nothing of it is at work, one call may always begin, by its own
 * limit.  By that of its principal a large one waits in any case: else each of a thousand
 * connections would hold one beyond the limit, which would be none.  What holds next to nothing (a
 * ping, a cancel, a brief call) is read on such a connection, as long as no large one waits before
 * it, however full the others of its principal are.
 *
 * Thread: the loop's. */
#ifndef ERGON_NET_HOLDINGS_H
#define ERGON_NET_HOLDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/block.h"
#include "base/span.h"

struct connection;

/* All of it, bytes. */
uint64_t conn_bytes(const struct connection *c);

/* Within its port's `message`, of a call or operation that will hold so many bytes: may it begin?
 * No: nothing was done about this message; it is handed over again when there is room.  Of a
 * connection that serves it is not: it is to be refused, BUSY.  Without memory to let it wait it
 * may begin, and goes by what it allocates itself. */
bool conn_may_begin(struct connection *c, uint64_t bytes);

/* The same of a message that was kept, at any time: nothing waits. */
bool conn_has_room(const struct connection *c, uint64_t bytes);

/* Within its port's `message`: the block that holds a long message alone, so that the caller can
 * keep the message without a copy.  `params` are the message's.  The block is the caller's then and
 * no input of the connection's any more; all spans of the message stay valid for as long as it.
 * False: the message is short, or shares its block with others. */
bool conn_take_message(struct connection *c, struct span params, struct block *out);

/* A call was refused, since its principal has as many in flight as it may, and has not ended yet:
 * if the connection has others in flight, nothing more is read until there is room.  One that has
 * none would be stopped by what others do, which may be for hours, and no ping of it were answered:
 * it is read on, and its calls are refused one by one, which costs no more than to answer them.  A
 * no-op where there is room, and of one that serves. */
void conn_wait_for_room(struct connection *c);

/* So many bytes more, or with less than 0 fewer, which are held outside of the connection for its
 * sake: charged to its account here; or, of a task, which is charged itself, and may outlive it. */
void conn_hold(struct connection *c, int64_t bytes);
void conn_hold_task(struct connection *c, int64_t bytes);

#endif
