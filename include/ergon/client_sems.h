/* Named semaphores and events of a server, for users of libergon; PROTOCOL.md has the wire.
 *
 * As in client_tasks.h, each function makes a request, which any face of client.h sends.  NULL: out
 * of memory.  Any thread.
 *
 * Who holds permits and has to let go in time counts from when it SENT the last renewal that was
 * answered: the server counts from when it lost the connection, which is later. */
#ifndef ERGON_CLIENT_SEMS_H
#define ERGON_CLIENT_SEMS_H

#include <ergon/client_tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sem.create: a semaphore of so many permits, which stays until sem.delete.  `durable`: "none", and
 * what is held does not outlive the server; NULL: its default. */
ERGON_API struct ergon_request *ergon_request_sem_create(const char *name, uint64_t permits,
                                                         const char *durable);

ERGON_API struct ergon_request *ergon_request_sem_delete(const char *name);

/* Zero, or NULL, means the server's default.  One whose `size` is 0 makes a request that is refused
 * (INVALID). */
struct ergon_sem_options {
    size_t size;         /* sizeof(struct ergon_sem_options) */
    uint64_t permits;    /* how many are wanted; 1 */
    uint64_t of;         /* there shall be so many, if there is no semaphore of the name yet */
    uint64_t wait_ms;    /* the longest wait for them; ERGON_ZERO: none */
    uint64_t ttl_ms;     /* after this time the server takes them back in any case */
    uint64_t grace_ms;   /* so long they stay the holder's after its connection is lost */
    const char *durable; /* with `of`, as for ergon_request_sem_create() */
};

/* sem.acquire: answered by {hold, fence, ...} when the permits are the caller's. */
ERGON_API struct ergon_request *ergon_request_sem_acquire(const char *name,
                                                          const struct ergon_sem_options *options);

/* sem.release, .renew, .resume: a hold is given back; its time begins anew; it is bound to the
 * connection that asks.  ttl_ms 0: as it was. */
ERGON_API struct ergon_request *ergon_request_sem_release(const char *name, const char *hold);
ERGON_API struct ergon_request *ergon_request_sem_renew(const char *name, const char *hold,
                                                        uint64_t ttl_ms);
ERGON_API struct ergon_request *ergon_request_sem_resume(const char *name, const char *hold,
                                                         uint64_t ttl_ms);

/* sem.list, .explain: all of them; who holds one, and who waits for it. */
ERGON_API struct ergon_request *ergon_request_sems(void);
ERGON_API struct ergon_request *ergon_request_sem_explain(const char *name);
ERGON_API struct ergon_request *ergon_request_sem_explain_of(const char *name, const char *tenant);
/* sem.revoke: takes back what a client holds with this fence.  `tenant` NULL: the caller's own. */
ERGON_API struct ergon_request *ergon_request_sem_revoke(const char *name, uint64_t fence,
                                                         const char *tenant);

/* event.set: a higher number of an event, with a value (one MessagePack value; empty: none). */
ERGON_API struct ergon_request *ergon_request_event_set(const char *name, struct ergon_raw value);

/* event.wait: until its number is at least `from` (0: the next one), for `timeout_ms` at most (0:
 * the server's default; ERGON_ZERO: not at all, which tells the number). */
ERGON_API struct ergon_request *ergon_request_event_wait(const char *name, uint64_t from,
                                                         uint64_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
