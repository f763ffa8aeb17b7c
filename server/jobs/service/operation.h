/* What a loop asks of the ledger, and how the answer comes back.
 *
 * An operation is made by the rpc layer on its loop, given to the ledger through a lane, and comes
 * back through another with its answer: at once, when a commit is on disk, or when what it waits
 * for has happened.  The ledger answers each operation exactly once.  Who does not want the answer
 * any more drops the operation: then it comes back soon, CANCELLED, unless it was on its way
 * already. */
#ifndef ERGON_JOBS_OPERATION_H
#define ERGON_JOBS_OPERATION_H

#include "proto/errors.h"
#include "proto/pack.h"
#include "server/jobs/core/job_spec.h"
#include "server/runtime/threads/lane.h"
#include "base/slab.h"
#include "server/tasks/call.h"

enum {
    OPERATION_TEXT_MAX = 240,
    OPERATION_LINE_MAX = OPERATION_TEXT_MAX + 40, /* "CODE: text" */
    OPERATION_IDS_MAX = 1024,
    OPERATION_ROOM = 512 /* bytes of what is asked that the operation itself has room for */
};

enum operation_kind {
    OPERATION_SUBMIT,      /* orders[0] -> {id, state, durable, duplicate, coalesced} */
    OPERATION_SUBMIT_MANY, /* orders -> [as above, or {error: "NAME: text"}] */
    OPERATION_CALL,  /* orders[0] -> its result or error; dropping the operation cancels the task */
    OPERATION_GET,   /* ids[0], flags -> the task */
    OPERATION_WAIT,  /* ids, any, timeout -> {ended: [task], open: [id]} */
    OPERATION_WATCH, /* ids[0], from, max, timeout, push -> {events, next, missed, ended} */
    OPERATION_CANCEL,  /* ids[0] -> {id, state, cancelled} */
    OPERATION_RETRY,   /* ids[0] -> {id, state} */
    OPERATION_LIST,    /* filter -> {tasks, next} */
    OPERATION_EXPLAIN, /* ids[0] */
    OPERATION_QUEUE_LIST,
    OPERATION_QUEUE_EXPLAIN, /* name: of the method */
    OPERATION_QUEUE_PAUSE,
    OPERATION_QUEUE_RESUME,
    OPERATION_QUEUE_DRAIN,
    OPERATION_CRON_PUT, /* cron */
    OPERATION_CRON_LIST,
    OPERATION_CRON_DELETE, /* name */
    OPERATION_AUDIT
};

enum cron_overlap { CRON_SKIP, CRON_ALLOW, CRON_REPLACE };
enum cron_catch_up { CRON_CATCH_NONE, CRON_CATCH_ONE, CRON_CATCH_ALL };

/* What cron.put was told. */
struct cron_spec {
    struct span name, schedule, zone; /* zone empty: UTC */
    struct span options;              /* raw map of the options as they came, kept for cron.list */
    uint8_t overlap, catch_up;
    ao_time jitter;
    struct job_spec task; /* delay, at, key and after are not given */
};

struct job_filter {
    int state; /* enum job_state; -1 any */
    struct span method, tenant, key;
    bool has_method, has_tenant, has_key;
    ao_time older, newer; /* age at least, at most; 0: not given */
    uint64_t cursor;      /* id: goes on behind it; 0: from the newest */
    uint32_t max;
};

struct operation_item {
    struct lane_item item; /* first */
    enum { ITEM_OPERATION, ITEM_DROP, ITEM_PUSH } kind;
};

/* What became of one order of a submission. */
struct submission_outcome {
    uint64_t id;
    enum ergon_error error; /* ERGON_OK: it was taken */
    char *text;             /* of an error; malloc'ed; NULL: the error's meaning */
    uint8_t durable;        /* enum job_durable: what was reached */
    bool duplicate, coalesced;
    uint32_t before; /* the outcome before that names the same task, plus 1; 0: none */
};

/* An operation that waits for a job: one of the job's, one of the operation's.  The ledger's. */
struct operation_wait {
    struct operation *op;
    struct job *entry;
    struct operation_wait *prev_of_entry, *next_of_entry;
    struct operation_wait *next_of_ask;
    uint32_t outcome; /* of a submission: the last outcome that names the job, plus 1 */
};

/* What most asks do not need stands at the end, and is not even zeroed for those that submit one
 * task: they are many. */
struct operation {
    struct operation_item item; /* first */
    enum operation_kind verb;
    struct slab *cells; /* that it came from; NULL: malloc'ed */

    /* --- The loop's; the ledger does not look --- */
    struct call call; /* in the connection's list of calls in flight */
    void *loop;
    bool gone;         /* nobody waits for it any more: dropped */
    bool answered;     /* it came back */
    bool dropped_back; /* so did its drop */
    struct operation_item drop;

    /* --- What is asked; spans, orders and ids lie in `memory` --- */
    struct span principal;  /* who asks; empty: anybody */
    bool confined;          /* tasks of other tenants do not exist for it */
    struct job_spec *specs; /* spec_count */
    uint32_t spec_count;
    uint32_t id_count;
    uint64_t *ids;
    struct span name;
    ao_time timeout; /* of a long poll; 0: none */
    uint32_t from, max;
    bool any, with_result, with_history, push;
    void *memory; /* malloc'ed, and freed with the operation; NULL: `room` is enough */

    /* --- The answer: valid when it came back --- */
    enum ergon_error error; /* ERGON_OK: operation_result() */
    uint32_t short_result;  /* bytes of `text` that are the result; 0: `result` is */
    struct pack result;     /* initialised by the ledger; zeroed: nil */

    /* --- The ledger's, while it has it --- */
    struct operation *prev, *next; /* of those that wait for the same thing */
    struct jobs_channel *door;
    struct jobs *jobs;                   /* while it has a timeout */
    struct operation_wait *waits;        /* one an id that it waits for; NULL */
    struct ao timer;                     /* its timeout */
    uint32_t open;                       /* how many of what it waits for have not come */
    bool held;                           /* it waits for something */
    struct submission_outcome *outcomes; /* of a submission: spec_count, `outcome` or malloc'ed */

    /* --- Undefined until written --- */
    struct submission_outcome outcome; /* of one order */
    struct operation_wait wait;        /* the first of `waits` */
    char code[33];                 /* of a handler's own failure, else empty: the error's name */
    char text[OPERATION_TEXT_MAX]; /* of an error */
    union {
        struct job_spec spec;     /* for `orders`, of one */
        struct cron_spec cron;    /* OPERATION_CRON_PUT; zeroed */
        struct job_filter filter; /* OPERATION_LIST; zeroed */
    };
    alignas(8) uint8_t room[OPERATION_ROOM]; /* for what is asked */
};

/* Something for an operation that stays open: a watcher's events.  Freed by the loop. */
struct operation_push {
    struct operation_item item; /* first */
    struct operation *op;
    struct pack message; /* the parameters of the notification, packed */
};

/* A cell of `cells`, which are of this size, or malloc'ed; NULL without memory. */
struct operation *operation_new(struct slab *cells, enum operation_kind verb);
void operation_free(struct operation *op); /* on the thread of its cells; NULL is fine */

/* Room for so many bytes of what is asked, once; NULL without memory. */
uint8_t *operation_room(struct operation *op, size_t bytes);
/* What was answered, if there is no error; empty: nil. */
struct span operation_result(const struct operation *op);

#endif
