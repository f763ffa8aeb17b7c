#include "server/module_main.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "server/config/module_path.h"
#include "server/front/node_worker.h"
#include "server/modules/builtin.h"
#include "server/plan.h"
#include "server/processes/hello.h"
#include "server/processes/spawn.h"
#include "server/system/crash.h"
#include "server/system/sandbox.h"
#include "server/system/watchdog.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/call_board.h"
#include "server/tasks/call_params.h"
#include "server/tasks/running.h"
#include "server/topology.h"

enum { NAME_SIZE = 64, TEXT_SIZE = 512 };

/* What it was started with. */
struct born {
    uint32_t slots;
    uint64_t memory;
    char name[NAME_SIZE];
};

/* For functions that get no argument: a handler of a signal, and the loss of the server. */
static struct call_board *board;
static const struct call_params *params;
/* SIGABRT, which is about to be sent, means that a step does not return.  Relaxed: the signal that
 * follows orders it. */
static _Atomic bool is_stuck;

bool module_main_wanted(void)
{
    return getenv(SPAWN_VARIABLE) != NULL;
}

static bool read_born(struct born *b)
{
    const char *text = getenv(SPAWN_VARIABLE);

    return text &&
           sscanf(text, "%" SCNu32 " %" SCNu64 " %63[^\n]", &b->slots, &b->memory, b->name) == 3;
}

/* --- Its end --- */

static void blame(const char *what)
{
    bool stuck = atomic_load_explicit(&is_stuck, memory_order_relaxed);

    if (board)
        call_board_blame(board, task_running_mark(),
                         stuck ? "its step did not return in time" : what);
}

/* What its handlers are about to do nobody wants any more. */
static void server_lost(const char *why)
{
    (void)why;
    _exit(SPAWN_UNCONNECTED);
}

/* --- Set-up --- */

static bool has_said; /* its first words; the main thread's, and written before handlers run */

/* A process that the module forks has none of its files.  With the socket open there, the server
 * would not see that this process has ended, and its calls would hang; and an exit() there is not
 * the end of this process. */
static void in_child(void)
{
    close(SPAWN_SOCKET);
    if (!has_said)
        close(SPAWN_HELLO);
    board = NULL;
}

static bool take_files(void)
{
    board = call_board_map(SPAWN_BOARD);
    close(SPAWN_BOARD);
    params = call_params_map(SPAWN_PARAMS);
    close(SPAWN_PARAMS);
    return board && params && fcntl(SPAWN_SOCKET, F_SETFD, FD_CLOEXEC) == 0 &&
           fcntl(SPAWN_HELLO, F_SETFD, FD_CLOEXEC) == 0 &&
           pthread_atfork(NULL, NULL, in_child) == 0;
}

static bool load(struct registry *registry, const struct config *c, char *error, size_t size)
{
    char path[PATH_MAX];

    for (size_t i = 0; builtin_modules[i]; i++)
        if (module_add(registry, *builtin_modules[i], error, size) < 0)
            return false;
    for (uint32_t i = 0; i < registry_count(registry); i++)
        method_spread(registry_at(registry, i), false); /* not offered: for nested calls */
    module_path_find(c->modules.at[0], path);
    if (module_load(registry, path, error, size) < 0)
        return false;
    if (!registry_actor(registry, 0))
        return true;
    snprintf(error, size,
             "it brings actors, which run in the server's own process alone (load it "
             "without `process`)");
    return false;
}

static bool set_limits(const struct born *b, const struct config *c, char *error, size_t size)
{
    struct rlimit data = {b->memory, b->memory};

    if (b->memory > 0 && setrlimit(RLIMIT_DATA, &data) != 0) {
        snprintf(error, size, "its memory cannot be limited (errno %d)", errno);
        return false;
    }
    return sandbox_enter(&c->sandbox_allow, error, size) == 0;
}

