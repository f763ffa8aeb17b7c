#include "sim/user/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "sim/user/calls.h"

enum { PARTS_MAX = 128, STAND_INS_MAX = 8, PAGE = 4096 };

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

/* The loader makes this part read-only once it has filled in addresses. */
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

/* --- Its calls --- */

static const struct part *part_of(const void *code)
{
    for (const struct part *p = parts; p < parts + part_count; p++)
        if ((uintptr_t)code >= p->from && (uintptr_t)code < p->to)
            return p;
    return NULL;
}

static void *stand_in_function(const char *name)
{
    for (uint32_t n = 0; n < stand_in_count; n++) {
        void *f = dlsym(stand_ins[n], name); /* it looks in the libraries of the object, too */
        const struct part *p = f ? part_of(f) : NULL;
        if (p && p->is_stand_in)
            return f;
    }
    return NULL;
}

/* The parts of an object that the loader reads; the C library has made addresses of them. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2]; /* of functions that are called; of the rest */
    size_t sizes[2];              /* bytes */
};

static struct dynamic dynamic_of(const struct dl_phdr_info *info)
{
    struct dynamic d = {0};
    const ElfW(Dyn) *e = NULL;
    for (int n = 0; n < info->dlpi_phnum; n++)
        if (info->dlpi_phdr[n].p_type == PT_DYNAMIC)
            e = (const void *)(info->dlpi_addr + info->dlpi_phdr[n].p_vaddr);
    for (; e && e->d_tag != DT_NULL; e++)
        switch (e->d_tag) {
        case DT_SYMTAB:
            d.symbols = (const void *)e->d_un.d_ptr;
            break;
        case DT_STRTAB:
            d.names = (const void *)e->d_un.d_ptr;
            break;
        case DT_JMPREL:
            d.tables[0] = (const void *)e->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            d.sizes[0] = e->d_un.d_val;
            break;
        case DT_RELA:
            d.tables[1] = (const void *)e->d_un.d_ptr;
            break;
        case DT_RELASZ:
            d.sizes[1] = e->d_un.d_val;
            break;
        default:
            break;
        }
    return d;
}

/* A slot lies within one page, which may be read-only by now. */
static void write_slot(uintptr_t at, const struct part *fixed, uintptr_t to)
{
    void *page = (void *)(at & ~(uintptr_t)(PAGE - 1));
    bool is_fixed = at >= fixed->from && at < fixed->to;
    if (is_fixed)
        require(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0,
                "the calls of a module cannot be redirected");
    memcpy((void *)at, &to, sizeof to);
    if (is_fixed)
        mprotect(page, PAGE, PROT_READ);
}

static uintptr_t replacement_of(const char *name)
{
    void *f = stand_in_function(name);
    sim_call *call = sim_call_named(name);
    return f ? (uintptr_t)f : (uintptr_t)call;
}

/* Points what the object calls of others at our functions, or at a stand-in's.  The address of the
 * caller would not do to tell a module from the server: a call in tail position is a jump, which
 * leaves the server's. */
static void redirect(const struct dl_phdr_info *info, const struct part *fixed)
{
    struct dynamic d = dynamic_of(info);
    for (int t = 0; t < 2; t++)
        for (size_t n = 0; d.tables[t] && n < d.sizes[t] / sizeof *d.tables[t]; n++) {
            const ElfW(Rela) *r = &d.tables[t][n];
            const ElfW(Sym) *symbol = &d.symbols[ELF64_R_SYM(r->r_info)];
            if (ELF64_R_SYM(r->r_info) == 0 || symbol->st_shndx != SHN_UNDEF)
                continue;
            uintptr_t to = replacement_of(d.names + symbol->st_name);
            if (to != 0)
                write_slot(info->dlpi_addr + r->r_offset, fixed, to);
        }
}

/* A new object: its segments are guests'. */
static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct part fixed = read_only_of(info);
    (void)size;
    if (is_known((uintptr_t)info->dlpi_phdr))
        return 0;
    note((uintptr_t)info->dlpi_phdr);
    redirect(info, &fixed);
    for (int n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[n];
        uintptr_t from = info->dlpi_addr + h->p_vaddr, to = from + h->p_memsz;
        if (h->p_type != PT_LOAD)
            continue;
        if ((h->p_flags & PF_W) && from < fixed.to && fixed.from < to)
            from = (fixed.to + PAGE - 1) & ~(uintptr_t)(PAGE - 1); /* whole pages were */
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
    bool good = module && dlsym(module, "ergon_module");
    if (module && !good)
        snprintf(error, size, "%s is no module: it exports no ergon_module", path);
    return good;
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

const char *sim_module_check(void)
{
    void *f = module ? dlsym(module, "ergon_sim_check") : NULL;
    const char *(*check)(void);
    if (!f)
        return NULL;
    memcpy(&check, &f, sizeof check); /* ISO C converts no object pointer to a function's */
    return check();
}
