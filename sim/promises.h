/* Checks what clients saw against what the documents promise.  The checkers know nothing of the
 * inside of the server.  A broken promise is a finding.
 *
 * answers: every request gets exactly one response (PROTOCOL.md).
 *
 * kept: a task whose submission was answered `fsync` is there after any death, and task.get returns
 * what it returned in quiet before the death (docs/promises.md).
 *
 * ends: an end that a client saw stays, unless the task is retried; and in calm every task ends
 * (tasks.md).
 *
 * joins: a run that n submissions joined survives n - 1 cancels, also after a restart (PROTOCOL.md,
 * `coalesce`). */
#ifndef ERGON_SIM_PROMISES_H
#define ERGON_SIM_PROMISES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { SIM_ID = 40, SIM_NAME = 24, SIM_TASKS_MAX = 512 };

/* A task that was submitted and answered. */
struct sim_task {
    char id[SIM_ID];
    char run[SIM_NAME];            /* the name of the run that others may join; empty: none */
    uint32_t joined;               /* of a run: submissions that were answered, and not cancelled */
    bool certain;                  /* of a run: no answer was lost that would change `joined` */
    bool durable;                  /* its submission was answered, on disk */
    uint32_t retries;              /* retries that were asked for */
    uint32_t retries_open;         /* those of them without an answer */
    uint64_t serial;               /* of its submission, where workers run it; see attempts.h */
    bool meddled;                  /* a client asked for another time or another run of it */
    uint64_t closed_at;            /* no attempt begins from then on; SIM_NEVER: one may */
    bool named;                    /* other tasks name it, so it is not forgotten */
    bool forgotten;                /* a client asked to forget it, or the server does at its end */
    bool of_rate;                  /* it has the rate of deeds.c */
    struct sim_task *after;        /* must be done before this task; NULL: none */
    bool done;                     /* as task.get said in the last calm, like the next two */
    uint64_t started_ms, ended_ms; /* Unix ms */
    bool end_seen; /* a client saw its end, and none has asked for another run since */
    uint8_t *said; /* the last answer of task.get in quiet; NULL: none that must stay */
    size_t said_len;
};

extern struct sim_task sim_tasks[SIM_TASKS_MAX];
extern uint32_t sim_task_count;

struct sim_task *sim_task_of_serial(uint64_t serial); /* NULL: none; 0 has none */

/* Call when a submission was answered.  `run`: the name of the run that it joins, or "".  Returns
 * NULL if there is no room to follow the task. */
struct sim_task *sim_saw_submit(struct span result, const char *run);
void sim_saw_cancel(struct sim_task *t, struct span result);
/* Call when an answer was lost that would have changed the number of those who joined the run. */
void sim_lost(const char *run);

/* Notes an answer of task.get, in quiet, before the node dies. */
void sim_note_said(struct sim_task *t, struct span result);
/* Compares the answer after the death with the noted one; an error is a finding.  `mark`: the value
 * of sim_end_mark() at the time of the request. */
void sim_compare_said(struct sim_task *t, uint32_t mark, struct span error, struct span result);
void sim_forget_said(void);   /* requests since then may have changed the answers */
uint32_t sim_submitted(void); /* submissions that were answered, followed or not */
/* For the server an hour may have passed since its start, because the schedule is slow or the clock
 * has leapt.  An hour is the delay of a run that others may join, and the `keep` of a task. */
bool sim_hour_is_over(void);
/* The server may have forgotten tasks that ended: their hour is over, or together they may have
 * more bytes than `tasks.kept_bytes` allows (tasks.md). */
bool sim_may_be_forgotten(void);
/* Call these when a client has asked for a retry of the task, or has an answer about it. */
void sim_asked_retry(struct sim_task *t);
void sim_saw_retry(struct sim_task *t);
void sim_saw_end(struct sim_task *t);            /* it has ended, or its cancel was answered */
uint32_t sim_end_mark(const struct sim_task *t); /* call it when a client asks for the task */
void sim_saw_get(struct sim_task *t, uint32_t mark, struct span result);
bool sim_has_ended(struct span result);
/* Call after a long calm. */
void sim_check_ended(const struct sim_task *t, struct span result);

#endif
