/* The insides of the ledger, for the files of this folder: who does what.
 *
 *   submit.c     an order becomes an entry        place.c      where a runnable entry goes
 *   turn.c       the one place of state changes   attempt.c    entries are given, run, return
 *   outcome.c    done, failed, retried, dead      timing.c     what is due by the clock
 *   holding.c    slots and tokens                 after.c      what must be done first
 *   rows.c       entries as rows                  recover.c    the store read back
 *   records.c    entries to the store, commits
 *   keep.c       what has ended is forgotten      names.c      tenants and queues by name
 *   serve.c      asks, by verb                    door.c       the lanes from and to the loops
 *   orders.c     asks that submit                 wait.c       asks that wait for an end
 *   watch.c      asks that follow a history       read.c       entries as MessagePack
 *   queues.c     queue.*                          list.c       task.list
 *   explain.c    task.explain, queue.explain      audit.c      the accounts
 *   crons.c      tasks by calendar                suspects.c   what ran at crashes runs alone
 *   told.c       histories read back */
#ifndef ERGON_LEDGER_PARTS_H
#define ERGON_LEDGER_PARTS_H

#include "server/ledger/history.h"
#include "server/ledger/hold.h"
#include "server/ledger/ids.h"
#include "server/ledger/keys.h"
#include "server/ledger/ledger.h"
#include "server/ledger/pick.h"
#include "server/ledger/retry.h"
#include "base/counter.h"
#include "base/slab.h"
#include "server/store/store.h"
#include "server/tasks/job_source.h"
#include "server/tasks/tasks.h"

/* The tasks of one method. */
struct ledger_queue {
    struct ledger_queue *next; /* all, in order of their making */
    struct span name;
    struct method *method; /* NULL: no module offers it; its tasks wait in `held` */
    bool paused, draining;
    bool saved;                            /* as paused, in the file, as far as it has come back */
    bool saving;                           /* an operation that says so is on its way */
    struct ask *asks;                      /* that wait for that, by `next` */
    struct entry_list held;                /* picked while paused, or nobody offers the method */
    uint64_t by_state[LEDGER_STATE_COUNT]; /* entries */
    uint64_t submitted, done, failed;      /* since the start */
    uint64_t oldest; /* when its oldest open task was submitted, when it was last looked at */
};

/* The accounts, of the tasks that are in the store and of those that are not. */
struct account {
    uint64_t submitted, ended[LEDGER_STATE_COUNT]; /* ended: of the states that are not open */
};

struct audit;
struct crons;

/* The state of an entry before its first turn. */
enum { LEDGER_NEW = LEDGER_STATE_COUNT };

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
    struct ledger_queue **by_method;   /* by the method's index; NULL: not made yet */
    struct ledger_queue *recent_queue; /* of a method that is offered, asked for last; NULL */
    struct tenant *recent_tenant;      /* asked for last; NULL */
    struct id_table ids;
    struct key_table keys, shared; /* by `key`; by `coalesce` of the open ones */
    struct hold_table *holds;
    struct slab entries[ENTRY_CELLS]; /* with bodies of more and more bytes */
    struct slab records;              /* operations of the store */
    struct entry *first, *last;       /* all, by id */
    struct entry_list ended;          /* in order of their end */
    uint64_t ended_bytes;
    struct pick picks[PICK_KINDS];
    struct entry_list starting[PICK_KINDS]; /* picked; their start is being committed */
    struct entry_list started[PICK_KINDS];  /* it is: to be given before anything else */
    struct entry_list outs; /* whose current attempt is out, in the order of their giving */
    bool full[PICK_KINDS];  /* executors, as the manager last said */
    bool stopping;
    bool recovering;            /* entries come from the store: nothing is counted, noted or told */
    uint32_t out;               /* attempts given and not returned */
    struct entry *suspect;      /* who has the place for suspects; NULL: it is free */
    struct entry_list suspects; /* who wait for it */
    struct crons *crons;
    struct audit *audit;           /* under way; NULL: none */
    struct account kept, fleeting; /* durable, and not */
    enum store_error store_error;  /* of what came back last */
    struct entry *unsaved_at;      /* where the search for such goes on; NULL: at the first */
    uint64_t unsaved;              /* entries whose last operation failed: it is tried again */
    struct ao retry;               /* sleeps until then */
    struct entry *releasing, *releasing_last; /* ended: who waits for them is told in small steps */
    struct entry_list released; /* what they waited for has ended: looked at in small steps */
    uint64_t next_id;
    uint64_t bytes; /* held by entries */
    uint64_t count;
    uint64_t hash_seed[2];
    counter shown_tasks, shown_bytes, submitted, starts, retries, fenced;
    counter by_state[LEDGER_STATE_COUNT];
};

