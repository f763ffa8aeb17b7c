#include "client/cli/become.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/output.h"

/* Behind the last slash of the name of this program's own file goes the other's. */
bool program_beside(const char *program, char path[static PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (len <= 0)
        return false;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    size_t room = PATH_MAX - (size_t)(slash + 1 - path);
    int needs = snprintf(slash + 1, room, "%s", program);
    return needs < (int)room && access(path, X_OK) == 0;
}

enum status become(char *const *argv, const char *why, const char *advice)
{
    char path[PATH_MAX], text[96];
    fflush(stdout);
    if (program_beside(argv[0], path))
        execv(path, argv);
    else
        execvp(argv[0], argv);
    complain("cannot run %s, %s: %s; %s", argv[0], why, strerror_r(errno, text, sizeof text),
             advice);
    return STATUS_USAGE;
}
