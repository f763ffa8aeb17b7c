/* ergon-sim: runs the server in a simulated world, by seed.
 *
 *     ergon-sim --seed N [--seeds COUNT] [--first] [--reach] [--verbose]
 *     ergon-sim --seed N --from MS --futures COUNT
 *     ergon-sim --seed N --from MS --future K [--verbose]
 *     ergon-sim --seed N --shrink OUT
 *     ergon-sim --script FILE [--verbose]
 *     ergon-sim --module FILE [--stand-in FILE]... SCENARIO [--seed N] [--seeds COUNT] [--verbose]
 *     ergon-sim --remote SCENARIO [--verbose]
 *
 * Each seed runs in a process of its own, and prints a line: its hash, and what it did.  Two runs
 * of one seed print the same line.  A future is the seed up to a moment, and other chance from
 * there on: the process is copied at that moment, once for each.  Exit status: 0 no finding, 1
 * findings (or nothing to shrink), 2 usage, 3 a finding of a script. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/burst.h"
#include "sim/play.h"
#include "sim/reach.h"
#include "sim/schedule.h"
#include "sim/seeds.h"
#include "sim/shrink.h"
#include "sim/trace.h"
#include "sim/user/seeds.h"

enum { EXIT_USAGE = 2 };

struct options {
    struct sim_seeds seeds;
    bool reach; /* at the end: what was */
    const char *script, *shrink;
    struct sim_user_options user;
};

static bool read_number(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return *text != '\0' && *end == '\0';
}

/* The place for the number of this option. */
static uint64_t *number_of(struct options *o, int option)
{
    return option == 's'   ? &o->seeds.seed
           : option == 'n' ? &o->seeds.count
           : option == 'a' ? &o->seeds.from
           : option == 'c' ? &o->seeds.futures
                           : &o->seeds.future;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"seed", required_argument, NULL, 's'},     {"seeds", required_argument, NULL, 'n'},
        {"from", required_argument, NULL, 'a'},     {"futures", required_argument, NULL, 'c'},
        {"future", required_argument, NULL, 'k'},   {"first", no_argument, NULL, 'f'},
        {"reach", no_argument, NULL, 'r'},          {"script", required_argument, NULL, 'p'},
        {"shrink", required_argument, NULL, 'o'},   {"module", required_argument, NULL, 'm'},
        {"stand-in", required_argument, NULL, 'i'}, {"remote", no_argument, NULL, 'w'},
        {"verbose", no_argument, NULL, 'v'},        {0}};
    bool good = true;
    int stand_ins = 0;
    int c;
    *o = (struct options){.seeds = {.program = argv[0], .seed = 1, .count = 1}};
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
        switch (c) {
        case 's':
        case 'n':
        case 'a':
        case 'c':
        case 'k':
            good &= read_number(optarg, number_of(o, c));
            break;
        case 'f':
            o->seeds.first = true;
            break;
        case 'r':
            o->reach = true;
            break;
        case 'p':
            o->script = optarg;
            break;
        case 'o':
            o->shrink = optarg;
            break;
        case 'm':
            o->user.module = optarg;
            break;
        case 'i':
            good &= stand_ins < SIM_STAND_INS_MAX;
            if (good)
                o->user.stand_ins[stand_ins++] = optarg;
            break;
        case 'w':
            o->user.remote = true;
            break;
        case 'v':
            sim_verbose = true;
            break;
        default:
            good = false;
        }
    if (o->user.module || o->user.remote)
        o->user.scenario = argv[optind++];
    good &= !o->seeds.from == !(o->seeds.futures || o->seeds.future);
    return good && optind == argc;
}

/* Ends the process. */
_Noreturn static void run_script(const char *path)
{
    FILE *from = fopen(path, "r");
    struct sim_script s;
    uint32_t number;
    if (!from) {
        perror(path);
        exit(EXIT_USAGE);
    }
    const char *wrong = sim_script_read(from, &s, &number);
    fclose(from);
    if (wrong) {
        fprintf(stderr, "%s:%" PRIu32 ": %s\n", path, number, wrong);
        exit(EXIT_USAGE);
    }
    alarm(SIM_PATIENCE_S);
    sim_play(&s);
    printf("%s: hash %016" PRIx64 ", %" PRIu64 " requests, %" PRIu64 " ms\n", path, sim_hash(),
           sim_requests(), sim_now() / 1000000);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    struct options o;

    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: %s --seed N [--seeds COUNT] [--first] [--reach] [--verbose]\n"
                "       %s --seed N --from MS --futures COUNT | --future K [--verbose]\n"
                "       %s --seed N --shrink OUT\n"
                "       %s --script FILE [--verbose]\n"
                "       %s --module FILE [--stand-in FILE]... SCENARIO [--seed N] [--seeds COUNT]\n"
                "       %s --remote SCENARIO\n",
                argv[0], argv[0], argv[0], argv[0], argv[0], argv[0]);
        return EXIT_USAGE;
    }
    if (o.user.scenario) {
        o.user.program = argv[0];
        o.user.seed = o.seeds.seed;
        o.user.count = o.seeds.count;
        return sim_user_seeds(&o.user);
    }
    if (o.script)
        run_script(o.script);
    if (o.shrink)
        return !sim_shrink(o.seeds.seed, o.shrink);
    if (o.reach)
        sim_reach_open();
    bool good = sim_seeds_run(&o.seeds);
    if (o.reach)
        sim_reach_write(stdout);
    return !good;
}
