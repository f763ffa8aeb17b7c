#include "sim/user/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "server/tasks/handlers/host.h"
#include "sim/chance.h"
#include "sim/schedule.h"
#include "sim/user/effects.h"
#include "sim/user/module.h"
#include "sim/user/report.h"

#pragma GCC visibility push(default)

/* Was this function called by a guest? */
#define BY_GUEST() sim_is_guest(__builtin_return_address(0))
/* The function that ours hides. */
#define HIDDEN(name) ((__typeof__(&(name)))hidden(#name))

static void *hidden(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* --- Time --- */

int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

int clock_gettime(clockid_t id, struct timespec *out)
{
    return BY_GUEST() ? __wrap_clock_gettime(id, out) : (int)syscall(SYS_clock_gettime, id, out);
}

time_t time(time_t *out)
{
    struct timespec now;
    if (BY_GUEST())
        __wrap_clock_gettime(CLOCK_REALTIME, &now);
    else
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (BY_GUEST())
        __wrap_clock_gettime(CLOCK_REALTIME, &now);
    else
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

/* While it is loaded a module waits for nobody. */
static void sleep_for(uint64_t ns)
{
    if (sim_self())
        sim_sleep_for(ns);
}

int nanosleep(const struct timespec *length, struct timespec *left)
{
    if (!BY_GUEST())
        return (int)syscall(SYS_nanosleep, length, left);
    sleep_for((uint64_t)length->tv_sec * 1000000000 + (uint64_t)length->tv_nsec);
    return 0;
}

static uint64_t until(clockid_t id, const struct timespec *when)
{
    struct timespec now;
    __wrap_clock_gettime(id, &now);
    int64_t ns = (when->tv_sec - now.tv_sec) * 1000000000 + (when->tv_nsec - now.tv_nsec);
    return ns > 0 ? (uint64_t)ns : 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *when, struct timespec *left)
{
    if (!BY_GUEST())
        return syscall(SYS_clock_nanosleep, id, flags, when, left) == 0 ? 0 : errno;
    sleep_for(flags & TIMER_ABSTIME
                  ? until(id, when)
                  : (uint64_t)when->tv_sec * 1000000000 + (uint64_t)when->tv_nsec);
    return 0;
}

int usleep(useconds_t us)
{
    if (!BY_GUEST())
        return HIDDEN(usleep)(us);
    sleep_for((uint64_t)us * 1000);
    return 0;
}

unsigned sleep(unsigned seconds)
{
    if (!BY_GUEST())
        return HIDDEN(sleep)(seconds);
    sleep_for((uint64_t)seconds * 1000000000);
    return 0;
}

/* --- Chance --- */

int rand(void)
{
    return BY_GUEST() ? (int)sim_below(SIM_WORK, (uint64_t)RAND_MAX + 1) : HIDDEN(rand)();
}

long random(void)
{
    return BY_GUEST() ? (long)sim_below(SIM_WORK, (uint64_t)RAND_MAX + 1) : HIDDEN(random)();
}

static void draw(void *out, size_t size)
{
    for (size_t n = 0; n < size; n++)
        ((uint8_t *)out)[n] = (uint8_t)sim_chance(SIM_WORK);
}

ssize_t getrandom(void *out, size_t size, unsigned flags)
{
    if (!BY_GUEST())
        return syscall(SYS_getrandom, out, size, flags);
    draw(out, size);
    return (ssize_t)size;
}

int getentropy(void *out, size_t size)
{
    if (!BY_GUEST())
        return HIDDEN(getentropy)(out, size);
    draw(out, size);
    return 0;
}

/* --- Locks, conditions, semaphores --- */

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr);
int __wrap_pthread_cond_destroy(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __wrap_sem_init(sem_t *s, int shared, unsigned value);
int __wrap_sem_destroy(sem_t *s);
int __wrap_sem_post(sem_t *s);
int __wrap_sem_wait(sem_t *s);

int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
    return BY_GUEST() ? __wrap_pthread_mutex_init(m, attr) : HIDDEN(pthread_mutex_init)(m, attr);
}

int pthread_mutex_destroy(pthread_mutex_t *m)
{
    return BY_GUEST() ? __wrap_pthread_mutex_destroy(m) : HIDDEN(pthread_mutex_destroy)(m);
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
    return BY_GUEST() ? __wrap_pthread_mutex_lock(m) : HIDDEN(pthread_mutex_lock)(m);
}

/* The first word says whether it is held; see sim/system.c. */
int pthread_mutex_trylock(pthread_mutex_t *m)
{
    if (!BY_GUEST())
        return HIDDEN(pthread_mutex_trylock)(m);
    return *(unsigned *)m ? EBUSY : __wrap_pthread_mutex_lock(m);
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
    return BY_GUEST() ? __wrap_pthread_mutex_unlock(m) : HIDDEN(pthread_mutex_unlock)(m);
}

int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
    return BY_GUEST() ? __wrap_pthread_cond_init(c, attr) : HIDDEN(pthread_cond_init)(c, attr);
}

int pthread_cond_destroy(pthread_cond_t *c)
{
    return BY_GUEST() ? __wrap_pthread_cond_destroy(c) : HIDDEN(pthread_cond_destroy)(c);
}

