/* The insides of the ledger, for the files of this folder: who does what.
 *
 *   submit.c     a job spec becomes a job        place.c      where a runnable job goes
 *   turn.c       the one place of state changes   attempt.c    jobs are given, run, return
 *   outcome.c    done, failed, retried, dead      timing.c     what is due by the clock
 *   holding.c    slots and tokens                 after.c      what must be done first
 *   rows.c       jobs as rows                  recover.c    the store read back
 *   records.c    jobs to the store, commits
 *   keep.c       what has ended is forgotten      names.c      tenants and queues by name
 *   audit.c      the accounts
 *   suspects.c   what ran at crashes runs alone
 *   told.c       histories read back */
#ifndef ERGON_JOBS_JOBS_PARTS_H
#define ERGON_JOBS_JOBS_PARTS_H

#include "server/jobs/core/history.h"
#include "server/jobs/sched/limits.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/keys.h"
#include "server/jobs/jobs.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/sched/fair_queue.h"
#include "server/jobs/life/backoff.h"
#include "base/counter.h"
#include "base/slab.h"
#include "server/store/store.h"
#include "server/tasks/job_source.h"
#include "server/tasks/tasks.h"

/* The tasks of one method. */
struct job_queue {
    struct job_queue *next; /* all, in order of their making */
    struct span name;
    struct method *method; /* NULL: no module offers it; its tasks wait in `held` */
    bool paused, draining;
    bool saved;                         /* as paused, in the file, as far as it has come back */
    bool saving;                        /* an operation that says so is on its way */
    struct operation *operations;       /* that wait for that, by `next` */
    struct job_list held;               /* picked while paused, or nobody offers the method */
    uint64_t by_state[JOB_STATE_COUNT]; /* jobs */
    uint64_t submitted, done, failed;   /* since the start */
    uint64_t oldest; /* when its oldest open task was submitted, when it was last looked at */
};

/* The accounts, of the tasks that are in the store and of those that are not. */
struct account {
    uint64_t submitted, ended[JOB_STATE_COUNT]; /* ended: of the states that are not open */
};

struct audit;
struct crons;

/* The state of a job before its first turn. */
enum { JOB_NEW = JOB_STATE_COUNT };

struct jobs {
    struct jobs_options options;
    struct tasks *tasks;
    struct store *store; /* NULL: none */
    struct activator *activator;
    struct ao ao; /* asks that came, operations that came back, work in small steps */
    struct jobs_channel *channels;
    struct tenant **tenants; /* table */
    uint32_t tenant_buckets, tenant_count;
    struct job_queue *queues, *queues_last;
    struct job_queue **by_method;   /* by the method's index; NULL: not made yet */
    struct job_queue *recent_queue; /* of a method that is offered, asked for last; NULL */
    struct tenant *recent_tenant;   /* asked for last; NULL */
    struct id_table ids;
    struct key_table keys, shared; /* by `key`; by `coalesce` of the open ones */
    struct limit_table *holds;
    struct slab entries[JOB_CELLS]; /* with bodies of more and more bytes */
    struct slab records;            /* operations of the store */
    struct job *first, *last;       /* all, by id */
    struct job_list ended;          /* in order of their end */
    uint64_t ended_bytes;
    struct fair_queue picks[JOB_KINDS];
    struct job_list starting[JOB_KINDS]; /* picked; their start is being committed */
    struct job_list started[JOB_KINDS];  /* it is: to be given before anything else */
    struct job_list outs; /* whose current attempt is out, in the order of their giving */
    bool full[JOB_KINDS]; /* executors, as the manager last said */
    bool stopping;
    bool recovering;          /* jobs come from the store: nothing is counted, noted or told */
    uint32_t out;             /* attempts given and not returned */
    struct job *suspect;      /* who has the place for suspects; NULL: it is free */
    struct job_list suspects; /* who wait for it */
    struct crons *crons;
    struct audit *audit;           /* under way; NULL: none */
    struct account kept, fleeting; /* durable, and not */
    enum store_error store_error;  /* of what came back last */
    struct job *unsaved_at;        /* where the search for such goes on; NULL: at the first */
    uint64_t unsaved;              /* jobs whose last operation failed: it is tried again */
    struct ao retry;               /* sleeps until then */
    struct job *releasing, *releasing_last; /* ended: who waits for them is told in small steps */
    struct job_list released; /* what they waited for has ended: looked at in small steps */
    uint64_t next_id;
    uint64_t bytes; /* held by jobs */
    uint64_t count;
    uint64_t hash_seed[2];
    counter shown_tasks, shown_bytes, submitted, starts, retries, fenced;
    counter by_state[JOB_STATE_COUNT];
};

