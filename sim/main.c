/* ergon-sim: runs the server in a simulated world, by seed.
 *
 *     ergon-sim --seed N [--seeds COUNT] [--first] [--reach] [--verbose]
 *     ergon-sim --seed N --shrink OUT
 *     ergon-sim --script FILE [--verbose]
 *     ergon-sim --module FILE [--stand-in FILE]... SCENARIO [--seed N] [--seeds COUNT] [--verbose]
 *     ergon-sim --remote SCENARIO [--verbose]
 *
 * Each seed runs in a process of its own, and prints a line: its hash, and what it did.  Two runs
 * of one seed print the same line.  Exit status: 0 no finding, 1 findings (or nothing to shrink), 2
 * usage, 3 a finding of a script. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/burst.h"
#include "sim/play.h"
#include "sim/reach.h"
#include "sim/schedule.h"
#include "sim/shrink.h"
#include "sim/trace.h"
#include "sim/user/seeds.h"
#include "sim/world.h"

enum { PATIENCE_S = 120 /* of real time: a run takes a fraction of a second */, EXIT_USAGE = 2 };

struct options {
    uint64_t seed, count;
    bool first; /* the first that fails is the last */
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

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {{"seed", required_argument, NULL, 's'},
                                          {"seeds", required_argument, NULL, 'n'},
                                          {"first", no_argument, NULL, 'f'},
                                          {"reach", no_argument, NULL, 'r'},
                                          {"script", required_argument, NULL, 'p'},
                                          {"shrink", required_argument, NULL, 'o'},
                                          {"module", required_argument, NULL, 'm'},
                                          {"stand-in", required_argument, NULL, 'i'},
                                          {"remote", no_argument, NULL, 'w'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {0}};
    bool good = true;
    int stand_ins = 0;
    int c;
    *o = (struct options){.seed = 1, .count = 1};
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
        switch (c) {
        case 's':
            good &= read_number(optarg, &o->seed);
            break;
        case 'n':
            good &= read_number(optarg, &o->count);
            break;
        case 'f':
            o->first = true;
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
    return good && optind == argc;
}

_Noreturn static void run_seed(uint64_t seed)
{
    alarm(PATIENCE_S);
    sim_world_run(seed);
    printf("seed %" PRIu64 ": hash %016" PRIx64 ", %" PRIu64 " requests, %" PRIu64
           " switches, %" PRIu64 " ms\n",
           seed, sim_hash(), sim_requests(), sim_switches(), sim_now() / 1000000);
    fflush(stdout);
    _exit(0);
}

static bool is_good(uint64_t seed, const char *program)
{
    fflush(stdout);
    pid_t child = fork();
    int status;
    if (child == 0)
        run_seed(seed);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("ergon-sim: fork");
        exit(1);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        printf("seed %" PRIu64 ": ended by signal %d\n", seed, WTERMSIG(status));
    printf("seed %" PRIu64 " failed; to repeat it: %s --seed %" PRIu64 " --verbose\n", seed,
           program, seed);
    return false;
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
    alarm(PATIENCE_S);
    sim_play(&s);
    printf("%s: hash %016" PRIx64 ", %" PRIu64 " requests, %" PRIu64 " ms\n", path, sim_hash(),
           sim_requests(), sim_now() / 1000000);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    struct options o;
    uint64_t failed = 0;

    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: %s --seed N [--seeds COUNT] [--first] [--reach] [--verbose]\n"
                "       %s --seed N --shrink OUT\n"
                "       %s --script FILE [--verbose]\n"
                "       %s --module FILE [--stand-in FILE]... SCENARIO [--seed N] [--seeds COUNT]\n"
                "       %s --remote SCENARIO\n",
                argv[0], argv[0], argv[0], argv[0], argv[0]);
        return EXIT_USAGE;
    }
    if (o.user.scenario) {
        o.user.program = argv[0];
        o.user.seed = o.seed;
        o.user.count = o.count;
        return sim_user_seeds(&o.user);
    }
    if (o.script)
        run_script(o.script);
    if (o.shrink)
        return !sim_shrink(o.seed, o.shrink);
    if (o.reach)
        sim_reach_open();
    for (uint64_t n = 0; n < o.count && !(o.first && failed); n++)
        failed += !is_good(o.seed + n, argv[0]);
    if (o.reach)
        sim_reach_write(stdout);
    return failed > 0;
}
