/* The life of a job: its states, and the reasons why it is where it is.  Constants and pure
 * functions: any thread.
 *
 *                    submit
 *                      |
 *       +--------------+---------------+
 *       v              v               v
 *    delayed ------> queued <------> waiting       due; a limit, a rate, `after`, a pause
 *       ^              |
 *       | retry, again v
 *       +---------- assigned --> running <--> parked
 *                      |            |            |
 *                      +------------+------------+---> done, failed, cancelled, expired, dead
 *
 * From every open state a task can be cancelled, expire, or die.  task.retry makes an ended task
 * that is not done queued again.  One function changes states: job_set_state(). */
#ifndef ERGON_JOBS_STATES_H
#define ERGON_JOBS_STATES_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, "name", open) */
#define JOB_STATES(X)                                                                              \
    X(QUEUED, "queued", true)                                                                      \
    X(DELAYED, "delayed", true)                                                                    \
    X(WAITING, "waiting", true)                                                                    \
    X(ASSIGNED, "assigned", true)                                                                  \
    X(RUNNING, "running", true)                                                                    \
    X(PARKED, "parked", true)                                                                      \
    X(DONE, "done", false)                                                                         \
    X(FAILED, "failed", false)                                                                     \
    X(CANCELLED, "cancelled", false)                                                               \
    X(EXPIRED, "expired", false)                                                                   \
    X(DEAD, "dead", false)

/* Attempts and events of a task, and what it counts of them, have numbers up to this one: the file
 * knows no more (codec.c), and none begins again. */
enum { JOB_COUNT_MAX = INT32_MAX };

enum job_state {
#define X(name, text, open) JOB_##name,
    JOB_STATES(X)
#undef X
        JOB_STATE_COUNT
};

enum {
    JOB_STATES_OPEN = 0
#define X(name, text, open) | (open) << JOB_##name
    JOB_STATES(X)
#undef X
};

static inline bool job_state_open(enum job_state s)
{
    return JOB_STATES_OPEN >> s & 1;
}

/* An attempt is out. */
static inline bool job_state_runs(enum job_state s)
{
    return s == JOB_ASSIGNED || s == JOB_RUNNING || s == JOB_PARKED;
}

/* Why it is where it is: X(NAME, "name", "what it means").  Each has a test of task.explain. */
#define JOB_REASONS(X)                                                                             \
    X(TURN, "turn", "it is queued, and its turn has not come")                                     \
    X(EXECUTORS, "executors", "it is the next, and every executor of its kind is full")            \
    X(NO_EXECUTOR, "no_executor", "no executor runs its method")                                   \
    X(PAUSED, "paused", "its queue is paused")                                                     \
    X(STOPPING, "stopping", "the server is shutting down and starts nothing")                      \
    X(LIMIT, "limit", "as many tasks of its limit key run as may")                                 \
    X(RATE, "rate", "as many tasks of its rate key have started as may in that time")              \
    X(AFTER, "after", "other tasks must be done, or have ended, first")                            \
    X(ACTOR, "actor", "other messages of its actor come first")                                    \
    X(LOADING, "loading", "the state of its actor is being read")                                  \
    X(STOPPED, "stopped", "its actor is stopped")                                                  \
    X(OVERRUN, "overrun", "an attempt that was given up holds its actor until it has returned")    \
    X(SUSPECT, "suspect", "another task that was running at crashes of the server has to return")  \
    X(DELAY, "delay", "its time has not come")                                                     \
    X(RETRY, "retry", "its last attempt failed, and the next one has a time")                      \
    X(AGAIN, "again", "its handler asked to be run again later")                                   \
    X(SLEEP, "sleep", "its actor sleeps until then, or until it is woken")                         \
    X(LOST, "lost", "the worker that had it was lost, and the next attempt has a time")            \
    X(COMMIT, "commit", "its submission, or how its last attempt ended, is being written to disk") \
    X(STORE, "store", "the store cannot write; it is tried again")                                 \
    X(ASSIGNED, "assigned", "it is queued at an executor")                                         \
    X(RUNNING, "running", "its handler runs")                                                      \
    X(PARKED, "parked", "its handler waits for something")                                         \
    X(ENDED, "ended", "it has ended")

enum job_reason {
#define X(name, text, meaning) JOB_WHY_##name,
    JOB_REASONS(X)
#undef X
        JOB_REASON_COUNT
};

/* What a history holds: X(NAME, "name"). */
#define JOB_EVENTS(X)                                                                              \
    X(SUBMITTED, "submitted")                                                                      \
    X(QUEUED, "queued")                                                                            \
    X(DELAYED, "delayed")                                                                          \
    X(WAITING, "waiting")                                                                          \
    X(STARTED, "started")                                                                          \
    X(PROGRESS, "progress")                                                                        \
    X(PARTIAL, "partial")                                                                          \
    X(ATTEMPT_FAILED, "attempt_failed")                                                            \
    X(TIMED_OUT, "timed_out")                                                                      \
    X(INTERRUPTED, "interrupted")                                                                  \
    X(FENCED, "fenced")                                                                            \
    X(JOINED, "joined")                                                                            \
    X(RETRIED, "retried")                                                                          \
    X(CHANGED, "changed")                                                                          \
    X(DONE, "done")                                                                                \
    X(FAILED, "failed")                                                                            \
    X(CANCELLED, "cancelled")                                                                      \
    X(EXPIRED, "expired")                                                                          \
    X(DEAD, "dead")

enum job_event {
#define X(name, text) JOB_EVENT_##name,
    JOB_EVENTS(X)
#undef X
        JOB_EVENT_COUNT
};

enum job_durable { DURABLE_NONE, DURABLE_ASYNC, DURABLE_FSYNC, DURABLE_REPLICATED, DURABLE_COUNT };

/* Constants; all pure. */
extern const char *const job_state_names[JOB_STATE_COUNT];
extern const char *const job_durable_names[DURABLE_COUNT];
const char *job_reason_name(enum job_reason r);
const char *job_reason_meaning(enum job_reason r);
const char *job_event_name(enum job_event job);
/* Is a job of this level on disk before its submission is answered? */
static inline bool durable_is_awaited(uint8_t level)
{
    return level >= DURABLE_FSYNC;
}
/* Does it begin a wait, so that it has a reason? */
static inline bool job_event_is_wait(enum job_event event)
{
    return event == JOB_EVENT_WAITING || event == JOB_EVENT_DELAYED;
}
/* The event of an end; JOB_EVENT_COUNT: the state is no end. */
enum job_event job_event_of_end(enum job_state s);

#endif
