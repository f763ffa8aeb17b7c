/* The faults of a scenario: a fiber that brings each when its time has come. */
#ifndef ERGON_SIM_USER_FAULTS_H
#define ERGON_SIM_USER_FAULTS_H

struct sim_scenario;

void sim_user_faults_spawn(const struct sim_scenario *s);
/* There are no more; returns when the server is up. */
void sim_user_faults_calm(void);

#endif
