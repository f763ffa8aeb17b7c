/* What is to be run next, and what holds a job back: the state that the files of this room share,
 * and the ways into it and out of it.
 *
 *     job_schedule() --> queue --> assigned --> running --> out
 *         |                 ^            |
 *         |                 +------------+ taken back before it has begun
 *         +--> a wait: its time, a limit, a rate, a pause, quarantine, other jobs
 *
 * Code that gives something back which another job waits for (a permit, a token, the place for
 * suspects) puts that job into `granted`; scheduler_admit() queues the jobs that are there.  So
 * giving back never calls queueing, and may happen anywhere.
 *
 * Thread: the jobs', which is the manager's activator.  Nothing here blocks. */
#ifndef ERGON_JOBS_SCHEDULER_H
#define ERGON_JOBS_SCHEDULER_H

#include "server/jobs/core/member.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/names.h"
#include "server/jobs/core/transitions.h"
#include "server/jobs/sched/limits.h"
#include "server/jobs/sched/fair_queue.h"
#include "server/jobs/settings.h"

struct board;
struct tasks;
struct tracer; /* server/tracing/tracer.h */

/* First in, first out, by in_line.next. */
struct claims {
    struct pairing_node *first, *last;
};

/* May attempts be given? */
enum start_gate {
    GATE_OPEN,
    GATE_ASKS, /* of a cluster: `may_begin` says it */
    GATE_SHUT
};

struct scheduler {
    struct job_table *table; /* borrowed, as the next two */
    struct tasks *tasks;     /* the manager, which is woken when there is something to run */
    struct ao *ao;           /* activated when there is work for scheduler_go_on() */
    const struct jobs_settings *settings; /* borrowed; its limits change between two steps */
    bool stopping;                        /* nothing is started any more */
    bool refuses;                         /* new tasks, since their numbers are used up */
    uint8_t gate;                         /* enum start_gate */
    bool acts;                            /* what `may_begin` said in the round of `asked` */
    ao_time asked;
    bool (*may_begin)(void *arg); /* NULL without a cluster */
    void *may_begin_arg;
    struct tracer *tracer;         /* borrowed: it gets the spans; NULL: there is none */
    struct message_hooks messages; /* zeroed: there are none */
    struct member_hooks members;   /* of batches */

    struct pool_table pools; /* what is queued and what is assigned */
    struct job_list running; /* their current attempt has begun, in the order in which that was
                              * learned */
    struct board *board;     /* the jobs'; NULL: no job is durable */

    struct limit_table *limits;
    struct row_notes notes;
    bool keeps_rates;         /* there is a file */
    struct job_queue *moving; /* queues of which what is held goes on, by `next_moving` */
    struct job_list granted;  /* what they waited for is theirs: to be queued again */
    struct claims called;     /* of holds: they have their permits, and are to be answered */
    struct job *suspect;      /* it has the place for suspects; NULL: that is free */
    struct job_list suspects; /* they wait for it */

    struct job *releasing, *releasing_last; /* ended: dependants are released in small steps */
    struct job_list released; /* what they waited for has ended: looked at in small steps */

    uint64_t arrivals; /* the number of the last job that joined a queue */
    counter starts, retries, fenced;
    size_t wanted; /* bytes that a new job needs, and that room_trim() makes room for; 0: none */
};

struct scheduler_options {
    struct job_table *table;
    struct tasks *tasks;
    struct ao *ao;
    const struct jobs_settings *settings;
    bool keeps_rates; /* there is a file to which the starts of rates are written */
    struct tracer *tracer;
};

/* Why `refuses` is set: for people; constant. */
extern const char scheduler_no_numbers[];

/* 0, or -1 without memory; scheduler_fini() is right for both. */
int scheduler_init(struct scheduler *s, const struct scheduler_options *options);
void scheduler_fini(struct scheduler *s); /* all jobs were freed */

/* Sends a new, due or woken job where it belongs: to its end, if it was cancelled or its deadline
 * has passed or what it came after did not end well; to a wait; or into the queue: at its end, or
 * with `front` where its arrival says, which is before all for a job that has none. */
void job_schedule(struct scheduler *s, struct job *job, bool front);

/* Queues the jobs that were granted what they waited for. */
void scheduler_admit(struct scheduler *s);

/* The jobs that are held of this queue may go on, in small steps. */
void scheduler_move(struct scheduler *s, struct job_queue *q);

/* A small step: dependants of what has ended, jobs of queues that go on.  True: nothing is left. */
bool scheduler_go_on(struct scheduler *s);

/* --- Methods that workers offer, and stop to offer --- */

/* Jobs of a method for which no worker is there stay in the queue of its pool, in their order;
 * those of a method that has no pool at all wait in `held`.
 *
 * The arguments are those of struct job_source.  Returns the queue of the method, so that it is
 * remembered; NULL without memory, if the method had none yet. */
struct job_queue *offers_changed(struct scheduler *s, struct method *m, bool workers,
                                 struct span last);

/* Workers offer its method, or did so before, in this process or in one that the file tells of: its
 * jobs are accepted though no worker may run them now. */
static inline bool queue_was_offered(const struct job_queue *q)
{
    return q->offer.at > 0;
}

/* --- The end of a job, and its check --- */

/* Lets go of a job that is about to be freed: its dependencies, limit and rate. */
void scheduler_forget(struct scheduler *s, struct job *job);

/* In a build with asserts: the list, permit, token and attempt of the job are those that go with
 * its state.  At the end of each operation, not within one. */
void job_check(const struct scheduler *s, const struct job *job);

#endif
