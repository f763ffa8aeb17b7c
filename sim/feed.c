#include "sim/feed.h"

#include <inttypes.h>
#include <string.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum { CURSOR = 64, ENDED_MAX = 2048 };

static struct sim_burst burst;
static char cursor[CURSOR] = "oldest";
static uint64_t next; /* the number that comes; 0: any */

/* Tasks whose end the feed told. */
static char ended[ENDED_MAX][SIM_ID];
static uint32_t ended_count;

static char *find(struct span id)
{
    for (uint32_t n = 0; n < ended_count; n++)
        if (span_is(id, ended[n]))
            return ended[n];
    return NULL;
}

static void add(struct span id)
{
    if (find(id) || ended_count == ENDED_MAX)
        return;
    memcpy(ended[ended_count], id.at, id.len);
    ended[ended_count++][id.len] = '\0';
}

static bool is_one_of(struct span event, const char *const *names)
{
    for (; *names; names++)
        if (span_is(event, *names))
            return true;
    return false;
}

static void take_event_of_task(struct span event, struct span id)
{
    static const char *const ends[] = {"done", "failed", "cancelled", "expired", "dead", NULL};
    static const char *const opens[] = {"retried", "forgotten", NULL};
    static const char *const harmless[] = {"fenced", "joined", "changed", NULL};
    char *known = find(id);
    if (is_one_of(event, opens)) {
        if (known)
            *known = '\0';
        return;
    }
    if (known && !is_one_of(event, harmless))
        sim_finding("feed: task %s had ended, and then comes %.*s", known, (int)event.len,
                    event.at);
    if (is_one_of(event, ends))
        add(id);
}

static void take_event(struct span event)
{
    uint64_t seq = sim_member_uint(event, "seq");
    struct span id = sim_member_text(event, "id");
    if (next > 0 && seq != next)
        sim_finding("feed: event %" PRIu64 " comes where %" PRIu64 " was to come", seq, next);
    next = seq + 1;
    if (id.len > 0)
        take_event_of_task(sim_member_text(event, "event"), id);
}

/* What came meanwhile is not known: a task may have been retried. */
static void take_gap(struct span gap)
{
    if (gap.len == 0)
        return;
    next = 0;
    ended_count = 0;
}

static void take_page(struct span page)
{
    struct reader r = reader_of(sim_member(page, "events"));
    struct span event, at = sim_member_text(page, "next");
    uint32_t count = 0;
    struct span gap = sim_member_text(page, "gap");
    take_gap(gap);
    read_array(&r, &count);
    sim_tell("%" PRIu32 " events of the feed %.*s", count, (int)gap.len, gap.at);
    for (uint32_t n = 0; n < count && read_any(&r, &event); n++)
        take_event(event);
    if (at.len > 0 && at.len < CURSOR) {
        memcpy(cursor, at.at, at.len);
        cursor[at.len] = '\0';
    }
}

static bool ask(struct sim_link *l)
{
    sim_burst_clear(&burst);
    sim_burst_add(&burst, SIM_OTHER, "task.events", 1);
    sim_put_map(&burst.out, 3);
    sim_put_text(&burst.out, "after");
    sim_put_text(&burst.out, cursor);
    sim_put_text(&burst.out, "max");
    sim_put_uint(&burst.out, 1 + sim_below(SIM_WORK, 100));
    sim_put_text(&burst.out, "timeout");
    sim_put_uint(&burst.out, sim_below(SIM_WORK, 20000));
    if (!sim_burst_run(&burst, l))
        return false;
    if (burst.requests[0].error.len == 0)
        take_page(burst.requests[0].result);
    return true;
}

static struct sim_link *connect_to_node(void)
{
    while (!sim_node_up())
        sim_wait_for(cursor, SIM_NEVER);
    return sim_node_connect();
}

static struct sim_link *(*connect_to)(void);

static void follow(void *arg)
{
    bool alone = connect_to == connect_to_node;
    (void)arg;
    for (;;) {
        struct sim_link *l = connect_to();
        while (l && ask(l) && (!alone || sim_node_up()) && !sim_one_in(SIM_WORK, 32))
            sim_sleep_for(1 + sim_below(SIM_WORK, SIM_MS(20)));
        if (l)
            sim_net_leave(l);
        sim_memory_wait();
        if (!l || !alone)
            sim_sleep_for(1 + sim_below(SIM_WORK, SIM_MS(100)));
    }
}

static void spawn(struct sim_link *(*connect)(void))
{
    connect_to = connect;
    if (sim_one_in(SIM_SHAPE, 2))
        sim_spawn(SIM_WORLD, "follower", follow, NULL);
}

void sim_feed_spawn(void)
{
    spawn(connect_to_node);
}

void sim_feed_spawn_at(struct sim_link *(*connect)(void))
{
    spawn(connect);
}

void sim_feed_wake(void)
{
    sim_wake_all(cursor);
}
