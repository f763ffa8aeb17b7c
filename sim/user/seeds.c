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
#include "server/tasks/running.h"
#include "sim/schedule.h"
#include "sim/trace.h"
#include "sim/user/effects.h"
#include "sim/user/module.h"
#include "sim/user/pipe.h"
#include "sim/user/report.h"
#include "sim/user/scenario.h"
#include "sim/user/tasks.h"
#include "sim/user/world.h"

enum {
    PATIENCE_S = 600,     /* of real time, for one seed */
    LAST_PATIENCE_S = 20, /* for the story of a handler that a signal ended */
    SIGNAL_STACK = 1 << 18,
    REPORT_MAX = 8192
};

/* Results of a seed, in memory that its process shares with ours. */
static struct result {
    char report[REPORT_MAX];     /* the finding; empty: there is none */
    bool is_unusable;            /* the report is about the scenario */
    bool is_complete;            /* the run has come to its end */
    bool happened[SIM_ROWS_MAX]; /* in any seed: the effect of that expectation */
} * result;

static void open_result(void)
{
    result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(result != MAP_FAILED, "no memory for a result");
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

/* --- A signal ends a handler --- */

static struct {
    const struct sim_user_task *task;
    char text[200];
} crash;

static void report_crash(void *arg)
{
    (void)arg;
    sim_report(NULL, crash.task, NULL, "%s", crash.text);
}

/* The fiber of the handler sleeps for ever, and another fiber asks the server for the history.  If
 * that fails, the first line of the report is already written.  A crash during another report
 * leaves that report as it is. */
static void on_signal(int number)
{
    struct running_task r;
    bool is_handler = task_running_here(&r);
    while (is_handler && sim_finding_begun())
        sim_wait_for(&crash, SIM_NEVER);
    if (sim_finding_begun())
        _exit(SIM_FOUND);
    alarm(LAST_PATIENCE_S);
    snprintf(crash.text, sizeof crash.text, "signal %d (%s) ended %s%s%s%s", number,
             sigdescr_np(number),
             is_handler ? "the handler of " : "the process, outside of handlers",
             is_handler ? r.method : "", is_handler ? ", task " : "", is_handler ? r.name : "");
    sim_finding_begin(crash.text);
    if (!is_handler || !sim_self())
        _exit(SIM_FOUND);
    crash.task = sim_user_task_find(r.name, r.method);
    sim_spawn(SIM_WORLD, "report", report_crash, NULL);
    for (;;)
        sim_wait_for(&crash, SIM_NEVER);
}

static void heed_signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static uint8_t stack[SIGNAL_STACK]; /* that of the fiber may be used up */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        sigaction(numbers[n], &action, NULL);
}

_Noreturn static void run(const struct sim_user_options *o, const struct sim_scenario *s,
                          uint64_t seed)
{
    prctl(PR_SET_PDEATHSIG,
          SIGKILL); /* else a handler that never sleeps outlives our caller's kill */
    alarm(PATIENCE_S);
    sim_finding_to(result->report, REPORT_MAX);
    heed_signals();
    setvbuf(stdout, NULL, _IOLBF, 0); /* what a handler prints is there if it crashes */
    sim_user_run(s, o->remote, seed);
    for (uint32_t n = 0; n < s->expect_count; n++)
        result->happened[n] |= sim_effect_happened(s->expects[n].effect);
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
        snprintf(result->report, REPORT_MAX, "signal %d ended the process\n", WTERMSIG(status));
    else
        snprintf(result->report, REPORT_MAX, "the process ended with status %d before the run\n",
                 WEXITSTATUS(status));
}

/* True: nothing was found. */
static bool run_seed(const struct sim_user_options *o, const struct sim_scenario *s, uint64_t seed)
{
    int status;
    result->report[0] = '\0';
    result->is_complete = false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        run(o, s, seed);
    require(child > 0 && waitpid(child, &status, 0) == child, "a process that is not there");
    if (!result->is_complete && result->report[0] == '\0')
        explain(status);
    result->is_unusable = WIFEXITED(status) && WEXITSTATUS(status) == SIM_UNUSABLE;
    return result->report[0] == '\0';
}

/* An effect that never happened breaks no expectation: its name may be misspelt. */
static const char *missing(const struct sim_scenario *s)
{
    static char text[200];
    for (uint32_t n = 0; n < s->expect_count; n++)
        if (*s->expects[n].effect && !result->happened[n]) {
            snprintf(text, sizeof text, "effect %s never happened: is that its name?",
                     s->expects[n].effect);
            return text;
        }
    return "";
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

static int refuse(const struct sim_user_options *o)
{
    fprintf(stderr, "%s: %s", o->scenario, result->report);
    return SIM_UNUSABLE;
}

static int run_all(const struct sim_user_options *o, const struct sim_scenario *s)
{
    for (uint64_t n = 0; n < o->count; n++)
        if (!run_seed(o, s, o->seed + n)) {
            if (result->is_unusable)
                return refuse(o);
            tell(o, o->seed + n);
            return 1;
        }
    printf("%" PRIu64 " seed%s: nothing was found\n", o->count, o->count == 1 ? "" : "s");
    if (*missing(s))
        printf("but %s\n", missing(s));
    return 0;
}

/* --- For the process that started us, which says one seed after the other --- */

static void put_text(msgpack_packer *p, const char *text)
{
    msgpack_pack_str_with_body(p, text, strlen(text));
}

/* A map of one: the finding, or "", and the names of the scenario that may be misspelt. */
static void answer(const struct sim_scenario *s)
{
    msgpack_sbuffer out;
    msgpack_packer p;
    msgpack_sbuffer_init(&out);
    msgpack_packer_init(&p, &out, msgpack_sbuffer_write);
    msgpack_pack_map(&p, 1);
    put_text(&p, result->report);
    put_text(&p, missing(s));
    pipe_write(span_of(out.data, out.size));
    msgpack_sbuffer_destroy(&out);
}

static int run_asked(const struct sim_user_options *o, const struct sim_scenario *s)
{
    for (;;) {
        uint64_t seed;
        struct reader r = reader_of(pipe_read());
        require(read_uint(&r, &seed), "a seed is a number");
        if (!run_seed(o, s, seed) && result->is_unusable)
            return refuse(o);
        answer(s);
    }
}

int sim_user_seeds(const struct sim_user_options *o)
{
    static struct sim_scenario s;
    char error[800] = "";
    open_result();
    if (!prepare(o, &s, error, sizeof error)) {
        fprintf(stderr, "%s\n", error);
        return SIM_UNUSABLE;
    }
    return o->remote ? run_asked(o, &s) : run_all(o, &s);
}
