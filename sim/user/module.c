#include "sim/user/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

enum { PARTS_MAX = 128, STAND_INS_MAX = 8 };

/* A segment of an object that is a guest. */
struct part {
    uintptr_t from, to;
    void *kept; /* as it was loaded; NULL: it cannot be written, or outlives the server */
    bool is_stand_in;
};

static struct part parts[PARTS_MAX];
static uint32_t part_count;
static uintptr_t known[PARTS_MAX * 4]; /* where the objects begin that have been seen */
static uint32_t known_count;
static void *stand_ins[STAND_INS_MAX];
static uint32_t stand_in_count;
static const char *module_path;
static void *module;

/* --- What an object consists of --- */

static bool is_known(uintptr_t at)
{
    for (uint32_t n = 0; n < known_count; n++)
        if (known[n] == at)
            return true;
    return false;
}

static void note(uintptr_t at)
{
    require(known_count < sizeof known / sizeof *known, "too many shared objects");
    known[known_count++] = at;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (!is_known((uintptr_t)info->dlpi_phdr))
        note((uintptr_t)info->dlpi_phdr);
    return 0;
}

/* What the loader has made read-only after it had put addresses in. */
static struct part read_only_of(const struct dl_phdr_info *info)
{
    for (int n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[n];
        if (h->p_type == PT_GNU_RELRO)
            return (struct part){.from = info->dlpi_addr + h->p_vaddr,
                                 .to = info->dlpi_addr + h->p_vaddr + h->p_memsz};
    }
    return (struct part){0};
}

static void add_part(uintptr_t from, uintptr_t to, bool writable, bool is_stand_in)
{
    require(part_count < PARTS_MAX, "too many segments of a module");
    struct part *p = &parts[part_count++];
    *p = (struct part){.from = from, .to = to, .is_stand_in = is_stand_in};
    if (!writable || is_stand_in || from == to)
        return;
    p->kept = malloc(to - from);
    require(p->kept != NULL, "no memory for a module's");
    memcpy(p->kept, (void *)from, to - from);
}

/* A new object: its segments are guests'. */
static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct part fixed = read_only_of(info);
    (void)size;
    if (is_known((uintptr_t)info->dlpi_phdr))
        return 0;
    note((uintptr_t)info->dlpi_phdr);
    for (int n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[n];
        uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;
        if (h->p_type != PT_LOAD)
            continue;
        if ((h->p_flags & PF_W) && from < fixed.to && fixed.from < to)
            from = (fixed.to + 4095) & ~(uintptr_t)4095; /* whole pages were */
        add_part(from < to ? from : to, to, h->p_flags & PF_W, *(bool *)arg);
    }
    return 0;
}

static void *open_object(const char *path, int how, bool is_stand_in, char *error, size_t size)
{
    char here[PATH_MAX];
    if (!strchr(path, '/') && snprintf(here, sizeof here, "./%s", path) < (int)sizeof here)
        path = here;
    dl_iterate_phdr(note_object, NULL);
    void *object = dlopen(path, RTLD_NOW | how);
    if (!object)
        snprintf(error, size, "cannot load %s: %s", path, dlerror());
    else
        dl_iterate_phdr(add_object, &is_stand_in);
    return object;
}

/* --- Loading, and what is asked of it --- */

/* In front of the module's own libraries, so that it finds these functions first. */
bool sim_stand_in_open(const char *path, char *error, size_t size)
{
    require(stand_in_count < STAND_INS_MAX, "too many stand-ins");
    void *object = open_object(path, RTLD_GLOBAL, true, error, size);
    if (object)
        stand_ins[stand_in_count++] = object;
    return object != NULL;
}

bool sim_module_open(const char *path, char *error, size_t size)
{
    module = open_object(path, RTLD_LOCAL, false, error, size);
    module_path = path;
    return module != NULL;
}

const char *sim_module_path(void)
{
    return module_path;
}

void sim_module_renew(void)
{
    for (struct part *p = parts; p < parts + part_count; p++)
        if (p->kept)
            memcpy((void *)p->from, p->kept, p->to - p->from);
}

static const struct part *part_of(const void *code)
{
    for (const struct part *p = parts; p < parts + part_count; p++)
        if ((uintptr_t)code >= p->from && (uintptr_t)code < p->to)
            return p;
    return NULL;
}

bool sim_is_guest(const void *code)
{
    return part_of(code) != NULL;
}

void *sim_stand_in(const char *name)
{
    for (uint32_t n = 0; n < stand_in_count; n++) {
        void *f = dlsym(stand_ins[n], name); /* it looks in the libraries of the object, too */
        const struct part *p = f ? part_of(f) : NULL;
        if (p && p->is_stand_in)
            return f;
    }
    return NULL;
}

const char *sim_module_check(void)
{
    void *f = module ? dlsym(module, "ergon_sim_check") : NULL;
    const char *(*check)(void);
    if (!f)
        return NULL;
    memcpy(&check, &f, sizeof check); /* ISO C converts no object pointer to a function's */
    return check();
}
