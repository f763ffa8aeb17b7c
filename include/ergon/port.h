/* A port: where what other threads send to the things of one activator arrives (a semaphore's
 * acquire, a mail), and where the answers to its own objects come home.
 *
 * One port an activator is enough for all its semaphores and mailboxes.  It costs nothing while
 * nothing arrives.
 *
 * Thread: as each function says; other threads reach a port only through what was shared.  A port
 * is its maker's. */
#ifndef ERGON_PORT_H
#define ERGON_PORT_H

#include <ergon/activator.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ao_port;

/* Before the activator runs, or on its thread.  NULL without memory. */
struct ao_port *ao_port_new(struct activator *home);

/* After every activator that uses the port was closed, and after ao_sem_fini() and
 * ao_mailbox_fini() of what was shared through it.  What still lies inside is dropped, and
 * semaphores of ao_sem_remote_new() are closed.  Threads that are no activator's may still use the
 * faces of which they hold a reference. */
void ao_port_free(struct ao_port *port);

#ifdef __cplusplus
}
#endif

#endif