/* --- ledger.c --- */
uint64_t ledger_wall(const struct ledger *l);                  /* Unix ns */
ao_time ledger_now(const struct ledger *l);                    /* of this round */
uint64_t ledger_wall_of(const struct ledger *l, ao_time when); /* Unix ns of a time of this clock */
ao_time ledger_time_of(const struct ledger *l, uint64_t unix_ns); /* the other way; past: now */
ao_time ledger_after(const struct ledger *l, ao_time duration);   /* from now; may be AO_NEVER */
struct entry *ledger_find(const struct ledger *l, uint64_t id);
unsigned ledger_kind(const struct entry *e); /* of its method; index of a pick */
/* Around what changes the bytes of an entry: `was` is entry_bytes() before. */
void ledger_weigh(struct ledger *l, const struct entry *e, size_t was);

/* --- names.c --- */
int names_init(struct ledger *l); /* the tenants that the options name; 0, or -1 without memory */
void names_fini(struct ledger *l);
struct tenant *ledger_tenant(struct ledger *l, struct span name); /* made when new; NULL: memory */
void ledger_tenant_drop(struct ledger *l, struct tenant *t);      /* one entry less names it */
struct ledger_queue *ledger_queue_found(struct ledger *l,
                                        struct span method);             /* NULL: none, so far */
struct ledger_queue *ledger_queue(struct ledger *l, struct span method); /* likewise made */

/* --- turn.c: the one function that changes a state.  It keeps the counters, writes the history,
 * tells who waits, and makes the entry's timer sleep until what comes next. --- */
void ledger_turn(struct ledger *l, struct entry *e, enum ledger_state state,
                 enum ledger_reason reason);
/* An event of its history: kept, stored, told to watchers.  `seq`, `at` and `attempt` are filled
 * in; NULL: no text. */
void ledger_note(struct ledger *l, struct entry *e, enum ledger_event what, const char *text);
/* "CODE: text" of how it ended, or its last attempt; empty: no error. */
void ledger_end_text(const struct entry *e, char text[ASK_LINE_MAX]);
void ledger_note_event(struct ledger *l, struct entry *e, struct history_event event);

/* Is it open, with no end under way? */
static inline bool ledger_is_open(const struct entry *e)
{
    return (e->state == LEDGER_NEW || ledger_state_open((enum ledger_state)e->state)) &&
           !entry_is(e, ENTRY_ENDING);
}

/* --- submit.c --- */
/* An order becomes an entry, or finds the one that it names.  ERGON_OK; or BUSY, NOT_FOUND, ...
 * and a text. */
struct submitted {
    struct entry *entry;
    bool duplicate, coalesced;
};
enum ergon_error ledger_submit(struct ledger *l, const struct order *order, struct submitted *out,
                               char *text, size_t size);
