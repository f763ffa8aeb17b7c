#include "sim/user/calls.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/running.h"
#include "sim/chance.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/user/effects.h"
#include "sim/user/module.h"
#include "sim/user/report.h"

/* --- Time --- */

int __wrap_clock_gettime(clockid_t id, struct timespec *out);

static uint64_t ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static struct timespec wall(void)
{
    struct timespec now;
    __wrap_clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

static time_t guest_time(time_t *out)
{
    time_t now = wall().tv_sec;
    if (out)
        *out = now;
    return now;
}

static int guest_gettimeofday(struct timeval *out, void *zone)
{
    struct timespec now = wall();
    (void)zone;
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

static int guest_timespec_get(struct timespec *out, int base)
{
    *out = wall();
    return base;
}

static clock_t guest_clock(void)
{
    return (clock_t)(sim_now() / 1000); /* CLOCKS_PER_SEC is a million */
}

/* The constructors of a module do not wait: no fiber runs yet. */
static void sleep_for(uint64_t ns)
{
    if (sim_self())
        sim_sleep_for(ns);
}

static int guest_nanosleep(const struct timespec *length, struct timespec *left)
{
    (void)left;
    sleep_for(ns_of(length));
    return 0;
}

/* In ns from now; 0: the time is over. */
static uint64_t until(clockid_t id, const struct timespec *when)
{
    struct timespec now;
    __wrap_clock_gettime(id, &now);
    uint64_t then = ns_of(when), at = ns_of(&now);
    return then > at ? then - at : 0;
}

static int guest_clock_nanosleep(clockid_t id, int flags, const struct timespec *when,
                                 struct timespec *left)
{
    (void)left;
    sleep_for(flags & TIMER_ABSTIME ? until(id, when) : ns_of(when));
    return 0;
}

static int guest_usleep(useconds_t us)
{
    sleep_for((uint64_t)us * 1000);
    return 0;
}

static unsigned guest_sleep(unsigned seconds)
{
    sleep_for((uint64_t)seconds * 1000000000);
    return 0;
}

/* --- Chance --- */

static int guest_rand(void)
{
    return (int)sim_below(SIM_WORK, (uint64_t)RAND_MAX + 1);
}

static long guest_random(void)
{
    return guest_rand();
}

static ssize_t guest_getrandom(void *out, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t n = 0; n < size; n++)
        ((uint8_t *)out)[n] = (uint8_t)sim_chance(SIM_WORK);
    return (ssize_t)size;
}

static void guest_arc4random_buf(void *out, size_t size)
{
    guest_getrandom(out, size, 0);
}

static uint32_t guest_arc4random(void)
{
    return (uint32_t)sim_chance(SIM_WORK);
}

static uint32_t guest_arc4random_uniform(uint32_t below)
{
    return below > 0 ? (uint32_t)sim_below(SIM_WORK, below) : 0;
}

static int guest_getentropy(void *out, size_t size)
{
    guest_getrandom(out, size, 0);
    return 0;
}

/* --- Locks, conditions, semaphores: those of sim/system.c --- */

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
int __wrap_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until);

static struct timespec in(clockid_t id, uint64_t ns)
{
    struct timespec now;
    __wrap_clock_gettime(id, &now);
    return clock_spec(ns_of(&now) + ns);
}

/* A condition of sim/system.c begins with the clock of its timed waits; the semaphore waits by the
 * monotonic one. */
static clockid_t clock_of(const pthread_cond_t *c)
{
    return *(const clockid_t *)c;
}

static int guest_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id,
                                const struct timespec *when)
{
    struct timespec at = in(clock_of(c), until(id, when));
    return __wrap_pthread_cond_timedwait(c, m, &at);
}

static int guest_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *when)
{
    return guest_cond_clockwait(c, m, clock_of(c), when);
}

static int guest_sem_clockwait(sem_t *s, clockid_t id, const struct timespec *when)
{
    struct timespec at = in(CLOCK_MONOTONIC, until(id, when));
    return __wrap_sem_clockwait(s, CLOCK_MONOTONIC, &at);
}

