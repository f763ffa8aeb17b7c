/* Batches: tasks that belong together, for users of libergon; PROTOCOL.md has the wire.
 *
 * As in client_tasks.h, each function makes a request, which any face of client.h sends.  NULL: out
 * of memory.  Any thread. */
#ifndef ERGON_CLIENT_BATCHES_H
#define ERGON_CLIENT_BATCHES_H

#include <ergon/client_tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero, or NULL, means the server's default.  One whose `size` is 0 makes a request that is refused
 * (INVALID). */
struct ergon_batch_options {
    size_t size; /* sizeof(struct ergon_batch_options) */
    /* Tasks that the server submits: when all members are done; at the first that ends otherwise;
     * when all have ended.  NULL: none. */
    const struct ergon_task_order *on_success, *on_failure, *on_end;
    const char *parent;  /* the id of a batch of which this one is a member */
    const char *durable; /* "none", "async", "fsync", "replicated" */
    const char *tenant;
    uint64_t keep_ms; /* how long it is kept after its end */
};

/* batch.create: answered by the batch, with its `id`.  NULL: no options. */
ERGON_API struct ergon_request *ergon_request_batch_create(const struct ergon_batch_options *o);

/* batch.add: tasks that are members; answered as ergon_request_submit_many().  One task alone can
 * name its batch in its options. */
ERGON_API struct ergon_request *ergon_request_batch_add(const char *id,
                                                        const struct ergon_task_order *orders,
                                                        size_t count,
                                                        const struct ergon_task_options *common);

/* batch.close: it ends with its last member.  batch.cancel: its open members are cancelled. */
ERGON_API struct ergon_request *ergon_request_batch_close(const char *id);
ERGON_API struct ergon_request *ergon_request_batch_cancel(const char *id);

/* batch.get: with `wait_ms` (0: at once) it is answered when the batch has ended, or the time is
 * over. */
ERGON_API struct ergon_request *ergon_request_batch_get(const char *id, uint64_t wait_ms);

/* batch.list: a page, newest first.  `state`, `tenant`, `parent` (the id of a batch of which they
 * are members): NULL: any; `cursor`: `next` of the page before, or NULL; `limit` 0: the server's
 * default. */
ERGON_API struct ergon_request *ergon_request_batches(const char *state, const char *tenant,
                                                      const char *parent, const char *cursor,
                                                      uint64_t limit);

#ifdef __cplusplus
}
#endif

#endif
