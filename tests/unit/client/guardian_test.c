/* A command under its guardian: how it ends, and that nothing of it stays.
 *
 * Who is left is asked by a pipe: every process that a command starts inherits its writing end, so
 * the reading end says that all have gone, whatever groups and sessions they are in. */
#include "client/cli/guardian.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/cmocka_env.h"

enum { LIMIT_S = 60, LONG_MS = 600 * 1000, NONE = -1 };

/* Starts a child that leaves the group and the session, whose child does so again. */
#define FAMILY                                                                                     \
    "setsid sh -c 'setsid sleep 1000 & echo far; exec sleep 1000' & sleep 1000 & echo near; "

struct stage {
    struct event_base *base;
    int alive[2]; /* all of the family have its writing end */
    int out[2];   /* standard output of the command */
    struct guard *guard;
    int status; /* NONE: it has not ended */
    char said[256];
};

static int set_up(void **state)
{
    static struct stage s;
    s = (struct stage){.base = event_base_new(), .status = NONE};
    assert_int_equal(pipe(s.alive), 0); /* is inherited */
    assert_int_equal(pipe2(s.out, O_CLOEXEC), 0);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;
    event_base_free(s->base);
    for (int i = 0; i < 2; i++) {
        if (s->alive[i] >= 0)
            close(s->alive[i]);
        if (s->out[i] >= 0)
            close(s->out[i]);
    }
    return 0;
}

#define GUARD_TEST(name) TEST_OF(struct stage *s, NULL, set_up, tear_down, name)

static void on_ended(void *arg, int status)
{
    struct stage *s = arg;
    s->status = status;
    event_base_loopbreak(s->base);
}

static void start_words(struct stage *s, char *const *words, struct guard_plan plan)
{
    plan.argv = words;
    plan.in = plan.err = plan.keep = -1;
    plan.out = s->out[1];
    s->guard = guard_start(s->base, &plan, on_ended, s);
    assert_non_null(s->guard);
}

static void start(struct stage *s, const char *script, uint32_t patience_ms)
{
    char *words[] = {"sh", "-c", (char *)script, NULL};
    start_words(s, words, (struct guard_plan){.patience_ms = patience_ms});
}

static void close_ours(struct stage *s)
{
    close(s->alive[1]);
    close(s->out[1]);
    s->alive[1] = s->out[1] = -1;
}

static void readable(int fd, const char *what)
{
    struct pollfd on = {fd, POLLIN, 0};
    if (poll(&on, 1, LIMIT_S * 1000) != 1)
        fail_msg("%s: nothing in %d s", what, LIMIT_S);
}

/* Until all of the family have gone. */
static void until_none(struct stage *s)
{
    char c;
    readable(s->alive[0], "somebody lives");
    assert_int_equal(read(s->alive[0], &c, 1), 0);
}

/* Until the command has said so many lines. */
static void until_said(struct stage *s, unsigned lines)
{
    size_t len = 0;
    while (lines > 0) {
        readable(s->out[0], "a line of the command");
        assert_int_equal(read(s->out[0], s->said + len, 1), 1);
        lines -= s->said[len++] == '\n';
    }
    s->said[len] = 0;
}

static int run(struct stage *s)
{
    struct timeval limit = {.tv_sec = LIMIT_S};
    event_base_loopexit(s->base, &limit);
    event_base_dispatch(s->base);
    assert_int_not_equal(s->status, NONE);
    return s->status;
}

/* ---- how it ends ---- */

GUARD_TEST(the_status_is_the_commands)
{
    static const struct {
        const char *script;
        int code, signal;
    } rows[] = {{"exit 0", 0, 0}, {"exit 3", 3, 0}, {"exit 255", 255, 0}, {"kill -9 $$", 0, 9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start(s, rows[i].script, LONG_MS);
        int status = run(s);
        if (rows[i].signal != 0)
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == rows[i].signal);
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == rows[i].code);
        s->status = NONE;
    }
}

