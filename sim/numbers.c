#include "sim/numbers.h"

#include "base/check.h"
#include "sim/schedule.h"

static uint32_t life;

void sim_numbers_node_started(void)
{
    life++;
}

uint64_t sim_number_ask(struct sim_number *n, uint64_t value)
{
    require(n->count < SIM_CHANGES_MAX, "a number changes too often");
    n->changes[n->count].value = value;
    n->changes[n->count].asked = sim_now();
    n->changes[n->count].answered = SIM_NEVER;
    n->changes[n->count].life = life;
    return n->count++;
}

void sim_number_answered(struct sim_number *n, uint64_t place)
{
    n->changes[place].answered = sim_now();
}

/* Requests are served in the order in which they were asked, but for those of a connection that was
 * left with them, which may be served later, though in the same life. */
static bool is_over(const struct sim_number *n, uint32_t place, uint64_t time)
{
    for (uint32_t later = place + 1; later < n->count; later++)
        if (n->changes[later].answered < time && n->changes[later].answered + sim_slack() < time &&
            (n->changes[place].answered < SIM_NEVER ||
             n->changes[place].life < n->changes[later].life))
            return true;
    return false;
}

uint64_t sim_number_most(const struct sim_number *n, uint64_t time)
{
    uint64_t most = 0;
    for (uint32_t place = 0; place < n->count && n->changes[place].asked <= time; place++)
        if (n->changes[place].value > most && !is_over(n, place, time))
            most = n->changes[place].value;
    return most;
}

bool sim_number_may_be(const struct sim_number *n, uint64_t value)
{
    for (uint32_t place = 0; place < n->count; place++)
        if (n->changes[place].value == value && !is_over(n, place, sim_now()))
            return true;
    return false;
}
