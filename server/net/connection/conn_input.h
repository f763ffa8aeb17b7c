/* What a connection reads, from bytes to messages, which go to its port.
 *
 * Thread: the loop's, within the steps of the connection.  No function keeps a pointer.  Nothing
 * here returns an error: what goes wrong changes the connection's state, and without memory it is
 * CLOSED when the function returns. */
#ifndef ERGON_NET_CONN_INPUT_H
#define ERGON_NET_CONN_INPUT_H

struct connection;

enum input_end {
    INPUT_REST,    /* nothing to do before the stream is readable */
    INPUT_MORE,    /* a budget was used up: go on in the next round */
    INPUT_STOPPED, /* a limit was reached: go on when it allows */
    INPUT_EOF,     /* the peer sends nothing more, and all that it sent was handed over */
    INPUT_LEFT     /* the connection has left OPEN */
};

/* Reads and hands over what a step may. */
enum input_end input_run(struct connection *c);

/* Hands over only what is kept already: for a connection that is to drain. */
enum input_end input_run_partial(struct connection *c);

/* Its port reads a message in parts: the next part, unless others of its account have their turn
 * before.  In any state. */
void input_run_part(struct connection *c);

/* In LINGERING: reads, and throws away. */
void input_discard(struct connection *c);

#endif