GUARD_TEST(what_cannot_be_run_ends_as_in_a_shell)
{
    static const struct {
        char *path;
        int code;
        const char *says;
    } rows[] = {{"no-such-command-here", 127, "ergon: no-such-command-here: No such file"},
                {"/etc/passwd", 126, "ergon: /etc/passwd: Permission denied"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *words[] = {rows[i].path, NULL};
        int error[2];
        assert_int_equal(pipe2(error, O_CLOEXEC), 0);
        struct guard_plan plan = {
            .argv = words, .in = -1, .out = -1, .err = error[1], .keep = -1, .patience_ms = 1};
        assert_non_null(guard_start(s->base, &plan, on_ended, s));
        int status = run(s);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), rows[i].code);
        ssize_t len = read(error[0], s->said, sizeof s->said - 1);
        s->said[len > 0 ? len : 0] = 0;
        assert_true(strncmp(s->said, rows[i].says, strlen(rows[i].says)) == 0);
        close(error[0]);
        close(error[1]);
        s->status = NONE;
    }
}

GUARD_TEST(signals_go_to_the_group)
{
    start(s,
          "trap : USR1; (trap 'echo child; exit' USR1; echo; while :; do sleep 1; done) & "
          "wait; wait; exit 7",
          LONG_MS);
    until_said(s, 1);
    guard_signal(s->guard, SIGUSR1);
    int status = run(s);
    assert_int_equal(WEXITSTATUS(status), 7);
    until_said(s, 1);
    assert_string_equal(s->said, "child\n");
}

GUARD_TEST(the_environment_and_the_input_are_as_planned)
{
    char *words[] = {"sh", "-c", "read line; echo \"$line $A ${B-none}\"", NULL};
    static const struct guard_variable variables[] = {{"A", "one"}, {"B", NULL}};
    int in[2];
    setenv("B", "two", 1);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "hello\n", 6), 6);
    struct guard_plan plan = {.argv = words,
                              .variables = variables,
                              .variable_count = 2,
                              .in = in[0],
                              .out = s->out[1],
                              .err = -1,
                              .keep = -1,
                              .patience_ms = LONG_MS};
    assert_non_null(guard_start(s->base, &plan, on_ended, s));
    assert_int_equal(run(s), 0);
    until_said(s, 1);
    assert_string_equal(s->said, "hello one none\n");
    close(in[0]);
    close(in[1]);
}

/* ---- nothing stays ---- */

GUARD_TEST(what_a_command_leaves_behind_ends_with_it)
{
    start(s, FAMILY "exit 5", LONG_MS);
    close_ours(s);
    int status = run(s);
    assert_int_equal(WEXITSTATUS(status), 5);
    until_none(s);
}

GUARD_TEST(a_stop_asks_first_and_does_not_ask_for_ever)
{
    start(s, "trap '' TERM; " FAMILY "while :; do sleep 1000; done", 1);
    until_said(s, 2);
    close_ours(s);
    guard_stop(s->guard);
    guard_stop(s->guard);
    int status = run(s);
    assert_int_equal(status, SIGKILL);
    until_none(s);
}

GUARD_TEST(a_stopped_command_hears_that_it_shall_end)
{
    start(s, "trap 'exit 9' TERM; echo; kill -STOP $$; while :; do sleep 1; done", LONG_MS);
    until_said(s, 1);
    guard_stop(s->guard);
    int status = run(s);
    assert_int_equal(WEXITSTATUS(status), 9);
}

/* As one does that has been asked already when it stops: between the two signals, or by itself. */
GUARD_TEST(a_command_that_stops_on_its_way_out_goes_on)
{
    start(s, "trap 'kill -STOP $$; exit 9' TERM; echo; while :; do sleep 1; done", LONG_MS);
    until_said(s, 1);
    guard_stop(s->guard);
    int status = run(s);
    assert_int_equal(WEXITSTATUS(status), 9);
}

