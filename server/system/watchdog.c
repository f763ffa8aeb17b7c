#include "server/system/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/system/backtrace.h"
#include "server/tasks/running.h"

static const ao_time period = AO_S(1);        /* between two checks */
static const ao_time repeat_after = AO_S(10); /* a step that has not returned is logged again */

/* What the checks found of one thread. */
struct watched {
    uint64_t rounds;     /* at the last check */
    bool awake;          /* it did not block at the last check */
    ao_time away;        /* ns without a round, as the checks found; 0: it makes progress */
    struct stuck named;  /* the step that was logged last; activator NULL: none, or it is over */
    ao_time named_again; /* when the step is to be logged again */
};

/* ---- where is a thread? ----
 *
 * The main thread sends the thread a signal.  The handler writes the answer into static memory and
 * posts a semaphore.  It neither locks nor allocates, so it does not matter what the thread was
 * doing; the main thread turns the answer into names later.
 *
 * The signal restarts a system call in which the thread waits, or ends it with EINTR where the
 * kernel does not restart it (sleeps, polls).  So it is only for threads that should not be
 * waiting.
 */

#define PATIENCE UINT64_C(100000000) /* ns */
#define SECOND   UINT64_C(1000000000)

struct probe {
    struct backtrace backtrace;
    bool in_task;
    struct running_task task; /* valid with in_task */
};

static struct probe answer;
static sem_t answered;
/* The question that is open: a number, or 0.  Handler or main thread, the one whose exchange takes
 * it back owns the answer's memory.  Acquire and release: the owner before has finished writing. */
static _Atomic uint32_t open_question;
/* The question that was answered last.  Release in the handler, acquire in wait_for_answer(): the
 * answer is complete.  (The semaphore orders this too, but not every race checker knows that.) */
static _Atomic uint32_t answered_question;

static int probe_signal(void)
{
    return SIGRTMIN + 5;
}

static bool take_back(uint32_t question)
{
    return atomic_compare_exchange_strong_explicit(&open_question, &question, 0,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* A signal that arrives too late finds another question open, or none, and is ignored. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uint32_t question = (uint32_t)info->si_value.sival_int;

    (void)number;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid() && question != 0 &&
        take_back(question)) {
        answer.in_task = task_running_here(&answer.task);
        backtrace_take(&answer.backtrace, context);
        atomic_store_explicit(&answered_question, question, memory_order_release);
        sem_post(&answered);
    }
    errno = saved;
}

int probe_install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

    sigfillset(&action.sa_mask);
    backtrace_prepare();
    sem_init(&answered, 0, 0); /* cannot fail: the value is small */
    return sigaction(probe_signal(), &action, NULL);
}

static bool wait_for_answer(uint32_t question)
{
    uint64_t at = clock_monotonic() + PATIENCE;
    struct timespec until = {.tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND)};
    int waited;

    do
        waited = sem_clockwait(&answered, CLOCK_MONOTONIC, &until);
    while (waited != 0 && errno == EINTR);
    return waited == 0 &&
           atomic_load_explicit(&answered_question, memory_order_acquire) == question;
}

/* False: the thread does not answer within a tenth of a second, because it blocks signals or hangs
 * in the kernel. */
static bool probe_thread(pthread_t thread, struct probe *out)
{
    static uint32_t last;
    static bool abandoned; /* a handler started and did not end: it owns the memory for ever */
    uint32_t question = last = last % INT32_MAX + 1;
    union sigval value = {.sival_int = (int)question};

    if (abandoned)
        return false;
    atomic_store_explicit(&open_question, question, memory_order_release);
    if (pthread_sigqueue(thread, probe_signal(), value) != 0) {
        take_back(question);
        return false;
    }
    if (!wait_for_answer(question)) {
        if (take_back(question))
            return false;
        abandoned = !wait_for_answer(question);
    }
    if (!abandoned)
        *out = answer;
    return !abandoned;
}

/* ---- opening, closing, and when a check is due ---- */

static void wake(void *arg)
{
    const struct watchdog *w = arg;

    eventfd_write(w->fd, 1);
}

