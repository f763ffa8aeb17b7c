#include "sim/system.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/runtime/thread.h"
#include "server/runtime/threads/waker.h"
#include "sim/points.h"
#include "sim/schedule.h"
#include "sim/trace.h"

static uint64_t ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* --- Clocks --- */

static uint64_t ahead_of_all = SIM_EPOCH, slept;
static int64_t ahead[SIM_OWNERS];
static bool leapt;
static uint64_t stands_at; /* 0: they go */

static uint64_t wall_ahead(void)
{
    return ahead_of_all + (uint64_t)(sim_self() ? ahead[sim_self_owner()] : 0);
}

uint64_t sim_wall(void)
{
    if (stands_at > 0 && sim_self() && sim_self_owner() >= SIM_NODE)
        return stands_at;
    return sim_now() + wall_ahead();
}

uint64_t sim_wall_right(void)
{
    return sim_now() + ahead_of_all;
}

void sim_clock_set(enum sim_owner owner, int64_t ns)
{
    ahead[owner] = ns;
}

void sim_clock_stand(bool on)
{
    stands_at = on ? sim_wall_right() : 0;
}

void sim_clock_leap(int64_t ns)
{
    sim_tell("the wall clock leaps by %lld ms", (long long)(ns / 1000000));
    ahead_of_all += (uint64_t)ns;
    leapt = true;
}

void sim_clock_suspend(uint64_t ns)
{
    sim_tell("the machine sleeps for %llu ms", (unsigned long long)(ns / 1000000));
    ahead_of_all += ns;
    slept += ns;
    leapt = true;
}

bool sim_clock_leapt(void)
{
    return leapt;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_getres(clockid_t id, struct timespec *out);
int __wrap_nanosleep(const struct timespec *length, struct timespec *left);

/* The processor time of a thread is the time. */
int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    *out = clock_spec(id == CLOCK_REALTIME ? sim_wall()
                                           : sim_now() + (id == CLOCK_BOOTTIME ? slept : 0));
    return 0;
}

int __wrap_clock_getres(clockid_t id, struct timespec *out)
{
    (void)id;
    *out = clock_spec(1000000);
    return 0;
}

int __wrap_nanosleep(const struct timespec *length, struct timespec *left)
{
    (void)left;
    sim_sleep_for(ns_of(length));
    return 0;
}

/* --- Threads --- */

struct thread {
    void *(*run)(void *arg);
    void *arg;
};

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *arg),
                          void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);
void __wrap_thread_settle(const char *name, int core, int priority);
void __wrap_thread_usage(struct thread_usage *out);
uint64_t __wrap_thread_preemptions(void);

static void run_thread(void *arg)
{
    struct thread t = *(struct thread *)arg;
    free(arg);
    t.run(t.arg);
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *arg),
                          void *arg)
{
    struct thread *t = malloc(sizeof *t);
    (void)attr;
    if (!t)
        return ENOMEM;
    *t = (struct thread){run, arg};
    *out = (pthread_t)(uintptr_t)sim_spawn(sim_self_owner(), "thread", run_thread, t);
    sim_point("spawn");
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    struct sim_fiber *f = (struct sim_fiber *)(uintptr_t)thread;
    (void)result;
    while (!sim_ended(f))
        sim_wait_for(f, SIM_NEVER);
    sim_release(f);
    return 0;
}

void __wrap_thread_settle(const char *name, int core, int priority)
{
    (void)core;
    (void)priority;
    sim_rename(name);
}

void __wrap_thread_usage(struct thread_usage *out)
{
    *out = (struct thread_usage){.clock = sim_now(), .on_processor = sim_now()};
}

uint64_t __wrap_thread_preemptions(void)
{
    return 0;
}

/* --- Semaphores: the first word of sem_t counts --- */

int __wrap_sem_init(sem_t *s, int shared, unsigned value);
int __wrap_sem_destroy(sem_t *s);
int __wrap_sem_post(sem_t *s);
int __wrap_sem_wait(sem_t *s);
int __wrap_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until);

static unsigned *count_of(sem_t *s)
{
    return (unsigned *)s;
}