static int guest_sem_timedwait(sem_t *s, const struct timespec *when)
{
    return guest_sem_clockwait(s, CLOCK_REALTIME, when);
}

/* The first word counts. */
static int guest_sem_trywait(sem_t *s)
{
    if (*(unsigned *)s > 0)
        return __wrap_sem_wait(s);
    errno = EAGAIN;
    return -1;
}

/* --- Calls that have no simulation --- */

_Noreturn static void refuse(const char *name, const char *does)
{
    char text[1000];
    struct running_task r;
    bool is_handler = task_running_here(&r);
    bool registers = !sim_self();
    const char *when = is_handler  ? ""
                       : registers ? " while it registers its handlers"
                                   : " outside of its handlers";
    snprintf(text, sizeof text,
             "the %s %.500s %s (%s)%s, which a simulation does not have: give a stand-in for it, "
             "or for the code that calls it (--stand-in, docs/simulation.md)\n",
             is_handler ? "handler of" : "module", is_handler ? r.method : sim_module_path(), does,
             name, when);
    sim_found(text, registers ? SIM_UNUSABLE : SIM_FOUND);
}

/* A name that ends in _ is that of a family. */
#define REFUSED(X)                                                                                 \
    X(socket, "opens a socket")                                                                    \
    X(connect, "opens a connection")                                                               \
    X(getaddrinfo, "asks for an address")                                                          \
    X(gethostbyname, "asks for an address")                                                        \
    X(pthread_create, "starts a thread")                                                           \
    X(thrd_create, "starts a thread")                                                              \
    X(fork, "starts a process")                                                                    \
    X(vfork, "starts a process")                                                                   \
    X(posix_spawn, "starts a process")                                                             \
    X(posix_spawnp, "starts a process")                                                            \
    X(system, "starts a process")                                                                  \
    X(popen, "starts a process")                                                                   \
    X(exit, "ends the process")                                                                    \
    X(_exit, "ends the process")                                                                   \
    X(quick_exit, "ends the process")                                                              \
    X(pthread_exit, "ends its thread")                                                             \
    X(epoll_, "waits for a descriptor")                                                            \
    X(ppoll, "waits for a descriptor")                                                             \
    X(pselect, "waits for a descriptor")                                                           \
    X(poll, "waits for a descriptor")                                                              \
    X(select, "waits for a descriptor")                                                            \
    X(pthread_mutex_timedlock, "waits for a lock with a limit")                                    \
    X(pthread_mutex_clocklock, "waits for a lock with a limit")                                    \
    X(pthread_rwlock_, "takes a lock of readers and writers")                                      \
    X(pthread_barrier_, "waits at a barrier")                                                      \
    X(mtx_, "takes a lock of C11")                                                                 \
    X(cnd_, "waits for a condition of C11")
#define REFUSE(name, does)                                                                         \
    _Noreturn static void refuse_##name(void)                                                      \
    {                                                                                              \
        refuse(#name, does);                                                                       \
    }
REFUSED(REFUSE)
#undef REFUSE

/* A simulated lock blocks a holder that takes it again.  A recursive lock would let the holder
 * pass, and one that checks for errors would return EDEADLK: the simulation has neither. */
static void check_kind(const pthread_mutex_t *m)
{
    if (m->__data.__kind == PTHREAD_MUTEX_RECURSIVE || m->__data.__kind == PTHREAD_MUTEX_ERRORCHECK)
        refuse("pthread_mutex_lock", "takes a lock that is recursive or checks for errors");
}

static int guest_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
    *m = (pthread_mutex_t){0};
    return attr ? pthread_mutexattr_gettype(attr, &m->__data.__kind) : 0;
}

static int guest_mutex_lock(pthread_mutex_t *m)
{
    check_kind(m);
    return __wrap_pthread_mutex_lock(m);
}

/* The first word says whether the lock is held. */
static int guest_mutex_trylock(pthread_mutex_t *m)
{
    check_kind(m);
    return *(unsigned *)m ? EBUSY : __wrap_pthread_mutex_lock(m);
}

