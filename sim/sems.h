/* Clients that hold permits of semaphores, which are those of the limits of tasks.
 *
 * semaphores: clients and tasks together never hold more permits than there are; a hold outlives
 * its connection and the server for its grace; if the acquire of one hold was sent after the answer
 * to another, the later hold has the higher fence (tasks.md, "Semaphores"). */
#ifndef ERGON_SIM_SEMS_H
#define ERGON_SIM_SEMS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_burst;

void sim_holders_shape(void);
void sim_holders_spawn(void);
void sim_holders_wake(void); /* the node has come up, or has gone */
void sim_holders_calm(void); /* they release what they hold, and acquire nothing more */

/* Returns how many permits clients hold for certain at that time. */
uint64_t sim_held_at(const char *key, uint64_t time);

/* Checks that no client got permits which exceeded the number of the semaphore. */
void sim_check_holds(uint64_t (*taken_by_tasks)(const char *key, uint64_t time));

void sim_create_sem(struct sim_burst *b, uint32_t client);
void sim_explain_sem(struct sim_burst *b, uint32_t client);
void sim_delete_sem(struct sim_burst *b, uint32_t client);
void sim_revoke_sem(struct sim_burst *b, uint32_t client);

#endif