GUARD_TEST(a_kill_is_one_at_once)
{
    start(s, "trap '' TERM; " FAMILY "while :; do sleep 1000; done", LONG_MS);
    until_said(s, 2);
    close_ours(s);
    guard_kill(s->guard);
    assert_true(WIFSIGNALED(run(s)));
    until_none(s);
}

GUARD_TEST(the_guardian_looks_at_the_clock)
{
    uint64_t now = clock_read(CLOCK_BOOTTIME);
    start(s, FAMILY "while :; do sleep 1000; done", LONG_MS);
    until_said(s, 2);
    close_ours(s);
    assert_true(guard_until(s->guard, now + UINT64_C(1000000000000)));
    assert_true(guard_until(s->guard, now));
    until_none(s); /* nobody ran our event base */
    assert_true(WIFSIGNALED(run(s)));
}

/* ---- somebody is killed ---- */

/* A process that stands for `ergon`: it starts the family twice, and tells that by `out`. */
static pid_t be_ergon(struct stage *s)
{
    pid_t process = fork();
    if (process != 0)
        return process;
    s->base = event_base_new(); /* that of the parent is not for two */
    start(s, "trap '' TERM; " FAMILY "while :; do sleep 1000; done", LONG_MS);
    start(s, "trap '' TERM; " FAMILY "while :; do sleep 1000; done", LONG_MS);
    event_base_dispatch(s->base);
    _exit(1);
}

GUARD_TEST(a_killed_parent_takes_all_with_it)
{
    pid_t ergon = be_ergon(s);
    close_ours(s);
    until_said(s, 4);
    assert_int_equal(kill(ergon, SIGKILL), 0);
    until_none(s);
    assert_int_equal(waitpid(ergon, NULL, 0), ergon);
}

GUARD_TEST(a_parent_that_just_exits_does_so_too)
{
    pid_t ergon = be_ergon(s);
    close_ours(s);
    until_said(s, 4);
    assert_int_equal(kill(ergon, SIGTERM), 0);
    until_none(s);
    assert_int_equal(waitpid(ergon, NULL, 0), ergon);
}

/* The guardian has what it keeps until the command has gone. */
GUARD_TEST(what_is_kept_ends_after_the_command)
{
    int kept[2];
    char c;
    assert_int_equal(pipe2(kept, O_CLOEXEC), 0);
    pid_t ergon = fork();
    if (ergon == 0) {
        char *words[] = {"sh", "-c", "trap '' TERM; echo; while :; do sleep 1000; done", NULL};
        struct guard_plan plan = {.argv = words,
                                  .in = -1,
                                  .out = s->out[1],
                                  .err = -1,
                                  .keep = kept[1],
                                  .patience_ms = LONG_MS};
        s->base = event_base_new();
        assert_non_null(guard_start(s->base, &plan, on_ended, s));
        event_base_dispatch(s->base);
        _exit(1);
    }
    close_ours(s);
    close(kept[1]);
    until_said(s, 1);
    struct pollfd on = {kept[0], POLLIN, 0};
    assert_int_equal(poll(&on, 1, 0), 0);
    kill(ergon, SIGKILL);
    readable(kept[0], "the end of what is kept");
    assert_int_equal(read(kept[0], &c, 1), 0);
    /* By then nobody of the family has anything either; the parent may be on its way out. */
    waitpid(ergon, NULL, 0);
    on = (struct pollfd){s->alive[0], POLLIN, 0};
    assert_int_equal(poll(&on, 1, 0), 1);
    close(kept[0]);
}

/* By its death signal the command goes, by its parent what is left of the group. */
GUARD_TEST(a_killed_guardian_takes_the_group_with_it)
{
    start(s, "trap '' TERM; sleep 1000 & echo $PPID; while :; do sleep 1000; done", LONG_MS);
    close_ours(s);
    until_said(s, 1);
    assert_int_equal(kill((pid_t)atoi(s->said), SIGKILL), 0);
    assert_true(WIFSIGNALED(run(s)));
    until_none(s);
}
