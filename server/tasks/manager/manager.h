/* The task manager: owner of the common queue, it gives each task to an executor.
 *
 * One active object; where it lives is topology.  It never blocks and does no I/O. */
#ifndef ERGON_TASKS_MANAGER_H
#define ERGON_TASKS_MANAGER_H

#include "server/tasks/executors/executor.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/manager/task_queue.h"

enum { KINDS = 2 }; /* stepped and blocking */

static inline unsigned kind_index(enum ergon_kind kind)
{
    return kind == ERGON_STEPPED ? 0 : 1;
}

/* The executors of one kind, as the manager sees them. */
struct manager_kind {
    struct queue queue;
    struct executor **executors;
    struct snapshot *snapshots; /* one each, of the current pass */
    uint32_t count;
    int last;             /* who was chosen last */
    bool source_has_work; /* the source of jobs may have one */
    bool kept_next;       /* its turn, when both have tasks */
    bool full;            /* as the source was told */
    bool bounds_nested;   /* the bounds in `snapshots` are those for nested calls */
    /* The manager waits for room: announced by it, notified by executors from which a task has
     * left.  See the argument in manager.c. */
    struct waker waiting_for_room;
};

struct manager {
    struct tasks *tasks;
    struct activator *activator;
    struct ao ao;
    struct ao_handle *handle;
    struct home home;     /* of submitted tasks */
    struct lane **inlets; /* from the homes of loops */
    uint32_t inlet_count;
    struct lane *out;  /* by index of home: tasks that need not run */
    struct mpsc inbox; /* of outside threads and of blocking handlers */
    struct manager_kind kinds[KINDS];
    uint64_t sequence;      /* of tasks taken */
    uint32_t stop_requests; /* that the homes were told of */
    bool told;              /* that the system is drained */
    bool kept_told;         /* that no attempt of a job is out */

    struct job_source source; /* valid with `has_source` */
    bool has_source;
    bool woken;        /* it said so since the last look */
    bool kept_stopped; /* nothing is taken from it any more */
    uint32_t kept_out; /* attempts given and not returned */
    struct mpsc notes; /* of their handlers */

    /* Tasks in the common queue or on their way to it: stepped in the upper half, blocking in the
     * lower.  Orders nothing: a bound, exact because it is one word (relaxed). */
    alignas(CACHE_LINE) _Atomic uint64_t admitted;
    /* Tasks flagged since the queue was last swept.  Orders nothing: a hint (relaxed). */
    _Atomic uint32_t flagged;
};

/* First the object, so that the homes' lanes can lead here; then, once homes and executors stand,
 * the rest.  0, or -1 without memory. */
int manager_init(struct manager *m, struct tasks *tasks, struct activator *activator);
int manager_connect(struct manager *m);
void manager_fini(struct manager *m);

/* Any thread.  Counts a task in; false: the queue is full, nothing was counted.  Nested calls are
 * always let in. */
bool manager_admit(struct manager *m, enum ergon_kind kind, bool nested);

void manager_dismiss(struct manager *m, enum ergon_kind kind); /* counts it out */

static inline const struct manager_kind *manager_kind(const struct manager *m, enum ergon_kind kind)
{
    return &m->kinds[kind_index(kind)];
}

/* Any thread: is nothing queued for this kind?  A guess. */
bool manager_is_empty(const struct manager *m, enum ergon_kind kind);

extern const struct ao_class manager_class;

/* Any thread that owns no lane to the manager. */
void manager_post(struct manager *m, struct task *t);
void manager_ask(struct manager *m); /* look at what changed */
void manager_note_flagged(struct manager *m);

/* An executor, whose activator is `from` (NULL: a plain thread), has published that it has room. */
void manager_on_capacity(struct manager *m, enum ergon_kind kind, const struct activator *from);

#endif