void ledger_entries_init(struct ledger *l);
void ledger_entries_fini(struct ledger *l); /* all of them were freed */
/* An entry of this order, in no state yet, not in the tables of keys.  NULL without memory. */
struct entry *ledger_entry_new(struct ledger *l, const struct order *order, uint64_t id);
/* Into the list of all and the tables; ids come in ascending order. */
void ledger_entry_enter(struct ledger *l, struct entry *e);
void ledger_entry_free(struct ledger *l, struct entry *e); /* nothing refers to it */
/* Into the tables of keys; what has ended is shared with nobody. */
void ledger_entry_name(struct ledger *l, struct entry *e, bool open);
void entry_end_free(struct entry *e);
/* What it was ordered with, the defaults included: only retries, back-off, jitter and keep. */
void ledger_policy(const struct entry *e, struct order *out);
struct entry_more *ledger_more(struct entry *e); /* made when it has none; NULL without memory */

/* --- orders.c --- */
/* ASK_SUBMIT, ASK_SUBMIT_MANY, ASK_CALL: fills ask->outcomes; an order that is to be on disk first
 * makes the ask wait for its entry (wait_join), as ASK_CALL does for the end. */
void submit_serve(struct ledger *l, struct ask *a);
/* Nothing is waited for any more: packs the outcomes and finishes the ask. */
void submit_answer(struct ledger *l, struct ask *a);

/* --- place.c --- */
/* Where a new, due, granted or woken entry goes: delayed, waiting, or queued. */
void ledger_place(struct ledger *l, struct entry *e, bool front);
/* The same for one that can only be queued; ends nobody, so that it may be called for many. */
void ledger_queue_up(struct ledger *l, struct entry *e, bool front);
/* Out of wherever it waits; gives back slot and token; what runs is flagged and does not count any
 * more. */
void ledger_withdraw(struct ledger *l, struct entry *e);

/* --- outcome.c --- */
/* Ends an open entry for good; `code` and `text` of an error, or NULL.  A durable one is seen to
 * have ended when that is committed. */
void ledger_end(struct ledger *l, struct entry *e, enum ledger_state state, const char *code,
                const char *text);
/* One who wants it less.  True: nobody wants it any more, and it is, or will be, cancelled. */
bool ledger_cancel(struct ledger *l, struct entry *e);
bool ledger_retry(struct ledger *l, struct entry *e); /* false: it is open, or done */

/* How an attempt came home.  The entry holds nothing of it any more. */
void outcome_returned(struct ledger *l, struct entry *e, const struct attempt_end *r);
/* Its attempt failed: it is tried again later, or has failed for good. */
void outcome_failed(struct ledger *l, struct entry *e, enum ledger_event what, const char *code,
                    const char *text);

/* --- attempt.c --- */
void ledger_connect(struct ledger *l); /* makes it the manager's source */
/* Its attempt is out and does not count any more: flagged, its return is awaited. */
void attempt_unstart(struct ledger *l, struct entry *e); /* its start was committed in vain */
void attempts_end(struct ledger *l); /* the threads have ended; see ledger_stop() */
void attempt_disown(struct ledger *l, struct entry *e, enum attempt_flag flag);

/* --- holding.c --- */
extern const struct ao_class ledger_bucket_class; /* of a bucket's timer */
/* Limit and bucket of an order; false without memory. */
bool holding_join(struct ledger *l, struct entry *e, const struct order *order);
void holding_leave(struct ledger *l, struct entry *e); /* before it is freed */
bool holding_take(struct ledger *l, struct entry *e);  /* false: it waits for a slot, or a token */
void ledger_release_slot(struct ledger *l, struct entry *e);
void holding_start(struct ledger *l, struct entry *e);   /* its token is used */
void holding_release(struct ledger *l, struct entry *e); /* slot and token: it does not start */
void holding_release_stray(struct ledger *l, struct entry *e); /* a slot that its stray has had */

/* --- suspects.c --- */
bool suspects_take(struct ledger *l, struct entry *e);  /* false: it waits for the place */
void suspects_leave(struct ledger *l, struct entry *e); /* its attempt, if any, is over; or no-op */
void suspects_returned(struct ledger *l, const struct entry *e); /* a stray of it */
bool suspects_go_on(struct ledger *l); /* a small step; true: nothing is left */