int watchdog_open(struct watchdog *w, struct threads *threads, ao_time round_limit,
                  watchdog_notify_fn *notify, void *arg)
{
    *w = (struct watchdog){.threads = threads,
                           .notify = notify,
                           .arg = arg,
                           .round_limit = round_limit,
                           .looked = clock_monotonic(),
                           .at = calloc(threads->count, sizeof *w->at),
                           .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (!w->at || w->fd < 0)
        return -1;
    waker_init(&w->waker, wake, w);
    threads_watch(threads, &w->waker);
    return 0;
}

void watchdog_close(struct watchdog *w)
{
    if (w->fd >= 0)
        close(w->fd);
    free(w->at);
    w->fd = -1;
    w->at = NULL;
}

ao_time watchdog_wait(struct watchdog *w)
{
    ao_time now = clock_monotonic();

    if (w->rested && !w->restless) {
        waker_announce(&w->waker);
        if (threads_asleep(w->threads))
            return AO_NEVER;
        waker_retract(&w->waker);
    }
    return w->next > now ? w->next - now : 0;
}

/* An activator that woke up is checked a period later. */
static bool is_due(struct watchdog *w, ao_time now)
{
    eventfd_t count;

    waker_retract(&w->waker);
    if (eventfd_read(w->fd, &count) == 0) {
        w->rested = false;
        w->next = now + period;
    }
    return now >= w->next;
}

/* ---- which activators are away ---- */

/* At most two periods count between two checks: if the whole process or its machine was stopped
 * meanwhile, no activator was away. */
static ao_time time_passed(const struct watchdog *w, ao_time now)
{
    ao_time passed = now - w->looked;

    return passed < 2 * period ? passed : 2 * period;
}

/* An activator is away if two checks find it awake and in the same round. */
static void look_at(const struct watchdog *w, uint32_t i, ao_time passed)
{
    const struct activator *a = w->threads->at[i].activator;
    struct watched *seen = &w->at[i];
    struct activator_stats stats;
    bool was_away = seen->away > 0, awake = !activator_blocked(a);

    activator_stats(a, &stats);
    if (awake && seen->awake && stats.rounds == seen->rounds)
        seen->away += passed;
    else
        seen->away = 0;
    seen->awake = awake;
    seen->rounds = stats.rounds;
    if (was_away != (seen->away > 0))
        w->notify(w->arg, a, seen->away > 0);
}

/* ---- steps that have not returned ---- */

static void name(struct watched *seen, const struct stuck *s, pthread_t thread, ao_time now)
{
    enum { TEXT_MAX = 2000 };
    struct probe probe = {0};
    char text[TEXT_MAX];
    bool answers = probe_thread(thread, &probe);

    backtrace_text(&probe.backtrace, text, sizeof text);
    log_warn("step has not returned", LOG_STR("activator", s->activator),
             LOG_STR("object", s->object), LOG_STR("method", s->method),
             LOG_STR("module", probe.in_task ? probe.task.module : NULL),
             LOG_STR("task", probe.in_task ? probe.task.name : NULL),
             LOG_NS("running", now - s->since), LOG_STR("backtrace", answers ? text : NULL));
    seen->named = *s;
    seen->named_again = now + repeat_after;
}

static void name_end(struct watched *seen, ao_time now)
{
    const struct stuck *s = &seen->named;

    log_info("step has returned", LOG_STR("activator", s->activator), LOG_STR("object", s->object),
             LOG_STR("method", s->method), LOG_NS("within", now - s->since));
    seen->named = (struct stuck){0};
}

static void name_stuck(const struct watchdog *w, uint32_t i, ao_time now)
{
    struct watched *seen = &w->at[i];
    struct stuck stuck = threads_stuck(w->threads, i);
    bool same = stuck.activator && stuck.since == seen->named.since;

    if (seen->named.activator && !same)
        name_end(seen, now);
    if (stuck.activator && (!same || now >= seen->named_again))
        name(seen, &stuck, w->threads->at[i].id, now);
}

/* ---- is the server well? ---- */

static bool is_unwell(const struct watchdog *w, uint32_t i)
{
    return w->round_limit > 0 && w->at[i].away >= w->round_limit;
}

bool watchdog_well(const struct watchdog *w)
{
    for (uint32_t i = 0; i < w->threads->running; i++)
        if (is_unwell(w, i))
            return false;
    return true;
}

static void report_change(struct watchdog *w)
{
    bool unwell = !watchdog_well(w);

    if (unwell == w->unwell)
        return;
    w->unwell = unwell;
    if (unwell)
        log_error("a thread does not finish its round: the service manager's watchdog is not fed",
                  LOG_NS("round_limit", w->round_limit));
    else
        log_info("all threads finish their rounds again");
}

void watchdog_go_on(struct watchdog *w, bool restless)
{
    w->restless = restless;
}

/* Has something been logged whose end only a check can find? */
static bool has_open_report(const struct watchdog *w)
{
    for (uint32_t i = 0; i < w->threads->running; i++)
        if (w->at[i].away > 0 || w->at[i].named.activator)
            return true;
    return false;
}

bool watchdog_look(struct watchdog *w)
{
    ao_time now = clock_monotonic(), passed = time_passed(w, now);

    if (!is_due(w, now))
        return false;
    for (uint32_t i = 0; i < w->threads->running; i++) {
        look_at(w, i, passed);
        name_stuck(w, i, now);
    }
    w->looked = now;
    w->next = now + period;
    w->rested = !has_open_report(w);
    report_change(w);
    return true;
}
