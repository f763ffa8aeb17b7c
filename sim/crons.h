/* One cron, which the first client puts, pauses, resumes, runs and deletes; other clients
 * read it.
 *
 * crons: a time fires, and fires once; nothing fires while the cron is paused or gone, and with
 * `overlap: skip` no task begins while the one before is open (tasks.md, "Run tasks by calendar").
 */
#ifndef ERGON_SIM_CRONS_H
#define ERGON_SIM_CRONS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_burst;
struct sim_link;

void sim_crons_shape(void);
void sim_put_cron(struct sim_burst *b, uint32_t client);
void sim_pause_cron(struct sim_burst *b, uint32_t client);
void sim_resume_cron(struct sim_burst *b, uint32_t client);
void sim_run_cron(struct sim_burst *b, uint32_t client);
void sim_delete_cron(struct sim_burst *b, uint32_t client);
void sim_cron_delete(struct sim_burst *b); /* at the end of the run, by any client */

void sim_crons_node_started(void);
void sim_crons_node_ended(void);
/* Notes the tasks of the cron, before the server forgets one. */
void sim_crons_look(struct sim_burst *b, struct sim_link *l);
/* Checks all its tasks, once they have ended. */
void sim_check_cron(struct sim_burst *b, struct sim_link *l);

#endif
