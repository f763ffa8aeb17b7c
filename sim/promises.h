/* What the documents promise, as checkers that hear what clients saw, and nothing of the server's
 * inside.  One that is broken is a finding.
 *
 * answers: every request gets exactly one response (PROTOCOL.md).
 *
 * kept: a submission that was answered `fsync` is there after any death; and what task.get said of
 * it when all was quiet, it says after a death (docs/promises.md).
 *
 * ends: an end that somebody saw stays, unless the task is retried; and in calm every task comes to
 * its end (tasks.md).
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
    char run[SIM_NAME];     /* of a run that others may join: its name; else empty */
    uint32_t joined;        /* of a run: submissions that were answered, and not cancelled */
    bool certain;           /* of a run: no answer was lost that would change `joined` */
    bool durable;           /* its submission was answered, on disk */
    uint32_t retries;       /* that were asked for */
    uint32_t retries_open;  /* that were not answered, or never will be */
    uint64_t serial;        /* of its submission, where workers run it; see attempts.h */
    bool meddled;           /* somebody asked for another time or another run of it */
    uint64_t closed_at;     /* nothing begins from then on; SIM_NEVER: it may */
    bool named;             /* others name it: it is not forgotten */
    bool forgotten;         /* somebody asked to forget it, or it is as it ends */
    bool of_rate;           /* it has the rate of deeds.c */
    struct sim_task *after; /* that is to be done first; NULL: none */
    bool done;              /* and when it started and ended, Unix ms: as told in the last calm */
    uint64_t started_ms, ended_ms;
    bool end_seen; /* it had ended, and nobody has asked for another run since */
    uint8_t *said; /* what task.get said last, in quiet; NULL: nothing that holds */
    size_t said_len;
};

extern struct sim_task sim_tasks[SIM_TASKS_MAX];
extern uint32_t sim_task_count;

struct sim_task *sim_task_of_serial(uint64_t serial); /* NULL: none, or 0 */

/* A submission was answered; `run`: the name that it joins, "" if none.  NULL: there is no room to
 * follow it. */
struct sim_task *sim_saw_submit(struct span result, const char *run);
void sim_saw_cancel(struct sim_task *t, struct span result);
/* An answer was lost that would have told what became of this run. */
void sim_lost(const char *run);

/* When all was quiet, and the node dies before anything else is asked. */
void sim_note_said(struct sim_task *t, struct span result);
/* After a death.  An error is a finding.  `mark`: sim_end_mark() as it was asked. */
void sim_compare_said(struct sim_task *t, uint32_t mark, struct span error, struct span result);
void sim_forget_said(void); /* something was asked since */
/* The server may have forgotten tasks that ended: a clock that leapt ended their time, or together
 * they may have more bytes than `tasks.kept_bytes` allows (tasks.md). */
bool sim_may_be_forgotten(void);
/* An end that somebody saw does not turn back, unless it is retried. */
void sim_asked_retry(struct sim_task *t);
void sim_saw_retry(struct sim_task *t);
void sim_saw_end(struct sim_task *t);            /* it has ended, or its cancel was answered */
uint32_t sim_end_mark(const struct sim_task *t); /* as somebody asks for the task */
void sim_saw_get(struct sim_task *t, uint32_t mark, struct span result);
bool sim_has_ended(struct span result);
/* After a long calm. */
void sim_check_ended(const struct sim_task *t, struct span result);

#endif
