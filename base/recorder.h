/* The flight recorder: what a thread did last, in a ring that is always on.
 *
 * A ring holds RECORDER_WORDS words of eight bytes; a new one takes the place of the oldest.  Each
 * word says what it is, so whoever reads may begin anywhere (base/recorder_dump.h makes events of
 * them).  A task that ended is one word, for that is what costs.  Its time is
 * that of the last clock word before it, which is written once a round in which something happened;
 * what is known beyond that (how long it waited and ran, why it failed) stands in words before it.
 *
 * Thread: one writes, any reads, a handler of a signal too, while it is written.  That no reader
 * takes a word for another is argued at recorder_copy(). */
#ifndef ERGON_BASE_RECORDER_H
#define ERGON_BASE_RECORDER_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    RECORDER_WORDS = 65536,  /* of a ring: 512 KiB */
    RECORDER_METHODS = 32767 /* methods from this index on are one */
};

/* X(NAME, "its name", "what its value is").  In this order in files: new kinds go to the end. */
#define RECORDER_KINDS(X)                                                                          \
    X(NONE, "none", "")                                                                            \
    X(CLOCK, "clock", "ns of the monotonic clock: the time of what follows")                       \
    X(RUN, "run", "of the task that ends next: number (18 bits) and ns in its handler (40 bits)")  \
    X(WAIT, "wait", "the same: ns from its call to its end, but for its run")                      \
    X(FAILED, "failed", "the same: enum ergon_error")                                              \
    X(OPENED, "conn_opened", "number of the connection")                                           \
    X(CLOSED, "conn_closed", "the same")                                                           \
    X(REFUSED, "refused", "enum ergon_error")                                                      \
    X(SLEPT, "slept", "ns")                                                                        \
    X(LONG_STEP, "long_step", "ns")                                                                \
    X(DRAIN, "drain", "1: connections are drained; 2: they are cut off")                           \
    X(RELOAD, "reload", "1: tokens, roles and certificates are new")                               \
    X(BEGAN, "began", "method (15 bits) and number (43 bits) of a task: its handler was called")   \
    X(ENDED, "ended", "the same: it has returned")

enum recorder_kind {
#define X(name, text, value) RECORDER_##name,
    RECORDER_KINDS(X)
#undef X
        RECORDER_KIND_COUNT
};

/* A word: bit 63 set, method (15 bits), number of the task (48 bits); or bit 63 clear, kind (5
 * bits), value (58 bits). */
#define RECORDER_TASK        (UINT64_C(1) << 63)
#define RECORDER_NUMBER_BITS 48
#define RECORDER_VALUE_BITS  58
#define RECORDER_VALUE_MAX   ((UINT64_C(1) << RECORDER_VALUE_BITS) - 1)
#define RECORDER_SHORT_BITS  43 /* of the number in BEGAN and ENDED */
#define RECORDER_SPAN_BITS   40 /* of RUN and WAIT: 18 minutes; longer ones are shown as that */
#define RECORDER_SPAN_MAX    ((UINT64_C(1) << RECORDER_SPAN_BITS) - 1)

struct recorder {
    /* Words since the start.  Release in recorder_put(), acquire in recorder_copy(): the words
     * below it are there. */
    _Atomic uint64_t written;
    uint64_t clocked; /* `written` behind the last clock word; the writer's own */
    /* Release in recorder_put(), acquire in recorder_copy(): whoever sees a word sees a `written`
     * that is no less than its place. */
    _Atomic uint64_t words[RECORDER_WORDS];
};

/* A ring and whose it is.  At set-up they are listed; from then on any thread reads them, and a
 * handler of a signal too. */
struct recorder_ring {
    const struct recorder *recorder; /* borrowed */
    char name[24];                   /* "loop 0" */
};

struct recorder_rings {
    struct recorder_ring *at;
    uint32_t count;
};

/* Zeroed pages, which cost memory when they are first written.  NULL without memory. */
struct recorder *recorder_new(void);
void recorder_free(struct recorder *r); /* NULL is fine */

/* --- The writer --- */

static inline void recorder_put(struct recorder *r, uint64_t word)
{
#ifndef ERGON_NO_RECORDER
    uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
    atomic_store_explicit(&r->words[at % RECORDER_WORDS], word, memory_order_release);
    atomic_store_explicit(&r->written, at + 1, memory_order_release);
#else
    (void)r, (void)word;
#endif
}

/* What a method's tasks have in common; kept with the method, so that a task costs an addition. */
static inline uint64_t recorder_method(uint32_t index)
{
    uint64_t method = index < RECORDER_METHODS ? index : RECORDER_METHODS;
    return RECORDER_TASK | method << RECORDER_NUMBER_BITS;
}

/* A task has ended.  `number` is below 2^48: a million a second for nine years. */
static inline void recorder_task(struct recorder *r, uint64_t method, uint64_t number)
{
    recorder_put(r, method + number);
}

static inline void recorder_note(struct recorder *r, enum recorder_kind kind, uint64_t value)
{
    uint64_t kept = value < RECORDER_VALUE_MAX ? value : RECORDER_VALUE_MAX;
    recorder_put(r, (uint64_t)kind << RECORDER_VALUE_BITS | kept);
}

/* RUN or WAIT of the task whose end is put next. */
static inline void recorder_span(struct recorder *r, enum recorder_kind kind, uint64_t number,
                                 uint64_t ns)
{
    uint64_t kept = ns < RECORDER_SPAN_MAX ? ns : RECORDER_SPAN_MAX;
    recorder_note(r, kind, (number << RECORDER_SPAN_BITS & RECORDER_VALUE_MAX) | kept);
}

/* BEGAN or ENDED, of a thread that runs one blocking handler at a time.  `method` as above. */
static inline void recorder_handler(struct recorder *r, enum recorder_kind kind, uint64_t method,
                                    uint64_t number)
{
    uint64_t index = (method & ~RECORDER_TASK) >> RECORDER_NUMBER_BITS;
    recorder_note(r, kind,
                  index << RECORDER_SHORT_BITS |
                      (number & ((UINT64_C(1) << RECORDER_SHORT_BITS) - 1)));
}

/* The time of what follows.  One after another is one: nothing happened between them. */
static inline void recorder_clock(struct recorder *r, uint64_t now)
{
#ifndef ERGON_NO_RECORDER
    uint64_t at = atomic_load_explicit(&r->written, memory_order_relaxed);
    uint64_t word = (uint64_t)RECORDER_CLOCK << RECORDER_VALUE_BITS | (now & RECORDER_VALUE_MAX);
    if (at > 0 && at == r->clocked) {
        atomic_store_explicit(&r->words[(at - 1) % RECORDER_WORDS], word, memory_order_release);
        return;
    }
    recorder_put(r, word);
    r->clocked = at + 1;
#else
    (void)r, (void)now;
#endif
}

/* --- Any thread, and a handler of a signal --- */

static inline uint64_t recorder_written(const struct recorder *r)
{
    return atomic_load_explicit(&r->written, memory_order_acquire);
}

/* The place of the oldest word that is there now. */
uint64_t recorder_oldest(const struct recorder *r);

/* Copies words from the place `*from` on, at most `most`, and never those from `until` on.  Returns
 * how many stand in `out`; the first of them is that at `*from`, which is a later place than was
 * asked for if the words there have been overwritten.  0: there is none. */
uint32_t recorder_copy(const struct recorder *r, uint64_t *from, uint64_t until, uint64_t *out,
                       uint32_t most);

#endif
