/* Batches, which clients make, add to, close and cancel.
 *
 * batches: a durable one that was answered is there after any death; it ends when it is closed and
 * its members have ended, and then stays as it is; it counts each member that was answered; what
 * follows its end is submitted once, and as its outcome says (tasks.md, "Batches"). */
#ifndef ERGON_SIM_BATCHES_H
#define ERGON_SIM_BATCHES_H

#include <stdint.h>

struct sim_burst;
struct sim_link;

void sim_create_batch(struct sim_burst *b, uint32_t client);
void sim_add_to_batch(struct sim_burst *b, uint32_t client);
void sim_close_batch(struct sim_burst *b, uint32_t client);
void sim_cancel_batch(struct sim_burst *b, uint32_t client);
void sim_get_batch(struct sim_burst *b, uint32_t client);
void sim_list_batches(struct sim_burst *b, uint32_t client);

void sim_batches_node_started(void);
/* Nothing else is added: closes all, by bursts of its own. */
void sim_batches_calm(struct sim_burst *b, struct sim_link *l);
/* Checks all, once their tasks have ended. */
void sim_check_batches(struct sim_burst *b, struct sim_link *l);

#endif
