/* A byte stream behind a small table: plain socket, TLS, or a script in a test.
 *
 * A stream never blocks.  Thread: the loop's.  A stream is embedded in its connection and must
 * stand still while it is open. */
#ifndef ERGON_NET_STREAM_H
#define ERGON_NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <event2/event.h>
#include <event2/event_struct.h>

enum stream_ready { STREAM_READ = 1, STREAM_WRITE = 2 };

/* What handshake, read and writev return when they do not return a count of bytes. */
enum stream_result {
    STREAM_WANT_READ = -1,  /* go on when readable */
    STREAM_WANT_WRITE = -2, /* go on when writable; a read or a handshake may want this too */
    STREAM_EOF = -3,        /* the peer sends nothing more; read only */
    STREAM_ERROR = -4       /* stream_class.explain says what; only close may follow */
};

struct stream;

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
    void (*shut)(struct stream *s);  /* nothing more will be written: tells the peer */
    void (*close)(struct stream *s); /* frees all but the stream itself; once */
    void (*explain)(const struct stream *s, char *buf, size_t size); /* the last STREAM_ERROR */
};

struct stream {
    const struct stream_class *cls;
    void *state;     /* of the class */
    int fd;          /* -1 when it has none */
    uint32_t error;  /* errno, or of OpenSSL */
    uint8_t watched; /* bits of enum stream_ready */
    bool more;       /* a read returns something at once, even if the fd is silent */
    size_t backlog;  /* bytes of the stream's own, not yet sent; a read may add to them.  Watch for
                        STREAM_WRITE, and then writev(s, NULL, 0) */
    struct event event; /* of the classes that have an fd */
};

/* Takes the fd over.  `base` is the loop's. */
void stream_plain_open(struct stream *s, int fd, struct event_base *base);

/* The owner's (connection.c): `what` of the watched conditions holds now.  Called from within the
 * poll. */
void stream_ready(struct stream *s, unsigned what);

/* For classes over an fd. */
void stream_fd_open(struct stream *s, int fd, struct event_base *base);
bool stream_fd_watch(struct stream *s, unsigned what);
void stream_fd_shut(struct stream *s);
void stream_fd_close(struct stream *s);
ssize_t stream_fd_read(struct stream *s, void *buf, size_t size);
ssize_t stream_fd_writev(struct stream *s, const struct iovec *parts, int count);

#endif
