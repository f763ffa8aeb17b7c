#include "server/processes/processes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/processes/hello.h"
#include "server/processes/spawn.h"
#include "server/runtime/thread.h"
#include "server/tasks/call_board.h"
#include "server/tasks/call_params.h"

enum { NAME_SIZE = 48, TEXT_SIZE = 300, MODULES_MAX = 64 };
#define LOAD_TIME   AO_S(30)
#define PAUSE_FIRST AO_MS(100) /* after a process that did not come to run; then twice as long */
#define APART       AO_MS(100) /* from the begin of one that ran to that of the next */
#define PAUSE_MOST  AO_S(10)

struct description {
    struct description *next;
    struct ergon_handler handler;
    char texts[];
};

struct module {
    struct module_spec spec;
    char name[NAME_SIZE];             /* of its file */
    struct description *descriptions; /* of its methods */
    uint64_t ended, failed;           /* processes; guarded by the lock */
};

static const struct spawned nothing = {.pidfd = -1, .socket = -1, .hello = -1};

enum process_state { PROCESS_WAITING, PROCESS_STARTING, PROCESS_RUNNING };

struct process {
    struct module *module;
    struct spawned spawned; /* but WAITING; the board's reference is in it */
    struct hello hello;     /* STARTING */
    uint32_t number;        /* of this one, among all that were ever started */
    enum process_state state;
    ao_time until; /* WAITING: when it is started; STARTING: when it is given up */
    ao_time began; /* RUNNING: since when */
    ao_time pause; /* of the next failure */
};

struct processes {
    struct spawn_settings settings;
    struct acceptor *acceptor;
    uint32_t listener;
    int wake; /* eventfd: the thread is to end */
    pthread_t thread;
    bool running;
    /* Holds `number`, `state` and `spawned` of all while others than its thread look for one. */
    pthread_mutex_t lock;
    uint32_t started; /* processes, ever */
    struct module *modules;
    uint32_t module_count, count;
    struct process at[];
};

/* --- Starting --- */

static void set_state(struct processes *p, struct process *one, enum process_state state)
{
    pthread_mutex_lock(&p->lock);
    one->state = state;
    pthread_mutex_unlock(&p->lock);
}

static bool start(struct processes *p, struct process *one, char *error, size_t size)
{
    struct spawned spawned;
    char name[NAME_SIZE + 12];

    snprintf(name, sizeof name, "%s/%u", one->module->name, p->started + 1);
    if (!spawn_module(&p->settings, &one->module->spec, name, &spawned, error, size))
        return false;
    pthread_mutex_lock(&p->lock);
    one->number = ++p->started;
    one->spawned = spawned;
    one->state = PROCESS_STARTING;
    pthread_mutex_unlock(&p->lock);
    one->until = clock_monotonic() + LOAD_TIME;
    return true;
}

static void close_hello(struct process *one)
{
    if (one->spawned.hello >= 0)
        close(one->spawned.hello);
    one->spawned.hello = -1;
    hello_free(&one->hello);
}

/* It is a connection from now on. */
static bool connect_it(struct processes *p, struct process *one)
{
    struct net_origin from = {.is_user = true, .uid = getuid()};
    int fd = one->spawned.socket;

    snprintf(from.certificate, sizeof from.certificate, "%s/%u", one->module->name, one->number);
    one->spawned.socket = -1;
    return net_adopt(p->acceptor, p->listener, fd, &from) == 0;
}

/* --- Its end --- */

static void end_text(const siginfo_t *info, char *text, size_t size)
{
    if (info->si_code == CLD_EXITED)
        snprintf(text, size, "it exited with status %d", info->si_status);
    else
        snprintf(text, size, "signal %d (SIG%s)", info->si_status,
                 sigabbrev_np(info->si_status) ? sigabbrev_np(info->si_status) : "?");
}

/* Waits for the end of one that has ended, or was killed; why is a text.  False: it had lost its
 * connection. */
static bool reap(struct processes *p, struct process *one, char *why, size_t size)
{
    siginfo_t info = {.si_code = 0};

    while (waitid(P_PIDFD, (id_t)one->spawned.pidfd, &info, WEXITED) != 0 && errno == EINTR)
        ;
    end_text(&info, why, size);
    close_hello(one);
    if (one->spawned.socket >= 0)
        close(one->spawned.socket);
    pthread_mutex_lock(&p->lock);
    one->state = PROCESS_WAITING;
    close(one->spawned.pidfd);
    call_board_unref(one->spawned.board);
    call_params_free(one->spawned.params);
    one->spawned = nothing;
    pthread_mutex_unlock(&p->lock);
    return info.si_code != CLD_EXITED || info.si_status != SPAWN_UNCONNECTED;
}

static void kill_it(const struct process *one)
{
    pidfd_send_signal(one->spawned.pidfd, SIGKILL, NULL, 0);
}

