/* One server.audit under way.  Ledger's thread. */
#ifndef ERGON_JOBS_AUDIT_H
#define ERGON_JOBS_AUDIT_H

#include "server/jobs/jobs_parts.h"

struct audit {
    struct operation *operations; /* that are answered with it, by `next` */
    /* Jobs: of none, of the others; by state. */
    uint64_t open[2], states[JOB_STATE_COUNT];
    struct job *at; /* the next to be counted; NULL: all are */
    uint64_t upto;  /* id: those up to here are counted */
    /* Rows of the store. */
    uint64_t rows_open;
    uint64_t rows_below;          /* id: those below are counted */
    struct store_counts counters; /* of when the last were counted */
    bool rows_done;
    enum store_error rows_error;
};

void audit_answer(struct jobs *jobs, struct operation *op, const struct audit *au); /* complete */

#endif