/* More may wake than one: whoever waits looks again. */
int pthread_cond_signal(pthread_cond_t *c)
{
    return BY_GUEST() ? __wrap_pthread_cond_broadcast(c) : HIDDEN(pthread_cond_signal)(c);
}

int pthread_cond_broadcast(pthread_cond_t *c)
{
    return BY_GUEST() ? __wrap_pthread_cond_broadcast(c) : HIDDEN(pthread_cond_broadcast)(c);
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return BY_GUEST() ? __wrap_pthread_cond_wait(c, m) : HIDDEN(pthread_cond_wait)(c, m);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)
{
    return BY_GUEST() ? __wrap_pthread_cond_timedwait(c, m, t)
                      : HIDDEN(pthread_cond_timedwait)(c, m, t);
}

int sem_init(sem_t *s, int shared, unsigned value)
{
    return BY_GUEST() ? __wrap_sem_init(s, shared, value) : HIDDEN(sem_init)(s, shared, value);
}

int sem_destroy(sem_t *s)
{
    return BY_GUEST() ? __wrap_sem_destroy(s) : HIDDEN(sem_destroy)(s);
}

int sem_post(sem_t *s)
{
    return BY_GUEST() ? __wrap_sem_post(s) : HIDDEN(sem_post)(s);
}

int sem_wait(sem_t *s)
{
    return BY_GUEST() ? __wrap_sem_wait(s) : HIDDEN(sem_wait)(s);
}

/* --- What there is no simulation of --- */

/* The function of a stand-in, or the end of the run. */
static void *stand_in(const char *name, const char *does)
{
    char text[300];
    void *f = sim_stand_in(name);
    if (f)
        return f;
    snprintf(text, sizeof text,
             "the module %s (%s), which a simulation does not have: give a stand-in for it, or for "
             "what it is needed for (--stand-in, docs/simulation.md)\n",
             does, name);
    sim_report_call(text);
}

int socket(int domain, int type, int protocol)
{
    if (!BY_GUEST())
        return HIDDEN(socket)(domain, type, protocol);
    return ((__typeof__(&socket))stand_in("socket", "opens a socket"))(domain, type, protocol);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
    if (!BY_GUEST())
        return HIDDEN(connect)(fd, to, len);
    return ((__typeof__(&connect))stand_in("connect", "opens a connection"))(fd, to, len);
}

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    if (!BY_GUEST())
        return HIDDEN(getaddrinfo)(node, service, hints, out);
    return ((__typeof__(&getaddrinfo))stand_in("getaddrinfo", "asks for an address"))(node, service,
                                                                                      hints, out);
}

int pthread_create(pthread_t *restrict out, const pthread_attr_t *restrict attr,
                   void *(*run)(void *arg), void *restrict arg)
{
    if (!BY_GUEST())
        return HIDDEN(pthread_create)(out, attr, run, arg);
    return ((__typeof__(&pthread_create))stand_in("pthread_create", "starts a thread"))(out, attr,
                                                                                        run, arg);
}

pid_t fork(void)
{
    if (!BY_GUEST())
        return HIDDEN(fork)();
    return ((__typeof__(&fork))stand_in("fork", "starts a process"))();
}

int posix_spawn(pid_t *restrict out, const char *restrict path,
                const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *restrict attr,
                char *const argv[restrict], char *const envp[restrict])
{
    if (!BY_GUEST())
        return HIDDEN(posix_spawn)(out, path, actions, attr, argv, envp);
    return ((__typeof__(&posix_spawn))stand_in("posix_spawn", "starts a process"))(
        out, path, actions, attr, argv, envp);
}

int system(const char *command)
{
    if (!BY_GUEST())
        return HIDDEN(system)(command);
    return ((__typeof__(&system))stand_in("system", "starts a process"))(command);
}

FILE *popen(const char *command, const char *how)
{
    if (!BY_GUEST())
        return HIDDEN(popen)(command, how);
    return ((__typeof__(&popen))stand_in("popen", "starts a process"))(command, how);
}

/* One that waits for no descriptor sleeps. */
int poll(struct pollfd *fds, nfds_t count, int ms)
{
    if (!BY_GUEST())
        return HIDDEN(poll)(fds, count, ms);
    if (count > 0)
        return ((__typeof__(&poll))stand_in("poll", "waits for a descriptor"))(fds, count, ms);
    sleep_for(ms > 0 ? (uint64_t)ms * 1000000 : 0);
    return 0;
}

int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
           struct timeval *restrict limit)
{
    if (!BY_GUEST())
        return HIDDEN(select)(count, in, out, except, limit);
    if (in || out || except || !limit)
        return ((__typeof__(&select))stand_in("select", "waits for a descriptor"))(count, in, out,
                                                                                   except, limit);
    sleep_for((uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_usec * 1000);
    return 0;
}

/* --- Effects --- */

void ergon_sim_effect_done(struct ergon_task *task, const char *name, uint64_t key)
{
    char id[ERGON_TASK_ID_SIZE] = "";
    const struct ergon_host *host = host_table();
    uint32_t attempt = task ? host->attempt(task) : 0;
    if (task)
        host->task_id(task, id);
    sim_effect_add(id, attempt, name, key);
}

#pragma GCC visibility pop
