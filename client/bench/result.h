/* What a load, or one thread of it, has measured: of the requests that were to be sent after the
 * warm-up.  Each result is one thread's at a time. */
#ifndef ERGON_BENCH_RESULT_H
#define ERGON_BENCH_RESULT_H

#include "client/bench/histogram.h"
#include "client/bench/protocol.h"

enum { LOAD_CODES_MAX = 32, LOAD_WHY_SIZE = 256 };

struct load_errors {
    char code[ANSWER_CODE_SIZE]; /* "BUSY"; "other" for errors without a code */
    uint64_t count;
};

struct load_result {
    /* ns, of every answer, errors too; open loop: from when it was to be sent. */
    struct histogram latency;
    struct histogram lag; /* ns, what the generator added itself; open loop */
    /* ns, of each connection, up to its being ready for a request; with churn only of those of the
     * churn. */
    struct histogram opening;
    uint64_t due;  /* requests that the schedule had; open loop */
    uint64_t held; /* of them waited for a place in flight */
    uint64_t sent;
    uint64_t good; /* answers without an error */
    uint64_t lost; /* requests whose connection broke, or that had no answer at the end */
    uint64_t churn_due;
    uint64_t churned; /* of them, connections that were closed in order to be opened anew */
    uint64_t resumed; /* of the count of `opening` */
    uint32_t broken;  /* connections */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t elapsed_ns; /* first request to last answer, or to the end of sending */
    double busy;         /* share of that time that the busiest thread was running */
    struct load_errors errors[LOAD_CODES_MAX];
    size_t error_kinds;
    char why[LOAD_WHY_SIZE]; /* of a failed start, or of the last connection that broke */
};

/* False: out of memory; load_result_fini() must follow even so. */
bool load_result_init(struct load_result *r);
void load_result_fini(struct load_result *r);

void load_result_add_errors(struct load_result *r, const char *code, uint64_t count);

/* Adds what another thread of the same load has measured. */
void load_result_add(struct load_result *to, const struct load_result *from);

#endif
