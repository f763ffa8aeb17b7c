#include "server/processes/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "server/tasks/call_board.h"
#include "server/tasks/call_params.h"

enum {
    ABOVE = 10, /* the descriptors of the process, before they get their places there */
    FLAGS_MAX = 24,
    BLOCKING_MAX = CALL_BOARD_SLOTS_MAX - MODULE_SLOTS_MAX
};

struct spawn_settings spawn_settings_of(const struct config *c)
{
    return (struct spawn_settings){.message = c->limits.message,
                                   .blocking = c->executors.blocking_count,
                                   .level = c->log.level,
                                   .format = c->log.format};
}

uint32_t spawn_slots(const struct spawn_settings *c, const struct module_spec *spec)
{
    return spec->slots + (c->blocking < BLOCKING_MAX ? c->blocking : BLOCKING_MAX);
}

/* --- Its command line: what it has of the server's configuration --- */

struct flags {
    const char *at[FLAGS_MAX];
    size_t count;
    char message[24], blocking[16], queue[16], parked[16], stuck[32];
};

static void add(struct flags *f, const char *flag, const char *value)
{
    f->at[f->count++] = flag;
    f->at[f->count++] = value;
}

static const char *level_of(const struct spawn_settings *c)
{
    static const char *const levels[] = {
        [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

    return levels[c->level];
}

static void make_flags(struct flags *f, const struct spawn_settings *c,
                       const struct module_spec *spec)
{
    uint32_t blocking = spawn_slots(c, spec) - spec->slots;

    units_size_text(c->message, f->message, sizeof f->message);
    snprintf(f->blocking, sizeof f->blocking, "%" PRIu32, blocking);
    snprintf(f->queue, sizeof f->queue, "%" PRIu32, spec->slots);
    snprintf(f->stuck, sizeof f->stuck, "%" PRIu64 "ns", spec->stuck);
    f->at[f->count++] = "ergond";
    add(f, "--module", spec->path);
    add(f, "--loops", "1");
    add(f, "--limits-message", f->message);
    add(f, "--blocking", f->blocking);
    add(f, "--stepped-queue", f->queue);
    add(f, "--round-limit", spec->stuck > 0 ? f->stuck : "off");
    add(f, "--log-level", level_of(c));
    add(f, "--log-format", c->format == CONFIG_LOG_JSON ? "json" : "logfmt");
    f->at[f->count] = NULL;
}

/* Its environment is ours, without what configures a server.  NULL without memory; else the array
 * is the caller's, and its texts are those of before. */
static char **make_environment(char *variable)
{
    static const char name[] = SPAWN_VARIABLE "=";
    size_t count = 0, kept = 0;

    while (environ[count])
        count++;
    char **all = calloc(count + 2, sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        if (strncmp(environ[i], name, sizeof name - 1) != 0)
            all[kept++] = environ[i];
    if (all)
        all[kept] = variable;
    return all;
}

/* --- Its files --- */

struct ends {
    int socket, hello, board, params; /* the process's; -1: not yet made */
};

/* Moves a descriptor out of the way of the places that the process's get. */
static int move_up(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);

    if (fd >= 0)
        close(fd);
    return moved;
}

static bool open_ends(struct spawned *out, struct ends *e, uint32_t slots)
{
    int pair[2], tube[2];

    out->board = call_board_new(slots, &e->board);
    e->board = move_up(e->board);
    out->params = call_params_new(&e->params);
    e->params = move_up(e->params);
    if (!out->board || e->board < 0 || !out->params || e->params < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return false;
    out->socket = pair[0];
    e->socket = move_up(pair[1]);
    if (e->socket < 0 || pipe2(tube, O_CLOEXEC) != 0)
        return false;
    out->hello = tube[0];
    e->hello = move_up(tube[1]);
    return e->hello >= 0 && fcntl(out->hello, F_SETFL, O_NONBLOCK) == 0;
}

static void close_end(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* --- The process --- */

/* A group of its own: signals of the terminal are for the server, which ends it. */
static int start(pid_t *pid, const struct ends *e, char *const *argv, char *const *environment)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int error = posix_spawn_file_actions_init(&files);

    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&files);
        return error;
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    error = posix_spawn_file_actions_adddup2(&files, e->socket, SPAWN_SOCKET);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, e->board, SPAWN_BOARD);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, e->params, SPAWN_PARAMS);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, e->hello, SPAWN_HELLO);
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(&files, SPAWN_HELLO + 1);
    if (error == 0)
        error = posix_spawn(pid, "/proc/self/exe", &files, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void drop(struct spawned *out)
{
    close_end(out->socket);
    close_end(out->hello);
    close_end(out->pidfd);
    call_board_unref(out->board);
    call_params_free(out->params);
    *out = (struct spawned){.pidfd = -1, .socket = -1, .hello = -1};
}

static int start_named(const struct spawn_settings *c, const struct module_spec *spec,
                       const char *name, struct spawned *out, const struct ends *e)
{
    char variable[PATH_MAX + 64];
    struct flags flags = {.count = 0};

    snprintf(variable, sizeof variable, SPAWN_VARIABLE "=%" PRIu32 " %" PRIu64 " %s", spec->slots,
             spec->memory, name);
    make_flags(&flags, c, spec);
    char **environment = make_environment(variable);
    if (!environment)
        return ENOMEM;
    int error = start(&out->pid, e, (char *const *)(uintptr_t)flags.at, environment);
    free(environment);
    return error;
}

bool spawn_module(const struct spawn_settings *c, const struct module_spec *spec, const char *name,
                  struct spawned *out, char *error, size_t size)
{
    struct ends e = {-1, -1, -1, -1};
    char text[96];

    *out = (struct spawned){.pidfd = -1, .socket = -1, .hello = -1};
    int why = open_ends(out, &e, spawn_slots(c, spec)) ? 0 : errno;
    if (why == 0)
        why = start_named(c, spec, name, out, &e);
    if (why == 0)
        out->pidfd = pidfd_open(out->pid, 0);
    if (why == 0 && out->pidfd < 0) {
        why = errno;
        kill(out->pid, SIGKILL);
        waitpid(out->pid, NULL, 0);
    }
    close_end(e.socket);
    close_end(e.hello);
    close_end(e.board);
    close_end(e.params);
    if (why == 0)
        return true;
    drop(out);
    snprintf(error, size, "no process of the module %s can be started: %s", spec->path,
             why == EPERM ? "the sandbox forbids it (sandbox_allow: execve)"
                          : strerror_r(why, text, sizeof text));
    return false;
}
