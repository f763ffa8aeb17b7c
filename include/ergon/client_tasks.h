/* Tasks that outlive their connection, for users of libergon: submit, follow, steer.  What they
 * promise is in docs/promises.md, the wire in PROTOCOL.md.
 *
 *   struct ergon_request *r =
 *       ergon_request_submit("resize", params, ERGON_TASK(.retries = 5, .key = "image-17"));
 *   if (ergon_blocking_ask(server, r, 5000, &answer) == ERGON_END_OK &&
 *       ergon_read_submitted(answer->result, &submitted))
 *       puts(submitted.id);
 *
 * A request is made by one function, whichever face of client.h sends it; answers are raw
 * MessagePack, which the functions at the end take apart.  Threads: what makes a request or reads
 * an answer may be called on any, what has a client or a blocking handle on that one's alone. */
#ifndef ERGON_CLIENT_TASKS_H
#define ERGON_CLIENT_TASKS_H

#include <ergon/client.h>
#include <ergon/client_crons.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options ---- */

/* In a number where 0 means the default: a real zero. */
#define ERGON_ZERO UINT64_MAX

/* Zero and NULL mean the server's default.  Strings are read when the request is made.  Of this
 * struct and those below: one whose `size` is 0 makes a request that is refused (INVALID). */
struct ergon_task_options {
    size_t size;       /* sizeof(struct ergon_task_options): what lies behind it is taken as zero */
    uint64_t priority; /* 1 to 9, or ERGON_ZERO; 5; higher goes first */
    uint64_t delay_ms; /* not before then */
    uint64_t at_ms;    /* the same, as Unix time */
    uint64_t timeout_ms;  /* of one attempt */
    uint64_t deadline_ms; /* of the whole, from when the server reads the request */
    uint64_t retries;     /* further attempts after one that failed */
    uint64_t backoff_ms;  /* before the second attempt; doubled before each further one */
    uint64_t backoff_max_ms;
    uint64_t backoff_jitter; /* percent of the wait that are left to chance */
    const char *key;         /* while a task of this key is kept, it is the answer */
    const char *coalesce;    /* while such a run is open, others join it */
    const char *limit_key;   /* at most limit_max permits of this key are taken */
    uint64_t limit_max;
    uint64_t limit_take;  /* of these it takes so many; 0: one */
    const char *rate_key; /* at most rate_max starts of this key in rate_per_ms */
    uint64_t rate_max;
    uint64_t rate_per_ms;
    const char *tenant;       /* whose share it counts to */
    const char *const *after; /* ids: these must be done first */
    size_t after_count;
    uint64_t keep_ms;    /* how long it is kept after its end, however it ended */
    uint64_t keep_size;  /* bytes; a larger result is not kept */
    const char *durable; /* "none", "async", "fsync", "replicated" */
    /* A MessagePack map of further options, as PROTOCOL.md names them: those that this library does
     * not know, or all of them; it goes as it is. */
    struct ergon_raw more;
    const char *const *after_any; /* ids: these must have ended first, however they did */
    size_t after_any_count;
    const char *traceparent; /* the trace that it belongs to, as W3C Trace Context writes it */
    const char *tracestate;  /* what others say of that trace */
    const char *actor;       /* "type/key": it is a message to that actor */
    const char *batch;       /* id: it is a member of that batch */
};

/* ERGON_TASK(.retries = 3): a pointer that is valid to the end of the block. C alone has it; who
 * writes C++ fills a struct. */
#define ERGON_TASK(...)                                                                            \
    (&(struct ergon_task_options){.size = sizeof(struct ergon_task_options), __VA_ARGS__})

/* One of many.  `params`: one MessagePack array, or empty for none. */
struct ergon_task_order {
    const char *method;
    struct ergon_raw params;
    const struct ergon_task_options *options; /* NULL: those of all */
};

/* Which tasks are meant: all conditions hold.  Zero and NULL: not asked for. */
struct ergon_task_filter {
    size_t size;       /* sizeof(struct ergon_task_filter) */
    const char *state; /* "queued", "running", "dead", ... */
    const char *method;
    const char *tenant;
    const char *key;
    uint64_t older_ms;  /* submitted at least so long ago */
    uint64_t newer_ms;  /* at most */
    uint64_t limit;     /* of a page of ergon_request_list(); 100 */
    const char *cursor; /* likewise: `next` of the page before */
    /* Of ergon_request_list() alone: 1 to 256 bytes that stand in the parameters; and tasks come
     * with params_text, params_size and params_hidden. */
    const char *contains;
    bool params_text;
    const char *actor; /* messages to this one */
    const char *batch; /* id: its members */
};

/* ---- requests ---- */

