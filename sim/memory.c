#include "sim/memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "base/check.h"
#include "base/slab.h"
#include "sim/chance.h"
#include "sim/fault_heap.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum { SIZES = 1 << 12, SHORT_MS = 600000 /* of a run, in which memory may be short */ };

/* How many allocations of about that size there were. */
struct sizes {
    uint32_t seen[SIZES];
};
static struct sizes of_server, of_sqlite;

static struct {
    uint64_t one_in; /* allocations that fail; 0: none */
    uint64_t length; /* ns for which they fail then, at most */
} shape;
static bool starting;
static int ample;
static int64_t live, live_of[SIM_OWNERS];
static enum sim_owner for_node;
enum { OWNERS = 1 << 22, LEAST = 32 /* bytes from a block to the next */ };
static struct owned {
    void *block; /* NULL: none */
    enum sim_owner owner;
} * owners;
static uint32_t owned_count;
static uint64_t start_left; /* the allocations of a start up to the one that fails; 0: none does */
static uint64_t until;      /* then there is memory again */
static uint64_t failed_at;  /* one did, last; 0: none has */

void sim_memory_ample(bool on)
{
    ample += on ? 1 : -1;
}

void sim_memory_starts(void)
{
    bool fails = shape.one_in > 0 && !sim_one_in(SIM_MEMORY, 8);
    uint64_t most = UINT64_C(64) << sim_below(SIM_MEMORY, 6);
    start_left = fails ? 1 + sim_below(SIM_MEMORY, most) : 0;
    starting = true;
}

void sim_memory_serves(void)
{
    starting = false;
}

bool sim_memory_failed_within(uint64_t ns)
{
    return failed_at > 0 && failed_at + ns >= sim_now();
}

void sim_memory_wait(void)
{
    if (sim_memory_failed_within(SIM_MS(1)))
        sim_sleep_for(SIM_MS(1));
}

int64_t sim_memory_live(void)
{
    return owners ? live_of[sim_self_owner()] : live;
}

/* A rare allocation fails more often than its share.  Its size tells where it is made. */
static bool is_drawn(struct sizes *sizes, size_t size)
{
    uint64_t one_in = 8 + (uint64_t)8 * sizes->seen[size % SIZES]++;
    return sim_one_in(SIM_MEMORY, one_in < shape.one_in ? one_in : shape.one_in);
}

static bool is_short(struct sizes *sizes, size_t size)
{
    if (starting)
        return start_left > 0 && --start_left == 0;
    if (sim_now() < until)
        return true;
    if (!is_drawn(sizes, size))
        return false;
    until = sim_now() + sim_below(SIM_MEMORY, shape.length);
    return true;
}

static bool fails(struct sizes *sizes, size_t size)
{
    bool of_node = shape.one_in > 0 && !ample && sim_now() < SIM_MS(SHORT_MS) && sim_self() &&
                   sim_self_owner() >= SIM_NODE;
    if (!of_node || !is_short(sizes, size))
        return false;
    sim_tell("an allocation fails");
    failed_at = sim_now();
    return true;
}

bool fault_heap_fails(size_t size)
{
    return fails(&of_server, size);
}

/* --- Whose block it is --- */

void sim_memory_apart(void)
{
    owners = calloc(OWNERS, sizeof *owners);
    require(owners != NULL, "no memory for the owners of blocks");
}

void sim_memory_for(enum sim_owner node)
{
    for_node = node;
}

/* Neighbours stay neighbours: the pages of the table are as few as those of the blocks. */
static uint32_t home(const void *block)
{
    return (uint32_t)((uintptr_t)block / LEAST) % OWNERS;
}

/* Its place, or that where it goes: blocks of nodes that have died stay. */
static uint32_t find(const void *block)
{
    uint32_t at = home(block);
    while (owners[at].block && owners[at].block != block)
        at = (at + 1) % OWNERS;
    return at;
}

/* Moves the following entries up, but for those that would then stand before their home. */
static void forget(uint32_t hole)
{
    for (uint32_t at = (hole + 1) % OWNERS; owners[at].block; at = (at + 1) % OWNERS) {
        if ((at - home(owners[at].block)) % OWNERS < (at - hole) % OWNERS)
            continue;
        owners[hole] = owners[at];
        hole = at;
    }
    owners[hole].block = NULL;
}

static void count_apart(void *block, int64_t sign)
{
    uint32_t at = find(block);
    struct owned *o = &owners[at];
    if (sign > 0) {
        owned_count += !o->block;
        require(owned_count < OWNERS / 2, "too many blocks of nodes");
        *o = (struct owned){block, sim_self() && sim_self_owner() ? sim_self_owner() : for_node};
    } else if (o->block != block) {
        return; /* it was there before the nodes */
    }
    live_of[o->owner] += sign;
    if (sign > 0)
        return;
    forget(at);
    owned_count--;
}

void fault_heap_count(void *block, int64_t sign)
{
    if (owners)
        count_apart(block, sign);
    live += sign;
}

/* Chunks of slabs are seldom new: their cells fail as others do. */
void *__real_slab_take(struct slab *s);
void *__wrap_slab_take(struct slab *s);

void *__wrap_slab_take(struct slab *s)
{
    return fails(&of_server, s->cell) ? NULL : __real_slab_take(s);
}

/* --- SQLite allocates by functions of its own --- */

static sqlite3_mem_methods heap;

static void *sql_malloc(int size)
{
    return fails(&of_sqlite, (size_t)size) ? NULL : heap.xMalloc(size);
}

static void *sql_realloc(void *at, int size)
{
    return fails(&of_sqlite, (size_t)size) ? NULL : heap.xRealloc(at, size);
}

static void let_sqlite_fail(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap);
    sqlite3_mem_methods failing = heap;
    failing.xMalloc = sql_malloc;
    failing.xRealloc = sql_realloc;
    require(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK, "SQLite runs already");
}

void sim_memory_shape(void)
{
    static const uint64_t lengths[] = {1, 1, SIM_MS(1), SIM_MS(8)};
    if (!sim_one_in(SIM_MEMORY, 4))
        return;
    shape.one_in = UINT64_C(32) << sim_below(SIM_MEMORY, 7);
    shape.length = lengths[sim_below(SIM_MEMORY, sizeof lengths / sizeof *lengths)];
    let_sqlite_fail();
}
