/* The inside of docks and workers, for worker_loop.c and for the manager; whoever has connections
 * sees worker_executor.h.
 *
 * A dock is where the workers of one loop get their tasks: one lane from the manager leads to it,
 * and one from it to each home, however many workers there are.  A worker is an executor
 * (struct remote) that has its lanes of the dock.
 *
 * What the two threads tell each other of a worker travels in lists that any thread may push to,
 * by links that stand in the remote: so neither coming nor leaving needs memory.  A word of bits
 * says what is told, and whoever makes it non-0 pushes the link.
 *
 * The last word: a worker leaves while tasks for it may still stand in the lane.  So the manager
 * lets go of it and says how many it has given in all; when the dock has received so many, and
 * nothing is out, the remote is freed.
 *
 * Thread: the loop's, but where a field says otherwise. */
#ifndef ERGON_WORKERS_LOOP_H
#define ERGON_WORKERS_LOOP_H

#include "base/list.h"
#include "server/workers/worker_executor.h"
#include "server/tasks/executors/executor.h"
#include "server/workers/member.h"

struct home;

/* What a dock tells the manager of a worker. */
enum hire {
    HIRE_JOIN = 1,
    HIRE_ROOM = 2,   /* a task has left, or its bound is another */
    HIRE_SETTLE = 4, /* it became quiet, or wants tasks again */
    HIRE_LEAVE = 8
};
/* What the manager answers. */
enum hire_answer { HIRE_JOINED = 1, HIRE_SETTLED = 2, HIRE_LEFT = 4 };

LIST_HEAD(remote_list, remote);

struct remote {
    struct executor base; /* first; its lanes are the dock's */

    /* What it registered; read-only. */
    struct dock *dock;
    uint32_t slots, share, method_count;
    bool context;
    char version[REMOTE_VERSION_MAX + 1];
    struct span *methods; /* their names; in the same memory */

    /* The dock's. */
    LIST_ENTRY(remote) link; /* of its dock */
    struct remote *beside;   /* the ring of those of one peer */
    void *peer;              /* the port's; not after it was lost */
    enum remote_state state;
    bool closed;           /* its output is full: it is given nothing */
    bool last_word;        /* `final` counts */
    struct tally *tally;   /* a reference until it is lost; NULL: nobody's */
    uint64_t result_bytes; /* of the largest results that it gave lately; 0: they are small */
    uint32_t received;     /* tasks, of those that the manager has given */
    uint32_t out_count;    /* tasks that it has */
    uint64_t done, failed;
    uint32_t unwanted;    /* of these, of which the port was told so */
    struct task_list has; /* by out.beside; not `living` */
    char why[160];        /* of its loss */

    /* Between the two. */
    /* Bits of enum hire.  Release where they are set, so that what they tell of is before them;
     * acquire in the manager's exchange.  The 0 edge decides who pushes, both ways. */
    _Atomic uint32_t told;
    /* Bits of enum hire_answer, the other way round. */
    _Atomic uint32_t answered;
    /* It wants no tasks.  Orders nothing (relaxed): `told` publishes it. */
    _Atomic bool wants_quiet;
    /* As the manager has it.  Orders nothing (relaxed): `answered` publishes it. */
    _Atomic bool is_quiet;
    struct mpsc_item hire, answer; /* in the manager's inbox, and in the dock's */

    /* The manager's; what it answers is written before the answer and not after it. */
    struct member member;
    enum ergon_error refused;
    char refusal[160];
    uint32_t final; /* tasks that it was given in all */
};

struct dock {
    struct executor base; /* told when tasks are flagged; takes none itself */
    struct lane in, *out; /* of all its workers */
    struct home **homes;  /* all, by index; borrowed */
    struct ao ao;
    struct mpsc answers;
    struct dock_port port;
    struct remote_list remotes;
    struct task_list sent;    /* all that its workers have */
    struct task_list checked; /* those of them at which it has looked already, while `checks` */
    bool checks;              /* it looks at all, some a step: which are flagged? */
    bool check_again;         /* and, since one was flagged meanwhile, once more */
};

/* Set-up, on loop `index`.  0, or -1 without memory: then too dock_fini() must follow. */
int dock_init(struct dock *d, struct tasks_shared *shared, uint32_t index, struct home **homes);
/* After all threads have ended: its workers are freed with the tasks that they have. */
void dock_clear(struct dock *d);
void dock_fini(struct dock *d);

static inline struct dock *dock_of(struct executor *e)
{
    return ao_of(e, struct dock, base);
}

static inline struct remote *remote_of(struct executor *e)
{
    return ao_of(e, struct remote, base);
}

#endif
