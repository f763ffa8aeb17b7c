/* One unit of requested work, on its way from home through the manager to an executor and back.
 *
 * It has exactly one owner at a time, and pushing it into a lane is giving it away.  One thing is
 * shared: the byte `flags`, which home and manager set and whoever runs the task reads. */
#ifndef ERGON_TASKS_TASK_H
#define ERGON_TASKS_TASK_H

#include <ergon/module.h>

#include "proto/errors.h"
#include "server/runtime/threads/lane.h"
#include "server/runtime/threads/mpsc.h"
#include "server/tasks/call.h"

struct executor;
struct blocking;
struct attempt;
struct nested;
struct task_chunk;

enum {
    TASK_MEMORY = 192,   /* bytes in the task itself: parameters, state and result, if they fit */
    TASK_DEPTH_MAX = 16, /* nested calls */
    TASK_TEXT_MAX = 400, /* bytes of a failure's text */
    TASK_CODE_MAX = 32,  /* bytes of a failure's code */
    TASK_STATE_MAX = 65536
};

/* Why nobody wants the result any more. */
enum task_flag { TASK_CANCELLED = 1, TASK_LATE = 2, TASK_GONE = 4 };

/* What is true of it; private to who owns it. */
enum task_mark {
    TASK_IN_PLACE = 1,  /* its first step is under way within its home's call */
    TASK_PARKED = 2,    /* started, and waits for something */
    TASK_UNCOUNTED = 4, /* parked and out of its executor's outstanding count */
    TASK_OVER = 8,      /* its handler is done with it */
    TASK_RETURNED = 16, /* an executor gave it back to the manager unstarted */
    TASK_ALONE = 32,    /* malloc'ed on an outside thread, in no slab */
    TASK_ATTEMPT = 64,  /* an attempt of a job; `attempt` counts */
    TASK_TIMED = 128    /* its time of service is measured */
};

/* Fields that one stop on the way touches stand together, line by line. */
struct task {
    alignas(CACHE_LINE) union {
        struct lane_item item;  /* while it travels in a lane */
        struct mpsc_item inbox; /* while it travels in an inbox */
    };
    struct task *next; /* in the list of its owner */
    struct task *prev;
    struct method *method;
    struct executor *executor; /* that runs it; undefined before it was started */
    struct span params;        /* raw; in place, in `memory`, or in params_block */
    void *state;               /* of a stepped handler; undefined when it has none */

    uint8_t *result; /* in `memory`, result_block, or (then `result_room` is 0) the parameters */
    size_t result_len, result_room;
    enum ergon_error error;               /* ERGON_OK: result counts */
    uint16_t home;                        /* index of its home */
    uint8_t depth;                        /* 0: not nested */
    uint8_t marks;                        /* enum task_mark */
    ao_time deadline;                     /* absolute, of the home's clock; AO_NEVER */
    uint64_t number;                      /* unique in this process; its name in traces */
    uint64_t chain;                       /* number of the task that the nested calls began with */
    uint32_t call_index, call_generation; /* its call record at home */

    void *params_block, *result_block, *state_block; /* malloc'ed, or NULL */
    void *nested_block;                              /* result of its last nested call */
    struct task_chunk *chunks;                       /* what the handler allocated */
    struct nested *nested; /* calls of a stepped handler, in flight or not yet looked at */
    uint16_t memory_used;  /* bytes */

    /* enum task_flag bits.  Orders nothing: who reads a bit late runs a task in vain.  Set by
     * home_flag(), read by task_flagged(); relaxed on both sides. */
    _Atomic uint8_t flags;

    ao_time given; /* when the manager gave it, of its activator's round; 0: not measured */

    struct ao ao; /* of a stepped task; at home on its executor's activator */

    ao_time busy;            /* ns of service until now; TASK_TIMED */
    const char *code;        /* of a failure: constant, or in the result's memory */
    struct span text;        /* of a failure */
    struct blocking *caller; /* a blocking handler's nested call: whose thread is its home */
    /* For who called tasks_submit(). */
    void (*submitted)(void *arg, const struct outcome *outcome);
    union {
        void *submitted_arg;
        struct attempt *attempt; /* of an attempt of a job: in `memory` */
    };

    alignas(16) uint8_t memory[TASK_MEMORY];
};
_Static_assert(sizeof(struct task) <= 512, "a hundred thousand parked tasks are a normal day");

/* What modules see of it. */
static inline struct ergon_task *task_face(struct task *t)
{
    return (struct ergon_task *)t;
}

static inline struct task *task_of(struct ergon_task *face)
{
    return (struct task *)face;
}

static inline unsigned task_flagged(const struct task *t)
{
    return atomic_load_explicit(&t->flags, memory_order_relaxed);
}

static inline bool task_is(const struct task *t, unsigned marks)
{
    return (t->marks & marks) != 0;
}

static inline void task_mark(struct task *t, unsigned marks)
{
    t->marks = (uint8_t)(t->marks | marks);
}

static inline void task_unmark(struct task *t, unsigned marks)
{
    t->marks = (uint8_t)(t->marks & ~marks);
}

/* A zeroed cell, or one that task_end() left, becomes a task; `params` stays borrowed. */
void task_begin(struct task *t, struct method *m, struct span params, ao_time deadline);

/* Gives back all that the task allocated; the cell can serve the next. */
void task_free_blocks(struct task *t);

static inline void task_end(struct task *t)
{
    if (t->params_block || t->result_block || t->nested_block || t->chunks)
        task_free_blocks(t);
}

/* Memory of the task's own, undefined, or NULL where it is used up. */
void *task_own_memory(struct task *t, size_t size);

bool task_keep_params(struct task *t); /* copies them; false without memory */
bool task_make_state(struct task *t);  /* zeroed; false without memory */
void task_drop_state(struct task *t);  /* the handler's cleanup, then its memory; once */

/* Room for a result of `size` bytes, what was there is lost; or for `more` behind it.  NULL: the
 * task is failed (MEMORY, or TOO_LARGE past `max`). */
uint8_t *task_result_room(struct task *t, size_t size, uint64_t max);
uint8_t *task_result_more(struct task *t, size_t more, uint64_t max);

/* The result is `len` bytes of the parameters: they are not copied. */
void task_result_borrow(struct task *t, const uint8_t *at, size_t len);

static inline bool task_in_params(const struct task *t, const uint8_t *at, size_t len)
{
    uintptr_t from = (uintptr_t)t->params.at, where = (uintptr_t)at;
    return where >= from && len <= t->params.len && where - from <= t->params.len - len;
}

/* Ends it as failed, unless it is already.  `code` NULL: the error's name; it and `text` are copied
 * and cut. */
void task_fail(struct task *t, enum ergon_error error, const char *code, struct span text);

/* How it ended; points into the task, or what it was made of. */
void task_outcome(struct task *t, struct outcome *out);

/* Memory that lives as long as the task; NULL without. */
void *task_alloc(struct task *t, size_t size);

#endif
