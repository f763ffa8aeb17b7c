/* A seed that fails becomes a script that fails in the same way, and is as short as two minutes
 * allow. */
#ifndef ERGON_SIM_SHRINK_H
#define ERGON_SIM_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

/* Writes the script to `path`.  False: that cannot be written, the seed does not fail, or nothing
 * that a script says makes it fail; it says so on stderr. */
bool sim_shrink(uint64_t seed, const char *path);

#endif
