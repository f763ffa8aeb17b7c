/* Which driver a store's name means, and where the shared objects of drivers are. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/url.h"
#include "server/store/driver.h"

/* From the program's folder: in the build tree, and where all is installed. */
static const char *const places[] = {"store/postgres", ERGON_STORE_PLACE};

static const char package[] = "ergon-store-postgresql";

bool driver_is_url(const char *where)
{
    return url_is_postgresql(where);
}

/* --- Names --- */

/* Of service=NAME there is nothing to hide but what follows it. */
void driver_name(const char *where, char *name, size_t size)
{
    const char *host = strstr(where, "://");
    if (!host) {
        snprintf(name, size, "%.*s", (int)strcspn(where, " ?&"), where);
        return;
    }
    host += 3;
    size_t len = strcspn(host, "/?"), user = strcspn(host, "@/?");
    size_t skip = host[user] == '@' ? user + 1 : 0;
    len = strcspn(host, "?");
    snprintf(name, size, "%.*s%.*s", (int)(host - where), where, (int)(len - skip), host + skip);
}

/* --- Shared objects --- */

static void path_from(const char *program, const char *place, char path[PATH_MAX])
{
    const char *end = strrchr(program, '/');
    int len = end ? (int)(end - program) : 0;
    snprintf(path, PATH_MAX, "%.*s/%s/postgresql.so", len, program, place);
}

static bool find(char path[PATH_MAX])
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    program[len > 0 ? len : 0] = '\0';
    for (size_t n = 0; n < sizeof places / sizeof *places; n++) {
        path_from(program, places[n], path);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Loaded once; it stays. */
static void *load(char *error, size_t size)
{
    static void *object;
    char path[PATH_MAX];
    if (object)
        return object;
    if (!find(path)) {
        snprintf(error, size,
                 "the driver for PostgreSQL is not installed (no %s); install the package %s", path,
                 package);
        return NULL;
    }
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        snprintf(error, size, "the driver for PostgreSQL cannot be loaded: %s", dlerror());
    return object;
}

const void *driver_symbol(const char *where, const char *symbol, char *error, size_t size)
{
    if (!driver_is_url(where)) {
        snprintf(error, size, "store %s is a file, not a database", where);
        return NULL;
    }
    void *object = load(error, size);
    const uint32_t *found = object ? dlsym(object, symbol) : NULL; /* first: its version */
    if (object && (!found || *found != STORE_DRIVER_VERSION)) {
        snprintf(error, size,
                 "the driver for PostgreSQL is of another version than this ergond; install the "
                 "package %s of the same version",
                 package);
        return NULL;
    }
    return found;
}

const struct store_driver *driver_find(const char *where, char *error, size_t size)
{
    return driver_is_url(where) ? driver_symbol(where, STORE_DRIVER_SYMBOL, error, size)
                                : &store_sqlite;
}
