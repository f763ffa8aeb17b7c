/* Reads the expectations of a scenario, sentences of five forms, and checks a run against them. */
#ifndef ERGON_SIM_USER_EXPECT_H
#define ERGON_SIM_USER_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

enum sim_expect_kind {
    SIM_EXPECT_ENDS,
    SIM_EXPECT_NO_TASK,
    SIM_EXPECT_ONCE,
    SIM_EXPECT_AT_MOST_ONCE,
    SIM_EXPECT_IN_ORDER
};

struct sim_expect {
    enum sim_expect_kind kind;
    const char *text;  /* as it was written; borrowed */
    char method[72];   /* glob */
    char state[16];    /* of a task */
    char effect[48];   /* its name */
    char sequence[32]; /* of values.h */
    uint64_t within;   /* ns after calm, by when all tasks must have ended; 0: not said */
};

/* Returns NULL, or what is wrong with the sentence. */
const char *sim_expect_read(const char *text, struct sim_expect *out);

/* Call in calm, once `within` is over or all tasks have ended.  Reports an expectation that is not
 * met, which ends the process. */
void sim_expect_check(const struct sim_expect *e);

#endif
