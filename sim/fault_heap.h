/* Allocations that fail.  malloc, calloc, realloc, aligned_alloc, strdup, strndup, mmap, mremap and
 * free of the program that is linked with `--wrap` of each go by fault_heap.c; shared libraries
 * keep the real ones.  What links it says which fail, and may count. */
#ifndef ERGON_SIM_FAULT_HEAP_H
#define ERGON_SIM_FAULT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- By the program that links it --- */

bool fault_heap_fails(size_t size);
/* One block more, or with -1 less; never NULL.  Pages are not counted. */
void fault_heap_count(void *block, int64_t sign);

#endif
