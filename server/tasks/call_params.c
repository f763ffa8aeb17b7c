#include "server/tasks/call_params.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = CALL_PARAMS_BLOCK * CALL_PARAMS_BLOCKS };

struct call_params {
    uint8_t *memory; /* SIZE; pages that were never written take no memory */
    /* The server's: of each block that begins the parameters of a call, how many these take; else
     * 0. All blocks from `top` on are free, and from `touched` on without memory. */
    uint32_t top, touched;
    uint16_t taken[CALL_PARAMS_BLOCKS];
};

static struct call_params *map(int fd, int access)
{
    struct call_params *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->memory = mmap(NULL, SIZE, access, MAP_SHARED, fd, 0);
    if (p->memory != MAP_FAILED)
        return p;
    free(p);
    return NULL;
}

/* --- The server --- */

/* The process has the descriptor, too.  If it made the file smaller, the server would crash when it
 * writes there. */
static bool set_size(int fd)
{
    return ftruncate(fd, SIZE) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

struct call_params *call_params_new(int *fd)
{
    struct call_params *p = NULL;

    *fd = memfd_create("ergon parameters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd >= 0 && set_size(*fd))
        p = map(*fd, PROT_READ | PROT_WRITE);
    if (p)
        return p;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return NULL;
}

void call_params_free(struct call_params *p)
{
    if (!p)
        return;
    munmap(p->memory, SIZE);
    free(p);
}

/* Returns the first run of so many free blocks, or CALL_PARAMS_BLOCKS: low blocks are reused, so
 * few pages are ever allocated. */
static uint32_t find_room(const struct call_params *p, uint32_t blocks)
{
    uint32_t begin = 0;

    for (uint32_t i = 0; i < p->top && i - begin < blocks; i++)
        if (p->taken[i] > 0) {
            begin = i + p->taken[i];
            i = begin - 1;
        }
    return begin + blocks <= CALL_PARAMS_BLOCKS ? begin : CALL_PARAMS_BLOCKS;
}

/* The system allocates the blocks below `end` now: if it had no memory at the first write, SIGBUS
 * would end the server.  Kernels before 5.14 do not know MADV_POPULATE_WRITE. */
static bool touch(struct call_params *p, uint32_t end)
{
    size_t from = (size_t)p->touched * CALL_PARAMS_BLOCK;

    if (end <= p->touched)
        return true;
    if (madvise(p->memory + from, (size_t)end * CALL_PARAMS_BLOCK - from, MADV_POPULATE_WRITE) !=
            0 &&
        errno != EINVAL)
        return false;
    p->touched = end;
    return true;
}

void *call_params_room(struct call_params *p, size_t size, uint16_t *place)
{
    assert(size > 0);
    if (size > SIZE)
        return NULL;
    uint32_t blocks = (uint32_t)((size + CALL_PARAMS_BLOCK - 1) / CALL_PARAMS_BLOCK);
    uint32_t at = find_room(p, blocks);
    if (at == CALL_PARAMS_BLOCKS || !touch(p, at + blocks))
        return NULL;
    p->taken[at] = (uint16_t)blocks;
    if (p->top < at + blocks)
        p->top = at + blocks;
    *place = (uint16_t)at;
    return p->memory + call_params_offset(*place);
}

uint64_t call_params_offset(uint16_t place)
{
    return (uint64_t)place * CALL_PARAMS_BLOCK;
}

static uint32_t find_top(const struct call_params *p)
{
    uint32_t top = 0;

    for (uint32_t i = 0; i < p->top; i++)
        if (p->taken[i] > 0)
            top = i + p->taken[i];
    return top;
}

/* The system gets the free blocks at the end back, but not the first CALL_PARAMS_KEPT bytes. */
static void trim(struct call_params *p)
{
    enum { KEPT = CALL_PARAMS_KEPT / CALL_PARAMS_BLOCK };
    uint32_t end = p->top > KEPT ? p->top : KEPT;

    if (p->touched <= end)
        return;
    madvise(p->memory + (size_t)end * CALL_PARAMS_BLOCK,
            (size_t)(p->touched - end) * CALL_PARAMS_BLOCK, MADV_REMOVE);
    p->touched = end;
}

void call_params_release(struct call_params *p, uint16_t place)
{
    uint32_t end = (uint32_t)place + p->taken[place];

    assert(place < p->top && p->taken[place] > 0);
    p->taken[place] = 0;
    if (end < p->top)
        return;
    p->top = find_top(p);
    trim(p);
}

/* --- The process --- */

const struct call_params *call_params_map(int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 && file.st_size == SIZE ? map(fd, PROT_READ) : NULL;
}

bool call_params_find(const struct call_params *p, uint64_t offset, uint64_t len, struct span *out)
{
    if (offset > SIZE || len > SIZE - offset)
        return false;
    *out = span_of(p->memory + offset, (size_t)len);
    return true;
}
