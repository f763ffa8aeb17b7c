/* A byte stream over a non-blocking socket: plain or TLS behind one small table.  One thread; an
 * open stream owns its socket, and does not move. */
#ifndef ERGON_CLIENT_STREAM_H
#define ERGON_CLIENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

enum stream_verdict {
    STREAM_OK,         /* something was done: *done is above 0 */
    STREAM_WANT_READ,  /* call again when the socket is readable */
    STREAM_WANT_WRITE, /* call again when the socket is writable */
    STREAM_EOF,        /* the peer has sent its last byte */
    STREAM_BROKEN      /* the stream is of no further use; `why` says what happened */
};

struct stream;

struct stream_ops {
    enum stream_verdict (*handshake)(struct stream *s); /* until STREAM_OK; plain: at once */
    enum stream_verdict (*read)(struct stream *s, void *to, size_t room, size_t *done);
    enum stream_verdict (*write)(struct stream *s, const void *from, size_t len, size_t *done);
    void (*close)(struct stream *s);
};

struct stream {
    const struct stream_ops *ops; /* NULL while closed */
    int fd;                       /* owned while ops is set */
    void *tls;                    /* owned by tls.c */
    char why[256];                /* valid after STREAM_BROKEN */
};

/* Takes `fd` over. */
void stream_open_plain(struct stream *s, int fd);

/* Closes the socket; idempotent. */
void stream_close(struct stream *s);

/* For both kinds: the end of the connection, even if another process holds the socket too. */
void stream_hang_up(int fd);

/* For both kinds: recv() and send() that neither block nor raise SIGPIPE. */
enum stream_verdict stream_receive(struct stream *s, void *to, size_t room, size_t *done);
enum stream_verdict stream_send(struct stream *s, const void *from, size_t len, size_t *done);

#endif
