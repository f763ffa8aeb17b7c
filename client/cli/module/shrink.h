/* Smaller parameters than those that made a handler crash, one step at a time.
 *
 * Pure; one thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_SHRINK_H
#define ERGON_CLI_MODULE_SHRINK_H

#include "proto/pack.h"

/* Packs the array `params` with its step number `step` (from 0) taken: a value left out, cut to a
 * half, or made a plain one.  Large steps come first.  False: there is no such step; what was
 * packed is to be thrown away. */
bool shrink_pack(struct span params, uint32_t step, struct pack *to);

#endif
