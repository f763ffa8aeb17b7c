#include "tests/support/death.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

_Noreturn static void run(void (*act)(void *arg), void *arg, int out)
{
    signal(SIGABRT, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    dup2(out, STDERR_FILENO);
    act(arg);
    _exit(0);
}

void expect_misuse(void (*act)(void *arg), void *arg, const char *text)
{
    char said[4096];
    size_t length = 0;
    ssize_t n;
    int ends[2], status;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run(act, arg, ends[1]);
    close(ends[1]);
    while ((n = read(ends[0], said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)n;
    said[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || !strstr(said, text))
        fail_msg("status %d, not aborted for \"%s\", but: %s", status, text, said);
}

void need_asserts(void)
{
#ifdef NDEBUG
    skip();
#endif
}

void expect_broken_assert(void (*act)(void *arg), void *arg, const char *text)
{
    need_asserts();
    expect_misuse(act, arg, text);
}