/* --- ledger.c --- */
uint64_t jobs_wall(const struct jobs *jobs);                  /* Unix ns */
ao_time jobs_now(const struct jobs *jobs);                    /* of this round */
uint64_t jobs_wall_of(const struct jobs *jobs, ao_time when); /* Unix ns of a time of this clock */
ao_time jobs_time_of(const struct jobs *jobs, uint64_t unix_ns);    /* the other way; past: now */
ao_time jobs_time_after(const struct jobs *jobs, ao_time duration); /* from now; may be AO_NEVER */
struct job *jobs_find(const struct jobs *jobs, uint64_t id);
unsigned job_kind(const struct job *job); /* of its method; index of a pick */
/* Around what changes the bytes of a job: `was` is job_bytes() before. */
void jobs_weigh(struct jobs *jobs, const struct job *job, size_t was);

/* --- names.c --- */
int names_init(struct jobs *jobs); /* the tenants that the options name; 0, or -1 without memory */
void names_fini(struct jobs *jobs);
struct tenant *jobs_tenant(struct jobs *jobs, struct span name); /* made when new; NULL: memory */
void tenant_unref(struct jobs *jobs, struct tenant *t);          /* one job less names it */
struct job_queue *job_queue_find(struct jobs *jobs, struct span method); /* NULL: none, so far */
struct job_queue *job_queue(struct jobs *jobs, struct span method);      /* likewise made */

/* --- turn.c: the one function that changes a state.  It keeps the counters, writes the history,
 * tells who waits, and makes the job's timer sleep until what comes next. --- */
void job_set_state(struct jobs *jobs, struct job *job, enum job_state state,
                   enum job_reason reason);
/* An event of its history: kept, stored, told to watchers.  `seq`, `at` and `attempt` are filled
 * in; NULL: no text. */
void job_note(struct jobs *jobs, struct job *job, enum job_event what, const char *text);
/* "CODE: text" of how it ended, or its last attempt; empty: no error. */
void job_end_text(const struct job *job, char text[OPERATION_LINE_MAX]);
void job_note_event(struct jobs *jobs, struct job *job, struct history_event event);

/* Is it open, with no end under way? */
static inline bool job_is_open(const struct job *job)
{
    return (job->state == JOB_NEW || job_state_open((enum job_state)job->state)) &&
           !job_is(job, JOB_ENDING);
}

/* --- submit.c --- */
/* A job spec becomes a job, or finds the one that it names.  ERGON_OK; or BUSY, NOT_FOUND, ...
 * and a text. */
struct submitted {
    struct job *entry;
    bool duplicate, coalesced;
};
enum ergon_error job_submit(struct jobs *jobs, const struct job_spec *spec, struct submitted *out,
                            char *text, size_t size);
