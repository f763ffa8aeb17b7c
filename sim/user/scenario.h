/* A scenario lists the load, the faults and the expectations of a simulation.  Users write it in
 * YAML; docs/simulation.md describes it.
 *
 * A scenario is read once, before anything runs, and lives as long as the process. */
#ifndef ERGON_SIM_USER_SCENARIO_H
#define ERGON_SIM_USER_SCENARIO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/user/expect.h"

enum { SIM_ROWS_MAX = 32 };

/* Tasks that clients submit: one each `every` ns, from the begin on. */
struct sim_load {
    const char *method;
    const json_t *params;  /* array; values may be drawn, see values.h */
    const json_t *options; /* object, or NULL */
    uint64_t every, count;
};

struct sim_cron {
    const char *name, *schedule, *method;
    const json_t *params, *options; /* as above, but nothing is drawn */
};

/* Faults that come again and again. */
enum sim_fault {
    SIM_FAULT_RESTART,
    SIM_FAULT_KILL,
    SIM_FAULT_POWER,
    SIM_FAULT_CONNECTION_LOST,
    SIM_FAULT_WORKER_LOST,
    SIM_FAULT_WORKER_KILLED,
    SIM_FAULT_SUSPEND,
    SIM_FAULT_CLOCK,
    SIM_FAULTS_COUNT
};

struct sim_scenario {
    const char *path;
    const json_t *server; /* object: the server's configuration; NULL: as by default */
    bool store;
    bool has_workers; /* of the process that started us: by whoever reads it */
    struct sim_load loads[SIM_ROWS_MAX];
    struct sim_cron crons[SIM_ROWS_MAX];
    struct sim_expect expects[SIM_ROWS_MAX];
    uint32_t load_count, cron_count, expect_count;
    uint64_t lasts; /* ns until calm */
    uint64_t
        apart[SIM_FAULTS_COUNT]; /* ns between two of the kind, on average; 0: there are none */
    uint64_t latency[2];         /* ns that a message is on its way: least, most */
    double cancels;              /* of the tasks, this share is cancelled by a client */
};

/* False: *error says where it is wrong and what to write. */
bool sim_scenario_read(const char *path, struct sim_scenario *out, char *error, size_t size);

#endif
