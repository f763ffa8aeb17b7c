#include "sim/cluster/handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ergon/handler.h>
#include <ergon/params.h>

#include "sim/cluster/jobs.h"
#include "sim/cluster/nodes.h"
#include "sim/schedule.h"

enum { STEP_MS = 5, LATER_TIMES = 2 };

static void end(struct ergon_task *task, uint64_t serial, uint64_t plan)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu32, serial, ergon_attempt(task));
    if (plan == SIM_FAILS)
        ergon_fail(task, NULL, "as asked");
    else if (plan == SIM_LATER && sim_job_of(serial)->begun <= LATER_TIMES)
        ergon_again(task, SIM_MS(20));
    else
        ergon_result_str(task, text, strlen(text));
}

static void job(struct ergon_task *task)
{
    char id[ERGON_TASK_ID_SIZE] = "";
    struct ergon_reader r;
    uint64_t serial = 0, ms = 0, plan = 0;
    ergon_params_open(task, &r);
    if (!ergon_read_uint(&r, &serial) || !ergon_read_uint(&r, &ms) || !ergon_read_uint(&r, &plan)) {
        ergon_fail(task, NULL, "other parameters");
        return;
    }
    ergon_task_id(task, id);
    sim_job_begins(serial, span_of(id, strlen(id)), ergon_attempt(task), sim_now());
    if (plan == SIM_KILLS) {
        sim_nodes_kill((uint32_t)sim_self_owner() - SIM_NODE);
        for (;;)
            sim_sleep(SIM_NEVER);
    }
    uint64_t until = sim_now() + SIM_MS(ms);
    while (sim_now() < until && !ergon_cancelled(task))
        sim_sleep_for(SIM_MS(STEP_MS));
    end(task, serial, plan);
}

static const struct ergon_handler handler = {.size = sizeof(struct ergon_handler),
                                             .kind = ERGON_BLOCKING,
                                             .name = "sim.job",
                                             .summary = "of the simulation",
                                             .params = "[serial: int, ms: int, plan: int]",
                                             .run = job};

ERGON_MODULE(sim_handlers_module, "sim", "1")
{
    return ergon_register(module, &handler);
}
