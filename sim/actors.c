#include "sim/actors.h"

#include <inttypes.h>
#include <stddef.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/trace.h"
#include "sim/wire.h"

#define STEADY   "counter/steady"   /* never dropped */
#define UNSTEADY "counter/unsteady" /* dropped now and then */
#define STOPPED  "counter/stopped"
#define TICKER   "ticker/t"

static uint64_t below(uint64_t n)
{
    return sim_below(SIM_DEEDS, n);
}

/* A request about an actor; `params` more follow. */
static struct sim_request *put(struct sim_burst *b, const char *method, const char *actor,
                               uint32_t params)
{
    struct sim_request *r = sim_burst_add(b, SIM_OTHER, method, 1 + params);
    sim_put_text(&b->out, actor);
    return r;
}

/* --- Messages --- */

static struct sim_request *put_add(struct sim_burst *b, const char *verb, const char *actor,
                                   const char *durable)
{
    struct sim_request *r = put(b, verb, actor, durable ? 3 : 2);
    sim_put_text(&b->out, "add");
    sim_put_array(&b->out, 1);
    sim_put_uint(&b->out, 1 + below(9));
    if (!durable)
        return r;
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "durable");
    sim_put_text(&b->out, durable);
    return r;
}

static uint64_t highest; /* sum of STEADY that was answered */

static void heed_sum(struct sim_request *r)
{
    struct reader reader = reader_of(r->result);
    uint64_t sum;
    if (r->error.len > 0 || !read_uint(&reader, &sum))
        return;
    if (sum <= r->note)
        sim_finding("actors: the sum of " STEADY " was %" PRIu64 " after it was %" PRIu64, sum,
                    r->note);
    if (sum > highest)
        highest = sum;
}

/* Where actors are in memory alone, this is refused. */
void sim_call_actor(struct sim_burst *b, uint32_t client)
{
    (void)client;
    struct sim_request *r = put_add(b, "actor.call", STEADY, "fsync");
    r->note = highest;
    r->heed = heed_sum;
}

void sim_tell_actor(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put_add(b, "actor.tell", below(2) ? STEADY : UNSTEADY, NULL);
}

static const char *reminder(void)
{
    static const char *const names[] = {"tea", "bill", "end"};
    return names[below(sizeof names / sizeof *names)];
}

/* One that comes again is forgotten by a later deed, or with its actor. */
void sim_remind_actor(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "actor.remind", below(2) ? STEADY : UNSTEADY, 4);
    sim_put_text(&b->out, reminder());
    sim_put_text(&b->out, "add");
    sim_put_array(&b->out, 1);
    sim_put_uint(&b->out, 1 + below(9));
    bool again = below(4) == 0;
    sim_put_map(&b->out, 1 + again);
    sim_put_text(&b->out, "in");
    sim_put_uint(&b->out, below(3000));
    if (again) {
        sim_put_text(&b->out, "every");
        sim_put_uint(&b->out, 200 + below(3000));
    }
}

void sim_forget_reminder(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "actor.forget", below(2) ? STEADY : UNSTEADY, 1);
    sim_put_text(&b->out, reminder());
}

void sim_give(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "actor.call", UNSTEADY, 2);
    sim_put_text(&b->out, "give");
    sim_put_array(&b->out, 2);
    sim_put_text(&b->out, STEADY);
    sim_put_uint(&b->out, below(3));
}

void sim_start_ticker(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "actor.call", TICKER, 2);
    sim_put_text(&b->out, "start");
    sim_put_array(&b->out, 2);
    sim_put_uint(&b->out, below(4));
    sim_put_uint(&b->out, below(100));
}

void sim_read_actor(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "actor.call", below(2) ? STEADY : UNSTEADY, 2);
    sim_put_text(&b->out, "get");
    sim_put_array(&b->out, 0);
}

/* --- Looks, and acts --- */

void sim_get_actor(struct sim_burst *b, uint32_t client)
{
    (void)client;
    put(b, "actor.get", below(2) ? STEADY : TICKER, 1);
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "state");
    sim_put_bool(&b->out, true);
}

void sim_list_actors(struct sim_burst *b, uint32_t client)
{
    (void)client;
    sim_burst_add(b, SIM_OTHER, "actor.list", 0);
}

void sim_actor_types(struct sim_burst *b, uint32_t client)
{
    (void)client;
    sim_burst_add(b, SIM_OTHER, "actor.types", 0);
}

static uint64_t seen; /* version of STEADY, once it is known to be durable */

/* One that was seen is on disk, and never falls. */
static void heed_version(struct sim_request *r)
{
    uint64_t version = sim_member_uint(r->result, "version");
    if (r->error.len > 0)
        return;
    if (version < r->note)
        sim_finding("actors: the version of " STEADY " was %" PRIu64 " after it was %" PRIu64,
                    version, r->note);
    if (highest > 0 && version > seen)
        seen = version;
}

void sim_watch_actor(struct sim_burst *b, uint32_t client)
{
    (void)client;
    uint32_t options = below(2) ? 2 : 1;
    struct sim_request *r = put(b, "actor.watch", STEADY, 1);
    sim_put_map(&b->out, options);
    sim_put_text(&b->out, "timeout");
    sim_put_uint(&b->out, below(50));
    if (options > 1) {
        sim_put_text(&b->out, "from");
        sim_put_uint(&b->out, seen + 1);
    }
    r->note = seen;
    r->heed = heed_version;
}

#define ON(name, method, actor)                                                                    \
    void name(struct sim_burst *b, uint32_t client)                                                \
    {                                                                                              \
        (void)client;                                                                              \
        put(b, method, actor, 0);                                                                  \
    }
ON(sim_explain_actor, "actor.explain", STEADY)
ON(sim_stop_actor, "actor.stop", STOPPED)
ON(sim_start_actor, "actor.start", STOPPED)
ON(sim_wake_actor, "actor.wake", TICKER)
ON(sim_drop_actor, "actor.drop", UNSTEADY)
