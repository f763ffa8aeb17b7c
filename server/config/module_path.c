#include "server/config/module_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the program's folder: in the build tree, and where all is installed. */
static const char *const places[] = {"modules", ERGON_MODULE_PLACE};

void module_path_of(const char *program, const char *given, char path[PATH_MAX])
{
    const char *end = strrchr(program, '/');

    snprintf(path, PATH_MAX, "%s", given);
    if (!end || strpbrk(given, "./"))
        return;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int len = snprintf(path, PATH_MAX, "%.*s/%s/%s.so", (int)(end - program), program,
                           places[i], given);
        if (len < PATH_MAX && access(path, R_OK) == 0)
            return;
    }
}

void module_path_find(const char *given, char path[PATH_MAX])
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);

    program[len > 0 ? len : 0] = '\0';
    module_path_of(program, given, path);
}