int __wrap_sem_init(sem_t *s, int shared, unsigned value)
{
    (void)shared;
    *count_of(s) = value;
    return 0;
}

int __wrap_sem_destroy(sem_t *s)
{
    (void)s;
    return 0;
}

int __wrap_sem_post(sem_t *s)
{
    sim_point("post");
    ++*count_of(s);
    sim_wake_all(s);
    return 0;
}

static bool wait_until(sem_t *s, uint64_t until)
{
    while (*count_of(s) == 0 && sim_now() < until)
        sim_wait_for(s, until);
    if (*count_of(s) == 0)
        return false;
    --*count_of(s);
    return true;
}

int __wrap_sem_wait(sem_t *s)
{
    wait_until(s, SIM_NEVER);
    return 0;
}

/* Of the monotonic clock. */
int __wrap_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
    (void)clock;
    if (wait_until(s, ns_of(until)))
        return 0;
    errno = ETIMEDOUT;
    return -1;
}

/* --- Locks: the first word says whether it is held.  One that is all zeros is free, as
 * PTHREAD_MUTEX_INITIALIZER has it. --- */

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);

static unsigned *held_of(pthread_mutex_t *m)
{
    return (unsigned *)m;
}

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
    (void)attr;
    *held_of(m) = 0;
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *m)
{
    (void)m;
    return 0;
}

static void lock(pthread_mutex_t *m)
{
    while (*held_of(m))
        sim_wait_for(m, SIM_NEVER);
    *held_of(m) = 1;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
    sim_point("lock");
    lock(m);
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
    *held_of(m) = 0;
    sim_wake_all(m);
    return 0;
}

/* --- Conditions: the first word is the clock of timed waits, 0 (of the wall) where none was set
 * --- */

int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr);
int __wrap_pthread_cond_destroy(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until);

static unsigned *clock_of(pthread_cond_t *c)
{
    return (unsigned *)c;
}

int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
    clockid_t clock = CLOCK_REALTIME;
    if (attr)
        pthread_condattr_getclock(attr, &clock);
    *clock_of(c) = (unsigned)clock;
    return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *c)
{
    (void)c;
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    sim_wake_all(c);
    return 0;
}

/* All that wait look again: nobody relies on being alone. */
int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    sim_wake_all(c);
    return 0;
}

static int cond_wait(pthread_cond_t *c, pthread_mutex_t *m, uint64_t until)
{
    __wrap_pthread_mutex_unlock(m);
    sim_wait_for(c, until);
    lock(m);
    return sim_now() >= until ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return cond_wait(c, m, SIM_NEVER);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until)
{
    bool is_wall = *clock_of(c) == CLOCK_REALTIME;
    return cond_wait(c, m, ns_of(until) - (is_wall ? wall_ahead() : 0));
}

/* --- Points at which a thread may be preempted beside these --- */

void __real_waker_announce(struct waker *w);
void __wrap_waker_announce(struct waker *w);
bool __real_waker_notify(struct waker *w);
bool __wrap_waker_notify(struct waker *w);

void __wrap_waker_announce(struct waker *w)
{
    sim_point("announce");
    __real_waker_announce(w);
    sim_point("announced");
}

bool __wrap_waker_notify(struct waker *w)
{
    sim_point("notify");
    bool woke = __real_waker_notify(w);
    if (woke)
        sim_point("notified");
    return woke;
}

/* --- The machine --- */

pid_t __wrap_getpid(void);
uint64_t __wrap_memory_usable(const char *root);
uint64_t __wrap_fdlimit_raise(void);
int __wrap_getrlimit(int resource, struct rlimit *out);

enum { FILES = 4096 };

pid_t __wrap_getpid(void)
{
    return 1;
}

uint64_t __wrap_memory_usable(const char *root)
{
    (void)root;
    return UINT64_C(1) << 30;
}

uint64_t __wrap_fdlimit_raise(void)
{
    return FILES;
}

/* server.info tells how many files the process may open. */
int __wrap_getrlimit(int resource, struct rlimit *out)
{
    (void)resource;
    *out = (struct rlimit){.rlim_cur = FILES, .rlim_max = FILES};
    return 0;
}
