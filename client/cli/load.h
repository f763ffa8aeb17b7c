/* A load run: many connections with many requests in flight each, driven by one thread as fast as
 * answers come (closed loop). */
#ifndef ERGON_CLI_LOAD_H
#define ERGON_CLI_LOAD_H

#include "client/cli/histogram.h"
#include "client/cli/peer.h"

enum { LOAD_CODES_MAX = 32, LOAD_CODE_SIZE = 32 };

struct load_plan {
    struct peer_target target;
    uint32_t connections;
    uint32_t in_flight;   /* of each connection */
    uint64_t duration_ns; /* 0: no limit */
    uint64_t requests;    /* of all connections together; 0: no limit */
    struct span method;
    struct span params; /* raw */

    /* Called from time to time, while connecting with connected < connections.  May be NULL. */
    void (*progress)(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers);
    void *progress_arg;
    int stop_fd; /* readable: the run is to end early.  -1: none */
};

struct load_errors {
    char code[LOAD_CODE_SIZE]; /* "BUSY"; "other" for errors without a code */
    uint64_t count;
};

struct load_result {
    struct histogram latency; /* ns, of every answer, errors too */
    uint64_t sent;
    uint64_t good;   /* answers without an error */
    uint64_t lost;   /* requests whose connection broke, or that had no answer at the end */
    uint32_t broken; /* connections */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t elapsed_ns; /* first request to last answer */
    struct load_errors errors[LOAD_CODES_MAX];
    size_t error_kinds;
    char why[256]; /* of a failed start, or of the last connection that broke */
};

/* Blocks for the whole run.  STATUS_OK when it ran, whatever the answers were;
 * STATUS_INTERRUPTED when stop_fd ended it before its first request; otherwise
 * result->why. The result is to be given to load_result_fini() in either case. */
enum status load_run(const struct load_plan *plan, struct load_result *result);
void load_result_fini(struct load_result *result);

#endif
