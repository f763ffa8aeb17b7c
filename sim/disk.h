/* The disk of the node: that of sim/fault_vfs.h, under the store as it is.  A commit and
 * a checkpoint take their time. */
#ifndef ERGON_SIM_DISK_H
#define ERGON_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_STORE "tasks.db"

void sim_disk_open(void); /* by chance: */
/* `tear`: the chance of what a power cut leaves.  `delay`: ms before a commit, and behind it, at
 * most. */
void sim_disk_open_as(uint64_t tear, uint64_t delay);
/* The power goes at the n-th call of the disk from now on. */
void sim_disk_cut_at(uint64_t n);
bool sim_disk_is_cut(void);
void sim_disk_spare(void); /* it does not, if it has not yet */

/* The node died, with all that it had open.  A power cut loses or tears what was not synced; what a
 * kill leaves is all that was written. */
void sim_disk_died(bool power);

#endif