static void pause_it(struct process *one)
{
    one->until = clock_monotonic() + one->pause;
    one->pause = 2 * one->pause < PAUSE_MOST ? 2 * one->pause : PAUSE_MOST;
}

static void count(struct processes *p, uint64_t *figure)
{
    pthread_mutex_lock(&p->lock);
    ++*figure;
    pthread_mutex_unlock(&p->lock);
}

static void failed_to_start(struct processes *p, struct process *one, const char *why)
{
    count(p, &one->module->failed);
    pause_it(one);
    log_warn("process of a module does not start", LOG_STR("module", one->module->name),
             LOG_STR("reason", why), LOG_NS("again", one->until - clock_monotonic()));
}

static void ended(struct processes *p, struct process *one)
{
    char why[TEXT_SIZE], text[TEXT_SIZE];
    bool ran = one->state == PROCESS_RUNNING;
    uint32_t number = one->number;
    int pid = one->spawned.pid;

    snprintf(text, sizeof text, "%.*s", CALL_BOARD_WHY_MAX - 1, call_board_why(one->spawned.board));
    if (!reap(p, one, why, sizeof why) && ran) {
        failed_to_start(p, one,
                        "it has no connection: the server ends, or refuses it or what it offers");
        return;
    }
    if (!ran) {
        failed_to_start(p, one, why);
        return;
    }
    count(p, &one->module->ended);
    one->pause = PAUSE_FIRST;
    one->until = one->began + APART; /* no later: its end has cost somebody an attempt */
    log_warn("process of a module ended", LOG_STR("module", one->module->name),
             LOG_UINT("process", number), LOG_INT("pid", pid), LOG_STR("reason", why),
             LOG_STR("handler", *text ? text : NULL));
}

/* --- The thread --- */

static void began(struct processes *p, struct process *one)
{
    const char *why = hello_refusal(&one->hello);

    if (!why && connect_it(p, one)) {
        close_hello(one);
        one->began = clock_monotonic();
        set_state(p, one, PROCESS_RUNNING);
        return;
    }
    log_warn("process of a module refuses to run", LOG_STR("module", one->module->name),
             LOG_STR("reason", why ? why : "out of memory"));
    close_hello(one); /* it has said that once */
    kill_it(one);
}

static void look_at(struct processes *p, struct process *one, const struct pollfd *end,
                    const struct pollfd *hello)
{
    char error[TEXT_SIZE];

    if (one->state == PROCESS_STARTING && hello->revents != 0 &&
        hello_read(&one->hello, one->spawned.hello))
        began(p, one);
    if (one->state != PROCESS_WAITING && end->revents != 0)
        ended(p, one);
    if (one->state == PROCESS_STARTING && clock_monotonic() >= one->until) {
        log_warn("process of a module does not load it in time",
                 LOG_STR("module", one->module->name));
        one->until = AO_NEVER;
        kill_it(one);
    }
    if (one->state == PROCESS_WAITING && clock_monotonic() >= one->until &&
        !start(p, one, error, sizeof error))
        failed_to_start(p, one, error);
}

static int poll_time(const struct processes *p)
{
    ao_time now = clock_monotonic(), next = AO_NEVER;

    for (uint32_t i = 0; i < p->count; i++)
        if (p->at[i].state != PROCESS_RUNNING && p->at[i].until < next)
            next = p->at[i].until;
    if (next == AO_NEVER)
        return -1;
    return next <= now ? 0 : (int)((next - now) / AO_MS(1)) + 1;
}

static void *run(void *arg)
{
    struct processes *p = arg;
    struct pollfd fds[1 + 2 * MODULES_MAX * MODULE_PROCESSES_MAX];

    thread_settle("processes", -1, 0);
    for (uint32_t i = 0; i < p->count; i++) /* those that were started before */
        if (p->at[i].state == PROCESS_STARTING && p->at[i].hello.whole)
            began(p, &p->at[i]);
    for (;;) {
        fds[0] = (struct pollfd){.fd = p->wake, .events = POLLIN};
        for (uint32_t i = 0; i < p->count; i++) {
            const struct spawned *s = &p->at[i].spawned;
            fds[1 + 2 * i] = (struct pollfd){.fd = s->pidfd, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = s->hello, .events = POLLIN};
        }
        if (poll(fds, 1 + 2 * p->count, poll_time(p)) < 0)
            continue;
        if (fds[0].revents != 0)
            return NULL;
        for (uint32_t i = 0; i < p->count; i++)
            look_at(p, &p->at[i], &fds[1 + 2 * i], &fds[2 + 2 * i]);
    }
}

/* --- The port --- */

/* With the lock.  NULL: that one has ended. */
static struct process *find(struct processes *p, uint32_t number)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->at[i].state != PROCESS_WAITING && p->at[i].number == number)
            return &p->at[i];
    return NULL;
}

