/* How much memory a task holds, and which account is charged for it.
 *
 * From the moment that a task lives longer than the function call that made it, it is charged for
 * its cell, for parameters that were copied, and for its expected result: as many bytes as recent
 * results of its method had.  So a method with large results can begin only as many calls as there
 * is room for their results.  A module may declare that the results of a method are large from the
 * beginning (ERGON_LARGE_RESULTS); few modules know more about them than that.  A task whose result
 * is larger than what was reserved (the first large one of its method, or larger than recent ones)
 * is charged for the difference when the result is allocated, and fails BUSY if there is no room.
 * So the reserve is only an estimate, but the limit is kept all the same.  Results of less than
 * RESULT_LARGE are not reserved: they count as output when they come home.
 *
 * What a task holds is given back when its result is handed on.  If the call has ended before that
 * (its peer is gone, its deadline passed), it is given back when the task is freed.
 *
 * Thread: the owner's of the task, where nothing else is said. */
#ifndef ERGON_TASKS_HELD_BYTES_H
#define ERGON_TASKS_HELD_BYTES_H

#include "server/tasks/task.h"

enum { RESULT_LARGE = 64 * 1024 /* bytes */ };

/* At home: it lives on, on this account, and holds so much.  Takes a reference. */
uint64_t task_charge(struct task *t, struct tally *tally);
/* At home: gives back what it was charged, but not the reference. */
void task_discharge(struct task *t);

/* Its executor is about to allocate room for a result.  False: there is none on its account. */
bool task_cover_result(struct task *t, size_t room);

/* Its executor has the result of a nested call, of so many bytes, until the next one or its end.
 * No account refuses it: it was the nested task's before. */
void task_hold_nested(struct task *t, size_t bytes);
/* The same for a nested call, which is charged to a tally of its own.  False: no room for so
 * many bytes, or no memory (*error).  *tally NULL: nobody pays. */
bool task_open_tally(const struct task *t, uint64_t bytes, struct tally **tally,
                     enum ergon_error *error);

/* At home: a result has come that is not larger than what was reserved; so the next reserve a bit
 * less. */
void task_lower_reserve(const struct task *t);
/* The same of calls that run in place, as each asks for room. */
void method_lower_reserve(struct method *m);

/* Before the start: its results may be so large. */
void method_expect_results(struct method *m, uint64_t bytes);

/* Any thread: what a call with these parameters may hold, when more than little; else 0. */
static inline uint64_t method_wants(const struct method *m, size_t params)
{
    if (params < atomic_load_explicit(&m->small_params, memory_order_relaxed))
        return 0;
    return params + atomic_load_explicit(&m->result_bytes, memory_order_relaxed);
}

#endif
