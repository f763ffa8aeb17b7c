/* The file in which rings of the flight recorder are kept, and how it is read.
 *
 *   file     "ERGONREC" and sections
 *   section  type (4 bytes), length (4 bytes), so many bytes; numbers are little-endian
 *   START    time of the wall clock and of the monotonic one (8 bytes each, ns), pid (8), and why,
 *            a text
 *   METHOD   index (4), name
 *   RING     index (4), name
 *   WORDS    index of the ring (4), four zeros, place of the first (8), words (8 each)
 *   END      nothing: the file is whole
 *
 * Pieces of one ring stand in order.  What is of an unknown type is skipped.  Pure; any thread. */
#ifndef ERGON_BASE_RECORDER_DUMP_H
#define ERGON_BASE_RECORDER_DUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/recorder.h"
#include "base/span.h"

enum dump_section { DUMP_START = 1, DUMP_METHOD, DUMP_RING, DUMP_WORDS, DUMP_END };

enum {
    DUMP_MAGIC = 8,
    DUMP_HEAD = 8,        /* bytes of a section before its own */
    DUMP_START_HEAD = 24, /* of START, before the text */
    DUMP_WORDS_HEAD = 16  /* of WORDS, before the words */
};

extern const char dump_magic[DUMP_MAGIC];

/* A section goes to `out`; returns the place behind it.  Where a length is given, so many bytes are
 * still to be put there by the caller: the text. */
uint8_t *dump_start(uint8_t *out, uint64_t wall, uint64_t monotonic, uint64_t pid, size_t why);
uint8_t *dump_named(uint8_t *out, enum dump_section what, uint32_t index, size_t name);
uint8_t *dump_words(uint8_t *out, uint32_t ring, uint64_t first, const uint64_t *words,
                    uint32_t count);
uint8_t *dump_end(uint8_t *out);

/* --- Reading --- */

struct recorder_event {
    enum recorder_kind kind; /* RECORDER_NONE: a task ended */
    uint32_t ring;
    uint64_t time; /* ns of the monotonic clock; 0: not known */
    uint64_t value;
    /* Of a task; the first two also of a handler that was called, and that returned. */
    uint32_t method;
    uint64_t number;
    uint64_t run, wait;     /* ns */
    bool has_run, has_wait; /* they were measured */
    uint32_t error;         /* enum ergon_error */
};

struct dump_reader {
    void *arg;
    void (*start)(void *arg, uint64_t wall, uint64_t monotonic, uint64_t pid, struct span why);
    void (*named)(void *arg, enum dump_section what, uint32_t index, struct span name);
    void (*event)(void *arg, const struct recorder_event *e);
    void (*lost)(void *arg, uint32_t ring, uint64_t words); /* between two pieces of a ring */
};

enum dump_verdict { DUMP_WHOLE, DUMP_CUT /* it ends early */, DUMP_FOREIGN /* no such file */ };

/* Tells all that the bytes hold, in their order. */
enum dump_verdict dump_read(struct span file, const struct dump_reader *reader);

const char *recorder_kind_name(enum recorder_kind kind); /* constant */

/* A blocking handler was called, or has returned: `method` and `number` are known. */
static inline bool recorder_of_handler(enum recorder_kind kind)
{
    return kind == RECORDER_BEGAN || kind == RECORDER_ENDED;
}

#endif
