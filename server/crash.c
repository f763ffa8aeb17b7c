/* What a handler of a fatal signal may do is little.  This one
 *
 *   - runs on a stack of its own, for the thread's may be used up (thread_own_signal_stack());
 *   - formats and writes with base/log.c, whose last record is written without an allocation, a
 * lock or a locale;
 *   - sets an alarm, whose default action ends the process if all this hangs: the frames' names
 * come from the dynamic linker, whose lock the thread may have held;
 *   - survives a fault of its own: a stack that cannot be unwound leaves the record without frames;
 *   - then has the flight recorder written to a file (recorder_files.h), for which the same holds;
 *   - lets one thread of several write, and the others wait for the end.
 *
 * One SIGBUS is mended instead: that of FILE-running, whose file another process truncated. */
#include "server/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <ergon/ao.h>

#include "base/log.h"
#include "server/backtrace.h"
#include "server/recorder_files.h"
#include "server/runtime/thread.h"
#include "server/runtime/thread_locals.h"
#include "server/store/store.h"
#include "server/tasks/running.h"

enum { PATIENCE_S = 5, TEXT_MAX = 2500, THREAD_NAME = 16 };

static const struct {
    int number;
    const char *name;
} fatal[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
             {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGSYS, "SIGSYS"}};
enum { FATAL_COUNT = sizeof fatal / sizeof fatal[0] };

/* One thread writes the last record.  Orders nothing (relaxed): the exchange lets one in. */
static _Atomic bool writing;
static bool leaving_file; /* the record is written; a fault from now on is the file's */
static siginfo_t cause;   /* of the thread that writes */

/* Written by main around the time in which the server runs.  Orders nothing (relaxed). */
static _Atomic bool exit_unexpected;

/* ---- the record ---- */

static void write_record(const char *what, const struct log_field *first, const struct backtrace *b)
{
    char thread[THREAD_NAME + 1] = "", text[TEXT_MAX];
    struct running_task task;
    bool in_task = task_running_here(&task);
    const struct ao *object = ao_current();

    prctl(PR_GET_NAME, thread);
    backtrace_text(b, text, sizeof text);
    log_last(what, first[0], first[1], LOG_STR("thread", thread),
             LOG_STR("object", !in_task && object ? object->cls->name : NULL),
             LOG_STR("module", in_task ? task.module : NULL),
             LOG_STR("method", in_task ? task.method : NULL),
             LOG_STR("task", in_task ? task.name : NULL),
             LOG_STR("backtrace", b->count > 0 ? text : NULL));
}

/* ---- the file ---- */

static char *put(char *at, const char *end, const char *text)
{
    while (at < end && *text)
        *at++ = *text++;
    *at = '\0';
    return at;
}

/* "SIGSEGV in hash, task 12, on loop 0" */
static void leave_file(const char *what)
{
    char why[RECORDER_WHY_MAX] = "", path[RECORDER_FILE_PATH], thread[THREAD_NAME + 1] = "";
    const char *end = why + sizeof why - 1;
    struct running_task task;
    char *at = put(why, end, what);

    leaving_file = true;
    alarm(PATIENCE_S); /* anew: the record may have waited for who reads the log */
    if (task_running_here(&task)) {
        at = put(put(at, end, " in "), end, task.method);
        at = put(put(at, end, ", task "), end, task.name);
    }
    prctl(PR_GET_NAME, thread);
    put(put(at, end, ", on "), end, thread);
    if (recorder_files_crash(why, path))
        log_last("what all threads did last is in a file", LOG_STR("file", path),
                 LOG_STR("hint", "ergon debug show FILE"));
}

/* ---- signals ---- */

static const char *signal_name(int number)
{
    for (int i = 0; i < FATAL_COUNT; i++)
        if (fatal[i].number == number)
            return fatal[i].name;
    return "?";
}

static void set_default(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigaction(number, &action, NULL);
}

static bool is_fault(void)
{
    return cause.si_code > 0;
}

static void record_cause(const struct backtrace *b)
{
    char address[BACKTRACE_ADDRESS_MAX];
    bool stranger = !is_fault() && cause.si_pid != getpid();
    const struct log_field fields[] = {LOG_STR("signal", signal_name(cause.si_signo)),
                                       stranger ? LOG_INT("sent_by", cause.si_pid)
                                                : LOG_STR("address", is_fault() ? address : NULL)};

    backtrace_address((uintptr_t)cause.si_addr, address);
    write_record("the server dies of a signal", fields, b);
}

/* The first time with the frames, and, should unwinding them be what faults, again without; then
 * the file, unless that is what faults.  A
 * fault comes again when its instruction is tried again, with the stack as it was. */
static void on_fatal(int number, siginfo_t *info, void *context)
{
    struct backtrace b = {.count = 0};
    bool again = thread_locals.writes_last_record;

    if (number == SIGBUS && info->si_code == BUS_ADRERR && store_board_mend(info->si_addr))
        return;
    if (!again && atomic_exchange_explicit(&writing, true, memory_order_relaxed))
        for (;;)
            pause();
    if (!again) {
        thread_locals.writes_last_record = true;
        cause = *info;
        set_default(SIGALRM);
        alarm(PATIENCE_S);
        backtrace_take(&b, context);
    }
    if (!leaving_file) {
        record_cause(&b);
        leave_file(signal_name(cause.si_signo));
    }
    set_default(cause.si_signo);
    if (again || !is_fault())
        raise(cause.si_signo);
}

static int install_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_fatal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < FATAL_COUNT; i++)
        if (sigaction(fatal[i].number, &action, NULL) != 0)
            return -1;
    return 0;
}

/* ---- exit() ---- */

static void on_exit_call(int status, void *arg)
{
    const struct log_field fields[] = {LOG_INT("status", status),
                                       LOG_INT("exit_status", CRASH_EXIT_CALLED)};
    struct backtrace b = {.count = 0};

    (void)arg;
    if (!atomic_load_explicit(&exit_unexpected, memory_order_relaxed))
        return;
    backtrace_take(&b, NULL);
    write_record("exit() was called in a running server", fields, &b);
    leave_file("exit()");
    _exit(CRASH_EXIT_CALLED);
}

static bool sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

int crash_install(void)
{
    backtrace_prepare();
    thread_own_signal_stack();
    if (on_exit(on_exit_call, NULL) != 0)
        return -1;
    return sanitized() ? 0 : install_signals();
}

void crash_expect_no_exit(bool expect)
{
    atomic_store_explicit(&exit_unexpected, expect, memory_order_relaxed);
}
