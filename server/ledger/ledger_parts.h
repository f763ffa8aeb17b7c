/* The insides of the ledger, for the files of this folder: who does what.
 *
 *   submit.c     an order becomes an entry                  turn.c      the one place where states
 * change attempt.c    entries are given, run, return             timing.c    what is due by the
 * clock outcome.c    done, failed, retried, dead                after.c     what must be done first
 *   records.c    entries to the store, commits from it      recover.c   the store read back
 *   keep.c       what has ended is forgotten                queues.c    one per method: paused,
 * drained serve.c      asks, by verb                              wait.c      asks that wait for an
 * end watch.c      asks that follow a history                 read.c      entries as MessagePack
 *   list.c       task.list                                  explain.c   task.explain, queue.explain
 *   audit.c      the accounts                               crons.c     tasks by calendar
 *   door.c       the lanes from and to the loops */
#ifndef ERGON_LEDGER_PARTS_H
#define ERGON_LEDGER_PARTS_H

#include "server/ledger/history.h"
#include "server/ledger/hold.h"
#include "server/ledger/ids.h"
#include "server/ledger/keys.h"
#include "server/ledger/ledger.h"
#include "server/ledger/pick.h"
#include "server/ledger/retry.h"
#include "server/runtime/figure.h"
#include "server/store/store.h"
#include "server/tasks/kept.h"
#include "server/tasks/tasks.h"

/* The tasks of one method. */
struct ledger_queue {
    struct ledger_queue *next; /* all, in order of their making */
    struct span name;
    struct method *method; /* NULL: no module offers it; its tasks wait in `held` */
    bool paused, draining;
    struct entry_list held;                /* picked while paused, or nobody offers the method */
    uint64_t by_state[LEDGER_STATE_COUNT]; /* entries */
    uint64_t submitted, done, failed;      /* since the start */
};

/* An ask that waits for an entry: one of the entry's, one of the ask's. */
struct ledger_wait {
    struct ask *ask;
    struct entry *entry;
    struct ledger_wait *prev_of_entry, *next_of_entry;
    struct ledger_wait *next_of_ask;
    uint32_t from; /* of a watcher: the next event that it has not seen */
};

/* The accounts, of the tasks that are in the store and of those that are not. */
struct account {
    uint64_t submitted, ended[LEDGER_STATE_COUNT]; /* ended: of the states that are not open */
};

struct crons;

struct ledger {
    struct ledger_options options;
    struct tasks *tasks;
    struct store *store; /* NULL: none */
    struct activator *activator;
    struct ao ao; /* asks that came, operations that came back, work in small steps */
    struct ledger_door *doors;
    struct tenant **tenants; /* table */
    uint32_t tenant_buckets, tenant_count;
    struct ledger_queue *queues, *queues_last;
    struct id_table ids;
    struct key_table keys, shared; /* by `key`; by `coalesce` of the open ones */
    struct hold_table *holds;
    struct entry *first, *last; /* all, by id */
    struct entry_list ended;    /* in order of their end */
    uint64_t ended_bytes;
    struct pick picks[PICK_KINDS];
    struct entry_list starting[PICK_KINDS]; /* picked; their start is being committed */
    struct entry_list started[PICK_KINDS];  /* it is: to be given before anything else */
    struct entry_list outs; /* whose current attempt is out, in the order of their giving */
    bool full[PICK_KINDS];  /* executors, as the manager last said */
    bool stopping;
    uint32_t out; /* attempts given and not returned */
    struct crons *crons;
    struct account kept, fleeting; /* durable, and not */
    struct store_counts add;       /* to go with the next operation */
    enum store_error store_error;  /* of what came back last */
    struct entry_list unsaved;     /* their last change failed: it is tried again */
    struct ao retry;               /* sleeps until then */
    uint64_t next_id;
    uint64_t bytes; /* held by entries */
    uint64_t count;
    uint64_t hash_seed[2];
    figure shown_tasks, shown_bytes, submitted, starts, retries, fenced;
    figure by_state[LEDGER_STATE_COUNT];
};

