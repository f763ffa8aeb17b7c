/* ergon-sim: runs the server in a simulated world, by seed.
 *
 * Each seed runs in a process of its own, which prints a line: its hash, and what the run did.  Two
 * runs of one seed print the same line.  A future is a seed up to a moment, and other chance from
 * there on: the process is copied at that moment, once for each future.
 *
 * Exit status: 0 no finding; 1 a seed, a future or a scenario met a finding, or there was nothing
 * to shrink; 2 the command line, the script, the scenario or the module cannot be used; 3 a script
 * met a finding. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/burst.h"
#include "sim/play.h"
#include "sim/reach.h"
#include "sim/schedule.h"
#include "sim/seeds.h"
#include "sim/shrink.h"
#include "sim/trace.h"
#include "sim/user/seeds.h"
#include "sim/world.h"

enum { EXIT_USAGE = 2 };

static const char usage[] =
    "usage: ergon-sim --seed N [--postgresql] [--seeds COUNT] [--first] [--reach] [--verbose]\n"
    "       ergon-sim --seed N [--postgresql] [--seeds COUNT] --from MS --futures COUNT "
    "[--verbose]\n"
    "       ergon-sim --seed N [--postgresql] [--seeds COUNT] --from MS --future K [--verbose]\n"
    "       ergon-sim --seed N [--postgresql] --shrink OUT\n"
    "       ergon-sim --cluster --seed N [--seeds COUNT] [--first] [--verbose]\n"
    "       ergon-sim --script FILE [--verbose]\n"
    "       ergon-sim --module FILE [--stand-in FILE]... SCENARIO [--seed N] [--seeds COUNT]\n"
    "                 [--verbose]\n"
    "       ergon-sim --remote SCENARIO [--verbose]\n";

struct options {
    struct sim_seeds seeds;
    bool reach; /* at the end: print what the runs reached */
    const char *script, *shrink;
    struct sim_user_options user;
    bool given[UCHAR_MAX + 1]; /* by the letter of the option */
};

static const struct option known[] = {{"seed", required_argument, NULL, 's'},
                                      {"seeds", required_argument, NULL, 'n'},
                                      {"from", required_argument, NULL, 'a'},
                                      {"futures", required_argument, NULL, 'c'},
                                      {"future", required_argument, NULL, 'k'},
                                      {"cluster", no_argument, NULL, 'l'},
                                      {"postgresql", no_argument, NULL, 'g'},
                                      {"first", no_argument, NULL, 'f'},
                                      {"reach", no_argument, NULL, 'r'},
                                      {"script", required_argument, NULL, 'p'},
                                      {"shrink", required_argument, NULL, 'o'},
                                      {"module", required_argument, NULL, 'm'},
                                      {"stand-in", required_argument, NULL, 'i'},
                                      {"remote", no_argument, NULL, 'w'},
                                      {"verbose", no_argument, NULL, 'v'},
                                      {"help", no_argument, NULL, 'h'},
                                      {0}};

/* What a run is about, by the option that says so, and the options that go with it. */
static const struct mode {
    char option;
    const char *with;
} modes[] = {{'p', "v"},      {'o', "gs"},     {'w', "v"}, {'m', "isnv"},
             {'c', "agsnvl"}, {'k', "agsnvl"}, {0}};

static const char *name_of(int letter)
{
    const struct option *o = known;
    while (o->val != letter)
        o++;
    return o->name;
}

__attribute__((format(printf, 1, 2))) _Noreturn static void refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ergon-sim: ", stderr);
    vfprintf(stderr, format, args);
    fputs(" (see ergon-sim --help)\n", stderr);
    va_end(args);
    exit(EXIT_USAGE);
}

/* --- The options, one by one --- */

/* `least`: the smallest number that has a meaning. */
static uint64_t read_number(int option, const char *text, uint64_t least)
{
    uint64_t number;
    errno = 0;
    number = strtoull(text, NULL, 10);
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0' || errno != 0 || number < least)
        refuse("--%s takes a number of at least %" PRIu64 ", not '%s'", name_of(option), least,
               text);
    return number;
}

static void add_stand_in(struct sim_user_options *o, const char *path)
{
    int n = 0;
    while (o->stand_ins[n])
        n++;
    if (n == SIM_STAND_INS_MAX)
        refuse("there are more than %d of --stand-in: leave some out", SIM_STAND_INS_MAX);
    o->stand_ins[n] = path;
}

static void take(struct options *o, int option, const char *value)
{
    switch (option) {
    case 's':
        o->seeds.seed = read_number(option, value, 0);
        break;
    case 'n':
        o->seeds.count = read_number(option, value, 1);
        break;
    case 'a':
        o->seeds.from = read_number(option, value, 1);
        break;
    case 'c':
        o->seeds.futures = read_number(option, value, 1);
        break;
    case 'k':
        o->seeds.future = read_number(option, value, 1);
        break;
    case 'p':
        o->script = value;
        break;
    case 'o':
        o->shrink = value;
        break;
    case 'm':
        o->user.module = value;
        break;
    case 'i':
        add_stand_in(&o->user, value);
        break;
    case 'h':
        fputs(usage, stdout);
        exit(0);
    case '?': /* getopt_long() has said why */
        exit(EXIT_USAGE);
    default:
        break;
    }
}

/* --- All of them together --- */

static const struct mode *mode_of(const struct options *o)
{
    const struct mode *m = modes;
    while (m->option && !o->given[(uint8_t)m->option])
        m++;
    return m;
}

/* Without another mode the run is about seeds, where these options lack their partner. */
static void check_needs(int option)
{
    if (option == 'a')
        refuse("--from needs --futures COUNT or --future K: add one of them");
    if (option == 'i')
        refuse("--stand-in needs --module FILE: add it");
}

static void check_together(const struct options *o, const struct mode *m)
{
    for (const struct option *k = known; k->name; k++) {
        if (!o->given[k->val] || k->val == m->option)
            continue;
        if (!m->option)
            check_needs(k->val);
        else if (!strchr(m->with, k->val))
            refuse("--%s does not go with --%s: leave one of them out", k->name,
                   name_of(m->option));
    }
    if ((m->option == 'c' || m->option == 'k') && !o->given['a'])
        refuse("--%s needs --from MS: add it", name_of(m->option));
}

static void read_options(int argc, char **argv, struct options *o)
{
    int c;
    *o = (struct options){.seeds = {.program = argv[0], .seed = 1, .count = 1}};
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        take(o, c, optarg);
        o->given[c] = true;
    }
    const struct mode *m = mode_of(o);
    check_together(o, m);
    if (m->option == 'm' || m->option == 'w')
        o->user.scenario = argv[optind] ? argv[optind++] : NULL;
    if ((m->option == 'm' || m->option == 'w') && !o->user.scenario)
        refuse("--%s needs a SCENARIO: add the path of its file", name_of(m->option));
    if (optind < argc)
        refuse("unexpected argument '%s': leave it out", argv[optind]);
    o->seeds.first = o->given['f'];
    o->seeds.cluster = o->given['l'];
    o->reach = o->given['r'];
    if (o->given['g'])
        sim_world_on_postgres();
    o->user.remote = o->given['w'];
    sim_verbose = o->given['v'];
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
    sim_patience_begin();
    sim_play(&s);
    printf("%s: hash %016" PRIx64 ", %" PRIu64 " requests, %" PRIu64 " ms\n", path, sim_hash(),
           sim_requests(), sim_now() / 1000000);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    struct options o;
    read_options(argc, argv, &o);
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
