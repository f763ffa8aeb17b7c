/* Faults that come at any moment, in some runs: connections that are reset, a network that carries
 * nothing for a while, a wall clock that somebody sets, a machine that was suspended.  (Deaths and
 * the disk's faults come from world.c.) */
#ifndef ERGON_SIM_WEATHER_H
#define ERGON_SIM_WEATHER_H

void sim_weather_shape(void);
void sim_weather_spawn(void);
void sim_weather_calm(void); /* no more of it */

#endif
