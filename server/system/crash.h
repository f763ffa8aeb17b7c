/* What the server writes when it crashes or a loop hangs: a last record in the log, and a file of
 * its flight recorder. */
#ifndef ERGON_CRASH_H
#define ERGON_CRASH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/recorder.h"

struct registry;

/* ---- the last record ---- */

/* A record that says why the process ends unexpectedly.
 *
 * On a fatal signal (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS) the record has the thread,
 * the task whose handler ran, and the frames of its stack.  Then the signal takes its default
 * action, so the exit status is the signal's, and the system writes a core if it is set up for
 * that.  exit() in a handler is recorded in the same way, and the process ends with
 * CRASH_EXIT_CALLED, whatever status the handler passed.  Nothing catches _exit() and SIGKILL.
 *
 * Signal and exit() also write a file of the flight recorder, if recorder_files_open() was called.
 *
 * A sanitizer makes reports of its own; under one, only exit() is handled. */
enum { CRASH_EXIT_CALLED = 70 /* EX_SOFTWARE */ };

/* Call it once, on the main thread, after the modules were loaded, so that the record is written
 * before their exit handlers run.  0, or -1 and errno. */
int crash_install(void);

/* Before crash_install(), in a process of a module: on such an end `note` is called first, with the
 * name of the signal, or with "exit() was called", on the thread that it concerns, in a handler of
 * the signal. */
void crash_on_end(void (*note)(const char *what));

/* `expect`: from now on only a handler can call exit(), until this is called with false.  Main
 * thread. */
void crash_expect_no_exit(bool expect);

/* ---- files of the flight recorder ---- */

/* The server writes its flight recorder to a file when a signal ends it, and when a loop does not
 * finish its round.  The format is that of base/recorder_dump.h, which `ergon debug show` reads:
 *
 *   FOLDER/ergond-SECONDS-PID-crash.rec     SECONDS since 1970
 *   FOLDER/ergond-SECONDS-PID-stuck.rec
 *
 * The newest files of each kind are kept, whichever server wrote them.
 *
 * The state is global, since a signal handler has no other access to it.  Nothing is written before
 * recorder_files_open().
 *
 * Thread: main, but where a function says otherwise. */

enum { RECORDER_FILE_PATH = PATH_MAX + 64, RECORDER_WHY_MAX = 200 };

struct recorder_files_options {
    const char *folder;
    uint32_t kept;                      /* files of each kind, at least 1 */
    const struct recorder_rings *rings; /* borrowed until the close, as `registry` is */
    const struct registry *registry;
};

/* Opens the folder, and logs the file of a crash of the last day, if there is one.  0, or -1 and
 * errno: the folder cannot be opened. */
int recorder_files_open(const struct recorder_files_options *o);

/* The time, in Unix seconds, of the newest crash file that existed at the open; 0: there was none.
 */
uint64_t recorder_files_crashed_at(void);

/* Waits for a file that is being written.  Nothing is written afterwards.  A no-op without an open.
 */
void recorder_files_close(void);

/* Writes a file of a crash, with `why` in it.  Any thread, in a signal handler: it neither locks
 * nor allocates.  True: `path` names the file. */
bool recorder_files_crash(const char *why, char path[RECORDER_FILE_PATH]);

/* Call it when a loop is stuck.  A separate thread writes a file, and logs its path, or why it
 * could not be written.  At most one file a minute is written, so that a loop that hangs again and
 * again does not fill the disk; other calls do nothing, and so does one for which no thread can be
 * started. */
void recorder_files_stuck(const char *why);

#endif
