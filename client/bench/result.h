/* What a load, or one thread of it, has measured: of the requests that were to be sent after the
 * warm-up.  Each result is one thread's at a time. */
#ifndef ERGON_BENCH_RESULT_H
#define ERGON_BENCH_RESULT_H

#include "client/bench/hdr_histogram.h"
#include "client/bench/protocol.h"
#include "client/bench/series.h"

enum { LOAD_CODES_MAX = 32, LOAD_WHY_SIZE = 256 };

struct load_errors {
    char code[ANSWER_CODE_SIZE]; /* "BUSY"; "other" for errors without a code */
    uint64_t count;
};

/* One call of a mix. */
struct load_call {
    struct hdr_histogram latency; /* as that of the whole */
    uint64_t failed;              /* answers with an error */
};

struct load_result {
    /* ns until each answer without an error; open loop: since its request was due to be sent. */
    struct hdr_histogram latency;
    struct hdr_histogram
        refusal; /* the same of answers with an error, which are cheaper as a rule */
    struct hdr_histogram
        accepted;             /* ns, the same up to the acceptance, of a protocol that tells it */
    struct hdr_histogram lag; /* ns, what the generator added itself; open loop */
    /* ns that each connection took from its begin until it could send a request; in a run with
     * churn, of the connections of the churn only. */
    struct hdr_histogram opening;
    uint64_t due;  /* requests that the schedule had; open loop */
    uint64_t held; /* of them waited for a place in flight */
    uint64_t sent;
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
    struct series series;    /* what counted, by the second; nothing unless the plan wants it */
    struct load_call *calls; /* owned; of a mix, NULL without one */
    uint32_t call_count;
    char why[LOAD_WHY_SIZE]; /* of a failed start, or of the last connection that broke */
};

/* `calls`: of a mix; below two, there is none.  False: out of memory; load_result_fini() must
 * follow even so. */
bool load_result_init(struct load_result *r, uint32_t calls);
void load_result_fini(struct load_result *r);

/* An answer to a call of the mix; `code` NULL: without an error. */
void load_result_note(struct load_result *r, uint32_t call, uint64_t latency_ns, const char *code);

/* All answers. */
static inline uint64_t load_result_answers(const struct load_result *r)
{
    return r->latency.count + r->refusal.count;
}

void load_result_add_errors(struct load_result *r, const char *code, uint64_t count);

/* Adds what another thread of the same load has measured. */
void load_result_add(struct load_result *to, const struct load_result *from);

#endif
