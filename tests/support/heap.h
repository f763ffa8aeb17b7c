/* The heap under control: fails the N-th allocation, counts what is live.
 *
 * A program that links ergon_test_support has malloc, calloc, realloc, aligned_alloc, strdup,
 * strndup, mmap, mremap and free of its own objects wrapped; shared libraries keep the real ones.
 * So memory that a library allocated and this program frees, or the other way round, is counted
 * wrongly: compare heap_live() around code that does neither. */
#ifndef ERGON_TESTS_HEAP_H
#define ERGON_TESTS_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n-th allocation from now on fails, once: 1 is the next.  0: none. */
void heap_fail_at(int64_t n);

/* True when the one that was to fail has come. */
bool heap_failed(void);

/* Zeroed pages for a test's own use: this never fails by heap_fail_at().  Given back by munmap();
 * NULL without memory. */
void *heap_pages(size_t size);

int64_t heap_live(void); /* blocks allocated and not freed */
/* Bytes of these, each with the word that the allocator keeps before it. */
int64_t heap_bytes(void);

/* Calls `attempt` with the first, second, ... allocation failing, until it gets through without
 * meeting a failure; it returns 0 for success.  Fails the test when a failed allocation is reported
 * as success, a success as a failure, or a block stays. */
#define heap_fail_each(attempt, arg) heap_fail_each_at((attempt), (arg), __FILE__, __LINE__)
void heap_fail_each_at(int (*attempt)(void *arg), void *arg, const char *file, int line);

#endif
