/* Makes allocations fail.  The program is linked with `--wrap` for malloc, calloc, realloc,
 * aligned_alloc, strdup, strndup, mmap, mremap and free, so its own calls of these enter
 * fault_heap.c.  Shared libraries call the real functions.  The program decides which allocations
 * fail, and may count blocks. */
#ifndef ERGON_SIM_FAULT_HEAP_H
#define ERGON_SIM_FAULT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- The program defines these --- */

bool fault_heap_fails(size_t size);
/* There is one block more (`sign` 1) or less (-1).  `block` is never NULL.  Calls of mmap() and
 * mremap() are not counted. */
void fault_heap_count(void *block, int64_t sign);

#endif
