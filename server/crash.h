/* The last record: what went wrong when the process ends as it should not.
 *
 * A fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS) is logged with the
 * thread, the task whose handler ran, and the frames of its stack; then it takes its default
 * action, so that the exit status is the signal's, and a core is written where the system is set up
 * for it. exit() in a handler is logged in the same way, and the process ends with
 * CRASH_EXIT_CALLED, whatever status was asked for.  Nothing catches _exit() and SIGKILL.
 *
 * Each of these also leaves a file of the flight recorder, where recorder_files.h is open.
 *
 * Under a sanitizer its own reports are left alone, and nothing is installed but what concerns
 * exit(). */
#ifndef ERGON_CRASH_H
#define ERGON_CRASH_H

#include <stdbool.h>

enum { CRASH_EXIT_CALLED = 70 /* EX_SOFTWARE */ };

/* Main thread, once, after the modules were loaded: what they do at an exit comes later than the
 * record.  0, or -1 and errno. */
int crash_install(void);

/* From now on, or no longer, whoever calls exit() is a handler.  Main thread. */
void crash_expect_no_exit(bool expect);

#endif