/* A call that waits for no descriptor is a sleep. */
static int guest_poll(struct pollfd *fds, nfds_t count, int ms)
{
    (void)fds;
    if (count > 0)
        refuse_poll();
    sleep_for(ms > 0 ? (uint64_t)ms * 1000000 : 0);
    return 0;
}

static int guest_select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *limit)
{
    (void)count;
    if (in || out || except || !limit)
        refuse_select();
    sleep_for((uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_usec * 1000);
    return 0;
}

int __wrap_sched_yield(void);

/* --- Effects --- */

static void effect_done(struct ergon_task *task, const char *name, uint64_t key)
{
    char id[ERGON_TASK_ID_SIZE] = "";
    const struct ergon_host *host = host_table();
    uint32_t attempt = task ? host->attempt(task) : 0;
    if (task)
        host->task_id(task, id);
    sim_effect_add(id, attempt, name, key);
}

/* --- The table --- */

#define CALL(name, function)                                                                       \
    {                                                                                              \
#name, (void (*)(void))(function)                                                          \
    }
#define REFUSE(name, does) {#name, refuse_##name},
static const struct {
    const char *name;
    void (*function)(void);
} calls[] = {
    CALL(clock_gettime, __wrap_clock_gettime),
    CALL(clock, guest_clock),
    CALL(time, guest_time),
    CALL(gettimeofday, guest_gettimeofday),
    CALL(timespec_get, guest_timespec_get),
    CALL(nanosleep, guest_nanosleep),
    CALL(clock_nanosleep, guest_clock_nanosleep),
    CALL(thrd_sleep, guest_nanosleep),
    CALL(usleep, guest_usleep),
    CALL(sleep, guest_sleep),
    CALL(rand, guest_rand),
    CALL(random, guest_random),
    CALL(getrandom, guest_getrandom),
    CALL(getentropy, guest_getentropy),
    CALL(arc4random, guest_arc4random),
    CALL(arc4random_buf, guest_arc4random_buf),
    CALL(arc4random_uniform, guest_arc4random_uniform),
    CALL(pthread_mutex_init, guest_mutex_init),
    CALL(pthread_mutex_destroy, __wrap_pthread_mutex_destroy),
    CALL(pthread_mutex_lock, guest_mutex_lock),
    CALL(pthread_mutex_trylock, guest_mutex_trylock),
    CALL(pthread_mutex_unlock, __wrap_pthread_mutex_unlock),
    CALL(pthread_cond_init, __wrap_pthread_cond_init),
    CALL(pthread_cond_destroy, __wrap_pthread_cond_destroy),
    CALL(pthread_cond_signal, __wrap_pthread_cond_broadcast), /* a wait may end early anyway */
    CALL(pthread_cond_broadcast, __wrap_pthread_cond_broadcast),
    CALL(pthread_cond_wait, __wrap_pthread_cond_wait),
    CALL(pthread_cond_timedwait, guest_cond_timedwait),
    CALL(pthread_cond_clockwait, guest_cond_clockwait),
    CALL(sem_init, __wrap_sem_init),
    CALL(sem_destroy, __wrap_sem_destroy),
    CALL(sem_post, __wrap_sem_post),
    CALL(sem_wait, __wrap_sem_wait),
    CALL(sem_trywait, guest_sem_trywait),
    CALL(sem_timedwait, guest_sem_timedwait),
    CALL(sem_clockwait, guest_sem_clockwait),
    CALL(poll, guest_poll),
    CALL(select, guest_select),
    CALL(sched_yield, __wrap_sched_yield),
    {"__poll_chk", (sim_call *)guest_poll}, /* with one argument more */
    CALL(ergon_sim_effect_done, effect_done),
    REFUSED(REFUSE)};
#undef CALL
#undef REFUSE

sim_call *sim_call_named(const char *name)
{
    for (size_t n = 0; n < sizeof calls / sizeof *calls; n++) {
        size_t len = strlen(calls[n].name);
        bool is_family = calls[n].name[len - 1] == '_';
        if (strncmp(calls[n].name, name, is_family ? len : len + 1) == 0)
            return calls[n].function;
    }
    return NULL;
}
