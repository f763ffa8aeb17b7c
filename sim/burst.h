/* Sends requests together and receives their answers: exactly one each, as long as the connection
 * lives. */
#ifndef ERGON_SIM_BURST_H
#define ERGON_SIM_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/wire.h"

enum { SIM_BURST_MAX = 256 };

struct sim_link;
struct sim_task;

enum sim_deed {
    SIM_CALL,
    SIM_SUBMIT,
    SIM_CANCEL,
    SIM_RETRY,
    SIM_RUN_NOW,
    SIM_GET,
    SIM_WORK_CALL,
    SIM_OTHER
};

struct sim_request {
    uint64_t id;
    const char *method;
    enum sim_deed deed;
    char run[24];                        /* the name that a submission joins; empty: none */
    struct sim_task *task;               /* which the request is about; NULL: none */
    void (*heed)(struct sim_request *r); /* called with the answer; may be NULL */
    uint64_t note;                       /* for `heed` */
    uint64_t serial;                     /* of a call or task for workers; 0: none */
    uint32_t mark;                       /* of SIM_GET: sim_end_mark() as it was asked */
    bool brief;                          /* what it submits is forgotten as it ends */
    bool answered;
    uint64_t answered_at;      /* its burst may end much later */
    struct span error, result; /* in the burst's input */
};

struct sim_burst {
    struct sim_bytes out;
    struct sim_request requests[SIM_BURST_MAX];
    uint32_t count;
    uint8_t *in; /* all that came */
    size_t in_len, in_room;
};

/* Adds a request to the burst.  The caller packs its parameters into `out`. */
struct sim_request *sim_burst_add(struct sim_burst *b, enum sim_deed deed, const char *method,
                                  uint32_t params);
/* Sends all requests and waits for the answers.  Returns false if the connection ended before. */
bool sim_burst_run(struct sim_burst *b, struct sim_link *l);
/* Sends all requests and waits for no answer. */
void sim_burst_send(struct sim_burst *b, struct sim_link *l);
bool sim_error_is(const struct sim_request *r, const char *name);
void sim_burst_clear(struct sim_burst *b); /* before the next use; not needed if it is zeroed */

uint64_t sim_requests(void);

#endif
