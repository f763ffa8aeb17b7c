#include "client/cli/guardian.h"

#include "base/clock.h"
#include "base/grow.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What goes over the pair of sockets, a packet each. */
enum verb {
    ORDER_SIGNAL, /* to the guardian: `number` to the group */
    ORDER_STOP,
    ORDER_KILL,
    ORDER_UNTIL,  /* `at_ns` */
    WORD_COMMAND, /* from the guardian: `number` is its process */
    WORD_STATUS   /* `number` is what it ended with */
};

struct packet {
    enum verb verb;
    int number;
    uint64_t at_ns; /* CLOCK_BOOTTIME */
};

static bool tell(int socket, struct packet p)
{
    return send(socket, &p, sizeof p, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof p;
}

/* The error of an end that left packets of ours unread comes before what it said itself. */
static bool hear(int socket, struct packet *p)
{
    ssize_t len = recv(socket, p, sizeof *p, MSG_DONTWAIT);
    if (len < 0 && errno == ECONNRESET)
        len = recv(socket, p, sizeof *p, MSG_DONTWAIT);
    return len == (ssize_t)sizeof *p;
}

/* ---- the guardian's own process ---- */

enum stage {
    STAGE_RUNS, /* the command runs */
    STAGE_ENDS, /* it has ended, or is to end: all that is left has been sent SIGTERM */
    STAGE_KILLS /* and SIGKILL */
};

struct guardian {
    int ergon;    /* packets both ways; its end is the end of `ergon` */
    int signals;  /* signalfd: SIGCHLD */
    int timer;    /* timerfd: the earlier of the two times below */
    int terminal; /* -1: the command has none of ours */
    pid_t group;  /* of `ergon`: who gets the terminal back */
    pid_t command;
    bool reaped; /* the command: its number may be another's */
    bool stays;  /* stopped, until `ergon` has it go on */
    enum stage stage;
    pid_t *told; /* children that were sent SIGTERM, and are not reaped */
    uint32_t told_count, told_room;
    int status;
    uint32_t patience_ms;
    uint64_t until_ns, kill_ns; /* CLOCK_BOOTTIME; UINT64_MAX: never */
};

static void set_timer(const struct guardian *g)
{
    uint64_t at = g->until_ns < g->kill_ns ? g->until_ns : g->kill_ns;
    struct itimerspec spec = {0};
    if (at != UINT64_MAX)
        spec.it_value = clock_spec(at > 0 ? at : 1);
    timerfd_settime(g->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* The parent of a process, from "1234 (any) name) S 1 ..."; 0: it has gone. */
static pid_t parent_of(pid_t process)
{
    char path[40], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (len <= 0)
        return 0;
    line[len] = 0;
    const char *behind = strrchr(line, ')');
    return behind != NULL && strlen(behind) > 4 ? (pid_t)strtol(behind + 4, NULL, 10) : 0;
}

static uint32_t find_told(const struct guardian *g, pid_t process)
{
    uint32_t i = 0;
    while (i < g->told_count && g->told[i] != process)
        i++;
    return i;
}

/* True: it was not told before.  Without memory it is told again. */
static bool note_told(struct guardian *g, pid_t process)
{
    if (find_told(g, process) < g->told_count)
        return false;
    pid_t *told = grow_array(g->told, &g->told_room, g->told_count, sizeof *told);
    if (told != NULL) {
        g->told = told;
        g->told[g->told_count++] = process;
    }
    return true;
}

static void forget_told(struct guardian *g, pid_t process)
{
    uint32_t i = find_told(g, process);
    if (i < g->told_count)
        g->told[i] = g->told[--g->told_count];
}

/* To each child of ours; SIGTERM once to each.  Nobody but we can reap one, so its number is its
 * own. */
static void signal_children(struct guardian *g, int number)
{
    DIR *all = opendir("/proc");
    struct dirent *entry;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        pid_t process =
            isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (process > 0 && parent_of(process) == getpid() &&
            (number != SIGTERM || note_told(g, process)))
            kill(process, number);
    }
    if (all != NULL)
        closedir(all);
}

static void signal_group(const struct guardian *g, int number)
{
    if (!g->reaped)
        kill(-g->command, number);
}

/* A process that we do not reach as our child becomes one when its parents have been killed, and
 * that is looked for anew with each child that ends. */
static void kill_all(struct guardian *g)
{
    g->stage = STAGE_KILLS;
    g->kill_ns = g->until_ns = UINT64_MAX;
    set_timer(g);
    signal_group(g, SIGKILL);
    signal_children(g, SIGKILL);
}

static void end_all(struct guardian *g)
{
    if (g->stage != STAGE_RUNS)
        return;
    g->stage = STAGE_ENDS;
    g->kill_ns = clock_read(CLOCK_BOOTTIME) + (uint64_t)g->patience_ms * 1000000;
    set_timer(g);
    signal_group(g, SIGTERM);
    signal_group(g, SIGCONT);
    signal_children(g, SIGTERM);
}

/* One child that has ended, or stopped.  The command is looked at before it is reaped: its number
 * is that of the group. */
static void look_at(struct guardian *g, const siginfo_t *child)
{
    bool is_command = child->si_pid == g->command;
    int status = 0;
    if (child->si_code == CLD_STOPPED) {
        waitpid(child->si_pid, &status, WUNTRACED | WNOHANG);
        /* Nobody could bring it back: our shell does not know it.  And one that is to end would
         * not get to its end. */
        if (is_command && (!g->stays || g->stage != STAGE_RUNS))
            signal_group(g, SIGCONT);
        return;
    }
    if (is_command)
        end_all(g);
    forget_told(g, child->si_pid);
    waitpid(child->si_pid, &status, WNOHANG);
    if (is_command) {
        g->status = status;
        g->reaped = true;
    }
}

/* False: no child is left. */
static bool reap(struct guardian *g)
{
    for (;;) {
        int stopped = g->terminal >= 0 || g->stage != STAGE_RUNS ? WSTOPPED : 0;
        siginfo_t child = {0};
        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | stopped) != 0)
            return errno != ECHILD;
        if (child.si_pid == 0)
            return true;
        look_at(g, &child);
    }
}