/* --- timing.c --- */
extern const struct ao_class ledger_entry_class;
enum ao_verdict ledger_entry_due(struct ao *self); /* its step */
void ledger_set_timer(struct ledger *l, struct entry *e);

/* --- after.c --- */
/* ERGON_OK, or NOT_FOUND, BAD_PARAMS and a text; MEMORY without one. */
enum ergon_error after_link(struct ledger *l, struct entry *e, const uint64_t *ids, uint32_t count,
                            char *text, size_t size);
/* The same for those of an order, who may not see all tenants. */
enum ergon_error after_order(struct ledger *l, struct entry *e, const struct order *o, char *text,
                             size_t size);
bool after_go_on(struct ledger *l); /* a small step of `released`; true: nothing is left */
void after_ended(struct ledger *l, struct entry *e);  /* those that waited for it go on, or fail */
void after_finish(struct ledger *l, struct entry *e); /* the same at once */
void after_unlink(struct ledger *l, struct entry *e); /* it waits for nothing any more */
void after_forget(struct entry *e);                   /* nor does anybody for it */
void after_settle(struct ledger *l, struct entry *e); /* what it came after counts no more */
void after_fail(struct ledger *l, struct entry *e);   /* by its after_failed */

/* --- recover.c --- */
void recover_go_on(struct ledger *l); /* with the store started */

/* --- told.c --- */
void told_event(struct ledger *l, const struct store_event *row); /* one of the file, in order */
void told_crash(struct ledger *l, struct entry *e);  /* of one that ran when the server died */
void told_by_row(struct ledger *l, struct entry *e); /* before its history is looked at */

/* --- rows.c --- */
/* Puts the row that the file does not have yet, or changes it; NULL without memory.  Its spans lie
 * in the entry, but for what may change while it is on its way; the entry is
 * counted as it is now, and the tag is what it was counted as before, should it fail. */
struct store_op *rows_op(struct ledger *l, struct entry *e);
void rows_init(struct ledger *l);
void rows_fini(struct ledger *l); /* all operations have come back */
/* An operation, zeroed, and `more` bytes behind it; NULL without memory.  Those that come back are
 * freed by records_take(). */
struct store_op *rows_op_new(struct ledger *l, enum store_verb verb, size_t more);
void rows_op_free(struct ledger *l, struct store_op *op);

/* --- records.c --- */
bool records_usable(const struct ledger *l); /* may a durable task be taken now? */
/* What is new of a durable entry is written; of another a no-op. */
void records_change(struct ledger *l, struct entry *e);
void records_forget(struct ledger *l, struct entry *e); /* it is being freed */
extern const struct ao_class ledger_retry_class;        /* of l->retry */
void records_flush(struct ledger *l); /* pushes what waits for an operation; before the stop */
void records_remove(struct ledger *l, struct entry *e);
void records_event(struct ledger *l, struct entry *e, const struct history_event *event);
/* What its row told of its history is stored: from now on the row tells something else. */
void records_told(struct ledger *l, struct entry *e);
bool records_take(struct ledger *l); /* what came back; true: nothing is left */

/* --- keep.c --- */
void keep_ended(struct ledger *l, struct entry *e); /* it has ended, and everybody may see it */
bool keep_trim(struct ledger *l);                   /* a small step; true: nothing is left */
bool keep_shrink(struct ledger *l); /* forgets one; false: there is none that may be */
void keep_forget(struct ledger *l, struct entry *e);
void keep_reclaim(struct ledger *l, struct entry *e); /* it goes on */

