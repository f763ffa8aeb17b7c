#include "sim/try.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "sim/play.h"
#include "sim/record.h"
#include "sim/trace.h"
#include "sim/world.h"

enum { PATIENCE_S = 20 /* of real time: a run takes a fraction of a second */ };

/* What a run leaves for us, in memory that both processes have. */
static struct shared {
    char finding[SIM_FINDING_MAX];
    uint32_t count;
    struct sim_line lines[SIM_LINES_MAX];
} * shared;

static void open_shared(void)
{
    if (!shared)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(shared != MAP_FAILED, "no memory for a try");
    shared->count = 0;
    shared->finding[0] = '\0';
}

static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    alarm(PATIENCE_S);
    sim_finding_to(shared->finding, sizeof shared->finding);
}

/* The name of the promise, and of the member that is not as it was. */
static void make_key(struct sim_outcome *o)
{
    size_t len = strcspn(o->finding, ":");
    const char *member = strstr(o->finding, "its `");
    len = len < SIM_KEY - 1 ? len : SIM_KEY - 1;
    memcpy(o->key, o->finding, len);
    if (member)
        snprintf(o->key + len, sizeof o->key - len, " %.*s", (int)strcspn(member + 5, "`"),
                 member + 5);
}

static struct sim_outcome wait_for(pid_t child)
{
    struct sim_outcome o = {0};
    int status;
    require(child > 0 && waitpid(child, &status, 0) == child, "a process that is not there");
    o.failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (WIFSIGNALED(status))
        snprintf(o.finding, sizeof o.finding, "signal %d: the server was ended by it",
                 WTERMSIG(status));
    else if (o.failed)
        strcpy(o.finding, shared->finding);
    make_key(&o);
    return o;
}

struct sim_outcome sim_try_seed(uint64_t seed, struct sim_script *out)
{
    open_shared();
    pid_t child = fork();
    if (child == 0) {
        be_silent();
        sim_record_into(shared->lines, &shared->count);
        sim_world_run(seed);
        _exit(0);
    }
    struct sim_outcome o = wait_for(child);
    *out = (struct sim_script){.lines = calloc(SIM_LINES_MAX, sizeof *out->lines),
                               .count = shared->count};
    require(out->lines != NULL, "no memory for a script");
    memcpy(out->lines, shared->lines, shared->count * sizeof *out->lines);
    return o;
}

struct sim_outcome sim_try_script(const struct sim_script *s)
{
    open_shared();
    pid_t child = fork();
    if (child == 0) {
        be_silent();
        sim_play(s);
        _exit(0);
    }
    return wait_for(child);
}
