/* What systemd wants to hear: the service manager, how the server is doing; journald, the level of
 * each line.
 *
 * Any thread. */
#ifndef ERGON_SYSTEMD_H
#define ERGON_SYSTEMD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"

/* ---- the service manager ---- */

/* Messages to the service manager.  Each call does nothing when no manager listens (no
 * NOTIFY_SOCKET); none blocks for long. */
void notify_ready(const char *status);    /* READY=1; `status` is one line for systemctl status */
void notify_reloading(void);              /* RELOADING=1; notify_ready() must follow */
void notify_stopping(const char *status); /* STOPPING=1 */
void notify_watchdog(void);               /* WATCHDOG=1 */

/* How often notify_watchdog() is due: half of what the manager allows, in ns; 0: it does not ask.
 */
uint64_t notify_watchdog_period(void);

/* ---- journald ---- */

/* Is `fd` the stream that `stream` names, "DEVICE:INODE", as systemd puts it into JOURNAL_STREAM of
 * what it starts?  A service whose standard error was led elsewhere inherits the variable all the
 * same, so only the descriptor tells.  False also of NULL, of text that is none, of a closed `fd`.
 */
bool journald_reads(const char *stream, int fd);

/* Writes `text`, which may have several lines, with `level` in front of each as journald reads it.
 */
void journald_write(FILE *out, enum log_level level, const char *text);

#endif
