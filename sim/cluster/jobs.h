/* Checks what clients, handlers and workers of a cluster see of tasks against docs/cluster.md.
 * Each submission has a serial, which is the first parameter of its handler.
 *
 * kept: a task whose submission was answered `replicated` is there, and ends, whatever was lost;
 * the rows that an owner wrote can be read by the next one.
 * refused: a submission that was answered with an error other than UNSURE begins no attempt.
 * once: an id is of one submission, and a key of one task.
 * attempts: of a task with `fsync` or above no number is given out twice, they grow, and each
 * number that is skipped has a reason: an attempt that was lost, a take-over, the end of a node;
 * none begins that is two ahead of its row.
 * ends: an end that a client saw stays, and no attempt begins after it; the result is that of the
 * attempt that the server names.
 *
 * A task that a client runs again or deletes may begin, and its key may be of another one.
 *
 * A process that stood still, and one that was cut off, may begin an attempt late, which it had
 * been given before (cluster.md, "Not promised"): sim_jobs_excuse() names those times. */
#ifndef ERGON_SIM_CLUSTER_JOBS_H
#define ERGON_SIM_CLUSTER_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

enum { SIM_JOB_ID = 40 };
enum sim_level { SIM_IN_MEMORY, SIM_ASYNC, SIM_FSYNC, SIM_REPLICATED };

struct sim_request;

struct sim_job {
    uint64_t serial; /* from 1 */
    char id[SIM_JOB_ID];
    enum sim_level level;
    bool keyed;        /* it has the key of its serial */
    bool kills;        /* its handler kills the process */
    bool works;        /* workers run it, and not the nodes themselves */
    bool acknowledged; /* it has an id */
    bool retried;      /* after its end, perhaps */
    bool forgotten;    /* likewise; its key may be of another task then */
    bool unsure;       /* of a submission nothing is known */
    uint32_t asked, refused;
    uint64_t ended_at; /* when a client saw its end; SIM_NEVER: none did */
    char end[12];      /* then its state */
    bool open;         /* in calm: it has not ended */
    uint32_t begun;    /* attempts */
    uint64_t ahead;    /* an attempt that began two ahead of its row; 0: none */
    uint64_t known_at; /* when it was acknowledged first */
    uint64_t id_at;    /* when `id` was answered */
    uint64_t
        epoch; /* the owner's, when it became `fsync` or above: former ones may repeat numbers */
    uint64_t changes; /* sim_nodes_changes(), when it was submitted */
};

/* The nodes have no store in common: two of them may give the same id. */
void sim_jobs_apart(void);
/* A new submission.  NULL: there are too many. */
struct sim_job *sim_job_new(void);
struct sim_job *sim_job_of(uint64_t serial);
struct sim_job *sim_job_any(void); /* by SIM_DEEDS; NULL: none */
uint32_t sim_job_count(void);

/* The answer to its submission, or that the connection was lost before. */
void sim_job_answered(struct sim_job *j, const struct sim_request *r);
/* An answer of task.get, which was asked at that time. */
void sim_job_saw(struct sim_job *j, struct span result, uint64_t asked);
/* A handler begins.  `id`: empty if the handler does not know it; then `number` means nothing. */
void sim_job_begins(uint64_t serial, struct span id, uint64_t number, uint64_t at);
/* Something stood still, or was cut off, until now, or will be from now on. */
void sim_jobs_excuse(bool begins);
/* Nothing is excused that happens a second after this. */
bool sim_jobs_excused_since(uint64_t time);

#endif
