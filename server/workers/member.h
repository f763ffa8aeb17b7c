/* The manager's record of one worker, a part of the worker's memory.
 *
 * Thread: the manager's. */
#ifndef ERGON_WORKERS_MEMBER_H
#define ERGON_WORKERS_MEMBER_H

#include "base/list.h"
#include "base/pairing_heap.h"
#include "server/tasks/manager/placement.h"

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

#endif
