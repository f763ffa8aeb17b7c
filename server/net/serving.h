/* A connection that serves: over it the server asks too, and its peer, a worker, answers.
 *
 * It is always read.  A peer that handles one thing at a time writes an answer before it reads on:
 * were that left unread because of what we still have to write to it, neither would ever go on.  So
 * what is otherwise held back by not reading is bounded in other ways:
 *
 *   what the peer asks itself    beyond a limit (calls in flight, what it or its principal holds,
 *                                output that it does not read) it is answered BUSY, and while the
 *                                server drains DRAINING; of notifications, and of what begins
 *                                nothing (conn_port.harmless), see there
 *   what we send                 the sender asks conn_output_full() before, and waits for
 *                                conn_port.flushed
 *   what it answers              counts for its principal as all input does; the sender has
 *                                room for the answer
 *
 * Neither limits.idle_timeout nor limits.unread closes it: its peer may compute for an hour without
 * a word.  Whether the peer's machine is still there is asked by the transport
 * (net_limits.silence). A drain goes on reading it.
 *
 * It serves until its peer finishes (conn_port.finished), or it is not open any more
 * (conn_port.gone).  From then on no further byte of its output is handed to the stream.  So
 * conn_handed() then says finally which requests the peer may have seen.
 *
 * Thread: the loop's that owns the connection. */
#ifndef ERGON_NET_SERVING_H
#define ERGON_NET_SERVING_H

#include <stdbool.h>
#include <stdint.h>

struct connection;

/* It serves from now on, or, off, is a connection like any other again: what was sent to its peer
 * is the caller's to settle.  Twice is fine.  At any time, its port's `message` included.  False,
 * and nothing has changed: it is not open, or the server drains, and no connection begins to serve
 * any more, or there is no memory, but for a connection with a conn_service().  Off never fails. */
bool conn_serve(struct connection *c, bool on);
bool conn_serves(const struct connection *c);

/* Within `gone` and `finished`: why it is not open any more, for people; a constant text. */
const char *conn_why(const struct connection *c);

/* Another pointer for the port, beside conn_user().  until the connection is freed.  NULL at
 * first.  To set it takes memory, and is false without; to set NULL never fails. */
void *conn_service(const struct connection *c);
bool conn_set_service(struct connection *c, void *service);

/* A third pointer, of the part that passes what the peer sends on to another process
 * (server/front/forward.h), until the connection is freed.  NULL at first.  To set it takes
 * memory, and is false without; to set NULL never fails. */
void *conn_session(const struct connection *c);
bool conn_set_session(struct connection *c, void *session);

/* Bytes of output, counted from some moment before it began to serve, or its port set
 * conn_service(): all that were committed, and of these, from the front, those that the stream has
 * taken, plain and TLS alike.  The sender of a request reads the first count after its
 * conn_commit() or conn_send_block().  The request has been handed over, whole, when the second
 * count is no less. */
uint64_t conn_committed(const struct connection *c);
uint64_t conn_handed(const struct connection *c);

/* As much waits to be written as may, or more: nothing is to be sent. */
bool conn_output_full(const struct connection *c);

/* Its output is full, and its port has more: conn_port.has_room is called when there is room.  It
 * is not read meanwhile. */
void conn_await_room(struct connection *c);

#endif