static bool hold(void *arg, uint32_t number, struct rpc_process *out)
{
    struct processes *p = arg;

    pthread_mutex_lock(&p->lock);
    struct process *one = find(p, number);
    if (one) {
        struct spawned *s = &one->spawned;
        call_board_ref(s->board);
        *out =
            (struct rpc_process){s->board, s->params, one->module->name, one->module->spec.stuck};
        s->params = NULL;
    }
    pthread_mutex_unlock(&p->lock);
    return one != NULL;
}

static void end_it(void *arg, uint32_t number)
{
    struct processes *p = arg;

    pthread_mutex_lock(&p->lock);
    const struct process *one = find(p, number);
    if (one)
        kill_it(one);
    pthread_mutex_unlock(&p->lock);
}

static bool figures(void *arg, uint32_t place, struct rpc_module_figures *out)
{
    struct processes *p = arg;

    if (place >= p->module_count)
        return false;
    const struct module *m = &p->modules[place];
    pthread_mutex_lock(&p->lock);
    *out = (struct rpc_module_figures){.module = m->name, .ended = m->ended, .failed = m->failed};
    for (uint32_t i = 0; i < p->count; i++)
        out->running += p->at[i].module == m && p->at[i].state == PROCESS_RUNNING;
    pthread_mutex_unlock(&p->lock);
    return true;
}

struct rpc_processes processes_port(struct processes *p)
{
    return (struct rpc_processes){.arg = p, .hold = hold, .end = end_it, .figures = figures};
}

/* --- Set-up --- */

bool processes_configured(const struct config *c)
{
    for (size_t i = 0; i < c->modules.count; i++)
        if (strpbrk(c->modules.at[i], ",;"))
            return true;
    return false;
}

static void name_module(struct module *m)
{
    const char *slash = strrchr(m->spec.path, '/'), *file = slash ? slash + 1 : m->spec.path;
    const char *dot = strrchr(file, '.');

    snprintf(m->name, sizeof m->name, "%.*s", (int)(dot ? dot - file : (ptrdiff_t)strlen(file)),
             file);
}

static bool is_named(const struct module *modules, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(modules[i].name, name) == 0)
            return true;
    return false;
}

/* Reads the modules; how many processes they want. */
static bool read_modules(const struct config *c, struct module *modules, uint32_t *count,
                         uint32_t *all, char *error, size_t size)
{
    for (size_t i = 0; i < c->modules.count; i++) {
        struct module *m = &modules[*count];
        if (!module_spec_read(c->modules.at[i], &m->spec, error, size))
            return false;
        if (!m->spec.is_process)
            continue;
        if (*count == MODULES_MAX) {
            snprintf(error, size, "at most %d modules run in processes", MODULES_MAX);
            return false;
        }
        name_module(m);
        if (is_named(modules, *count, m->name)) {
            snprintf(error, size, "two modules that run in processes are called %s: rename a file",
                     m->name);
            return false;
        }
        *all += m->spec.processes;
        ++*count;
    }
    return true;
}

/* Of one that has said nothing: how it ended; empty: it has not. */
static void look_at_end(const struct process *one, char *text, size_t size)
{
    enum { SOON = 1000 /* ms */ };
    struct pollfd end = {.fd = one->spawned.pidfd, .events = POLLIN};
    siginfo_t info = {.si_code = 0};

    text[0] = '\0';
    if (one->hello.len == 0 && poll(&end, 1, SOON) > 0 &&
        waitid(P_PIDFD, (id_t)one->spawned.pidfd, &info, WEXITED | WNOWAIT) == 0)
        end_text(&info, text, size);
}

/* Blocks until the process has said what it brings. */
static bool await_hello(struct process *one, char *error, size_t size)
{
    struct pollfd fd = {.fd = one->spawned.hello, .events = POLLIN};
    const char *why = "it does not load the module within 30 s";
    char end[TEXT_SIZE];

    while (!one->hello.whole && clock_monotonic() < one->until) {
        int left = (int)((one->until - clock_monotonic()) / AO_MS(1)) + 1;
        if (poll(&fd, 1, left) > 0)
            hello_read(&one->hello, one->spawned.hello);
    }
    if (one->hello.whole)
        why = hello_refusal(&one->hello);
    if (!why)
        return true;
    look_at_end(one, end, sizeof end);
    snprintf(error, size, "a process of the module %s: %s%s%s", one->module->spec.path, why,
             *end ? ": " : "", end);
    return false;
}

/* server.describe shows the summary and the parameters of a method by this handler, which no
 * executor runs.  Returns false without memory. */
