#include "tests/bench/sched/sim.h"

#include <stdbool.h>
#include <stdlib.h>

/* The end of a task that was given to a server. */
struct event {
    double at;
    uint32_t server;
};

struct server {
    double free_at; /* end of the last task that it was given */
    uint32_t outstanding, given;
};

struct state {
    const struct sim *sim;
    struct server *servers;
    struct event *heap; /* ends to come, the first on top; at most servers x bound */
    uint32_t heap_count;
    uint32_t bound, last; /* last: the server that was chosen last */
    double now, hand_over;
    uint64_t seed;
};

static void heap_push(struct state *s, struct event e)
{
    uint32_t i = s->heap_count++;
    for (; i > 0 && s->heap[(i - 1) / 2].at > e.at; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static struct event heap_pop(struct state *s)
{
    struct event top = s->heap[0], last = s->heap[--s->heap_count];
    uint32_t i = 0;
    for (uint32_t child = 1; child < s->heap_count; child = 2 * i + 1) {
        if (child + 1 < s->heap_count && s->heap[child + 1].at < s->heap[child].at)
            child++;
        if (s->heap[child].at >= last.at)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

static void take_ends(struct state *s)
{
    while (s->heap_count > 0 && s->heap[0].at <= s->now)
        s->servers[heap_pop(s).server].outstanding--;
}

/* The server with the fewest tasks that has room; among equals the next in turn. */
static bool least_loaded(struct state *s, uint32_t *chosen)
{
    uint32_t least = s->bound;
    for (uint32_t n = 1; n <= s->sim->servers; n++) {
        uint32_t i = (s->last + n) % s->sim->servers;
        if (s->servers[i].outstanding >= least)
            continue;
        least = s->servers[i].outstanding;
        *chosen = i;
    }
    return least < s->bound;
}

/* Tasks are given in the order of their arrival, so the events are taken as far as the next task
 * needs them: until it has arrived, and until a server has room. */
static uint32_t give_queued(struct state *s, double arrival)
{
    uint32_t chosen = 0;
    if (s->now < arrival)
        s->now = arrival;
    take_ends(s);
    while (!least_loaded(s, &chosen)) {
        s->now = s->heap[0].at;
        take_ends(s);
    }
    s->servers[chosen].outstanding++;
    s->last = chosen;
    return chosen;
}

static double serve(struct state *s, uint32_t chosen, double from, double service)
{
    struct server *server = &s->servers[chosen];
    double begin = from > server->free_at ? from : server->free_at;
    const double *slowness = s->sim->slowness;
    server->given++;
    return server->free_at = begin + service * (slowness ? slowness[chosen] : 1);
}

static double run_queued(struct state *s, double arrival, double service)
{
    uint32_t chosen = give_queued(s, arrival);
    double end = serve(s, chosen, s->now + s->hand_over, service);
    heap_push(s, (struct event){.at = end, .server = chosen});
    return end;
}

static double run_one(struct state *s, double arrival, double service)
{
    switch (s->sim->policy) {
    case POLICY_CENTRAL:
    case POLICY_JBSQ:
        return run_queued(s, arrival, service);
    case POLICY_RANDOM:
        return serve(s, (uint32_t)(draw(&s->seed) % s->sim->servers), arrival, service);
    case POLICY_ROUND_ROBIN:
        s->last = (s->last + 1) % s->sim->servers;
        return serve(s, s->last, arrival, service);
    }
    return arrival;
}

int simulate(const struct sim *sim, const struct load *load, double *sojourns)
{
    bool jbsq = sim->policy == POLICY_JBSQ;
    struct state s = {.sim = sim,
                      .bound = jbsq ? sim->bound : 1,
                      .hand_over = jbsq ? sim->hand_over : 0,
                      .seed = sim->seed,
                      .last = sim->servers - 1};
    s.servers = calloc(sim->servers, sizeof *s.servers);
    s.heap = calloc((size_t)sim->servers * s.bound, sizeof *s.heap);
    bool memory = s.servers && s.heap;
    for (uint32_t i = 0; memory && i < load->count; i++) {
        if (jbsq && sim->bounds)
            s.bound = sim->bounds[i];
        sojourns[i] = run_one(&s, load->arrivals[i], load->services[i]) - load->arrivals[i];
    }
    for (uint32_t i = 0; memory && sim->given && i < sim->servers; i++)
        sim->given[i] = s.servers[i].given;
    free(s.servers);
    free(s.heap);
    return memory ? 0 : -1;
}
