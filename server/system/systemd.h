/* What systemd expects of a service: messages to the service manager about its state, and a level
 * in front of each line that journald reads.
 *
 * Any thread. */
#ifndef ERGON_SYSTEMD_H
#define ERGON_SYSTEMD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"

/* ---- the service manager ---- */

/* Each of these functions does nothing if no service manager listens (no NOTIFY_SOCKET); none
 * blocks for long. */
void notify_ready(const char *status);    /* READY=1; `status` is one line for systemctl status */
void notify_reloading(void);              /* RELOADING=1; notify_ready() must follow */
void notify_stopping(const char *status); /* STOPPING=1 */
void notify_watchdog(void);               /* WATCHDOG=1 */

/* How often notify_watchdog() is due, in ns: half of what the manager allows; 0: the manager does
 * not ask for it. */
uint64_t notify_watchdog_period(void);

/* ---- journald ---- */

/* True if `fd` is the stream that `stream` names.  `stream` is "DEVICE:INODE", as systemd puts it
 * into JOURNAL_STREAM of a service.  A service inherits the variable even if its standard error was
 * redirected, so only the descriptor decides.  False also if `stream` is NULL or malformed, or `fd`
 * is closed. */
bool journald_reads(const char *stream, int fd);

/* Writes `text`, which may have several lines, with `level` in front of each line, in journald's
 * form. */
void journald_write(FILE *out, enum log_level level, const char *text);

#endif