static void obey(struct guardian *g)
{
    struct packet p;
    ssize_t len = recv(g->ergon, &p, sizeof p, MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len != (ssize_t)sizeof p) { /* `ergon` has gone */
        kill_all(g);
        return;
    }
    if (p.verb == ORDER_SIGNAL) {
        g->stays = p.number == SIGTSTP || (g->stays && p.number != SIGCONT);
        signal_group(g, p.number);
    } else if (p.verb == ORDER_STOP)
        end_all(g);
    else if (p.verb == ORDER_KILL)
        kill_all(g);
    else if (p.verb == ORDER_UNTIL && g->stage != STAGE_KILLS) {
        g->until_ns = p.at_ns;
        set_timer(g);
    }
}

static void guard_all(struct guardian *g)
{
    struct pollfd on[] = {{g->signals, POLLIN, 0}, {g->timer, POLLIN, 0}, {g->ergon, POLLIN, 0}};
    while (reap(g)) {
        /* Among them may be one by now whose parent has ended. */
        if (g->stage != STAGE_RUNS)
            signal_children(g, g->stage == STAGE_KILLS ? SIGKILL : SIGTERM);
        /* Once all is being killed `ergon` has nothing more to say. */
        poll(on, g->stage == STAGE_KILLS ? 2 : 3, -1);
        if (on[0].revents != 0) {
            struct signalfd_siginfo info;
            (void)!read(g->signals, &info, sizeof info);
        }
        if (on[1].revents != 0) {
            uint64_t times;
            if (read(g->timer, &times, sizeof times) == (ssize_t)sizeof times)
                kill_all(g);
        }
        if (g->stage != STAGE_KILLS && on[2].revents != 0)
            obey(g);
    }
}

/* ---- its birth ---- */

static void put_at(int fd, int place)
{
    if (fd >= 0)
        dup2(fd, place);
}

/* The command's process, until it is the command. */
static _Noreturn void become_command(const struct guard_plan *plan, const struct guardian *g,
                                     pid_t guardian)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guardian)
        _exit(126);
    if (g->terminal >= 0)
        tcsetpgrp(g->terminal, getpid());
    put_at(plan->in, STDIN_FILENO);
    put_at(plan->out, STDOUT_FILENO);
    put_at(plan->err, STDERR_FILENO);
    for (size_t i = 0; i < plan->variable_count; i++)
        if (plan->variables[i].value == NULL)
            unsetenv(plan->variables[i].name);
        else if (setenv(plan->variables[i].name, plan->variables[i].value, 1) != 0)
            _exit(126);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(plan->argv[0], plan->argv);
    int error = errno;
    char why[96];
    dprintf(STDERR_FILENO, "ergon: %s: %s\n", plan->argv[0], strerror_r(error, why, sizeof why));
    _exit(error == ENOENT ? 127 : 126);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes all but what the guardian needs.  What `ergon` has of other guardians would keep those
 * from seeing its end, and pipes from ending. */
static void close_others(const struct guardian *g, int keep)
{
    int kept[] = {g->ergon, g->signals, g->timer, g->terminal, keep};
    int from = 0;
    qsort(kept, sizeof kept / sizeof *kept, sizeof *kept, by_number);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (kept[i] > from)
            close_range((unsigned)from, (unsigned)kept[i] - 1, 0);
        if (kept[i] >= from)
            from = kept[i] + 1;
    }
    close_range((unsigned)from, ~0u, 0);
}

