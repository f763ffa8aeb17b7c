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

enum {
    SCAN_DEPTH_CAP = 128,       /* the largest depth limit that may be configured */
    SCAN_LARGE_LEVEL = 2,       /* of a message: the elements of its parameters */
    SCAN_LARGE_LEAST = 1 << 16, /* bytes */
    SCAN_LARGE_MAX = 4
};

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

/* What the scanner notes of a value as it passes it, so that nobody has to walk through a large
 * part of it once more to find its end: ten million numbers take 35 ms.  Noted are the first arrays
 * and maps of SCAN_LARGE_LEAST bytes and more, on SCAN_LARGE_LEVEL alone: where parameters have few
 * elements, all that are large. */
struct scan_notes {
    uint32_t count;
    struct {
        uint32_t at, len; /* bytes, from the start of the value */
    } large[SCAN_LARGE_MAX];
};

struct scanner {
    uint32_t done;                    /* bytes of the value that are checked */
    uint32_t need;                    /* bytes known to be needed in all; > done while SCAN_MORE */
    uint32_t depth;                   /* open arrays and maps */
    uint32_t left;                    /* elements still to come in the innermost one */
    uint64_t open;                    /* elements announced and not yet seen, over all levels */
    uint64_t announced;               /* elements of the value so far, itself included */
    uint32_t large;                   /* where the array or map began that is open on that level */
    struct scan_notes notes;          /* of the whole value after SCAN_WHOLE */
    uint32_t awaited[SCAN_DEPTH_CAP]; /* still to come outside, by level; valid below depth */
};

/* Starts on a new value.  Touches some fields only, not the stack. */
void scanner_init(struct scanner *s);

/* Starts on an array, of which all but the last element stand in the first `done` bytes and were
 * looked at by the caller: the limits allow for one level, and for more than `done` bytes. */
void scanner_init_last(struct scanner *s, uint32_t done);

/* Elements that were looked at since the start: what scanning has cost, far more than the bytes of
 * strings and binaries, which it passes over. */
static inline uint64_t scanner_looked(const struct scanner *s)
{
    return s->announced - s->open;
}

/* Scans on.  `bytes` starts where the value starts: on resumption it is the same bytes with more
 * behind them (they may have moved).  After SCAN_WHOLE the value is bytes[0 .. s->done); bytes
 * behind it are untouched.  After an error the scanner must not be used before scanner_init(). */
enum scan_verdict scanner_run(struct scanner *s, const struct scan_limits *limits,
                              struct span bytes);

const char *scan_verdict_text(enum scan_verdict v); /* for a log line or an error text */

/* Bytes of the large array or map that was noted to begin `at` bytes behind the start of the value;
 * 0: none was. */
uint32_t scan_notes_find(const struct scan_notes *n, size_t at);

/* Length of the whole, well-formed value at the start of `bytes` (which a scanner has passed); 0
 * when it is not whole or not well formed, or has more than `most` elements in all. */
size_t value_length_within(struct span bytes, uint64_t most);

static inline size_t value_length(struct span bytes)
{
    return value_length_within(bytes, UINT64_MAX);
}

#endif
