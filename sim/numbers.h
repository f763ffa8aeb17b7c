/* A number of a limit or of a rate, which one client changes by its submissions.
 *
 * numbers: the number of the latest submission counts for all tasks (tasks.md, "Limits and rates");
 * a number whose submission was answered is on disk (promises.md, "Limits and rates").
 *
 * While a submission is not answered, its number and the one before may both count. */
#ifndef ERGON_SIM_NUMBERS_H
#define ERGON_SIM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_CHANGES_MAX = 2048 };

struct sim_number {
    struct {
        uint64_t value, asked, answered; /* SIM_NEVER: not answered */
        uint32_t life;                   /* of the server */
    } changes[SIM_CHANGES_MAX];
    uint32_t count;
};

/* Returns the place of the change, for sim_number_answered().  Call it only while `count` is below
 * SIM_CHANGES_MAX. */
uint64_t sim_number_ask(struct sim_number *n, uint64_t value);
void sim_number_answered(struct sim_number *n, uint64_t place);
void sim_numbers_node_started(void);

/* Returns the largest number that may count at that time of sim_now(). */
uint64_t sim_number_most(const struct sim_number *n, uint64_t time);
/* Returns whether this number may count now. */
bool sim_number_may_be(const struct sim_number *n, uint64_t value);

#endif
