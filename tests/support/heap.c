#include "tests/support/heap.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sim/fault_heap.h"
#include "tests/support/cmocka_env.h"

/* Relaxed: counters; a test that lets allocations fail does so on one thread. */
static _Atomic int64_t countdown, live, bytes;
static _Atomic bool failed;

void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
ssize_t __real___getdelim(char **line, size_t *size, int end, FILE *file);
char *__real_realpath(const char *path, char *resolved);

ssize_t __wrap_getline(char **line, size_t *size, FILE *file);
ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *file);
char *__wrap_realpath(const char *path, char *resolved);

void heap_fail_at(int64_t n)
{
    atomic_store_explicit(&failed, false, memory_order_relaxed);
    atomic_store_explicit(&countdown, n, memory_order_relaxed);
}

bool heap_failed(void)
{
    return atomic_load_explicit(&failed, memory_order_relaxed);
}

int64_t heap_live(void)
{
    return atomic_load_explicit(&live, memory_order_relaxed);
}

int64_t heap_bytes(void)
{
    return atomic_load_explicit(&bytes, memory_order_relaxed);
}

bool fault_heap_fails(size_t size)
{
    (void)size;
    if (atomic_load_explicit(&countdown, memory_order_relaxed) <= 0 ||
        atomic_fetch_sub_explicit(&countdown, 1, memory_order_relaxed) != 1)
        return false;
    atomic_store_explicit(&failed, true, memory_order_relaxed);
    return true;
}

void *heap_pages(size_t size)
{
    void *at = __real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void fault_heap_count(void *block, int64_t sign)
{
    int64_t size = (int64_t)(malloc_usable_size(block) + sizeof(size_t));
    atomic_fetch_add_explicit(&live, sign, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, sign * size, memory_order_relaxed);
}

/* Where it allocates, the C library does: that does not fail here. */
char *__wrap_realpath(const char *path, char *resolved)
{
    char *real = __real_realpath(path, resolved);
    if (real && !resolved)
        fault_heap_count(real, 1);
    return real;
}

/* What getline() is in a build that inlines it.  Its block is the system's own, and is given back
 * by free(). */
ssize_t __wrap___getdelim(char **line, size_t *size, int end, FILE *file)
{
    bool had = *line != NULL;
    ssize_t len = __real___getdelim(line, size, end, file);
    if (!had && *line)
        fault_heap_count(*line, 1);
    return len;
}

ssize_t __wrap_getline(char **line, size_t *size, FILE *file)
{
    return __wrap___getdelim(line, size, '\n', file);
}

void heap_fail_each_at(int (*attempt)(void *arg), void *arg, const char *file, int line)
{
    for (int n = 1;; n++) {
        int64_t before = heap_live();
        heap_fail_at(n);
        int result = attempt(arg);
        bool met = heap_failed();
        heap_fail_at(0);
        int64_t left = heap_live() - before;
        if (met != (result != 0) || left != 0) {
            print_error("%s:%d: allocation %d %s, result %d, %lld blocks left\n", file, line, n,
                        met ? "failed" : "was not reached", result, (long long)left);
            _fail(file, line);
        }
        if (!met)
            return;
    }
}
