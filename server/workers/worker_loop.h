/* The inside of a worker, for worker_loop.c and for the manager.  The side that has the connections
 * sees worker_executor.h only.
 *
 * A worker loop gives the tasks of one loop to the workers of that loop.  One lane leads to it from
 * the manager, and one from it to each home, however many workers there are.  A worker is an
 * executor (struct worker_executor) that uses the lanes of its worker loop.
 *
 * Worker loop and manager notify each other of a worker by lists that any thread may push to.  The
 * links of these lists are part of the worker, so neither joining nor leaving needs memory.  A word
 * of bits holds what is new; the thread that makes it non-0 pushes the link.
 *
 * The last word: tasks for a worker that leaves may still be in the lane.  So the manager drops the
 * worker and answers how many tasks it has given in all.  The worker is freed when the worker loop
 * has received as many and none is in flight.
 *
 * Thread: the loop's, but where a field says otherwise. */
#ifndef ERGON_WORKERS_LOOP_H
#define ERGON_WORKERS_LOOP_H

#include "base/list.h"
#include "base/pairing_heap.h"
#include "server/tasks/executors/executor.h"
#include "server/tasks/manager/placement.h"
#include "server/workers/worker_executor.h"

struct home;

/* What a worker loop tells the manager of a worker. */
enum worker_update {
    UPDATE_JOIN = 1,
    UPDATE_ROOM = 2,   /* a task has left, or its bound is another */
    UPDATE_SETTLE = 4, /* it became quiet, or wants tasks again */
    UPDATE_LEAVE = 8
};
/* What the manager answers. */
enum worker_update_answer { UPDATE_JOINED = 1, UPDATE_SETTLED = 2, UPDATE_LEFT = 4 };

/* The manager's record of one worker, a part of the worker's memory. */
struct worker_group;

struct member {
    struct pairing_node node;   /* in its group's heap, while it is open */
    LIST_ENTRY(member) link;    /* of all that have joined */
    struct worker_group *group; /* NULL: it has not joined, or has left */
    struct worker_load load;    /* as of the last look */
    uint32_t attempts;          /* of jobs, that it was given and that have not returned */
    bool there;                 /* it takes tasks: it is not quiet */
    bool open;                  /* it is in the heap: it may be given some now */
    bool away;                  /* as the manager has seen its worker loop last */
    bool leaves;                /* it is let go of once no attempt is out */
};
LIST_HEAD(member_list, member);

LIST_HEAD(worker_executor_list, worker_executor);

struct worker_executor {
    struct executor base; /* first; its lanes are the worker loop's */

    /* What it registered; read-only. */
    struct worker_loop *worker_loop;
    uint32_t slots, share, method_count;
    bool context;
    const char *module; /* as it was registered */
    char version[WORKER_VERSION_MAX + 1], name[WORKER_NAME_MAX + 1], host[WORKER_NAME_MAX + 1];
    struct span *methods; /* their names; in the same memory */
    uint8_t *secrets;     /* likewise: of each, enum worker_secret; NULL: nothing is said */
    uint8_t *of_actors;   /* likewise: of each, enum actor_method; NULL: none is one of an actor */
    struct worker_type *types; /* likewise; `type_count` of them */
    uint32_t type_count;

    /* The worker loop's. */
    LIST_ENTRY(worker_executor) link; /* of its worker loop */
    struct worker_executor *beside;   /* the ring of those of one peer */
    void *peer;                       /* the port's; not after it was lost */
    enum worker_executor_state state;
    bool closed;           /* its output is full: it is given nothing */
    bool last_word;        /* `final` counts */
    struct tally *tally;   /* a reference until it is lost; NULL: nobody's */
    uint64_t result_bytes; /* of the largest results that it gave lately; 0: they are small */
    uint32_t received;     /* tasks, of those that the manager has given */
    uint32_t out_count;    /* tasks that it has */
    uint64_t done, failed;
    uint32_t unwanted;    /* of these, that the port knows to be unwanted */
    struct task_list has; /* by out.beside; not `living` */
    char why[160];        /* of its loss */

    /* Between the two. */
    /* Bits of enum worker_update.  Release where they are set, after what they announce; acquire in
     * the manager's exchange.  The thread that sees the edge from 0 pushes, both ways. */
    _Atomic uint32_t reported;
    /* Bits of enum worker_update_answer, the other way round. */
    _Atomic uint32_t answered;
    /* It wants no tasks.  Orders nothing (relaxed): `reported` publishes it. */
    _Atomic bool wants_quiet;
    /* As the manager has it.  Orders nothing (relaxed): `answered` publishes it. */
    _Atomic bool is_quiet;
    struct mpsc_item update, answer; /* in the manager's inbox, and in the worker loop's */

    /* The manager's; what it answers is written before the answer and not after it. */
    struct member member;
    enum ergon_error refused;
    char refusal[160];
    uint32_t final; /* tasks that it was given in all */
};

struct worker_loop {
    struct executor base; /* notified when tasks are flagged; takes none itself */
    struct lane in, *out; /* of all its workers */
    struct home **homes;  /* all, by index; borrowed */
    struct ao ao;
    struct mpsc answers;
    struct worker_port port;
    struct worker_executor_list executors;
    struct task_list sent;    /* all that its workers have */
    struct task_list checked; /* those of them at which it has looked already, while `checks` */
    bool checks;              /* it looks at all, some a step: which are flagged? */
    bool check_again;         /* and, since one was flagged meanwhile, once more */
};

/* Set-up, on loop `index`.  NULL without memory.  Its class frees what it has, after all threads
 * have ended: its workers, with the tasks that they have. */
struct executor *worker_loop_new(struct tasks_shared *shared, uint32_t index, struct home **homes);

static inline struct worker_loop *worker_loop_of(struct executor *e)
{
    return ao_of(e, struct worker_loop, base);
}

static inline struct worker_executor *worker_executor_of(struct executor *e)
{
    return ao_of(e, struct worker_executor, base);
}

#endif
