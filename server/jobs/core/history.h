/* The history of one job: a bounded log, from which the oldest events are dropped first.  Sequence
 * numbers start at 1 (the submission, which needs no memory) and never go back.
 *
 * Thread: the jobs'.  Without memory an event is lost, and the gap shows in the numbers;
 * so is one behind JOB_COUNT_MAX others. */
#ifndef ERGON_JOBS_HISTORY_H
#define ERGON_JOBS_HISTORY_H

#include "server/jobs/core/job.h"

/* The limits of the history of one job, and of one event.  A longer text is cut; longer data are
 * left out.  Tracebacks of failures go before the first event does. */
enum {
    HISTORY_BYTES_MAX = 64 * 1024,
    HISTORY_TEXT_MAX = 1024,
    HISTORY_SAID_STEP = 64, /* of what handlers say, numbers that are multiples of it are stored */
    HISTORY_DATA_MAX = HISTORY_BYTES_MAX - HISTORY_TEXT_MAX - 64
};

struct history_event {
    uint32_t seq, attempt;
    uint8_t what;           /* enum job_event */
    uint8_t reason;         /* enum job_reason; of a wait */
    uint64_t at;            /* Unix ns */
    uint16_t worker;        /* of a start: its slot in worker_labels; 0: none */
    struct span text, data; /* data: raw MessagePack; of a failure its traceback, a str */
};

/* Does the event of this kind have a traceback in place of data? */
static inline bool history_has_traceback(uint8_t what)
{
    return what == JOB_EVENT_ATTEMPT_FAILED || what == JOB_EVENT_TIMED_OUT;
}

/* Appends an event; its text and data are copied, and a reference to its worker is taken.  At most
 * `max` events are kept.  Returns its number, also where there is no memory for it.  The caller
 * weighs the job. */
uint32_t history_add(struct job *job, const struct history_event *event, uint32_t max);
/* The numbers below are taken: the next is this one, unless it is higher already. */
void history_skip(struct job *job, uint32_t next);
uint32_t history_next(const struct job *job);   /* the number that the next event will get */
uint32_t history_oldest(const struct job *job); /* number of the first that is kept; 0: none */
/* The first event from `seq` on, the submission included; false: none yet.  Spans are valid until
 * the next history_add(). */
bool history_get(const struct job *job, uint32_t seq, struct history_event *out);
/* The event of this kind of this attempt, the last one of those; false: it is not kept. */
bool history_find(const struct job *job, uint8_t what, uint32_t attempt, struct history_event *out);
void history_free(struct job *job);
size_t history_bytes(const struct job *job);

/* The number of the first event that was not pushed to the store. */
uint32_t history_stored(const struct job *job);
/* All events were pushed. */
void history_mark_stored(struct job *job);

#endif