/* The terminal of `ergon`, if `ergon` stands in its foreground; else -1. */
static int open_terminal(pid_t group)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 && tcgetpgrp(fd) != group) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool prepare(struct guardian *g, const struct guard_plan *plan)
{
    sigset_t child;
    g->group = getpgrp();
    g->terminal = plan->terminal ? open_terminal(g->group) : -1;
    setpgid(0, 0);
    prctl(PR_SET_NAME, "ergon-guardian");
    signal(SIGCHLD, SIG_DFL); /* ignored, children would leave no status */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    g->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    g->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return g->signals >= 0 && g->timer >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* The process between fork and exit; all signals are blocked, and stay so. */
static _Noreturn void guardian(const struct guard_plan *plan, int ergon)
{
    struct guardian g = {.ergon = ergon,
                         .patience_ms = plan->patience_ms,
                         .until_ns = UINT64_MAX,
                         .kill_ns = UINT64_MAX};
    pid_t self = getpid();
    if (!prepare(&g, plan))
        _exit(1);
    g.command = fork();
    if (g.command < 0)
        _exit(1);
    if (g.command == 0)
        become_command(plan, &g, self);
    setpgid(g.command, g.command); /* whoever of the two comes first */
    close_others(&g, plan->keep);
    tell(ergon, (struct packet){.verb = WORD_COMMAND, .number = (int)g.command});
    guard_all(&g);
    if (g.terminal >= 0)
        tcsetpgrp(g.terminal, g.group);
    tell(ergon, (struct packet){.verb = WORD_STATUS, .number = g.status});
    _exit(0);
}

/* ---- the side of `ergon` ---- */

struct guard {
    struct event *gone; /* the guardian has ended */
    int guardian;       /* pidfd */
    pid_t process;      /* the same */
    int socket;
    guard_ended_fn *fn;
    void *arg;
};

static void guard_free(struct guard *g)
{
    if (g->gone != NULL)
        event_free(g->gone);
    if (g->guardian >= 0)
        close(g->guardian);
    if (g->socket >= 0)
        close(g->socket);
    free(g);
}

/* One that was killed leaves no status: then the group, too. */
static void on_gone(evutil_socket_t fd, short what, void *arg)
{
    struct guard *g = arg;
    struct packet p;
    int command = 0, status = 0;
    bool told = false;
    (void)fd;
    (void)what;
    while (hear(g->socket, &p)) {
        if (p.verb == WORD_COMMAND)
            command = p.number;
        told = told || p.verb == WORD_STATUS;
        status = p.number;
    }
    waitpid(g->process, NULL, 0); /* it has ended: this does not wait */
    if (!told) {
        if (command > 0)
            kill(-command, SIGKILL);
        status = command > 0 ? SIGKILL : 126 << 8; /* else it found no room for the command */
    }
    guard_ended_fn *fn = g->fn;
    void *to = g->arg;
    guard_free(g);
    fn(to, status);
}

/* Blocks all signals over the fork, so that no handler of ours runs in the child. */
static pid_t fork_guardian(const struct guard_plan *plan, const int pair[2])
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t process = fork();
    if (process == 0) {
        close(pair[0]);
        guardian(plan, pair[1]);
    }
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return process;
}

struct guard *guard_start(struct event_base *base, const struct guard_plan *plan,
                          guard_ended_fn *fn, void *arg)
{
    int pair[2];
    struct guard *g = calloc(1, sizeof *g);
    if (g == NULL)
        return NULL;
    *g = (struct guard){.guardian = -1, .socket = -1, .fn = fn, .arg = arg};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        goto failed;
    g->socket = pair[0];
    g->process = fork_guardian(plan, pair);
    close(pair[1]);
    if (g->process < 0)
        goto failed;
    g->guardian = (int)syscall(SYS_pidfd_open, g->process, 0);
    if (g->guardian >= 0)
        g->gone = event_new(base, g->guardian, EV_READ, on_gone, g);
    if (g->gone != NULL && event_add(g->gone, NULL) == 0)
        return g;
    int error = errno;
    close(g->socket); /* which ends it */
    g->socket = -1;
    waitpid(g->process, NULL, 0);
    errno = error;
failed:
    guard_free(g);
    return NULL;
}

bool guard_minds(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) != 0 || now.sa_handler != SIG_IGN;
}

void guard_signal(struct guard *g, int number)
{
    tell(g->socket, (struct packet){.verb = ORDER_SIGNAL, .number = number});
}

void guard_stop(struct guard *g)
{
    tell(g->socket, (struct packet){.verb = ORDER_STOP});
}

void guard_kill(struct guard *g)
{
    tell(g->socket, (struct packet){.verb = ORDER_KILL});
}

bool guard_until(struct guard *g, uint64_t boottime_ns)
{
    return tell(g->socket, (struct packet){.verb = ORDER_UNTIL, .at_ns = boottime_ns});
}
