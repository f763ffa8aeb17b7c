/* What a loop asks of the ledger, and how the answer comes back.
 *
 * An ask is made by the rpc layer on its loop, given to the ledger through a lane, and comes back
 * through another with its answer: at once, when a commit is on disk, or when what it waits for
 * has happened.  The ledger answers each ask exactly once.  Who does not want the answer any more
 * drops the ask: then it comes back soon, CANCELLED, unless it was on its way already. */
#ifndef ERGON_LEDGER_ASK_H
#define ERGON_LEDGER_ASK_H

#include "proto/errors.h"
#include "proto/pack.h"
#include "server/ledger/order.h"
#include "server/runtime/lane.h"
#include "base/slab.h"
#include "server/tasks/call.h"

enum {
    ASK_TEXT_MAX = 240,
    ASK_LINE_MAX = ASK_TEXT_MAX + 40, /* "CODE: text" */
    ASK_IDS_MAX = 1024,
    ASK_ROOM = 512 /* bytes of what is asked that the ask itself has room for */
};

enum ask_verb {
    ASK_SUBMIT,      /* orders[0] -> {id, state, durable, duplicate, coalesced} */
    ASK_SUBMIT_MANY, /* orders -> [as above, or {error: "NAME: text"}] */
    ASK_CALL,        /* orders[0] -> its result or error; dropping the ask cancels the task */
    ASK_GET,         /* ids[0], flags -> the task */
    ASK_WAIT,        /* ids, any, timeout -> {ended: [task], open: [id]} */
    ASK_WATCH,       /* ids[0], from, max, timeout, push -> {events, next, missed, ended} */
    ASK_CANCEL,      /* ids[0] -> {id, state, cancelled} */
    ASK_RETRY,       /* ids[0] -> {id, state} */
    ASK_LIST,        /* filter -> {tasks, next} */
    ASK_EXPLAIN,     /* ids[0] */
    ASK_QUEUE_LIST,
    ASK_QUEUE_EXPLAIN, /* name: of the method */
    ASK_QUEUE_PAUSE,
    ASK_QUEUE_RESUME,
    ASK_QUEUE_DRAIN,
    ASK_CRON_PUT, /* cron */
    ASK_CRON_LIST,
    ASK_CRON_DELETE, /* name */
    ASK_AUDIT
};

enum cron_overlap { CRON_SKIP, CRON_ALLOW, CRON_REPLACE };
enum cron_catch_up { CRON_CATCH_NONE, CRON_CATCH_ONE, CRON_CATCH_ALL };

/* What cron.put was told. */
struct cron_order {
    struct span name, schedule, zone; /* zone empty: UTC */
    struct span options;              /* raw map of the options as they came, kept for cron.list */
    uint8_t overlap, catch_up;
    ao_time jitter;
    struct order task; /* delay, at, key and after are not given */
};

struct ask_filter {
    int state; /* enum ledger_state; -1 any */
    struct span method, tenant, key;
    bool has_method, has_tenant, has_key;
    ao_time older, newer; /* age at least, at most; 0: not given */
    uint64_t cursor;      /* id: goes on behind it; 0: from the newest */
    uint32_t max;
};

struct ask_item {
    struct lane_item item; /* first */
    enum { ASK_ITSELF, ASK_DROP, ASK_PUSH } kind;
};

/* What became of one order of a submission. */
struct ask_outcome {
    uint64_t id;
    enum ergon_error error; /* ERGON_OK: it was taken */
    char *text;             /* of an error; malloc'ed; NULL: the error's meaning */
    uint8_t durable;        /* enum ledger_durable: what was reached */
    bool duplicate, coalesced;
    uint32_t before; /* the outcome before that names the same task, plus 1; 0: none */
};

/* An ask that waits for an entry: one of the entry's, one of the ask's.  The ledger's. */
struct ledger_wait {
    struct ask *ask;
    struct entry *entry;
    struct ledger_wait *prev_of_entry, *next_of_entry;
    struct ledger_wait *next_of_ask;
    uint32_t outcome; /* of a submission: the last outcome that names the entry, plus 1 */
};

/* What most asks do not need stands at the end, and is not even zeroed for those that submit one
 * task: they are many. */
struct ask {
    struct ask_item item; /* first */
    enum ask_verb verb;
    struct slab *cells; /* that it came from; NULL: malloc'ed */

    /* --- The loop's; the ledger does not look --- */
    struct call call; /* in the connection's list of calls in flight */
    void *loop;
    bool gone;         /* nobody waits for it any more: dropped */
    bool answered;     /* it came back */
    bool dropped_back; /* so did its drop */
    struct ask_item drop;

    /* --- What is asked; spans, orders and ids lie in `memory` --- */
    struct span principal; /* who asks; empty: anybody */
    bool confined;         /* tasks of other tenants do not exist for it */
    struct order *orders;  /* order_count */
    uint32_t order_count;
    uint32_t id_count;
    uint64_t *ids;
    struct span name;
    ao_time timeout; /* of a long poll; 0: none */
    uint32_t from, max;
    bool any, with_result, with_history, push;
    void *memory; /* malloc'ed, and freed with the ask; NULL: `room` is enough */

    /* --- The answer: valid when it came back --- */
    enum ergon_error error; /* ERGON_OK: ask_result() */
    uint32_t short_result;  /* bytes of `text` that are the result; 0: `result` is */
    struct pack result;     /* initialised by the ledger; zeroed: nil */

    /* --- The ledger's, while it has it --- */
    struct ask *prev, *next; /* of those that wait for the same thing */
    struct ledger_door *door;
    struct ledger *ledger;        /* while it has a timeout */
    struct ledger_wait *waits;    /* one an id that it waits for; NULL */
    struct ao timer;              /* its timeout */
    uint32_t open;                /* how many of what it waits for have not come */
    bool held;                    /* it waits for something */
    struct ask_outcome *outcomes; /* of a submission: order_count, `outcome` or malloc'ed */

    /* --- Undefined until written --- */
    struct ask_outcome outcome; /* of one order */
    struct ledger_wait wait;    /* the first of `waits` */
    char code[33];              /* of a handler's own failure, else empty: the error's name */
    char text[ASK_TEXT_MAX];    /* of an error */
    union {
        struct order order;       /* for `orders`, of one */
        struct cron_order cron;   /* ASK_CRON_PUT; zeroed */
        struct ask_filter filter; /* ASK_LIST; zeroed */
    };
    alignas(8) uint8_t room[ASK_ROOM]; /* for what is asked */
};

/* Something for an ask that stays open: a watcher's events.  Freed by the loop. */
struct ask_push {
    struct ask_item item; /* first */
    struct ask *ask;
    struct pack message; /* the parameters of the notification, packed */
};

/* A cell of `cells`, which are of this size, or malloc'ed; NULL without memory. */
struct ask *ask_new(struct slab *cells, enum ask_verb verb);
void ask_free(struct ask *a); /* on the thread of its cells; NULL is fine */

/* Room for so many bytes of what is asked, once; NULL without memory. */
uint8_t *ask_room(struct ask *a, size_t bytes);
/* What was answered, if there is no error; empty: nil. */
struct span ask_result(const struct ask *a);

#endif
