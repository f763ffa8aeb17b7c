/* A module whose handlers end, hang or exhaust their process, as users' faults do. */
#include <ergon/handler.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTLIVES = 120 /* s */, THE_SOCKET = 3 /* of the process */ };

static uint64_t *volatile nowhere;

static void harm(struct ergon_task *task, struct ergon_bytes how)
{
    static const uint64_t a_step = 64 << 20; /* bytes */

    (void)task;
    if (how.len == 4 && memcmp(how.at, "segv", 4) == 0)
        *nowhere = 1;
    if (how.len == 4 && memcmp(how.at, "exit", 4) == 0)
        exit(3);
    if (how.len == 5 && memcmp(how.at, "_exit", 5) == 0)
        _exit(3);
    if (how.len == 5 && memcmp(how.at, "abort", 5) == 0)
        abort();
    if (how.len == 4 && memcmp(how.at, "kill", 4) == 0)
        kill(getpid(), SIGKILL);
    if (how.len == 4 && memcmp(how.at, "deaf", 4) == 0) {
        int pair[2]; /* what it says goes to nobody, and it goes on */
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
            dup2(pair[0], THE_SOCKET);
    }
    if (how.len == 4 && memcmp(how.at, "fork", 4) == 0) {
        pid_t first = fork();
        if (first == 0)
            exit(4); /* that ends no call */
        waitpid(first, NULL, 0);
        if (fork() == 0)
            sleep(OUTLIVES);
        _exit(3);
    }
    while (how.len == 4 && memcmp(how.at, "loop", 4) == 0)
        nowhere = NULL;
    while (how.len == 3 && memcmp(how.at, "hog", 3) == 0)
        memset(malloc(a_step), 1, a_step); /* it does not ask whether there is any */
}

/* harm(how, …): what it is told to, or nothing; answers `how`. */
static void answer(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes how = {0};

    if (ergon_params_open(task, &r) < 1 || !ergon_read_bytes(&r, &how)) {
        ergon_fail(task, "BAD_PARAMS", "how is a text");
        return;
    }
    harm(task, how);
    ergon_result_str(task, how.at, how.len);
}

static enum ao_verdict step(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self;
    (void)state;
    answer(task);
    return AO_DONE;
}

/* harm.nap(how, ms): it sleeps before it does so, beside others that sleep; 20 ms if nothing is
 * said.
 */
struct nap {
    bool over;
};

static uint64_t ms_of(struct ergon_task *task)
{
    struct ergon_reader r;
    struct ergon_bytes how;
    uint64_t ms = 20;

    if (ergon_params_open(task, &r) > 1 && ergon_read_bytes(&r, &how))
        ergon_read_uint(&r, &ms);
    return ms;
}

static enum ao_verdict nap(struct ao *self, struct ergon_task *task, void *state)
{
    struct nap *n = state;

    if (!n->over) {
        n->over = true;
        ao_sleep_until(self, ao_now(self) + AO_MS(ms_of(task)));
        return AO_PARK;
    }
    answer(task);
    return AO_DONE;
}

static const struct ergon_handler handlers[] = {
    {.size = sizeof handlers[0],
     .kind = ERGON_STEPPED,
     .name = "harm.step",
     .step = step,
     .summary = "does harm on a loop",
     .params = "[how]"},
    {.size = sizeof handlers[0],
     .kind = ERGON_STEPPED,
     .name = "harm.nap",
     .step = nap,
     .state_size = sizeof(struct nap),
     .summary = "does harm after a sleep",
     .params = "[how, ms]"},
    {.size = sizeof handlers[0],
     .kind = ERGON_BLOCKING,
     .name = "harm.block",
     .run = answer,
     .summary = "does harm on a thread",
     .params = "[how]"},
};

ERGON_MODULE(harm_module, "harm", "1.0")
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (ergon_register(module, &handlers[i]) != 0)
            return -1;
    return 0;
}