void jobs_cells_init(struct jobs *jobs);
void jobs_cells_fini(struct jobs *jobs); /* all of them were freed */
/* A job of this order, in no state yet, not in the tables of keys.  NULL without memory. */
struct job *job_new(struct jobs *jobs, const struct job_spec *spec, uint64_t id);
/* Into the list of all and the tables; ids come in ascending order. */
void job_enter(struct jobs *jobs, struct job *job);
void job_free(struct jobs *jobs, struct job *job); /* nothing refers to it */
/* Into the tables of keys; what has ended is shared with nobody. */
void job_enter_keys(struct jobs *jobs, struct job *job, bool open);
void job_result_free(struct job *job);
/* What it was ordered with, the defaults included: only retries, back-off, jitter and keep. */
void job_policy(const struct job *job, struct job_spec *out);
struct job_more *job_more(struct job *job); /* made when it has none; NULL without memory */

/* --- place.c --- */
/* Where a new, due, granted or woken job goes: delayed, waiting, or queued. */
void job_schedule(struct jobs *jobs, struct job *job, bool front);
/* The same for one that can only be queued; ends nobody, so that it may be called for many. */
void job_enqueue(struct jobs *jobs, struct job *job, bool front);
/* Out of wherever it waits; gives back slot and token; what runs is flagged and does not count any
 * more. */
void job_dequeue(struct jobs *jobs, struct job *job);

/* --- outcome.c --- */
/* Ends an open job for good; `code` and `text` of an error, or NULL.  A durable one is seen to
 * have ended when that is committed. */
void job_end(struct jobs *jobs, struct job *job, enum job_state state, const char *code,
             const char *text);
/* One who wants it less.  True: nobody wants it any more, and it is, or will be, cancelled. */
bool job_cancel(struct jobs *jobs, struct job *job);
bool job_retry(struct jobs *jobs, struct job *job); /* false: it is open, or done */

/* How an attempt came home.  The job holds nothing of it any more. */
void outcome_returned(struct jobs *jobs, struct job *job, const struct attempt_end *r);
/* Its attempt failed: it is tried again later, or has failed for good. */
void outcome_failed(struct jobs *jobs, struct job *job, enum job_event what, const char *code,
                    const char *text);

/* --- attempt.c --- */
void attempts_connect(struct jobs *jobs); /* makes it the manager's source */
/* Its attempt is out and does not count any more: flagged, its return is awaited. */
void attempt_unstart(struct jobs *jobs, struct job *job); /* its start was committed in vain */
void attempts_end(struct jobs *jobs); /* the threads have ended; see jobs_stop() */
void attempt_disown(struct jobs *jobs, struct job *job, enum attempt_flag flag);

/* --- holding.c --- */
extern const struct ao_class bucket_timer_class; /* of a bucket's timer */
/* Limit and bucket of a job spec; false without memory. */
bool admission_join(struct jobs *jobs, struct job *job, const struct job_spec *spec);
void admission_leave(struct jobs *jobs, struct job *job); /* before it is freed */
bool admission_take(struct jobs *jobs,
                    struct job *job); /* false: it waits for a slot, or a token */
void admission_release_permit(struct jobs *jobs, struct job *job);
void admission_start(struct jobs *jobs, struct job *job);   /* its token is used */
void admission_release(struct jobs *jobs, struct job *job); /* slot and token: it does not start */
void admission_release_orphan(struct jobs *jobs,
                              struct job *job); /* a slot that its stray has had */

/* --- suspects.c --- */
bool quarantine_take(struct jobs *jobs, struct job *job); /* false: it waits for the place */
void quarantine_leave(struct jobs *jobs,
                      struct job *job); /* its attempt, if any, is over; or no-op */
void quarantine_returned(struct jobs *jobs, const struct job *job); /* a stray of it */
bool quarantine_go_on(struct jobs *jobs); /* a small step; true: nothing is left */

/* --- timing.c --- */
extern const struct ao_class job_timer_class;
enum ao_verdict job_due(struct ao *self); /* its step */
void job_set_timer(struct jobs *jobs, struct job *job);

/* --- after.c --- */
/* ERGON_OK, or NOT_FOUND, BAD_PARAMS and a text; MEMORY without one. */
enum ergon_error dependencies_link(struct jobs *jobs, struct job *job, const uint64_t *ids,
                                   uint32_t count, char *text, size_t size);