static bool describe(struct module *module, struct method *m, const struct hello_method *said)
{
    size_t summary = strlen(said->summary) + 1, params = strlen(said->params) + 1;
    struct description *d = malloc(sizeof *d + summary + params);

    if (!d)
        return false;
    d->handler = *m->handler;
    d->handler.summary = memcpy(d->texts, said->summary, summary);
    d->handler.params = memcpy(d->texts + summary, said->params, params);
    d->next = module->descriptions;
    module->descriptions = d;
    m->handler = &d->handler;
    return true;
}

static bool take_method(struct registry *registry, struct module *of,
                        const struct hello_method *said, char *error, size_t size)
{
    struct method *m;
    const char *module = of->name;
    struct span name = span_text(said->name);
    bool is_there = registry_find(registry, name) != NULL;
    enum ergon_error wrong = is_there ? ERGON_OK : registry_intern(registry, name, &m);

    if (!is_there && wrong == ERGON_OK && !describe(of, m, said))
        wrong = ERGON_E_MEMORY;
    if (!is_there && wrong == ERGON_OK) {
        m->of_processes = true;
        m->module = module;
        atomic_store_explicit(&m->refuses, ERGON_OK, memory_order_relaxed);
        return true;
    }
    snprintf(error, size, "module %s: the method \"%.*s\" %s", module, (int)name.len,
             (const char *)name.at,
             is_there                      ? "is registered already, by another or the server"
             : wrong == ERGON_E_BAD_PARAMS ? "has no name that a method may have"
                                           : "cannot be registered: out of memory");
    return false;
}

/* The first process of a module is asked what that brings. */
static bool begin_module(struct processes *p, struct process *one, struct registry *registry,
                         char *error, size_t size)
{
    size_t at = 0;

    if (!start(p, one, error, size) || !await_hello(one, error, size))
        return false;
    for (struct hello_method said; hello_next(&one->hello, &at, &said);)
        if (!take_method(registry, one->module, &said, error, size))
            return false;
    return true;
}

static void lay_out(struct processes *p)
{
    for (uint32_t m = 0; m < p->module_count; m++)
        for (uint32_t i = 0; i < p->modules[m].spec.processes; i++)
            p->at[p->count++] = (struct process){
                .module = &p->modules[m], .spawned = nothing, .pause = PAUSE_FIRST};
}

struct processes *processes_new(const struct config *c, struct registry *registry, char *error,
                                size_t size)
{
    uint32_t modules = 0, all = 0;
    struct module *list = calloc(MODULES_MAX + 1, sizeof *list);
    struct processes *p = NULL;

    snprintf(error, size, "out of memory");
    if (list && read_modules(c, list, &modules, &all, error, size))
        p = calloc(1, sizeof *p + all * sizeof p->at[0]);
    if (!p) {
        free(list);
        return NULL;
    }
    *p = (struct processes){
        .settings = spawn_settings_of(c), .modules = list, .module_count = modules, .wake = -1};
    pthread_mutex_init(&p->lock, NULL);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    lay_out(p);
    bool good = p->wake >= 0;
    for (uint32_t i = 0; good && i < p->count; i++)
        if (i == 0 || p->at[i].module != p->at[i - 1].module)
            good = begin_module(p, &p->at[i], registry, error, size);
    if (good)
        return p;
    processes_free(p);
    return NULL;
}

int processes_listen(struct processes *p, struct acceptor *acceptor, char *error, size_t size)
{
    static const struct url here = {.scheme = URL_UNIX, .path = "/processes"};
    const struct listener_options options = {
        .auth = LISTENER_AUTH_MODULE, .idle_timeout = AO_NEVER, .without_roles = true};
    int index = acceptor_listen_inside(acceptor, &here, &options, error, size);

    p->acceptor = acceptor;
    p->listener = (uint32_t)index;
    return index < 0 ? -1 : 0;
}

int processes_start(struct processes *p)
{
    int error = thread_start_undisturbed(&p->thread, run, p);

    p->running = error == 0;
    return error;
}

void processes_stop(struct processes *p)
{
    char why[TEXT_SIZE];

    if (!p)
        return;
    if (p->running) {
        eventfd_write(p->wake, 1);
        pthread_join(p->thread, NULL);
    }
    p->running = false;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->at[i].state != PROCESS_WAITING) {
            kill_it(&p->at[i]);
            reap(p, &p->at[i], why, sizeof why);
        }
}

static void forget_descriptions(struct module *m)
{
    struct description *d;

    while ((d = m->descriptions)) {
        m->descriptions = d->next;
        free(d);
    }
}

void processes_free(struct processes *p)
{
    if (!p)
        return;
    processes_stop(p);
    if (p->wake >= 0)
        close(p->wake);
    for (uint32_t i = 0; i < p->module_count; i++)
        forget_descriptions(&p->modules[i]);
    pthread_mutex_destroy(&p->lock);
    free(p->modules);
    free(p);
}