/* --- queues.c --- */
enum { QUEUE_PAIRS = 14 };
void queues_serve(struct ledger *l, struct ask *a);
/* The queue that the ask names; NULL: answered NOT_FOUND. */
struct ledger_queue *queues_find(struct ledger *l, struct ask *a);
void queues_pack(const struct ledger_queue *q, struct pack *p); /* QUEUE_PAIRS */
void queues_returned(struct ledger *l, struct store_op *op);    /* one of STORE_PAUSE, _RESUME */
bool queues_save(struct ledger *l); /* what is not in the file yet, once more; false: all is */
void queues_look(struct ledger *l); /* before: what is asked only when somebody looks */
/* A small step: entries in `held` of queues that go on are queued again; true: none is left. */
bool queues_go_on(struct ledger *l);

/* --- wait.c, watch.c --- */
void wait_serve(struct ledger *l, struct ask *a);
bool wait_join(struct ledger *l, struct ask *a, struct entry *e); /* false without memory */
/* Starts the time of a long poll; false: it has none, or the server stops, and it is to be answered
 * now. */
bool wait_hold(struct ledger *l, struct ask *a);
void wait_overdue(struct ask *a);                 /* that time is over: packs the answer */
void wait_leave(struct ledger *l, struct ask *a); /* the ask waits for nothing any more */
void wait_answer(struct ledger *l, struct ask *a, const struct entry *e); /* ASK_CALL: it ended */
void wait_ended(struct ledger *l, struct entry *e);
/* Its PUT came back.  An error is written into the outcomes of the submissions that wait for it;
 * those that wait for nothing more are answered (submit_answer).  The entry itself is the
 * caller's to drop. */
void wait_committed(struct ledger *l, struct entry *e, enum store_error error);
/* Its loop wants it no more: it leaves what it waits for, and goes back CANCELLED.  The entry of an
 * ASK_CALL is cancelled. */
void wait_dropped(struct ledger *l, struct ask *a);
/* The server stops: long polls are answered as things stand, and, with `cancel`, task.call too. */
void wait_stop(struct ledger *l, bool cancel);
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
bool audit_go_on(struct ledger *l); /* a small step; true: nothing to do, or the store has it */
void audit_stop(struct ledger *l);  /* who asked is answered DRAINING */
/* Around what changes the state of an entry, or whether it is durable. */
void audit_changing(const struct ledger *l, const struct entry *e);
void audit_changed(const struct ledger *l, const struct entry *e);
void audit_freed(const struct ledger *l, const struct entry *e);
void audit_rows(struct ledger *l, const struct store_op *op);        /* a STORE_COUNT came back */
void audit_row_changed(struct ledger *l, const struct store_op *op); /* a row operation; written */

/* --- crons.c --- */
struct crons *crons_new(struct ledger *l);
void crons_free(struct crons *c);
void crons_serve(struct ledger *l, struct ask *a);
void crons_returned(struct ledger *l, struct store_op *op); /* one of STORE_CRON_... came back */
bool crons_recover(struct ledger *l, const struct store_cron *row);
void crons_start(struct ledger *l); /* after the recovery: what was missed is caught up */

/* --- serve.c --- */
void ledger_serve(struct ledger *l, struct ask *a);
/* That it is cancelled is on disk, or could not be written: who waits for that is answered. */
void cancel_saved(struct ledger *l, struct entry *e, enum store_error error);
void ask_refuse(struct ledger *l, struct ask *a, enum ergon_error error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void ask_finish(struct ledger *l, struct ask *a); /* answered as it stands: back to its loop */
/* Is the entry one of those that it may know of? */
bool ask_may_know(const struct ask *a, const struct entry *e);
/* ids[0]'s entry; NULL: answered NOT_FOUND. */
struct entry *ask_entry(struct ledger *l, struct ask *a);

/* --- door.c --- */
bool doors_take(struct ledger *l); /* asks that came are served; true: nothing is left */
void door_return(struct ask *a);
void door_push(struct ask *a, struct ask_push *push);
void doors_flush(struct ledger *l); /* on the loops' behalf, when they do not run any more */
void doors_free(struct ledger *l);

#endif