/* --- ledger.c --- */
uint64_t ledger_wall(const struct ledger *l);                  /* Unix ns */
ao_time ledger_now(const struct ledger *l);                    /* of this round */
uint64_t ledger_wall_of(const struct ledger *l, ao_time when); /* Unix ns of a time of this clock */
ao_time ledger_time_of(const struct ledger *l, uint64_t unix_ns); /* the other way; past: now */
struct tenant *ledger_tenant(struct ledger *l, struct span name); /* made when new; NULL: memory */
struct ledger_queue *ledger_queue(struct ledger *l, struct span method); /* likewise */
struct entry *ledger_find(const struct ledger *l, uint64_t id);
unsigned ledger_kind(const struct entry *e); /* of its method; index of a pick */

/* --- turn.c: the one function that changes a state.  It keeps the counters, writes the history,
 * tells who waits, and makes the entry's timer sleep until what comes next. --- */
void ledger_turn(struct ledger *l, struct entry *e, enum ledger_state state,
                 enum ledger_reason reason);

/* --- submit.c --- */
/* An order becomes an entry, or finds the one that it names.  ERGON_OK; or BUSY, NOT_FOUND, ...
 * and a text. */
struct submitted {
    struct entry *entry;
    bool duplicate, coalesced;
};
enum ergon_error ledger_submit(struct ledger *l, const struct order *order, struct submitted *out,
                               char *text, size_t size);
/* ASK_SUBMIT, ASK_SUBMIT_MANY, ASK_CALL: fills ask->outcomes; an order that is to be on disk first
 * makes the ask wait for its entry (wait_join), as ASK_CALL does for the end. */
void submit_serve(struct ledger *l, struct ask *a);
/* Nothing is waited for any more: packs the outcomes and finishes the ask. */
void submit_answer(struct ledger *l, struct ask *a);
/* Where a new, due, granted or woken entry goes: delayed, waiting, or queued. */
void ledger_place(struct ledger *l, struct entry *e, bool front);
void ledger_entry_free(struct ledger *l, struct entry *e); /* nothing refers to it */
struct entry *ledger_entry_new(struct ledger *l, const struct order *order, uint64_t id);

/* --- outcome.c --- */
/* Ends an open entry for good; `code` and `text` of an error, or NULL.  A durable one is seen to
 * have ended when that is committed. */
void ledger_end(struct ledger *l, struct entry *e, enum ledger_state state, const char *code,
                const char *text);
void ledger_cancel(struct ledger *l, struct entry *e);
bool ledger_retry(struct ledger *l, struct entry *e); /* false: it is open, or done */

/* --- attempt.c --- */
void ledger_connect(struct ledger *l);                   /* makes it the manager's source */
void ledger_withdraw(struct ledger *l, struct entry *e); /* out of wherever it waits; gives back
                                                            slot and token; flags what runs */
void ledger_release_slot(struct ledger *l, struct entry *e);

/* --- timing.c --- */
extern const struct ao_class ledger_entry_class;
void ledger_set_timer(struct ledger *l, struct entry *e);

/* --- after.c --- */
bool after_link(struct ledger *l, struct entry *e, const uint64_t *ids, uint32_t count, char *text,
                size_t size);
void after_ended(struct ledger *l, struct entry *e); /* those that waited for it go on, or fail */
void after_unlink(struct ledger *l, struct entry *e);

/* --- records.c --- */
bool records_usable(const struct ledger *l); /* may a durable task be taken now? */
void records_put(struct ledger *l, struct entry *e);
void records_change(struct ledger *l, struct entry *e);
void records_remove(struct ledger *l, struct entry *e);
void records_event(struct ledger *l, struct entry *e, const struct history_event *event);
bool records_take(struct ledger *l); /* what came back; true: nothing is left */
void records_task(const struct ledger *l, const struct entry *e, struct store_task *out);

