/* How much memory this process may use: the machine's, or less where its control groups say so. */
#ifndef ERGON_MEMORY_H
#define ERGON_MEMORY_H

#include <stdint.h>

/* Bytes; more than 0.  It reads files below `root` ("" for the real ones): call it at the start. */
uint64_t memory_usable(const char *root);

#endif
