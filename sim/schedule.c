#include "sim/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "sim/chance.h"
#include "sim/fiber.h"
#include "sim/points.h"
#include "sim/trace.h"

enum {
    SWITCH_NS = 1000,
    NAME = 16,
    FIBERS_MAX = 4096,
    CHANGES_ONE_IN = 64,
    BRIEF_NS = 5000,
    MILD_NS = 400000,
    LONG_ONE_IN = 16, /* absences from an atomic */
    SHORTER = 16      /* than elsewhere, which are fewer */
};

struct sim_fiber {
    struct sim_stack stack;
    char name[NAME];
    enum sim_owner owner;
    uint64_t number; /* in the order in which they were made */
    uint32_t at;     /* in `places` */
    bool away;       /* no wake ends the sleep */
    bool woken;
    uint64_t priority;
    uint64_t ran; /* the switch at which it ran last */
};

/* The state of each fiber that a switch reads, by its number, apart from the rest. */
static struct place {
    struct sim_fiber *fiber;
    uint64_t until; /* it sleeps, at most so long; 0: it can run; SIM_NEVER, too, once it ended */
    const void *waits_for;
    enum sim_owner owner;
} places[FIBERS_MAX];
static uint32_t place_count;
static struct sim_fiber *current, *first;
static uint64_t now = SIM_MS(1), switches, made;
static bool calm, frozen[SIM_OWNERS];
static uint64_t moment = SIM_NEVER;
static void (*at_moment)(void);
static uint64_t (*stall_by)(const char *point);
static void (*stall_heard)(const char *point, uint64_t ns);
static struct {
    uint64_t one_in; /* points at which a fiber is preempted */
    uint64_t away;   /* ns for which it stays away, at most */
    bool by_priority;
    uint64_t atomic_one_in; /* atomics at which a fiber is preempted; 0: none came yet */
} shape;

void sim_schedule_shape(void)
{
    static const uint64_t one_in[] = {2, 8, 32, 256},
                          away[] = {1, SIM_MS(1), SIM_MS(100), SIM_MS(400)};
    shape.one_in = one_in[sim_below(SIM_SHAPE, sizeof one_in / sizeof *one_in)];
    shape.away = away[sim_below(SIM_SHAPE, sizeof away / sizeof *away)];
    shape.by_priority = sim_one_in(SIM_SHAPE, 3);
}

void sim_schedule_mild(void)
{
    if (shape.away > shape.one_in * MILD_NS)
        shape.away = shape.one_in * MILD_NS;
}

void sim_schedule_calm(void)
{
    calm = true;
}

uint64_t sim_slack(void)
{
    return 3 * shape.away + SIM_MS(1);
}

struct sim_fiber *sim_spawn(enum sim_owner owner, const char *name, void (*run)(void *arg),
                            void *arg)
{
    struct sim_fiber *f = calloc(1, sizeof *f);
    require(f != NULL, "no memory for a fiber");
    sim_stack_open(&f->stack, run, arg);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->owner = owner;
    f->number = made++;
    f->priority = sim_below(SIM_SCHEDULE, UINT32_MAX);
    if (!first)
        first = f;
    f->at = place_count;
    require(place_count < FIBERS_MAX, "too many fibers");
    places[place_count++] = (struct place){.fiber = f, .owner = owner};
    return f;
}

/* --- The loop --- */

static struct sim_fiber *ready[FIBERS_MAX]; /* those that can run, the newest first */

static uint32_t runnable(uint64_t *earliest)
{
    uint32_t count = 0;
    *earliest = SIM_NEVER;
    for (uint32_t n = place_count; n-- > 0;) {
        const struct place *p = &places[n];
        if (frozen[p->owner])
            continue;
        if (p->until <= now)
            ready[count++] = p->fiber;
        else if (p->until < *earliest)
            *earliest = p->until;
    }
    return count;
}

/* By priority, as of Burckhardt and others (PCT, 2010): the same one runs as long as it can, which
 * is what a fault needs that takes few preemptions at the right places.  One that waits for others
 * without sleeping comes behind them sooner or later. */
static struct sim_fiber *highest(uint32_t count)
{
    struct sim_fiber *f = ready[0];
    for (uint32_t n = 1; n < count; n++)
        if (ready[n]->priority > f->priority)
            f = ready[n];
    if (sim_one_in(SIM_SCHEDULE, CHANGES_ONE_IN))
        f->priority = sim_below(SIM_SCHEDULE, f->priority + 1);
    return f;
}

/* By turns. */
static struct sim_fiber *oldest(uint32_t count)
{
    struct sim_fiber *f = ready[0];
    for (uint32_t n = 1; n < count; n++)
        if (ready[n]->ran < f->ran || (ready[n]->ran == f->ran && ready[n]->number < f->number))
            f = ready[n];
    return f;
}

