/* One unit of requested work, on its way from home through the manager to an executor and back.
 *
 * It has exactly one owner at a time, and pushing it into a lane is giving it away.  One thing is
 * shared: the byte `flags`, which home and manager set and the executor reads.
 *
 * Thread: the owner's, for all functions here.  What a task allocates is freed with it. */
#ifndef ERGON_TASKS_TASK_H
#define ERGON_TASKS_TASK_H

#include <assert.h>

#include <ergon/module.h>

#include "base/list.h"
#include "server/runtime/threads/lane.h"
#include "server/runtime/threads/mpsc.h"
#include "server/tasks/call.h"

struct attempt;
struct executor;
struct nested;
struct tally;
struct task_chunk;
struct task_trace;

enum {
    TASK_MEMORY = 192,   /* bytes in the task itself: parameters, state and result, if they fit */
    TASK_DEPTH_MAX = 16, /* nested calls */
    TASK_TEXT_MAX = 400, /* bytes of a failure's text */
    TASK_CODE_MAX = 32,  /* bytes of a failure's code */
    TASK_TRACEBACK_MAX = 16384, /* bytes of a failure's traceback */
    TASK_STATE_MAX = 65536,
    CALL_NONE = UINT32_MAX /* call_index of a task without a call record */
};

/* Why nobody wants the result any more. */
enum task_flag { TASK_CANCELLED = 1, TASK_LATE = 2, TASK_GONE = 4 };

/* Properties of the task, for its owner alone. */
enum task_own_flag {
    TASK_IN_PLACE = 1,   /* its first step is under way within its home's call */
    TASK_PARKED = 2,     /* started, and waits for something */
    TASK_UNCOUNTED = 4,  /* parked or turning, and out of its executor's outstanding count */
    TASK_OVER = 8,       /* its handler is done with it */
    TASK_TIMED = 16,     /* its time of service is measured */
    TASK_ALONE = 32,     /* malloc'ed on an outside thread, in no slab */
    TASK_ATTEMPT = 64,   /* an attempt of a job; `attempt` counts */
    TASK_RETURNED = 128, /* an executor gave it back to the manager unstarted */
    TASK_TURNING = 256,  /* it goes on and on, and takes turns with others that do */
    TASK_PLACED = 512,   /* parked or turning, and its account counts the place */
    TASK_CHARGED = 1024, /* `tally` was, for what held_bytes.h says */
    TASK_WAITED = 2048,  /* how long it waited for its begin was noted, if it is known */
    TASK_TRACED = 4096,  /* it belongs to a trace: task_trace.h */
    TASK_MESSAGE = 8192  /* a turn's call of an actor: the source of jobs has it, and no executor */
};

/* Its owner.  A task on its way in a lane or an inbox is the receiver's. */
enum task_owner { TASK_OF_HOME, TASK_OF_MANAGER, TASK_OF_EXECUTOR };

LIST_HEAD(task_list, task);

/* Of a task that is at a worker, which has it in place of the parts of `ao` before its home. */
struct task_out {
    LIST_ENTRY(task) beside; /* of those that its worker has */
    uint32_t request;        /* of the port (worker_executor.h): the number of its request */
    uint16_t shared;         /* likewise: place + 1 of its parameters in memory that it shares; 0 */
    bool begun;              /* the stream has a byte of its request */
    bool unwanted;           /* the port was notified that it is unwanted */
};
_Static_assert(sizeof(struct task_out) <= offsetof(struct ao, home), "a home says what is valid");

/* Fields that one stop on the way touches are together, in one cache line. */
struct task {
    alignas(CACHE_LINE) union {
        struct lane_item item;  /* while it travels in a lane */
        struct mpsc_item inbox; /* while it travels in an inbox */
    };
    union {
        struct task *next;       /* in a queue of its owner */
        LIST_ENTRY(task) living; /* of a started task that lives on: which list it is in */
    };
    struct method *method;
    struct executor *executor; /* that has it or had it; of an attempt NULL in the queue, of others
                                  undefined there */
    struct span params;        /* raw; in place, in `memory`, or in params_block */
    void *state;               /* of a stepped handler; undefined when it has none */

    uint8_t *result; /* in `memory`, result_block, or (then `result_room` is 0) the parameters */
    size_t result_len, result_room; /* of a failure: bytes of its traceback, behind its text */
    enum ergon_error error;         /* ERGON_OK: result counts */
    uint16_t home;                  /* index of its home */
    uint16_t own_flags;             /* enum task_own_flag */
    ao_time deadline;               /* absolute, of the home's clock; AO_NEVER */
    uint64_t number;                /* unique in this process; its name in traces */
    uint64_t chain;                 /* number of the task that the nested calls began with */
    uint32_t call_index, call_generation; /* its call record at home */

