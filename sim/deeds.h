/* The requests of clients beside submissions: a table with a row for each method of PROTOCOL.md,
 * and checks of the answers.  worker.c calls the methods of workers.
 *
 * deeds: each method that server.methods lists has a row, or the run is a finding.
 *
 * audit: server.audit says that the accounts balance (tasks.md, "Look into the store").
 *
 * keys: two submissions with one key are one task, while the task is kept (tasks.md, "Submit the
 * same work once").
 *
 * pause: no task of a queue begins once its pause was answered (tasks.md, "Pause and drain
 * queues").
 *
 * after: a task begins after the task that it waits for is done (tasks.md, "Run tasks after
 * others").
 *
 * rates: in any period of a rate no more of its tasks start than it allows (tasks.md, "Limits and
 * rates").
 *
 * events: the number of an event grows (PROTOCOL.md, "Semaphores and events"). */
#ifndef ERGON_SIM_DEEDS_H
#define ERGON_SIM_DEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct sim_burst;
struct sim_request;
struct sim_task;

struct sim_deed_row {
    const char *method;
    /* Adds one request to the burst of this client.  NULL: other code sends this method. */
    void (*put)(struct sim_burst *b, uint32_t client);
};

extern const struct sim_deed_row sim_deeds[];
extern const uint32_t sim_deed_count;

void sim_deeds_node_started(void);
/* Call with the result of server.methods. */
void sim_check_deeds(struct span result);

/* The name of the only rate. */
#define SIM_RATE "rate"
/* Call when a submission of a script sets this number for the rate. */
void sim_rate_asked(uint64_t max, struct sim_request *r);

/* Call when a task of this method began, with the time. */
void sim_check_pause(const char *method, uint64_t began);
/* Returns how long the tasks of the rate need if they begin in calm. */
uint64_t sim_deeds_rate_ms(void);
/* After a start: asks for the numbers of the rate, by the latest tasks that have it. */
void sim_deeds_explain_rate(struct sim_burst *b);
void sim_deeds_resume(struct sim_burst *b); /* resumes all queues that may be paused */

/* In calm: call the first with what task.get returns of each task that has ended, and then the
 * second. */
void sim_deeds_saw_end(struct sim_task *t, struct span task);
void sim_check_order(void);

#endif
