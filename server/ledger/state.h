/* The life of a kept task: its states, and the reasons why it is where it is.
 *
 *                    submit
 *                      |
 *       +--------------+---------------+
 *       v              v               v
 *    delayed ------> queued <------> waiting       due; a limit, a bucket, `after`, a pause
 *       ^              |
 *       | retry, again v
 *       +---------- assigned --> running <--> parked
 *                      |            |            |
 *                      +------------+------------+---> done, failed, cancelled, expired, dead
 *
 * From every open state a task can be cancelled, expire, or die.  task.retry makes an ended task
 * that is not done queued again.  One function changes states: ledger_turn(). */
#ifndef ERGON_LEDGER_STATE_H
#define ERGON_LEDGER_STATE_H

#include <stdbool.h>

/* X(NAME, "name", open) */
#define LEDGER_STATES(X)                                                                           \
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

enum ledger_state {
#define X(name, text, open) LEDGER_##name,
    LEDGER_STATES(X)
#undef X
        LEDGER_STATE_COUNT
};

/* Why it is where it is: X(NAME, "name", "what it means").  Each has a test of task.explain. */
#define LEDGER_REASONS(X)                                                                          \
    X(TURN, "turn", "it stands in the queue, and its turn has not come")                           \
    X(EXECUTORS, "executors", "it is the next, and every executor of its kind is full")            \
    X(NO_EXECUTOR, "no_executor", "no executor offers its method")                                 \
    X(PAUSED, "paused", "its queue is paused")                                                     \
    X(STOPPING, "stopping", "the server is shutting down and starts nothing")                      \
    X(LIMIT, "limit", "as many tasks of its limit key run as may")                                 \
    X(RATE, "rate", "the bucket of its rate key is empty")                                         \
    X(AFTER, "after", "tasks that must be done first are not")                                     \
    X(SUSPECT, "suspect", "another task that was running at crashes of the server has to return")  \
    X(DELAY, "delay", "its time has not come")                                                     \
    X(RETRY, "retry", "its last attempt failed, and the next one has a time")                      \
    X(AGAIN, "again", "its handler asked to be run again later")                                   \
    X(COMMIT, "commit", "its submission, or the start of its attempt, is being written to disk")   \
    X(STORE, "store", "the store cannot write; it is tried again")                                 \
    X(ASSIGNED, "assigned", "it stands in the queue of an executor")                               \
    X(RUNNING, "running", "its handler runs")                                                      \
    X(PARKED, "parked", "its handler waits for something")                                         \
    X(ENDED, "ended", "it has ended")

enum ledger_reason {
#define X(name, text, meaning) LEDGER_WHY_##name,
    LEDGER_REASONS(X)
#undef X
        LEDGER_REASON_COUNT
};

/* What a history holds: X(NAME, "name"). */
#define LEDGER_EVENTS(X)                                                                           \
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
    X(DONE, "done")                                                                                \
    X(FAILED, "failed")                                                                            \
    X(CANCELLED, "cancelled")                                                                      \
    X(EXPIRED, "expired")                                                                          \
    X(DEAD, "dead")

enum ledger_event {
#define X(name, text) LEDGER_EVENT_##name,
    LEDGER_EVENTS(X)
#undef X
        LEDGER_EVENT_COUNT
};

enum ledger_durable { LEDGER_NONE, LEDGER_ASYNC, LEDGER_FSYNC };

/* Constants; all pure.  The `find` functions return -1 when there is no such name. */
extern const char *const ledger_state_names[LEDGER_STATE_COUNT];
extern const char *const ledger_durable_names[3];
bool ledger_state_open(enum ledger_state s);
const char *ledger_reason_name(enum ledger_reason r);
const char *ledger_reason_meaning(enum ledger_reason r);
const char *ledger_event_name(enum ledger_event e);
/* That of an end; LEDGER_EVENT_COUNT: the state is none. */
enum ledger_event ledger_event_of_end(enum ledger_state s);

#endif
