/* Workers in another process, which is asked step by step: it runs while the simulation waits for
 * it, and what it says takes no time.  Messages on standard input and output, each a MessagePack
 * value:
 *
 *   to it     [now, wall, events]: ns of the monotonic clock, ns since 1970, and an array of
 *             ["bytes", connection, bin], ["closed", connection], ["killed", worker]
 *   from it   [until, actions]: when it wants to be asked at the latest (ns; nil: never), and an
 *             array of ["open", connection, worker], ["send", connection, bin], ["close",
 * connection],
 *             ["effect", task, attempt, name, key], ["failed", text]
 *
 * Connections are numbers that the other process chooses. */
#ifndef ERGON_SIM_USER_REMOTE_H
#define ERGON_SIM_USER_REMOTE_H

#include <stdbool.h>

struct sim_scenario;

void sim_remote_spawn(const struct sim_scenario *s);
/* One of the workers loses its connection; or its process is killed. */
void sim_remote_lose(bool kills);

#endif
