/* The flight recorders of the threads that the task system has of its own.  Set-up. */
#ifndef ERGON_TASKS_RINGS_H
#define ERGON_TASKS_RINGS_H

#include "base/recorder.h"

struct tasks;

/* Those of the blocking threads, spares too, go to `out`, and live as long as the tasks; returns
 * how many there are.  `out` NULL: that alone. */
uint32_t tasks_rings(const struct tasks *t, struct recorder_ring *out);

#endif
