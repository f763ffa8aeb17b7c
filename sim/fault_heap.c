#include "sim/fault_heap.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__real_mremap(void *at, size_t from, size_t to, int flags);
void __real_free(void *block);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mremap(void *at, size_t from, size_t to, int flags);
void __wrap_free(void *block);

static bool must_fail(size_t size)
{
    if (!fault_heap_fails(size))
        return false;
    errno = ENOMEM;
    return true;
}

static void *count(void *block)
{
    if (block)
        fault_heap_count(block, 1);
    return block;
}

void *__wrap_malloc(size_t size)
{
    return must_fail(size) ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail(n * size) ? NULL : count(__real_calloc(n, size));
}

void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    return must_fail(size) ? MAP_FAILED : __real_mmap(at, size, access, flags, fd, offset);
}

void *__wrap_mremap(void *at, size_t from, size_t to, int flags)
{
    return must_fail(to) ? MAP_FAILED : __real_mremap(at, from, to, flags);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return must_fail(size) ? NULL : count(__real_aligned_alloc(alignment, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (must_fail(size))
        return NULL;
    if (!block)
        return count(__real_malloc(size));
    fault_heap_count(block, -1);
    void *grown = __real_realloc(block, size);
    fault_heap_count(grown ? grown : block, 1);
    return grown;
}

char *__wrap_strndup(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = __wrap_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

void __wrap_free(void *block)
{
    if (block)
        fault_heap_count(block, -1);
    __real_free(block);
}
