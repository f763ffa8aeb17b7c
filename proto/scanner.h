/* Finds the end of one MessagePack value in a stream, checking every byte before anything is
 * allocated.
 *
 * Resumable: a scanner that ran out of bytes goes on where it stopped when it is given the same
 * bytes and more, so a message that drips in byte by byte is scanned once.  It bounds the size of
 * the message, the depth of nesting and the number of elements (each announced element needs at
 * least one byte of what the size limit leaves: `dd ff ff ff ff` is refused at its fifth byte).
 * Pure: no allocation, no I/O; any thread, one scanner one thread. */
#ifndef ERGON_PROTO_SCANNER_H
#define ERGON_PROTO_SCANNER_H

#include "base/span.h"

enum { SCAN_DEPTH_CAP = 128 }; /* the largest depth limit that may be configured */

struct scan_limits {
    uint32_t message_max; /* bytes of one message, header included; 1 or more */
    uint32_t depth_max;   /* levels of arrays and maps, SCAN_DEPTH_CAP at most */
};

enum scan_verdict {
    SCAN_WHOLE,     /* `scanner.done` bytes are one whole value */
    SCAN_MORE,      /* so far well formed; more bytes are needed */
    SCAN_MALFORMED, /* 0xc1 */
    /* The value is, or must become, longer than message_max, elements counted a byte each. */
    SCAN_TOO_LARGE,
    SCAN_TOO_DEEP
};

struct scanner {
    uint32_t done;                    /* bytes of the value that are checked */
    uint32_t need;                    /* bytes known to be needed in all; > done while SCAN_MORE */
    uint32_t depth;                   /* open arrays and maps */
    uint32_t left;                    /* elements still to come in the innermost one */
    uint64_t open;                    /* elements announced and not yet seen, over all levels */
    uint32_t awaited[SCAN_DEPTH_CAP]; /* still to come outside, by level; valid below depth */
};

/* Starts on a new value.  Touches the first fields only, not the stack. */
void scanner_init(struct scanner *s);

/* Starts on an array, of which all but the last element stand in the first `done` bytes and were
 * looked at by the caller: the limits allow for one level, and for more than `done` bytes. */
void scanner_init_last(struct scanner *s, uint32_t done);

/* Scans on.  `bytes` starts where the value starts: on resumption it is the same bytes with more
 * behind them (they may have moved).  After SCAN_WHOLE the value is bytes[0 .. s->done); bytes
 * behind it are untouched.  After an error the scanner must not be used before scanner_init(). */
enum scan_verdict scanner_run(struct scanner *s, const struct scan_limits *limits,
                              struct span bytes);

const char *scan_verdict_text(enum scan_verdict v); /* for a log line or an error text */

/* Length of the whole, well-formed value at the start of `bytes` (which a scanner has passed); 0
 * when it is not whole or not well formed. */
size_t value_length(struct span bytes);

#endif
