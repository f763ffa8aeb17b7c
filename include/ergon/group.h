/* Group: starts n children and awaits all; a parallel for.
 *
 *     struct cell { struct ao_child child; struct ao_seq seq; int i; };
 *
 *     for (int i = 0; i < 10; i++)
 *         ao_group_start(&p->group, &p->cells[i].child, work);
 *     AO_AWAIT(self, &p->seq, &p->wait, ao_group_await(&p->group, &p->wait));
 *     if (p->group.faults > 0) ...
 *
 * Children are active objects of the same activator, in whose step `self` is &child->ao; a child
 * ends with AO_DONE or with a fault.  They run while the parent does other things, and go on if the
 * parent's wait ends early; ao_group_cancel() stops them.
 *
 * Thread: the home activator of the group and its children.  Memory: group and children belong to
 * the caller, and must stand until all have ended. */
#ifndef ERGON_GROUP_H
#define ERGON_GROUP_H

#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ao_group;

struct ao_child {
    struct ao ao;
    struct ao_group *group; /* NULL: not running */
    enum ao_verdict (*step)(struct ao *self);
    struct ao_child *prev; /* the group's list of those that run */
    struct ao_child *next;
};

struct ao_group {
    struct activator *home;
    struct ao_wait_queue waiters;
    struct ao_child *running;       /* first of them; NULL: all have ended */
    struct ao_child *first_faulted; /* NULL: none */
    int fault_code;                 /* of first_faulted */
    uint32_t faults;
    uint32_t ended; /* children that ended, faulted and cancelled ones too */
};

void ao_group_init(struct ao_group *g, struct activator *home);

/* The child's memory need not be initialised, and can be used again once it ended, not before.  0,
 * or AO_E_CLOSED when the activator was closed: it does not run. */
int ao_group_start(struct ao_group *g, struct ao_child *child,
                   enum ao_verdict (*step)(struct ao *self));

/* Start function: READY when no child runs, at once if so.  No value: see `faults`. */
void ao_group_await(struct ao_group *g, struct ao_wait *w);

/* Deactivates those that still run, in order of their start; the waiters are settled READY. */
void ao_group_cancel(struct ao_group *g);

#ifdef __cplusplus
}
#endif

#endif
