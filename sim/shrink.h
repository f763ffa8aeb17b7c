/* Turns a seed that fails into a script that fails in the same way, as short as it gets within two
 * minutes. */
#ifndef ERGON_SIM_SHRINK_H
#define ERGON_SIM_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

/* Writes the script to `path`.  Returns false, with a reason on stderr, if the file cannot be
 * written, the seed does not fail, or no script fails as the seed does. */
bool sim_shrink(uint64_t seed, const char *path);

#endif
