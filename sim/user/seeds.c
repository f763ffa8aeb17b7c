#include "sim/user/seeds.h"

#include <inttypes.h>
#include <msgpack.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/user/module.h"
#include "sim/user/pipe.h"
#include "sim/user/scenario.h"
#include "sim/user/world.h"

enum { PATIENCE_S = 600 /* of real time, for one seed */, REPORT_MAX = 8192, BAD = 2 };

/* Results of a seed, in memory that its process shares with ours. */
static struct result {
    char report[REPORT_MAX]; /* the finding; empty: there is none */
    bool is_complete;        /* the run has come to its end */
} * result;

static void open_result(void)
{
    result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(result != MAP_FAILED, "no memory for a result");
    sim_finding_to(result->report, REPORT_MAX);
}

static bool prepare(const struct sim_user_options *o, struct sim_scenario *s, char *error,
                    size_t size)
{
    if (!sim_scenario_read(o->scenario, s, error, size))
        return false;
    for (const char *const *at = o->stand_ins; *at; at++)
        if (!sim_stand_in_open(*at, error, size))
            return false;
    if (o->module && !sim_module_open(o->module, error, size))
        return false;
    s->has_workers = o->remote;
    bool loses_workers = s->apart[SIM_FAULT_WORKER_LOST] || s->apart[SIM_FAULT_WORKER_KILLED];
    if (loses_workers && !o->remote) {
        snprintf(error, size,
                 "%s: the handlers of a module run in the server, and there are no "
                 "workers to be lost or killed",
                 o->scenario);
        return false;
    }
    return sim_user_configure(s, error, size);
}

_Noreturn static void run(const struct sim_user_options *o, const struct sim_scenario *s,
                          uint64_t seed)
{
    prctl(PR_SET_PDEATHSIG,
          SIGKILL); /* else a handler that never sleeps outlives our caller's kill */
    alarm(PATIENCE_S);
    sim_user_run(s, o->remote, seed);
    result->is_complete = true;
    fflush(stdout);
    _exit(0);
}

/* The process ended without a report. */
static void explain(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(result->report, REPORT_MAX,
                 "the run takes more than ten minutes of real time: a handler waits without "
                 "sleeping, or waits for a file\n");
    else if (WIFSIGNALED(status))
        snprintf(result->report, REPORT_MAX,
                 "signal %d ended the process, most likely in a handler: run this seed under gdb\n",
                 WTERMSIG(status));
    else
        snprintf(result->report, REPORT_MAX, "the process ended with status %d before the run\n",
                 WEXITSTATUS(status));
}

/* True: nothing was found. */
static bool run_seed(const struct sim_user_options *o, const struct sim_scenario *s, uint64_t seed)
{
    int status;
    *result = (struct result){0};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        run(o, s, seed);
    require(child > 0 && waitpid(child, &status, 0) == child, "a process that is not there");
    if (!result->is_complete && result->report[0] == '\0')
        explain(status);
    return result->report[0] == '\0';
}

/* --- On the command line --- */

static void tell(const struct sim_user_options *o, uint64_t seed)
{
    bool is_line = strchr(result->report, '\n') == NULL;
    printf("seed %" PRIu64 ": %s%s", seed, result->report, is_line ? "\n" : "");
    const char *program = strcmp(o->program, "ergon-sim") == 0 ? "ergon sim" : o->program;
    printf("to repeat it: %s --module %s", program, o->module);
    for (const char *const *at = o->stand_ins; *at; at++)
        printf(" --stand-in %s", *at);
    printf(" %s --seed %" PRIu64 "\n", o->scenario, seed);
}

static int run_all(const struct sim_user_options *o, const struct sim_scenario *s)
{
    for (uint64_t n = 0; n < o->count; n++)
        if (!run_seed(o, s, o->seed + n)) {
            tell(o, o->seed + n);
            return 1;
        }
    printf("%" PRIu64 " seed%s: nothing was found\n", o->count, o->count == 1 ? "" : "s");
    return 0;
}

/* --- For the process that started us, which says one seed after the other --- */

static void answer(void)
{
    msgpack_sbuffer out;
    msgpack_packer p;
    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&p, &out, msgpack_sbuffer_write);
    msgpack_pack_str_with_body(&p, result->report, strlen(result->report));
    pipe_write(span_of(out.data, out.size));
    msgpack_sbuffer_destroy(&out);
}

static int run_asked(const struct sim_user_options *o, const struct sim_scenario *s)
{
    for (;;) {
        uint64_t seed;
        struct reader r = reader_of(pipe_read());
        require(read_uint(&r, &seed), "a seed is a number");
        run_seed(o, s, seed);
        answer();
    }
}

int sim_user_seeds(const struct sim_user_options *o)
{
    static struct sim_scenario s;
    char error[800] = "";
    open_result();
    if (!prepare(o, &s, error, sizeof error)) {
        fprintf(stderr, "%s\n", error);
        return BAD;
    }
    return o->remote ? run_asked(o, &s) : run_all(o, &s);
}
