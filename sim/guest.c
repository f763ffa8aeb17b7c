#include "sim/guest.h"

#include <stdbool.h>
#include <string.h>

#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/deeds.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/schedule.h"
#include "sim/trace.h"

enum { NOBODY = 99 /* no client of client.c */ };

static struct sim_burst burst;
static bool calm;

static bool is_in(const char *method, const char *list)
{
    size_t len = strlen(method);
    for (const char *at = list; (at = strstr(at, method)); at++)
        if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

/* Submissions go by the right to the handler; and some everybody may ask for. */
static bool is_asked(const struct sim_deed_row *d)
{
    static const char free_for_all[] = "server.hello,server.auth,server.ping,server.cancel,"
                                       "server.whoami,cluster.session,cluster.board";
    static const char by_handler[] = "task.submit,task.submit_many,task.call,batch.add,"
                                     "actor.call,actor.tell";
    return d->put && !is_in(d->method, free_for_all) && !is_in(d->method, by_handler);
}

static void put_any(void)
{
    const struct sim_deed_row *d;
    do
        d = &sim_deeds[sim_below(SIM_WORK, sim_deed_count)];
    while (!is_asked(d));
    d->put(&burst, NOBODY);
    burst.requests[burst.count - 1].heed = NULL;
}

static void check(const struct sim_request *r)
{
    bool denied = sim_error_is(r, "DENIED");
    if (r->answered && denied == is_in(r->method, SIM_GUEST_MAY))
        sim_finding("rights: a guest asks for %s, and is answered %.*s", r->method,
                    (int)r->error.len, r->error.at);
}

static bool ask(struct sim_link *l)
{
    sim_burst_clear(&burst);
    for (uint64_t n = 1 + sim_below(SIM_WORK, 4); n > 0; n--)
        put_any();
    bool good = sim_burst_run(&burst, l);
    for (uint32_t n = 0; n < burst.count; n++)
        check(&burst.requests[n]);
    return good;
}

static void run(void *arg)
{
    (void)arg;
    for (;;) {
        if (calm || !sim_node_up()) {
            sim_wait_for(&burst, SIM_NEVER);
            continue;
        }
        struct sim_link *l = sim_node_connect_guest();
        while (!calm && ask(l) && sim_node_up())
            sim_sleep_for(1 + sim_below(SIM_WORK, SIM_MS(100)));
        sim_net_leave(l);
        sim_memory_wait();
    }
}

void sim_guest_spawn(void)
{
    if (sim_one_in(SIM_SHAPE, 4))
        sim_spawn(SIM_WORLD, "guest", run, NULL);
}

void sim_guest_wake(void)
{
    sim_wake_all(&burst);
}

void sim_guest_calm(void)
{
    calm = true;
}
