/* Holds the tasks of a scenario, with what its clients know of them. */
#ifndef ERGON_SIM_USER_TASKS_H
#define ERGON_SIM_USER_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "sim/user/effects.h"
#include "sim/user/values.h"

struct sim_burst;
struct sim_link;

struct sim_user_task {
    char id[SIM_TASK_ID]; /* "": no answer has come */
    char method[72];
    struct sim_seqs seqs;
    uint64_t asked_at; /* ns, when it was submitted first */
    bool ended;
    char state[16]; /* as it was seen last */
    char error[120];
};

/* In the order of their submission.  They live as long as the process. */
extern struct sim_user_task **sim_user_tasks;
extern uint32_t sim_user_task_count;

struct sim_user_task *sim_user_task_add(const char *method);
/* Call when its submission was answered. */
void sim_user_task_named(struct sim_user_task *t, struct span id);

/* Returns the task with this id, or a new one if no answer has named it yet. */
struct sim_user_task *sim_user_task_find(const char *id, const char *method);

/* Adds the tasks that crons have submitted since the last call.  False: the connection ended. */
bool sim_user_tasks_find(struct sim_link *l);
/* Asks the server for the tasks that have not ended.  False: the connection ended. */
bool sim_user_tasks_look(struct sim_link *l);
uint32_t sim_user_tasks_open(void); /* how many have an id and have not ended */

#endif
