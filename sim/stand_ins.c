#include "sim/stand_ins.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"
#include "sim/burst.h"
#include "sim/promises.h"
#include "sim/schedule.h"
#include "sim/settings.h"
#include "sim/trace.h"

enum {
    TIMES = 2, /* the second time the thread is there already, and sleeps */
    LONG_MS = 10000,
    NOTICED_MS = 4000, /* the server looks once a second, and acts at the second look */
    SOON_MS = 2000
};

bool sim_may_stand_in(const struct sim_flags *f)
{
    uint64_t executors = strtoull(sim_flag_value(f, "--blocking"), NULL, 10);
    uint64_t most = strtoull(sim_flag_value(f, "--blocking-max"), NULL, 10);
    bool by_weight = strcmp(sim_flag_value(f, "--measure"), "weight") == 0;
    return executors > 0 && most > executors && !by_weight;
}

/* More were submitted than are followed: some may still run. */
static bool others_may_run(void)
{
    return sim_task_count == SIM_TASKS_MAX;
}

static void run(struct sim_burst *b, struct sim_link *l)
{
    if (!sim_burst_run(b, l))
        sim_finding("answers: a connection ended in calm");
}

/* How many blocking executors are in this state. */
static uint32_t count(struct sim_burst *b, struct sim_link *l, const char *state)
{
    struct span executor;
    uint32_t executors = 0, found = 0;
    sim_burst_clear(b);
    sim_burst_add(b, SIM_OTHER, "server.topology", 0);
    run(b, l);
    struct reader r = reader_of(sim_member(b->requests[0].result, "executors"));
    read_array(&r, &executors);
    while (executors-- > 0 && read_any(&r, &executor))
        found += span_is(sim_member_text(executor, "kind"), "blocking") &&
                 span_is(sim_member_text(executor, "state"), state);
    return found;
}

static void put_long(struct sim_burst *b)
{
    sim_burst_add(b, SIM_OTHER, "task.submit", 3);
    sim_put_text(&b->out, "block");
    sim_put_array(&b->out, 2);
    sim_put_uint(&b->out, LONG_MS);
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "ignore_cancel");
    sim_put_bool(&b->out, true);
    sim_put_map(&b->out, 1);
    sim_put_text(&b->out, "timeout");
    sim_put_uint(&b->out, 1);
}

static void block_all(struct sim_burst *b, struct sim_link *l, uint32_t executors)
{
    sim_burst_clear(b);
    while (executors-- > 0)
        put_long(b);
    run(b, l);
}

static void call_another(struct sim_burst *b, struct sim_link *l)
{
    uint64_t began = sim_now();
    sim_burst_clear(b);
    sim_burst_add(b, SIM_CALL, "block", 1);
    sim_put_uint(&b->out, 1);
    run(b, l);
    if (sim_now() - began > SIM_MS(SOON_MS) && !others_may_run())
        sim_finding("stand-ins: nobody stood in for %" PRIu64
                    " us, while all handlers had outlived their tasks",
                    (sim_now() - began) / 1000);
}

void sim_check_stand_ins(struct sim_burst *b, struct sim_link *l)
{
    uint32_t executors = count(b, l, "ready");
    for (int n = 0; n < TIMES; n++) {
        block_all(b, l, executors);
        sim_sleep_for(SIM_MS(NOTICED_MS));
        call_another(b, l);
        sim_sleep_for(SIM_MS(LONG_MS + NOTICED_MS));
        if (count(b, l, "stands in") > 0 && !others_may_run())
            sim_finding("stand-ins: a thread stands in, and all handlers have returned");
    }
}