/* The same for those of a job spec, who may not see all tenants. */
enum ergon_error dependencies_join(struct jobs *jobs, struct job *job, const struct job_spec *spec,
                                   char *text, size_t size);
bool dependencies_go_on(struct jobs *jobs); /* a small step of `released`; true: nothing is left */
void dependencies_ended(struct jobs *jobs,
                        struct job *job); /* those that waited for it go on, or fail */
void dependencies_finish(struct jobs *jobs, struct job *job); /* the same at once */
void dependencies_unlink(struct jobs *jobs, struct job *job); /* it waits for nothing any more */
void dependencies_forget(struct job *job);                    /* nor does anybody for it */
void dependencies_settle(struct jobs *jobs,
                         struct job *job);                  /* what it came after counts no more */
void dependencies_fail(struct jobs *jobs, struct job *job); /* by its after_failed */

/* --- recover.c --- */
void recover_go_on(struct jobs *jobs); /* with the store started */

/* --- told.c --- */
void replay_event(struct jobs *jobs, const struct store_event *row); /* one of the file, in order */
void replay_crash(struct jobs *jobs, struct job *job); /* of one that ran when the server died */
void replay_row(struct jobs *jobs, struct job *job);   /* before its history is looked at */

/* --- rows.c --- */
/* Puts the row that the file does not have yet, or changes it; NULL without memory.  Its spans lie
 * in the job, but for what may change while it is on its way; the job is
 * counted as it is now, and the tag is what it was counted as before, should it fail. */
struct store_op *codec_write(struct jobs *jobs, struct job *job);
void codec_init(struct jobs *jobs);
void codec_fini(struct jobs *jobs); /* all operations have come back */
/* An operation, zeroed, and `more` bytes behind it; NULL without memory.  Those that come back are
 * freed by journal_take(). */
struct store_op *codec_write_new(struct jobs *jobs, enum store_verb verb, size_t more);
void codec_write_free(struct jobs *jobs, struct store_op *write);

/* --- records.c --- */
bool journal_usable(const struct jobs *jobs); /* may a durable task be taken now? */
/* What is new of a durable job is written; of another a no-op. */
void journal_change(struct jobs *jobs, struct job *job);
void journal_forget(struct jobs *jobs, struct job *job); /* it is being freed */
extern const struct ao_class journal_retry_class;        /* of l->retry */
void journal_flush(struct jobs *jobs); /* pushes what waits for an operation; before the stop */
void journal_remove(struct jobs *jobs, struct job *job);
void journal_event(struct jobs *jobs, struct job *job, const struct history_event *event);
/* What its row told of its history is stored: from now on the row tells something else. */
void journal_replayed(struct jobs *jobs, struct job *job);
bool journal_take(struct jobs *jobs); /* what came back; true: nothing is left */

/* --- keep.c --- */
void retention_add(struct jobs *jobs, struct job *job); /* it has ended, and everybody may see it */
bool retention_trim(struct jobs *jobs);                 /* a small step; true: nothing is left */
bool retention_evict(struct jobs *jobs); /* forgets one; false: there is none that may be */
void retention_forget(struct jobs *jobs, struct job *job);
void retention_remove(struct jobs *jobs, struct job *job); /* it goes on */

/* --- audit_walk.c --- */
bool audit_go_on(struct jobs *jobs); /* a small step; true: nothing to do, or the store has it */
void audit_stop(struct jobs *jobs);  /* who asked is answered DRAINING */
/* Around what changes the state of a job, or whether it is durable. */
void audit_changing(const struct jobs *jobs, const struct job *job);
void audit_changed(const struct jobs *jobs, const struct job *job);
void audit_freed(const struct jobs *jobs, const struct job *job);
void audit_rows(struct jobs *jobs, const struct store_op *write); /* a STORE_COUNT came back */
void audit_row_changed(struct jobs *jobs,
                       const struct store_op *write); /* a row operation; written */

#endif