static struct sim_fiber *choose(void)
{
    uint64_t earliest;
    uint32_t count = runnable(&earliest);
    if (count == 0 && earliest == SIM_NEVER)
        sim_finding("deadlock: every thread sleeps, and nobody will wake one");
    if (count == 0) {
        now = earliest;
        count = runnable(&earliest);
    }
    if (count == 1)
        return ready[0];
    if (sim_chance_is_plain(SIM_SCHEDULE))
        return oldest(count);
    return shape.by_priority ? highest(count) : ready[sim_below(SIM_SCHEDULE, count)];
}

void sim_at(uint64_t time, void (*run)(void))
{
    moment = time;
    at_moment = run;
}

void sim_run(void)
{
    while (!first->stack.ended) {
        if (now >= moment) {
            moment = SIM_NEVER;
            at_moment();
        }
        struct sim_fiber *f = choose();
        now += SWITCH_NS;
        f->ran = ++switches;
        sim_hash_number(f->number << 48 ^ now);
        places[f->at].until = 0;
        f->away = false;
        current = f;
        sim_stack_enter(&f->stack);
        current = NULL;
        if (f->stack.ended)
            places[f->at].until = SIM_NEVER;
        if (f->stack.ended)
            sim_wake_all(f);
        if (f->stack.ended && f->owner == SIM_WORLD && f != first) /* nobody joins it */
            sim_release(f);
    }
}

void sim_freeze(enum sim_owner owner, bool on)
{
    frozen[owner] = on;
}

void sim_drop(enum sim_owner owner)
{
    require(!current || current->owner != owner, "a fiber drops itself");
    for (uint32_t n = place_count; n-- > 0;)
        if (places[n].owner == owner)
            sim_release(places[n].fiber);
}

void sim_release(struct sim_fiber *f)
{
    place_count--;
    for (uint32_t n = f->at; n < place_count; n++) {
        places[n] = places[n + 1];
        places[n].fiber->at = n;
    }
    sim_stack_close(&f->stack);
    free(f);
}

/* --- On a fiber --- */

uint64_t sim_now(void)
{
    return now;
}

uint64_t sim_switches(void)
{
    return switches;
}

const char *sim_fiber_name(void)
{
    return current ? current->name : "-";
}

struct sim_fiber *sim_self(void)
{
    return current;
}

enum sim_owner sim_self_owner(void)
{
    return current->owner;
}

void sim_rename(const char *name)
{
    snprintf(current->name, sizeof current->name, "%s", name);
}

static void leave_until(uint64_t until)
{
    places[current->at].until = until > now ? until : now + 1;
    sim_stack_leave(&current->stack);
}

void sim_sleep(uint64_t until)
{
    if (!current->woken)
        leave_until(until);
    current->woken = false;
}

void sim_sleep_for(uint64_t ns)
{
    current->away = true;
    leave_until(now + ns);
}

void sim_stalls_by(uint64_t (*stall)(const char *point))
{
    stall_by = stall;
}

void sim_on_stall(void (*heard)(const char *point, uint64_t ns))
{
    stall_heard = heard;
}

static uint64_t longest(bool is_atomic)
{
    if (!is_atomic)
        return shape.away;
    return sim_one_in(SIM_SCHEDULE, LONG_ONE_IN) ? shape.away / SHORTER + 1 : BRIEF_NS;
}

static void pass(const char *point, uint64_t one_in, bool is_atomic)
{
    bool preempted = !stall_by && sim_one_in(SIM_SCHEDULE, one_in);
    uint64_t ns = stall_by ? stall_by(point) : 0;
    if (preempted && !calm)
        ns = sim_below(SIM_SCHEDULE, longest(is_atomic));
    if (stall_heard)
        stall_heard(point, ns);
    if (preempted || ns > 0 || (stall_by && !is_atomic)) /* by turns, all have theirs there */
        sim_sleep_for(ns);
}

void sim_point(const char *name)
{
    if (current)
        pass(name, shape.one_in, false);
}

/* The rate is drawn late: a program without these points draws as if there were no such rate. */
void sim_point_atomic(const char *name)
{
    static const uint64_t one_in[] = {16, 64, 256, 1024};
    if (!current)
        return;
    if (shape.atomic_one_in == 0)
        shape.atomic_one_in = one_in[sim_below(SIM_SCHEDULE, sizeof one_in / sizeof *one_in)];
    pass(name, shape.atomic_one_in, true);
}

void sim_wake(struct sim_fiber *f)
{
    f->woken = true;
    if (!f->away && !f->stack.ended)
        places[f->at].until = 0;
}

void sim_wait_for(const void *address, uint64_t until)
{
    places[current->at].waits_for = address;
    sim_sleep(until);
    places[current->at].waits_for = NULL;
}

void sim_wake_all(const void *address)
{
    for (uint32_t n = 0; n < place_count; n++)
        if (places[n].waits_for == address)
            sim_wake(places[n].fiber);
}

bool sim_ended(const struct sim_fiber *f)
{
    return f->stack.ended;
}

/* --- sched_yield(), of whoever waits for another thread by turns --- */

int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    sim_sleep_for(SWITCH_NS);
    return 0;
}
