/* A number that one client changes, request by request: of a limit, of a rate.
 *
 * numbers: the number of the latest submission counts for all (tasks.md, "Limits and rates"); one
 * whose submission was answered is on disk (promises.md, "Limits and rates").
 *
 * Which of them counts at a time is known but for those that are asked for and not answered. */
#ifndef ERGON_SIM_NUMBERS_H
#define ERGON_SIM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_CHANGES_MAX = 2048 };

struct sim_number {
    struct {
        uint64_t value, asked, answered; /* SIM_NEVER: it was not */
        uint32_t life;                   /* of the server */
    } changes[SIM_CHANGES_MAX];
    uint32_t count;
};

/* Its place among the changes, for sim_number_answered().  While `count` is below the most. */
uint64_t sim_number_ask(struct sim_number *n, uint64_t value);
void sim_number_answered(struct sim_number *n, uint64_t place);
void sim_numbers_node_started(void);

/* The largest that may count at that time, by sim_now(). */
uint64_t sim_number_most(const struct sim_number *n, uint64_t time);
/* Whether this one may count now. */
bool sim_number_may_be(const struct sim_number *n, uint64_t value);

#endif
