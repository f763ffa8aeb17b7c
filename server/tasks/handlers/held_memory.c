#include "server/tasks/handlers/held_memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/log.h"
#include "server/runtime/thread_locals.h"

static bool watching;

/* ---- accounts ---- */

struct block {
    struct hash_link link;
    void *at;
    size_t size;
    uint64_t task;
};

struct account {
    struct hash_link link;
    uint64_t task;
    size_t bytes, blocks;
};

/* Guards both tables. */
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hash_table blocks_by_address, accounts_by_task;

/* No stranger chooses addresses or numbers of tasks: to mix their bits is enough. */
static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return v ^ v >> 27;
}

static struct block *find_block(void *at)
{
    struct hash_link *l = hash_first(&blocks_by_address, mix((uintptr_t)at));

    while (l && ((struct block *)l)->at != at)
        l = hash_next(l);
    return (struct block *)l;
}

static struct account *find_account(uint64_t task)
{
    struct hash_link *l = hash_first(&accounts_by_task, mix(task));

    while (l && ((struct account *)l)->task != task)
        l = hash_next(l);
    return (struct account *)l;
}

static struct account *open_account(uint64_t task)
{
    struct account *a = find_account(task);

    if (a)
        return a;
    a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    *a = (struct account){.link.hash = mix(task), .task = task};
    hash_add(&accounts_by_task, &a->link);
    return a;
}

/* Without memory for it a block is not counted. */
static void count_in(void *at, size_t size)
{
    if (!at || thread_locals.held_task == 0)
        return;
    struct block *b = malloc(sizeof *b);
    pthread_mutex_lock(&held_lock);
    struct account *a = b ? open_account(thread_locals.held_task) : NULL;
    if (a) {
        *b = (struct block){.link.hash = mix((uintptr_t)at),
                            .at = at,
                            .size = size,
                            .task = thread_locals.held_task};
        hash_add(&blocks_by_address, &b->link);
        a->bytes += size;
        a->blocks++;
        b = NULL;
    }
    pthread_mutex_unlock(&held_lock);
    free(b);
}

static void count_out(void *at)
{
    if (!at)
        return;
    pthread_mutex_lock(&held_lock);
    struct block *b = find_block(at);
    struct account *a = b ? find_account(b->task) : NULL;
    if (b)
        hash_remove(&blocks_by_address, &b->link);
    if (a) {
        a->bytes -= b->size;
        a->blocks--;
    }
    pthread_mutex_unlock(&held_lock);
    free(b);
}

uint64_t held_memory_enter(uint64_t task)
{
    uint64_t before = thread_locals.held_task;

    thread_locals.held_task = watching ? task : 0;
    return before;
}

size_t held_memory_end(uint64_t task, size_t *blocks)
{
    *blocks = 0;
    if (!watching)
        return 0;
    pthread_mutex_lock(&held_lock);
    struct account *a = find_account(task);
    if (a)
        hash_remove(&accounts_by_task, &a->link);
    pthread_mutex_unlock(&held_lock);
    size_t bytes = a ? a->bytes : 0;
    *blocks = a ? a->blocks : 0;
    free(a);
    return bytes;
}

/* ---- what a module calls instead ---- */

static void *own_malloc(size_t size)
{
    void *at = malloc(size);

    count_in(at, size);
    return at;
}

static void *own_calloc(size_t count, size_t size)
{
    void *at = calloc(count, size);

    count_in(at, count * size);
    return at;
}

/* Out first: once it is freed, another thread may get the same address. */
static void *own_realloc(void *old, size_t size)
{
    count_out(old);
    void *at = realloc(old, size);
    count_in(at, size);
    return at;
}

static void own_free(void *at)
{
    count_out(at);
    free(at);
}

static char *own_strdup(const char *text)
{
    char *at = strdup(text);

    count_in(at, at ? strlen(at) + 1 : 0);
    return at;
}

static char *own_strndup(const char *text, size_t most)
{
    char *at = strndup(text, most);

    count_in(at, at ? strlen(at) + 1 : 0);
    return at;
}

static const struct {
    const char *name;
    uintptr_t function;
} imports[] = {
    {"malloc", (uintptr_t)own_malloc},   {"calloc", (uintptr_t)own_calloc},
    {"realloc", (uintptr_t)own_realloc}, {"free", (uintptr_t)own_free},
    {"strdup", (uintptr_t)own_strdup},   {"strndup", (uintptr_t)own_strndup},
};

/* ---- a module's table of imports ---- */

#if defined(__x86_64__)
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_IMPORT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_IMPORT(type) false
#endif

/* Of one loaded object. */
struct tables {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * calls, *data; /* relocations: of the jump table, of the rest */
    size_t call_bytes, data_bytes;
};

static void find_tables(const struct link_map *map, struct tables *t)
{
    *t = (struct tables){.base = map->l_addr};
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t->symbols = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_STRTAB)
            t->names = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_JMPREL)
            t->calls = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_PLTRELSZ)
            t->call_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_RELA)
            t->data = (const void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_RELASZ)
            t->data_bytes = d->d_un.d_val;
    }
}

static uintptr_t function_for(const char *name)
{
    for (size_t i = 0; i < sizeof imports / sizeof imports[0]; i++)
        if (strcmp(imports[i].name, name) == 0)
            return imports[i].function;
    return 0;
}

/* The slot may be read-only once the object was loaded. */
static bool lead(uintptr_t slot, uintptr_t function)
{
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE), page = slot & ~(page_size - 1);

    if (mprotect((void *)page, page_size, PROT_READ | PROT_WRITE) != 0)
        return false;
    memcpy((void *)slot, &function, sizeof function);
    return true;
}

static bool lead_all(const struct tables *t, const ElfW(Rela) * r, size_t bytes)
{
    bool good = true;

    for (size_t i = 0; r && i < bytes / sizeof *r; i++) {
        if (!IS_IMPORT(ELF64_R_TYPE(r[i].r_info)))
            continue;
        const char *name = t->names + t->symbols[ELF64_R_SYM(r[i].r_info)].st_name;
        uintptr_t function = function_for(name);
        good = good && (!function || lead(t->base + r[i].r_offset, function));
    }
    return good;
}

void held_memory_begin(void)
{
    watching = true;
    hash_table_init(&blocks_by_address);
    hash_table_init(&accounts_by_task);
}

void held_memory_watch(void *object, const char *path)
{
    struct link_map *map;
    struct tables t;

    if (!watching)
        return;
    bool good = dlinfo(object, RTLD_DI_LINKMAP, &map) == 0;
    if (good) {
        find_tables(map, &t);
        good = t.symbols && t.names && lead_all(&t, t.calls, t.call_bytes) &&
               lead_all(&t, t.data, t.data_bytes);
    }
    if (!good)
        log_warn("--dev: the module's memory cannot be watched", LOG_STR("module", path));
}
