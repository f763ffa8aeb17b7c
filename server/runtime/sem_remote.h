#ifndef ERGON_RUNTIME_SEM_REMOTE_H
#define ERGON_RUNTIME_SEM_REMOTE_H

#include <ergon/sem.h>

/* The semaphore goes: acquires that arrive from now on are settled CLOSED.  Home thread. */
void sem_remote_part(struct ao_sem_remote *r);

#endif