/* Each function makes one: `struct ergon_request`, of client.h, which says what it is and who frees
 * it.  NULL: out of memory.  Options without a `size` come out when it is sent: INVALID. */

/* task.submit; read the answer by ergon_read_submitted(). `params`: one MessagePack array, or empty
 * for none; `options` may be NULL. */
ERGON_API struct ergon_request *ergon_request_submit(const char *method, struct ergon_raw params,
                                                     const struct ergon_task_options *options);

/* task.call: the answer is the handler's result or error. */
ERGON_API struct ergon_request *ergon_request_call(const char *method, struct ergon_raw params,
                                                   const struct ergon_task_options *options);

/* task.submit_many: an array with an answer for each, in order: as of task.submit, or a map with
 * `error`.  `common` holds for who does not say otherwise, and may be NULL. */
ERGON_API struct ergon_request *ergon_request_submit_many(const struct ergon_task_order *orders,
                                                          size_t count,
                                                          const struct ergon_task_options *common);

enum ergon_ask_flag {
    ERGON_ASK_NO_RESULT = 1, /* leave results out */
    ERGON_ASK_HISTORY = 2,   /* ergon_request_get(): with the history */
    ERGON_ASK_ANY = 4,       /* ergon_request_wait(): the first that ends is enough */
    /* ergon_request_get(): with the parameters, whole or as a text; with the options that it was
     * submitted with; with its attempts.  A server that is older refuses it. */
    ERGON_ASK_PARAMS = 8,
    ERGON_ASK_PARAMS_TEXT = 16,
    ERGON_ASK_OPTIONS = 32,
    ERGON_ASK_ATTEMPTS = 64
};

/* task.get; read by ergon_read_task(). `flags`: of enum ergon_ask_flag. */
ERGON_API struct ergon_request *ergon_request_get(const char *id, unsigned flags);

/* task.wait: the answer comes when all have ended, or after wait_ms (0: 8 s); read by
 * ergon_next_task().  The time limit of the call itself must be the longer one. */
ERGON_API struct ergon_request *ergon_request_wait(const char *const *ids, size_t count,
                                                   uint64_t wait_ms, unsigned flags);

ERGON_API struct ergon_request *ergon_request_cancel(const char *id);  /* task.cancel */
ERGON_API struct ergon_request *ergon_request_retry(const char *id);   /* task.retry */
ERGON_API struct ergon_request *ergon_request_forget(const char *id);  /* task.forget */
ERGON_API struct ergon_request *ergon_request_run_now(const char *id); /* task.run_now */
ERGON_API struct ergon_request *ergon_request_explain(const char *id); /* task.explain */

/* task.change of a task that waits.  `options`: its priority, delay_ms (ERGON_ZERO: at once) and
 * at_ms; the server refuses others. */
ERGON_API struct ergon_request *ergon_request_change(const char *id,
                                                     const struct ergon_task_options *options);

enum ergon_match_flag {
    ERGON_MATCH_ALL = 1,    /* a filter that asks for nothing means all tasks; else it is refused */
    ERGON_MATCH_DRY_RUN = 2 /* nothing is done, and counted as if it were */
};

/* task.cancel, .retry, .forget of all tasks that a filter means: the answer comes when all of them
 * are done, and is a map of `matched` and `cancelled` (`retried`, `forgotten`).  `flags`: of enum
 * ergon_match_flag. */
ERGON_API struct ergon_request *
ergon_request_cancel_matching(const struct ergon_task_filter *filter, unsigned flags);
ERGON_API struct ergon_request *ergon_request_retry_matching(const struct ergon_task_filter *filter,
                                                             unsigned flags);
ERGON_API struct ergon_request *
ergon_request_forget_matching(const struct ergon_task_filter *filter, unsigned flags);

/* task.list; read by ergon_next_task().  `filter` may be NULL. */
ERGON_API struct ergon_request *ergon_request_list(const struct ergon_task_filter *filter);

/* queue.list, .tenants, .explain, .pause, .resume, .drain.  `cursor`: what `next` of the page
 * before said; NULL: the first page. */
ERGON_API struct ergon_request *ergon_request_queues(void);
ERGON_API struct ergon_request *ergon_request_queue_explain(const char *method);
ERGON_API struct ergon_request *ergon_request_queue_tenants(const char *cursor);
ERGON_API struct ergon_request *ergon_request_queue_pause(const char *method);
ERGON_API struct ergon_request *ergon_request_queue_resume(const char *method);
ERGON_API struct ergon_request *ergon_request_queue_drain(const char *method);

ERGON_API struct ergon_request *ergon_request_audit(void); /* server.audit */

/* ---- following a task ---- */

