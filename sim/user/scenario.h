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

/* Tasks that clients submit: one every `every` ns, from the start of the run on. */
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

/* Faults that are injected repeatedly. */
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
    bool has_workers; /* handlers run in workers of the process that started us; set by seeds.c */
    struct sim_load loads[SIM_ROWS_MAX];
    struct sim_cron crons[SIM_ROWS_MAX];
    struct sim_expect expects[SIM_ROWS_MAX];
    uint32_t load_count, cron_count, expect_count;
    uint64_t lasts; /* ns until calm */
    /* Mean ns between two faults of a kind; 0: there are none. */
    uint64_t apart[SIM_FAULTS_COUNT];
    uint64_t latency[2]; /* ns that a message needs to arrive: least, most */
    double cancels;      /* clients cancel this share of the tasks */
};

/* False: *error says where it is wrong and what to write. */
bool sim_scenario_read(const char *path, struct sim_scenario *out, char *error, size_t size);

#endif
