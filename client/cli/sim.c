/* ergon sim: a module's handlers in a simulated world, which another program is. */
#include "client/cli/become.h"
#include "client/cli/cli.h"

#include <inttypes.h>

#include "client/cli/output.h"

enum { SEEDS = 100 };

struct sim_options {
    const char *module; /* NULL: not given */
    struct option_list stand_ins;
    uint64_t seed, seeds; /* 0: not given */
};

#define AT(field) offsetof(struct sim_options, field)
static const struct option_spec OPTIONS[] = {
    {0, "module", "FILE", "load the handlers from this module", OPTION_TEXT, AT(module)},
    {0, "stand-in", "FILE", "let the module call the functions of this shared object", OPTION_LIST,
     AT(stand_ins)},
    {0, "seeds", "N", "run so many seeds; 100, or 1 with --seed", OPTION_NUMBER, AT(seeds)},
    {0, "seed", "N", "begin with this seed; 1", OPTION_NUMBER, AT(seed)},
    {0},
};

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct sim_options *o = options;
    char seed[24], seeds[24];
    char *out[OPTION_LIST_MAX * 2 + 12];
    int n = 0;
    (void)argc;
    if (o->module == NULL) {
        complain_as("USAGE", NULL, "missing --module FILE (as --module ./orders.so)");
        return STATUS_USAGE;
    }
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed ? o->seed : 1);
    snprintf(seeds, sizeof seeds, "%" PRIu64, o->seeds ? o->seeds : o->seed ? 1 : SEEDS);
    out[n++] = (char *)"ergon-sim";
    out[n++] = (char *)"--module";
    out[n++] = (char *)o->module;
    for (size_t s = 0; s < o->stand_ins.count; s++) {
        out[n++] = (char *)"--stand-in";
        out[n++] = (char *)o->stand_ins.at[s];
    }
    out[n++] = (char *)"--seed";
    out[n++] = seed;
    out[n++] = (char *)"--seeds";
    out[n++] = seeds;
    if (g->verbose)
        out[n++] = (char *)"--verbose";
    out[n++] = (char *)"--";
    out[n++] = argv[0];
    out[n] = NULL;
    return become(out, "which runs handlers in a simulated world",
                  "install it here (package ergon-sim)");
}

const struct command SIM = {
    .name = "sim",
    .arguments = "SCENARIO",
    .summary = "test the handlers of a module under crashes, losses and delays, by seed",
    .text = "Runs the server with the module in a simulated world, on a virtual clock. The\n"
            "scenario (YAML) lists the load, the faults, and what is expected of the handlers.\n"
            "Each seed is one run, and the same seed is always the same run. The search ends\n"
            "with the first run that breaks an expectation, and prints the history of the task.\n"
            "docs/simulation.md is a guide. Exit status 0: all seeds kept the expectations; 1:\n"
            "one did not; 2: the scenario or the module cannot be used.\n",
    .examples = "  ergon sim --module ./orders.so scenario.yaml\n"
                "  ergon sim --module ./orders.so --stand-in ./bank.so --seeds 1000 scenario.yaml\n"
                "  ergon sim --module ./orders.so --seed 17 --verbose scenario.yaml\n",
    .options = OPTIONS,
    .options_size = sizeof(struct sim_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
    .offline = true,
};