/* An event of a task. Points in time are Unix milliseconds.  `data` and `traceback` are valid
 * during the callback. */
struct ergon_event {
    uint64_t seq;          /* from 1 */
    uint64_t missed;       /* events before this one that the server does not remember */
    uint64_t at;           /* Unix ms */
    uint64_t attempt;      /* 0: before the first */
    char name[24];         /* "started", "progress", "done", ... */
    char reason[24];       /* of "waiting" and "delayed", else "" */
    char text[1024];       /* for people; may be "" */
    struct ergon_raw data; /* what the handler gave out; one value, or empty */
    /* Of "attempt_failed" and "timed_out": one str, lines for people; empty: none, or hidden. */
    struct ergon_raw traceback;
};

/* False ends the watch. */
typedef bool ergon_event_fn(void *arg, const struct ergon_event *event);

struct ergon_watch;

/* Calls `on_event` for each event of the task from number `from` (1: all) on, in order and once,
 * then `on_end`: OK when the task has ended and all its events were given out, CANCELLED by a false
 * or ergon_watch_stop(), ERROR when the server refuses (NOT_FOUND), else as calls end.  A broken
 * connection ends it only if the client does not reconnect: it asks again from where it was.
 *
 * NULL means refused, and no callback: the id is too long for one, there is no memory, or
 * ergon_client_call() would refuse.  Otherwise `on_end` is called exactly once, after which the
 * watch is gone: from the event loop, ergon_watch_stop() or ergon_client_free(), never from here.
 * It is the client's: do not use it after `on_end`. */
ERGON_API struct ergon_watch *ergon_client_watch(struct ergon_client *client, const char *id,
                                                 uint64_t from, ergon_event_fn *on_event,
                                                 ergon_answer_fn *on_end, void *arg);

/* Ends it with CANCELLED; from inside `on_event` as soon as that has returned. */
ERGON_API void ergon_watch_stop(struct ergon_watch *watch);

/* The same, and waits for the end; timeout_ms 0: as long as it takes, else TIMEOUT.  Returns what
 * `on_end` would be given; INVALID also when the watch was refused.  The answer has neither result
 * nor error value. */
ERGON_API enum ergon_end ergon_blocking_watch(struct ergon_blocking *blocking, const char *id,
                                              uint64_t from, uint32_t timeout_ms,
                                              ergon_event_fn *on_event, void *arg,
                                              const struct ergon_answer **answer);

/* ---- answers ---- */

/* Strings are copied, and cut where they do not fit; what is nil is "" or 0. */
struct ergon_submitted {
    char id[40];
    char state[16];
    char durable[16]; /* the level that was reached */
    bool duplicate;   /* the task of an earlier submission with this key */
    bool coalesced;   /* it joined a run that was open */
    char error[512];  /* "NAME: text"; of one of many that was refused, else "" */
};

/* A task as the server shows it.  Points in time are Unix milliseconds, 0: none. */
struct ergon_task_shown {
    char id[40];
    char method[257];
    char state[16];
    char reason[24]; /* why it is where it is */
    char tenant[257];
    char key[257];
    char durable[16];
    uint64_t attempt, failures, retries, crashes, priority;
    uint64_t created, due, started, ended, deadline;
    uint64_t progress_done, progress_total;
    char progress_text[257];
    char error[512];         /* "NAME: text", of the last attempt or of the whole */
    struct ergon_raw result; /* points into the answer; empty if there is none */
    bool cut;                /* the result was too large to be kept */
    bool result_hidden;      /* the caller may not see it */
    /* What was asked for.  `params`, `options` point into the answer, empty: none, or hidden. */
    struct ergon_raw params;
    char params_text[4097];   /* JSON on one line, cut with "…" */
    uint64_t params_size;     /* bytes of `params`, also if they are hidden */
    char params_hidden[16];   /* "denied", "secret"; "": they are not */
    struct ergon_raw options; /* a map, as task.submit takes it */
};

/* False: the value is no such answer, and `out` is undefined. */
ERGON_API bool ergon_read_submitted(struct ergon_raw value, struct ergon_submitted *out);
ERGON_API bool ergon_read_task(struct ergon_raw value, struct ergon_task_shown *out);

/* The tasks of a task.list (`tasks`) or task.wait (`ended`) one by one: *at is 0 before the first.
 * False: there is no further one. */
ERGON_API bool ergon_next_task(struct ergon_raw answer, size_t *at, struct ergon_task_shown *out);

/* The value of a key of a map; empty if it is no map or has no such key. */
ERGON_API struct ergon_raw ergon_read_member(struct ergon_raw map, const char *key);

#ifdef __cplusplus
}
#endif

#endif
