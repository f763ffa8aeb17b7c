/* Loads a module's file and registers its methods. */
#include "server/tasks/handlers/held_memory.h"
#include "server/tasks/handlers/host.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

/* Of another major version nothing is read but the version and the name. */
static bool fits(const struct ergon_module_info *info, char *error, size_t size)
{
    if (!info || !info->name) {
        snprintf(error, size,
                 "a module does not say what it is: ergon_module() must return its "
                 "struct ergon_module_info, with a name");
        return false;
    }
    if (info->abi_major == ERGON_ABI_MAJOR) {
        if (info->size >= sizeof *info && info->init)
            return true;
        snprintf(error, size,
                 "module \"%s\" has an incomplete struct ergon_module_info: size and "
                 "init must be set",
                 info->name);
        return false;
    }
    snprintf(error, size,
             "module \"%s\" was built for version %u of the module interface, this server has "
             "version %u: build it against this server's headers",
             info->name, info->abi_major, (unsigned)ERGON_ABI_MAJOR);
    return false;
}

int module_add(struct registry *r, const struct ergon_module_info *info, char *error, size_t size)
{
    if (!fits(info, error, size))
        return -1;
    struct ergon_module module = {
        .registry = r, .name = info->name, .error = error, .error_size = size};
    int verdict = info->init(&module, host_table());
    if (module.refused)
        return -1;
    if (verdict == 0)
        return 0;
    snprintf(error, size, "module \"%s\" refused to be loaded; its reason is in the log",
             info->name);
    return -1;
}

static int add_loaded(struct registry *r, void *object, const char *path, char *error, size_t size)
{
    void *door = dlsym(object, "ergon_module");
    if (!door) {
        snprintf(error, size, "%s is no module: it exports no ergon_module", path);
        return -1;
    }
    ergon_module_fn *ask;
    memcpy(&ask, &door, sizeof ask); /* ISO C converts no object pointer to a function's */
    return module_add(r, ask(), error, size);
}

/* A bare name is a file here, as with any other argument, and not one of the library path. */
static void *open_object(const char *path)
{
    char here[PATH_MAX];
    if (!strchr(path, '/') && snprintf(here, sizeof here, "./%s", path) < (int)sizeof here)
        path = here;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* What stays loaded after a refusal is nothing but code that is not called. */
int module_load(struct registry *r, const char *path, char *error, size_t size)
{
    void *object = open_object(path);
    if (!object) {
        const char *why = dlerror();
        snprintf(error, size, "cannot load %s: %s", path, why ? why : "unknown reason");
        return -1;
    }
    held_memory_watch(object, path);
    return add_loaded(r, object, path, error, size);
}
