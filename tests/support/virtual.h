/* A world of its own for tests: one virtual clock, activators that wait in virtual pollers,
 * scripted events, and the trace as one text.
 *
 *     struct virtual v;
 *     virtual_init(&v);
 *     struct activator *a = virtual_open(&v, "loop");
 *     ... objects on `a`, scripts by virtual_at() ...
 *     virtual_run(&v);
 *     trace_expect(&v, "[   0] conn 1     INACTIVE -> ACTIVE (activated)\n"
 *                      "[ 250] conn 1     ACTIVE -> INACTIVE (done)\n");
 *     virtual_fini(&v);
 *
 * All runs on the calling thread, in an order that is always the same.  The clock stands still
 * while anything has work, and goes to the next deadline or script when all would block. */
#ifndef ERGON_TESTS_VIRTUAL_H
#define ERGON_TESTS_VIRTUAL_H

#include <ergon/activator.h>
#include <ergon/poller.h>

#include "server/runtime/object/trace.h"

enum { VIRTUAL_ACTIVATORS = 8, VIRTUAL_SCRIPTS = 256 };

/* What virtual_run() gives up after: a test that goes on for ever fails. */
enum { VIRTUAL_PASSES = 1000000 };

struct virtual;

struct virtual_poller {
    struct poller table; /* first member */
    struct virtual *world;
    struct activator *activator; /* NULL: closed */
    ao_time until;               /* the end of the wait it asked for last */
    _Atomic bool woken;          /* since it was polled last; by any thread */
    bool polled;                 /* in this pass; else it was busy */
};

struct virtual_script {
    ao_time when;
    struct activator *on; /* NULL: between rounds, as a thread outside would */
    void (*run)(void *arg);
    void *arg;
};

struct virtual
{
    ao_time now; /* ns; begins at 0 */
    struct ao_clock clock;
    struct trace trace;
    struct virtual_poller pollers[VIRTUAL_ACTIVATORS];
    int count;
    struct virtual_script scripts[VIRTUAL_SCRIPTS]; /* by time, then by order of virtual_at() */
    int scripted;
    char *text; /* the trace so far, each line with its newline; never NULL */
    size_t length, room;
};

void virtual_init(struct virtual *v);

/* Closes the activators that are still open, the last opened first. */
void virtual_fini(struct virtual *v);

/* An activator on this clock, poller and trace, with seed 0.  The second form takes what is set in
 * `options` beside those.  A failure to open fails the test. */
struct activator *virtual_open(struct virtual *v, const char *name);
struct activator *virtual_open_with(struct virtual *v, struct activator_options options);
void virtual_close(struct virtual *v, struct activator *a);

/* Runs `run` at `when`: inside the poll of `on`, so that it is as a ready event, or between rounds
 * (NULL), so that it is as another thread.  Not earlier than now. */
void virtual_at(struct virtual *v, ao_time when, struct activator *on, void (*run)(void *arg),
                void *arg);

/* Rounds of all activators, in order of opening, until all would block for ever and no script is
 * left; or until the clock is at `until`, with all work of that moment done. */
void virtual_run(struct virtual *v);
void virtual_run_until(struct virtual *v, ao_time until);

/* One round of one activator, without blocking; the clock stands still.  True while it is busy. */
bool virtual_round(struct virtual *v, struct activator *a);

/* Compares all that was traced since the last time, and forgets it. */
#define trace_expect(v, expected) trace_expect_at((v), (expected), __FILE__, __LINE__)
void trace_expect_at(struct virtual *v, const char *expected, const char *file, int line);
void trace_forget(struct virtual *v);

/* From now on log records go nowhere: for tests that provoke them. */
void virtual_silence(void);

/* A line of the test's own in the narrative. */
void virtual_say(struct virtual *v, const char *who, unsigned long id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
