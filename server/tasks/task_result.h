/* The result of a task, or its failure: made by its executor, read at home.
 *
 * Thread: the owner's of the task. */
#ifndef ERGON_TASKS_TASK_RESULT_H
#define ERGON_TASKS_TASK_RESULT_H

#include "server/tasks/task.h"

/* Room for a result of `size` bytes, what was there is lost; or for `more` behind it.  The room is
 * the task's.  NULL: the task has failed, before or by this: MEMORY, or TOO_LARGE past `max`. */
uint8_t *task_result_room(struct task *t, size_t size, uint64_t max);
uint8_t *task_result_more(struct task *t, size_t more, uint64_t max);

/* The result is `len` bytes of the parameters: they are not copied. */
void task_result_borrow(struct task *t, const uint8_t *at, size_t len);

static inline bool task_in_params(const struct task *t, const uint8_t *at, size_t len)
{
    uintptr_t from = (uintptr_t)t->params.at, where = (uintptr_t)at;
    return where >= from && len <= t->params.len && where - from <= t->params.len - len;
}

/* Ends it as failed, unless it is already.  `code` NULL: the error's name; it and `text` are copied
 * and cut. */
void task_fail(struct task *t, enum ergon_error error, const char *code, struct span text);

/* The same, of an attempt of a job, with a traceback, of which the last TASK_TRACEBACK_MAX bytes
 * are kept, with blanks for characters that steer a terminal, but for line feeds and tabs. */
void task_fail_traced(struct task *t, enum ergon_error error, const char *code, struct span text,
                      struct span traceback);

/* It is to be run again, `ns` from now: an attempt of a job is, and costs no retry; the caller of
 * another is asked by BUSY to call again. */
void task_run_again(struct task *t, uint64_t ns);

/* How it ended; points into the task, or what it was made of.  The block of a large result may be
 * taken: see struct outcome, and task_take_back(). */
void task_outcome(struct task *t, struct outcome *out);

/* What nobody took of its outcome is the task's again. */
static inline void task_take_back(struct task *t, const struct outcome *out)
{
    if (out->error == ERGON_OK)
        t->result_block = out->block;
}

/* The outcome of an error that is no task's own. */
void outcome_of(enum ergon_error error, struct outcome *out);

/* Its result is bytes of its parameters, and was not copied. */
static inline bool task_borrows_result(const struct task *t)
{
    return t->result_room == 0 && t->result_len > 0;
}

#endif
