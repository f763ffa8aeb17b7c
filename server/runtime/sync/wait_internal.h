/* Ends the waits of an object that comes to rest.  Home thread; nothing fails, and the owners keep
 * their records. */
#ifndef ERGON_RUNTIME_WAIT_INTERNAL_H
#define ERGON_RUNTIME_WAIT_INTERNAL_H

#include <ergon/wait.h>

/* Call it when an object became INACTIVE or FAULTED and has left list and timer; `head` is its
 * `waits`, and not NULL.  All its records leave their queues.  What was granted and not used goes
 * to the next waiter, which may wake other objects.  ao.waits is NULL afterwards. */
void ao_wait_cancelled(struct ao_wait *head);

#endif
