/* The disk of the node: that of sim/fault_vfs.h, below the unchanged store.  A commit and a
 * checkpoint take simulated time. */
#ifndef ERGON_SIM_DISK_H
#define ERGON_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_STORE "tasks.db"

void sim_disk_open(void); /* calls sim_disk_open_as() with values by chance */
/* `tear`: the seed for what a power cut leaves.  `delay`: a commit takes up to so many ms before it
 * writes, and up to as many after that. */
void sim_disk_open_as(uint64_t tear, uint64_t delay);
/* The power goes at the n-th call of the disk from now on. */
void sim_disk_cut_at(uint64_t n);
bool sim_disk_is_cut(void);
void sim_disk_spare(void); /* revokes a power cut that has not happened yet */

/* Call when the node has died: all its files are closed.  A power cut loses or tears what was not
 * synced, and after a kill all that was written is there. */
void sim_disk_died(bool power);

#endif
