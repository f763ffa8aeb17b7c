/* The trace that a job belongs to, as it was submitted with it: passed on to what runs its
 * attempts, told to who asks, and written with its options.
 *
 * Thread: the jobs'; what a running attempt was given of it stays as it is until that has
 * returned. */
#ifndef ERGON_JOBS_JOB_TRACE_H
#define ERGON_JOBS_JOB_TRACE_H

#include "proto/traceparent.h"

struct job_trace {
    struct trace_link link;
    struct trace_link passed;    /* what the current attempt was given */
    uint64_t queued;             /* Unix ns: when it last came to its queue; 0: its wait was told */
    bool told;                   /* its end was, or was in a life before */
    char text[TRACEPARENT_SIZE]; /* its context */
    char state[];                /* its tracestate */
};

/* One malloc'ed block, the caller's; NULL without memory. */
struct job_trace *job_trace_new(const struct trace_link *link);

size_t job_trace_bytes(const struct job_trace *trace);

#endif