    void *params_block, *result_block, *state_block; /* malloc'ed, or NULL */
    void *nested_block;                              /* result of its last nested call */
    /* The tally that it is charged to: its home's reference. No other thread touches what it points
     * to, but to read whose account it is. Of a blocking handler's nested call it is one that is
     * alone, and goes with the task. NULL: it ran in place, or has no principal. */
    struct tally *tally;
    struct task_chunk *chunks; /* what the handler allocated */
    struct nested *nested;     /* calls of a stepped handler, in flight or not yet looked at */
    uint16_t reserved;         /* for its result, in units of RESULT_LARGE; TASK_CHARGED */
    uint16_t reserved_nested;  /* of `reserved`, what is for nested_block; of a blocking one */
    uint8_t memory_used;       /* bytes */
    uint8_t depth;             /* 0: not nested */

    /* enum task_flag bits.  Orders nothing: an executor that reads a bit late runs a task in vain.
     * Read by task_flagged(); set so that a look at what runs, after it, misses no task: see
     * flag_task(). */
    _Atomic uint8_t flags;
#ifndef NDEBUG
    uint8_t owner; /* enum task_owner */
#endif

    union {
        ao_time given; /* when the manager gave it, of its activator's round; 0: not measured */
        ao_time unwanted_since; /* at a worker, valid while out.unwanted; of the loop's clock */
        ao_time began; /* of a stepped task that needs more than one step: when its first one ended,
                        * of its executor's round */
    };

    union {
        struct ao ao;        /* of a stepped task; at home on its executor's activator */
        struct task_out out; /* `ao.home` is NULL then */
    };

    union {
        ao_time busy; /* once it has begun: ns of service until now; TASK_TIMED */
        ao_time made; /* before: when it was sent to the manager, of its home's round, or, of an
                       * attempt of a job, when the job was ready; 0: neither */
    };
    const char *code;        /* of a failure: constant, or in the result's memory */
    struct span text;        /* of a failure */
    struct executor *caller; /* a blocking handler's nested call: whose thread is its home */
    /* For the caller of tasks_add(). */
    void (*added)(void *arg, const struct outcome *outcome);
    union {
        void *added_arg;
        struct attempt *attempt;  /* of an attempt of a job: in `memory` */
        struct task_trace *trace; /* of another that has TASK_TRACED */
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

static inline bool task_is(const struct task *t, unsigned flags)
{
    return (t->own_flags & flags) != 0;
}

static inline void task_set(struct task *t, unsigned flags)
{
    t->own_flags = (uint16_t)(t->own_flags | flags);
}

static inline void task_clear(struct task *t, unsigned flags)
{
    t->own_flags = (uint16_t)(t->own_flags & ~flags);
}

/* It changes hands: `from` had it, and has nothing to do with it any more.  Only asserts know. */
static inline void task_pass(struct task *t, enum task_owner from, enum task_owner to)
{
    (void)t, (void)from, (void)to;
#ifndef NDEBUG
    assert(t->owner == from);
    t->owner = (uint8_t)to;
#endif
}

/* A zeroed cell, or one that task_end() left, becomes a task; `params` stays borrowed. */
void task_begin(struct task *t, struct method *m, struct span params, ao_time deadline);

/* Gives back all that the task allocated; the cell can serve the next. */
void task_free_blocks(struct task *t);

static inline void task_end(struct task *t)
{
    if (t->params_block || t->result_block || t->nested_block || t->chunks || t->tally)
        task_free_blocks(t);
}

/* Memory of the task's own, undefined, or NULL where it is used up. */
void *task_own_memory(struct task *t, size_t size);

bool task_keep_params(struct task *t); /* copies them; false without memory */
bool task_make_state(struct task *t);  /* zeroed; false without memory */
void task_drop_state(struct task *t);  /* the handler's cleanup, then its memory; once */

/* Memory that lives as long as the task; NULL without. */
void *task_alloc(struct task *t, size_t size);

/* A task in memory of its own, for threads without a slab; the parameters are copied.  NULL without
 * memory.  Freed by task_discard(). */
struct task *task_new_alone(struct method *m, struct span params, ao_time deadline);

/* Frees a task wherever it is: one in memory of its own, or, after all threads have ended, one that
 * never came home, whose cell goes with the slab. */
void task_discard(struct task *t);

/* --- Lanes in which tasks travel, made in a row, one for each receiver --- */

/* Set-up and tear-down, while no other thread touches them. */
/* Zeroed lanes, none of them open: lane_init() opens one.  The caller's; NULL without memory. */
struct lane *task_lanes_new(uint32_t count);

/* Frees the tasks inside.  Of a lane that is not open a no-op. */
void task_lane_close(struct lane *l);

void task_lanes_free(struct lane *lanes, uint32_t count); /* closes them; NULL: a no-op */

#endif
