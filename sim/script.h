/* A script: what a run does, as lines that people can read.  It names requests with their
 * parameters, faults and stalls with their times; what it does not name is plain: threads take
 * turns and never stall, bytes arrive whole and at once, a commit takes 8 ms.
 *
 *     disk 32                                  before a commit and behind it pass 16 ms
 *     tear 7                                   chance of what a power cut leaves
 *     schedule 3                               not plain: threads, pieces and delays by this chance
 *     others 9                                 workers, holders, a follower of the feed and the
 *                                              faults, as seed 9 has them
 *     flag --loops 3                           a flag of the server; the others are plain
 *     start cut 12                             the power goes at the 12th call of the disk
 *     5 c0 t1 = task.submit ["echo",[5]]       client 0 submits what later lines name "$t1"
 *     5 c0 task.cancel ["$t1"]                 in the same burst, for it is due at the same time
 *     6.5 c0 leave                             the client leaves its connection, or sends and
 * leaves 8 stall store poll 20                    the thread is away for 20 ms at its next such
 * point 10 cut 3                                 the power goes at the third call of the disk 30
 * end power quiet                       the server dies when nobody waits for an answer
 *
 * Times are ms since the server of this life took requests.  A life ends by `end` (stop, kill or
 * power), and another begins; the last one ends in calm.  A client sends what is due when all
 * before was answered, and leaves out what names a task that it does not know. */
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
    uint64_t label; /* of a request whose task is named later; 0: none */
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

/* The name of the thread that runs, as one word. */
const char *sim_fiber_word(void);

/* NULL: good; else what is wrong, and *number is the line.  Empty lines, and those that begin with
 * #, are remarks. */
const char *sim_script_read(FILE *from, struct sim_script *out, uint32_t *number);
void sim_script_write(FILE *to, const struct sim_script *s);

#endif
