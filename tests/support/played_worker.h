/* Workers that a test plays: the functions of a worker loop's port
 * (server/workers/worker_executor.h), and peers that answer when the test says.
 *
 * In the world of tasks_world.h, whose worker loops they use.  Thread: the test's, between rounds.
 */
#ifndef ERGON_TESTS_PLAYED_WORKER_H
#define ERGON_TESTS_PLAYED_WORKER_H

#include "server/workers/worker_executor.h"

enum { PLAYED_TASKS = 4096 };

struct played_worker {
    struct worker_executor *executor; /* NULL: it was refused, or is lost */
    bool full;                        /* send() refuses */
    bool slow;                        /* what is sent has not begun before played_begin() */
    struct task *has[PLAYED_TASKS];   /* in order of arrival */
    unsigned count;
    unsigned sent;     /* in all */
    unsigned unwanted; /* tasks of which it was told so */
    enum task_flag why;
    unsigned joined, opened, quieted; /* times that it was told */
    enum ergon_error error;           /* of its registration */
    char text[200];
};

/* All worker loops of the world get this port; after tasks_world_open(). */
void played_workers_open(void);

/* Registers with the worker loop of that loop for the methods "a b c".  The rest of `spec` is taken
 * as it stands; 0 is one slot, and all of the share.  The manager hears of it when the world runs.
 */
void played_join_as(struct played_worker *p, uint32_t loop, const char *methods,
                    const struct worker_executor_spec *spec);
void played_join(struct played_worker *p, uint32_t loop, const char *methods, uint32_t slots);

/* Its n-th task: the request was handed to the stream; it is answered with nil, or with an error.
 */
void played_begin(struct played_worker *p, unsigned n);
void played_answer(struct played_worker *p, unsigned n);
void played_fail(struct played_worker *p, unsigned n, const char *text);
void played_answer_with(struct played_worker *p, unsigned n, size_t bytes); /* so many of them */
void played_answer_all(struct played_worker *p);

void played_lose(struct played_worker *p, const char *why);

#endif
