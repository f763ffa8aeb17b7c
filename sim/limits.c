#include "sim/limits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/memory.h"
#include "sim/numbers.h"
#include "sim/schedule.h"
#include "sim/trace.h"

static const struct sim_limit limits[] = {{"one", 1}, {"two", 2}, {"three", 3}};
enum { LIMITS = sizeof limits / sizeof *limits };

/* The first client alone has this one, so that the order of its numbers is known. */
static const struct sim_limit moving = {SIM_LIMIT_MOVING, 4};
static struct sim_number number;

const struct sim_limit *sim_limit_any(void)
{
    return &limits[sim_below(SIM_DEEDS, LIMITS)];
}

const struct sim_limit *sim_limit_for(uint32_t client)
{
    bool may = client == 0 && number.count < SIM_CHANGES_MAX;
    return may && sim_one_in(SIM_DEEDS, 2) ? &moving : sim_limit_any();
}

static void heed(struct sim_request *r)
{
    if (r->error.len == 0)
        sim_number_answered(&number, r->note);
}

void sim_limit_asked(uint64_t max, struct sim_request *r)
{
    r->note = sim_number_ask(&number, max);
    r->heed = heed;
}

uint64_t sim_limit_ask(const struct sim_limit *l, struct sim_request *r)
{
    if (l != &moving)
        return l->max;
    uint64_t max = 1 + sim_below(SIM_DEEDS, l->max);
    sim_limit_asked(max, r);
    return max;
}

/* Where memory failed, the row may have an older number. */
static void heed_explain(struct sim_request *r)
{
    uint64_t max = sim_member_uint(r->result, "permits");
    if (r->error.len > 0 || sim_memory_failed_within(sim_now()))
        return;
    if (!sim_number_may_be(&number, max))
        sim_finding("numbers: limit %s has %" PRIu64 " permits, and another number was answered",
                    moving.key, max);
}

void sim_limit_explain(struct sim_burst *b)
{
    sim_burst_add(b, SIM_OTHER, "sem.explain", 1)->heed = heed_explain;
    sim_put_text(&b->out, moving.key);
}

uint64_t sim_limit_at(const char *key, uint64_t time, bool held)
{
    bool moves = strcmp(key, moving.key) == 0;
    /* A request that was held may have begun by an older number, and a row that could not be
     * written has an older one. */
    if (moves && (held || number.count == 0 || sim_memory_failed_within(sim_now())))
        return UINT64_MAX;
    if (moves)
        return sim_number_most(&number, time);
    for (uint32_t n = 0; n < LIMITS; n++)
        if (strcmp(limits[n].key, key) == 0)
            return limits[n].max;
    return UINT64_MAX;
}
