/* How long tasks of a method wait and run, and how they fail, at one executor or worker loop; for
 * people.
 *
 * The memory for it is had when there is first something to note; without it nothing is noted.
 *
 * Thread: the executor's, or the worker loop's, but for times_read(). */
#ifndef ERGON_TASKS_METHOD_TIMES_H
#define ERGON_TASKS_METHOD_TIMES_H

#include <ergon/ao.h>

#include "base/histogram.h"
#include "proto/errors.h"

/* Classes of errors, for figures: X(NAME, "name") */
#define FAILURES(X)                                                                                \
    X(HANDLER, "handler")     /* it failed */                                                      \
    X(PARAMS, "params")       /* it was called wrongly */                                          \
    X(UNWANTED, "unwanted")   /* cancelled, or too late */                                         \
    X(RESOURCES, "resources") /* a limit was reached, or memory */                                 \
    X(LOST, "lost")           /* its worker was lost */                                            \
    X(OTHER, "other")

enum failure {
#define X(name, text) FAILURE_##name,
    FAILURES(X)
#undef X
        FAILURE_COUNT
};
extern const char *const failure_names[FAILURE_COUNT];

struct method_times {
    struct histogram wait, run;
    counter failed[FAILURE_COUNT];
};

/* Zeroed: there is nothing yet.  Owns it. */
struct times_slot {
    /* Release in times_of(), acquire in times_read(): a reader that finds it finds it zeroed. */
    _Atomic(struct method_times *) times;
};

struct times_sum {
    struct histogram_sum wait, run;
    uint64_t failed[FAILURE_COUNT];
};

/* It waited so long for its begin; it ran so long, as did `count` tasks in all. */
void times_note_wait(struct times_slot *slot, ao_time waited, unsigned count);
void times_note_run(struct times_slot *slot, ao_time took, unsigned count);
void times_note_failure(struct times_slot *slot, enum ergon_error error);
/* Any thread, while the slot is there: adds to *out. */
void times_read(const struct times_slot *slot, struct times_sum *out);
void times_fini(struct times_slot *slot);

#endif
