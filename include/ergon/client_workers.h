/* Workers of a server, for users of libergon: to be one (with client_serve.h), and to see and steer
 * all.  The wire stands in PROTOCOL.md.
 *
 * As in client_tasks.h, each function makes a request, which any face of client.h sends.  NULL: out
 * of memory.  Any thread. */
#ifndef ERGON_CLIENT_WORKERS_H
#define ERGON_CLIENT_WORKERS_H

#include <ergon/client_tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Are the parameters of a worker's methods secret?  The server remembers it with their queues. */
enum ergon_secrecy {
    ERGON_SECRECY_UNSAID, /* as it was said before */
    ERGON_SECRECY_SECRET, /* nobody is shown them, and no search finds them */
    ERGON_SECRECY_OPEN
};

/* Zero, or NULL, means the server's default.  One whose `size` is 0 makes a request that is refused
 * (INVALID). */
struct ergon_worker_options {
    size_t size;         /* sizeof(struct ergon_worker_options) */
    uint64_t slots;      /* requests at a time; 1 */
    const char *name;    /* for people who look at ergon_request_workers() */
    const char *version; /* of what works, for `share` */
    uint64_t share;    /* percent of what its methods' workers get that this version gets at most */
    bool context;      /* each request has a map behind its parameters: call, task, attempt ... */
    uint64_t lease_ms; /* in silence for so long the connection is closed; a third of it: a ping */
    /* message_max of the client (struct ergon_options), which reads no longer request: the server
     * answers TOO_LARGE for one.  0: the server is not told, and a longer one ends the connection.
     */
    uint64_t message;
    const char *host; /* where it works, at most 64 bytes; NULL: the address that it comes from */
    enum ergon_secrecy secrecy; /* of all its methods */
    /* The types of actors that methods TYPE.METHOD belong to: a MessagePack map, as PROTOCOL.md
     * has it, which goes as it is.  `context` is required with it. */
    struct ergon_raw actors;
};

/* worker.register: this connection offers these methods. */
ERGON_API struct ergon_request *
ergon_request_worker_register(const char *const *methods, size_t count,
                              const struct ergon_worker_options *options);

/* worker.quiet, .resume: give it nothing more; give it again.  NULL: all of this connection. */
ERGON_API struct ergon_request *ergon_request_worker_quiet(const char *worker);
ERGON_API struct ergon_request *ergon_request_worker_resume(const char *worker);

/* Which workers are meant.  Zero and NULL: not asked for.  One whose `size` is 0 makes a request
 * that is refused (INVALID). */
struct ergon_worker_filter {
    size_t size; /* sizeof(struct ergon_worker_filter) */
    const char *method;
    uint64_t limit;     /* of a page */
    const char *cursor; /* `next` of the page before */
};

/* worker.list: a page of those that a filter means (NULL: of all). */
ERGON_API struct ergon_request *ergon_request_workers(const struct ergon_worker_filter *filter);

/* worker.submit: tasks that the attempt of this call submits as it ends well, all or none. Answered
 * before that; one that is refused spoils the attempt. */
ERGON_API struct ergon_request *
ergon_request_worker_submit(uint64_t call, const struct ergon_task_order *orders, size_t count);

/* worker.progress, .partial, .checkpoint: what is known of a request that is being served, before
 * its answer; `call` is that of its context.  Notifications, as ergon_client_notify() sends them:
 * on the client's thread; OK, INVALID or MEMORY. */
ERGON_API enum ergon_end ergon_worker_progress(struct ergon_client *client, uint64_t call,
                                               uint64_t done, uint64_t total, const char *text);
ERGON_API enum ergon_end ergon_worker_partial(struct ergon_client *client, uint64_t call,
                                              struct ergon_raw value);
/* For the next attempt of the task, in whose context it is `checkpoint`; empty: none any more. */
ERGON_API enum ergon_end ergon_worker_checkpoint(struct ergon_client *client, uint64_t call,
                                                 struct ergon_raw value);

#ifdef __cplusplus
}
#endif

#endif
