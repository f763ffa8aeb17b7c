#include "server/tasks/call_board.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    /* Of the request.  Release behind the mark of its call: a reader of the number reads no older
     * mark. */
    _Atomic uint64_t number;
    struct attempt_mark mark;
};

/* Not in the memory that is shared: which places may be used, the longest free first. */
struct free_places {
    uint32_t first, count;
    uint16_t at[2 * CALL_BOARD_SLOTS_MAX];
};

struct shared_board {
    /* Place + 1 of the call that ended the process, or NO_PLACE; 0: nothing was said.  The exchange
     * lets one thread say it.  Release behind `why`. */
    _Atomic uint32_t guilty;
    char why[CALL_BOARD_WHY_MAX];
    struct place places[];
};
enum { NO_PLACE = UINT32_MAX };

struct call_board {
    struct shared_board *shared;
    size_t size;
    uint32_t count; /* of places, by the size: a module may write anything into the memory */
    /* Relaxed up; acq_rel down, so that all uses are over before it is unmapped. */
    _Atomic uint32_t references;
    _Atomic bool said; /* relaxed: one thread of the process writes `why` */
    struct free_places free;
};

static struct call_board *board_of(int fd, size_t size)
{
    struct call_board *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    atomic_init(&b->references, 1);
    b->size = size;
    b->count = (uint32_t)((size - sizeof *b->shared) / sizeof b->shared->places[0]);
    b->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (b->shared != MAP_FAILED)
        return b;
    free(b);
    return NULL;
}

/* The process has the descriptor, too.  If it made the file smaller, the server would crash when it
 * reads the board. */
static bool set_size(int fd, size_t size)
{
    return ftruncate(fd, (off_t)size) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

struct call_board *call_board_new(uint32_t slots, int *fd)
{
    size_t size = sizeof(struct shared_board) + 2 * (size_t)slots * sizeof(struct place);
    struct call_board *b = NULL;

    assert(slots > 0 && slots <= CALL_BOARD_SLOTS_MAX);
    *fd = memfd_create("ergon calls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd >= 0 && set_size(*fd, size))
        b = board_of(*fd, size);
    if (b)
        return b;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return NULL;
}

struct call_board *call_board_map(int fd)
{
    struct stat file;

    if (fstat(fd, &file) != 0 || (size_t)file.st_size < sizeof(struct shared_board) ||
        (size_t)file.st_size >
            sizeof(struct shared_board) + 2 * CALL_BOARD_SLOTS_MAX * sizeof(struct place))
        return NULL;
    struct call_board *b = board_of(fd, (size_t)file.st_size);
    if (!b)
        return NULL;
    b->free.count = b->count;
    for (uint32_t i = 0; i < b->free.count; i++)
        b->free.at[i] = (uint16_t)i;
    return b;
}

void call_board_ref(struct call_board *b)
{
    atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
}

void call_board_unref(struct call_board *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) > 1)
        return;
    munmap(b->shared, b->size);
    free(b);
}

/* --- The process --- */

struct attempt_mark *call_board_give(struct call_board *b, uint64_t number)
{
    struct free_places *f = &b->free;

    assert(f->count > 0);
    struct place *p = &b->shared->places[f->at[f->first]];
    f->first = (f->first + 1) % b->count;
    f->count--;
    atomic_store_explicit(&p->number, 0, memory_order_relaxed);
    atomic_store_explicit(&p->mark.place, MARK_HERE, memory_order_relaxed);
    atomic_store_explicit(&p->mark.stage, MARK_GIVEN, memory_order_release);
    atomic_store_explicit(&p->number, number, memory_order_release);
    return &p->mark;
}

static uint32_t place_of(const struct call_board *b, const struct attempt_mark *mark)
{
    size_t from = (size_t)((const uint8_t *)mark - (const uint8_t *)b->shared->places);

    assert(from / sizeof(struct place) < b->count);
    return (uint32_t)(from / sizeof(struct place));
}

void call_board_take(struct call_board *b, struct attempt_mark *mark)
{
    struct free_places *f = &b->free;

    f->at[(f->first + f->count++) % b->count] = (uint16_t)place_of(b, mark);
    assert(f->count <= b->count);
}

void call_board_blame(struct call_board *b, const struct attempt_mark *mark, const char *why)
{
    char *to = b->shared->why;

    if (atomic_exchange_explicit(&b->said, true, memory_order_relaxed))
        return;
    for (const char *end = to + CALL_BOARD_WHY_MAX - 1; to < end && *why;)
        *to++ = *why++;
    *to = '\0';
    atomic_store_explicit(&b->shared->guilty, mark ? place_of(b, mark) + 1 : NO_PLACE,
                          memory_order_release);
}

/* --- The server --- */

/* Was its handler being run? */
static bool is_running(const struct place *p)
{
    return atomic_load_explicit(&p->mark.stage, memory_order_acquire) == MARK_BEGUN &&
           atomic_load_explicit(&p->mark.place, memory_order_relaxed) != MARK_PARKED;
}

/* Place + 1; 0: it is not known. */
static uint32_t guilty(const struct call_board *b)
{
    const struct shared_board *s = b->shared;
    uint32_t said = atomic_load_explicit(&s->guilty, memory_order_acquire), found = 0;

    if (said != 0)
        return said <= b->count ? said : 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (!is_running(&s->places[i]))
            continue;
        if (found != 0)
            return 0;
        found = i + 1;
    }
    return found;
}

static struct place *find(const struct call_board *b, uint64_t number)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (atomic_load_explicit(&b->shared->places[i].number, memory_order_acquire) == number)
            return &b->shared->places[i];
    return NULL;
}

void call_board_blame_number(struct call_board *b, uint64_t number, const char *why)
{
    const struct place *p = find(b, number);

    if (p)
        call_board_blame(b, &p->mark, why);
}

enum call_fate call_board_fate(const struct call_board *b, uint64_t number)
{
    const struct place *p = find(b, number);

    if (!p || atomic_load_explicit(&p->mark.stage, memory_order_acquire) < MARK_BEGUN)
        return CALL_WAITED;
    uint32_t found = guilty(b);
    return found == 0 ? CALL_LOST : found == place_of(b, &p->mark) + 1 ? CALL_GUILTY : CALL_RAN;
}

const char *call_board_why(const struct call_board *b)
{
    return b->shared->why;
}
