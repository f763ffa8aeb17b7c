/* Connects workers that run in the process which started us, in lock step: the simulated clock does
 * not advance while that process works.  Each message on standard input and output is a MessagePack
 * value:
 *
 *   to it     [now, wall, events]: ns of the monotonic clock, ns since 1970, and an array of
 *             ["bytes", connection, bin], ["closed", connection], ["killed", worker]
 *   from it   [until, actions]: when it wants to be asked at the latest (ns; nil: never), and an
 *             array of ["open", connection, worker], ["send", connection, bin],
 *             ["close", connection], ["effect", task, attempt, name, key], ["failed", text]
 *
 * Connections are numbers that the other process chooses. */
#ifndef ERGON_SIM_USER_REMOTE_H
#define ERGON_SIM_USER_REMOTE_H

#include <stdbool.h>

struct sim_scenario;

void sim_remote_spawn(const struct sim_scenario *s);
/* Resets the connection of one worker, or kills the worker. */
void sim_remote_lose(bool kills);

#endif
