#include "client/cli/editor.h"

#include "client/cli/cli.h"
#include "client/cli/files.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TEXT_MAX = 256 << 20 /* bytes */ };

static bool on_terminal(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static const char *chosen(void)
{
    const char *editor = environment("VISUAL");
    if (editor == NULL)
        editor = environment("EDITOR");
    return editor == NULL && on_terminal() ? "vi" : editor;
}

bool editor_exists(void)
{
    return chosen() != NULL;
}

bool editor_begin(struct editor_file *f, const char *text)
{
    char why[96];
    const char *folder = environment("TMPDIR");
    int n = snprintf(f->path, sizeof f->path, "%s/ergon-edit-XXXXXX.json",
                     folder != NULL ? folder : "/tmp");
    int fd = n < (int)sizeof f->path ? mkstemps(f->path, (int)strlen(".json")) : -1;
    bool good = fd >= 0 && file_write(fd, text);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good)
        return true;
    complain("cannot write %s: %s", f->path, strerror_r(error, why, sizeof why));
    if (fd >= 0)
        unlink(f->path);
    f->path[0] = 0;
    return false;
}

/* The value may have arguments, as "code --wait": a shell reads it.  0: it went well; another: as
 * waitpid() has it; -1: it could not be started. */
static int run(const char *editor, const char *path)
{
    char command[PATH_MAX];
    int status = -1;
    pid_t process;
    sigset_t own;
    posix_spawnattr_t attributes;
    if (snprintf(command, sizeof command, "%s \"$1\"", editor) >= (int)sizeof command)
        return -1;
    char *const argv[] = {"sh", "-c", command, (char *)editor, (char *)path, NULL};
    sigemptyset(&own);
    sigaddset(&own, SIGINT);
    sigaddset(&own, SIGQUIT);
    sigaddset(&own, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &own);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (posix_spawn(&process, "/bin/sh", NULL, &attributes, argv, environ) == 0)
        while (waitpid(process, &status, 0) < 0 && errno == EINTR)
            continue;
    posix_spawnattr_destroy(&attributes);
    return status;
}

bool editor_run(const struct editor_file *f, char **text)
{
    struct file_bytes file;
    const char *editor = chosen();
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    int status = editor != NULL ? run(editor, f->path) : -1;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    if (status != 0) {
        complain_as("USAGE", "VISUAL or EDITOR names the editor", "the editor '%s' failed",
                    editor != NULL ? editor : "");
        return false;
    }
    if (!file_read(f->path, TEXT_MAX, &file))
        return false;
    *text = (char *)file.at; /* a zero stands behind it */
    return true;
}

void editor_end(struct editor_file *f, bool keep)
{
    if (f->path[0] != 0 && keep)
        notice("the text is kept in %s", f->path);
    else if (f->path[0] != 0)
        unlink(f->path);
    f->path[0] = 0;
}

bool editor_again(void)
{
    char answer[16];
    if (!on_terminal())
        return false;
    fputs("Edit again? [Y/n] ", stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        return false;
    return answer[0] != 'n' && answer[0] != 'N' && answer[0] != 'q';
}
