/* A stream without a socket: the test plays the peer.
 *
 * What the test sends can be read, as a level-triggered poller would report it; what is written
 * stands in `out` as far as the window allows.  All of it in virtual time. */
#ifndef ERGON_TESTS_SCRIPTED_STREAM_H
#define ERGON_TESTS_SCRIPTED_STREAM_H

#include "base/span.h"
#include "server/net/stream/stream.h"
#include "tests/support/virtual.h"

struct script {
    struct script *next; /* of whoever lists them */
    struct virtual *world;
    struct activator *on;
    struct stream *stream;
    void (*on_event)(struct poller_watch *w, unsigned what); /* of its owner */

    uint8_t *in; /* sent and not yet read; SCRIPT_ROOM bytes */
    size_t in_len;
    bool eof;   /* after that */
    bool reset; /* every call fails */
    bool left;  /* the full close of a Unix socket, behind what it has sent */

    uint8_t *out; /* written and not yet forgotten; SCRIPT_ROOM bytes */
    size_t out_len;
    size_t window;     /* bytes that it still takes */
    int handshakes;    /* calls that want to read before the handshake is done; -1: for ever */
    size_t reply;      /* bytes that the next read puts into the backlog */
    size_t flight;     /* bytes that the handshake writes before it reads */
    bool inside;       /* what was sent is in the stream already: no event tells of it */
    bool shut, closed; /* by the connection */
    unsigned reads, writes;
    unsigned
        period; /* seconds, between two asks whether the peer is there; 0: as the system has it */
    struct stream_asks asks;       /* how it is asked often; of zeroes: it is not */
    struct stream_silence silence; /* what the system knows of the peer */
    bool mute;                     /* the system knows nothing */
};

enum { SCRIPT_WINDOW = 1 << 30, SCRIPT_ROOM = 1 << 22 };

/* Before the connection is made; the window is wide open. */
void script_init(struct script *k, struct virtual *world, struct activator *on);
void script_fini(struct script *k);
void script_open(struct script *k, struct stream *s,
                 void (*on_event)(struct poller_watch *w, unsigned what));

void script_send(struct script *k, struct span bytes);
void script_send_eof(struct script *k);
void script_leave(struct script *k); /* it closes both directions */
void script_reset(struct script *k);
void script_widen(struct script *k, size_t bytes); /* the peer reads so many bytes */
void script_forget(struct script *k);              /* what was written so far */

#endif