static struct topology *build(const struct born *b, const struct config *c,
                              struct registry *registry, struct node_worker **worker, char *error,
                              size_t size)
{
    struct topology *t = topology_build(c, registry, error, size);

    if (!t)
        return NULL;
    const struct node_worker_process process = {SPAWN_SOCKET, board, params, server_lost};
    const struct node_worker_options options = {.activator = t->loops[0].activator,
                                                .poller = t->loops[0].poller,
                                                .registry = registry,
                                                .tasks = t->tasks,
                                                .node = b->name,
                                                .slots = {t->blocking_slots, b->slots},
                                                .process = &process};
    *worker = node_worker_new(&options, error, size);
    return *worker ? t : NULL;
}

/* --- The main thread: a step that does not return --- */

static void on_away(void *arg, const struct activator *a, bool away)
{
    (void)arg;
    (void)a;
    (void)away;
}

static void watch(struct topology *t, struct watchdog *w)
{
    for (;;) {
        struct pollfd fd = {.fd = w->fd, .events = POLLIN};
        ao_time wait = watchdog_wait(w);
        poll(&fd, 1, wait == AO_NEVER ? -1 : (int)(wait / AO_MS(1)) + 1);
        if (watchdog_look(w))
            watchdog_go_on(w, tasks_look(t->tasks));
        if (watchdog_well(w))
            continue;
        atomic_store_explicit(&is_stuck, true, memory_order_relaxed);
        pthread_kill(t->threads.at[0].id, SIGABRT);
        pause(); /* that ends the process */
    }
}

/* "Resource temporarily unavailable" leads nobody to the memory that stacks need. */
static void say_memory(const struct born *b, char *error, size_t size)
{
    size_t len = strlen(error);

    if (b->memory > 0)
        snprintf(error + len, size - len,
                 " (its memory=%" PRIu64
                 "m is for the stacks of its executors.blocking.count threads, too)",
                 b->memory >> 20);
}

static bool run(struct topology *t, const struct born *b, const struct config *c,
                const struct registry *registry, char *error, size_t size)
{
    struct watchdog w = {.fd = -1};

    if (watchdog_open(&w, &t->threads, c->round_limit, on_away, NULL) != 0) {
        snprintf(error, size, "out of memory");
        return false;
    }
    if (topology_start(t, error, size) != 0) {
        say_memory(b, error, size);
        return false;
    }
    if (!hello_say(SPAWN_HELLO, registry))
        server_lost("");
    has_said = true;
    close(SPAWN_HELLO);
    crash_expect_no_exit(true);
    watch(t, &w);
    return true;
}

static bool begin(const struct born *b, const struct config *c, char *error, size_t size)
{
    struct registry *registry = registry_new();
    struct node_worker *worker;

    snprintf(error, size, "out of memory");
    if (!registry || !take_files() || probe_install() < 0 || !load(registry, c, error, size))
        return false;
    struct topology *t = build(b, c, registry, &worker, error, size);
    if (!t || !set_limits(b, c, error, size))
        return false;
    crash_on_end(blame);
    if (crash_install() < 0)
        return false;
    return run(t, b, c, registry, error, size);
}

int module_main(int argc, char **argv)
{
    char *no_environment[] = {NULL}, error[TEXT_SIZE];
    const struct config_input input = {
        .argc = argc, .argv = argv, .envp = no_environment, .errors = stderr};
    enum config_action action;
    struct born born;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "ergond module"); /* else it is "exe" */
    struct config *config = read_born(&born) ? config_load(&input, &action) : NULL;
    if (!config || config->modules.count != 1) {
        hello_refuse(SPAWN_HELLO, "it was started with an unknown command line");
        return EXIT_FAILURE;
    }
    const struct log_sink plain = log_stderr_sink(
        (struct log_form){.json = config->log.format == CONFIG_LOG_JSON}, config->log.level);
    log_set_sink(&plain);
    unsetenv(SPAWN_VARIABLE); /* what a handler starts is no process of a module */
    begin(&born, config, error, sizeof error);
    hello_refuse(SPAWN_HELLO, error);
    return EXIT_FAILURE;
}
