/* A script lists what a run does, in lines that people can read: requests with their parameters,
 * and faults and stalls with their times.  Everything else is plain: threads run in turn and never
 * stall, bytes arrive whole and at once, and a commit takes 8 ms.
 *
 *     disk 32                              16 ms pass before a commit and 16 ms after it
 *     tear 7                               a power cut tears files by the chance of this seed
 *     schedule 3                           threads, pieces and delays by the chance of this seed
 *     others 9                             workers, holders, a follower of the feed and the
 *                                          faults, as seed 9 has them
 *     flag --loops 3                       a flag of the server; the other flags are plain
 *     start cut 12                         the power goes at the 12th call of the disk
 *     5 c0 t1 = task.submit ["echo",[5]]   client 0 submits a task, which later lines name "$t1"
 *     5 c0 task.cancel ["$t1"]             in the same burst, because it is due at the same time
 *     6.5 c0 leave                         the client closes its connection, or sends and closes
 *     8 stall store poll 20                the thread sleeps for 20 ms at its next such point
 *     10 cut 3                             the power goes at the third call of the disk
 *     30 end power quiet                   the server dies when no client waits for an answer
 *
 * Times are in ms, from the moment at which the server of this life takes requests.  A life ends
 * by `end` (stop, kill or power), and another one begins; the last life ends in calm.  A client
 * sends what is due once all its earlier requests are answered.  It skips requests which name a
 * task that it does not know. */
#ifndef ERGON_SIM_SCRIPT_H
#define ERGON_SIM_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/node.h"

enum {
    SIM_LINES_MAX = 8192,
    SIM_METHOD = 32,
    SIM_WORD = 16,
    SIM_PARAMS = 960 /* bytes of a request's parameters, as JSON */
};

enum sim_line_kind {
    SIM_LINE_DISK,     /* number: ms */
    SIM_LINE_TEAR,     /* number: a seed */
    SIM_LINE_SCHEDULE, /* number: a seed */
    SIM_LINE_OTHERS,   /* number: a seed */
    SIM_LINE_FLAG,     /* method: the flag; params: its value */
    SIM_LINE_START,    /* number: the call at which the power goes */
    SIM_LINE_REQUEST,
    SIM_LINE_LEAVE,
    SIM_LINE_STALL, /* number: us */
    SIM_LINE_CUT,   /* number: the call at which the power goes */
    SIM_LINE_END
};

struct sim_line {
    enum sim_line_kind kind;
    uint64_t at; /* us since the life began to serve */
    uint64_t number;
    uint64_t label; /* by which later lines name the task of a request; 0: none */
    uint32_t client;
    enum sim_end how;
    bool quiet;
    char method[SIM_METHOD];
    char fiber[SIM_WORD], point[SIM_WORD];
    char params[SIM_PARAMS];
};

struct sim_script {
    struct sim_line *lines;
    uint32_t count;
};

/* Returns the name of the running thread, as one word. */
const char *sim_fiber_word(void);

/* Returns NULL, or what is wrong in line *number.  Empty lines are skipped, and lines that begin
 * with # are remarks. */
const char *sim_script_read(FILE *from, struct sim_script *out, uint32_t *number);
void sim_script_write(FILE *to, const struct sim_script *s);

#endif
