/* An attempt of a submitted task knows its batch, leaves a checkpoint for the next one, and submits
 * other tasks as it ends well.  <ergon/handler.h> includes this; <ergon/module.h> has the
 * contracts. */
#ifndef ERGON_ATTEMPT_H
#define ERGON_ATTEMPT_H

#include <ergon/module.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ergon_host *ergon_host __attribute__((visibility("hidden"))); /* handler.h */

static inline bool ergon_checkpoint(struct ergon_task *task, const void *value, size_t len)
{
    return ergon_host->checkpoint(task, value, len);
}

static inline bool ergon_last_checkpoint(struct ergon_task *task, struct ergon_bytes *value)
{
    return ergon_host->last_checkpoint(task, value);
}

/* The batch of which it is a member, and that which has submitted it: the ids. */
static inline bool ergon_batch(struct ergon_task *task, char buf[ERGON_TASK_ID_SIZE])
{
    return ergon_host->batch(task, buf);
}

static inline bool ergon_callback_of(struct ergon_task *task, char buf[ERGON_TASK_ID_SIZE])
{
    return ergon_host->callback_of(task, buf);
}

static inline bool ergon_submit(struct ergon_task *task, const char *method,
                                struct ergon_bytes params, struct ergon_bytes options)
{
    return ergon_host->submit(task, method, params, options);
}

static inline bool ergon_tell(struct ergon_task *task, const char *to, const char *method,
                              struct ergon_bytes params, struct ergon_bytes options)
{
    return ergon_host->tell(task, to, method, params, options);
}

#ifdef __cplusplus
}
#endif

#endif
