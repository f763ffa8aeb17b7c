/* What the server leaves behind when it crashes or a loop hangs: a last record in the log, and a
 * file of its flight recorder. */
#ifndef ERGON_CRASH_H
#define ERGON_CRASH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/recorder.h"

struct registry;

/* ---- the last record ---- */

/* What went wrong when the process ends as it should not.
 *
 * A fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS) is logged with the thread, the
 * task whose handler ran, and the frames of its stack; then it takes its default action, so that
 * the exit status is the signal's, and a core is written where the system is set up for it.  exit()
 * in a handler is logged in the same way, and the process ends with CRASH_EXIT_CALLED, whatever
 * status was asked for.  Nothing catches _exit() and SIGKILL.
 *
 * Each of these also leaves a file of the flight recorder, where these files are open.
 *
 * Under a sanitizer its own reports are left alone, and nothing is installed but what concerns
 * exit(). */
enum { CRASH_EXIT_CALLED = 70 /* EX_SOFTWARE */ };

/* Main thread, once, after the modules were loaded: what they do at an exit comes later than the
 * record.  0, or -1 and errno. */
int crash_install(void);

/* From now on, or no longer, whoever calls exit() is a handler.  Main thread. */
void crash_expect_no_exit(bool expect);

/* ---- files of the flight recorder ---- */

/* The files that the server leaves of its flight recorder by itself: as it dies of a signal, and
 * when a loop does not finish its round.  Each is one of base/recorder_dump.h, which `ergon debug
 * show` reads:
 *
 *   FOLDER/ergond-SECONDS-PID-crash.rec     SECONDS since 1970
 *   FOLDER/ergond-SECONDS-PID-stuck.rec
 *
 * Of each kind the newest are kept, whichever server wrote them there.
 *
 * There is one such thing in a process, since a handler of a signal finds nothing else.  Until it
 * is opened nothing is written.
 *
 * Thread: main, but where a function says otherwise. */

enum { RECORDER_FILE_PATH = PATH_MAX + 64, RECORDER_WHY_MAX = 200 };

struct recorder_files_options {
    const char *folder;
    uint32_t kept;                      /* files of each kind, at least 1 */
    const struct recorder_rings *rings; /* borrowed while it is open, as `registry` */
    const struct registry *registry;
};

/* Says in the log where a crash of the last day has left its file.  0, or -1 and errno: the folder
 * cannot be opened. */
int recorder_files_open(const struct recorder_files_options *o);

/* Unix seconds of the newest file of a crash that was there when it was opened; 0: there was none.
 */
uint64_t recorder_files_crashed_at(void);

/* Waits for the file that is being written.  Nothing is written any more.  Of what is not open a
 * no-op. */
void recorder_files_close(void);

/* As the process dies, on any thread, in a handler of a signal: nothing is locked or allocated.
 * `why` is told by the file.  True: `path` names it. */
bool recorder_files_crash(const char *why, char path[RECORDER_FILE_PATH]);

/* A loop is stuck: a thread of its own writes a file, and says in the log where it is, or why there
 * is none.  Once a minute, so that a loop that comes and goes does not fill the disk; else, and
 * without a thread, nothing happens. */
void recorder_files_stuck(const char *why);

#endif
