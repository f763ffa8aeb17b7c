/* Bytes gathered for one write: brief pieces are copied together, long ones are only pointed at, so
 * that a payload of 64 KiB is not copied once more in user space.  One thread. */
#ifndef ERGON_BENCH_OUTGOING_H
#define ERGON_BENCH_OUTGOING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

enum {
    OUTGOING_COPY_MAX = 4096, /* longer pieces are pointed at */
    /* Copied ones; beyond that, the caller does not flush. */
    OUTGOING_BYTES = 1024 * 1024,
    OUTGOING_PARTS = 1024, /* IOV_MAX */
};

struct outgoing {
    char *bytes; /* owned */
    size_t used;
    size_t total; /* copied and pointed at */
    struct iovec parts[OUTGOING_PARTS];
    int count;
};

bool outgoing_init(struct outgoing *o); /* false: out of memory */
void outgoing_fini(struct outgoing *o);

/* Whether there is room for one more piece of each kind, of at most OUTGOING_COPY_MAX copied bytes.
 */
bool outgoing_has_room(const struct outgoing *o);

/* Where the caller may write up to OUTGOING_COPY_MAX bytes; outgoing_wrote() takes them in. */
void *outgoing_at(const struct outgoing *o);
void outgoing_wrote(struct outgoing *o, size_t len);

/* A long piece is borrowed until the next outgoing_clear(). */
void outgoing_add(struct outgoing *o, const void *bytes, size_t len);
void outgoing_clear(struct outgoing *o);

/* One system call.  Bytes written; 0 when the socket takes none; or -1 and the errno of send(): the
 * connection is broken.  What is gathered stays. */
ssize_t outgoing_send(const struct outgoing *o, int fd);

/* Copies what follows the first `from` bytes to `to`, which has room for total - from. */
void outgoing_copy(const struct outgoing *o, size_t from, void *to);

#endif
