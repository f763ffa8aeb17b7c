#include "server/tasks/manager/placement.h"

#include "server/runtime/object/object.h"

enum {
    BATCH_NS = 5000,        /* work that delays nobody: less than another thread takes to wake */
    TARGET_NS = 20000,      /* work that may wait at an executor beyond its second task */
    NEGLIGIBLE_PART = 64,   /* of the service time: a hand-over that costs less is not hidden */
    SERVICE_GUESS_NS = 1000 /* of an executor that has measured nothing yet */
};

/* Lower is better.  A fraction, so that nothing is rounded: compared crosswise. */
struct rank {
    int64_t first; /* decides alone when it differs */
    uint64_t part, whole;
};

/* Where others take turns, it begins when they have had theirs. */
static uint64_t time_to_completion(const struct snapshot *s, bool home)
{
    return s->outstanding * s->service_ns + (s->turning ? BEHIND_QUANTUM : 0) +
           (home ? 0 : s->hand_over_ns);
}

/* Weights are shares of what was given. As Webster's method gives out seats, the next task goes to
 * the executor that the middle of one more task takes least far. Each is within a task of its share
 * at any time. */
static struct rank rank_of(enum placement_policy policy, const struct snapshot *s, bool home)
{
    switch (policy) {
    case PLACEMENT_OCCUPANCY:
        return (struct rank){0, s->outstanding, s->bound};
    case PLACEMENT_LENGTH:
        return (struct rank){0, s->outstanding, 1};
    case PLACEMENT_PRIORITY:
        return (struct rank){s->priority, s->outstanding, s->bound};
    case PLACEMENT_WEIGHT:
        return (struct rank){0, 2 * s->history + 1, placement_weight(s)};
    case PLACEMENT_COMPLETION:
        return (struct rank){0, time_to_completion(s, home), 1};
    }
    __builtin_unreachable();
}

static int compare(const struct rank *a, const struct rank *b)
{
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    unsigned __int128 left = (unsigned __int128)a->part * b->whole;
    unsigned __int128 right = (unsigned __int128)b->part * a->whole;
    return (left > right) - (left < right);
}

static int compare_ties(const struct snapshot *s, bool home, const struct snapshot *best)
{
    if (s->turning != best->turning)
        return s->turning < best->turning ? -1 : 1;
    return home ? -1 : 1;
}

int placement_compare(enum placement_policy policy, const struct snapshot *executors,
                      uint32_t count, int home, int last)
{
    int best = PLACEMENT_NONE;
    struct rank best_rank = {0};
    for (uint32_t n = 0; n < count; n++) {
        int i = (int)(((uint32_t)(last + 1) + n) % count);
        const struct snapshot *s = &executors[i];
        if (s->outstanding >= s->bound && !s->awaited)
            continue;
        struct rank rank = rank_of(policy, s, i == home);
        int order = best == PLACEMENT_NONE ? -1 : compare(&rank, &best_rank);
        if (order == 0)
            order = compare_ties(s, i == home, &executors[best]);
        if (order < 0) {
            best = i;
            best_rank = rank;
        }
    }
    if (best != PLACEMENT_NONE && executors[best].outstanding >= executors[best].bound)
        return PLACEMENT_NONE;
    return best;
}

/* Nothing can be less than an occupancy, a length or a time of 0, and home wins a tie. */
bool placement_prefers_idle_home(enum placement_policy policy)
{
    return policy == PLACEMENT_OCCUPANCY || policy == PLACEMENT_LENGTH ||
           policy == PLACEMENT_COMPLETION;
}

/* Bounded queues of length k = 1 + 2Z/S keep an executor busy for more than 92 % of the time, S the
 * service time and Z the hand-over.  Where Z is a small part of S, k = 1 costs less than 2 %, and
 * nobody waits behind a long task while another executor idles. */
uint32_t placement_bound(uint64_t service_ns, uint64_t hand_over_ns, uint32_t cap)
{
    uint64_t service = service_ns ? service_ns : SERVICE_GUESS_NS;
    if (service / NEGLIGIBLE_PART >= hand_over_ns && service > TARGET_NS)
        return cap ? 1 : 0;
    uint64_t k = 1 + (2 * hand_over_ns + service - 1) / service;
    if (k < BATCH_NS / service)
        k = BATCH_NS / service;
    uint64_t most = TARGET_NS / service;
    if (k > most)
        k = most;
    if (k < 2)
        k = 2;
    return k < cap ? (uint32_t)k : cap;
}
