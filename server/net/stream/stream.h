/* A byte stream behind a small table: a plain socket, TLS (tls.h), or a script in a test.
 *
 * A stream never blocks.  It is embedded in its owner, a connection, and must not move while it is
 * open.  Thread: the owner's loop, for all of this header. */
#ifndef ERGON_NET_STREAM_H
#define ERGON_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <ergon/poller.h>

/* Bits, the same as the poller's.  STREAM_CLOSED, of a stream that is not read: the peer's end of
 * it may have changed, so ask `left`.  It is watched alone, and reported once for each change. */
enum stream_ready {
    STREAM_READ = POLLER_READ,
    STREAM_WRITE = POLLER_WRITE,
    STREAM_CLOSED = POLLER_CLOSED
};

/* What handshake, read and writev return when they do not return a count of bytes. */
enum stream_result {
    STREAM_WANT_READ = -1,  /* go on when readable */
    STREAM_WANT_WRITE = -2, /* go on when writable; a read or a handshake may want this too */
    STREAM_EOF = -3,        /* the peer sends nothing more; read only */
    STREAM_ERROR = -4       /* stream_class.explain says what; only close may follow */
};

struct stream;

/* How the system asks a peer whether it is there. */
struct stream_asks {
    unsigned quiet;    /* seconds without a word before the first */
    unsigned interval; /* seconds between two, and at most between two tries of what is sent */
    unsigned count;    /* without an answer: then it is gone */
};

/* What the system knows of a peer that something was sent to. */
struct stream_silence {
    ao_time since; /* ns since the peer's system said anything */
    bool asked;    /* it has to: some bytes are unacknowledged, or it was asked for room */
    bool waits;    /* not all that was sent has been acknowledged, or has left the system */
};

struct stream_class {
    const char *name; /* "plain", "tls" */
    /* 0 when it is done, or an enum stream_result.  NULL: none is needed. */
    int (*handshake)(struct stream *s);
    /* At least one byte, or an enum stream_result.  Fewer bytes than `size`, and not `more`:
     * drained, the stream becomes readable again when there is more. */
    ssize_t (*read)(struct stream *s, uint8_t *buf, size_t size);
    /* Bytes taken, at least one, or an enum stream_result.  With count 0: sends on what is in the
     * backlog, and returns 0 or an enum stream_result. */
    ssize_t (*writev)(struct stream *s, const struct iovec *parts, int count);
    /* Bits of enum stream_ready that the owner wants to hear of, until it says otherwise.  False
     * without memory: then the stream is to be closed. */
    bool (*watch)(struct stream *s, unsigned what);
    /* True when the peer has left: what is written would not be read.  False when it may still
     * read, or this is unknown: then the system asks a TCP peer every `period` seconds (0: as often
     * as it did) whether it is there, and STREAM_CLOSED tells when it is not. */
    bool (*left)(const struct stream *s, unsigned period);
    /* Has the system ask a TCP peer so, as far as it can.  NULL: it has none. */
    void (*ask_often)(struct stream *s, const struct stream_asks *asks);
    /* False: it is unknown.  NULL: it always is. */
    bool (*unheard)(const struct stream *s, struct stream_silence *out);
    void (*shut)(struct stream *s);  /* nothing more will be written: tells the peer */
    void (*close)(struct stream *s); /* frees all but the stream itself; once */
    void (*explain)(const struct stream *s, char *buf, size_t size); /* the last STREAM_ERROR */
};

struct stream {
    const struct stream_class *cls;
    void *state;               /* of the class */
    struct poller_watch watch; /* of the classes that have an fd */
    int fd;                    /* -1 when it has none */
    uint32_t error;            /* errno, or of OpenSSL */
    /* Bytes of the stream's own, not yet sent; a read may add to them.  While there are any, the
     * owner watches for STREAM_WRITE, and then calls writev(s, NULL, 0). */
    uint32_t backlog;
    uint8_t watched; /* bits of enum stream_ready */
    bool more;       /* a read returns something at once, even if the fd is silent */
};

/* Opens a plain stream over the fd and takes that over.  The watcher's on_event(&s->watch, what) is
 * called from within the poll when watched conditions hold; `what` may hold others' bits, too. */
void stream_plain_open(struct stream *s, int fd, const struct poller_watcher *watcher);

/* --- For classes over an fd: as the functions of the table --- */

void stream_fd_open(struct stream *s, const struct stream_class *cls, int fd,
                    const struct poller_watcher *watcher);
bool stream_fd_watch(struct stream *s, unsigned what);
bool stream_fd_left(const struct stream *s, unsigned period);
void stream_fd_ask_often(struct stream *s, const struct stream_asks *asks);
bool stream_fd_unheard(const struct stream *s, struct stream_silence *out);
void stream_fd_shut(struct stream *s);
void stream_fd_close(struct stream *s);
ssize_t stream_fd_read(struct stream *s, uint8_t *buf, size_t size);
ssize_t stream_fd_writev(struct stream *s, const struct iovec *parts, int count); /* count > 0 */

#endif
