#include "server/system/health.h"

#define LATE AO_S(10) /* delay of the main thread that a busy machine explains */

void health_enter(struct health *h, enum health_stage phase)
{
    atomic_store_explicit(&h->phase, (uint32_t)phase, memory_order_relaxed);
}

void health_look_by(struct health *h, ao_time at)
{
    atomic_store_explicit(&h->look_by, at, memory_order_relaxed);
}

void health_away(struct health *h, const char *name, bool away)
{
    if (away)
        atomic_store_explicit(&h->away_name, name, memory_order_release);
    atomic_fetch_add_explicit(&h->away, away ? 1 : UINT32_MAX, memory_order_relaxed);
}

void health_cluster(struct health *h, const char *why)
{
    atomic_store_explicit(&h->cluster, why, memory_order_relaxed);
}

bool health_has_started(const struct health *h)
{
    return atomic_load_explicit(&h->phase, memory_order_relaxed) != HEALTH_STARTING;
}

const char *health_complaint(const struct health *h, ao_time now)
{
    ao_time by = atomic_load_explicit(&h->look_by, memory_order_relaxed);

    return by > 0 && by < AO_NEVER - LATE && now > by + LATE ? "the supervisor does not look"
                                                             : NULL;
}

const char *health_not_ready(const struct health *h, const char **name)
{
    enum health_stage phase =
        (enum health_stage)atomic_load_explicit(&h->phase, memory_order_relaxed);

    *name = NULL;
    switch (phase) {
    case HEALTH_STARTING:
        return "starting";
    case HEALTH_DRAINING:
        return "draining";
    case HEALTH_STOPPING:
        return "stopping";
    case HEALTH_SERVING:
        break;
    }
    if (atomic_load_explicit(&h->away, memory_order_relaxed) == 0)
        return atomic_load_explicit(&h->cluster, memory_order_relaxed);
    *name = atomic_load_explicit(&h->away_name, memory_order_acquire);
    return "a thread does not finish its round";
}