/* --- keep.c --- */
void keep_ended(struct ledger *l, struct entry *e); /* it has ended, and everybody may see it */
bool keep_trim(struct ledger *l);                   /* a small step; true: nothing is left */
void keep_forget(struct ledger *l, struct entry *e);

/* --- queues.c --- */
enum { QUEUE_PAIRS = 14 };
void queues_serve(struct ledger *l, struct ask *a);
/* The queue that the ask names; NULL: answered NOT_FOUND. */
struct ledger_queue *queues_find(struct ledger *l, struct ask *a);
void queues_pack(struct ledger *l, const struct ledger_queue *q, struct pack *p); /* QUEUE_PAIRS */
void queues_look(struct ledger *l); /* brings the stages of all that is out up to date */
/* A small step: entries in `held` of queues that go on are queued again; true: none is left. */
bool queues_go_on(struct ledger *l);

/* --- wait.c, watch.c --- */
void wait_serve(struct ledger *l, struct ask *a);
bool wait_join(struct ledger *l, struct ask *a, struct entry *e); /* false without memory */
/* Starts the time of a long poll; false: it has none, and is to be answered now. */
bool wait_hold(struct ledger *l, struct ask *a);
void wait_overdue(struct ask *a);                 /* that time is over: packs the answer */
void wait_leave(struct ledger *l, struct ask *a); /* the ask waits for nothing any more */
void wait_ended(struct ledger *l, struct entry *e);
/* Its PUT came back.  An error is written into the outcomes of the submissions that wait for it;
 * those that wait for nothing more are answered (submit_answer).  The entry itself is the
 * caller's to drop. */
void wait_committed(struct ledger *l, struct entry *e, enum store_error error);
/* Its loop wants it no more: it leaves what it waits for, and goes back CANCELLED.  The entry of an
 * ASK_CALL is cancelled. */
void wait_dropped(struct ledger *l, struct ask *a);
void watch_serve(struct ledger *l, struct ask *a);
void watch_answer(struct ledger *l, struct ask *a);  /* packs what there is to see */
void watch_event(struct ledger *l, struct entry *e); /* its history has grown */
extern const struct ao_class ledger_ask_class;       /* of an ask's timeout */

/* --- read.c --- */
enum read_part { READ_RESULT = 1, READ_HISTORY = 2 };
void read_entry(struct ledger *l, struct entry *e, unsigned parts, struct pack *p);
/* Where its attempt is by now, as the executor says: assigned, running or parked.  Before anybody
 * is shown the entry; of one that is not out a no-op. */
void read_stage(struct ledger *l, struct entry *e);
void read_event(const struct history_event *event, struct pack *p);
void read_serve(struct ledger *l, struct ask *a); /* task.get */

/* --- list.c, explain.c, audit.c --- */
void list_serve(struct ledger *l, struct ask *a);
void explain_serve(struct ledger *l, struct ask *a);
void explain_queue_serve(struct ledger *l, struct ask *a);
void audit_serve(struct ledger *l, struct ask *a);
void audit_answer(struct ledger *l, struct ask *a, const struct store_audit *rows); /* NULL: none */

/* --- crons.c --- */
struct crons *crons_new(struct ledger *l);
void crons_free(struct crons *c);
void crons_serve(struct ledger *l, struct ask *a);
bool crons_recover(struct ledger *l, const struct store_cron *row);
void crons_start(struct ledger *l); /* after the recovery: what was missed is caught up */

/* --- serve.c --- */
void ledger_serve(struct ledger *l, struct ask *a);
void ask_refuse(struct ledger *l, struct ask *a, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void ask_finish(struct ledger *l, struct ask *a); /* answered as it stands: back to its loop */
/* ids[0]'s entry; NULL: answered NOT_FOUND. */
struct entry *ask_entry(struct ledger *l, struct ask *a);

/* --- door.c --- */
bool doors_take(struct ledger *l); /* asks that came are served; true: nothing is left */
void door_return(struct ask *a);
void door_push(struct ask *a, struct ask_push *push);
void doors_free(struct ledger *l);

#endif
