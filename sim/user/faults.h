/* Injects the faults of a scenario: one fiber schedules all of them. */
#ifndef ERGON_SIM_USER_FAULTS_H
#define ERGON_SIM_USER_FAULTS_H

struct sim_scenario;

void sim_user_faults_spawn(const struct sim_scenario *s);
/* Stops injecting faults; returns when the server is up. */
void sim_user_faults_calm(void);

#endif
