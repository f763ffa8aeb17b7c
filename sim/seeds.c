#include "sim/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/burst.h"
#include "sim/chance.h"
#include "sim/cluster/world.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/world.h"

enum {
    FUTURES_FAILED = 4, /* exit status of a process whose futures have said why */
    PROCESSOR_S = 120,  /* a run takes a fraction of a second */
    REAL_S = 3600
};

static struct sim_seeds runs;
static uint64_t future; /* 0: the seed's own */

static void wait_for_processor(time_t seconds)
{
    const struct itimerval until = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &until, NULL);
}

void sim_patience_begin(void)
{
    wait_for_processor(PROCESSOR_S);
    alarm(REAL_S);
}

void sim_patience_end(void)
{
    wait_for_processor(0);
    alarm(0);
}

static bool ended_well(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("ergon-sim: fork");
        exit(1);
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == FUTURES_FAILED))
        return WEXITSTATUS(status) == 0;
    if (WIFSIGNALED(status))
        printf("seed %" PRIu64 ": ended by signal %d\n", runs.seed, WTERMSIG(status));
    printf("seed %" PRIu64 " failed; to repeat it: %s%s --seed %" PRIu64, runs.seed, runs.program,
           runs.cluster ? " --cluster" : "", runs.seed);
    if (future || runs.future)
        printf(" --from %" PRIu64 " --future %" PRIu64, runs.from, future ? future : runs.future);
    if (sim_world_is_on_postgres())
        printf(" --postgresql");
    printf(" --verbose\n");
    return false;
}

/* At the moment `from`.  Returns in the process of a future. */
static void take_future(void)
{
    bool good = true;
    pid_t child = runs.futures ? -1 : 0;
    if (!runs.futures)
        future = runs.future;
    sim_patience_end();
    while (child != 0 && future++ < runs.futures) {
        fflush(stdout);
        child = fork();
        good &= child == 0 || ended_well(child);
    }
    if (child != 0) {
        fflush(stdout);
        _exit(good ? 0 : FUTURES_FAILED);
    }
    sim_patience_begin();
    sim_chance_again(future);
}

_Noreturn static void run_seed(void)
{
    sim_patience_begin();
    if (runs.from)
        sim_at(SIM_MS(runs.from), take_future);
    if (runs.cluster)
        sim_cluster_run(runs.seed);
    else
        sim_world_run(runs.seed);
    if (runs.from && !future) {
        printf("seed %" PRIu64 " ends at %" PRIu64 " ms, before --from\n", runs.seed,
               sim_now() / 1000000);
        fflush(stdout);
        _exit(FUTURES_FAILED);
    }
    printf("seed %" PRIu64, runs.seed);
    if (future)
        printf(", future %" PRIu64, future);
    printf(": hash %016" PRIx64 ", %" PRIu64 " requests, %" PRIu64 " switches, %" PRIu64 " ms\n",
           sim_hash(), sim_requests(), sim_switches(), sim_now() / 1000000);
    fflush(stdout);
    _exit(0);
}

bool sim_seeds_run(const struct sim_seeds *what)
{
    bool good = true;
    runs = *what;
    for (uint64_t n = 0; n < what->count && (good || !what->first); n++) {
        runs.seed = what->seed + n;
        future = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            run_seed();
        good &= ended_well(child);
    }
    return good;
}
