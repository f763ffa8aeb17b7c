/* What is called when an object ends that waits for something or holds something.  Home thread;
 * nothing fails, and records stay their owners'. */
#ifndef ERGON_RUNTIME_WAIT_INTERNAL_H
#define ERGON_RUNTIME_WAIT_INTERNAL_H

#include <ergon/wait.h>

/* An object went to INACTIVE or FAULTED, from whatever state, and its `waits` is `head`, which is
 * not NULL.  Called when it has left list and timer: all its records leave their queues, what was
 * granted and not used goes to the next (which may wake other objects), and ao.waits is NULL
 * afterwards. */
void ao_wait_cancelled(struct ao_wait *head);

#endif
