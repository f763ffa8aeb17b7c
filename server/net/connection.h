/* The interface of a connection to the layer above: an active object that turns bytes of a stream
 * into messages, and answers into bytes.
 *
 * It knows nothing of methods or tasks: each whole, well-formed message goes to the port that the
 * loop was given (the rpc layer), which answers through the functions below, at once or later, in
 * any order.  A connection belongs to its loop.  It is freed when it is closed and no call is in
 * flight any more: until its port's `gone` has returned and each call has ended, a `struct
 * connection *` stays valid.
 *
 * Thread: everything here runs on the loop that owns the connection. */
#ifndef ERGON_NET_CONNECTION_H
#define ERGON_NET_CONNECTION_H

#include <stdint.h>

#include "base/span.h"
#include "proto/envelope.h"
#include "proto/errors.h"

struct connection;
struct error_answer; /* proto/encoder.h */
struct principal;    /* server/net/auth/principal.h */
struct tally;        /* server/accounts/tally.h */
struct token_table;  /* the same */

/* The layer above the connections of one loop.  All of it runs on the loop's thread. */
struct conn_port {
    void *arg;
    /* A request, notification or response came.  The envelope and all its spans are valid during
     * the call only. */
    void (*message)(void *arg, struct connection *c, const struct envelope *e);
    /* No answer will be read any more (the peer has left, reset, write error, closed by us):
     * requests that wait should be dropped, running ones flagged.  Calls in flight must still be
     * ended with conn_call_ended().  Once for each connection that was open and has closed; before
     * that, each time that one stops to be read whose peer has left, and of which messages still
     * come; and behind it, when conn_ends(). */
    void (*gone)(void *arg, struct connection *c);
    /* Its principal may do less than before, or it has none any more, and it goes on: requests that
     * wait for what it may not have should be answered.  NULL: nobody asks. */
    void (*lowered)(void *arg, struct connection *c);
    /* Of a connection that conn_vouch() was said of: its principal by the configuration as it is
     * now; a reference for the caller.  NULL: there is none, and it is closed.  NULL in the port:
     * no listener is one of nodes. */
    const struct principal *(*vouched)(void *arg, struct connection *c);
    /* The next part of a message that the port reads in parts: conn_begin_parts().  NULL: it reads
     * none so. */
    void (*part)(void *arg, struct connection *c);
    /* The rest is for connections that serve (server/net/serving.h); NULL: none does.
     *
     * Its peer sends nothing more (FIN), so no answer will come, and it serves no longer; all that
     * was committed has been handed to the stream.  Its own calls are still answered, as those of
     * others that half-close.  Not called where `gone` is instead. */
    void (*finished)(void *arg, struct connection *c);
    /* Bytes of its output may have been handed to the stream: conn_handed() says how many, and
     * conn_output_full() whether there is room.  More may be sent, within the call too. */
    void (*flushed)(void *arg, struct connection *c);
    /* There may be room for output again, after conn_await_room(): conn_output_full() says.  Of one
     * that serves `flushed` says so instead.  NULL: nobody awaits any. */
    void (*has_room)(void *arg, struct connection *c);
    /* Does this request or notification begin nothing that it would hold, or have in flight?  Then
     * it is handed over beyond the limits too, and while the server drains; other requests are
     * answered BUSY or DRAINING, other notifications are dropped.  NULL: none is. */
    bool (*harmless)(void *arg, const struct envelope *e);
    /* The loop goes by a configuration that was read anew; `message` may become another.  NULL:
     * nobody asks. */
    void (*reloaded)(struct conn_port *port);
};

/* Within `message`: what the scanner has noted of the message that was handed over, and its first
 * byte, which counts while there are notes. */
const struct scan_notes *conn_message_notes(const struct connection *c, const uint8_t **first);

/* Within `message`: this one costs as much as so many plain ones more.  The connection hands over
 * as many less in this step, and its account in this round. */
void conn_worked(struct connection *c, size_t messages);

/* Within `message`: this one is long, and the port reads it in parts.  In each further step of the
 * connection `part` is called once, and no other message is handed over, until the port says that
 * it is done.  The port keeps what it needs of the message, and has a call in flight meanwhile.
 * The connection may close in between: then `gone` is called, and `part` still is, unless the port
 * is done. */
void conn_begin_parts(struct connection *c);
/* Within `part` or `gone`: it is done. */
void conn_end_parts(struct connection *c);

/* How this peer wants to be answered: chosen by server.hello, or by the listener. */
struct conn_mode {
    uint8_t error_shape; /* enum error_shape */
    bool raw;            /* neither str8 nor bin nor ext in answers */
    bool push;           /* notifications from us are welcome */
    bool fin_ends;       /* it never half-closes: after its FIN it reads no answers */
};

/* The connection's own, free to change. */
struct conn_mode *conn_mode(struct connection *c);
/* Unique in this process; in logs and traces. */
uint64_t conn_id(const struct connection *c);
/* "127.0.0.1:4711", "unix:1000"; lives as long as the connection. */
const char *conn_peer(const struct connection *c);
/* One pointer for the port: head of its list of calls in flight.  NULL at first. */
void **conn_user(struct connection *c);

/* Calls in flight.  Each that began is ended exactly once; at the configured number the connection
 * stops reading (but for a small reserve that lets a cancel through).  Long polls do not count
 * there: for them `counted` is false, both times. */
void conn_call_began(struct connection *c, bool counted);
void conn_call_ended(struct connection *c, bool counted);
/* Within `gone`: the loop is being freed, and the connection with it, whatever is in flight. */
bool conn_ends(const struct connection *c);
/* Long polls that began and have not ended. */
uint32_t conn_polls(const struct connection *c);

/* Answers.  conn_reserve() gives `room` contiguous writable bytes, or NULL when the connection is
 * gone or memory is out (then the answer is dropped; out of memory closes the connection).
 * conn_commit() says where the written part ends.  Between the two nothing else of this connection
 * may be called.  All that was committed in one round goes out in one write at its end. */
uint8_t *conn_reserve(struct connection *c, size_t room);
void conn_commit(struct connection *c, uint8_t *end);
/* Takes over a block instead of copying it: `release(block)` is called once it is written or
 * dropped, which may be at once.  For large results.  False: it was dropped, as above. */
bool conn_send_block(struct connection *c, void *block, struct span bytes,
                     void (*release)(void *block));
/* At least CONN_LARGE bytes of the caller's, of which only what the peer's system does not take
 * soon is copied.  They may be the caller's only, or part of the message that the connection hands
 * over. */
enum { CONN_LARGE = 32768 }; /* bytes; so many are written before they leave the caches */
void conn_send_large(struct connection *c, struct span bytes);

/* May so many bytes be pushed, which no request asked for?  True: they count, and are to be sent
 * now. False: what was pushed before and still waits would be more than the limit of output, for
 * the peer does not read; or there is no memory. */
bool conn_may_push(struct connection *c, size_t bytes);

/* An error response of at most 640 bytes, in the shape that the peer chose; its text is cut to fit.
 * Dropped as above. */
void conn_send_error(struct connection *c, struct span msgid, const struct error_answer *error);

/* Closes for a reason that is logged (a constant text): what is committed is still written, what is
 * in flight is dropped.  Of one that closes already: nothing. */
void conn_close(struct connection *c, const char *why);

#endif
